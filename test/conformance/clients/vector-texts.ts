/**
 * Requests of the vector clients for an index with models, in their exact bytes: texts of `upstash/vector-py` (dce6d3b, 5e76f4b,
 * b798b5d), `upstash/vector-go` (5155784) and `upstash/vector-php` (23eb262, 09eef49, 39d1513), and what they read of sparse
 * vectors. Each client prints JSON as in its other table.
 */
import type { ClientRow } from "./client-rows.ts";
import { hit, page, result, resumable, success, updated } from "./vector-answers.ts";

const json = ["Content-Type", "application/json"];

export const vectorPythonTexts: readonly ClientRow[] = [
  {
    call: "upsert of Data",
    request: "POST /upsert-data",
    headers: json,
    body: '[{"id": "id1", "data": "hello", "metadata": {"country": "t\\u00fc"}}, {"id": 2, "data": "hello bread", "metadata": null}]',
    answer: success,
  },
  {
    call: "upsert of Data into a namespace",
    request: "POST /upsert-data/ns",
    headers: json,
    body: '[{"id":"id3","data":"<hello> & bread","metadata":{"é":1}}]',
    answer: success,
  },
  {
    call: "query of data",
    request: "POST /query-data",
    headers: json,
    body: '{"topK": 1, "includeVectors": false, "includeMetadata": true, "includeData": true, "filter": "HAS NOT FIELD country", "data": "hello bread"}',
    answer: result([hit]),
    has: { "result.0.id": "2", "result.0.data": "hello bread", "result.0.metadata": undefined, "result.1": undefined },
  },
  {
    call: "query_many of data",
    request: "POST /query-data",
    headers: json,
    body: '[{"topK": 1, "includeVectors": false, "includeMetadata": false, "includeData": false, "filter": "", "data": "hello"}, {"topK": 2, "includeVectors": false, "includeMetadata": false, "includeData": true, "filter": "", "data": "bread"}]',
    has: { "result.0.0.id": "id1", "result.0.1": undefined, "result.1.0.data": "hello bread" },
  },
  {
    call: "resumable_query of data",
    request: "POST /resumable-query-data",
    headers: json,
    body: '{"topK": 1, "includeVectors": false, "includeMetadata": false, "includeData": false, "filter": "", "maxIdle": 3600, "data": "hello"}',
    answer: resumable,
    saves: { uuid: "result.uuid" },
  },
  {
    call: "fetch_next",
    request: "POST /resumable-query-next",
    headers: json,
    body: '{"uuid": "{uuid}", "additionalK": 3}',
    answer: result([hit]),
    has: { "result.0.id": "2" },
  },
  { call: "stop", request: "POST /resumable-query-end", headers: json, body: '{"uuid": "{uuid}"}', answer: success },
  {
    call: "resumable_query of data in a namespace",
    request: "POST /resumable-query-data/ns",
    headers: json,
    body: '{"topK":1,"includeVectors":false,"includeMetadata":false,"includeData":false,"filter":"","maxIdle":3600,"data":"hello"}',
    answer: resumable,
    has: { "result.scores.0.id": "id3" },
  },
  {
    call: "update of data",
    request: "POST /update",
    headers: json,
    body: '{"id": "id1", "metadataUpdateMode": "OVERWRITE", "data": "bread"}',
    answer: updated,
    has: { "result.updated": 1 },
  },
  {
    call: "range with data",
    request: "POST /range",
    headers: json,
    body: '{"cursor": "", "limit": 10, "includeVectors": false, "includeMetadata": false, "includeData": true}',
    answer: page,
    has: { "result.vectors.0.data": "bread", "result.vectors.1.data": "hello bread", "result.nextCursor": "" },
  },
];

