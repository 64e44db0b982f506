import assert from "node:assert/strict";
import { test } from "node:test";
import {
  AREA,
  appendSafely,
  DIRECTORY,
  emptyDisk,
  filesOf,
  type OpenedArea,
  openOn,
  readOn,
  settle,
} from "../../test/harness/persistence-fixture.ts";
import type { SimulatedDisk } from "../../test/simulation/disk/simulated-disk.ts";
import { seededRandom } from "../kernel/random.ts";
import { DamagedData, MissingData, NewerFormat } from "./errors.ts";
import { type SnapshotEngine, type SnapshotWritten, writeSnapshot } from "./snapshot.ts";

const SNAPSHOT = "/store/0000000002.snapshot";

/** An engine whose state is the last ten frames: small, however many there were. */
class TailEngine implements SnapshotEngine {
  texts: string[] = [];

  replay(frame: Buffer): void {
    this.texts = [...this.texts, frame.toString("latin1")].slice(-10);
  }

  *dump(): Iterable<Uint8Array> {
    // As the interface allows, one buffer serves all frames.
    const scratch = Buffer.alloc(100);
    for (const text of this.texts) yield scratch.subarray(0, scratch.write(text, "latin1"));
  }
}

function snapshotOn(disk: SimulatedDisk, engine = new TailEngine()): Promise<SnapshotWritten | undefined> {
  return writeSnapshot({ disk, directory: DIRECTORY, area: AREA, engine, random: seededRandom(3) });
}

/** An area with a snapshot of `a` … and a segment after it. */
async function withSnapshot(): Promise<SimulatedDisk> {
  const disk = await emptyDisk();
  const opened = await openOn(disk);
  await appendSafely(opened, "a", "b", "c");
  await opened.area.closeSegment();
  await snapshotOn(disk);
  await opened.area.adoptSnapshot();
  await appendSafely(opened, "d");
  return disk;
}

test("a snapshot replaces the closed segments", async () => {
  const disk = await emptyDisk();
  const opened = await openOn(disk);
  const texts = Array.from({ length: 25 }, (_, i) => `t${i}`);
  await appendSafely(opened, ...texts);
  await opened.area.closeSegment();
  await appendSafely(opened, "later");

  const written = await snapshotOn(disk);

  assert.deepEqual(written, { number: 2, position: 25, bytes: disk.bytesOf(SNAPSHOT).length });
  assert.equal(await opened.area.adoptSnapshot(), true);
  assert.equal(await opened.area.adoptSnapshot(), false);
  assert.deepEqual(filesOf(disk), ["/store/0000000002.journal", SNAPSHOT]);
  const again = await openOn(disk);
  assert.deepEqual(again.frames, [...texts.slice(-10), "later"]);
  assert.deepEqual([again.area.journal.end, again.area.recovered.snapshot?.position], [26, 25]);
});

test("a snapshot is made from the previous one and the segments since", async () => {
  const disk = await withSnapshot();
  const opened = await openOn(disk);
  await opened.area.closeSegment();

  const engine = new TailEngine();
  assert.deepEqual((await snapshotOn(disk, engine))?.position, 4);
  assert.deepEqual(engine.texts, ["a", "b", "c", "d"]);
  await opened.area.adoptSnapshot();
  assert.deepEqual(filesOf(disk), ["/store/0000000003.journal", "/store/0000000003.snapshot"]);
  assert.deepEqual((await openOn(disk)).frames, ["a", "b", "c", "d"]);
});

test("writes no snapshot if no segment was closed since the last one", async () => {
  const fresh = await emptyDisk();
  await appendSafely(await openOn(fresh), "a");
  assert.equal(await snapshotOn(fresh), undefined);

  assert.equal(await snapshotOn(await withSnapshot()), undefined);
});

