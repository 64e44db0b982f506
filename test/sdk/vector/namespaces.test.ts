/** The same methods on one namespace: other namespaces are not affected. */
import assert from "node:assert/strict";
import { testMethods } from "./served.ts";

testMethods("Namespaces", [
  [
    ["namespace.upsert", "namespace.query", "namespace.fetch"],
    "each namespace has its own records",
    async (open) => {
      const index = open();
      const one = index.namespace("one");
      const two = index.namespace("two");

      assert.equal(await one.upsert({ id: 1, vector: [0.1, 0.2], metadata: { namespace: "one" } }), "Success");
      await two.upsert({ id: 2, vector: [0.1, 0.2], metadata: { namespace: "two" } });

      const query = { vector: [0.1, 0.2], topK: 3, includeMetadata: true };
      assert.deepEqual(await one.query(query), [{ id: "1", score: 1, metadata: { namespace: "one" } }]);
      assert.deepEqual(await two.query(query), [{ id: "2", score: 1, metadata: { namespace: "two" } }]);
      assert.deepEqual(await index.query(query), []);
      assert.deepEqual(await one.fetch(["1", "2"]), [{ id: "1" }, null]);
    },
  ],
  [
    ["namespace.reset", "namespace.query"],
    "one namespace is reset alone",
    async (open) => {
      const index = open();
      const one = index.namespace("one");
      await one.upsert({ id: 1, vector: [1, 1] });
      await index.upsert({ id: 1, vector: [1, 1] });

      assert.equal(await one.reset(), "Success");

      assert.deepEqual(await one.query({ vector: [1, 1], topK: 3 }), []);
      assert.deepEqual(await index.query({ vector: [1, 1], topK: 3 }), [{ id: "1", score: 1 }]);
    },
  ],
  [
    ["namespace.update", "namespace.fetch", "namespace.delete"],
    "a record of one is changed and deleted there",
    async (open) => {
      const index = open();
      const one = index.namespace("one");
      await one.upsert({ id: "1", vector: [1, 1] });
      await index.upsert({ id: "1", vector: [1, 1] });

      assert.deepEqual(await one.update({ id: "1", metadata: { changed: true } }), { updated: 1 });
      assert.deepEqual(await one.fetch(["1"], { includeMetadata: true }), [{ id: "1", metadata: { changed: true } }]);
      assert.deepEqual(await index.fetch(["1"], { includeMetadata: true }), [{ id: "1" }]);
      assert.deepEqual(await one.delete("1"), { deleted: 1 });
      assert.deepEqual(await one.fetch(["1"]), [null]);
      assert.deepEqual(await index.fetch(["1"]), [{ id: "1" }]);
    },
  ],
  [
    ["namespace.range", "namespace.resumableQuery"],
    "its pages and its queries are its own",
    async (open) => {
      const index = open();
      const one = index.namespace("one");
      await one.upsert([1, 2, 3].map((id) => ({ id, vector: [id, 1] })));
      await index.upsert({ id: 9, vector: [1, 1] });

      const { nextCursor, vectors } = await one.range({ cursor: 0, limit: 2 });
      assert.deepEqual(vectors, [{ id: "1" }, { id: "2" }]);
      assert.deepEqual((await one.range({ cursor: nextCursor, limit: 2 })).vectors, [{ id: "3" }]);
      const { result, fetchNext } = await one.resumableQuery({ vector: [1, 1], topK: 1, maxIdle: 60 });
      assert.deepEqual(result, [{ id: "1", score: 1 }]);
      assert.deepEqual(
        (await fetchNext(9)).map(({ id }) => id),
        ["2", "3"],
      );
    },
  ],
]);
