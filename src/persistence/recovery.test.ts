import assert from "node:assert/strict";
import { test } from "node:test";
import {
  AREA,
  appendSafely,
  DIRECTORY,
  emptyDisk,
  filesOf,
  openOn,
  readOn,
  settle,
} from "../../test/harness/persistence-fixture.ts";
import type { SimulatedDisk } from "../../test/simulation/disk/simulated-disk.ts";
import { seededRandom } from "../kernel/random.ts";
import { DamagedData, MissingData, NewerFormat, WrongFile } from "./errors.ts";
import { FILE_HEADER_BYTES, MARK_BYTES } from "./journal/file-format.ts";
import { readArea } from "./recovery.ts";

const FIRST = "/store/0000000001.journal";
const SECOND = "/store/0000000002.journal";
const TEXTS = ["alpha", "beta", "gamma", "delta", "epsilon"];

/** An open segment with one batch for each text, each synced before the next one was built. */
async function oneBatchEach(): Promise<{ bytes: Buffer; batchEnds: number[] }> {
  const disk = await emptyDisk();
  const opened = await openOn(disk);
  const batchEnds: number[] = [];
  for (const text of TEXTS) {
    await appendSafely(opened, text);
    batchEnds.push(opened.area.journal.segmentBytes);
  }
  return { bytes: disk.bytesOf(FIRST), batchEnds };
}

/** The result of recovery with these files: the frames, or the error. */
async function outcomeOf(files: Readonly<Record<string, Uint8Array>>): Promise<string[] | Error> {
  const disk = await emptyDisk();
  for (const [path, bytes] of Object.entries(files)) disk.put(path, bytes);
  try {
    const { frames, area } = await openOn(disk);
    await area.close();
    // Accepted files are accepted again, with nothing left to cut.
    const again = await readOn(disk);
    assert.deepEqual(again.frames, frames);
    assert.equal(again.tail, undefined);
    return [...frames];
  } catch (error) {
    assert.ok(error instanceof Error);
    return error;
  }
}

function isRefusal(outcome: string[] | Error): outcome is Error {
  return [DamagedData, MissingData, NewerFormat, WrongFile].some((kind) => outcome instanceof kind);
}

function flipped(bytes: Buffer, offset: number, mask: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[offset] = (copy[offset] as number) ^ mask;
  return copy;
}

test("A-19: a flipped byte is refused by name if a later batch calls it durable, else it is cut", async () => {
  const { bytes, batchEnds } = await oneBatchEach();
  const lastStart = batchEnds.at(-2) as number;
  for (let offset = 0; offset < bytes.length; offset += 1) {
    for (const mask of [0x01, 0x80, 0xff]) {
      const outcome = await outcomeOf({ [FIRST]: flipped(bytes, offset, mask) });
      if (offset >= lastStart) {
        assert.deepEqual(outcome, TEXTS.slice(0, 4), `byte ${offset} of the last batch`);
        continue;
      }
      assert.ok(isRefusal(outcome), `byte ${offset}: ${outcome}`);
      assert.ok(outcome.message.startsWith(FIRST), outcome.message);
      if (offset < FILE_HEADER_BYTES) continue;
      assert.ok(outcome instanceof DamagedData);
      // The item that holds the byte starts at a batch's mark or right after it.
      const batchStart = [FILE_HEADER_BYTES, ...batchEnds].findLast((end) => end <= offset) as number;
      assert.equal(outcome.offset, offset < batchStart + MARK_BYTES ? batchStart : batchStart + MARK_BYTES);
    }
  }
});

test("A-19: a truncated last segment is cut after its last complete frame", async () => {
  const { bytes, batchEnds } = await oneBatchEach();
  for (let length = 0; length <= bytes.length; length += 1) {
    const outcome = await outcomeOf({ [FIRST]: bytes.subarray(0, length) });
    assert.deepEqual(outcome, TEXTS.slice(0, batchEnds.filter((end) => end <= length).length), `${length} bytes`);
  }
});

