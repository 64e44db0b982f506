/** Tokens and their permissions (A.token; threats ). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { READ_ONLY_TOKEN, startServer, TOKEN } from "../harness/server.ts";
import { escapes } from "../harness/store-escapes.ts";

const UNAUTHORIZED = '{"error":"WRONGPASS invalid or missing auth token"}';

test("A.token: the token is a bearer header or the query parameter _token", async () => {
  await using server = await startServer();

  assert.equal((await server.get("/set/k/v")).status, 200);
  for (const path of [`/get/k?_token=${TOKEN}`, `/get/k/?_token=${TOKEN}`, `/get?_token=${TOKEN}&k`])
    assert.deepEqual((await server.get(path, { token: null })).json, { result: "v" }, path);
  const headers = { authorization: `bEARER ${TOKEN}` };
  assert.deepEqual((await server.get("/get/k", { token: null, headers })).json, { result: "v" });
  for (const path of ["/", "/pipeline", "/multi-exec"]) {
    const body = path === "/" ? ["GET", "k"] : [["GET", "k"]];
    assert.equal((await server.post(`${path}?_token=${TOKEN}`, body, { token: null })).status, 200, path);
  }
});

test("A.unauthorized: a query that cannot be decoded is 401 without a token, as every other request", async () => {
  await using server = await startServer();
  for (const path of ["/multi-exec", "/pipeline", "/get/k"])
    assert.equal((await server.post(`${path}?a=%zz`, [["PING"]], { token: null })).status, 401, path);
  assert.equal((await server.get(`/ping?a=%zz&_token=${TOKEN}`, { token: null })).status, 400);
});

test("A.token: the header wins over the query parameter", async () => {
  await using server = await startServer();
  assert.equal((await server.get(`/ping?_token=${TOKEN}`, { token: "wrong" })).status, 401);
  assert.equal((await server.get("/ping?_token=wrong", { token: TOKEN })).status, 200);
  const headers = { authorization: "Basic dXNlcjpwYXNz" };
  assert.equal((await server.get(`/ping?_token=${TOKEN}`, { token: null, headers })).status, 401);
});

test("A.unauthorized: a missing or invalid token is 401, on every path and in every method", async () => {
  await using server = await startServer();
  for (const token of [null, "", "wrong", TOKEN.toUpperCase(), `${TOKEN}x`, TOKEN.slice(1), `${TOKEN} ${TOKEN}`]) {
    for (const path of ["/get/k", "/", "/pipeline", "/multi-exec", "/monitor", "/subscribe/a", "/nope", "//"]) {
      const reply = await server.post(path, "[]", { token });
      assert.equal(reply.status, 401, `${token} ${path}`);
      assert.equal(reply.text, UNAUTHORIZED, `${token} ${path}`);
    }
  }
  for (const method of ["GET", "PUT", "HEAD"])
    assert.equal((await server.send("/ping", { method, token: null })).status, 401, method);
  assert.equal((await server.get(`/ping?token=${TOKEN}`, { token: null })).status, 401);
});

test("H.bearer: several tokens in one request are not accepted", async () => {
  await using server = await startServer();
  const twice = `GET /ping HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer wrong\r\nAuthorization: Bearer ${TOKEN}\r\nConnection: close\r\n\r\n`;
  assert.match(await server.raw(twice), /^HTTP\/1\.1 401 /);
});

test("A-02: _token is not an argument of the command, in any place and spelling", async () => {
  await using server = await startServer();
  for (const query of [`_token=${TOKEN}&EX=100`, `EX=100&_token=${TOKEN}`, `%5ftoken=${TOKEN}&EX=100`, `_token&EX=100`])
    assert.deepEqual((await server.post(`/set/k?${query}`, "v")).json, { result: "OK" }, query);
  assert.deepEqual((await server.get(`/get/k?_token=${TOKEN}&_token=${TOKEN}`)).json, { result: "v" });
});

test("A-02: neither a token nor a key is in the log, in an observation or in an error", async () => {
  const canary = "canary-5b1f";
  await using server = await startServer({
    area: (store) => ({
      ...store,
      bodyBytesMax: (target) => store.bodyBytesMax(target),
      handle(request) {
        if (request.target.startsWith("/fault")) throw new Error("fault");
        return store.handle(request);
      },
    }),
  });
  server.tokens.add(canary, { tenant: "main", access: "standard" });
  const replies = [];
  for (const path of ["/get/k", "/nope", "/get/%", "/fault", "/incr/k/k", "/monitor"]) {
    replies.push(await server.get(`${path}?_token=${canary}`, { token: null }));
    replies.push(await server.get(path, { token: canary }));
  }
  await server.raw(`GET /get/k?_token=${canary} HTTP/1.1\r\n\r\n`);

  assert.ok(server.logLines.length > 0 && server.observations.length > 12);
  const all = JSON.stringify([
    server.logLines,
    server.observations,
    replies.map(({ text, headers }) => [text, headers]),
  ]);
  assert.ok(!all.includes(canary));
});

test("A-02: the query parameter can be disabled", async () => {
  await using server = await startServer({ queryToken: false });
  assert.equal((await server.get(`/ping?_token=${TOKEN}`, { token: null })).status, 401);
  assert.deepEqual((await server.get(`/ping?_token=${TOKEN}`)).json, { result: "PONG" });
});

test("A.standard-token: the standard token has every permission", async () => {
  await using server = await startServer();
  const lines = escapes.map(({ words }) => words).filter(([name]) => name !== "");
  const replies = (await server.post("/pipeline", lines)).json as { error?: string }[];
  assert.equal(replies.length, lines.length);
  for (const [index, { error = "" }] of replies.entries())
    assert.doesNotMatch(error, /^NOPERM/, lines[index]?.join(" ") ?? "");
});

test("A.read-only-token: the read-only token reads", async () => {
  await using server = await startServer();
  await server.post("/multi-exec", [
    ["SET", "k", "v"],
    ["HSET", "h", "f", "v"],
  ]);
  const rows: [string[], unknown][] = [
    [["GET", "k"], "v"],
    [
      ["MGET", "k", "x"],
      ["v", null],
    ],
    [["STRLEN", "k"], 1],
    [["GETRANGE", "k", "0", "-1"], "v"],
    [["EXISTS", "k"], 1],
    [["TTL", "k"], -1],
    [["TYPE", "k"], "string"],
    [["TOUCH", "k"], 1],
    [["HGET", "h", "f"], "v"],
    [
      ["HGETALL", "h"],
      ["f", "v"],
    ],
    [
      ["HSCAN", "h", "0"],
      ["0", ["f", "v"]],
    ],
    [["PING"], "PONG"],
    [["ECHO", "a"], "a"],
    [["DBSIZE"], 2],
  ];
  for (const [command, result] of rows) {
    const reply = await server.post("/", command, { token: READ_ONLY_TOKEN });
    assert.deepEqual(reply.json, { result }, command.join(" "));
  }
  assert.equal((await server.get("/time", { token: READ_ONLY_TOKEN })).status, 200);
});

test("A.read-only-token: the refusal of a command that exists is NOPERM with its name", async () => {
  await using server = await startServer();
  const reply = await server.post("/", ["Set", "k", "v"], { token: READ_ONLY_TOKEN });
  assert.equal(reply.status, 400);
  assert.equal(
    reply.text,
    `{"error":"NOPERM this user has no permissions to run the 'set' command or its subcommand"}`,
  );
});

test("A.token-reset, H.revoked: resetting the password revokes both tokens at once", async () => {
  await using server = await startServer();
  assert.equal((await server.get("/set/k/v")).status, 200);
  assert.equal((await server.get("/get/k", { token: READ_ONLY_TOKEN })).status, 200);

  server.tokens.replaceTenant("main", [
    { token: "fresh", access: "standard" },
    { token: "fresh-read-only", access: "read-only" },
  ]);

  for (const token of [TOKEN, READ_ONLY_TOKEN]) {
    for (const path of ["/get/k", "/", "/pipeline", "/multi-exec", "/subscribe/c", "/monitor"])
      assert.equal((await server.post(path, "[]", { token })).text, UNAUTHORIZED, path);
    assert.equal((await server.get(`/get/k?_token=${token}`, { token: null })).status, 401);
  }
  assert.deepEqual((await server.get("/set/k/w", { token: "fresh" })).json, { result: "OK" });
  assert.deepEqual((await server.get("/get/k", { token: "fresh-read-only" })).json, { result: "w" });
  assert.equal((await server.get("/set/k/x", { token: "fresh-read-only" })).status, 400);
});

test("A-06: the token chooses the database, and databases share nothing", async () => {
  await using server = await startServer();
  server.tokens.add("other-token", { tenant: "other", access: "standard" });
  await server.get("/set/k/main");
  await server.get("/set/k/other", { token: "other-token" });

  assert.deepEqual((await server.get("/get/k")).json, { result: "main" });
  assert.deepEqual((await server.get("/get/k", { token: "other-token" })).json, { result: "other" });
  await server.get("/flushall", { token: "other-token" });
  assert.deepEqual((await server.get("/dbsize")).json, { result: 1 });
});

test("A.user-agent: any User-Agent is accepted, and so is none", async () => {
  await using server = await startServer();
  for (const agent of ["some-agent/1.0 (+https://agent.test)", ""])
    assert.equal((await server.get("/ping", { headers: { "user-agent": agent } })).status, 200);
});