test("an empty state has a snapshot too", async () => {
  const disk = await emptyDisk();
  const opened = await openOn(disk);
  await appendSafely(opened, "a");
  await opened.area.closeSegment();
  const engine = new TailEngine();
  engine.dump = () => [];

  await snapshotOn(disk, engine);
  await opened.area.adoptSnapshot();

  const again = await openOn(disk);
  assert.deepEqual([again.frames, again.area.journal.end], [[], 1]);
});

test("A-19: refuses a snapshot with any byte flipped, missing or added, and names it", async () => {
  const disk = await withSnapshot();
  const bytes = disk.bytesOf(SNAPSHOT);
  const refuse = async (changed: Buffer, what: string): Promise<void> => {
    const copy = disk.restarted({ seed: 1 });
    copy.put(SNAPSHOT, changed);
    await assert.rejects(readOn(copy), (error) => {
      assert.ok(error instanceof DamagedData || error instanceof NewerFormat, what);
      assert.ok(error.message.startsWith(SNAPSHOT), `${what}: ${error.message}`);
      return true;
    });
  };
  for (let offset = 0; offset < bytes.length; offset += 1) {
    const flipped = Buffer.from(bytes);
    flipped[offset] = (flipped[offset] as number) ^ 0x04;
    await refuse(flipped, `flipped ${offset}`);
    await refuse(bytes.subarray(0, offset), `cut at ${offset}`);
  }
  await refuse(Buffer.concat([bytes, Buffer.alloc(1)]), "longer");
  const newer = Buffer.from(bytes);
  newer.writeUInt32LE(7, 8);
  const copy = disk.restarted({ seed: 1 });
  copy.put(SNAPSHOT, newer);
  await assert.rejects(readOn(copy), new NewerFormat(SNAPSHOT, 7, 2));
});

test("names the missing segment after a snapshot", async () => {
  const disk = await withSnapshot();
  disk.remove("/store/0000000002.journal");

  await assert.rejects(
    readOn(disk),
    new MissingData("/store/0000000002.journal", "the snapshot with the same number needs it"),
  );
});

test("S-07: a power cut while a snapshot is written and adopted loses no frame", async () => {
  const random = seededRandom(11);
  const disk = await emptyDisk();
  const opened = await openOn(disk);
  await appendSafely(opened, "a", "b", "c");
  await opened.area.closeSegment();
  await appendSafely(opened, "d");
  const crashes: SimulatedDisk[] = [];
  disk.onBoundary = () => {
    for (let i = 0; i < 10; i += 1) crashes.push(disk.afterPowerCut(random));
    crashes.push(disk.afterKill(random));
  };

  await snapshotOn(disk);
  await opened.area.adoptSnapshot();

  assert.ok(crashes.length > 50, `${crashes.length} crashes`);
  for (const crashed of crashes) {
    assert.deepEqual((await openOn(crashed)).frames, ["a", "b", "c", "d"]);
    // Recovery made the snapshot's name durable before it removed the segments that the snapshot covers.
    assert.deepEqual((await openOn(crashed.afterPowerCut(random))).frames, ["a", "b", "c", "d"]);
  }
});

test("S-05: a snapshot that cannot be written changes nothing", async () => {
  for (const kind of ["create", "write", "sync", "close", "rename"] as const) {
    const disk = await emptyDisk();
    const opened = await openOn(disk);
    await appendSafely(opened, "a");
    await opened.area.closeSegment();
    disk.faultOf = (operation) =>
      operation.kind === kind && operation.path.includes("snapshot") ? { code: "ENOSPC" } : undefined;

    await assert.rejects(snapshotOn(disk), { code: "ENOSPC" }, kind);

    disk.faultOf = () => undefined;
    assert.equal(await opened.area.adoptSnapshot(), false);
    assert.deepEqual((await openOn(disk)).frames, ["a"]);
    assert.deepEqual(filesOf(disk), ["/store/0000000001.journal", "/store/0000000002.journal"]);
  }
});

