/**
 * Requests of `upstash/vector-go` (73a1ced, 2860dd7, 207f98d, 5155784) and `upstash/vector-php` (23eb262, 07f1a15, 2c69e39, 39d1513,
 * e45d130): encoding/json escapes <, > and & and prints nil as null, json_encode escapes slashes and characters beyond ASCII, and
 * prints an absent payload as an empty list.
 */
import type { ClientRow } from "./client-rows.ts";
import { deleted, hit, info, page, record, result, resumable, success, updated } from "./vector-answers.ts";

export const vectorGo: readonly ClientRow[] = [
  {
    call: "Upsert",
    request: "POST /upsert",
    body: '{"id":"\\u003ca\\u003e \\u0026","vector":[0.1,1e-7],"metadata":{"html":"\\u003cb\\u003e","n":1e+21,"ü":"\\u2028"}}',
    answer: success,
  },
  {
    call: "UpsertMany",
    request: "POST /upsert/ns",
    body: '[{"id":"b","vector":[0.3,0.4]},{"id":"","vector":[1,2]}]',
    answer: success,
  },
  {
    call: "Query",
    request: "POST /query",
    body: '{"vector":[0.1,0],"topK":1,"includeMetadata":true,"filter":"html = \'\\u003cb\\u003e\'"}',
    answer: result([hit]),
    has: { "result.0.id": "<a> &", "result.0.metadata": { html: "<b>", n: 1e21, ü: "\u2028" } },
  },
  {
    call: "Fetch",
    request: "POST /fetch",
    body: '{"ids":["\\u003ca\\u003e \\u0026"],"includeVectors":true}',
    answer: result([record]),
    has: { result: [{ id: "<a> &", vector: [0.1, 1e-7] }] },
  },
  {
    call: "Range",
    request: "POST /range/ns",
    body: '{"limit":1}',
    answer: page,
  },
  {
    call: "Upsert with data",
    request: "POST /upsert/ns",
    body: '{"id":"c","vector":[0.5,0.5],"data":"\\u003cc\\u003e","metadata":{"old":"metadata"}}',
    answer: success,
  },
  {
    call: "Update of metadata",
    request: "POST /update/ns",
    body: '{"id":"c","metadata":{"new":"metadata"},"metadataUpdateMode":"PATCH"}',
    answer: updated,
    has: { "result.updated": 1 },
  },
  {
    call: "Update of data of none",
    request: "POST /update/ns",
    body: '{"id":"none","data":"new-data"}',
    answer: updated,
    has: { "result.updated": 0 },
  },
  {
    call: "Range of two",
    request: "POST /range/ns",
    body: '{"limit":1,"includeData":true}',
    answer: page,
    saves: { cursor: "result.nextCursor" },
  },
  {
    call: "Range from a cursor",
    request: "POST /range/ns",
    body: '{"cursor":"{cursor}","limit":10,"includeMetadata":true,"includeData":true}',
    has: {
      "result.nextCursor": "",
      "result.vectors.1": { id: "c", metadata: { old: "metadata", new: "metadata" }, data: "<c>" },
    },
  },
  {
    call: "ResumableQuery",
    request: "POST /resumable-query/ns",
    body: '{"vector":[0.5,0.5],"topK":1,"includeVectors":true,"includeMetadata":true}',
    answer: resumable,
    has: { "result.scores.0.id": "c", "result.scores.0.vector": [0.5, 0.5] },
    saves: { uuid: "result.uuid" },
  },
  {
    call: "Next",
    request: "POST /resumable-query-next",
    body: '{"additionalK":3,"uuid":"{uuid}"}',
    answer: result([hit]),
  },
  { call: "Close", request: "POST /resumable-query-end", body: '{"uuid":"{uuid}"}', answer: success },
  { call: "Info", request: "POST /info", body: "null", answer: info },
  { call: "ListNamespaces", request: "POST /list-namespaces", body: "null", has: { result: ["", "ns"] } },
  {
    call: "DeleteMany",
    request: "POST /delete/ns",
    body: '["b","none"]',
    answer: deleted,
    has: { "result.deleted": 1 },
  },
  { call: "Delete", request: "POST /delete", body: "<a> &", answer: deleted, has: { "result.deleted": 1 } },
  { call: "Reset", request: "POST /reset/ns", answer: success },
  { call: "DeleteNamespace", request: "POST /delete-namespace/ns", answer: success },
];

