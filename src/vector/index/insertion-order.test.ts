import assert from "node:assert/strict";
import { test } from "node:test";
import { AssertionFailure } from "../../kernel/assert.ts";
import { seededRandom } from "../../kernel/random.ts";
import { RowMemory } from "../rows/row-memory.ts";
import { InsertionOrder } from "./insertion-order.ts";

const memory = new RowMemory();

const listed = (order: InsertionOrder, from = 0): number[] => [...order.from(from)];

test("records are listed in insertion order, whatever their numbers", () => {
  const order = new InsertionOrder(memory);
  for (const record of [7, 3, 9]) order.append(record);

  assert.deepEqual(listed(order), [7, 3, 9]);
});

test("positions count existing records", () => {
  const order = new InsertionOrder(memory);
  for (const record of [5, 6, 7, 8]) order.append(record);
  order.remove(6);

  assert.deepEqual(listed(order, 1), [7, 8]);
  assert.equal(order.at(1), 7);
  assert.equal(order.count, 3);
});

test("a removed record that is added again is the last", () => {
  const order = new InsertionOrder(memory);
  for (const record of [1, 2]) order.append(record);
  order.remove(1);
  order.append(1);

  assert.deepEqual(listed(order), [2, 1]);
  assert.ok(order.placeOf(2) < order.placeOf(1));
});

test("a renumbered record keeps its place", () => {
  const order = new InsertionOrder(memory);
  for (const record of [1, 2, 3]) order.append(record);
  order.rename(2, 9);

  assert.deepEqual(listed(order), [1, 9, 3]);
});

test("a position after the last record lists nothing and has no record", () => {
  const order = new InsertionOrder(memory);
  order.append(0);

  assert.deepEqual(listed(order, 1), []);
  assert.throws(() => order.at(1), RangeError);
});

test("a place never changes when other records are added or removed", () => {
  const order = new InsertionOrder(memory);
  for (const record of [10, 11, 12, 13]) order.append(record);
  const afterTwo = order.placeOf(11) + 1;
  order.remove(10);
  order.remove(12);
  order.append(14);

  assert.deepEqual([...order.fromPlace(afterTwo)], [13, 14]);
  assert.deepEqual([...order.fromPlace(0)], [11, 13, 14]);
  assert.deepEqual([...order.fromPlace(order.nextPlace)], []);
  order.clear();
  order.append(15);
  assert.deepEqual([...order.fromPlace(afterTwo)], [15]);
  assert.equal(order.placeOf(15), 5);
});

test("places below the next one are not assigned again", () => {
  const order = new InsertionOrder(memory);
  order.skipTo(7);
  order.append(1);
  order.skipTo(1_000_000);
  order.append(2);

  assert.deepEqual([order.placeOf(1), order.placeOf(2), order.nextPlace], [7, 1_000_000, 1_000_001]);
  assert.deepEqual([...order.fromPlace(8)], [2]);
  assert.throws(() => order.skipTo(5), AssertionFailure);
});

test("the memory of chunks is given back once: when they are empty, filled again or cleared", () => {
  const own = new RowMemory();
  const order = new InsertionOrder(own);
  const slotBytes = (): number => own.usedBytes - order.byteCount;
  for (let record = 0; record < 100_000; record += 1) order.append(record);
  // All chunks are full ones, in blocks, and so are the pages of places.
  assert.equal(slotBytes(), 0);
  for (let record = 0; record < 99_000; record += 1) order.remove(record);
  assert.equal(slotBytes(), 0);
  // So many chunks are empty that all are filled again.
  for (let record = 0; record < 1_000; record += 1) order.append(record);
  assert.equal(slotBytes(), 0);
  assert.deepEqual(listed(order).slice(998, 1_002), [99_998, 99_999, 0, 1]);
  order.clear();

  assert.deepEqual([own.usedBytes, order.byteCount], [0, 0]);
});

test("100,000 random changes give the order of an array and keep every assigned place", () => {
  const seed = 20_261_121;
  const random = seededRandom(seed);
  const order = new InsertionOrder(memory);
  const plain: number[] = [];
  const given = new Map<number, number>();
  const free = Array.from({ length: 3_000 }, (_, record) => record);
  for (let step = 0; step < 100_000; step += 1) {
    const comes = plain.length === 0 || (free.length > 0 && random.unit() < 0.5);
    if (comes) {
      const record = free.splice(random.below(free.length), 1)[0] as number;
      given.set(record, order.nextPlace);
      order.append(record);
      plain.push(record);
    } else {
      const record = plain.splice(random.below(plain.length), 1)[0] as number;
      order.remove(record);
      free.push(record);
    }
  }

  assert.deepEqual(listed(order), plain, `seed ${seed}`);
  const places = plain.map((record) => order.placeOf(record));
  assert.deepEqual(
    places,
    plain.map((record) => given.get(record)),
    `seed ${seed}`,
  );
  for (let i = 0; i < 100; i += 1) {
    const place = random.below(order.nextPlace + 1);
    const after = plain.filter((record) => order.placeOf(record) >= place);
    assert.deepEqual([...order.fromPlace(place)], after, `seed ${seed} place ${place}`);
  }
});
