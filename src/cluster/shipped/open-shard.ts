/**
 * Opens a shard after a claim: makes its directory equal to the log store, so
 * that a recovery finds what a recovery on the disk of the last owner would find.
 *
 * (1) The log is read after the claim was committed. Older epochs can add nothing
 *     then, and the claim's own wait covers everything that is visible.
 * (2) A segment stays only if it was closed and noted, and the store has the same
 *     number, epoch, salt and size. An open one is thrown away: its end here may
 *     be one that the store never took.
 * (3) Damage of a file that stayed is repaired from the store, once. Damage of what
 *     came from the store is refused.
 *
 * A recovery on the result must begin a new segment (`beginsSegment` of
 * area-storage.ts): so the bytes that a former owner could not ship never meet
 * the salt and the positions of new ones.
 */
import { faultFields } from "../../kernel/log.ts";
import { listAreaFiles, segmentPath, snapshotPath } from "../../persistence/area-files.ts";
import { codeOf, type Disk, readFully, withFile } from "../../persistence/disk/disk.ts";
import { DamagedData, MissingData, WrongFile } from "../../persistence/errors.ts";
import { FILE_HEADER_BYTES, parseFileHeader } from "../../persistence/journal/file-format.ts";
import { highWaterPath, readHighWater } from "../../persistence/journal/high-water.ts";
import type { SegmentView } from "../log-store/log-store.ts";
import { CacheNotes, type NotedSegment } from "./cache-notes.ts";
import { DamagedLog } from "./errors.ts";
import { type FetchOptions, fetchSegment, fetchSnapshot, readHeader, removeIfThere } from "./fetch.ts";
import { ROW_BYTES_MAX } from "./segment-log.ts";
import { SegmentState } from "./segment-state.ts";
import { patientReading, type ShardOptions, ShippedDisk } from "./shipped-disk.ts";
import { PART_BYTES } from "./snapshot-store.ts";
import { Statements } from "./statements.ts";

export type OpenShardOptions = Omit<ShardOptions, "rowBytesMax" | "partBytes"> & {
  /** The bytes of a row and of a part of a snapshot; for tests. The same for all owners of a shard. */
  readonly rowBytesMax?: number;
  readonly partBytes?: number;
  /** Segments that the snapshot covers are fetched as well if they have no more bytes, and otherwise when they are read. */
  readonly coveredBytesMax?: number;
};

/**
 * Called after the claim was committed, and before a recovery. Waits for a store that does not answer. Rejects with
 * `DamagedLog`, `NewerFormat`, or the error of the local disk.
 */
export async function openShard(given: OpenShardOptions): Promise<ShippedDisk> {
  const options: ShardOptions = { rowBytesMax: ROW_BYTES_MAX, partBytes: PART_BYTES, ...given };
  const { local, directory, area, store, owner, snapshot, clock, log } = options;
  let disk: ShippedDisk | undefined;
  let trouble: string | undefined;
  const statements = new Statements({
    clock,
    log,
    trouble: (reason) => {
      trouble = reason;
      disk?.storeTrouble(reason);
    },
  });
  const notes = await CacheNotes.read(options);
  const views = await statements.run(() => store.segments(owner.shard)); // keeps (1)
  const firstNumber = snapshot?.number ?? 1;
  assertComplete(views, { shard: owner.shard, firstNumber, isBegun: snapshot !== undefined });
  const objects = patientReading(options);
  const fetch: FetchOptions = { local, directory, area, store, statements, shard: owner.shard, objects };
  await removeStrangers(options, { notes, views });
  const read = { keptBytes: notes.snapshot?.bytes ?? 0, fetchedBytes: 0 };
  if (snapshot !== undefined && notes.snapshot === undefined) {
    await fetchSnapshot(fetch, snapshot);
    notes.noteSnapshot(snapshot);
    read.fetchedBytes += snapshot.bytes;
  }
  const covered = views.filter(({ segment }) => segment < firstNumber);
  const coveredBytes = covered.reduce((sum, { bytes }) => sum + bytes, 0);
  const fetchesCovered = coveredBytes <= (given.coveredBytesMax ?? 0);
  const states = new Map<number, SegmentState>();
  const remote = new Map<number, SegmentView>();
  for (const view of views) {
    const { segment: number, bytes } = view;
    const noted = await keptSegment(fetch, notes, view);
    if (noted !== undefined) {
      read.keptBytes += bytes;
      states.set(number, new SegmentState(number, { bytes, isKept: true, salt: noted.salt }));
    } else if (number < firstNumber && !fetchesCovered) {
      remote.set(number, view);
    } else {
      await removeIfThere(local, segmentPath(directory, number));
      const { header, lastStart, isEnded } = await fetchSegment(fetch, view);
      read.fetchedBytes += bytes;
      states.set(number, new SegmentState(number, { bytes, lastStart, salt: header.salt }));
      if (isEnded) notes.noteSegment({ number, epoch: view.epoch, salt: header.salt, bytes });
    }
  }
  await dropHighWater(options, views);
  await notes.settled();
  log.info("the files of a shard are here", { shard: owner.shard, ...read });
  disk = new ShippedDisk(options, { notes, statements, states, remote, views });
  disk.storeTrouble(trouble);
  return disk;
}

