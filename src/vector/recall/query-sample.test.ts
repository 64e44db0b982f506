import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../kernel/random.ts";
import { compileFilter } from "../filter/filter.ts";
import { QUERIES_MAX, QuerySample } from "./query-sample.ts";

const filter = compileFilter("");

test("a sample is bounded, follows new queries, and keeps some of the earlier ones", () => {
  const sample = new QuerySample(seededRandom(1));
  for (let i = 0; i < 2 * QUERIES_MAX; i += 1) sample.note({ vector: Float32Array.of(i), filter, count: 10 });
  assert.equal(sample.queries.length, QUERIES_MAX);
  assert.equal(sample.notedCount, 2 * QUERIES_MAX);
  const newCount = sample.queries.filter(({ vector }) => (vector[0] as number) >= QUERIES_MAX).length;
  assert.ok(newCount > 0 && newCount < 20, `${newCount} of the second half`);

  for (let i = 0; i < 100 * QUERIES_MAX; i += 1) sample.note({ vector: Float32Array.of(-1), filter, count: 10 });
  assert.ok(
    sample.queries.every(({ vector }) => vector[0] === -1),
    "queries of long ago are gone",
  );
});

test("a sampled vector is a copy", () => {
  const sample = new QuerySample(seededRandom(1));
  const vector = Float32Array.of(1, 2);
  sample.note({ vector, filter, count: 10 });
  vector.fill(9);
  assert.deepEqual(sample.queries[0]?.vector, Float32Array.of(1, 2));
});

test("the bytes of a sample are those of its queries, also of replaced ones", () => {
  const sample = new QuerySample(seededRandom(1));
  assert.equal(sample.byteCount, 0);
  sample.note({ vector: new Float32Array(100), filter: compileFilter("a = 1"), count: 10 });
  assert.equal(sample.byteCount, 400 + 5 * 8 + 200);
  for (let i = 0; i < 100 * QUERIES_MAX; i += 1) sample.note({ vector: new Float32Array(10), filter, count: 10 });
  assert.equal(sample.byteCount, QUERIES_MAX * 240);
});
