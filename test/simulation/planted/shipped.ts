/** Bugs of a node whose journal is in PostgreSQL. */
import { type Append, DoubtfulOutcome, type LogStore } from "../../../src/cluster/log-store/log-store.ts";
import { CACHE_FILE } from "../../../src/cluster/shipped/cache-notes.ts";
import type { Random } from "../../../src/kernel/random.ts";
import type { Disk, DiskFile } from "../../../src/persistence/disk/disk.ts";
import { FILE_HEADER_BYTES, findFileNumber, UNFINISHED_SUFFIX } from "../../../src/persistence/journal/file-format.ts";
import { bodySubject } from "../cluster/body-subject.ts";
import { type ClusterWorld, SHARD } from "../cluster/cluster-world.ts";
import type { ShippedBug } from "../cluster/shard-life.ts";
import { runLinearLives, runShippedLives } from "../cluster/shipped-runs.ts";
import type { SimulatedDisk } from "../disk/simulated-disk.ts";
import { DIRECTORY } from "../server.ts";
import { storeSubject } from "../store/store-subject.ts";
import { type PlantedBugs, textOf } from "./planted-bugs.ts";

/** The store with some of its calls replaced. */
function changed(store: LogStore, calls: Partial<LogStore>): LogStore {
  return new Proxy(store, {
    get: (target, name) => {
      const method: unknown = Reflect.get(calls, name) ?? Reflect.get(target, name);
      return typeof method === "function" ? method.bind(target) : method;
    },
  });
}

function isDoubt(error: unknown): boolean {
  return error instanceof DoubtfulOutcome;
}

function acknowledgesDoubt(store: LogStore): LogStore {
  return changed(store, {
    append: (append) =>
      store.append(append).catch((error: unknown) => {
        if (!isDoubt(error)) throw error;
        return "committed";
      }),
  });
}

/** A repetition that finds its row proves nothing: only a commit of its own does. */
function asksForRow(store: LogStore): LogStore {
  let doubtful: Append | undefined;
  return changed(store, {
    append: async (append) => {
      if (doubtful?.segment === append.segment && doubtful.start === append.start) {
        const [row] = await store.read(append.shard, append.segment, append.start, 1);
        if (row?.bytes.equals(append.bytes)) return "committed";
      }
      doubtful = append;
      const outcome = await store.append(append);
      doubtful = undefined;
      return outcome;
    },
  });
}

function repeatsLater(store: LogStore): LogStore {
  let doubtful: Append | undefined;
  return changed(store, {
    append: async (append) => {
      try {
        const outcome = await store.append(append);
        if (doubtful !== undefined) await store.append(doubtful);
        doubtful = undefined;
        return outcome;
      } catch (error) {
        if (!isDoubt(error) || doubtful !== undefined) throw error;
        doubtful = append;
        return "committed";
      }
    },
  });
}

/** The epoch of the shard, also if another node owns it. */
function currentEpoch({ shared }: ClusterWorld): number {
  return shared.database.shards.find(`${SHARD}`, shared.database.begin())?.epoch ?? 0;
}

function putsUnderCurrentEpoch(store: LogStore, world: ClusterWorld): LogStore {
  return changed(store, {
    putSnapshotPart: (part) => store.putSnapshotPart({ ...part, epoch: currentEpoch(world) }),
  });
}

/** A cleaner that looks up the epoch, and does not know that it is the former owner. */
function removesUnderCurrentEpoch(store: LogStore, world: ClusterWorld): LogStore {
  const isFormer = (epoch: number): boolean => epoch < currentEpoch(world);
  return changed(store, {
    putSnapshotPart: (part) => (isFormer(part.epoch) ? Promise.resolve("committed") : store.putSnapshotPart(part)),
    completeSnapshot: (shard, snapshot) =>
      isFormer(shard.epoch) ? Promise.resolve("committed") : store.completeSnapshot(shard, snapshot),
    removeSegments: (shard, segments) => store.removeSegments({ ...shard, epoch: currentEpoch(world) }, segments),
  });
}

function healsUnderCurrentEpoch(store: LogStore, world: ClusterWorld): LogStore {
  return changed(store, {
    append: async (append) => {
      const outcome = await store.append(append);
      return outcome === "deposed" ? store.append({ ...append, epoch: currentEpoch(world) }) : outcome;
    },
  });
}