test("A-19: a repeated byte or batch is refused, or cut if nothing after it was called durable", async () => {
  const { bytes, batchEnds } = await oneBatchEach();
  for (let offset = 0; offset < bytes.length; offset += 1) {
    const doubled = Buffer.concat([bytes.subarray(0, offset + 1), bytes.subarray(offset)]);
    const outcome = await outcomeOf({ [FIRST]: doubled });
    if (!isRefusal(outcome)) assert.deepEqual(outcome, TEXTS.slice(0, (outcome as string[]).length), `byte ${offset}`);
    if (offset < (batchEnds.at(-2) as number) - 1) assert.ok(isRefusal(outcome), `byte ${offset}: ${outcome}`);
  }
  let start = FILE_HEADER_BYTES;
  for (const [index, end] of batchEnds.entries()) {
    const doubled = Buffer.concat([bytes.subarray(0, end), bytes.subarray(start, end), bytes.subarray(end)]);
    const outcome = await outcomeOf({ [FIRST]: doubled });
    // Nothing after the last batch says that it is durable.
    if (index >= 3) assert.deepEqual(outcome, TEXTS.slice(0, index + 1), `batch ${index}`);
    else assert.ok(isRefusal(outcome), `batch ${index}`);
    start = end;
  }
});

test("A-19: refuses every flipped, missing or added byte in a segment that another one follows", async () => {
  const disk = await emptyDisk();
  const opened = await openOn(disk);
  await appendSafely(opened, "one", "two");
  await appendSafely(opened, "three");
  await opened.area.closeSegment();
  await appendSafely(opened, "four");
  const first = disk.bytesOf(FIRST);
  const second = disk.bytesOf(SECOND);
  assert.deepEqual(await outcomeOf({ [FIRST]: first, [SECOND]: second }), ["one", "two", "three", "four"]);

  for (let offset = 0; offset < first.length; offset += 1) {
    const outcome = await outcomeOf({ [FIRST]: flipped(first, offset, 0x10), [SECOND]: second });
    assert.ok(isRefusal(outcome), `flipped ${offset}: ${outcome}`);
    const shorter = await outcomeOf({ [FIRST]: first.subarray(0, offset), [SECOND]: second });
    assert.ok(isRefusal(shorter), `cut at ${offset}: ${shorter}`);
  }
  const longer = await outcomeOf({ [FIRST]: Buffer.concat([first, Buffer.alloc(1)]), [SECOND]: second });
  assert.ok(isRefusal(longer));
  // A crash may have interrupted the creation of the second one.
  assert.deepEqual(await outcomeOf({ [FIRST]: first, [SECOND]: second.subarray(0, 63) }), ["one", "two", "three"]);
  const damagedTail = await outcomeOf({ [FIRST]: first.subarray(0, -1), [SECOND]: second.subarray(0, 10) });
  assert.ok(isRefusal(damagedTail), "a segment is only created when the previous one is durable");
});

test("complete frames after a hole are not damage if no mark called the hole durable", async () => {
  const disk = await emptyDisk();
  const opened = await openOn(disk, { mode: "no" });
  const ends: number[] = [];
  for (const text of TEXTS) {
    await appendSafely(opened, text);
    ends.push(opened.area.journal.segmentBytes);
  }
  const holed = disk.bytesOf(FIRST).fill(0, ends[1], ends[2]);

  assert.deepEqual(await outcomeOf({ [FIRST]: holed }), ["alpha", "beta"]);
});

test("zeros at the end of a file that grew without its data read as the end", async () => {
  const { bytes } = await oneBatchEach();
  for (const count of [1, 31, 32, 5_000]) {
    assert.deepEqual(
      await outcomeOf({ [FIRST]: Buffer.concat([bytes, Buffer.alloc(count)]) }),
      TEXTS,
      `${count} zeros`,
    );
  }
  assert.deepEqual(await outcomeOf({ [FIRST]: Buffer.alloc(FILE_HEADER_BYTES) }), []);
});

