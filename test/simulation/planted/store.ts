/**
 * Bugs that a server could have, each planted between its parts: in the disk
 * that it sees, in the journal that its store sees, or in its replay.
 */
import type { Journal } from "../../../src/kernel/journal.ts";
import type { Disk, DiskFile } from "../../../src/persistence/disk/disk.ts";
import type { FileJournal } from "../../../src/persistence/journal/journal.ts";
import type { Store } from "../../../src/store/store.ts";
import { replayed } from "../../harness/recording-journal.ts";
import { type Intercepted, interceptedDisk } from "../disk/intercepted-disk.ts";
import { withFittingChecksums, withoutBadRest } from "../disk/lenient-reading.ts";
import { type OperationKind, systemError } from "../disk/simulated-disk.ts";
import type { Harness } from "../server.ts";
import { liveOnFullDisk } from "../store/full-disk-lives.ts";
import { storeSubject } from "../store/store-subject.ts";
import { type CrashBug, crashRun, hastyJournal, passingJournal } from "./crashes.ts";
import type { PlantedBugs } from "./planted-bugs.ts";

/** Some bugs need another life, not another moment of one. */
const STATES_PER_LIFE = 40;
/** The syncs of a run before the skipped one, at most. */
const SKIPPED_ORDINAL_MAX = 12;

/** How much of the disk a journal asks for before a frame of so many bytes. */
const asking =
  (bytesOf: (bytes: number) => number) =>
  (journal: FileJournal): Journal =>
    Object.defineProperties(passingJournal(journal), {
      isTight: { value: true },
      lackFor: { value: (bytes: number) => journal.lackFor(bytesOf(bytes)) },
    });

export const fullDiskBugs: PlantedBugs<Harness<Store>> = {
  simulation: "lives of the store on full disks",
  run: liveOnFullDisk,
  runsMax: 40,
  control: { bug: { journal: asking((bytes) => bytes) }, runs: 20 },
  bugs: [
    {
      name: "a long frame is taken without asking whether the disk has room for it",
      breaks: "src/store/session/atomic-units.ts",
      bug: { journal: passingJournal },
      seed: 1,
      found: /replies wait with/,
    },
    {
      name: "only half of a frame is asked for",
      breaks: "src/persistence/journal/journal.ts",
      bug: { journal: asking((bytes) => bytes / 2) },
      seed: 1,
      found: /replies wait with/,
    },
  ],
};

export const storeBugs: PlantedBugs<CrashBug<Store>> = {
  simulation: "crash states of the store",
  run: crashRun(storeSubject, STATES_PER_LIFE),
  runsMax: 110,
  control: { bug: passing, runs: 4 },
  bugs: [
    {
      name: "a reply leaves before its fsync",
      breaks: "src/persistence/journal/journal.ts",
      bug: () => ({ journal: hastyJournal }),
      seed: 1,
      found: /Found only position/,
    },
    {
      name: "one fsync of a segment is skipped",
      breaks: "src/persistence/journal/segment-writer.ts",
      bug: (random) => {
        const skipped = 1 + random.below(SKIPPED_ORDINAL_MAX);
        return { disk: (disk) => skipping(disk, isSegmentSync, (ordinal) => ordinal === skipped) };
      },
      seed: 1,
      found: /Found only position/,
    },
    {
      name: "a snapshot is not synced before it gets its name",
      breaks: "src/persistence/disk/durable-file.ts",
      bug: () => ({ disk: (disk) => skipping(disk, ({ kind, path }) => kind === "sync" && /snapshot/.test(path)) }),
      seed: 1,
      // The power cut leaves a part of it, or nothing.
      found: /snapshot is damaged at byte \d+: (?:the snapshot is incomplete|it does not start as a snapshot)/,
    },
    {
      name: "a cut of a torn tail is not synced",
      breaks: "src/persistence/recovery.ts",
      bug: () => ({ disk: (disk) => skippingSyncBehind(disk, "truncate") }),
      seed: 1,
      // Later bytes are lost, or the tail is there again behind the end of its segment.
      found: /Found only position|there are extra bytes after the end of the segment/,
    },
    {
      name: "no fsync of the directory after a rename",
      breaks: "src/persistence/disk/durable-file.ts",
      bug: () => ({ disk: skippingDirectorySyncBehind("rename") }),
      seed: 1,
      // Backups have such files too.
      found:
        /journal is missing: (?:segment \d+ needs it|\S+high-water says that it was begun)|The backup \S+ of position \d+ holds only position/,
    },
    {
      name: "no fsync of the directory after the creation of a segment",
      breaks: "src/persistence/journal/segment-writer.ts",
      bug: () => ({ disk: skippingDirectorySyncBehind("create") }),
      seed: 1,
      found: /Found only position|journal is missing: \S+high-water says that it was begun/,
    },
    {
      name: "a checksum is ignored",
      breaks: "src/persistence/journal/item-reader.ts",
      bug: () => ({ disk: (disk) => readingDisk(disk, withFittingChecksums) }),
      seed: 1,
      found: /The state at position \d+ differs from the served one/,
    },
    {
      name: "damage is cut off instead of refused",
      breaks: "src/persistence/journal/segment-check.ts",
      bug: () => ({ disk: (disk) => readingDisk(disk, withoutBadRest) }),
      seed: 2,
      found: /Found \d+, marks call \d+ durable/,
    },
    {
      name: "the high-water mark is ignored",
      breaks: "src/persistence/journal/high-water.ts",
      bug: () => ({ disk: (disk) => withoutFile(disk, (path) => path.endsWith(".high-water")) }),
      seed: 1,
      found: /The loss was not noticed/,
    },
    {
      name: "a replay removes keys that are expired by the clock",
      breaks: "src/store/store.ts",
      bug: () => ({
        replay: (store, frame, place) => {
          store.replay(frame, place);
          for (const database of store.databases) database.sweepExpired();
        },
      }),
      seed: 1,
      found: /The state at position \d+ differs from the served one/,
    },
    {
      name: "a transaction is two frames",
      breaks: "src/store/database.ts",
      bug: () => ({ journal: splittingJournal }),
      seed: 5,
      found: /Found part of a unit of work/,
    },
  ],
};

