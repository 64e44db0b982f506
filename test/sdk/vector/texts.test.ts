/** Indexes with models: upserts and queries of texts. */
import assert from "node:assert/strict";
import { QueryMode } from "@upstash/vector";
import { refusalOf, testMethods } from "./served.ts";

const capitals = [
  { id: "jp", data: "The capital of Japan is Tokyo", metadata: { country: "jp" } },
  { id: "fr", data: "The capital of France is Paris", metadata: { country: "fr" } },
  { id: "de", data: "The capital of Germany is Berlin", metadata: { country: "de" } },
];

testMethods("Texts", [
  [
    ["upsert", "query"],
    "a text matches itself with a score of 1, and its data is the text",
    async (open) => {
      const index = open("texts");

      assert.equal(await index.upsert({ id: "1", data: "testing data", metadata: { hello: "world" } }), "Success");
      await index.upsert({ id: "2", data: "something else" });

      const query = { data: "testing data", topK: 1, includeMetadata: true, includeData: true };
      assert.deepEqual(await index.query(query), [
        { id: "1", score: 1, metadata: { hello: "world" }, data: "testing data" },
      ]);
    },
  ],
  [
    ["upsert", "query", "queryMany"],
    "B.query-data: the text that shares the most comes first, in indexes of every kind",
    async (open) => {
      for (const name of ["texts", "sparseTexts", "hybridTexts"] as const) {
        const index = open(name);
        await index.upsert(capitals);

        const [first] = await index.query({ data: "capital of France", topK: 1, includeData: true });
        assert.deepEqual([first?.id, first?.data], ["fr", "The capital of France is Paris"], name);
        const lists = await index.queryMany([
          { data: "Tokyo, Japan", topK: 1 },
          { data: "Berlin, Germany", topK: 2, filter: "country != 'fr'" },
        ]);
        assert.deepEqual(
          lists.map(([best]) => best?.id),
          ["jp", "de"],
          name,
        );
      }
    },
  ],
  [
    ["upsert", "query"],
    "B.query-data: queryMode queries one part of a hybrid index, whose scores are not fused",
    async (open) => {
      const index = open("hybridTexts");
      await index.upsert([
        { id: "id0", data: "hello" },
        { id: "id1", data: "hello world" },
        { id: "id2", data: "hello world Upstash" },
      ]);
      const query = { data: "hello world Upstash", topK: 3 };

      const sparse = await index.query({ ...query, queryMode: QueryMode.SPARSE });
      assert.deepEqual(
        sparse.map(({ id }) => id),
        ["id2", "id1", "id0"],
      );
      const [dense] = await index.query({ ...query, queryMode: QueryMode.DENSE });
      assert.deepEqual(dense, { id: "id2", score: 1 });
      const [hybrid] = await index.query({ ...query, queryMode: QueryMode.HYBRID });
      assert.deepEqual(hybrid, { id: "id2", score: 0.033333335 });
      assert.deepEqual(await index.query(query), await index.query({ ...query, queryMode: QueryMode.HYBRID }));
    },
  ],
  [
    ["upsert", "query"],
    "the last text of one id in a batch wins",
    async (open) => {
      const index = open("hybridTexts");

      await index.upsert(["hello", "hello world", "hello world Upstash"].map((data) => ({ id: "id0", data })));

      const [only, ...others] = await index.query({ data: "Upstash", topK: 3, includeData: true });
      assert.deepEqual([only?.data, others], ["hello world Upstash", []]);
    },
  ],
  [
    ["upsert", "update"],
    "new data changes the vector, and metadata stays",
    async (open) => {
      const index = open("texts");
      await index.upsert({ id: 1, data: "hello", metadata: { upstash: "test-simple" } });
      const all = { includeVectors: true, includeData: true, includeMetadata: true };
      const [before] = await index.fetch([1], { ...all });

      assert.deepEqual(await index.update({ id: "1", data: "there" }), { updated: 1 });

      const [after] = await index.fetch([1], { ...all });
      assert.equal(before?.data, "hello");
      assert.equal(after?.data, "there");
      assert.deepEqual(after?.metadata, { upstash: "test-simple" });
      assert.notDeepEqual(after?.vector, before?.vector);
      assert.deepEqual(await index.query({ data: "there", topK: 1 }), [{ id: "1", score: 1 }]);
    },
  ],
  [
    ["upsert", "query"],
    "an index with a model also takes vectors, with data beside them",
    async (open) => {
      const index = open("texts");
      const vector = Array.from({ length: 384 }, (_, i) => Math.cos(i));

      await index.upsert({ id: "1", vector, data: "testing data" });

      assert.deepEqual(await index.query({ vector, topK: 1, includeData: true }), [
        { id: "1", score: 1, data: "testing data" },
      ]);
    },
  ],
  [
    ["resumableQuery"],
    "a query for a text can be resumed",
    async (open) => {
      const index = open("texts");
      await index.upsert(Array.from({ length: 9 }, (_, id) => ({ id, data: "Upstash" })));

      const { result, fetchNext, stop } = await index.resumableQuery({ data: "Upstash", topK: 2, maxIdle: 60 });

      const pages = [result, await fetchNext(3), await fetchNext(4), await fetchNext(1)];
      assert.deepEqual(
        pages.map((page) => page.map(({ id }) => id)),
        [["0", "1"], ["2", "3", "4"], ["5", "6", "7", "8"], []],
      );
      assert.equal(await stop(), "Success");
    },
  ],
  [
    ["upsert", "query"],
    "B.upsert-data, B.vectors: without a model texts are refused",
    async (open) => {
      const refusal =
        "Embedding data for this index is not allowed. The index must be created with an embedding model to use it.";

      for (const name of ["plain", "sparse", "hybrid"] as const) {
        assert.equal(await refusalOf(open(name).upsert({ id: "1", data: "text" })), refusal);
        assert.equal(await refusalOf(open(name).query({ data: "text", topK: 1 })), refusal);
      }
    },
  ],
]);