test("a snapshot is due when the segments since the last one are larger than it", async () => {
  const disk = await emptyDisk();
  let dueCount = 0;
  const opened = await openOn(disk, {
    snapshotBytesMin: 1_000,
    segmentBytesMax: 600,
    onSnapshotDue: () => {
      dueCount += 1;
    },
  });
  const { area } = opened;
  await appendSafely(opened, "x".repeat(500));
  await settle();
  assert.deepEqual([area.isSnapshotDue(), dueCount], [false, 0]);

  await appendSafely(opened, "y".repeat(500));
  await settle();
  assert.deepEqual([area.isSnapshotDue(), dueCount], [true, 1]);

  await area.closeSegment();
  const engine = new TailEngine();
  engine.dump = () => [Buffer.alloc(2_000, 1)];
  await snapshotOn(disk, engine);
  await area.adoptSnapshot();
  assert.equal(area.isSnapshotDue(), false);
  await appendSafely(opened, "z".repeat(1_500));
  assert.equal(area.isSnapshotDue(), false, "the snapshot has 2,000 bytes");
  await appendSafely(opened, "z".repeat(600));
  assert.equal(area.isSnapshotDue(), true);
});

/** Appends a frame of so many bytes, `bulkBytes` of which a replay only copies, and waits until the segment is closed. */
async function appendBulk({ area }: OpenedArea, bytes: number, bulkBytes: number): Promise<void> {
  area.journal.append(Buffer.alloc(bytes, 1), undefined, bulkBytes);
  await area.journal.whenSafe(area.journal.end);
  await settle();
}

test("bytes that a replay only copies count an eighth towards a snapshot", async () => {
  const opened = await openOn(await emptyDisk(), { snapshotBytesMin: 1_000, segmentBytesMax: 1_500 });
  const { area } = opened;
  // Each frame has 100 bytes and 80 for 640 that are copied.
  for (let i = 0; i < 4; i += 1) {
    assert.equal(area.isSnapshotDue(), false, `${i} frames`);
    await appendBulk(opened, 740, 640);
  }

  assert.equal(area.isSnapshotDue(), true);
  assert.ok(area.sizes.journalBytes < 4_000);
});

test("a snapshot is due when the segments take four times the bound on their weight", async () => {
  const disk = await emptyDisk();
  const options = { snapshotBytesMin: 1_000, segmentBytesMax: 1_500 };
  const opened = await openOn(disk, options);
  await appendBulk(opened, 1_900, 1_900);
  assert.equal(opened.area.isSnapshotDue(), false);
  await appendBulk(opened, 1_900, 1_900);
  assert.equal(opened.area.isSnapshotDue(), true);

  await opened.area.closeSegment();
  const engine = new TailEngine();
  engine.dump = () => [Buffer.alloc(5_000, 1)];
  await snapshotOn(disk, engine);
  await opened.area.adoptSnapshot();
  await appendBulk(opened, 4_500, 4_500);
  assert.equal(opened.area.isSnapshotDue(), false, "the snapshot has 5,000 bytes");
  await appendBulk(opened, 500, 500);
  assert.equal(opened.area.isSnapshotDue(), true);
});

test("after a start all bytes of earlier segments count", async () => {
  const disk = await emptyDisk();
  const options = { snapshotBytesMin: 1_000, segmentBytesMax: 1_500 };
  const opened = await openOn(disk, options);
  await appendBulk(opened, 1_200, 1_200);
  assert.equal(opened.area.isSnapshotDue(), false);
  await opened.area.close();

  assert.equal((await openOn(disk, options)).area.isSnapshotDue(), true);
});

test("a hundred small segments make a snapshot due", async () => {
  const disk = await emptyDisk();
  for (let i = 0; i < 100; i += 1) {
    const opened = await openOn(disk);
    assert.equal(opened.area.isSnapshotDue(), false);
    await appendSafely(opened, "a");
    await opened.area.close();
  }

  assert.equal((await openOn(disk)).area.isSnapshotDue(), true);
});

