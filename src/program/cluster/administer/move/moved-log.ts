/**
 * The log of messages of a user that moves. It is derived from the journal, and a
 * snapshot has nothing of it: so the frames of the user that the former shard still
 * has become segments before the snapshot of the new one. A start does not read
 * these, and the log of messages does.
 *
 * (1) A message comes along only if the new shard has not used its number: a log
 *     there may still have the message of a former user under it.
 * (2) Only the newest LOG_BYTES_MAX come along, because the user waits for the copy.
 */
import { historyEventsOf } from "../../../../messaging/history.ts";
import { fileDisk } from "../../../../persistence/disk/file-disk.ts";
import type { SyncedLocation } from "../../../../persistence/journal/file-format.ts";
import { FrameFollower } from "../../../../persistence/journal/frame-follower.ts";
import { SEGMENT_BYTES_MAX } from "../../../../persistence/journal/journal.ts";
import type { AreaRead } from "../../../../persistence/recovery.ts";
import { tenantOf } from "../import/frame-split.ts";
import type { ShardFiles } from "../import/shard-files.ts";
import { renumbered } from "./frame-image.ts";

/** As much as a shard has in its journal when a snapshot is due. */
const LOG_BYTES_MAX = 64 * 1024 * 1024;

export interface LogSource {
  /** That of the area, with all of its segments. */
  readonly directory: string;
  readonly area: string;
  readonly read: Pick<AreaRead, "ended" | "open" | "position">;
  /** Of the user in this journal. */
  readonly number: number;
  /** The last message that the new shard has used. */
  readonly lastMessage: number;
  /** For tests; LOG_BYTES_MAX by default. */
  readonly bytesMax?: number;
}

export interface MovedLog {
  readonly messages: number;
  /** When the first of them was published. */
  readonly sinceMs: number;
  /** Frames before this position stay behind. */
  readonly from: number;
}

/** What comes along; undefined: nothing. Rejects with the system's error. */
export async function readMovedLog(source: LogSource): Promise<MovedLog | undefined> {
  const { bytesMax = LOG_BYTES_MAX } = source;
  let leftBytes = 0;
  await eachFrame(source, ({ length }) => {
    leftBytes += length;
  });
  let log: MovedLog | undefined;
  await eachFrame(source, ({ length }, position, { messages, entries }) => {
    const isOld = leftBytes > bytesMax; // keeps (2)
    leftBytes -= length;
    // It begins with a message: what happened to those before it cannot be listed.
    if (isOld || (log === undefined && messages.length === 0)) return;
    const { from, sinceMs } = log ?? { from: position - 1, sinceMs: entries[0]?.timeMs ?? 0 };
    log = { from, sinceMs, messages: (log?.messages ?? 0) + messages.length };
  });
  return log;
}

export interface LogPlace {
  readonly first: number;
  readonly position: number;
  /** Of the user in the new journal. */
  readonly number: number;
}

/** Writes the segments. Resolves with the number and the position of the next file. */
export async function writeMovedLog(
  files: ShardFiles,
  { source, log, place }: { readonly source: LogSource; readonly log: MovedLog; readonly place: LogPlace },
): Promise<{ readonly next: number; readonly position: number }> {
  let { first: next, position } = place;
  let waiting: Buffer[] = [];
  const flush = async (): Promise<void> => {
    for (const frame of waiting) {
      if (files.file === undefined) {
        await files.begin({ kind: "segment", number: next, position });
        next += 1;
      }
      await files.writer.batch([frame]);
      if (files.writer.bytes >= SEGMENT_BYTES_MAX) position = await files.end();
    }
    waiting = [];
  };
  await eachFrame(
    { ...source, from: log.from },
    (frame) => waiting.push(Buffer.from(renumbered(frame, place.number))),
    flush,
  );
  await flush();
  if (files.file !== undefined) position = await files.end();
  return { next, position };
}

/** Each frame of the user with something for the log. It is valid until `told` returns. */
async function eachFrame(
  source: LogSource & { readonly from?: number },
  told: (frame: Buffer, position: number, events: ReturnType<typeof historyEventsOf>) => void,
  onPart: () => Promise<void> = async () => {},
): Promise<void> {
  const { directory, area, number, lastMessage, from = 0 } = source;
  const follower = new FrameFollower({
    ...{ disk: fileDisk, directory, area, position: from, onPart },
    frame(frame, position) {
      if (tenantOf(frame) !== number) return;
      const events = historyEventsOf(frame);
      const isNew = events.messages.every(({ message }) => message > lastMessage); // keeps (1)
      if (isNew && events.messages.length + events.entries.length > 0) told(frame, position, events);
    },
    // A log has gaps where its journal has some.
    skipped: () => {},
  });
  try {
    await follower.follow(endOf(source.read));
  } finally {
    await follower.close();
  }
}

function endOf({ ended, open, position }: LogSource["read"]): SyncedLocation {
  const last = open ?? ended.at(-1);
  return { segment: last?.number ?? 0, offset: last?.bytes ?? 0, position: last === undefined ? 0 : position };
}