/** The same wiring without a bug. */
function passing(): Harness<Store> {
  return {
    disk: (disk) =>
      readingDisk(
        skipping(disk, () => false),
        (bytes) => bytes,
      ),
    journal: passingJournal,
    replay: (store, frame, place) => store.replay(frame, place),
  };
}
// A journal that breaks its promise.

/** Splits a frame of several records in two. */
function splittingJournal(journal: FileJournal): Journal {
  const append = (frame: Uint8Array): number => {
    for (const part of halvesOf(frame)) journal.append(part);
    return journal.end;
  };
  return Object.defineProperties(passingJournal(journal), { append: { value: append } });
}

const SPLIT_BYTES_MAX = 400;

/** The frame cut between two of its records, if it has two, where a store accepts the first part as a whole frame. */
function halvesOf(frame: Uint8Array): readonly Uint8Array[] {
  const databaseNumber = frame.subarray(0, 1);
  if (frame[0] === 0 || frame.length > SPLIT_BYTES_MAX) return [frame];
  for (let end = 2; end < frame.length; end += 1) {
    try {
      replayed([NAMED_DATABASES, frame.subarray(0, end)]);
    } catch {
      continue; // A record continues here.
    }
    return [frame.subarray(0, end), Buffer.concat([databaseNumber, frame.subarray(end)])];
  }
  return [frame];
}

/** The names of databases 1 to 9, as the store records them: number 0, then for each code 1, number and name. */
const NAMED_DATABASES = Buffer.from([
  0,
  ...Array.from({ length: 9 }, (_, index) => [1, index + 1, 1, 97 + index]).flat(),
]);

// Disks that do less than requested.

function isSegmentSync({ kind, path }: Intercepted): boolean {
  return kind === "sync" && path.endsWith(".journal");
}

/** A disk on which these files cannot be found. */
function withoutFile(disk: Disk, isHidden: (path: string) => boolean): Disk {
  return interceptedDisk(disk, async (operation, run) => {
    if (operation.kind === "open" && isHidden(operation.path)) throw systemError("ENOENT", operation.path);
    return run();
  });
}

/** Skips the matching operations, all of them or those of some ordinals. */
function skipping(
  disk: Disk,
  matches: (operation: Intercepted) => boolean,
  isSkipped: (ordinal: number) => boolean = () => true,
): Disk {
  let count = 0;
  return interceptedDisk(disk, async (operation, run) => {
    if (!matches(operation)) return run();
    count += 1;
    // A skipped operation returns nothing, as a completed one does.
    return isSkipped(count) ? (undefined as Awaited<ReturnType<typeof run>>) : run();
  });
}

/** Skips the sync of a file that follows an operation of this kind on it. */
function skippingSyncBehind(disk: Disk, kind: OperationKind): Disk {
  const waiting = new Set<string>();
  return interceptedDisk(disk, async (operation, run) => {
    if (operation.kind === kind) waiting.add(operation.path);
    const isSkipped = operation.kind === "sync" && waiting.delete(operation.path);
    return isSkipped ? (undefined as Awaited<ReturnType<typeof run>>) : run();
  });
}

/**
 * Skips syncs of a directory while the last change of a name in it was of this kind, made by any process: the server
 * syncs the directory again before it relies on the name of a snapshot.
 */
function skippingDirectorySyncBehind(kind: "rename" | "create"): (disk: Disk) => Disk {
  let lastChange: OperationKind | undefined;
  return (disk) =>
    interceptedDisk(disk, async (operation, run) => {
      if (["create", "rename", "unlink", "link"].includes(operation.kind)) lastChange = operation.kind;
      const isSkipped = operation.kind === "syncDirectory" && lastChange === kind;
      return isSkipped ? (undefined as Awaited<ReturnType<typeof run>>) : run();
    });
}

/** Shows files, as changed by `shown`, to callers that open one to read or to append. */
function readingDisk(disk: Disk, shown: (bytes: Buffer) => Buffer): Disk {
  return {
    ...interceptedDisk(disk, (_, run) => run()),
    open: async (path, how, mode) => {
      const file = await disk.open(path, how, mode);
      return how !== "read" || !path.endsWith(".journal") ? file : shownFile(file, shown);
    },
  };
}

function shownFile(file: DiskFile, shown: (bytes: Buffer) => Buffer): DiskFile {
  const load = async (): Promise<Buffer> => {
    const bytes = Buffer.alloc(await file.size());
    await file.read(bytes, 0);
    return shown(bytes);
  };
  return {
    ...file,
    size: async () => (await load()).length,
    read: async (target, offset) => {
      const bytes = await load();
      return offset >= bytes.length ? 0 : bytes.copy(target, 0, offset);
    },
  };
}