export const vectorGoTexts: readonly ClientRow[] = [
  {
    call: "UpsertData",
    request: "POST /upsert-data",
    body: '{"id":"id0","data":"hello \\u003cb\\u003e","metadata":{"country":"\\u0026"}}',
    answer: success,
  },
  {
    call: "UpsertDataMany",
    request: "POST /upsert-data/ns",
    body: '[{"id":"id0","data":"hello"},{"id":"id1","data":"hello bread"},{"id":"id2","data":"hello bread upstash"}]',
    answer: success,
  },
  {
    call: "Upsert of both vectors",
    request: "POST /upsert",
    body: '{"id":"id1","vector":[0.1,1e-7,0,1],"sparseVector":{"indices":[1,3],"values":[0.5,0.25]},"data":"\\u0026"}',
    answer: success,
  },
  {
    call: "Fetch of both vectors",
    request: "POST /fetch",
    body: '{"ids":["id1","none"],"includeVectors":true,"includeData":true}',
    has: {
      result: [
        { id: "id1", vector: [0.1, 1e-7, 0, 1], sparseVector: { indices: [1, 3], values: [0.5, 0.25] }, data: "&" },
        null,
      ],
    },
  },
  {
    call: "QueryData",
    request: "POST /query-data",
    body: '{"data":"hello","topK":1,"includeMetadata":true,"includeData":true,"filter":"country = \'\\u0026\'"}',
    answer: result([hit]),
    has: { "result.0.id": "id0", "result.0.data": "hello <b>", "result.0.metadata": { country: "&" } },
  },
  {
    call: "QueryData of one part, without topK",
    request: "POST /query-data/ns",
    body: '{"data":"hello bread upstash","weightingStrategy":"IDF","fusionAlgorithm":"DBSF","queryMode":"SPARSE"}',
    answer: result([hit]),
    has: { "result.0.id": "id2", "result.2.id": "id0" },
  },
  {
    call: "Query of a sparse vector",
    request: "POST /query",
    body: '{"vector":[0,0,0,1],"sparseVector":{"indices":[3],"values":[1]},"topK":1,"includeVectors":true}',
    answer: result([hit]),
    has: { "result.0.sparseVector": { indices: [1, 3], values: [0.5, 0.25] } },
  },
  {
    call: "ResumableQueryData",
    request: "POST /resumable-query-data/ns",
    body: '{"data":"hello","topK":2,"includeMetadata":true,"includeData":true,"maxIdle":60}',
    answer: resumable,
    saves: { uuid: "result.uuid" },
  },
  {
    call: "Next",
    request: "POST /resumable-query-next",
    body: '{"additionalK":3,"uuid":"{uuid}"}',
    answer: result([hit]),
    has: { "result.1": undefined },
  },
  { call: "Close", request: "POST /resumable-query-end", body: '{"uuid":"{uuid}"}', answer: success },
  {
    call: "Close again",
    request: "POST /resumable-query-end",
    body: '{"uuid":"{uuid}"}',
    status: 404,
    answer: { needs: { error: "text", status: "integer" } },
  },
  { call: "Update of data", request: "POST /update", body: '{"id":"id1","data":"new-data"}', answer: updated },
];

export const vectorPhpTexts: readonly ClientRow[] = [
  {
    call: "upsertData",
    request: "POST /upsert-data",
    headers: json,
    body: '{"id":"1","data":"hello \\/ \\u00e9"}',
    answer: success,
  },
  {
    call: "namespace: upsertDataMany",
    request: "POST /upsert-data/ns",
    headers: json,
    body: '[{"id":"1","data":"hello"},{"id":"2","data":"hello bread"}]',
    answer: success,
  },
  {
    call: "queryData",
    request: "POST /query-data/ns",
    headers: json,
    body: '{"data":"hello bread","topK":1,"includeMetadata":false,"includeVectors":false,"includeData":false,"filter":"","queryMode":"HYBRID"}',
    answer: result([hit]),
    has: { "result.0.id": "2", "result.1": undefined },
  },
  {
    call: "queryData with every option",
    request: "POST /query-data",
    headers: json,
    body: '{"data":"hello","topK":10,"includeMetadata":true,"includeVectors":true,"includeData":true,"filter":"HAS NOT FIELD a","queryMode":"SPARSE","weightingStrategy":"IDF","fusionAlgorithm":"DBSF"}',
    answer: result([hit]),
    has: { "result.0.data": "hello / é" },
  },
  {
    call: "upsert of both vectors",
    request: "POST /upsert",
    headers: json,
    body: '{"id":"both","vector":[0.1,1.0e-7,0.0,1.0],"sparseVector":{"indices":[1,3],"values":[0.5,0.25]}}',
    answer: success,
  },
  {
    call: "range with vectors",
    request: "GET /range",
    headers: json,
    body: '{"limit":10,"cursor":"0","includeMetadata":false,"includeVectors":true,"includeData":true}',
    answer: page,
    has: { "result.vectors.1.sparseVector": { indices: [1, 3], values: [0.5, 0.25] } },
  },
];
