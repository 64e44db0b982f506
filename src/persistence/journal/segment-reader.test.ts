import assert from "node:assert/strict";
import { test } from "node:test";
import { appendSafely, emptyDisk, openOn, settle } from "../../../test/harness/persistence-fixture.ts";
import { silentLog } from "../../kernel/log.ts";
import { seededRandom } from "../../kernel/random.ts";
import { DamagedData } from "../errors.ts";
import { writeSnapshot } from "../snapshot.ts";
import { FILE_HEADER_BYTES, FRAME_HEADER_BYTES, MARK_BYTES } from "./file-format.ts";
import type { WrittenBatch } from "./journal.ts";
import { SegmentReader, SegmentRemoved } from "./segment-reader.ts";

/** The payload offset of the first frame in a segment. */
const FIRST_OFFSET = FILE_HEADER_BYTES + MARK_BYTES + FRAME_HEADER_BYTES;

test("reads written frames by location, from the open segment and from closed ones", async () => {
  const opened = await openOn(await emptyDisk());
  const { area } = opened;
  await appendSafely(opened, "first");
  await area.closeSegment();
  await appendSafely(opened, "second");

  const texts = await Promise.all([
    area.read(1, FIRST_OFFSET, 5),
    area.read(2, FIRST_OFFSET + 3, 3),
    area.read(1, FIRST_OFFSET, 2),
  ]);

  assert.deepEqual(texts.map(String), ["first", "ond", "fi"]);
});

test("keeps the sixteen most recently used files open", async () => {
  const disk = await emptyDisk();
  const opened = await openOn(disk);
  for (let i = 0; i < 20; i += 1) {
    await appendSafely(opened, "a");
    await opened.area.closeSegment();
  }
  const before = disk.openCount;
  for (let segment = 1; segment <= 20; segment += 1) await opened.area.read(segment, FIRST_OFFSET, 1);
  await settle();
  assert.equal(disk.openCount - before, 16);

  const opens = disk.countOf("open");
  await opened.area.read(5, FIRST_OFFSET, 1);
  assert.equal(disk.countOf("open"), opens);
  await opened.area.read(4, FIRST_OFFSET, 1);
  await opened.area.read(5, FIRST_OFFSET, 1);
  assert.equal(disk.countOf("open"), opens + 1);

  await opened.area.close();
  assert.equal(disk.openCount, 0);
});

test("refuses a removed segment by name, after the running reads have ended", async () => {
  const disk = await emptyDisk();
  const opened = await openOn(disk);
  await appendSafely(opened, "body");
  await opened.area.closeSegment();
  await opened.area.read(1, FIRST_OFFSET, 4);
  const files = disk.openCount;
  const engine = { replay: () => {}, dump: () => [] };
  await writeSnapshot({ disk, directory: "/store", area: "store", engine, random: seededRandom(3) });

  const reads = Promise.all([1, 2, 3].map(() => opened.area.read(1, FIRST_OFFSET, 4).then(String, String)));
  await opened.area.adoptSnapshot();

  for (const text of await reads) assert.match(text, /^body$|^SegmentRemoved: /);
  await assert.rejects(opened.area.read(1, FIRST_OFFSET, 4), (error) => {
    assert.ok(error instanceof SegmentRemoved && error.segment === 1);
    assert.equal(error.message, "/store/0000000001.journal cannot be read: the segment was removed");
    return true;
  });
  await settle();
  assert.equal(disk.openCount, files - 1);
});

test("refuses a range beyond the end of a segment, and reads of a closed area", async () => {
  const disk = await emptyDisk();
  const opened = await openOn(disk);
  await appendSafely(opened, "body");

  await assert.rejects(
    opened.area.read(1, FIRST_OFFSET, 6),
    new DamagedData("/store/0000000001.journal", FIRST_OFFSET + 4, "2 bytes are missing"),
  );
  await opened.area.close();
  await assert.rejects(opened.area.read(1, FIRST_OFFSET, 4), SegmentRemoved);
});

test("a file in use is closed after the read", async () => {
  const disk = await emptyDisk();
  const opened = await openOn(disk);
  await appendSafely(opened, "body");
  await opened.area.close();
  disk.faultOf = ({ kind }) => (kind === "read" ? { bytesMax: 1 } : undefined);
  const reader = new SegmentReader({ disk, directory: "/store", log: silentLog });

  const reading = reader.read(1, FIRST_OFFSET, 4);
  const closed = reader.close();

  assert.equal(String(await reading), "body");
  await closed;
  assert.equal(disk.openCount, 0);
});