function trimsBeforePointer(store: LogStore): LogStore {
  let complete: () => Promise<unknown> = () => Promise.resolve();
  return changed(store, {
    completeSnapshot: (shard, snapshot) => {
      complete = () => store.completeSnapshot(shard, snapshot);
      return Promise.resolve("committed");
    },
    removeSegments: async (shard, segments) => {
      // Not the call that compares the pointer.
      for (const segment of segments) await store.cut(shard, segment, 0);
      await complete();
      return "committed";
    },
  });
}

function pointsBeforeParts(store: LogStore): LogStore {
  let parts: (() => Promise<unknown>)[] = [];
  return changed(store, {
    putSnapshotPart: (part) => {
      if (part.part === 0) return store.putSnapshotPart(part);
      parts.push(() => store.putSnapshotPart(part));
      return Promise.resolve("committed");
    },
    completeSnapshot: async (shard, snapshot) => {
      const outcome = await store.completeSnapshot(shard, { ...snapshot, parts: 1 });
      for (const put of parts) await put();
      parts = [];
      return outcome;
    },
  });
}

function segmentsOn(disk: SimulatedDisk): Map<number, Buffer> {
  const segments = new Map<number, Buffer>();
  for (const path of disk.paths) {
    const number = findFileNumber("segment", path.slice(DIRECTORY.length + 1));
    if (path.startsWith(`${DIRECTORY}/`) && number !== undefined) segments.set(number, disk.bytesOf(path));
  }
  return segments;
}

/** A file that only exists here. */
function fileOf(bytes: Buffer): DiskFile {
  const refuse = (): never => {
    throw new Error("The file can only be read");
  };
  return {
    ...{ write: refuse, writeNow: refuse, fdatasync: refuse, fsync: refuse, truncate: refuse },
    read: (target, offset) => Promise.resolve(bytes.copy(target, 0, offset)),
    size: () => Promise.resolve(bytes.length),
    close: () => Promise.resolve(),
  };
}

/** Notes every segment that is on the disk, open ones too. */
function notesAll(disk: SimulatedDisk, { shared }: ClusterWorld): Disk {
  const path = `${DIRECTORY}/${CACHE_FILE}`;
  return withCalls(disk, {
    open: (opened, how) => {
      if (opened !== path || how !== "read" || !disk.paths.includes(path)) return disk.open(opened, how);
      const { branch, snapshot } = JSON.parse(disk.bytesOf(path).toString()) as { branch: string; snapshot: unknown };
      const segments = [...segmentsOn(disk)].map(([number, bytes]) => {
        const row = shared.database.log.find(`${SHARD}/${number}/0`, shared.database.begin());
        return {
          number,
          epoch: row?.epoch ?? 0,
          salt: bytes.length < FILE_HEADER_BYTES ? 0 : bytes.readUInt32LE(24),
          bytes: bytes.length,
        };
      });
      return Promise.resolve(fileOf(Buffer.from(JSON.stringify({ branch, snapshot, segments }))));
    },
  });
}

/** Takes the sizes of files for those of the store. */
function believesSizes(store: LogStore, _: ClusterWorld, disk: SimulatedDisk): LogStore {
  return changed(store, {
    segments: async (shard) => {
      const local = segmentsOn(disk);
      const views = await store.segments(shard);
      return views.map((view) => {
        const bytes = local.get(view.segment)?.length ?? 0;
        return bytes < FILE_HEADER_BYTES ? view : { ...view, bytes };
      });
    },
  });
}

/** A fetched segment gets the end that the file before it had here. */
function keepsTails(disk: SimulatedDisk): Disk {
  const before = new Map<string, Buffer>();
  return withCalls(disk, {
    unlink: (path) => {
      if (disk.paths.includes(path)) before.set(path, disk.bytesOf(path));
      return disk.unlink(path);
    },
    rename: async (from, to) => {
      await disk.rename(from, to);
      const old = from === `${to}${UNFINISHED_SUFFIX}` ? before.get(to) : undefined;
      const fetched = disk.bytesOf(to);
      if (old !== undefined && old.length > fetched.length)
        disk.put(to, Buffer.concat([fetched, old.subarray(fetched.length)]));
    },
  });
}

