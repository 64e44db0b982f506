import assert from "node:assert/strict";
import { test } from "node:test";
import { SimulatedDisk } from "../../../test/simulation/disk/simulated-disk.ts";
import { rowFiles } from "../../program/workers/row-files.ts";
import { entryBytesOf, HEAD_BYTES } from "./row-entries.ts";
import { DamagedRow } from "./row-file-storage.ts";
import { type RefusedRowFile, RowFiles, removeOtherRowFiles } from "./row-files.ts";

const DIRECTORY = "/area";
const DIMENSION = 3;
const ENTRY_BYTES = entryBytesOf(DIMENSION);
const ENTRIES_MAX = 4;
const FIRST = `${DIRECTORY}/rows-7-2-1`;

interface Opened {
  readonly files: RowFiles;
  readonly refused: readonly RefusedRowFile[];
  readonly disk: SimulatedDisk;
  set(record: number, version: number): void;
}

async function emptyDisk(): Promise<SimulatedDisk> {
  const disk = new SimulatedDisk({ seed: 1 });
  await disk.mkdir(DIRECTORY);
  return disk;
}

/** Files of the namespace 2 of the index 7, or of another one, after a replay of nothing. */
async function open(disk: SimulatedDisk, other: { namespace?: number; dimension?: number } = {}): Promise<Opened> {
  const versions = new Map<number, number>();
  const { files, refused } = await RowFiles.open({
    storage: rowFiles(disk, DIRECTORY),
    index: 7,
    namespace: 2,
    dimension: DIMENSION,
    ...other,
    versionOf: (record) => versions.get(record) ?? 0,
    segmentBytes: HEAD_BYTES + ENTRIES_MAX * ENTRY_BYTES,
  });
  const set = (record: number, version: number): void => {
    versions.set(record, version);
    files.set(record, rowOf(version));
  };
  return { files, refused, disk, set };
}

function rowOf(version: number): { version: number; squaredLength: number; values: Float32Array } {
  return { version, squaredLength: 3 * version * version, values: new Float32Array(DIMENSION).fill(version) };
}

/** Rows 1 to `count` of the records 0 to `count` - 1, written. */
async function written(count: number): Promise<Opened> {
  const opened = await open(await emptyDisk());
  opened.files.endRecovery();
  for (let record = 0; record < count; record += 1) opened.set(record, record + 1);
  await opened.files.flush();
  return opened;
}

function valuesOf(rows: readonly (Float32Array | undefined)[]): (number[] | undefined)[] {
  return rows.map((row) => row && [...row]);
}

test("a row is read from the buffer, and from its file after a flush", async () => {
  const { files, set } = await open(await emptyDisk());
  files.endRecovery();
  set(5, 1);
  set(9, 2);
  assert.deepEqual(valuesOf(await files.read([9, 5, 6])), [[2, 2, 2], [1, 1, 1], undefined]);
  assert.deepEqual(files.hold([9]).places, [undefined]);

  await files.flush();

  assert.equal(files.bufferedCount, 0);
  assert.equal(files.count, 2);
  assert.deepEqual(valuesOf(await files.read([9, 5, 6])), [[2, 2, 2], [1, 1, 1], undefined]);
  const { places, release } = files.hold([9, 6]);
  assert.deepEqual(places, [{ descriptor: 3, offset: HEAD_BYTES + ENTRY_BYTES, version: 2 }, undefined]);
  release();
});

test("a row that is replaced while it is written stays in the buffer", async () => {
  const { files, set } = await open(await emptyDisk());
  files.endRecovery();
  set(0, 1);
  const flushed = files.flush();
  await Promise.resolve();
  set(0, 2);
  await flushed;
  await files.flush();
  assert.equal(files.count, 1);
  assert.deepEqual(valuesOf(await files.read([0])), [[2, 2, 2]]);
});

test("a replay gives found rows their places, and writes changed ones again", async () => {
  const { files, disk } = await written(6);
  await files.close();

  const again = await open(disk);
  assert.deepEqual(again.refused, []);
  for (let record = 0; record < 5; record += 1) again.set(record, record + 1);
  again.files.set(5, { ...rowOf(6), values: Float32Array.of(6, 6, 7) });
  assert.equal(again.files.bufferedCount, 1);
  again.set(8, 5);
  assert.equal(again.files.bufferedCount, 2, "a place belongs to one record");
  again.files.endRecovery();
  assert.deepEqual(valuesOf(await again.files.read([4, 5])), [
    [5, 5, 5],
    [6, 6, 7],
  ]);
});

test("a last row without its last byte is written again", async () => {
  const { files, disk } = await written(3);
  await files.close();
  disk.put(FIRST, disk.bytesOf(FIRST).subarray(0, -1));

  const again = await open(disk);
  for (let record = 0; record < 3; record += 1) again.set(record, record + 1);
  assert.equal(again.files.bufferedCount, 1);
  assert.deepEqual(again.files.buffered(2)?.version, 3);
});

