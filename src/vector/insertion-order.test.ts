import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../kernel/random.ts";
import { InsertionOrder } from "./insertion-order.ts";

const listed = (order: InsertionOrder, from = 0): number[] => [...order.from(from)].map(({ record }) => record);

test("records are listed in the order they came, whatever their numbers", () => {
  const order = new InsertionOrder();
  for (const record of [7, 3, 9]) order.append(record);

  assert.deepEqual(listed(order), [7, 3, 9]);
});

test("positions count the records that are there", () => {
  const order = new InsertionOrder();
  for (const record of [5, 6, 7, 8]) order.append(record);
  order.remove(6);

  assert.deepEqual(
    [...order.from(1)],
    [
      { record: 7, position: 1 },
      { record: 8, position: 2 },
    ],
  );
  assert.equal(order.at(1), 7);
  assert.equal(order.count, 3);
});

test("a record that went and comes again is the last", () => {
  const order = new InsertionOrder();
  for (const record of [1, 2]) order.append(record);
  order.remove(1);
  order.append(1);

  assert.deepEqual(listed(order), [2, 1]);
  assert.ok(order.placeOf(2) < order.placeOf(1));
});

test("a record that gets another number keeps its place", () => {
  const order = new InsertionOrder();
  for (const record of [1, 2, 3]) order.append(record);
  order.rename(2, 9);

  assert.deepEqual(listed(order), [1, 9, 3]);
});

test("a position behind the last lists nothing, and there is no record at it", () => {
  const order = new InsertionOrder();
  order.append(0);

  assert.deepEqual(listed(order, 1), []);
  assert.throws(() => order.at(1), RangeError);
});

test("100,000 random changes leave the order of an array, through many renumberings", () => {
  const seed = 20_261_121;
  const random = seededRandom(seed);
  const order = new InsertionOrder();
  const plain: number[] = [];
  const free = Array.from({ length: 3_000 }, (_, record) => record);
  for (let step = 0; step < 100_000; step += 1) {
    const comes = plain.length === 0 || (free.length > 0 && random.unit() < 0.5);
    if (comes) {
      const record = free.splice(random.below(free.length), 1)[0] as number;
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
    places.toSorted((a, b) => a - b),
    `seed ${seed}`,
  );
});
