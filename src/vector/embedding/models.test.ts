import assert from "node:assert/strict";
import { test } from "node:test";
import { bm25 } from "./bm25.ts";
import { denseModels, findDenseModel, findSparseModel, sparseModels } from "./models.ts";

test("B.models, B.index: the documented dense models have their dimensions", () => {
  assert.deepEqual(
    denseModels.map(({ name, dimension, tokensMax }) => `${name} ${dimension} ${tokensMax}`),
    ["BGE_SMALL_EN_V1_5 384 512", "BGE_BASE_EN_V1_5 768 512", "BGE_LARGE_EN_V1_5 1024 512", "BGE_M3 1024 8192"],
  );
  assert.equal(findDenseModel("BGE_M3")?.dimension, 1_024);
  assert.equal(findDenseModel("BM25"), undefined);
});

test("BM25 is served, and every other sparse model states why it is not", () => {
  assert.equal(findSparseModel("BM25")?.embedder, bm25);
  assert.equal(findSparseModel("bm25"), undefined);
  for (const { embedder, summary } of sparseModels) if (embedder === undefined) assert.match(summary, /use BM25$/);
});
