import assert from "node:assert/strict";
import { test } from "node:test";
import {
  AREA,
  appendSafely,
  DIRECTORY,
  emptyDisk,
  openOn,
  readOn,
  settle,
} from "../../../test/harness/persistence-fixture.ts";
import type { SimulatedDisk } from "../../../test/simulation/disk/simulated-disk.ts";
import { seededRandom } from "../../kernel/random.ts";
import { DamagedData, MissingData } from "../errors.ts";
import { inspectArea } from "../inspection.ts";
import { writeSnapshot } from "../snapshot.ts";

const MARK = "/store.high-water";
const FIRST = "/store/0000000001.journal";
const SECOND = "/store/0000000002.journal";
const THIRD = "/store/0000000003.journal";

/** The disk after a kill, with three segments of two frames each; the last one is open. */
async function threeSegments(): Promise<SimulatedDisk> {
  const disk = await emptyDisk();
  const opened = await openOn(disk);
  await appendSafely(opened, "a", "b");
  await opened.area.closeSegment();
  await appendSafely(opened, "c", "d");
  await opened.area.closeSegment();
  await appendSafely(opened, "e", "f");
  await settle();
  return disk.afterKill(seededRandom(1));
}

async function withSnapshot(disk: SimulatedDisk): Promise<SimulatedDisk> {
  const frames: Buffer[] = [];
  const engine = { replay: (frame: Buffer) => void frames.push(Buffer.from(frame)), dump: () => frames };
  await writeSnapshot({ disk, directory: DIRECTORY, area: AREA, engine, random: seededRandom(2) });
  return disk;
}

const isBegunText = `${MARK} says that it was begun`;

test("the mark names the last segment that was begun, and changes with it", async () => {
  const disk = await threeSegments();

  assert.match(disk.bytesOf(MARK).toString(), /^segment 3, position 4, checksum [0-9a-f]{8}\n$/);

  const opened = await openOn(disk);
  await appendSafely(opened, "g");
  await opened.area.close();
  assert.match(disk.bytesOf(MARK).toString(), /^segment 3, position 7, checksum [0-9a-f]{8}\n$/);
});

test("an empty or missing last segment is reported by name, with a snapshot and without", async () => {
  for (const prepare of [(disk: SimulatedDisk) => disk, withSnapshot]) {
    const disk = await prepare(await threeSegments());
    disk.put(THIRD, Buffer.alloc(0));
    await assert.rejects(readOn(disk), new DamagedData(THIRD, 0, "it is empty, but its first bytes were durable"));

    disk.put(THIRD, Buffer.alloc(64));
    await assert.rejects(readOn(disk), DamagedData);
  }
  const disk = await threeSegments();
  disk.remove(THIRD);
  await assert.rejects(readOn(disk), new MissingData(THIRD, isBegunText));
  disk.remove(SECOND);
  await assert.rejects(readOn(disk), new MissingData(SECOND, isBegunText));
  disk.remove(FIRST);
  await assert.rejects(openOn(disk), new MissingData(FIRST, isBegunText));
});

test("an empty segment after a snapshot is reported by name, even without a mark", async () => {
  const disk = await withSnapshot(await threeSegments());
  disk.remove(MARK);
  disk.put(THIRD, Buffer.alloc(0));

  await assert.rejects(openOn(disk), new DamagedData(THIRD, 0, "it is empty, but its first bytes were durable"));
});

test("a last segment that ends before the position of the mark is damaged", async () => {
  const disk = await threeSegments();
  await (await openOn(disk)).area.close();
  disk.put(THIRD, disk.bytesOf(THIRD).subarray(0, 64));

  await assert.rejects(
    readOn(disk),
    new DamagedData(THIRD, 64, "it ends at position 4, but everything before 6 was durable"),
  );
});

test("an inspection reports an area that lost all its files, or its directory", async () => {
  const disk = await threeSegments();
  for (const path of [FIRST, SECOND, THIRD]) disk.remove(path);

  const emptied = await inspectArea({ disk, directory: DIRECTORY, area: AREA });
  assert.equal(emptied.fault, new MissingData(FIRST, isBegunText).message);

  disk.put("/gone.high-water", disk.bytesOf(MARK));
  const gone = await inspectArea({ disk, directory: "/gone", area: AREA });
  assert.equal(
    gone.fault,
    "/gone/0000000001.journal is missing: /gone.high-water says that it was begun. Restore the data directory from a backup",
  );
});

test("an area opens without a mark, and then has one again", async () => {
  const disk = await threeSegments();
  disk.remove(MARK);

  const opened = await openOn(disk);

  assert.deepEqual(opened.frames, ["a", "b", "c", "d", "e", "f"]);
  await settle();
  assert.match(disk.bytesOf(MARK).toString(), /^segment 3, position 6, /);
});

test("a damaged mark is a fault for an inspection, but does not prevent a start", async () => {
  const disk = await threeSegments();
  disk.flipBit(MARK, 8, 0);

  const report = await inspectArea({ disk, directory: DIRECTORY, area: AREA });
  assert.equal(report.fault, `${MARK} is damaged, so a loss of the last journal files cannot be detected`);

  assert.equal((await openOn(disk)).frames.length, 6);
});

test("an empty segment that a crash left after the marked one is not damage", async () => {
  const disk = await threeSegments();
  await (await openOn(disk)).area.close();
  disk.put("/store/0000000004.journal", Buffer.alloc(0));

  assert.equal((await openOn(disk)).frames.length, 6);
});

test("a snapshot does not take the number of a segment that is still being created", async () => {
  const disk = await threeSegments();
  await (await openOn(disk)).area.close();
  disk.put("/store/0000000004.journal", Buffer.alloc(0));

  await withSnapshot(disk);

  assert.ok(disk.paths.includes("/store/0000000003.snapshot"));
  assert.equal((await openOn(disk)).frames.length, 6);
});

test("a snapshot makes the header of the next segment durable before it gets its name", async () => {
  const disk = await emptyDisk();
  const opened = await openOn(disk);
  await appendSafely(opened, "a");
  await opened.area.closeSegment();
  // As the snapshot sees a segment whose sync is still under way.
  const header = disk.bytesOf(SECOND);
  disk.remove(SECOND);
  const file = await disk.open(SECOND, "create");
  await file.write(header, 0);
  const crashes: SimulatedDisk[] = [];
  const random = seededRandom(5);
  disk.onBoundary = () => {
    for (let i = 0; i < 20; i += 1) crashes.push(disk.afterPowerCut(random));
  };

  await withSnapshot(disk);

  assert.ok(crashes.length > 100, `${crashes.length} crashes`);
  for (const crashed of crashes) {
    // Only the mark may name it: this test made the mark before it put the file back.
    crashed.remove(MARK);
    assert.deepEqual((await openOn(crashed)).frames, ["a"]);
  }
});
