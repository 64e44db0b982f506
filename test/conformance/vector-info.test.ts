/** The description of an index (B3). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { startVectorServer } from "../harness/vector-server.ts";

interface Info {
  readonly vectorCount: number;
  readonly pendingVectorCount: number;
  readonly indexSize: number;
  readonly dimension: number;
  readonly namespaces: Readonly<Record<string, unknown>>;
}

const empty = { vectorCount: 0, pendingVectorCount: 0 };

for (const [type, definition, shown] of [
  [
    "DENSE",
    { dimension: 2 },
    {
      dimension: 2,
      similarityFunction: "COSINE",
      denseIndex: { dimension: 2, similarityFunction: "COSINE", embeddingModel: "" },
    },
  ],
  [
    "SPARSE",
    { dimension: 0, sparseModel: "BM25" },
    { dimension: 0, similarityFunction: "", sparseIndex: { embeddingModel: "BM25" } },
  ],
  [
    "HYBRID",
    { dimension: 3, similarity: "EUCLIDEAN", denseModel: "BGE_M3", sparseModel: "BM25" },
    {
      dimension: 3,
      similarityFunction: "EUCLIDEAN",
      denseIndex: { dimension: 3, similarityFunction: "EUCLIDEAN", embeddingModel: "BGE_M3" },
      sparseIndex: { embeddingModel: "BM25" },
    },
  ],
] as const) {
  // B3.model
  test(`B3: a ${type} index without records`, async () => {
    await using server = await startVectorServer({ type, ...definition });
    const info = (await server.post("/info", "[]")) as Info;
    assert.deepEqual(info, {
      ...empty,
      indexSize: info.indexSize,
      indexType: type,
      ...shown,
      namespaces: { "": empty },
    });
    assert.ok(Number.isSafeInteger(info.indexSize) && info.indexSize >= 0);
  });
}

test("B3.fresh: counts cover each namespace and the whole index, for any namespace name", async () => {
  await using server = await startVectorServer();
  const records = [
    { id: "a", vector: [1, 0] },
    { id: "b", vector: [0, 1] },
  ];
  const before = (await server.post("/info")) as Info;
  await server.post("/upsert", records);
  for (const name of ["__proto__", "1", "a%2Fb"]) await server.post(`/upsert/${name}`, records[0]);
  const info = (await server.post("/info")) as Info;
  const one = { vectorCount: 1, pendingVectorCount: 0 };
  assert.deepEqual([info.vectorCount, info.pendingVectorCount], [5, 0]);
  assert.deepEqual(Object.entries(info.namespaces).sort(), [
    ["", { vectorCount: 2, pendingVectorCount: 0 }],
    ["1", one],
    ["__proto__", one],
    ["a/b", one],
  ]);
  assert.ok(info.indexSize > before.indexSize);
});

test("B3: an unset dimension is 0 until the first vector fixes it", async () => {
  await using server = await startVectorServer({ dimension: undefined });
  assert.equal(((await server.post("/info")) as Info).dimension, 0);
  await server.post("/upsert", { id: "a", vector: [1, 2, 3] });
  assert.equal(((await server.post("/info")) as Info).dimension, 3);
  assert.deepEqual(await server.refusal("/upsert", { id: "b", vector: [1] }), [
    422,
    "Invalid vector dimension: 1, expected: 3",
  ]);
});

test("B3.fresh, B.reset, B.delete-namespace, B.errors.404: a reset is visible at once and keeps the namespace; deleting it removes it", async () => {
  await using server = await startVectorServer();
  await server.post("/upsert/ns", { id: "a", vector: [1, 0] });
  await server.post("/upsert", { id: "a", vector: [1, 0] });
  assert.equal(await server.post("/reset/ns"), "Success");
  const afterReset = (await server.post("/info")) as Info;
  assert.deepEqual([afterReset.vectorCount, afterReset.namespaces["ns"]], [1, empty]);
  assert.equal(await server.post("/reset?all"), "Success");
  assert.deepEqual(((await server.post("/info")) as Info).namespaces, { "": empty, ns: empty });
  assert.equal(await server.post("/delete-namespace/ns"), "Success");
  assert.deepEqual(((await server.post("/info")) as Info).namespaces, { "": empty });
  assert.deepEqual(await server.refusal("/delete-namespace/ns"), [
    404,
    "Namespace ns for the index main does not exist",
  ]);
  assert.deepEqual(await server.refusal("/delete-namespace/"), [
    422,
    'The default namespace, which is the empty string "", cannot be deleted.',
  ]);
});
