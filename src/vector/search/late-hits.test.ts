import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { seededRandom } from "../../kernel/random.ts";
import { LateHits } from "./late-hits.ts";

const SEED = 20_261_128;

/** The number of candidates that are scored, of which those in `hits` are among the best so far. */
function scoredOf(count: number, candidates: number, hits: (candidate: number) => boolean): number {
  const late = new LateHits(count);
  let scored = 0;
  while (scored < candidates && !late.isUnlikely) {
    late.note(hits(scored));
    scored += 1;
  }
  return scored;
}

describe("candidates that are scored", () => {
  for (const [count, candidates, lastHit, scored] of [
    // The last hit, then 32 and three tenths of all.
    [10, 160, 9, 61],
    [10, 160, 14, 68],
    [10, 4_000, 9, 61],
    [10, 40, 9, 40],
    [5, 160, 4, 93],
    [100, 400, 99, 137],
    // All: a few hits say little about the order.
    [1, 160, 0, 160],
    [3, 160, 2, 160],
  ] as const) {
    test(`topK ${count} of ${candidates}, the last hit at ${lastHit}: ${scored}`, () => {
      assert.equal(
        scoredOf(count, candidates, (candidate) => candidate <= lastHit),
        scored,
      );
    });
  }

  test("candidates in a random order lose at most one hit in fifty", () => {
    const random = seededRandom(SEED);
    let lost = 0;
    for (let round = 0; round < 500; round += 1) {
      const ranks = Array.from({ length: 400 }, () => random.unit());
      const best = ranks.toSorted((a, b) => b - a).slice(0, 10);
      const top: number[] = [];
      const scored = scoredOf(10, ranks.length, (candidate) => {
        const rank = ranks[candidate] as number;
        top.push(rank);
        top.sort((a, b) => b - a);
        return top.length <= 10 || top.pop() !== rank;
      });
      lost += best.filter((rank) => ranks.indexOf(rank) >= scored).length;
    }

    assert.ok(lost < 100, `${lost} of 5,000 hits are lost, seed ${SEED}`);
  });
});
