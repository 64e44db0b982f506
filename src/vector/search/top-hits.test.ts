import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../kernel/random.ts";
import { TopHits } from "./top-hits.ts";

const byNumber = (record: number): number => record;

test("returns the best hits, best first", () => {
  const hits = new TopHits(3, byNumber);

  for (const [record, rank] of [0.25, 0.5, 0.125, 1, 0.75].entries()) hits.offer(record, rank);

  assert.deepEqual(hits.sorted(), [
    { record: 3, score: 1, rank: 1 },
    { record: 4, score: 0.75, rank: 0.75 },
    { record: 1, score: 0.5, rank: 0.5 },
  ]);
});

test("hits of equal rank are in insertion order, whatever their numbers", () => {
  const places = [30, 10, 20, 0];
  const hits = new TopHits(2, (record) => places[record] ?? 0);

  for (const record of [0, 1, 2, 3]) hits.offer(record, 0.5);

  assert.deepEqual(
    hits.sorted().map(({ record }) => record),
    [3, 1],
  );
});

test("stores a score that differs from the rank", () => {
  const hits = new TopHits(2, byNumber);

  hits.offer(7, 12, 1);
  hits.offer(8, 13, 1);

  assert.deepEqual(hits.sorted(), [
    { record: 8, score: 1, rank: 13 },
    { record: 7, score: 1, rank: 12 },
  ]);
});

test("the threshold is the worst hit once there are enough", () => {
  const hits = new TopHits(2, byNumber);
  assert.equal(hits.threshold, Number.NEGATIVE_INFINITY);

  hits.offer(0, 3);
  assert.equal(hits.threshold, Number.NEGATIVE_INFINITY);

  hits.offer(1, 5);
  assert.equal(hits.threshold, 3);

  hits.offer(2, 4);
  assert.equal(hits.threshold, 4);
  assert.equal(hits.size, 2);
});

test("hits can be added after the best ones were read", () => {
  const hits = new TopHits(3, byNumber);
  for (const [record, rank] of [0.25, 0.5, 0.125].entries()) hits.offer(record, rank);
  const recordsOf = (): number[] => hits.sorted().map(({ record }) => record);

  assert.deepEqual(recordsOf(), [1, 0, 2]);
  assert.deepEqual(recordsOf(), [1, 0, 2]);

  hits.offer(3, 0.375);
  assert.deepEqual(recordsOf(), [1, 3, 0]);
});

test("a count of zero gives no hits", () => {
  const hits = new TopHits(0, byNumber);

  hits.offer(0, 1);

  assert.equal(hits.threshold, Number.POSITIVE_INFINITY);
  assert.deepEqual(hits.sorted(), []);
});

test("the heap agrees with sorting everything, for all counts and many ties", () => {
  const seed = 20_260;
  const random = seededRandom(seed);
  for (let round = 0; round < 300; round += 1) {
    const count = random.below(40);
    const offered = Array.from({ length: random.below(200) }, (_, record) => ({
      record,
      rank: random.below(12) / 4,
      place: random.unit(),
    }));
    const hits = new TopHits(count, (record) => offered[record]?.place ?? 0);

    for (const { record, rank } of offered) hits.offer(record, rank);

    const expected = offered
      .toSorted((a, b) => b.rank - a.rank || a.place - b.place)
      .slice(0, count)
      .map(({ record, rank }) => ({ record, score: rank, rank }));
    assert.deepEqual(hits.sorted(), expected, `seed ${seed}, round ${round}`);
  }
});
