/**
 * Question: what does the journal cost compared with the bare file operations it is
 * made of, and how long does a start take to read it?
 *
 * Method: in each turn of the event loop K frames of 100 bytes are appended,
 * as K connections would, and the next turn begins when all are durable. The bare
 * rows do the same with one buffer and one write for each turn: on this thread,
 * through the pool, or through the pool and synced; the first two are synced
 * once a second, as `everysec` is. All write to one directory in one run. Then
 * checksums alone, bytes of JavaScript heap for each frame, and the recovery of
 * a million frames of 60 bytes by an engine that does nothing, and following
 * the same frames as a history does.
 *
 * Read: thousands of frames a second; compare `everysec` with `this thread`,
 * `always` with `pool, synced`. With `always` the disk should dominate:
 * nine tenths of the bare row. Compared with `this thread`, a frame additionally costs its checksum
 * and its header, some 250 ns. Heap bytes for each frame should stay below
 * those of one object, and recovery should take well below 1.5 s. `this thread` above `pool` is why a small batch
 * is not sent through the pool. A file system in memory (tmpfs) makes every
 * sync free: give another directory then.
 *
 * Run: npm run bench -- journal [directory]
 */
import * as fs from "node:fs";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { crc32 as zlibCrc32 } from "node:zlib";
import { systemClock } from "../src/kernel/clock.ts";
import { silentLog } from "../src/kernel/log.ts";
import { systemRandom } from "../src/kernel/random.ts";
import { type AreaStorage, openAreaStorage } from "../src/persistence/area-storage.ts";
import { fileDisk } from "../src/persistence/disk/file-disk.ts";
import { crc32 } from "../src/persistence/journal/checksum.ts";
import type { SyncedLocation } from "../src/persistence/journal/file-format.ts";
import { FrameFollower } from "../src/persistence/journal/frame-follower.ts";
import type { FsyncMode } from "../src/persistence/journal/journal.ts";

const FRAME_BYTES = 100;
const RUN_MS = 700;
const FRAMES_OF_A_TURN = [1, 64, 1_000];

/** Appends that many frames in one turn and resolves when all of them are durable. */
type Turn = (frameCount: number) => Promise<void>;

interface Subject {
  readonly turn: Turn;
  close(): Promise<void>;
}

const parent = process.argv[2] ?? tmpdir();
const directory = mkdtempSync(join(parent, "larder-bench-"));
let count = 0;

function fresh(): string {
  count += 1;
  const path = join(directory, String(count));
  mkdirSync(path);
  return path;
}

function openIn(path: string, mode: FsyncMode, apply: (frame: Buffer) => void = () => {}): Promise<AreaStorage> {
  return openAreaStorage({
    disk: fileDisk,
    directory: path,
    area: "bench",
    mode,
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    apply,
    onFatal: (error) => {
      throw error;
    },
  });
}

async function journal(mode: FsyncMode): Promise<Subject> {
  const area = await openIn(fresh(), mode);
  const frame = Buffer.alloc(FRAME_BYTES, 65);
  const turn: Turn = async (frameCount) => {
    for (let i = 0; i < frameCount; i += 1) area.journal.append(frame);
    await area.journal.whenSafe(area.journal.end);
  };
  return { turn, close: async () => void (await area.close()) };
}

/** One buffer, one write: the bare cost of the frames of a turn. */
async function bare(way: "this thread" | "pool" | "pool, synced"): Promise<Subject> {
  const file = await fileDisk.open(join(fresh(), "bare"), "create");
  const frame = Buffer.alloc(FRAME_BYTES, 65);
  const buffer = Buffer.alloc(FRAME_BYTES * 1_000);
  let offset = 0;
  let syncing: Promise<void> = Promise.resolve();
  const stopSyncing = way === "pool, synced" ? () => {} : everySecond(() => (syncing = file.fdatasync()));
  const turn: Turn = async (frameCount) => {
    let length = 0;
    for (let i = 0; i < frameCount; i += 1) {
      buffer.set(frame, length);
      length += FRAME_BYTES;
    }
    await new Promise((resolve) => setImmediate(resolve));
    const bytes = buffer.subarray(0, length);
    if (way === "this thread") file.writeNow(bytes, offset);
    else await file.write(bytes, offset);
    if (way === "pool, synced") await file.fdatasync();
    offset += length;
  };
  const close = async (): Promise<void> => {
    stopSyncing();
    await syncing;
    await file.close();
  };
  return { turn, close };
}

