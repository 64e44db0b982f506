/** Records page by page. */
import assert from "node:assert/strict";
import { testMethods } from "./served.ts";

const twenty = Array.from({ length: 20 }, (_, i) => ({ id: `id-${i}`, vector: [i, 1] }));

testMethods("Ranges", [
  [
    ["range"],
    "pages come in the order of the records, and a cursor continues after the last one, whatever is deleted",
    async (open) => {
      const index = open();
      await index.upsert(twenty);

      const first = await index.range({ cursor: 0, limit: 5 });
      await index.delete(["id-1", "id-3"]);
      const second = await index.range({ cursor: first.nextCursor, limit: 5, includeVectors: true });

      // It does not begin like a number: a number is an offset.
      assert.match(first.nextCursor, /^p/);
      assert.deepEqual((await index.range({ cursor: 5, limit: 1 })).vectors, [{ id: "id-7" }]);
      assert.deepEqual(first.vectors, [{ id: "id-0" }, { id: "id-1" }, { id: "id-2" }, { id: "id-3" }, { id: "id-4" }]);
      assert.deepEqual(second.vectors[0], { id: "id-5", vector: [5, 1] });
    },
  ],
  [
    ["range"],
    "the page that ends with the last record has no next page",
    async (open) => {
      const index = open();
      await index.upsert(twenty);

      const pages: number[] = [];
      let cursor = "";
      do {
        const page = await index.range({ cursor, limit: pages.length === 0 ? 4 : 8 });
        pages.push(page.vectors.length);
        cursor = page.nextCursor;
      } while (cursor !== "");

      assert.deepEqual(pages, [4, 8, 8]);
    },
  ],
  [
    ["range"],
    "a prefix excludes other records, also at the end",
    async (open) => {
      const index = open();
      await index.upsert(twenty.slice(0, 14));
      await index.upsert({ id: "other", vector: [1, 1] });

      const ids: string[][] = [];
      let cursor = "0";
      do {
        const page = await index.range({ cursor, limit: 2, prefix: "id-1" });
        ids.push(page.vectors.map(({ id }) => id));
        cursor = page.nextCursor;
      } while (cursor !== "");

      assert.deepEqual(ids, [["id-1", "id-10"], ["id-11", "id-12"], ["id-13"]]);
    },
  ],
  [
    ["range"],
    "a prefix's page that ends with its last record has no next page",
    async (open) => {
      const index = open();
      await index.upsert(twenty.slice(9, 14));
      await index.upsert({ id: "other", vector: [1, 1] });

      const first = await index.range({ cursor: "0", limit: 2, prefix: "id-1" });
      const second = await index.range({ cursor: first.nextCursor, limit: 2, prefix: "id-1" });

      assert.deepEqual(
        first.vectors.map(({ id }) => id),
        ["id-10", "id-11"],
      );
      assert.deepEqual(second, { nextCursor: "", vectors: [{ id: "id-12" }, { id: "id-13" }] });
    },
  ],
  [
    ["range"],
    "metadata, data and both vectors are included on request",
    async (open) => {
      const index = open("hybrid");
      const record = {
        id: "a",
        vector: [0.1, 0.2],
        sparseVector: { indices: [3, 3], values: [0.5, 0.25] },
        metadata: { n: 1 },
        data: "text",
      };
      await index.upsert([record, { id: "b", vector: [1, 1], sparseVector: record.sparseVector }]);

      const all = { includeMetadata: true, includeVectors: true, includeData: true };
      const page = await index.range({ cursor: 0, limit: 10, ...all });

      assert.deepEqual(page, {
        nextCursor: "",
        vectors: [record, { id: "b", vector: [1, 1], sparseVector: record.sparseVector }],
      });
    },
  ],
  [
    ["range"],
    "a missing namespace is empty",
    async (open) => {
      const page = await open().range({ cursor: 0, limit: 5 }, { namespace: "never-made" });

      assert.deepEqual(page, { nextCursor: "", vectors: [] });
    },
  ],
]);
