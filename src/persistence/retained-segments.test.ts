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
  settle,
} from "../../test/harness/persistence-fixture.ts";
import type { SimulatedDisk } from "../../test/simulation/disk/simulated-disk.ts";
import { seededRandom } from "../kernel/random.ts";
import { inspectArea } from "./inspection.ts";
import { FILE_HEADER_BYTES, FRAME_HEADER_BYTES, MARK_BYTES } from "./journal/file-format.ts";
import { writeSnapshot } from "./snapshot.ts";

/** The payload offset of the first frame in a segment. */
const FIRST_OFFSET = FILE_HEADER_BYTES + MARK_BYTES + FRAME_HEADER_BYTES;

/** Three segments with one frame each and an open one; an empty snapshot covers the first three. */
async function withCovered(mayRemove?: (segment: number) => boolean): Promise<OpenedArea & { disk: SimulatedDisk }> {
  const disk = await emptyDisk();
  const opened = await openOn(disk, mayRemove && { mayRemove });
  for (const text of ["a", "b", "c"]) {
    await appendSafely(opened, text);
    await opened.area.closeSegment();
  }
  await snapshotOn(disk);
  await opened.area.adoptSnapshot();
  return { ...opened, disk };
}

function snapshotOn(disk: SimulatedDisk): Promise<unknown> {
  const engine = { replay: () => {}, dump: () => [] };
  return writeSnapshot({ disk, directory: DIRECTORY, area: AREA, engine, random: seededRandom(3) });
}

function numbersOf({ area }: OpenedArea): [number, boolean][] {
  return area.segments.map(({ number, isCovered }) => [number, isCovered]);
}

test("a covered segment stays, and can be read, as long as the engine needs it", async () => {
  const needed = new Set([1, 3]);
  const opened = await withCovered((segment) => !needed.has(segment));
  const { area, disk } = opened;
  const bytes = disk.bytesOf("/store/0000000001.journal").length;

  assert.deepEqual(area.segments, [
    { number: 1, bytes, isCovered: true },
    { number: 3, bytes, isCovered: true },
    { number: 4, bytes: FILE_HEADER_BYTES, isCovered: false },
  ]);
  assert.equal(String(await area.read(3, FIRST_OFFSET, 1)), "c");
  needed.delete(1);
  await area.removeUnneeded();
  assert.deepEqual(numbersOf(opened), [
    [3, true],
    [4, false],
  ]);
  assert.deepEqual(filesOf(disk), [
    "/store/0000000003.journal",
    "/store/0000000004.journal",
    "/store/0000000004.snapshot",
  ]);
});

test("retained segments outlive a start, which does not read them, until the engine is asked", async () => {
  const { disk } = await withCovered((segment) => segment === 2);

  let needsFirst = true;
  const mayRemove = (segment: number): boolean => segment !== 1 || !needsFirst;
  const again = await openOn(disk, { mayRemove });

  assert.deepEqual([again.frames, again.area.journal.end], [[], 3]);
  assert.deepEqual(numbersOf(again), [
    [1, true],
    [3, true],
    [4, false],
  ]);
  await again.area.removeUnneeded();
  assert.deepEqual(numbersOf(again), [
    [1, true],
    [4, false],
  ]);
  assert.equal(String(await again.area.read(1, FIRST_OFFSET, 1)), "a");
  needsFirst = false;
  await again.area.removeUnneeded();
  await again.area.close();
  assert.deepEqual(numbersOf(await openOn(disk)), [[4, false]]);
});

test("a start without mayRemove removes the segments that an earlier start retained", async () => {
  const { disk } = await withCovered(() => false);

  await openOn(disk);

  assert.deepEqual(filesOf(disk), ["/store/0000000004.journal", "/store/0000000004.snapshot"]);
});

test("retained segments make no snapshot due", async () => {
  const disk = await emptyDisk();
  const opened = await openOn(disk, { mayRemove: () => false, snapshotBytesMin: 1_000 });
  await appendSafely(opened, "x".repeat(1_500));
  await opened.area.closeSegment();
  assert.equal(opened.area.isSnapshotDue(), true);
  await snapshotOn(disk);
  await opened.area.adoptSnapshot();

  assert.equal(opened.area.isSnapshotDue(), false);
  assert.equal((await openOn(disk, { mayRemove: () => false, snapshotBytesMin: 1_000 })).area.isSnapshotDue(), false);
});

