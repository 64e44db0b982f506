import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../kernel/random.ts";
import { FirstPlaces, firstPlaces } from "./first-places.ts";

test("the first indexes are those of a stable sort, for all counts and many ties", () => {
  const random = seededRandom(1);
  for (let round = 0; round < 200; round += 1) {
    const values = Array.from({ length: random.below(50) }, () => random.below(10));
    const compare = (one: number, other: number): number => (values[one] as number) - (values[other] as number);
    const sorted = [...values.keys()].sort(compare);
    const count = random.below(60);
    assert.deepEqual(firstPlaces(values.length, count, compare), sorted.slice(0, count));
    const first = new FirstPlaces(values.length, count, compare);
    const middle = random.below(values.length + 1);
    first.offer(0, middle);
    first.offer(middle, values.length);
    const taken = Array.from({ length: first.count }, () => first.takeLast());
    assert.deepEqual(taken.reverse(), sorted.slice(0, count));
  }
});

test("selecting few of many takes about one comparison for each", () => {
  const values = Float64Array.from({ length: 100_000 }, (_, index) => (index * 7_919) % 100_003);
  let compared = 0;
  const places = firstPlaces(values.length, 10, (one, other) => {
    compared += 1;
    return (values[one] as number) - (values[other] as number);
  });
  assert.equal(places.length, 10);
  assert.ok(compared < 110_000, `${compared} comparisons`);
});