function withCalls<Kind extends Disk>(disk: Kind, calls: Partial<Disk>): Kind {
  return new Proxy(disk, {
    get: (target, name) => {
      const own: unknown = Reflect.get(calls, name);
      if (own !== undefined) return own;
      const method: unknown = Reflect.get(target, name);
      return typeof method === "function" ? method.bind(target) : method;
    },
  });
}

/** A write counts as soon as it has begun. */
function shipsRunningWrites(disk: Disk): Disk {
  return withCalls(disk, {
    open: async (path, how, mode) => {
      const file = await disk.open(path, how, mode);
      return {
        write: async (bytes, offset) => {
          await file.write(Buffer.alloc(bytes.length), offset);
          // A long write: a sync in between has time to begin.
          for (let waits = 0; waits < 12; waits += 1) await file.size();
          return file.write(bytes, offset);
        },
        writeNow: (bytes, offset) => file.writeNow(bytes, offset),
        read: (target, offset) => file.read(target, offset),
        fdatasync: () => file.fdatasync(),
        fsync: () => file.fsync(),
        truncate: (bytes) => file.truncate(bytes),
        size: () => file.size(),
        close: () => file.close(),
      };
    },
  });
}

function sameSalt(random: Random): Random {
  return { unit: () => random.unit(), below: (bound) => (bound === 2 ** 32 ? 5 : random.below(bound)) };
}

export const shippedBugs: PlantedBugs<ShippedBug> = {
  simulation: "a shard whose log is in PostgreSQL",
  run: async (seed, bug) =>
    textOf((await runShippedLives({ subject: storeSubject, seed, allowance: { count: 1 }, bug })).violation),
  runsMax: 80,
  bugs: [
    {
      name: "an append with a warning, or without an answer, is acknowledged",
      breaks: "src/cluster/shipped/statements.ts",
      bug: { store: acknowledgesDoubt, isUnordered: true },
      seed: 1,
      found: /was promised|I4: rows are lost/,
    },
    {
      name: "a repetition that finds its row is acknowledged without a commit",
      breaks: "src/cluster/shipped/segment-log.ts",
      bug: { store: asksForRow, isUnordered: true },
      seed: 32,
      found: /was promised|I4: rows are lost/,
    },
    {
      name: "a later batch is sent before the repetition",
      breaks: "src/cluster/shipped/statements.ts",
      bug: { store: repeatsLater },
      seed: 1,
      found: /I5: append to \d+ at \d+ .* was sent before the end/,
    },
    {
      name: "an open segment of the cache is used again",
      breaks: "src/cluster/shipped/open-shard.ts",
      bug: { local: notesAll, store: believesSizes },
      seed: 4,
      found: /was deposed|is damaged in PostgreSQL|was promised|recovered another state/,
    },
    {
      name: "the end of a file that the store does not have is replayed",
      breaks: "src/cluster/shipped/open-shard.ts",
      bug: { local: keepsTails },
      seed: 12,
      found: /bytes of later epochs|is damaged in PostgreSQL/,
    },
    {
      name: "all segments have the same salt",
      breaks: "src/persistence/area-storage.ts",
      bug: { random: sameSalt },
      seed: 1,
      found: /I3: the segments .* have the same salt/,
    },
    {
      name: "a takeover goes on with the open segment",
      breaks: "src/persistence/area-storage.ts",
      bug: { continuesSegment: true },
      seed: 4,
      found: /I2: segment \d+ of epoch \d+ has \d+ bytes of later epochs/,
    },
    {
      name: "a former owner removes segments",
      breaks: "src/cluster/shipped/snapshot-store.ts",
      bug: { store: removesUnderCurrentEpoch },
      seed: 66,
      found: /I1: removeSegments names epoch/,
    },
    {
      name: "a former owner writes parts of a snapshot",
      breaks: "src/cluster/shipped/snapshot-store.ts",
      bug: { store: putsUnderCurrentEpoch },
      seed: 33,
      found: /I1: putSnapshotPart names epoch/,
    },
    {
      name: "segments are removed before the pointer of the snapshot is committed",
      breaks: "src/cluster/shipped/snapshot-store.ts",
      bug: { store: trimsBeforePointer, isUnordered: true },
      seed: 1,
      found: /I10: the snapshot/,
    },
    {
      name: "the pointer of a snapshot is committed before its parts",
      breaks: "src/cluster/shipped/snapshot-store.ts",
      bug: { store: pointsBeforeParts },
      seed: 1,
      found: /The snapshot \d+ has \d+ bytes in \d+ parts, and its pointer names others/,
    },
    {
      name: "bytes are shipped while they are written",
      breaks: "src/cluster/shipped/segment-state.ts",
      bug: { disk: shipsRunningWrites },
      seed: 5,
      found: /is damaged at byte \d+|was promised/,
    },
    {
      name: "rows are sent again under the epoch of another owner",
      breaks: "src/cluster/shipped/segment-log.ts",
      bug: { store: healsUnderCurrentEpoch },
      seed: 1,
      found: /I1: append names epoch/,
    },
  ],
};

