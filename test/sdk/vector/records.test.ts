/** Records that the client writes, changes, fetches and deletes. Scores and searches are in the files of queries. */
import assert from "node:assert/strict";
import { refusalOf, testMethods } from "./served.ts";

const ALL = { includeVectors: true, includeMetadata: true, includeData: true } as const;

/** Two tenths and three: their float32 values print as they were sent. */
const pair = [
  { id: "id-0", vector: [0.1, 0.2], metadata: { field: "value" } },
  { id: "id-1", vector: [0.3, 0.4] },
];

/** As many numbers as the wide index has dimensions. */
const wide = Array.from({ length: 384 }, (_, i) => (i * 37) % 385);

testMethods("Records", [
  [
    ["upsert", "fetch"],
    "a record comes back as it was sent, with only the requested parts",
    async (open) => {
      const index = open();

      assert.equal(await index.upsert(pair), "Success");

      assert.deepEqual(await index.fetch(["id-0", "id-1"], { ...ALL }), pair);
      assert.deepEqual(await index.fetch(["id-0", "id-1"], { includeMetadata: true }), [
        { id: "id-0", metadata: { field: "value" } },
        { id: "id-1" },
      ]);
      assert.deepEqual(await index.fetch(["id-0", "id-1"]), [{ id: "id-0" }, { id: "id-1" }]);
    },
  ],
  [
    ["upsert", "fetch"],
    "an id may be a number, and is stored as a string",
    async (open) => {
      const index = open("wide");

      assert.equal(await index.upsert({ id: 33, vector: wide }), "Success");

      assert.deepEqual(await index.fetch([33], { includeVectors: true }), [{ id: "33", vector: wide }]);
      assert.deepEqual(await index.fetch(["33"]), [{ id: "33" }]);
    },
  ],
  [
    ["fetch"],
    "B.fetch: a missing record is null, in its position",
    async (open) => {
      const index = open();
      await index.upsert(pair);

      assert.deepEqual(await index.fetch(["none", "id-1", "none"]), [null, { id: "id-1" }, null]);
      assert.deepEqual(await index.fetch(["id-0"], { namespace: "never-made" }), [null]);
    },
  ],
  [
    ["fetch"],
    "a prefix finds its records in the order of insertion",
    async (open) => {
      const index = open();
      await index.upsert(["b-2", "a-1", "b-1", "b"].map((id) => ({ id, vector: [1, 1] })));

      assert.deepEqual(await index.fetch({ prefix: "b-" }), [{ id: "b-2" }, { id: "b-1" }]);
      assert.deepEqual(await index.fetch({ prefix: "c" }), []);
      assert.deepEqual(await index.fetch({ prefix: "b" }, { namespace: "never-made" }), []);
    },
  ],
  [
    ["upsert", "fetch"],
    "data is stored with a vector",
    async (open) => {
      const index = open();
      const record = { id: "1", vector: [0.5, 0.5], metadata: { hello: "world" }, data: "Shakuhachi" };

      await index.upsert(record);

      assert.deepEqual(await index.fetch(["1"], { ...ALL }), [record]);
      assert.deepEqual(await index.fetch(["1"], { includeMetadata: true, includeVectors: true }), [
        { id: "1", vector: [0.5, 0.5], metadata: { hello: "world" } },
      ]);
    },
  ],
  [
    ["upsert", "fetch"],
    "B.upsert: an upsert replaces the whole record",
    async (open) => {
      const index = open();
      await index.upsert({ id: "1", vector: [1, 0], metadata: { old: true }, data: "old" });

      await index.upsert({ id: "1", vector: [0, 1] });

      assert.deepEqual(await index.fetch(["1"], { ...ALL }), [{ id: "1", vector: [0, 1] }]);
    },
  ],
  [
    ["upsert", "fetch"],
    "B.upsert: the last of two records with one id in a batch wins",
    async (open) => {
      const index = open();

      await index.upsert([
        { id: "1", vector: [1, 0], metadata: { first: true } },
        { id: "1", vector: [0, 1] },
      ]);

      assert.deepEqual(await index.fetch(["1"], { ...ALL }), [{ id: "1", vector: [0, 1] }]);
    },
  ],
  [
    ["upsert", "fetch"],
    "a batch with one bad record is refused as a whole",
    async (open) => {
      const index = open();

      const refusal = await refusalOf(
        index.upsert([
          { id: "1", vector: [1, 0] },
          { id: "2", vector: [1, 0, 0] },
        ]),
      );

      assert.equal(refusal, "Invalid vector dimension: 3, expected: 2");
      assert.deepEqual(await index.fetch(["1", "2"]), [null, null]);
    },
  ],
  [
    ["upsert", "fetch"],
    "B.record.sparse-vector: sparse vectors come back as they were sent",
    async (open) => {
      const index = open("sparse");
      const records = [
        { id: "id0", sparseVector: { indices: [0, 1], values: [0.1, 0.2] } },
        { id: "id1", sparseVector: { indices: [9, -1, 9], values: [0.2, -0.3, 0.5] }, metadata: { key: "value" } },
        {
          id: "id2",
          sparseVector: { indices: [2147483647, -2147483648], values: [0.3, 0.4] },
          metadata: { key: "value" },
          data: "data",
        },
      ];

      assert.equal(await index.upsert(records), "Success");

      assert.deepEqual(await index.fetch(["id0", "id1", "id2", "id3"], { ...ALL }), [...records, null]);
    },
  ],
  [
    ["upsert", "fetch"],
    "a record of a hybrid index has both vectors",
    async (open) => {
      const index = open("hybrid");
      const record = {
        id: "id0",
        vector: [0.1, 0.2],
        sparseVector: { indices: [0, 1], values: [0.1, 0.2] },
      };

      assert.equal(await index.upsert(record), "Success");

      assert.deepEqual(await index.fetch(["id0"], { ...ALL }), [record]);
      assert.equal(
        await refusalOf(index.upsert({ id: "id1", vector: [0.1, 0.2] })),
        "This index requires sparse vectors",
      );
      assert.equal(
        await refusalOf(index.upsert({ id: "id1", sparseVector: record.sparseVector })),
        "This index requires dense vectors",
      );
    },
  ],
  [
    ["upsert"],
    "B.index: the first vector fixes the dimension of an index that had none",
    async (open) => {
      const index = open("open");

      await index.upsert({ id: "1", vector: [1, 2, 3] });

      assert.equal(
        await refusalOf(index.upsert({ id: "2", vector: [1, 2] })),
        "Invalid vector dimension: 2, expected: 3",
      );
    },
  ],
  [
    ["update", "fetch"],
    "B.update: parts change, the rest does not",
    async (open) => {
      const index = open();
      await index.upsert({ id: "1", vector: [0.1, 0.2], metadata: { a: 1 }, data: "data" });

      assert.deepEqual(await index.update({ id: "1", vector: [0.2, 0.3] }), { updated: 1 });
      assert.deepEqual(await index.update({ id: "1", data: "new-data" }), { updated: 1 });
      assert.deepEqual(await index.update({ id: "1", metadata: { b: 2 } }), { updated: 1 });

      assert.deepEqual(await index.fetch(["1"], { ...ALL }), [
        { id: "1", vector: [0.2, 0.3], metadata: { b: 2 }, data: "new-data" },
      ]);
    },
  ],
  [
    ["update", "fetch"],
    "B.update.patch: PATCH merges metadata, and null removes",
    async (open) => {
      const index = open();
      await index.upsert({
        id: "1",
        vector: [1, 1],
        metadata: { field: "value", field2: "value2", deep: { a: 1, b: 2 } },
      });

      const patch = { new_field: "new_value", field2: null, deep: { b: null, c: 3 } };
      assert.deepEqual(await index.update({ id: 1, metadata: patch, metadataUpdateMode: "PATCH" }), { updated: 1 });

      assert.deepEqual(await index.fetch(["1"], { includeMetadata: true }), [
        { id: "1", metadata: { field: "value", new_field: "new_value", deep: { a: 1, c: 3 } } },
      ]);
    },
  ],
  [
    ["update"],
    "B.update: a missing record is not updated, without an error",
    async (open) => {
      const index = open();

      assert.deepEqual(await index.update({ id: "id-999", vector: [0.4, 0.5] }), { updated: 0 });
      assert.deepEqual(await index.update({ id: "1", metadata: {} }, { namespace: "never-made" }), { updated: 0 });
      assert.deepEqual(await index.listNamespaces(), [""]);
    },
  ],
  [
    ["update", "fetch"],
    "sparse and hybrid vectors also change",
    async (open) => {
      const sparseVector = { indices: [0, 1], values: [0.1, 0.2] };
      const changed = { indices: [6, 7], values: [0.5, 0.6] };
      const sparse = open("sparse");
      const hybrid = open("hybrid");
      await sparse.upsert({ id: "id1", sparseVector }, { namespace: "ns" });
      await hybrid.upsert({ id: "id1", vector: [0.1, 0.2], sparseVector }, { namespace: "ns" });

      assert.deepEqual(await sparse.update({ id: "id1", sparseVector: changed }, { namespace: "ns" }), { updated: 1 });
      assert.deepEqual(
        await hybrid.update({ id: "id1", vector: [0.5, 0.6], sparseVector: changed }, { namespace: "ns" }),
        { updated: 1 },
      );

      assert.deepEqual(await sparse.fetch(["id1"], { includeVectors: true, namespace: "ns" }), [
        { id: "id1", sparseVector: changed },
      ]);
      assert.deepEqual(await hybrid.fetch(["id1"], { includeVectors: true, namespace: "ns" }), [
        { id: "id1", vector: [0.5, 0.6], sparseVector: changed },
      ]);
      assert.equal(
        await refusalOf(hybrid.update({ id: "id1", vector: [1, 1] }, { namespace: "ns" })),
        "This index requires sparse vectors",
      );
    },
  ],
  [
    ["delete", "fetch"],
    "one or many ids: existing ones are counted",
    async (open) => {
      const index = open();
      await index.upsert([1, 2, 3, 4].map((id) => ({ id, vector: [id, 1] })));

      assert.deepEqual(await index.delete("1"), { deleted: 1 });
      assert.deepEqual(await index.delete(2), { deleted: 1 });
      assert.deepEqual(await index.delete(["3", "3", "none"]), { deleted: 1 });
      assert.deepEqual(await index.delete(["3"]), { deleted: 0 });
      assert.deepEqual(await index.delete({ ids: [4] }), { deleted: 1 });
      assert.deepEqual(await index.delete("1", { namespace: "never-made" }), { deleted: 0 });

      assert.deepEqual(await index.fetch([1, 2, 3, 4]), [null, null, null, null]);
    },
  ],
  [
    ["delete"],
    "B.delete: a prefix or a filter deletes all matching records",
    async (open) => {
      const index = open();
      const salaries = [1000, 2000, 3000];
      await index.upsert(salaries.map((salary) => ({ id: `users:${salary}`, vector: [1, 1], metadata: { salary } })));
      await index.upsert({ id: "posts:1", vector: [1, 1] });

      assert.deepEqual(await index.delete({ filter: "salary < 3000" }), { deleted: 2 });
      assert.deepEqual(await index.delete({ filter: "salary < 3000" }), { deleted: 0 });
      assert.deepEqual(await index.delete({ prefix: "users:" }), { deleted: 1 });

      assert.equal((await index.info()).vectorCount, 1);
    },
  ],
]);
