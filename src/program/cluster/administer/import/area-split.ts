/** How the contents of an area are divided between several shards: each gets the frames of its tenants, in files of its own. */
import type { OnBytes } from "../../../../persistence/byte-progress.ts";
import type { InspectedEngine } from "../../../../persistence/inspection.ts";
import type { ShardFiles } from "./shard-files.ts";

/** A database, an index or a user that an area has data of. */
export interface AreaTenant {
  /** In the area's frames. */
  readonly number: number;
  readonly name: string;
  /** About those of its data. */
  readonly bytes: number;
}

export interface SplitWriting {
  /** Of the area. */
  readonly directory: string;
  /** After the last frame of the area: those of its new files continue from there. */
  readonly position: number;
  /** The shards with their files, of which none is begun. */
  readonly files: ReadonlyMap<number, ShardFiles>;
  /** The shard of a tenant; undefined for one that was dropped. */
  shardOf(tenantNumber: number): number | undefined;
  readonly onBytes: OnBytes;
}

/** Receives all frames of an area first, and then writes the files. */
export interface AreaSplit extends InspectedEngine {
  tenants(): readonly AreaTenant[];
  /** Completes the files of each shard that has tenants. Rejects as `readArea` does, or with the errors of PostgreSQL. */
  write(writing: SplitWriting): Promise<void>;
}

/**
 * The number of the snapshot of a shard, unless bodies are before it. A snapshot covers a segment at least, and the
 * segment with its number follows it.
 */
export const FIRST_SNAPSHOT = 2;
