import assert from "node:assert/strict";
import { test } from "node:test";
import { type ConsoleArea, factsOfCall } from "./calls.ts";

const cases: readonly (readonly [area: ConsoleArea, line: string, body: string, name: string, isRead: boolean])[] = [
  ["store", "GET /get/a", "", "GET", true],
  ["store", "GET /SCAN/0", "", "SCAN", true],
  ["store", "GET /set/a/b", "", "SET", false],
  ["store", "GET /%73et/a/b", "", "SET", false],
  ["store", "POST /", '["JSON.SET","k","$","1"]', "JSON.SET", false],
  ["store", "POST /", ' [ "hget", "k", "f"]', "HGET", true],
  ["store", "POST /", '["S\\u0045T","k","v"]', "unknown command", false],
  ["store", "POST /", '[["SET","k","v"]]', "unknown command", false],
  ["store", "POST /", "", "unknown command", false],
  ["store", "POST /", '["ACL","SETUSER","ann",">secret"]', "ACL SETUSER", false],
  ["store", "POST /", '["ACL","LIST"]', "ACL LIST", true],
  ["store", "POST /", '["SLOWLOG","GET"]', "SLOWLOG GET", true],
  ["store", "POST /", '["SLOWLOG","RESET"]', "SLOWLOG RESET", false],
  ["store", "POST /", '["CONFIG","SET","maxmemory","1"]', "CONFIG SET", false],
  ["store", "GET /flushall", "", "FLUSHALL", false],
  ["store", "GET /eval/return%201/0", "", "EVAL", false],
  ["store", "GET /monitor", "", "monitor", true],
  ["store", "GET /subscribe/secret", "", "subscribe", true],
  ["store", "GET /secret/a", "", "unknown command", false],
  ["store", "POST /pipeline", '[["SET","k","v"],["GET","k"],["SET","l","v"]]', "pipeline SET, GET", false],
  ["store", "POST /multi-exec", '[["DEL","k"]]', "multi-exec DEL", false],
  ["vector", "GET /query", "", "query", true],
  ["vector", "POST /main/upsert/ns", "", "upsert", false],
  ["vector", "GET /reset/ns", "", "reset", false],
  ["vector", "GET /secret", "", "unknown path", false],
  ["messaging", "GET /v2/keys", "", "GET /v2/keys", true],
  ["messaging", "HEAD /v2/dlq", "", "HEAD /v2/dlq", true],
  ["messaging", "POST /v2/publish/https://u:p@a.test/?token=x", "", "POST /v2/publish/*", false],
  ["messaging", "DELETE /v2/queues/secret", "", "DELETE /v2/queues/:queueName", false],
  ["messaging", "GET /v2/workflows/hooks/u/r/e", "", "GET /v2/workflows/hooks/:userId/:workflowRunId/:eventId", false],
  ["messaging", "GET /v3/secret", "", "unknown path", false],
];

test("S-20: what the tables do not call a read is a change, and its name has only their words", () => {
  for (const [area, line, body, name, isRead] of cases) {
    const [method = "", path = ""] = line.split(" ");
    const facts = factsOfCall[area]({ method, path, body: Buffer.from(body) });
    assert.deepEqual(facts, { name, isRead }, `${area} ${line} ${body}`);
  }
});