test("a backup is a durable area with everything appended before it", async () => {
  const random = seededRandom(12);
  for (const linkError of [undefined, "EXDEV", "EPERM"]) {
    const disk = await withSnapshot();
    const opened = await openOn(disk);
    await appendSafely(opened, "e");
    await disk.mkdir("/backup");
    await disk.syncDirectory("/");
    disk.faultOf = ({ kind }) => (kind === "link" && linkError !== undefined ? { code: linkError } : undefined);
    opened.area.journal.append(Buffer.from("f"));

    await opened.area.backUp("/backup");

    await appendSafely(opened, "g");
    const crashed = disk.afterPowerCut(random);
    const backup = await openOn(crashed, { directory: "/backup" });
    assert.deepEqual(backup.frames, ["a", "b", "c", "d", "e", "f"]);
    await appendSafely(backup, "own");
    await backup.area.close();
    assert.deepEqual((await openOn(crashed, { directory: "/backup" })).frames, ["a", "b", "c", "d", "e", "f", "own"]);
    assert.deepEqual((await openOn(crashed)).frames, ["a", "b", "c", "d", "e", "f", "g"]);
  }
});

test("refuses a backup into a directory that holds an area", async () => {
  const disk = await withSnapshot();
  const opened = await openOn(disk);

  await assert.rejects(opened.area.backUp(DIRECTORY), { code: "EEXIST" });
});

test("a backup and the removal of covered segments never overlap", async () => {
  const disk = await withSnapshot();
  const opened = await openOn(disk);
  await opened.area.closeSegment();
  await snapshotOn(disk);
  await disk.mkdir("/backup");

  await Promise.all([opened.area.backUp("/backup"), opened.area.adoptSnapshot()]);

  assert.deepEqual((await openOn(disk, { directory: "/backup" })).frames, ["a", "b", "c", "d"]);
});

test("no segment is removed between the first copy and the backup, and frames appended in between are in the backup", async () => {
  const disk = await withSnapshot();
  const opened = await openOn(disk);
  await opened.area.closeSegment();
  await snapshotOn(disk);
  await disk.mkdir("/backup");
  const copying = Promise.withResolvers<void>();

  const backup = opened.area.backUp("/backup", () => copying.promise);
  const adopted = opened.area.adoptSnapshot();
  await appendSafely(opened, "e");
  await settle();
  assert.ok([...disk.paths].includes("/store/0000000002.journal"));
  copying.resolve();

  assert.equal(await backup, 5);
  assert.equal(await adopted, true);
  assert.equal([...disk.paths].includes("/store/0000000002.journal"), false);
  assert.deepEqual((await openOn(disk, { directory: "/backup" })).frames, ["a", "b", "c", "d", "e"]);
});

test("S-04: after a clean stop, a start on a full disk serves reads, and writes once there is space", async () => {
  const disk = await emptyDisk();
  const before = await openOn(disk);
  await appendSafely(before, "a", "b");
  await before.area.close();
  disk.freeBytes = 0;

  const opened = await openOn(disk);

  const { journal } = opened.area;
  assert.deepEqual(opened.frames, ["a", "b"]);
  assert.deepEqual(
    [journal.refusal, journal.safe, journal.end, numbersOf(opened)],
    ["No space left on device", 2, 2, [[1, false]]],
  );
  opened.clock.advance(1_000);
  await settle();
  assert.equal(journal.refusal, "No space left on device");

  disk.freeBytes = Number.POSITIVE_INFINITY;
  opened.clock.advance(1_000);
  await settle();
  assert.equal(journal.refusal, undefined);
  await appendSafely(opened, "c");
  assert.deepEqual(numbersOf(opened), [
    [1, false],
    [2, false],
  ]);
  await opened.area.close();
  assert.deepEqual((await openOn(disk)).frames, ["a", "b", "c"]);
});