test("chosen payloads cannot make the tail of a crash look like damage", async () => {
  const { bytes, batchEnds } = await oneBatchEach();
  const disk = await emptyDisk();
  const opened = await openOn(disk, { random: seededRandom(99) });
  // A client stores a piece of another journal whose marks call later positions durable.
  await appendSafely(opened, "first");
  await appendSafely(opened, bytes.toString("latin1", batchEnds[2]));
  const length = opened.area.journal.segmentBytes;

  const torn = disk.bytesOf(FIRST);
  torn[length - 1] = (torn[length - 1] as number) ^ 1;

  assert.deepEqual(await outcomeOf({ [FIRST]: torn }), ["first"]);
});

test("names a missing segment, at the start, in the middle and after a snapshot", async () => {
  const disk = await emptyDisk();
  const opened = await openOn(disk);
  for (const text of ["a", "b", "c"]) {
    await appendSafely(opened, text);
    await opened.area.closeSegment();
  }
  const files = Object.fromEntries(disk.paths.map((path) => [path, disk.bytesOf(path)]));
  const without = async (path: string): Promise<string[] | Error> =>
    outcomeOf(Object.fromEntries(Object.entries(files).filter(([name]) => name !== path)));

  assert.deepEqual(await without(FIRST), new MissingData(FIRST, "segment 2 needs it"));
  assert.deepEqual(await without(SECOND), new MissingData(SECOND, "segment 3 needs it"));
  assert.equal(
    new MissingData(SECOND, "segment 3 needs it").message,
    `${SECOND} is missing: segment 3 needs it. Restore the data directory from a backup`,
  );
});

test("refuses a segment in the wrong place by name", async () => {
  const { bytes } = await oneBatchEach();
  assert.ok((await outcomeOf({ [FIRST]: bytes, [SECOND]: bytes })) instanceof DamagedData);

  const elsewhere = await emptyDisk();
  const opened = await openOn(elsewhere, { area: "vector" });
  await appendSafely(opened, "x");
  assert.deepEqual(
    await outcomeOf({ [FIRST]: elsewhere.bytesOf(FIRST) }),
    new WrongFile(FIRST, "belongs to area vector, not store"),
  );

  const disk = await emptyDisk();
  const two = await openOn(disk);
  await appendSafely(two, "a");
  await two.area.closeSegment();
  await appendSafely(two, "b");
  assert.deepEqual(await outcomeOf({ [FIRST]: disk.bytesOf(SECOND) }), new WrongFile(FIRST, "was written as number 2"));
  const other = await emptyDisk();
  const shorter = await openOn(other);
  await appendSafely(shorter, "a", "a2");
  await shorter.area.closeSegment();
  assert.deepEqual(
    await outcomeOf({ [FIRST]: other.bytesOf(FIRST), [SECOND]: disk.bytesOf(SECOND) }),
    new WrongFile(SECOND, "begins at position 1, but the files before it end at 2"),
  );
});

test("refuses a newer format by name, even if the rest of the file differs", async () => {
  const { bytes } = await oneBatchEach();
  const newer = Buffer.from(bytes);
  newer.writeUInt32LE(3, 8);

  assert.deepEqual(await outcomeOf({ [FIRST]: newer }), new NewerFormat(FIRST, 3, 2));
  assert.deepEqual(await outcomeOf({ [FIRST]: newer.subarray(0, 12) }), new NewerFormat(FIRST, 3, 2));
});

test("recovered frames are durable before recovery returns", async () => {
  const disk = await emptyDisk();
  const random = seededRandom(4);
  const opened = await openOn(disk, { mode: "no" });
  await appendSafely(opened, "a", "b");
  const killed = disk.afterKill(random);

  const { frames } = await openOn(killed, { mode: "no" });

  assert.deepEqual(frames, ["a", "b"]);
  for (let i = 0; i < 50; i += 1) assert.deepEqual((await openOn(killed.afterPowerCut(random))).frames, ["a", "b"]);
});