test("after a failed read the next one opens the file again", async () => {
  const disk = await emptyDisk();
  const opened = await openOn(disk);
  await appendSafely(opened, "body");
  disk.faultOf = ({ kind }) => (kind === "read" ? { code: "EIO" } : undefined);
  await assert.rejects(opened.area.read(1, FIRST_OFFSET, 4), { code: "EIO" });
  disk.faultOf = ({ kind }) => (kind === "open" ? { code: "EMFILE" } : undefined);
  await assert.rejects(opened.area.read(1, FIRST_OFFSET, 4), { code: "EMFILE" });
  disk.faultOf = () => undefined;

  assert.equal(String(await opened.area.read(1, FIRST_OFFSET, 4)), "body");
  await opened.area.close();
  assert.equal(disk.openCount, 0);
});

test("the offsets of a frame in its batch and of the batch in its segment give the recovered location", async () => {
  const disk = await emptyDisk();
  const batches: WrittenBatch[] = [];
  const opened = await openOn(disk, { segmentBytesMax: 1_500_000, onBatchWritten: (batch) => batches.push(batch) });
  const { journal } = opened.area;
  const offsets: number[] = [];
  const bodies: Buffer[] = [];
  // Some frames fill a batch, and some fill a segment.
  for (const [index, bytes] of [1, 90, 300_000, 900_000, 5, 1_200_000, 7, 1_500_000, 1_000_000, 3, 9].entries()) {
    const body = Buffer.alloc(bytes, 65 + index);
    bodies.push(body);
    journal.append(body);
    offsets.push(journal.appendedOffset);
    if (index % 4 < 3) continue;
    await journal.whenSafe(journal.end);
    await settle();
  }
  await journal.whenSafe(journal.end);
  await opened.area.closeSegment();

  assert.deepEqual([batches[0]?.start, batches.at(-1)?.end], [0, bodies.length]);
  const locations = bodies.map((_, index) => {
    const batch = batches.find(({ start, end }) => start <= index && index < end) as WrittenBatch;
    return { segment: batch.segment, offset: batch.offset + (offsets[index] as number) };
  });
  for (const [index, { segment, offset }] of locations.entries()) {
    assert.ok((await opened.area.read(segment, offset, bodies[index]?.length ?? 0)).equals(bodies[index] as Buffer));
  }
  const found: unknown[] = [];
  await openOn(disk, { apply: (_, location) => found.push({ ...location }) });
  assert.deepEqual(found, locations);
  assert.ok((locations.at(-1)?.segment ?? 0) > 1);
});

test("a frame of a snapshot has no location", async () => {
  const disk = await emptyDisk();
  const opened = await openOn(disk);
  await appendSafely(opened, "a");
  await opened.area.closeSegment();
  const locations: unknown[] = [];
  const engine = {
    replay: (_: Buffer, location: unknown) => locations.push({ ...(location as object) }),
    dump: () => [Buffer.from("a")],
  };
  await writeSnapshot({ disk, directory: "/store", area: "store", engine, random: seededRandom(3) });
  await appendSafely(opened, "b");

  await openOn(disk, { apply: (_, location) => locations.push(location === undefined ? undefined : { ...location }) });

  assert.deepEqual(locations, [{ segment: 1, offset: FIRST_OFFSET }, undefined, { segment: 2, offset: FIRST_OFFSET }]);
});

test("after a time without space, the location of a batch is that of the write that succeeded", async () => {
  const disk = await emptyDisk();
  const batches: WrittenBatch[] = [];
  const opened = await openOn(disk, { onBatchWritten: (batch) => batches.push(batch) });
  await appendSafely(opened, "a");
  disk.freeBytes = 20;
  opened.area.journal.append(Buffer.from("body"));
  const { appendedOffset } = opened.area.journal;
  await settle();
  assert.deepEqual(batches.length, 1);
  disk.freeBytes = Number.POSITIVE_INFINITY;
  opened.clock.advance(1_000);
  await opened.area.journal.whenSafe(2);

  assert.deepEqual(batches[1], { start: 1, end: 2, segment: 1, offset: FIRST_OFFSET + 1 });
  assert.equal(String(await opened.area.read(1, FIRST_OFFSET + 1 + appendedOffset, 4)), "body");
});