test("S-04: a start on a full disk begins its segment from the reserve, and stops cleanly without one", async () => {
  const disk = await emptyDisk();
  const before = await openOn(disk, { reserveBytes: 1_000 });
  await appendSafely(before, "a");
  await before.area.close();
  disk.freeBytes = 0;

  const opened = await openOn(disk, { reserveBytes: 1_000 });
  await settle();
  opened.clock.advance(1_000);
  await settle();

  assert.deepEqual(numbersOf(opened), [
    [1, false],
    [2, false],
  ]);
  assert.equal(opened.area.journal.refusal, "No space left on device");
  assert.equal(await opened.area.close(), 0);

  const full = await openOn(disk, { reserveBytes: 0 });
  assert.equal(await full.area.close(), 0);
  assert.deepEqual((await openOn(disk)).frames, ["a"]);
});

test("refuses an area without a segment if there is no space to begin one", async () => {
  const disk = await emptyDisk();
  disk.freeBytes = 0;

  await assert.rejects(openOn(disk), { code: "ENOSPC" });
});

test("a start can end the open segment and begin the next one, even if it is empty", async () => {
  const disk = await emptyDisk();
  await appendSafely(await openOn(disk), "a");

  const opened = await openOn(disk, { beginsSegment: true });
  assert.deepEqual(opened.area.segments, [
    { number: 1, bytes: 137, isCovered: false },
    { number: 2, bytes: 64, isCovered: false },
  ]);
  await openOn(disk, { beginsSegment: true });
  const last = await openOn(disk);

  assert.deepEqual(numbersOf(last), [
    [1, false],
    [2, false],
    [3, false],
  ]);
  assert.deepEqual(last.frames, ["a"]);
});

test("a start that ends the open segment and has no space for the next one refuses writes until there is space", async () => {
  const disk = await emptyDisk();
  await appendSafely(await openOn(disk), "a");
  disk.freeBytes = 32;

  const opened = await openOn(disk, { beginsSegment: true });
  assert.equal(opened.area.journal.refusal, "No space left on device");
  disk.freeBytes = Number.POSITIVE_INFINITY;
  await settle();
  opened.clock.advance(1_000);
  await appendSafely(opened, "b");
  assert.deepEqual((await openOn(disk)).frames, ["a", "b"]);
});

test("a snapshot is given to a disk that keeps files elsewhere before anything that it covers is removed", async () => {
  const disk = await emptyDisk();
  const calls: string[] = [];
  const elsewhere = Object.assign(Object.create(disk), {
    adopt: async (path: string) => calls.push(`adopt ${path}`),
    unlink: (path: string) => {
      calls.push(`unlink ${path}`);
      return disk.unlink(path);
    },
  });
  for (const name of ["open", "rename", "link", "list", "mkdir", "syncDirectory"] as const)
    elsewhere[name] = disk[name].bind(disk);
  const opened = await openOn(disk, { disk: elsewhere });
  await appendSafely(opened, "a");
  await opened.area.closeSegment();
  await snapshotOn(disk);
  calls.splice(0);
  await opened.area.adoptSnapshot();

  assert.deepEqual(
    calls.filter((call) => call.includes("/store/")),
    [`adopt ${SNAPSHOT}`, "unlink /store/0000000001.journal"],
  );
});

test("a snapshot waits for the segment with its number", async () => {
  const disk = await emptyDisk();
  const opened = await openOn(disk);
  await appendSafely(opened, "a");
  await opened.area.closeSegment();
  await snapshotOn(disk);
  disk.put("/store/0000000003.snapshot", disk.bytesOf(SNAPSHOT));

  assert.equal(await opened.area.adoptSnapshot(), false);
  disk.remove("/store/0000000003.snapshot");
  assert.equal(await opened.area.adoptSnapshot(), true);
});

function numbersOf({ area }: OpenedArea): readonly (readonly [number, boolean])[] {
  return area.segments.map(({ number, isCovered }) => [number, isCovered]);
}
