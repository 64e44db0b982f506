import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { seededRandom } from "../../kernel/random.ts";
import { type Similarity, similarities } from "../index/definition.ts";
import { LateHits } from "./late-hits.ts";
import { TopHits } from "./top-hits.ts";

const SEED = 20_261_128;

/** The rank of a distance, by each similarity. */
const rankOf: Readonly<Record<Similarity, (distance: number) => number>> = {
  COSINE: (distance) => (1 - distance) / 2,
  EUCLIDEAN: (distance) => 1 / (1 + distance),
  DOT_PRODUCT: (distance) => -distance,
};

interface Candidate {
  /** By codes, and by rows. */
  readonly coded: number;
  readonly exact: number;
}

function scoredOf(candidates: readonly Candidate[], count: number, similarity: Similarity = "DOT_PRODUCT"): number {
  const late = new LateHits(similarity, count);
  const top = new TopHits(count, () => 0);
  let scored = 0;
  for (const { coded, exact } of candidates) {
    if (late.isUnlikely(coded, top.threshold)) break;
    const rank = rankOf[similarity](exact);
    late.note(coded, { rank, isHit: rank > top.threshold });
    top.offer(scored, rank);
    scored += 1;
  }
  return scored;
}

describe("candidates whose codes say nothing", () => {
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
      const all = Array.from({ length: candidates }, (_, i) => ({ coded: 0, exact: i <= lastHit ? -1 - i : 0 }));
      assert.equal(scoredOf(all, count), scored);
    });
  }

  test("a random order loses at most one hit in fifty", () => {
    const random = seededRandom(SEED);
    let lost = 0;
    for (let round = 0; round < 500; round += 1) {
      const all = Array.from({ length: 400 }, () => ({ coded: random.unit(), exact: random.unit() }));
      all.sort((a, b) => a.coded - b.coded);
      lost += lostOf(all, 10, scoredOf(all, 10));
    }
    assert.ok(lost < 100, `${lost} of 5,000 hits are lost, seed ${SEED}`);
  });
});

/** The best that are not among the first `scored`. */
function lostOf(all: readonly Candidate[], count: number, scored: number): number {
  const best = all.toSorted((a, b) => a.exact - b.exact).slice(0, count);
  return best.filter((each) => all.indexOf(each) >= scored).length;
}

describe("candidates in the order of their codes", () => {
  for (const similarity of similarities)
    test(`${similarity}: ten hits of distances without errors need 16 candidates`, () => {
      const all = Array.from({ length: 160 }, (_, i) => ({ coded: i / 200, exact: i / 200 }));
      assert.equal(scoredOf(all, 10, similarity), 16);
    });

  test("equal errors of all distances change nothing", () => {
    const all = Array.from({ length: 160 }, (_, i) => ({ coded: i, exact: i + 50 }));
    assert.equal(scoredOf(all, 10), 16);
  });

  test("equal rows say nothing of the errors of others", () => {
    const equal = Array.from({ length: 20 }, () => ({ coded: 0.1, exact: 0.11 }));
    const better = { coded: 0.12, exact: 0.1 };
    const rest = Array.from({ length: 100 }, (_, i) => ({ coded: 0.2 + i / 100, exact: 0.2 + i / 100 }));
    assert.ok(scoredOf([...equal, better, ...rest], 10) > 20);
  });

  for (const [name, error] of [
    ["small", 0.01],
    ["as large as the differences", 1],
    ["larger than the differences", 10],
  ] as const)
    test(`errors that are ${name} lose no hit of ten`, () => {
      const random = seededRandom(SEED);
      let scored = 0;
      for (let round = 0; round < 300; round += 1) {
        const all = Array.from({ length: 160 }, (_, i) => {
          const normal = Array.from({ length: 12 }, () => random.unit()).reduce((a, b) => a + b) - 6;
          return { coded: i, exact: i + error * normal };
        });
        const each = scoredOf(all, 10);
        scored += each;
        assert.equal(lostOf(all, 10, each), 0, `round ${round}, seed ${SEED}`);
      }
      assert.ok(scored < 300 * 100, `${scored / 300} candidates are scored`);
    });
});
