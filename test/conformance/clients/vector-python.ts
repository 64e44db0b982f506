/**
 * Requests of `upstash/vector-py` (dce6d3b, with the fields of later versions). httpx prints them with spaces and escapes up to 0.27, and compact from 0.28 on: the
 * first rows have the one form, and those in a namespace the other. Without a payload there is no body and no content type.
 */
import type { ClientRow } from "./client-rows.ts";
import { deleted, hit, info, page, record, result, resumable, success, updated } from "./vector-answers.ts";

const json = ["Content-Type", "application/json"];

export const vectorPython: readonly ClientRow[] = [
  {
    call: "upsert",
    request: "POST /upsert",
    headers: json,
    body: '[{"id": "id1", "vector": [0.1, 0.2], "sparseVector": null, "metadata": {"genre": "dr\\u00e4ma", "n": 1.0}, "data": null}, {"id": 2, "vector": [1e-05, 5], "sparseVector": null, "metadata": null, "data": "a/b <c> & d"}]',
    answer: success,
  },
  {
    call: "query",
    request: "POST /query",
    headers: json,
    body: '{"topK": 10, "includeVectors": true, "includeMetadata": true, "includeData": true, "filter": "genre = \'dr\\u00e4ma\'", "weightingStrategy": null, "fusionAlgorithm": null, "vector": [0.1, 0.2], "sparseVector": null}',
    answer: result([hit]),
    has: { result: [{ id: "id1", score: 1, vector: [0.1, 0.2], metadata: { genre: "dräma", n: 1 } }] },
  },
  {
    call: "query_many",
    request: "POST /query",
    headers: json,
    body: '[{"topK": 1, "includeVectors": false, "includeMetadata": false, "includeData": false, "filter": "", "weightingStrategy": null, "fusionAlgorithm": null, "vector": [0.1, 0.2], "sparseVector": null}, {"topK": 1, "includeVectors": false, "includeMetadata": false, "includeData": true, "filter": "", "weightingStrategy": null, "fusionAlgorithm": null, "vector": [0, 1], "sparseVector": null}]',
    has: { "result.0.0.id": "id1", "result.1.0.id": "2", "result.1.0.data": "a/b <c> & d" },
  },
  {
    call: "fetch",
    request: "POST /fetch",
    headers: json,
    body: '{"ids": ["id1", "none"], "includeVectors": false, "includeMetadata": true, "includeData": false}',
    has: { result: [{ id: "id1", metadata: { genre: "dräma", n: 1 } }, null] },
  },
  {
    call: "fetch by a prefix",
    request: "POST /fetch",
    headers: json,
    body: '{"prefix": "id", "includeVectors": false, "includeMetadata": false, "includeData": false}',
    answer: result([record]),
  },
  {
    call: "range",
    request: "POST /range",
    headers: json,
    body: '{"cursor": "", "limit": 1, "prefix": null, "includeVectors": false, "includeMetadata": false, "includeData": true}',
    answer: page,
    saves: { cursor: "result.nextCursor" },
  },
  {
    call: "range from a cursor",
    request: "POST /range",
    headers: json,
    body: '{"cursor": "{cursor}", "limit": 5, "prefix": null, "includeVectors": false, "includeMetadata": false, "includeData": true}',
    answer: page,
    has: { result: { nextCursor: "", vectors: [{ id: "2", data: "a/b <c> & d" }] } },
  },
  {
    call: "update",
    request: "POST /update",
    headers: json,
    body: '{"id": "id1", "metadata": {"a": "b"}, "metadataUpdateMode": "PATCH"}',
    answer: updated,
    has: { "result.updated": 1 },
  },
  {
    call: "resumable_query",
    request: "POST /resumable-query",
    headers: json,
    body: '{"topK": 1, "includeVectors": false, "includeMetadata": false, "includeData": false, "filter": "", "maxIdle": 3600, "weightingStrategy": null, "fusionAlgorithm": null, "vector": [0.1, 0.2], "sparseVector": null}',
    answer: resumable,
    saves: { uuid: "result.uuid" },
  },
  {
    call: "ResumableQuery.fetch_next",
    request: "POST /resumable-query-next",
    headers: json,
    body: '{"uuid": "{uuid}", "additionalK": 3}',
    answer: result([hit]),
  },
  {
    call: "ResumableQuery.stop",
    request: "POST /resumable-query-end",
    headers: json,
    body: '{"uuid": "{uuid}"}',
    answer: success,
  },
  {
    call: "upsert into a namespace",
    request: "POST /upsert/ns",
    headers: json,
    body: '[{"id":"é","vector":[0.1,0.2],"sparseVector":null,"metadata":{"ü":["<",{"a":null}]},"data":null}]',
    answer: success,
  },
  {
    call: "fetch of a namespace",
    request: "POST /fetch/ns",
    headers: json,
    body: '{"ids":["é"],"includeVectors":true,"includeMetadata":true,"includeData":true}',
    has: { result: [{ id: "é", vector: [0.1, 0.2], metadata: { ü: ["<", { a: null }] } }] },
  },
  { call: "info", request: "POST /info", answer: info, has: { "result.vectorCount": 3, "result.dimension": 2 } },
  { call: "list_namespaces", request: "POST /list-namespaces", has: { result: ["", "ns"] } },
  {
    call: "delete of a list",
    request: "POST /delete",
    headers: json,
    body: '{"ids": ["id1", "none"]}',
    answer: deleted,
    has: { "result.deleted": 1 },
  },
  { call: "delete of a bare list", request: "POST /delete", headers: json, body: '["2"]', answer: deleted },
  {
    call: "delete by a prefix",
    request: "POST /delete/ns",
    headers: json,
    body: '{"prefix": "\\u00e9"}',
    answer: deleted,
    has: { "result.deleted": 1 },
  },
  {
    call: "delete by a filter",
    request: "POST /delete",
    headers: json,
    body: '{"filter": "a = \'b\'"}',
    answer: deleted,
  },
  { call: "reset", request: "POST /reset/ns", answer: success },
  { call: "reset of all namespaces", request: "POST /reset?all", answer: success },
  { call: "delete_namespace", request: "POST /delete-namespace/ns", answer: success },
  {
    call: "delete_namespace of none",
    request: "POST /delete-namespace/none",
    status: 404,
    answer: { needs: { error: "text" } },
  },
];
