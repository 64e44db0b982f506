import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../kernel/random.ts";
import { samplePlaces } from "./sample.ts";

test("a sample has the requested number of distinct indexes, all in range", () => {
  const random = seededRandom(1);
  for (const [size, count] of [
    [10, 1],
    [10, 9],
    [1_000, 3],
    [1_000, 999],
    [1, 0],
  ] as const) {
    const places = samplePlaces(size, count, random);
    assert.equal(places.length, count);
    assert.equal(new Set(places).size, count);
    assert.ok(places.every((place) => Number.isInteger(place) && place >= 0 && place < size));
  }
});

test("a sample of the full size has all indexes in order", () => {
  assert.deepEqual(samplePlaces(3, 3, seededRandom(1)), [0, 1, 2]);
  assert.deepEqual(samplePlaces(3, Number.MAX_SAFE_INTEGER, seededRandom(1)), [0, 1, 2]);
  assert.deepEqual(samplePlaces(0, 5, seededRandom(1)), []);
});

test("every pair of indexes is drawn about equally often", () => {
  const random = seededRandom(7);
  const counts = new Map<string, number>();
  for (let i = 0; i < 12_000; i += 1) {
    const pair = samplePlaces(4, 2, random).join();
    counts.set(pair, (counts.get(pair) ?? 0) + 1);
  }

  assert.equal(counts.size, 12);
  // 1,000 expected of each; 150 is more than four standard deviations.
  for (const [pair, count] of counts) assert.ok(Math.abs(count - 1_000) < 150, `${pair}: ${count}`);
});