/** A follower that takes the last segment for one that has ended. */
function takesOpenSegments(store: LogStore): LogStore {
  return changed(store, {
    segments: async (shard) => {
      const views = await store.segments(shard);
      const last = views.at(-1);
      const next = last && { segment: last.segment + 1, epoch: last.epoch, bytes: FILE_HEADER_BYTES };
      return next === undefined ? views : [...views, next];
    },
  });
}

export const standbyBugs: PlantedBugs<ShippedBug> = {
  simulation: "a shard that another node follows",
  run: async (seed, bug) =>
    textOf(
      (await runShippedLives({ subject: storeSubject, seed, allowance: { count: 1 }, bug, hasStandbys: true }))
        .violation,
    ),
  runsMax: 150,
  control: { bug: {}, runs: 20 },
  bugs: [
    {
      name: "a follower takes an open segment, and a claim believes it without a comparison",
      breaks: "src/cluster/standby/shard-follower.ts",
      bug: { followed: takesOpenSegments, local: notesAll, store: believesSizes },
      seed: 1,
      found: /was deposed|is damaged|was promised|recovered another state/,
    },
    {
      name: "a node goes on following a shard that it has claimed",
      breaks: "src/cluster/standby/standbys.ts",
      bug: { keepsFollowing: true },
      seed: 1,
      // It removes files, and the new owner fails or waits for what it had.
      found: /ENOENT: .*\.journal|is damaged|is missing|never came/,
    },
  ],
};

/** A trim that names the last segment, and takes all before it. */
function removesAllBefore(store: LogStore): LogStore {
  return changed(store, {
    removeSegments: async (shard, segments) => {
      const last = Math.max(...segments);
      const all = (await store.segments(shard.shard)).map(({ segment }) => segment);
      return store.removeSegments(
        shard,
        all.filter((segment) => segment <= last),
      );
    },
  });
}

export const shippedBodyBugs: PlantedBugs<ShippedBug> = {
  simulation: "bodies in the segments of a shard whose log is in PostgreSQL",
  run: async (seed, bug) =>
    textOf((await runShippedLives({ subject: bodySubject, seed, allowance: { count: 1 }, bug })).violation),
  runsMax: 80,
  bugs: [
    {
      name: "a trim takes a segment that has a live body",
      breaks: "src/persistence/area-storage.ts",
      bug: { mayRemove: () => true },
      seed: 2,
      found: /I10: Body \S+ in segment \d+ cannot be read/,
    },
    {
      name: "a trim takes the segments before the one that it names",
      breaks: "src/cluster/shipped/snapshot-store.ts",
      bug: { store: removesAllBefore },
      seed: 5,
      found: /I10: Body \S+ in segment \d+ cannot be read/,
    },
  ],
};

export const linearBugs: PlantedBugs<ShippedBug> = {
  simulation: "clients of a shard whose log is in PostgreSQL",
  run: async (seed, bug) => textOf((await runLinearLives({ seed, allowance: { count: 1 }, bug })).violation),
  runsMax: 40,
  control: { bug: {}, runs: 40 },
  bugs: [
    {
      name: "a reply leaves without the lease",
      breaks: "src/cluster/node/lease.ts",
      bug: { hasNoLease: true },
      seed: 2,
      found: /The operations on \w+ are not linearizable/,
    },
  ],
};