test("a file of another version, namespace or dimension is refused and removed", async () => {
  const { files, disk } = await written(2);
  await files.close();
  const bytes = disk.bytesOf(FIRST);

  const refusalOf = async (name: string, changed: Uint8Array, other = {}): Promise<string | undefined> => {
    disk.put(`${DIRECTORY}/${name}`, changed);
    const { refused } = await open(disk.restarted({ seed: 1 }), other);
    disk.remove(`${DIRECTORY}/${name}`);
    return refused.find((each) => each.name === name)?.reason;
  };
  const withWord = (word: number, value: number): Uint8Array => {
    const changed = Uint8Array.from(bytes);
    new Uint32Array(changed.buffer)[word] = value;
    return changed;
  };
  assert.equal(await refusalOf("rows-7-2-1", bytes), undefined);
  assert.equal(await refusalOf("rows-7-2-8", bytes), "its head is that of another file");
  assert.equal(await refusalOf("rows-7-3-1", bytes, { namespace: 3 }), "its head is that of another file");
  assert.equal(await refusalOf("rows-7-2-1", bytes, { dimension: 4 }), "its head is that of another file");
  assert.equal(await refusalOf("rows-7-2-1", bytes.subarray(0, 63)), "it is shorter than its head");
  assert.equal(await refusalOf("rows-7-2-1", withWord(0, 1)), "it is not a row file of this machine");
  assert.equal(await refusalOf("rows-7-2-1", withWord(1, 2)), "it has format 2, but this version reads format 1");
  assert.equal(await refusalOf("rows-7-2-1", withWord(3, 8)), "the checksum of its head is wrong");
});

test("a damaged row that is read, or compacted, is an error and not an answer", async () => {
  const { files, disk } = await written(5);
  disk.flipBit(FIRST, HEAD_BYTES + ENTRY_BYTES + 20, 3);
  assert.deepEqual(valuesOf(await files.read([0, 2])), [
    [1, 1, 1],
    [3, 3, 3],
  ]);
  await assert.rejects(files.read([0, 1, 2]), DamagedRow);
  for (const record of [0, 2, 3]) files.remove(record);
  await assert.rejects(files.flush(), DamagedRow);
  assert.equal(files.has(1), true);
});

test("a file that is less than half alive is compacted, and removed when nothing holds its rows", async () => {
  const { files, disk } = await written(5);
  const { places, release } = files.hold([3]);
  for (const record of [0, 1, 2]) files.remove(record);
  await files.flush();
  assert.equal(files.fileCount, 2);
  const [place] = places;
  assert.ok(place);
  assert.equal(place.descriptor, 3);
  assert.equal(disk.readNow(3, new Uint8Array(4), place.offset), 4);

  release();
  await files.flush();
  assert.equal(files.fileCount, 1);
  assert.deepEqual(disk.paths, [`${DIRECTORY}/rows-7-2-2`]);
  assert.deepEqual(valuesOf(await files.read([3, 4])), [
    [4, 4, 4],
    [5, 5, 5],
  ]);
});

test("a failed write keeps its rows in the buffer, and the next flush writes them to another file", async () => {
  const { files, disk, set } = await written(1);
  set(1, 2);
  disk.faultOf = ({ kind }) => (kind === "write" ? { code: "ENOSPC" } : undefined);
  await assert.rejects(files.flush(), { code: "ENOSPC" });
  assert.equal(files.bufferedCount, 1);
  disk.faultOf = () => undefined;
  await files.flush();
  assert.equal(files.bufferedCount, 0);
  assert.deepEqual(disk.paths, [`${DIRECTORY}/rows-7-2-2`]);
  assert.deepEqual(valuesOf(await files.read([0, 1])), [
    [1, 1, 1],
    [2, 2, 2],
  ]);
});

test("a moved row keeps its place, also while it is written", async () => {
  const { files, set } = await written(2);
  files.move(0, 8);
  assert.equal(files.has(0), false);
  set(1, 9);
  const flushed = files.flush();
  await Promise.resolve();
  files.move(1, 5_000);
  await flushed;
  files.set(8, rowOf(1));
  assert.equal(files.count, 2);
  assert.deepEqual(files.buffered(5_000), undefined);
});

test("the files of other namespaces are removed", async () => {
  const { files, disk } = await written(5);
  await files.close();
  const [first, second] = disk.paths;
  for (const name of ["rows-7-1-1", "rows-7-22-1", "rows-77-2-1"]) disk.put(`${DIRECTORY}/${name}`, Buffer.alloc(1));
  disk.put(`${DIRECTORY}/0000000001.journal`, Buffer.alloc(1));
  await removeOtherRowFiles(rowFiles(disk, DIRECTORY), [{ index: 7, namespace: 2 }]);
  assert.deepEqual([...disk.paths].sort(), [`${DIRECTORY}/0000000001.journal`, first, second]);
});

test("clear removes all rows, and the next flush their files", async () => {
  const { files, disk } = await written(9);
  files.clear();
  assert.equal(files.count, 0);
  assert.deepEqual(valuesOf(await files.read([0])), [undefined]);
  await files.flush();
  assert.deepEqual(disk.paths, []);
});
