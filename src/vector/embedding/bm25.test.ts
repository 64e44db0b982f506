import assert from "node:assert/strict";
import { test } from "node:test";
import { BM25_VALUES_MAX, bm25 } from "./bm25.ts";

const f32 = Math.fround;

test("B.bm25: a document has each stem once, by ascending id, weighted by its count and the length", () => {
  // f · 2.2 / (f + 1.2 · (0.25 + 0.75 · 5 / 32)) for 3 and 2 of 5 tokens.
  assert.deepEqual(bm25.embed("The connection is vector, and connected vectors don't connect", "document"), {
    indices: Int32Array.of(-1_886_787_582, -1_428_108_039),
    values: Float32Array.of(1.8028169, 1.9182562),
  });
});

test("B.bm25: each token of a query counts 1, however often it occurs", () => {
  assert.deepEqual(bm25.embed("connect connected VECTORS connecting?", "query"), {
    indices: Int32Array.of(-1_886_787_582, -1_428_108_039),
    values: Float32Array.of(1, 1),
  });
});

test("one token of 32, the mean length, weighs 1", () => {
  const text = Array.from({ length: 32 }, (_, i) => `word${i}`).join(" ");
  const { values } = bm25.embed(text, "document");
  assert.equal(values.length, 32);
  assert.equal(values[0], 1);
});

test("a text without words, or of stop words only, gives an empty vector", () => {
  for (const text of ["", "  …", "the of and to", "Don't!"])
    for (const role of ["document", "query"] as const)
      assert.deepEqual(bm25.embed(text, role), { indices: new Int32Array(0), values: new Float32Array(0) });
});

test("B.bm25: a text with too many tokens keeps the heaviest, and the first of equal ones", () => {
  const many = Array.from({ length: 3_000 }, (_, i) => `w${i}`);
  const document = bm25.embed([...many, "w2999", "w2999"].join(" "), "document");
  assert.equal(document.indices.length, BM25_VALUES_MAX);
  const query = bm25.embed(many.join(" "), "query");
  assert.deepEqual(query.indices, bm25.embed(many.slice(0, 1_000).join(" "), "query").indices);
  const remaining = new Set(document.indices);
  const [last = 0] = bm25.embed("w2999", "query").indices;
  const [first = 0] = bm25.embed("w998", "query").indices;
  const [dropped = 0] = bm25.embed("w999", "query").indices;
  assert.deepEqual([remaining.has(last), remaining.has(first), remaining.has(dropped)], [true, true, false]);
});

test("indices ascend and values are finite for any text", () => {
  const text = `${"Ünïcode 東京 \ud800 x".repeat(50)}a1 b2 c3 d4`;
  const { indices, values } = bm25.embed(text, "document");
  assert.deepEqual(indices, indices.toSorted());
  for (const value of values) assert.ok(value > 0 && value <= f32(2.2));
});
