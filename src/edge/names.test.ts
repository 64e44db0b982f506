import assert from "node:assert/strict";
import { test } from "node:test";
import { HeaderSet, headerSpellings, unprefixedHeader, unprefixedParameter } from "./names.ts";

test("H.prefixes: our headers have two spellings, the interface's own first", () => {
  assert.deepEqual(headerSpellings("encoding"), ["service-encoding", "upstash-encoding"]);
});

test("removes the prefix of both spellings, and rejects other headers", () => {
  const rows: [string, string | undefined][] = [
    ["service-encoding", "encoding"],
    ["upstash-encoding", "encoding"],
    ["upstash-forward-x", "forward-x"],
    ["service-", undefined],
    ["x-service-encoding", undefined],
    ["qstash-token", undefined],
  ];
  for (const [name, unprefixed] of rows) assert.equal(unprefixedHeader(name), unprefixed, name);
});

test("H.query-names: accepts query parameters with any prefix", () => {
  const rows: [string, string | undefined][] = [
    ["service_token", "token"],
    ["upstash_token", "token"],
    ["qstash_token", "token"],
    ["service-retries", "retries"],
    ["upstash-retries", "retries"],
    ["_token", undefined],
    ["token", undefined],
  ];
  for (const [name, unprefixed] of rows) assert.equal(unprefixedParameter(name), unprefixed, name);
});

test("a header set finds only its names, in any case", () => {
  const set = new HeaderSet(["host", "accept", "origin"]);

  assert.equal(set.find("HOST"), "host");
  assert.equal(set.find("Origin"), "origin");
  assert.equal(set.find("accept"), "accept");
  assert.equal(set.find("cookie"), undefined);
  assert.equal(set.find("__proto__"), undefined);
  assert.equal(set.find(""), undefined);
});
