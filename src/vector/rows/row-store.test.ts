import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../kernel/random.ts";
import { OutOfMemory, RowMemory } from "./row-memory.ts";
import { RowStore } from "./row-store.ts";

const KIB = 1_024;
const MIB = 1_024 * KIB;

test("a row is read as it was set", () => {
  const store = new RowStore(new RowMemory(), 3);
  store.ensure(5);

  store.set(5, Float32Array.of(0.1, 0.2, 0.3));

  assert.deepEqual(store.read(5), Float32Array.of(0.1, 0.2, 0.3));
  assert.equal(store.has(5), true);
  assert.equal(store.has(4), false);
  assert.equal(store.has(1_000_000), false);
  assert.equal(store.count, 1);
});

test("setting a row again replaces it and its squared length", () => {
  const store = new RowStore(new RowMemory(), 2);
  store.ensure(0);
  store.set(0, Float32Array.of(1, 2));

  store.set(0, Float32Array.of(3, 4));

  assert.deepEqual(store.read(0), Float32Array.of(3, 4));
  assert.equal(store.squaredLength(0), 25);
  assert.equal(store.count, 1);
});

test("a removed row does not exist, and removing it again changes nothing", () => {
  const store = new RowStore(new RowMemory(), 2);
  store.ensure(3);
  store.set(2, Float32Array.of(1, 2));

  store.remove(2);
  store.remove(2);
  store.remove(999);

  assert.equal(store.has(2), false);
  assert.equal(store.count, 0);
  assert.throws(() => store.read(2), { message: "a row that is read exists" });
});

test("a vector whose squared length is not finite fails an assertion", () => {
  const store = new RowStore(new RowMemory(), 2);
  store.ensure(0);

  for (const value of [Number.NaN, Number.POSITIVE_INFINITY, 1e30]) {
    assert.throws(() => store.set(0, Float32Array.of(value, 1)), {
      message: "the squared length of a stored vector is finite",
    });
    assert.equal(store.has(0), false);
  }
});

test("read returns a copy", () => {
  const store = new RowStore(new RowMemory(), 2);
  store.ensure(0);
  store.set(0, Float32Array.of(1, 2));

  store.read(0).fill(9);

  assert.deepEqual(store.read(0), Float32Array.of(1, 2));
});

test("the padding of a reused block is zero", () => {
  const memory = new RowMemory();
  const wide = new RowStore(memory, 64);
  wide.ensure(10);
  for (let record = 0; record <= 10; record += 1) wide.set(record, new Float32Array(64).fill(7));
  wide.clear();

  const store = new RowStore(memory, 5);
  store.ensure(10);
  assert.equal(store.has(3), false);
  store.set(3, Float32Array.of(1, 1, 1, 1, 1));

  assert.equal(store.squaredLength(3), 5);
  assert.equal(memory.usedBytes, store.byteCount);
});

test("ten rows cost tens of kilobytes, and a thousand namespaces of three rows four each", () => {
  const memory = new RowMemory();
  const small = new RowStore(memory, 384);
  small.ensure(9);
  assert.equal(small.byteCount, 4 * KIB + 8 * KIB + 16 * KIB);

  for (let i = 0; i < 1_000; i += 1) new RowStore(memory, 128).ensure(2);

  assert.equal(memory.usedBytes, 28 * KIB + 1_000 * 4 * KIB);
  assert.equal(memory.reservedBytes, 7 * MIB);
});

test("rows of the largest dimension fit", () => {
  const store = new RowStore(new RowMemory(), 65_536);
  store.ensure(7);

  store.set(7, new Float32Array(65_536).fill(0.5));

  assert.equal(store.squaredLength(7), 16_384);
  assert.equal(store.read(7)[65_535], 0.5);
});

test("truncating frees the blocks after the last remaining record", () => {
  const memory = new RowMemory();
  const store = new RowStore(memory, 256);
  store.ensure(9_999);
  for (let record = 0; record < 10_000; record += 1) store.set(record, new Float32Array(256).fill(record));
  const bytesBefore = memory.usedBytes;

  store.truncate(100);

  assert.equal(store.count, 100);
  assert.equal(store.has(99), true);
  assert.equal(store.has(100), false);
  assert.equal(store.byteCount, 124 * KIB);
  assert.equal(memory.usedBytes, 124 * KIB);
  assert.ok(bytesBefore > 9 * MIB);
  store.ensure(9_999);
  assert.equal(store.has(5_000), false);
  assert.equal(memory.usedBytes, bytesBefore);
});

test("clearing frees everything, and the store can be used again", () => {
  const memory = new RowMemory();
  const store = new RowStore(memory, 16);
  store.ensure(1_000);
  store.set(1_000, new Float32Array(16));

  store.clear();

  assert.equal(store.count, 0);
  assert.equal(store.byteCount, 0);
  assert.equal(memory.usedBytes, 0);
  store.ensure(0);
  store.set(0, new Float32Array(16).fill(1));
  assert.equal(store.squaredLength(0), 16);
});

test("without memory, room is refused and nothing else changes", () => {
  const memory = new RowMemory({ bytesMax: 6 * MIB });
  const store = new RowStore(memory, 256);
  store.ensure(10);
  store.set(10, new Float32Array(256).fill(2));
  const { capacity, byteCount } = store;
  const { usedBytes } = memory;

  assert.throws(() => store.ensure(1_000_000), OutOfMemory);

  assert.equal(store.capacity, capacity);
  assert.equal(store.byteCount, byteCount);
  assert.equal(memory.usedBytes, usedBytes);
  assert.equal(store.squaredLength(10), 1_024);
});

test("rows agree with a Map, over blocks of every size and several arenas", () => {
  const seed = 99;
  const random = seededRandom(seed);
  const memory = new RowMemory({ arenaBytes: 2 * MIB });
  for (const dimension of [1, 3, 20, 500, 3_000]) {
    const store = new RowStore(memory, dimension);
    const plain = new Map<number, Float32Array>();
    for (let round = 0; round < 1_500; round += 1) {
      const record = random.below(1_000);
      const chance = random.unit();
      if (chance < 0.6) {
        const vector = Float32Array.from({ length: dimension }, () => random.unit());
        store.ensure(record);
        store.set(record, vector);
        plain.set(record, vector);
      } else if (chance < 0.995) {
        store.remove(record);
        plain.delete(record);
      } else {
        store.truncate(record);
        for (const removed of [...plain.keys()]) if (removed >= record) plain.delete(removed);
      }
    }
    assert.equal(store.count, plain.size, `seed ${seed}, dimension ${dimension}`);
    for (let record = 0; record < 1_000; record += 1) {
      const vector = plain.get(record);
      assert.equal(store.has(record), vector !== undefined, `seed ${seed}, dimension ${dimension}, record ${record}`);
      if (vector !== undefined) assert.deepEqual(store.read(record), vector);
    }
    store.clear();
  }
  assert.equal(memory.usedBytes, 0);
});
