/** Queries: their shapes, scores and refusals (B2). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { startVectorServer } from "../harness/vector-server.ts";

const HITS_DEFAULT = 10;

function idsOf(hits: unknown): readonly string[] {
  return (hits as { id: string }[]).map(({ id }) => id);
}

test("B2.result: an object and a list of one return a list of hits, a longer list returns a list for each query", async () => {
  await using server = await startVectorServer();
  await server.post("/upsert", [
    { id: "east", vector: [1, 0] },
    { id: "north", vector: [0, 1] },
  ]);
  const query = { vector: [1, 0], topK: 1 };
  const hits = [{ id: "east", score: 1 }];
  assert.deepEqual(await server.post("/query", query), hits);
  assert.deepEqual(await server.post("/query", [query]), hits);
  assert.deepEqual(await server.post("/query", [query, { vector: [0, 1] }]), [
    hits,
    [
      { id: "north", score: 1 },
      { id: "east", score: 0.5 },
    ],
  ]);
  assert.deepEqual(await server.refusal("/query", []), [422, "The body is an empty list of queries"]);
});

test("B2: at most topK hits, ten by default, the best first", async () => {
  await using server = await startVectorServer();
  await server.post(
    "/upsert",
    Array.from({ length: 12 }, (_, number) => ({ id: `id-${number}`, vector: [1, number] })),
  );
  const all = Array.from({ length: 12 }, (_, number) => `id-${number}`);
  assert.deepEqual(idsOf(await server.post("/query", { vector: [1, 0] })), all.slice(0, HITS_DEFAULT));
  assert.deepEqual(idsOf(await server.post("/query", { vector: [1, 0], topK: 3 })), all.slice(0, 3));
  assert.deepEqual(idsOf(await server.post("/query", { vector: [1, 0], topK: 1_000 })), all);
});

for (const [similarity, vector, hits] of [
  [
    "COSINE",
    [1, 0],
    [
      ["same", 1],
      ["slanted", 0.8535534],
      ["across", 0.5],
      ["opposite", 0],
    ],
  ],
  [
    "EUCLIDEAN",
    [1, 0],
    [
      ["same", 1],
      ["slanted", 0.5],
      ["across", 0.33333334],
      ["opposite", 0.2],
    ],
  ],
  [
    "DOT_PRODUCT",
    [0.5, 0],
    [
      ["same", 0.75],
      ["slanted", 0.75],
      ["across", 0.5],
      ["opposite", 0.25],
    ],
  ],
] as const) {
  // B2.cosine, B2.euclidean, B2.dot-product, B2.order
  test(`B2: scores of ${similarity} are between 0 and 1, and equal ones in the order of insertion`, async () => {
    await using server = await startVectorServer({ similarity });
    await server.post("/upsert", [
      { id: "opposite", vector: [-1, 0] },
      { id: "across", vector: [0, 1] },
      { id: "same", vector: [1, 0] },
      { id: "slanted", vector: [1, 1] },
    ]);
    assert.deepEqual(
      await server.post("/query", { vector }),
      hits.map(([id, score]) => ({ id, score })),
    );
  });
}

test("B2.cosine, B.record.score: the stored vector is found with a score of exactly 1, and comes back as it was sent", async () => {
  await using server = await startVectorServer({ dimension: 384 });
  const vector = Array.from({ length: 384 }, (_, place) => (((place * 37) % 101) + 1) / 100);
  await server.post("/upsert", { id: 33, vector });
  const [hit] = (await server.post("/query", { vector, includeVectors: true })) as { vector: number[] }[];
  assert.deepEqual(hit, { id: "33", score: 1, vector });
});

test("B.include, B2.filter: include options select fields, and a filter selects records", async () => {
  await using server = await startVectorServer();
  await server.post("/upsert", [
    { id: "a", vector: [1, 0], metadata: { kind: "x", size: 2 }, data: "of a" },
    { id: "b", vector: [1, 1], metadata: { kind: "y", size: 3 } },
    { id: "c", vector: [0, 1] },
  ]);
  const vector = [1, 0];
  assert.deepEqual(
    await server.post("/query", { vector, topK: 2, includeMetadata: true, includeData: true, includeVectors: true }),
    [
      { id: "a", score: 1, vector: [1, 0], metadata: { kind: "x", size: 2 }, data: "of a" },
      { id: "b", score: 0.8535534, vector: [1, 1], metadata: { kind: "y", size: 3 } },
    ],
  );
  for (const [filter, ids] of [
    ["", ["a", "b", "c"]],
    ["size >= 2", ["a", "b"]],
    ["kind = 'y' OR size = 2", ["a", "b"]],
    ["size > 2", ["b"]],
    ["HAS NOT FIELD kind", ["c"]],
    ["size > 3", []],
  ] as const) {
    assert.deepEqual(idsOf(await server.post("/query", { vector, filter })), ids, filter);
  }
});

test("B2: a namespace is searched alone; a missing one has no records", async () => {
  await using server = await startVectorServer();
  await server.post("/upsert", { id: "default", vector: [1, 0] });
  await server.post("/upsert/ns", { id: "own", vector: [1, 0] });
  assert.deepEqual(idsOf(await server.post("/query/ns", { vector: [1, 0] })), ["own"]);
  assert.deepEqual(idsOf(await server.post("/query/", { vector: [1, 0] })), ["default"]);
  assert.deepEqual(await server.post("/query/nowhere", { vector: [1, 0] }), []);
});

test("B2.sparse, B2.idf: SPARSE scores are inner products over shared indices, weighted by IDF on request", async () => {
  await using server = await startVectorServer({ type: "SPARSE", dimension: 0 });
  await server.post("/upsert", [
    { id: "two", sparseVector: { indices: [1, 2], values: [0.5, 1] } },
    { id: "one", sparseVector: { indices: [2], values: [2] } },
    { id: "none", sparseVector: { indices: [-9], values: [7] } },
  ]);
  const sparseVector = { indices: [1, 2], values: [3, 1] };
  assert.deepEqual(await server.post("/query", { sparseVector }), [
    { id: "two", score: 2.5 },
    { id: "one", score: 2 },
  ]);
  // Three records; index 1 in one of them (ln(8/3)), index 2 in two (ln(1.6)).
  assert.deepEqual(await server.post("/query", { sparseVector, weightingStrategy: "IDF" }), [
    { id: "two", score: 1.9412475 },
    { id: "one", score: 0.94000727 },
  ]);
});

test("B2.hybrid, B2.fusion, B2.rrf, B2.dbsf: HYBRID fuses ranks by RRF, or scores by DBSF; a single vector is not fused", async () => {
  await using server = await startVectorServer({ type: "HYBRID" });
  await server.post("/upsert", [
    { id: "first", vector: [1, 0], sparseVector: { indices: [1], values: [2] } },
    { id: "second", vector: [0, 1], sparseVector: { indices: [1], values: [1] } },
  ]);
  const sparseVector = { indices: [1], values: [1] };
  const both = { vector: [1, 0], sparseVector };
  assert.deepEqual(await server.post("/query", both), [
    { id: "first", score: 0.033333335 },
    { id: "second", score: 0.032786883 },
  ]);
  const scores = (await server.post("/query", { ...both, fusionAlgorithm: "DBSF" })) as { score: number }[];
  assert.deepEqual(
    scores.map(({ score }) => score.toFixed(5)),
    ["1.23570", "0.76430"],
  );
  assert.deepEqual(await server.post("/query", { vector: [1, 0], fusionAlgorithm: "DBSF" }), [
    { id: "first", score: 1 },
    { id: "second", score: 0.5 },
  ]);
  assert.deepEqual(await server.post("/query", { sparseVector, fusionAlgorithm: "RRF" }), [
    { id: "first", score: 2 },
    { id: "second", score: 1 },
  ]);
});

test("B2.fusion: a query for one record fuses a hundred candidates of each part", async () => {
  await using server = await startVectorServer({ type: "HYBRID", similarity: "DOT_PRODUCT" });
  // The hundredth of one part is the best of the other, and with both ranks above each record that is in only one list.
  const records = Array.from({ length: 100 }, (_, number) => ({
    id: `id-${number}`,
    vector: [1 - number / 128, 0],
    sparseVector: { indices: [number === 99 ? 1 : 2], values: [1] },
  }));
  await server.post("/upsert", records);
  const query = { vector: [1, 0], sparseVector: { indices: [1], values: [1] }, topK: 1 };
  assert.deepEqual(await server.post("/query", query), [{ id: "id-99", score: 0.022955976 }]);
});

test("B2, B.resumable, B.resumable.start, B.resumable.next, B.resumable.end, B.errors.404: a resumable query continues where it stopped and returns no record twice, until it is ended", async () => {
  await using server = await startVectorServer();
  await server.post(
    "/upsert",
    Array.from({ length: 5 }, (_, number) => ({ id: `id-${number}`, vector: [1, number] })),
  );
  const started = (await server.post("/resumable-query", { vector: [1, 0], topK: 2 })) as {
    uuid: string;
    scores: unknown;
  };
  assert.deepEqual(idsOf(started.scores), ["id-0", "id-1"]);
  const next = { uuid: started.uuid, additionalK: 2 };
  assert.deepEqual(idsOf(await server.post("/resumable-query-next", next)), ["id-2", "id-3"]);
  assert.deepEqual(idsOf(await server.post("/resumable-query-next", next)), ["id-4"]);
  assert.deepEqual(await server.post("/resumable-query-next", next), []);
  assert.equal(await server.post("/resumable-query-end", { uuid: started.uuid }), "Success");
  for (const path of ["/resumable-query-next", "/resumable-query-end"]) {
    assert.equal((await server.refusal(path, next))[0], 404, path);
  }
});

test("B2, B.errors.422, B.vectors: a query that does not fit the index is refused with the reason", async () => {
  await using server = await startVectorServer();
  const vector = [1, 0];
  for (const [body, error] of [
    [{ vector: [1] }, "Invalid vector dimension: 1, expected: 2"],
    [{}, "This index requires dense vectors"],
    [{ vector: null }, "This index requires dense vectors"],
    [{ vector, topK: 0 }, "topK must be a whole number from 1 to 1000"],
    [{ vector, topK: 1_001 }, "topK must be a whole number from 1 to 1000"],
    [{ vector, weightingStrategy: "BM25" }, 'weightingStrategy must be "IDF"'],
    [{ vector, fusionAlgorithm: "MEAN" }, 'fusionAlgorithm must be "RRF" or "DBSF"'],
    [{ vector: [1, 1e39] }, "vector[1] must be a number within the range of float32"],
    [{ vector: ["1", 0] }, "vector[0] must be a number"],
    [[{ vector }, { vector: [1] }], "Invalid vector dimension: 1, expected: 2"],
  ] as const) {
    assert.deepEqual(await server.refusal("/query", body), [422, error]);
  }
  const [status, text] = await server.refusal("/query", { vector, filter: "a = " });
  assert.equal(status, 422);
  assert.match(text, /^Invalid filter at character 5: /);
  assert.deepEqual(await server.refusal("/query-data", { data: "words" }), [
    422,
    "Embedding data for this index is not allowed. The index must be created with an embedding model to use it.",
  ]);
});
