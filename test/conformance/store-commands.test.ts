/** One command per request: path form, body form, publish (A1, A2, A7). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { startServer } from "../harness/server.ts";

test("A1, A.methods: a command is given as path segments, with any of the four methods", async () => {
  await using server = await startServer();

  assert.deepEqual((await server.send("/set/k/v", { method: "POST" })).json, { result: "OK" });
  assert.deepEqual((await server.send("/get/k", { method: "GET" })).json, { result: "v" });
  assert.deepEqual((await server.send("/append/k/w", { method: "PUT" })).json, { result: 2 });
  const head = await server.send("/append/k/x", { method: "HEAD" });
  assert.equal(head.status, 200);
  assert.equal(head.text, "");
  assert.equal(head.headers["content-length"], '{"result":3}'.length.toString());
  assert.deepEqual((await server.get("/get/k")).json, { result: "vwx" });
});

test("A1, A.words: the name of a command may be in any case", async () => {
  await using server = await startServer();
  for (const name of ["set", "SET", "sEt"])
    assert.deepEqual((await server.get(`/${name}/k/v`)).json, { result: "OK" }, name);
});

test("A1, H.json, A.result: a success is one field, result, in application/json", async () => {
  await using server = await startServer();
  const rows: [string, string][] = [
    ["/set/k/v", '{"result":"OK"}'],
    ["/get/k", '{"result":"v"}'],
    ["/get/missing", '{"result":null}'],
    ["/incr/n", '{"result":1}'],
    ["/mget/k/missing/n", '{"result":["v",null,"1"]}'],
    ["/hset/h/f/1/g/2", '{"result":2}'],
    ["/hgetall/h", '{"result":["f","1","g","2"]}'],
    ["/hincrbyfloat/h/f/1.5", '{"result":"2.5"}'],
    ["/del/k/n/h", '{"result":3}'],
    ["/ping", '{"result":"PONG"}'],
    ["/echo/hello%20world", '{"result":"hello world"}'],
  ];
  for (const [path, body] of rows) {
    const reply = await server.get(path);
    assert.equal(reply.text, body, path);
    assert.equal(reply.status, 200, path);
    assert.equal(reply.headers["content-type"], "application/json", path);
  }
});

test("A1.path: one slash at the end is dropped, an empty segment elsewhere is an empty argument", async () => {
  await using server = await startServer();
  await server.get("/set/k//EX/100");

  assert.deepEqual((await server.get("/get/k/")).json, { result: "" });
  assert.deepEqual((await server.get("/ttl/k")).json, { result: 100 });
  assert.deepEqual((await server.get("/echo//")).json, { result: "" });
  assert.deepEqual((await server.get("/set//v")).json, { result: "OK" });
  assert.deepEqual((await server.get("/get//")).json, { result: "v" });
});

test("A1.path: the path is split before it is decoded, so an argument may hold a slash and any byte", async () => {
  await using server = await startServer();
  await server.get("/set/a%2Fb/x%2Fy%3Fz%23");
  await server.get("/set/bin/%00%FF%C3%A9%25");

  assert.deepEqual((await server.post("/", ["GET", "a/b"])).json, { result: "x/y?z#" });
  assert.deepEqual((await server.get("/strlen/bin")).json, { result: 5 });
  const { json } = await server.get("/get/bin", { headers: { "service-encoding": "base64" } });
  assert.deepEqual(json, { result: Buffer.from([0, 255, 0xc3, 0xa9, 0x25]).toString("base64") });
});

// A.errors.parse
test("A-18: malformed percent-encoding is 400 in path and query, never 500", async () => {
  await using server = await startServer();
  for (const path of ["/get/%", "/get/%zz", "/get/a%4", "/%", "/set/k/v?%", "/set/k/v?EX=%q1"]) {
    const reply = await server.get(path);
    assert.equal(reply.status, 400, path);
    assert.match(reply.text, /^\{"error":"ERR malformed percent-encoding in the (?:path|query) of the URL"\}$/, path);
  }
});

test("A1.body: the body of a POST is the last argument, byte for byte", async () => {
  await using server = await startServer();
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, i) => i));

  assert.deepEqual((await server.post("/set/k", bytes)).json, { result: "OK" });

  const { json } = await server.get("/get/k", { headers: { "service-encoding": "base64" } });
  assert.deepEqual(json, { result: bytes.toString("base64") });
});

test("A1.body: JSON in the body of a path command is a value, not a command", async () => {
  await using server = await startServer();
  await server.post("/set/k", '{"a":[1,null]}', { headers: { "content-type": "application/json" } });
  await server.post("/set/quoted", '"test"');

  assert.deepEqual((await server.get("/get/k")).json, { result: '{"a":[1,null]}' });
  assert.deepEqual((await server.get("/get/quoted")).json, { result: '"test"' });
});

test("A1.body: PUT counts as POST, an empty body adds nothing, a body on GET is ignored", async () => {
  await using server = await startServer();

  assert.deepEqual((await server.send("/set/k", { method: "PUT", body: "v" })).json, { result: "OK" });
  assert.deepEqual((await server.post("/get/k", "")).json, { result: "v" });
  assert.deepEqual((await server.send("/get/k", { method: "GET", body: "more" })).json, { result: "v" });
});

test("A1.query: query parameters follow the body, like further path segments", async () => {
  await using server = await startServer();

  await server.post("/set/k?EX=100", "v");
  assert.deepEqual((await server.get("/ttl/k")).json, { result: 100 });
  assert.deepEqual((await server.post("/set/k?NX", "w")).json, { result: null });
  assert.deepEqual((await server.post("/set/k?XX&EX=50", "w")).json, { result: "OK" });
  assert.deepEqual((await server.get("/ttl/k")).json, { result: 50 });
  assert.deepEqual((await server.get("/set/a?test&EX=10")).json, { result: "OK" });
  assert.deepEqual((await server.get("/get/a")).json, { result: "test" });
});

test("A1.query: query parameters keep their order and their duplicates", async () => {
  await using server = await startServer();
  await server.get("/mset?b=1&a=2&b=3&c=");

  assert.deepEqual((await server.get("/mget/a/b/c")).json, { result: ["2", "3", ""] });
});

test("A2: a command is a JSON array, whatever the content type", async () => {
  await using server = await startServer();
  for (const type of ["application/json", "application/x-www-form-urlencoded", "text/plain"]) {
    const reply = await server.post("/", ["SET", "k", "v", "EX", 100], { headers: { "content-type": type } });
    assert.deepEqual(reply.json, { result: "OK" }, type);
  }
  assert.deepEqual((await server.send("/", { method: "PUT", body: ["GET", "k"] })).json, { result: "v" });
  assert.deepEqual((await server.send("/?x=1", { method: "POST", body: ["GET", "k"] })).json, { result: "v" });
});

test("A2.types: numbers keep the characters they were written with", async () => {
  await using server = await startServer();
  const lexemes = ["12345678901234567890", "9223372036854775807", "1.10", "1e3", "-0", "0.30000000000000004"];
  for (const lexeme of lexemes) {
    await server.post("/", `["SET","k",${lexeme}]`);
    assert.deepEqual((await server.get("/get/k")).json, { result: lexeme });
  }
});

test("A2.types: true and false are stored as text; null, objects and nested arrays are refused", async () => {
  await using server = await startServer();
  await server.post("/", ["MSET", "t", true, "f", false]);
  assert.deepEqual((await server.get("/mget/t/f")).json, { result: ["true", "false"] });

  for (const word of [null, { a: 1 }, ["a"], []]) {
    const reply = await server.post("/", ["SET", "k", word]);
    assert.equal(reply.status, 400);
    assert.deepEqual(reply.json, {
      error: "ERR failed to parse command: word 2 of a command must be a string, a number or a boolean",
    });
  }
  assert.deepEqual((await server.get("/exists/k")).json, { result: 0 });
});

test("A2.types: text is stored as UTF-8, a lone surrogate as U+FFFD", async () => {
  await using server = await startServer();
  const rows: [string, string][] = [
    ['"é😀"', "é😀"],
    ['"\\u00e9\\ud83d\\ude00"', "é😀"],
    ['"a\\ud83d"', "a\ufffd"],
    ['"\\u0000\\n\\"\\\\"', '\0\n"\\'],
  ];
  for (const [literal, text] of rows) {
    await server.post("/", `["SET","k",${literal}]`);
    assert.deepEqual((await server.get("/get/k")).json, { result: text }, literal);
  }
});

test("A2, A.errors.parse: anything but a JSON array fails to parse, an empty array is an empty command", async () => {
  await using server = await startServer();
  for (const body of ["", "{}", '"GET"', "null", "[", '["GET",]', "GET k", '["a"] x']) {
    const reply = await server.post("/", body);
    assert.equal(reply.status, 400, body);
    assert.equal(reply.text, '{"error":"ERR failed to parse command"}', body);
  }
  const empty = await server.post("/", "[]");
  assert.equal(empty.status, 400);
  assert.equal(empty.text, '{"error":"ERR empty command"}');
});

test("A7: publish is an ordinary command and answers with the number of receivers", async () => {
  await using server = await startServer();
  assert.deepEqual((await server.post("/publish/news/hello", undefined)).json, { result: 0 });
  assert.deepEqual((await server.post("/publish/news", "hello")).json, { result: 0 });
});

test("A.sync-token: every response has its own sync token, in the client's spelling", async () => {
  await using server = await startServer();
  const seen = new Set<unknown>();
  for (const [asked, path, body] of [
    ["upstash-sync-token", "/", ["PING"]],
    ["Service-Sync-Token", "/pipeline", [["PING"]]],
    ["UPSTASH-SYNC-TOKEN", "/multi-exec", [["PING"]]],
    ["upstash-sync-token", "/", ["NOPE"]],
  ] as const) {
    const { headers } = await server.post(path, body, { headers: { [asked]: "" } });
    const token = headers[asked.toLowerCase()];
    assert.ok(typeof token === "string" && token.length > 0);
    seen.add(token);
  }
  const together = await Promise.all([1, 2, 3].map(() => server.get("/ping")));
  for (const { headers } of together) seen.add(headers["upstash-sync-token"]);

  assert.equal(seen.size, 7);
  assert.ok(!seen.has(undefined));
});

test("H.cors: browsers may send requests from any origin; an OPTIONS request that is not a preflight is 405", async () => {
  await using server = await startServer();
  const preflight = await server.send("/get/k", {
    method: "OPTIONS",
    token: null,
    headers: {
      origin: "https://page.test",
      "access-control-request-method": "POST",
      "access-control-request-headers": "authorization,upstash-sync-token,upstash-telemetry-sdk",
    },
  });
  assert.equal(preflight.status, 204);
  assert.equal(preflight.headers["access-control-allow-origin"], "*");
  assert.equal(
    preflight.headers["access-control-allow-headers"],
    "authorization, upstash-sync-token, upstash-telemetry-sdk",
  );

  for (const token of ["wrong", "read-only-token"]) {
    const { headers } = await server.get("/get/k", { token, headers: { origin: "https://page.test" } });
    assert.equal(headers["access-control-allow-origin"], "*");
    assert.match(String(headers["access-control-expose-headers"]), /Upstash-Sync-Token/);
  }
  assert.equal((await server.send("/get/k", { method: "OPTIONS" })).status, 405);
  assert.equal((await server.get("/get/k")).headers["access-control-allow-origin"], undefined);
});

test("H.cors: with CORS disabled, a page of another origin gets no permission", async () => {
  await using server = await startServer({ cors: false });
  const headers = { origin: "https://page.test", "access-control-request-method": "POST" };
  assert.equal((await server.send("/get/k", { method: "OPTIONS", headers })).status, 405);
  assert.equal((await server.get("/get/k", { headers })).headers["access-control-allow-origin"], undefined);
});

test("A-11: property names of JavaScript objects are plain data", async () => {
  await using server = await startServer();
  for (const name of ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty"]) {
    assert.deepEqual((await server.get(`/get/${name}`)).json, { result: null }, name);
    assert.deepEqual((await server.post("/", ["SET", name, name])).json, { result: "OK" }, name);
    assert.deepEqual((await server.post("/", ["HSET", "h", name, name])).json, { result: 1 }, name);
    assert.deepEqual((await server.get(`/get/${name}`)).json, { result: name }, name);
    assert.equal((await server.get(`/${name}/k`)).status, 400, name);
    assert.deepEqual((await server.get(`/get/k?${name}=x`)).status, 400, name);
  }
});
