/** The kernel's scores of dense vectors (B2.cosine, B2.euclidean, B2.dot-product). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../kernel/random.ts";
import type { Similarity } from "../index/definition.ts";
import { RowMemory } from "./row-memory.ts";
import { RowStore } from "./row-store.ts";
import { similarityRows } from "./similarity.ts";

const memory = new RowMemory();

function scoreOf(similarity: Similarity, vector: readonly number[], query: readonly number[]): number {
  const store = new RowStore(memory, vector.length);
  store.ensure(0);
  store.set(0, Float32Array.from(vector));
  const score = store.score(similarity, memory.prepare(Float32Array.from(query)), 0);
  store.clear();
  return score;
}

const scores: readonly (readonly [Similarity, readonly number[], readonly number[], number])[] = [
  ["COSINE", [1, 0], [1, 0], 1],
  ["COSINE", [1, 0], [0, 1], 0.5],
  ["COSINE", [1, 0], [-1, 0], 0],
  ["COSINE", [3, 4], [4, 3], 0.9800000190734863],
  ["COSINE", [3, 4], [300, 400], 1],
  ["COSINE", [0.1, 0.2], [0.1, 0.2], 1],
  ["COSINE", [0, 0], [1, 0], 0.5],
  ["COSINE", [1e-30, 0], [1, 1], 0.5],
  ["EUCLIDEAN", [1, 2], [1, 2], 1],
  ["EUCLIDEAN", [0, 0], [3, 4], 0.03846153989434242],
  ["EUCLIDEAN", [1e19, 0], [-1e19, 0], 0],
  ["DOT_PRODUCT", [0.5, 0.5], [0.5, 0.5], 0.75],
  ["DOT_PRODUCT", [0.1, 0.2], [0.1, 0.2], 0.5249999761581421],
  ["DOT_PRODUCT", [1, 0], [-1, 0], 0],
  ["DOT_PRODUCT", [3, 4], [3, 4], 1],
  ["DOT_PRODUCT", [3, 4], [-3, -4], 0],
];

for (const [similarity, vector, query, expected] of scores) {
  test(`${similarity} of [${vector}] and the query [${query}] is ${expected}`, () => {
    assert.equal(scoreOf(similarity, vector, query), expected);
  });
}

test("the rank of a dot product is the product itself, although the score is at most 1", () => {
  const store = new RowStore(memory, 2);
  store.ensure(1);
  store.set(0, Float32Array.of(3, 4));
  store.set(1, Float32Array.of(30, 40));
  const query = memory.prepare(Float32Array.of(3, 4));

  assert.equal(store.rank("DOT_PRODUCT", query, 0), 25);
  assert.equal(store.rank("DOT_PRODUCT", query, 1), 250);
  assert.equal(store.score("DOT_PRODUCT", query, 1), 1);
  store.clear();
});

test("a query equal to a vector scores exactly 1, in every dimension", () => {
  const seed = 384;
  const random = seededRandom(seed);
  for (let round = 0; round < 4_000; round += 1) {
    const dimension = round < 1_600 ? round + 1 : 1 + random.below(1_600);
    const scale = 10 ** (random.below(9) - 4);
    const vector = Float32Array.from({ length: dimension }, () => (random.unit() - 0.5) * scale);
    const store = new RowStore(memory, dimension);
    store.ensure(0);
    store.set(0, vector);
    const query = memory.prepare(vector);

    assert.equal(store.score("COSINE", query, 0), 1, `seed ${seed}, round ${round}`);
    assert.equal(store.score("EUCLIDEAN", query, 0), 1, `seed ${seed}, round ${round}`);
    assert.equal(query.squaredLength, store.squaredLength(0), `seed ${seed}, round ${round}`);
    store.clear();
  }
});

test("B.vectors: only COSINE refuses a vector without a direction", () => {
  const refusing = Object.values(similarityRows).filter(({ refusesZeroVector }) => refusesZeroVector);

  assert.deepEqual(
    refusing.map(({ name }) => name),
    ["COSINE"],
  );
});
