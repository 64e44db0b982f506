/**
 * The content of one user of messaging, from the files of its shard: everything
 * that a start would recover of it, and what the journal still has for its log of
 * messages (`moved-log.ts`), which has everything that was finished.
 *
 * (1) Two images with the same checksum have the same records, in the same order,
 *     and the same bytes of bodies, wherever the bodies are.
 * (2) A body whose bytes are damaged or missing stays so: its bytes, or zeros, are
 *     written with the checksum that they had.
 */
import { createHash } from "node:crypto";
import { silentLog } from "../../../../kernel/log.ts";
import { comparedFrames, type MessagingState, MovedUser, movedBodies, type User } from "../../../../messaging/mod.ts";
import { areaDirectory } from "../../../../persistence/data-directory.ts";
import { fileDisk } from "../../../../persistence/disk/file-disk.ts";
import { SegmentReader } from "../../../../persistence/journal/segment-reader.ts";
import { readArea } from "../../../../persistence/recovery.ts";
import { readBody, writeUsers } from "../import/messaging-split.ts";
import { type LogSource, readMovedLog, writeMovedLog } from "./moved-log.ts";
import type { TenantImage, WantedTenant } from "./tenant-image.ts";

const area = "messaging";
const everyone = (): boolean => true;

/** `dataDirectory` has the area. Undefined if that has nothing of the user. Rejects with the errors of `readArea`. */
export async function readMessagingImage(
  dataDirectory: string,
  { name, number, lastMessage: sequence }: WantedTenant,
): Promise<TenantImage | undefined> {
  const directory = areaDirectory(dataDirectory, area);
  const moved = new MovedUser({ name, number, sequence });
  const read = await readArea({
    ...{ disk: fileDisk, directory, area },
    apply: (frame, location) => moved.replay(frame, location),
  });
  const { state, user, formerNumber } = moved;
  if (user === undefined || formerNumber === undefined) return undefined;
  const source: LogSource = { directory, area, read, number: formerNumber, lastMessage: sequence };
  const log = await readMovedLog(source);
  return {
    contents: contentsOf(state, user),
    ...(await withReader(directory, (reader) => summaryOf(state, reader))),
    log: log && `${counted(log.messages, "message", "messages")} since ${new Date(log.sinceMs).toISOString()}`,
    async write(files, { nextFile, position: start }) {
      const place = { first: nextFile, position: start, number };
      const written = log && (await writeMovedLog(files, { source, log, place }));
      const { next: first, position } = written ?? { next: nextFile, position: start };
      await withReader(directory, (reader) =>
        writeUsers(files, { state, isKept: everyone, first, position, read: (body) => readBody(reader, body) }),
      );
    },
    close() {},
  };
}

/** keeps (1) */
async function summaryOf(
  state: MessagingState,
  reader: SegmentReader,
): Promise<Pick<TenantImage, "bytes" | "checksum">> {
  const hash = createHash("sha256");
  let bytes = 0;
  const add = (part: Uint8Array): void => {
    hash.update(`${part.length} `).update(part);
    bytes += part.length;
  };
  for (const frame of comparedFrames(state)) add(frame);
  for (const body of movedBodies(state, everyone)) add(await readBody(reader, body));
  return { bytes, checksum: hash.digest("hex") };
}

function contentsOf(state: MessagingState, user: User): string {
  const counts: readonly (readonly [count: number, one: string, many: string])[] = [
    [state.messages.size, "message", "messages"],
    [user.schedules.size, "schedule", "schedules"],
    [user.queues.size, "queue", "queues"],
    [user.groups.size, "URL group", "URL groups"],
    [user.flowKeys.size, "flow-control key", "flow-control keys"],
    [user.runs.size, "workflow run", "workflow runs"],
    [user.deadLetters.size, "dead letter", "dead letters"],
  ];
  const [messages, ...others] = counts.map(([count, one, many]) => ({ count, text: counted(count, one, many) }));
  return [messages, ...others.filter(({ count }) => count > 0)].map((each) => each?.text).join(", ");
}

function counted(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`;
}

async function withReader<Result>(
  directory: string,
  work: (reader: SegmentReader) => Promise<Result>,
): Promise<Result> {
  const reader = new SegmentReader({ disk: fileDisk, directory, log: silentLog });
  try {
    return await work(reader);
  } finally {
    await reader.close();
  }
}
