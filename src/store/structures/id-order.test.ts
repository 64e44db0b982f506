/** An order of ids against a sorted array, whatever leaf was searched before. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../kernel/random.ts";
import { IdOrder } from "./id-order.ts";
import { compareIds, type StreamId } from "./stream-id.ts";

const SEED = 7;
const STEPS = 20_000;
/** Few enough that ids repeat, and many enough for some twenty leaves. */
const IDS = 4_000;

test("random insertions, removals and look-ups give the contents of a sorted array", () => {
  const random = seededRandom(SEED);
  const order = new IdOrder<StreamId>();
  const plain = new Map<number, StreamId>();
  for (let step = 0; step < STEPS; step += 1) {
    const number = random.below(IDS);
    const id = { ms: number >> 2, seq: number & 3 };
    const found = order.find(id);
    assert.equal(found, plain.get(number), `step ${step}`);
    // It grows, shrinks to nothing, and grows again.
    const grows = step % 10_000 < 6_000 ? random.below(4) > 0 : random.below(8) === 0;
    if (grows && found === undefined) {
      order.insert(id);
      plain.set(number, id);
    } else if (!grows) {
      assert.equal(order.remove(id), found, `step ${step}`);
      plain.delete(number);
    }
    assert.equal(order.size, plain.size);
  }
  assert.deepEqual(order.all(), [...plain.values()].sort(compareIds));
});

test("removes from the front in order, over many leaves", () => {
  const order = new IdOrder<StreamId>();
  for (let ms = 0; ms < 1_000; ms += 1) order.insert({ ms, seq: 0 });
  for (let ms = 0; ms < 1_000; ms += 1) {
    assert.deepEqual(order.first, { ms, seq: 0 });
    assert.deepEqual(order.remove({ ms, seq: 0 }), { ms, seq: 0 });
    assert.equal(order.find({ ms, seq: 0 }), undefined);
  }
  assert.equal(order.size, 0);
});

test("a queue that gets an item for each one it loses at the front keeps its items, whatever its length", () => {
  for (const length of [1, 2, 64, 127, 128, 129, 300]) {
    const order = new IdOrder<StreamId>();
    for (let ms = 0; ms < length; ms += 1) order.insert({ ms, seq: 0 });
    for (let ms = 0; ms < 1_000; ms += 1) {
      order.insert({ ms: ms + length, seq: 0 });
      assert.deepEqual(order.remove({ ms, seq: 0 }), { ms, seq: 0 });
      assert.equal(order.remove({ ms, seq: 0 }), undefined);
      assert.deepEqual(order.first, { ms: ms + 1, seq: 0 });
      assert.deepEqual(order.last, { ms: ms + length, seq: 0 });
    }
    assert.deepEqual(
      order.all().map(({ ms }) => ms),
      Array.from({ length }, (_, i) => 1_000 + i),
    );
  }
});

test("an item can be inserted again before the others after removals at the front", () => {
  const order = new IdOrder<StreamId>();
  for (let ms = 0; ms < 100; ms += 1) order.insert({ ms, seq: 0 });
  for (let ms = 0; ms < 60; ms += 1) order.remove({ ms, seq: 0 });
  for (let ms = 59; ms >= 0; ms -= 1) order.insert({ ms, seq: 0 });
  assert.deepEqual(
    order.all().map(({ ms }) => ms),
    Array.from({ length: 100 }, (_, i) => i),
  );
});
