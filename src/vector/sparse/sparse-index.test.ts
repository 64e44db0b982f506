import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { SparseVector } from "../index/record.ts";
import { SparseIndex } from "./sparse-index.ts";

function vector(...entries: readonly (readonly [number, number])[]): SparseVector {
  return {
    indices: Int32Array.from(entries, ([index]) => index),
    values: Float32Array.from(entries, ([, value]) => value),
  };
}

/** The expected frequency of a dimension, counted from the vectors. */
function frequencyOf(vectors: ReadonlyMap<number, SparseVector>, dimension: number): number {
  return [...vectors.values()].filter(({ indices }) => indices.includes(dimension)).length;
}

test("a vector is read as it was sent: in the same order, with repeated indices", () => {
  const index = new SparseIndex();
  const sent = vector([7, 0.5], [-3, 0.25], [7, -0], [2_147_483_647, 1e-40], [-2_147_483_648, 3]);
  index.set(4, sent);
  assert.deepEqual(index.read(4), sent);
  assert.equal(index.read(3), undefined);
  assert.equal(index.read(1_000), undefined);
});

test("vectors are copied when they are set and read", () => {
  const index = new SparseIndex();
  const sent = vector([1, 1], [2, 2]);
  index.set(0, sent);
  sent.values[0] = 9;
  const read = index.read(0);
  read?.indices.fill(5);
  assert.deepEqual(index.read(0), vector([1, 1], [2, 2]));
});

test("a record with a repeated index counts once for it", () => {
  const index = new SparseIndex();
  index.set(0, vector([7, 1], [7, 2], [7, 3]));
  index.set(1, vector([7, 1]));
  index.set(2, vector([8, 1]));
  assert.equal(index.postings.frequency(7), 2);
  assert.equal(index.postings.frequency(8), 1);
  assert.equal(index.postings.frequency(9), 0);
  index.remove(0);
  assert.equal(index.postings.frequency(7), 1);
});

test("a record whose index fills several chunks counts once for it", () => {
  const index = new SparseIndex();
  const many = { indices: new Int32Array(2_000).fill(7), values: new Float32Array(2_000).fill(1) };
  index.set(5, many);
  assert.equal(index.postings.frequency(7), 1);
  index.set(4, many);
  index.set(6, vector([7, 1]));
  assert.equal(index.postings.frequency(7), 3);
  index.remove(5);
  assert.equal(index.postings.frequency(7), 2);
});

test("set replaces a vector, and removing a missing one changes nothing", () => {
  const index = new SparseIndex();
  index.set(3, vector([1, 1], [2, 1]));
  index.set(3, vector([2, 5]));
  index.remove(2);
  index.remove(100);
  assert.deepEqual(index.read(3), vector([2, 5]));
  assert.equal(index.postings.frequency(1), 0);
  assert.equal(index.postings.frequency(2), 1);
  assert.equal(index.count, 1);
  assert.equal(index.recordEnd, 4);
});

test("an empty vector is a vector", () => {
  const index = new SparseIndex();
  index.set(0, vector());
  assert.equal(index.has(0), true);
  assert.equal(index.count, 1);
  assert.deepEqual(index.read(0), vector());
});

test("after random sets and removes the index agrees with a plain Map", () => {
  const entry = fc.tuple(fc.integer({ min: -2, max: 6 }), fc.float({ noNaN: true }));
  const change = fc.record({
    record: fc.integer({ min: 0, max: 60 }),
    entries: fc.option(fc.array(entry, { maxLength: 60 }), { freq: 3, nil: undefined }),
  });
  fc.assert(
    fc.property(fc.array(change, { maxLength: 120 }), (changes) => {
      const index = new SparseIndex();
      const plain = new Map<number, SparseVector>();
      for (const { record, entries } of changes) {
        if (entries === undefined) {
          index.remove(record);
          plain.delete(record);
        } else {
          index.set(record, vector(...entries));
          plain.set(record, vector(...entries));
        }
      }
      for (let record = 0; record <= 61; record += 1) {
        assert.deepEqual(index.read(record), plain.get(record));
        assert.equal(index.has(record), plain.has(record));
      }
      for (let dimension = -3; dimension <= 7; dimension += 1)
        assert.equal(index.postings.frequency(dimension), frequencyOf(plain, dimension));
      assert.equal(index.count, plain.size);
      assert.equal(
        index.postings.count,
        [...plain.values()].reduce((sum, { indices }) => sum + indices.length, 0),
      );
    }),
    { numRuns: 60 },
  );
});

test("memory grows with the vectors and is freed when they are removed", () => {
  const index = new SparseIndex();
  const emptyBytes = index.byteCount;
  const vectorOf = (seed: number): SparseVector => ({
    indices: Int32Array.from({ length: 60 }, (_, i) => Math.imul(seed * 61 + i, 2_654_435_761) % 5_000),
    values: new Float32Array(60).fill(0.5),
  });
  const neededBytes = 2_000 * 60 * 20;
  for (let record = 0; record < 2_000; record += 1) index.set(record, vectorOf(record));
  assert.ok(index.byteCount > neededBytes);
  assert.ok(index.byteCount < neededBytes * 2, `${index.byteCount} bytes`);
  for (let round = 1; round <= 4; round += 1)
    for (let record = 0; record < 2_000; record += 1) index.set(record, vectorOf(record + round));
  assert.ok(index.byteCount < neededBytes * 2.5, `${index.byteCount} bytes after replacing`);
  for (let record = 0; record < 2_000; record += 1) if (record % 20 !== 0) index.remove(record);
  assert.ok(index.byteCount < neededBytes / 4, `${index.byteCount} bytes after removing 19 of 20`);
  for (let record = 0; record < 2_000; record += 20) index.remove(record);
  assert.equal(index.byteCount, emptyBytes);
});

test("clear removes everything", () => {
  const index = new SparseIndex();
  const emptyBytes = index.byteCount;
  for (let record = 0; record < 1_000; record += 1) index.set(record, vector([record, 1], [7, 1]));
  index.clear();
  assert.equal(index.byteCount, emptyBytes);
  assert.equal(index.count, 0);
  assert.equal(index.postings.frequency(7), 0);
  index.set(0, vector([7, 2]));
  assert.deepEqual(index.read(0), vector([7, 2]));
});