function everySecond(task: () => void): () => void {
  const timer = setInterval(task, 1_000);
  return () => clearInterval(timer);
}

const subjects: Record<string, () => Promise<Subject>> = {
  "bare, this thread": () => bare("this thread"),
  "bare, pool": () => bare("pool"),
  "journal, no": () => journal("no"),
  "journal, everysec": () => journal("everysec"),
  "bare, pool, synced": () => bare("pool, synced"),
  "journal, always": () => journal("always"),
};

async function thousandsPerSecond(make: () => Promise<Subject>, frameCount: number): Promise<number> {
  const { turn, close } = await make();
  for (let i = 0; i < 200; i += 1) await turn(frameCount);
  let turns = 0;
  const startMs = performance.now();
  while (performance.now() - startMs < RUN_MS) {
    await turn(frameCount);
    turns += 1;
  }
  const tookMs = performance.now() - startMs;
  await close();
  return Math.round((turns * frameCount) / tookMs);
}

async function measureAppends(): Promise<void> {
  const rows: Record<string, Record<string, number>> = {};
  for (const [name, make] of Object.entries(subjects)) {
    const row: Record<string, number> = {};
    for (const frameCount of FRAMES_OF_A_TURN) row[`K = ${frameCount}`] = await thousandsPerSecond(make, frameCount);
    rows[name] = row;
  }
  console.log("Thousands of frames a second");
  console.table(rows);
}

function measureChecksums(): void {
  const rows: Record<string, Record<string, number>> = {};
  for (const length of [16, 60, 100, 192, 1_000]) {
    const bytes = Buffer.alloc(length, 7);
    const rounds = 1_000_000;
    const time = (sum: (seed: number) => number): number => {
      let seed = 0;
      for (let i = 0; i < rounds / 10; i += 1) seed = sum(seed);
      const startMs = performance.now();
      for (let i = 0; i < rounds; i += 1) seed = sum(seed);
      return Math.round(((performance.now() - startMs) * 1e6) / rounds);
    };
    rows[`${length} bytes`] = {
      ours: time((seed) => crc32(bytes, 0, length, seed)),
      zlib: time((seed) => zlibCrc32(bytes, seed)),
    };
  }
  console.log("Checksum, nanoseconds");
  console.table(rows);
}

async function measureHeap(): Promise<void> {
  const area = await openIn(fresh(), "no");
  const frame = Buffer.alloc(FRAME_BYTES, 65);
  const rounds = 200_000;
  const appendAll = (): void => {
    for (let i = 0; i < rounds; i += 1) area.journal.append(frame);
  };
  appendAll();
  await area.journal.whenSafe(area.journal.end);
  globalThis.gc?.();
  const before = process.memoryUsage().heapUsed;
  appendAll();
  const grown = process.memoryUsage().heapUsed - before;
  await area.close();
  console.log(`Heap for each frame: ${(grown / rounds).toFixed(2)} bytes`);
}

async function measureRecovery(): Promise<void> {
  const path = fresh();
  const area = await openIn(path, "no");
  const frame = Buffer.alloc(60, 65);
  for (let i = 0; i < 1_000_000; i += 1) {
    area.journal.append(frame);
    if (i % 1_000 === 0) await area.journal.whenSafe(area.journal.end);
  }
  await area.close();
  let bytes = 0;
  const startMs = performance.now();
  const again = await openIn(path, "no", (found) => {
    bytes += found.length;
  });
  const tookMs = performance.now() - startMs;
  const followedMs = await measureFollowing(path, again.journal.syncedLocation);
  await again.close();
  const sizeMb = fs.readdirSync(path).reduce((sum, name) => sum + fs.statSync(join(path, name)).size, 0) / 2 ** 20;
  console.log(
    `Recovery of 1,000,000 frames of 60 bytes (${sizeMb.toFixed(0)} MB): ${tookMs.toFixed(0)} ms, ${bytes} bytes applied`,
  );
  console.log(`Following them: ${followedMs.toFixed(0)} ms`);
}

async function measureFollowing(path: string, place: SyncedLocation): Promise<number> {
  const options = { disk: fileDisk, directory: path, area: "bench", position: 0, frame: () => {} };
  const follower = new FrameFollower(options);
  const startMs = performance.now();
  await follower.follow(place);
  await follower.close();
  return performance.now() - startMs;
}

try {
  await measureAppends();
  measureChecksums();
  await measureHeap();
  await measureRecovery();
} finally {
  rmSync(directory, { recursive: true });
}
