/** The content of one tenant, from the files of its shard, and the files of another shard that has nothing else. */
import type { AreaRead } from "../../../../persistence/recovery.ts";
import type { ShardFiles } from "../import/shard-files.ts";

export interface TenantImage {
  /** What it has, counted in words: `3 keys`. */
  readonly contents: string;
  /** Of its frames, and of the bodies of its messages. */
  readonly bytes: number;
  /** Of all of its content, wherever that is stored: SHA-256 in hexadecimal digits. */
  readonly checksum: string;
  /** What comes along of its log of messages, in words; undefined: nothing, or it has no log. */
  readonly log: string | undefined;
  /** Writes all files of a shard that has nothing else. Call it once. */
  write(files: ShardFiles, place: Pick<ShardOutline, "nextFile" | "position">): Promise<void>;
  /** Frees the memory outside of the heap. */
  close(): void;
}

/** What a shard has, besides the contents of its tenants. */
export interface ShardOutline {
  readonly names: readonly string[];
  /** The position after its last frame. */
  readonly position: number;
  /** The number of a file that it has not used. */
  readonly nextFile: number;
  /** The number of a tenant that it has not used. */
  readonly nextTenant: number;
  /** The last sequence number of a message that it has used; 0 for other areas than messaging. */
  readonly lastMessage: number;
}

export interface WantedTenant {
  readonly name: string;
  /** In the new shard, which has not used it. */
  readonly number: number;
  /** That of the new shard. */
  readonly lastMessage: number;
}

/** The number of a file that an area has not used. */
export function nextFileOf({ covered, ended, snapshot, open }: AreaRead): number {
  return Math.max(...[...covered, ...ended, snapshot, open].map((file) => file?.number ?? 0), 0) + 1;
}
