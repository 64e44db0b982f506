/** The call of each path on the vector index, and the printed answer. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { vectorEdge } from "../../../test/harness/vector-edge.ts";
import type { IndexApi, IndexInfo, ScoredView } from "../../vector/mod.ts";

interface Row {
  readonly line: string;
  readonly body?: unknown;
  readonly answers: Partial<IndexApi>;
  readonly call: readonly unknown[];
  readonly text: string;
}

const nothing = { metadata: false, vectors: false, data: false };
const everything = { metadata: true, vectors: true, data: true };
const included = { includeMetadata: true, includeVectors: true, includeData: true };
const plainQuery = { topK: 10, include: nothing, filter: "", weighting: undefined, fusion: "RRF" };
const noVector = { vector: undefined, sparseVector: undefined };
const rest = { metadata: undefined, data: undefined };
const half: ScoredView = { id: "a", score: 0.5 };
const whole: ScoredView = {
  id: "b",
  score: Math.fround(0.1),
  vector: Float32Array.of(0.1, 2),
  sparseVector: { indices: Int32Array.of(3, -1), values: Float32Array.of(1, 0.2) },
  metadata: '{"k":[1]}',
  data: "text",
};
const wholeText =
  '{"id":"b","score":0.1,"vector":[0.1,2.0],"sparseVector":{"indices":[3,-1],"values":[1.0,0.2]},"metadata":{"k":[1]},"data":"text"}';
const info: IndexInfo = {
  vectorCount: 3,
  pendingVectorCount: 0,
  indexSize: 100,
  definition: {
    type: "DENSE",
    dimension: 2,
    similarity: "COSINE",
    denseModel: undefined,
    sparseModel: undefined,
  },
  namespaces: [
    { name: "", vectorCount: 1, pendingVectorCount: 0 },
    { name: "__proto__", vectorCount: 2, pendingVectorCount: 0 },
  ],
};

const rows: readonly Row[] = [
  {
    line: "POST /upsert",
    body: { id: 33, vector: [1, 2], metadata: null },
    answers: { upsert: () => undefined },
    call: ["upsert", "", [{ id: "33", vector: Float32Array.of(1, 2), sparseVector: undefined, ...rest }]],
    text: '{"result":"Success"}',
  },
  {
    line: "PUT /upsert/a%20b/c",
    body: [
      { id: "x", sparseVector: { indices: [1], values: [2] }, metadata: { m: 1 } },
      { id: "y", vector: [1], data: "d" },
    ],
    answers: { upsert: () => undefined },
    call: [
      "upsert",
      "a b/c",
      [
        {
          id: "x",
          vector: undefined,
          sparseVector: { indices: Int32Array.of(1), values: Float32Array.of(2) },
          metadata: '{"m":1}',
          data: undefined,
        },
        { id: "y", vector: Float32Array.of(1), sparseVector: undefined, metadata: undefined, data: "d" },
      ],
    ],
    text: '{"result":"Success"}',
  },
  {
    line: "POST /upsert-data/ns",
    body: { id: "x", data: "text" },
    answers: { upsertData: async () => undefined },
    call: ["upsertData", "ns", [{ id: "x", data: "text", metadata: undefined }]],
    text: '{"result":"Success"}',
  },
  {
    line: "POST /update/ns",
    body: { id: "x", metadata: { m: null }, metadataUpdateMode: "PATCH" },
    answers: { update: () => 1 },
    call: [
      "update",
      "ns",
      { id: "x", ...noVector, metadata: '{"m":null}', data: undefined, metadataUpdateMode: "PATCH" },
    ],
    text: '{"result":{"updated":1}}',
  },
  {
    line: "POST /update",
    body: { id: "x", data: "new" },
    answers: { update: async () => 0 },
    call: ["update", "", { id: "x", ...noVector, metadata: undefined, data: "new", metadataUpdateMode: "OVERWRITE" }],
    text: '{"result":{"updated":0}}',
  },
  {
    line: "GET /fetch/ns",
    body: { ids: ["b", "gone", 3], ...included },
    answers: { fetch: () => [{ id: "b", metadata: "{}" }, undefined, { id: "3" }] },
    call: ["fetch", "ns", { kind: "ids", ids: ["b", "gone", "3"] }, everything],
    text: '{"result":[{"id":"b","metadata":{}},null,{"id":"3"}]}',
  },
  {
    line: "POST /fetch",
    body: { prefix: "p-" },
    answers: { fetch: () => [] },
    call: ["fetch", "", { kind: "prefix", prefix: "p-" }, nothing],
    text: '{"result":[]}',
  },
  {
    line: "DELETE /delete/ns",
    body: { ids: "one" },
    answers: { delete: () => 1 },
    call: ["delete", "ns", { kind: "ids", ids: ["one"] }],
    text: '{"result":{"deleted":1}}',
  },
  {
    line: "POST /delete",
    body: { filter: "a = 1" },
    answers: { delete: async () => 7 },
    call: ["delete", "", { kind: "filter", filter: "a = 1" }],
    text: '{"result":{"deleted":7}}',
  },
  {
    line: "POST /range/ns",
    body: { cursor: "0", limit: 2, prefix: "p", ...included },
    answers: { range: () => ({ nextCursor: "2", vectors: [{ id: "p1" }, { id: "p2", data: "d" }] }) },
    call: ["range", "ns", { cursor: 0, limit: 2, prefix: "p", include: everything }],
    text: '{"result":{"nextCursor":"2","vectors":[{"id":"p1"},{"id":"p2","data":"d"}]}}',
  },
  {
    line: "GET /range/",
    body: { cursor: 5, limit: 1_000 },
    answers: { range: () => ({ nextCursor: "", vectors: [] }) },
    call: ["range", "", { cursor: 5, limit: 1_000, prefix: "", include: nothing }],
    text: '{"result":{"nextCursor":"","vectors":[]}}',
  },
  {
    line: "GET /random/ns",
    answers: { random: () => ({ id: "r", vector: Float32Array.of(0.25) }) },
    call: ["random", "ns"],
    text: '{"result":{"id":"r","vector":[0.25]}}',
  },
  {
    line: "POST /random",
    body: "no JSON",
    answers: { random: () => undefined },
    call: ["random", ""],
    text: '{"result":null}',
  },
  {
    line: "POST /query",
    body: { vector: [0.1, 2] },
    answers: { query: () => [[half, whole]] },
    call: ["query", "", [{ vector: Float32Array.of(0.1, 2), sparseVector: undefined, ...plainQuery }]],
    text: `{"result":[{"id":"a","score":0.5},${wholeText}]}`,
  },
  {
    line: "POST /query/ns",
    body: [{ vector: [1], topK: 3, ...included, filter: "a = 1", weightingStrategy: "IDF", fusionAlgorithm: "DBSF" }],
    answers: { query: async () => [[half]] },
    call: [
      "query",
      "ns",
      [
        {
          vector: Float32Array.of(1),
          sparseVector: undefined,
          topK: 3,
          include: everything,
          filter: "a = 1",
          weighting: "IDF",
          fusion: "DBSF",
        },
      ],
    ],
    text: '{"result":[{"id":"a","score":0.5}]}',
  },
  {
    line: "POST /query",
    body: [{ vector: [1] }, { sparseVector: { indices: [7], values: [0.5] } }],
    answers: { query: () => [[half], []] },
    call: [
      "query",
      "",
      [
        { vector: Float32Array.of(1), sparseVector: undefined, ...plainQuery },
        {
          vector: undefined,
          sparseVector: { indices: Int32Array.of(7), values: Float32Array.of(0.5) },
          ...plainQuery,
        },
      ],
    ],
    text: '{"result":[[{"id":"a","score":0.5}],[]]}',
  },
  {
    line: "POST /query-data/ns",
    body: { data: "find", queryMode: "SPARSE" },
    answers: { queryData: async () => [[half]] },
    call: ["queryData", "ns", [{ data: "find", mode: "SPARSE", ...plainQuery }]],
    text: '{"result":[{"id":"a","score":0.5}]}',
  },
  {
    line: "POST /query-data",
    body: [{ data: "one" }, { data: "two" }],
    answers: { queryData: async () => [[], [half]] },
    call: [
      "queryData",
      "",
      [
        { data: "one", mode: "HYBRID", ...plainQuery },
        { data: "two", mode: "HYBRID", ...plainQuery },
      ],
    ],
    text: '{"result":[[],[{"id":"a","score":0.5}]]}',
  },
  {
    line: "POST /resumable-query/ns",
    body: { vector: [1], maxIdle: 60 },
    answers: { resumableQuery: () => ({ uuid: "u-1", scores: [half] }) },
    call: ["resumableQuery", "ns", { vector: Float32Array.of(1), sparseVector: undefined, ...plainQuery }, 60],
    text: '{"result":{"uuid":"u-1","scores":[{"id":"a","score":0.5}]}}',
  },
  {
    line: "POST /resumable-query-data",
    body: { data: "find" },
    answers: { resumableQueryData: async () => ({ uuid: "u-2", scores: [] }) },
    call: ["resumableQueryData", "", { data: "find", mode: "HYBRID", ...plainQuery }, 3_600],
    text: '{"result":{"uuid":"u-2","scores":[]}}',
  },
  {
    line: "POST /resumable-query-next",
    body: { uuid: "u-1", additionalK: 5 },
    answers: { resumableQueryNext: () => [half] },
    call: ["resumableQueryNext", "u-1", 5],
    text: '{"result":[{"id":"a","score":0.5}]}',
  },
  {
    line: "POST /resumable-query-next/",
    body: { uuid: "u-1", additionalK: 5 },
    answers: { resumableQueryNext: async () => [] },
    call: ["resumableQueryNext", "u-1", 5],
    text: '{"result":[]}',
  },
  {
    line: "POST /resumable-query-end",
    body: { uuid: "u-1" },
    answers: { resumableQueryEnd: () => undefined },
    call: ["resumableQueryEnd", "u-1"],
    text: '{"result":"Success"}',
  },
  {
    line: "GET /info",
    body: "[]",
    answers: { info: () => info },
    call: ["info"],
    text: '{"result":{"vectorCount":3,"pendingVectorCount":0,"indexSize":100,"dimension":2,"similarityFunction":"COSINE","indexType":"DENSE","denseIndex":{"dimension":2,"similarityFunction":"COSINE","embeddingModel":""},"namespaces":{"":{"vectorCount":1,"pendingVectorCount":0},"__proto__":{"vectorCount":2,"pendingVectorCount":0}}}}',
  },
  {
    line: "DELETE /reset/ns",
    answers: { reset: () => undefined },
    call: ["reset", "ns"],
    text: '{"result":"Success"}',
  },
  {
    line: "POST /list-namespaces",
    body: "null",
    answers: { namespaceNames: () => ["", "é", '"'] },
    call: ["namespaceNames"],
    text: '{"result":["","é","\\""]}',
  },
  {
    line: "DELETE /delete-namespace/a/b",
    answers: { deleteNamespace: () => undefined },
    call: ["deleteNamespace", "a/b"],
    text: '{"result":"Success"}',
  },
  {
    line: "POST /delete-namespace/",
    body: "[]",
    answers: { deleteNamespace: () => undefined },
    call: ["deleteNamespace", ""],
    text: '{"result":"Success"}',
  },
  {
    line: "POST /rename-namespace",
    body: { namespace: "a", newNamespace: "b" },
    answers: { renameNamespace: () => true },
    call: ["renameNamespace", "a", { newName: "b", deletesExisting: false }],
    text: '{"result":{"renamed":true}}',
  },
  {
    line: "POST /rename-namespace/",
    body: { namespace: "a", newNamespace: "b", deleteExisting: true },
    answers: { renameNamespace: () => false },
    call: ["renameNamespace", "a", { newName: "b", deletesExisting: true }],
    text: '{"result":{"renamed":false}}',
  },
];

for (const { line, body, answers, call, text } of rows) {
  test(`${line} calls ${String(call[0])} of the index and prints its answer`, async () => {
    const edge = vectorEdge(answers);
    const reply = await edge.send(line, { body });
    assert.equal(reply.text, text);
    assert.equal(reply.status, 200);
    assert.equal(reply.headers["content-type"], "application/json");
    assert.deepEqual(edge.calls, [call]);
  });
}

test("B.reset: only ?all, ?all= and ?all=true reset all namespaces", async () => {
  const answers = { reset: () => undefined, resetAll: () => undefined };
  for (const [line, call] of [
    ["DELETE /reset?all", ["resetAll"]],
    ["POST /reset?all=", ["resetAll"]],
    ["POST /reset/?all=true", ["resetAll"]],
    ["POST /main/reset?x=1&all", ["resetAll"]],
    ["POST /reset?all=false", ["reset", ""]],
    ["POST /reset?", ["reset", ""]],
    ["POST /reset?ALL", ["reset", ""]],
    ["POST /reset/all", ["reset", "all"]],
    ["POST /reset/%3Fall", ["reset", "?all"]],
  ] as const) {
    const edge = vectorEdge(answers);
    assert.equal((await edge.send(line)).text, '{"result":"Success"}', line);
    assert.deepEqual(edge.calls, [call], line);
  }
  const edge = vectorEdge(answers);
  for (const [line, error] of [
    ["POST /reset?all=1", "Invalid value for all: send ?all or ?all=true"],
    ["POST /reset?all=True", "Invalid value for all: send ?all or ?all=true"],
    ["POST /reset/ns?all", "Send either a namespace in the path or ?all, which resets every namespace"],
  ] as const) {
    const reply = await edge.send(line);
    assert.equal(reply.status, 422, line);
    assert.deepEqual(reply.json, { error, status: 422 }, line);
  }
  assert.deepEqual(edge.calls, []);
});

test("B2: rejects an empty list of queries", async () => {
  const edge = vectorEdge();
  for (const path of ["/query", "/query-data/ns"]) {
    const reply = await edge.send(`POST ${path}`, { body: [] });
    assert.equal(reply.status, 422);
    assert.deepEqual(reply.json, { error: "The body is an empty list of queries", status: 422 });
  }
});
