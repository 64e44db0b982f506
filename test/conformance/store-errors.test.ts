/** Status and text of every failure of area A (A.errors, A.limits). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { startServer } from "../harness/server.ts";

test("A.errors.200: accepted and executed", async () => {
  await using server = await startServer();
  assert.equal((await server.get("/ping")).status, 200);
});

test("A.errors.400, A.result: a failing command is 400 with one field, error", async () => {
  await using server = await startServer();
  await server.post("/multi-exec", [
    ["SET", "s", "text"],
    ["HSET", "h", "f", "v"],
  ]);
  const rows: [string[], string][] = [
    [["GET"], "ERR wrong number of arguments for 'get' command"],
    [["gEt", "a", "b"], "ERR wrong number of arguments for 'get' command"],
    [["INCR", "s"], "ERR value is not an integer or out of range"],
    [["GET", "h"], "WRONGTYPE Operation against a key holding the wrong kind of value"],
    [["SET", "k", "v", "EX", "0"], "ERR invalid expire time in 'set' command"],
    [["SET", "k", "v", "BAD"], "ERR syntax error"],
    [["RENAME", "missing", "x"], "ERR no such key"],
  ];
  for (const [command, error] of rows) {
    const reply = await server.post("/", command);
    assert.equal(reply.status, 400, command.join(" "));
    assert.deepEqual(reply.json, { error }, command.join(" "));
    assert.equal(reply.headers["content-type"], "application/json");
  }
});

test("A.errors.400, A.unavailable: unknown and unsupported commands have the texts that clients match on", async () => {
  await using server = await startServer();
  const names = [
    "NOPE",
    "BLPOP",
    "BRPOP",
    "BRPOPLPUSH",
    "BZPOPMAX",
    "BZPOPMIN",
    "WATCH",
    "UNWATCH",
    "DISCARD",
    "MULTI",
    "EXEC",
    "AUTH",
    "SELECT",
    "CLIENT",
    "HELLO",
    "CLUSTER",
    "SUBSCRIBE",
    "FT._LIST",
    "",
  ];
  for (const name of names) {
    const reply = await server.post("/", [name.toLowerCase(), "a", "1"]);
    assert.equal(reply.status, 400, name);
    assert.deepEqual(reply.json, {
      error: `ERR Command is not available: '${name}'. See docs/reference/commands.md of larder for its commands`,
    });
  }
  assert.match((await server.get("//")).text, /Command is not available: ''/);
});

test("A.errors.400: an error may quote any bytes and is still JSON", async () => {
  await using server = await startServer();
  for (const name of ["%22%5C%0A", "%FF%B5", "%C3%A9%DF", "%F0%9F%98%80"]) {
    const reply = await server.get(`/${name}`);
    assert.equal(reply.status, 400, name);
    assert.match((reply.json as { error: string }).error, /^ERR Command is not available: '/);
    assert.equal(reply.headers["content-length"], String(reply.bytes.length));
  }
});

test("A.errors: every text begins with a code word in capitals, and is the only field of the body", async () => {
  await using server = await startServer({ requestBytesMax: 1_000 });
  await server.post("/", ["HSET", "h", "f", "v"]);
  const rows: readonly (readonly [status: number, method: string, path: string, body?: unknown, token?: string])[] = [
    [400, "GET", "/get"],
    [400, "GET", "/nope"],
    [400, "GET", "/get/h"],
    [400, "GET", "/incr/%"],
    [400, "GET", "/pipeline"],
    [400, "POST", "/", "{"],
    [400, "POST", "/", []],
    [400, "POST", "/", ["XREADGROUP", "GROUP", "g", "c", "STREAMS", "missing", ">"]],
    [400, "POST", "/", ["RESTORE", "h", "0", "x"]],
    [400, "POST", "/pipeline", "1"],
    [400, "POST", "/multi-exec", [["GET"]]],
    [400, "POST", "/multi-exec", "[]"],
    [400, "POST", "/set/k", "x".repeat(1_001)],
    [400, "POST", "/monitor"],
    [400, "POST", "/set/k/v", undefined, "read-only-token"],
    [401, "POST", "/set/k/v", undefined, "wrong"],
    [401, "POST", "/monitor", undefined, "wrong"],
    [405, "DELETE", "/get/k"],
  ];
  for (const [status, method, path, body, token] of rows) {
    const reply = await server.send(path, { method, body, ...(token === undefined ? {} : { token }) });
    assert.equal(reply.status, status, `${method} ${path}`);
    assert.match(reply.text, /^\{"error":"[A-Z]{3,} [^\n]+"\}$/, `${method} ${path}`);
    assert.equal(reply.headers["content-type"], "application/json", `${method} ${path}`);
  }
});

test("A.errors.401: a missing or invalid token", async () => {
  await using server = await startServer();
  const reply = await server.get("/ping", { token: null });
  assert.equal(reply.status, 401);
  assert.equal(reply.text, '{"error":"WRONGPASS invalid or missing auth token"}');
});

test("A.errors.405, A.methods: any other method, and the answer lists the allowed ones", async () => {
  await using server = await startServer();
  for (const method of ["DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND"]) {
    for (const token of ["standard-token", null]) {
      const reply = await server.send("/get/k", { method, token });
      assert.equal(reply.status, 405, method);
      assert.deepEqual(reply.json, { error: `ERR HTTP method ${method} is not allowed; use HEAD, GET, POST or PUT` });
      assert.equal(reply.headers.allow, "HEAD, GET, POST, PUT");
    }
  }
});

test("A.limits.request: a request beyond the size limit is 400 and names the limit and the size", async () => {
  await using server = await startServer({ requestBytesMax: 1_000 });
  assert.deepEqual((await server.post("/set/k", "x".repeat(1_000))).json, { result: "OK" });

  for (const [path, body] of [
    ["/set/k", "y".repeat(1_001)],
    ["/pipeline", `[["SET","k","${"y".repeat(990)}"]]`],
    ["/multi-exec", `[["SET","k","${"y".repeat(990)}"]]`],
  ] as const) {
    const reply = await server.post(path, body);
    assert.equal(reply.status, 400, path);
    assert.deepEqual(reply.json, {
      error: `ERR max request size exceeded. Limit: 1000 bytes, Actual: ${body.length} bytes`,
    });
  }
  assert.deepEqual((await server.get("/getrange/k/0/0")).json, { result: "x" });
});

test("A.limits.rate, A.errors.429: requests of a token above its configured rate are 429", async () => {
  await using server = await startServer({ rate: { perSecond: 10, burst: 2 } });
  assert.equal((await server.get("/ping")).status, 200);
  assert.equal((await server.get("/ping")).status, 200);

  const reply = await server.get("/ping");
  assert.equal(reply.status, 429);
  assert.deepEqual(reply.json, { error: "ERR max request rate exceeded. Limit: 10 per second" });
  assert.equal(reply.headers["retry-after"], "1");
  assert.equal((await server.get("/ping", { token: "read-only-token" })).status, 200);
  server.clock.advance(100);
  assert.equal((await server.get("/ping")).status, 200);
});

// A.limits.reply
test("A-15: a reply above the budget is an error in its position, and the other commands are answered", async () => {
  await using server = await startServer({ replyBytesMax: 2_000 });
  await server.post("/set/large", "x".repeat(1_500));
  const tooLarge = { error: "ERR reply exceeds the maximum allowed size" };

  const single = await server.post("/", ["MGET", "large", "large"]);
  assert.equal(single.status, 400);
  assert.deepEqual(single.json, tooLarge);
  const batch = await server.post("/pipeline", [["GET", "large"], ["GET", "large"], ["PING"]]);
  assert.equal(batch.status, 200);
  assert.deepEqual(batch.json, [{ result: "x".repeat(1_500) }, tooLarge, { result: "PONG" }]);
});