test("S-05: recovery writes again the bytes that a failed fdatasync left only in the cache", async () => {
  const random = seededRandom(6);
  for (const mode of ["always", "everysec", "no"] as const) {
    for (let round = 0; round < 30; round += 1) {
      const disk = await emptyDisk(round);
      const opened = await openOn(disk, { mode });
      await appendSafely(opened, "a", "b");
      opened.area.journal.append(Buffer.from("c"));
      disk.faultOf = ({ kind }) => (kind === "sync" ? { code: "EIO" } : undefined);
      opened.clock.advance(1_000);
      if (round % 2 === 1) void opened.area.closeSegment();
      await settle();
      disk.faultOf = () => undefined;
      const restarted = disk.afterKill(random);

      const { frames } = await openOn(restarted, { mode });

      const later = await openOn(restarted.afterPowerCut(random));
      assert.deepEqual(later.frames, frames, `${mode}, round ${round}`);
    }
  }
});

test("an interrupted recovery leaves everything that the next one needs", async () => {
  const random = seededRandom(8);
  const disk = await emptyDisk();
  const opened = await openOn(disk, { mode: "no" });
  await appendSafely(opened, "a", "b");
  await opened.area.closeSegment();
  await appendSafely(opened, "c", "d");
  await settle();
  await appendSafely(opened, "e");
  for (let round = 0; round < 30; round += 1) {
    const crashed = disk.afterPowerCut(random);
    const expected = (await readOn(crashed)).frames;
    const again: SimulatedDisk[] = [];
    crashed.onBoundary = () => again.push(crashed.afterPowerCut(random), crashed.afterKill(random));
    await openOn(crashed);
    for (const interrupted of again) assert.deepEqual((await openOn(interrupted)).frames, expected);
  }
});

test("removes leftovers, and leaves files that are not its own", async () => {
  const disk = await emptyDisk();
  disk.put("/store/0000000003.snapshot.1f2e.new", Buffer.from("half"));
  disk.put("/store/notes.txt", Buffer.from("mine"));
  disk.put("/store/1.journal", Buffer.from("not a name of ours"));

  const { area } = await openOn(disk);
  await area.close();

  assert.deepEqual(filesOf(disk), ["/store/0000000001.journal", "/store/1.journal", "/store/notes.txt"]);
});

test("readArea reports its progress in bytes and changes nothing", async () => {
  const disk = await emptyDisk();
  const opened = await openOn(disk);
  await appendSafely(opened, "a");
  await opened.area.closeSegment();
  await appendSafely(opened, "b");
  disk.put(SECOND, Buffer.concat([disk.bytesOf(SECOND), Buffer.from("torn")]));
  const before = disk.paths.map((path) => disk.bytesOf(path));
  const reports: [number, number, string][] = [];

  const read = await readArea({
    disk,
    directory: DIRECTORY,
    area: AREA,
    apply: () => {},
    onProgress: (...progress) => reports.push(progress),
  });

  const totalBytes = disk.bytesOf(FIRST).length + disk.bytesOf(SECOND).length;
  assert.deepEqual(reports.at(-1), [totalBytes, totalBytes, "replay"]);
  assert.deepEqual(read.tail, { file: SECOND, offset: disk.bytesOf(SECOND).length - 4, bytes: 4 });
  assert.deepEqual(
    disk.paths.map((path) => disk.bytesOf(path)),
    before,
  );
});

test("reads frames and files larger than a window", async () => {
  const disk = await emptyDisk();
  const opened = await openOn(disk, { mode: "no" });
  const texts = Array.from({ length: 300 }, (_, i) => String.fromCharCode(32 + (i % 90)).repeat(i * 37));
  texts[0] = "x";
  texts[150] = "y".repeat(3_000_000);
  for (const text of texts) opened.area.journal.append(Buffer.from(text, "latin1"));
  await opened.area.journal.whenSafe(300);

  const { frames } = await readOn(disk);

  assert.equal(frames.length, 300);
  assert.ok(frames.every((text, i) => text === texts[i]));
});
