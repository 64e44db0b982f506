/**
 * Divides the users of messaging between shards. Bodies are at places in segments,
 * so the frames cannot be taken as they are: the state is loaded, without bodies
 * that are in segments, and each shard gets
 *
 *     segments 1 … n-1     the bodies of its users
 *     snapshot n           its users, with the new places of their bodies
 *     segment n            nothing
 *
 * The log of messages is derived from segments, and begins again.
 */
import { silentLog } from "../../../../kernel/log.ts";
import {
  type MessagingState,
  type MovedBody,
  movedBodies,
  movedBytes,
  snapshotFrames,
  type User,
} from "../../../../messaging/mod.ts";
import { fileDisk } from "../../../../persistence/disk/file-disk.ts";
import { DamagedData } from "../../../../persistence/errors.ts";
import { SEGMENT_BYTES_MAX } from "../../../../persistence/journal/journal.ts";
import { SegmentReader, SegmentRemoved } from "../../../../persistence/journal/segment-reader.ts";
import { inspectedMessaging } from "../../../areas/inspect-area.ts";
import { type AreaSplit, type AreaTenant, FIRST_SNAPSHOT, type SplitWriting } from "./area-split.ts";
import type { ShardFiles } from "./shard-files.ts";

export function openMessagingSplit(): AreaSplit {
  const { state, replay, neededSegments } = inspectedMessaging();
  return {
    replay,
    neededSegments,
    tenants() {
      const bodies = movedBytes(state);
      return Array.from(state.users, (user): AreaTenant => {
        const { number, name, memory } = user;
        return { number, name, bytes: memory.bytes + (bodies.get(user) ?? 0) };
      });
    },
    async write({ directory, position, files, shardOf, onBytes }: SplitWriting) {
      const reader = new SegmentReader({ disk: fileDisk, directory, log: silentLog });
      const totalBytes = [...state.bodies.liveBytes.values()].reduce((sum, each) => sum + each, 0);
      let doneBytes = 0;
      const read = async (body: MovedBody): Promise<Buffer> => {
        doneBytes += body.length;
        onBytes("messaging", doneBytes, totalBytes);
        return readBody(reader, body);
      };
      try {
        for (const [shard, each] of files) {
          const isKept = (user: User): boolean => shardOf(user.number) === shard;
          if (![...state.users].some(isKept)) continue;
          await writeUsers(each, { state, isKept, first: 1, position, read });
        }
      } finally {
        await reader.close();
      }
    },
  };
}

export interface WrittenUsers {
  /** Its bodies are at the new places afterwards. */
  readonly state: MessagingState;
  isKept(user: User): boolean;
  /** The number of the first file. */
  readonly first: number;
  /** Before the first frame. */
  readonly position: number;
  read(body: MovedBody): Promise<Buffer>;
}

/** Writes all files of a shard with these users. */
export async function writeUsers(files: ShardFiles, users: WrittenUsers): Promise<void> {
  const { state, isKept } = users;
  const bodies = await writeBodies(files, users);
  const number = Math.max(bodies.next, FIRST_SNAPSHOT);
  await files.begin({ kind: "snapshot", number, position: bodies.position });
  for (const frame of snapshotFrames(state, isKept)) await files.writer.frame(frame);
  await files.begin({ kind: "segment", number, position: await files.end() });
  await files.end();
}

/** Resolves with the number and the position of the file after the segments. */
async function writeBodies(
  files: ShardFiles,
  { state, isKept, first, position: start, read }: WrittenUsers,
): Promise<{ readonly next: number; readonly position: number }> {
  let next = first;
  let number = first;
  let position = start;
  for (const body of movedBodies(state, isKept)) {
    if (files.file === undefined) {
      number = next;
      next += 1;
      await files.begin({ kind: "segment", number, position });
    }
    const { frame, offset } = body.frame(await read(body));
    const [at = 0] = await files.writer.batch([frame]);
    body.moved(number, at + offset);
    if (files.writer.bytes >= SEGMENT_BYTES_MAX) position = await files.end();
  }
  if (files.file !== undefined) position = await files.end();
  return { next, position };
}

/** No checksum is compared: that of a damaged body is wrong afterwards too, and so is that of zeros for a missing one. */
export async function readBody(reader: SegmentReader, { segment, offset, length }: MovedBody): Promise<Buffer> {
  try {
    return await reader.read(segment, offset, length);
  } catch (fault) {
    if (fault instanceof DamagedData || fault instanceof SegmentRemoved) return Buffer.alloc(length);
    throw fault;
  }
}
