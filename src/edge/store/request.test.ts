import assert from "node:assert/strict";
import { test } from "node:test";
import { RequestFailure } from "../errors.ts";
import { base64Format, chooseFormat, jsonFormat, readStoreHead, resp2Format } from "./request.ts";

test("reads header names in any case and either spelling", () => {
  assert.deepEqual(
    readStoreHead(["AUTHORIZATION", "Bearer a", "Upstash-Encoding", "base64", "upstash-sync-token", "", "Origin", "x"]),
    {
      authorization: "Bearer a",
      encoding: "base64",
      responseFormat: undefined,
      syncTokenHeader: "upstash-sync-token",
      hasOrigin: true,
    },
  );
});

test("H.prefixes: Service- wins over Upstash-, whichever comes first", () => {
  for (const headers of [
    ["Service-Encoding", "base64", "Upstash-Encoding", "none"],
    ["Upstash-Encoding", "none", "Service-Encoding", "base64"],
  ])
    assert.equal(readStoreHead(headers).encoding, "base64");
});

test("A.response-format: chooses the format of the answer", () => {
  const rows: [string[], unknown][] = [
    [[], jsonFormat],
    [["Service-Encoding", "base64"], base64Format],
    [["Service-Encoding", "gzip"], jsonFormat],
    [["Service-Response-Format", "json"], jsonFormat],
    [["Service-Response-Format", "json", "Upstash-Encoding", "BASE64"], base64Format],
    [["Service-Response-Format", "resp2"], resp2Format],
    [["Upstash-Response-Format", "RESP2"], resp2Format],
  ];
  for (const [headers, format] of rows) assert.equal(chooseFormat(readStoreHead(headers)), format, headers.join(" "));
});

test("A.response-format: refuses other formats, and resp2 with base64", () => {
  for (const headers of [
    ["Service-Response-Format", "resp3"],
    ["Service-Response-Format", ""],
    ["Service-Response-Format", "resp2", "Service-Encoding", "base64"],
  ])
    assert.throws(() => chooseFormat(readStoreHead(headers)), RequestFailure, headers.join(" "));
});