/**
 * Runs a recovery on an opened shard, and again if a cached file was damaged: each time `recover` begins with an empty
 * engine. Rejects with `DamagedLog` if what the store has is damaged, or with the error of `recover`. keeps (3)
 */
export async function recoverShard<Result>(
  disk: ShippedDisk,
  { owner, log }: Pick<OpenShardOptions, "owner" | "log">,
  recover: () => Promise<Result>,
): Promise<Result> {
  for (;;) {
    try {
      return await recover();
    } catch (error) {
      const isDamage = [DamagedData, MissingData, WrongFile].some((kind) => error instanceof kind);
      if (!(error instanceof Error) || !(isDamage || codeOf(error) === "EIO")) throw error;
      const file = "file" in error && typeof error.file === "string" ? error.file : undefined;
      if (!(await disk.fetchAgain(file))) throw new DamagedLog(owner.shard, error.message, error);
      log.warn("a cached file was damaged and is fetched again", faultFields(error));
    }
  }
}

/** Throws if the store lacks a segment that the state needs. */
function assertComplete(
  views: readonly SegmentView[],
  { shard, firstNumber, isBegun }: { shard: number; firstNumber: number; isBegun: boolean },
): void {
  let next = firstNumber;
  for (const { segment } of views) {
    if (segment < firstNumber) continue;
    if (segment !== next) throw new DamagedLog(shard, `segment ${next} is missing, and segment ${segment} needs it`);
    next += 1;
  }
  if (isBegun && next === firstNumber) {
    throw new DamagedLog(shard, `segment ${next} is missing, and the snapshot with the same number needs it`);
  }
}

/** Removes everything that is not noted, and notes of what is not what the store has. */
export async function removeStrangers(
  { local, directory, snapshot }: Pick<ShardOptions, "local" | "directory" | "snapshot">,
  { notes, views }: { notes: CacheNotes; views: readonly SegmentView[] },
): Promise<void> {
  const { segments, snapshots, unfinished } = await listAreaFiles(local, directory);
  for (const name of unfinished) await local.unlink(`${directory}/${name}`);
  const inStore = new Set(views.map(({ segment }) => segment));
  for (const number of segments) {
    if (inStore.has(number) && notes.segment(number) !== undefined) continue;
    notes.forgetSegment(number);
    await local.unlink(segmentPath(directory, number)); // keeps (2)
  }
  const noted = notes.snapshot;
  const isLatest = noted !== undefined && noted.number === snapshot?.number && noted.epoch === snapshot.epoch;
  const isKept =
    isLatest &&
    snapshots.includes(noted.number) &&
    (await sizeOf(local, snapshotPath(directory, noted.number))) === snapshot.bytes;
  if (!isKept) notes.forgetSnapshot();
  for (const number of snapshots) {
    if (!isKept || number !== noted.number) await local.unlink(snapshotPath(directory, number));
  }
}

/** The note of a segment whose file is here and is what the store has. keeps (2) */
async function keptSegment(
  fetch: FetchOptions,
  notes: CacheNotes,
  view: SegmentView,
): Promise<NotedSegment | undefined> {
  const { local, directory, area } = fetch;
  const { segment: number, bytes, epoch } = view;
  const noted = notes.segment(number);
  if (noted === undefined) return undefined;
  const path = segmentPath(directory, number);
  const salt = await readLocalSalt(local, { path, area, number, bytes });
  const isSame = noted.epoch === epoch && noted.bytes === bytes && noted.salt === salt;
  if (isSame && salt === (await readHeader(fetch, number)).salt) return noted;
  notes.forgetSegment(number);
  return undefined;
}

/** Undefined if the file is missing, has another size, or does not begin as this segment. */
async function readLocalSalt(
  local: Disk,
  { path, area, number, bytes }: { path: string; area: string; number: number; bytes: number },
): Promise<number | undefined> {
  try {
    return await withFile(await local.open(path, "read"), async (file) => {
      if ((await file.size()) !== bytes) return undefined;
      const head = Buffer.alloc(FILE_HEADER_BYTES);
      const count = await readFully(file, head, 0);
      return parseFileHeader(head.subarray(0, count), { kind: "segment", path, area, number }).salt;
    });
  } catch (error) {
    if (codeOf(error) === "ENOENT" || error instanceof DamagedData || error instanceof WrongFile) return undefined;
    throw error;
  }
}

async function sizeOf(local: Disk, path: string): Promise<number> {
  return withFile(await local.open(path, "read"), (file) => file.size());
}

/** The store says what was begun, and not a file of this node. */
async function dropHighWater(
  { local, directory, owner, log }: ShardOptions,
  views: readonly SegmentView[],
): Promise<void> {
  const { mark } = await readHighWater(local, directory);
  const last = views.at(-1)?.segment ?? 0;
  if (mark.segment > last) {
    log.error("PostgreSQL has lost segments that this node had begun", {
      shard: owner.shard,
      segment: mark.segment,
      last,
    });
  }
  await removeIfThere(local, highWaterPath(directory));
}