const json = ["Content-Type", "application/json"];

export const vectorPhp: readonly ClientRow[] = [
  {
    call: "upsert",
    request: "POST /upsert",
    headers: json,
    body: '{"id":"posts\\/1","vector":[0.1,1.0e-7],"metadata":{"url":"https:\\/\\/a.test\\/","n":1.0,"name":"\\u00e9\\ud83d\\ude00"},"data":"<b> & \\/"}',
    answer: success,
  },
  {
    call: "fetch",
    request: "GET /fetch",
    headers: json,
    body: '{"ids":["posts\\/1"],"includeMetadata":true,"includeVectors":true,"includeData":true}',
    has: {
      result: [
        {
          id: "posts/1",
          vector: [0.1, 1e-7],
          metadata: { url: "https://a.test/", n: 1, name: "é😀" },
          data: "<b> & /",
        },
      ],
    },
  },
  {
    call: "query",
    request: "POST /query",
    headers: json,
    body: '{"vector":[0.1,0.0],"topK":1,"includeMetadata":false,"includeVectors":false,"includeData":false,"filter":"url = \'https:\\/\\/a.test\\/\'"}',
    answer: result([hit]),
  },
  {
    call: "namespace: upsertMany",
    request: "POST /upsert/ns",
    headers: json,
    body: '[{"id":"1","vector":[1,1]}]',
    answer: success,
  },
  {
    call: "queryMany",
    request: "POST /query",
    headers: json,
    body: '[{"vector":[0.1,0.0],"topK":1,"includeMetadata":false,"includeVectors":false,"includeData":false,"filter":""},{"vector":[1.0,1.0],"topK":10,"includeMetadata":true,"includeVectors":true,"includeData":true,"filter":"","weightingStrategy":"IDF","fusionAlgorithm":"RRF"}]',
    has: { "result.0.0.id": "posts/1", "result.1.0.data": "<b> & /", "result.2": undefined },
  },
  {
    call: "update",
    request: "POST /update",
    headers: json,
    body: '{"id":"posts\\/1","metadata":{"url":"\\/a"},"metadataUpdateMode":"OVERWRITE"}',
    answer: updated,
    has: { "result.updated": 1 },
  },
  {
    call: "fetch by a prefix",
    request: "GET /fetch",
    headers: json,
    body: '{"prefix":"posts\\/","includeMetadata":true,"includeVectors":false,"includeData":false}',
    has: { result: [{ id: "posts/1", metadata: { url: "/a" } }] },
  },
  {
    call: "range",
    request: "GET /range",
    headers: json,
    body: '{"limit":1,"cursor":"0","includeMetadata":false,"includeVectors":false,"includeData":true}',
    answer: page,
    has: { result: { nextCursor: "", vectors: [{ id: "posts/1", data: "<b> & /" }] } },
  },
  {
    call: "namespace: delete by a prefix",
    request: "DELETE /delete/ns",
    headers: json,
    body: '{"prefix":"posts\\/"}',
    answer: deleted,
    has: { "result.deleted": 0 },
  },
  {
    call: "namespace: delete by a filter",
    request: "DELETE /delete/ns",
    headers: json,
    body: '{"filter":"url = \'\\/a\'"}',
    answer: deleted,
    has: { "result.deleted": 0 },
  },
  { call: "getInfo", request: "GET /info", headers: json, answer: info },
  { call: "getInfo with an empty payload", request: "GET /info", headers: json, body: "[]", answer: info },
  { call: "listNamespaces", request: "GET /list-namespaces", headers: json, has: { result: ["", "ns"] } },
  { call: "delete", request: "DELETE /delete", headers: json, body: '{"ids":["posts\\/1"]}', answer: deleted },
  { call: "namespace: reset", request: "DELETE /reset/ns", headers: json, body: "[]", answer: success },
  { call: "deleteNamespace", request: "DELETE /delete-namespace/ns", headers: json, body: "[]", answer: success },
  { call: "resetAll", request: "DELETE /reset?all=true", headers: json, body: "[]", answer: success },
  { call: "random of an empty index", request: "GET /random", headers: json, has: { result: null } },
];