test("a segment is removed once all frames appended before the engine gave it up are durable", async () => {
  for (const mode of ["always", "everysec", "no"] as const) {
    const { disk } = await withCovered(() => false);
    const opened = await openOn(disk, { mode, mayRemove: () => true });
    const { journal } = opened.area;
    disk.freeBytes = 0;
    journal.append(Buffer.from("segments 1 to 3 are not needed"));
    const removed = opened.area.removeUnneeded();
    await settle();
    assert.deepEqual([journal.synced, opened.area.segments.length], [3, 4], mode);

    disk.freeBytes = Number.POSITIVE_INFINITY;
    opened.clock.advance(1_000);
    await removed;
    assert.deepEqual([journal.synced, numbersOf(opened)], [4, [[4, false]]], mode);
  }
});

test("closing the area ends a removal that waits for space, and nothing is removed", async () => {
  const { disk } = await withCovered(() => false);
  const opened = await openOn(disk, { mayRemove: () => true });
  disk.freeBytes = 0;
  opened.area.journal.append(Buffer.from("lost"));
  const removed = opened.area.removeUnneeded();
  await settle();

  assert.equal(await opened.area.close(), 1);
  await removed;
  await opened.area.removeUnneeded();

  assert.equal(filesOf(disk).length, 5);
});

test("a failed removal is tried again", async () => {
  const { area, disk } = await withCovered(() => false);
  await area.close();
  const again = await openOn(disk, { mayRemove: () => true });
  disk.faultOf = ({ kind, path }) =>
    kind === "unlink" && path === "/store/0000000002.journal" ? { code: "EIO" } : undefined;
  await assert.rejects(again.area.removeUnneeded(), { code: "EIO" });
  assert.equal(again.area.segments.length, 3);

  disk.faultOf = () => undefined;
  await again.area.removeUnneeded();

  assert.equal(again.area.segments.length, 1);
});

test("a snapshot is made from the previous one while covered segments are retained or removed", async () => {
  let isNeeded = true;
  const opened = await withCovered(() => !isNeeded);
  await appendSafely(opened, "d");
  await opened.area.closeSegment();
  isNeeded = false;

  await Promise.all([snapshotOn(opened.disk), opened.area.removeUnneeded()]);
  await opened.area.adoptSnapshot();

  assert.deepEqual(filesOf(opened.disk), ["/store/0000000005.journal", "/store/0000000005.snapshot"]);
});

test("a backup holds the retained segments, and those of a snapshot that was not adopted yet", async () => {
  const mayRemove = (segment: number): boolean => segment === 1;
  const opened = await withCovered(mayRemove);
  const { area, disk } = opened;
  await appendSafely(opened, "d");
  await area.closeSegment();
  await snapshotOn(disk);
  await disk.mkdir("/backup");
  await disk.syncDirectory("/");

  await area.backUp("/backup");
  const crashed = disk.afterPowerCut(seededRandom(5));
  const backup = await openOn(crashed, { directory: "/backup", mayRemove });

  assert.deepEqual(numbersOf(backup), [
    [2, true],
    [3, true],
    [4, true],
    [5, false],
  ]);
  assert.equal(String(await backup.area.read(2, FIRST_OFFSET, 1)), "b");
});

test("the report of an area lists retained segments separately from those that a start reads", async () => {
  const { disk } = await withCovered((segment) => segment !== 2);
  const { length: bytes } = disk.bytesOf("/store/0000000002.journal");

  const report = await inspectArea({ disk, directory: DIRECTORY, area: AREA });

  assert.deepEqual(report.covered, [{ number: 2, bytes }]);
  assert.deepEqual(report.segments, [{ number: 4, bytes: FILE_HEADER_BYTES, isEnded: false }]);
  assert.deepEqual([report.fault, report.frames, report.position], [undefined, 0, 3]);
});

test("each segment is listed exactly once at any time", async () => {
  const disk = await emptyDisk();
  const seen = new Set<string>();
  const opened: OpenedArea = await openOn(disk, {
    onBatchWritten: () => look(),
    onSyncedLocation: () => look(),
    onSnapshotDue: () => look(),
    snapshotBytesMin: 1,
  });
  const look = (): void => {
    seen.add(opened.area.segments.map(({ number }) => number).join());
  };
  disk.onBoundary = look;
  for (let i = 0; i < 3; i += 1) {
    await appendSafely(opened, "a");
    await opened.area.closeSegment();
  }

  assert.deepEqual([...seen], ["1", "1,2", "1,2,3", "1,2,3,4"]);
});
