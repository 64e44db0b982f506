/** Pipelines and transactions (A3, A4). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { openStream } from "../harness/event-reader.ts";
import { startServer, TOKEN } from "../harness/server.ts";

const NOT_AVAILABLE = "ERR Command is not available: 'NOPE'. See docs/reference/commands.md of larder for its commands";

test("A3.order: each command has its element, in order, including errors, and the batch is 200", async () => {
  await using server = await startServer();
  const reply = await server.post("/pipeline", [
    ["SET", "k", "v"],
    ["INCR", "k"],
    ["get", "k"],
    ["NOPE"],
    ["GET"],
    ["INCRBY", "n", 5],
  ]);

  assert.equal(reply.status, 200);
  assert.equal(reply.headers["content-type"], "application/json");
  assert.deepEqual(reply.json, [
    { result: "OK" },
    { error: "ERR value is not an integer or out of range" },
    { result: "v" },
    { error: NOT_AVAILABLE },
    { error: "ERR wrong number of arguments for 'get' command" },
    { result: 5 },
  ]);
});

test("A3.path, A.routing: any path that begins with the word is the endpoint, and PUT counts as POST", async () => {
  await using server = await startServer();
  for (const path of ["/pipeline", "/pipeline/", "/pipeline/extra/segments", "/pipeline?x=1"])
    assert.deepEqual((await server.post(path, [["PING"]])).json, [{ result: "PONG" }], path);
  assert.deepEqual((await server.send("/pipeline", { method: "PUT", body: [["PING"]] })).json, [{ result: "PONG" }]);
});

test("A3, A.errors.parse: anything but an array of arrays fails to parse, and so do GET and HEAD", async () => {
  await using server = await startServer();
  for (const body of ["", "{}", '["GET","k"]', '[["GET","k"],1]', "[null]", '[["GET","k"]'])
    await assertRefused(server.post("/pipeline", body), "ERR failed to parse pipeline request");
  await assertRefused(server.get("/pipeline"), "ERR failed to parse pipeline request");
  await assertRefused(
    server.send("/pipeline", { method: "GET", body: [["PING"]] }),
    "ERR failed to parse pipeline request",
  );
  assert.equal((await server.send("/pipeline", { method: "HEAD" })).status, 400);
});

test("A3.null: a null among the words fails its command in a pipeline, and all of a transaction", async () => {
  await using server = await startServer();
  const commands = [
    ["SET", "k", "v"],
    ["SET", "k", null],
    ["GET", "k"],
  ];
  const reason = "word 2 of a command must be a string, a number or a boolean";
  await assertRefused(server.post("/multi-exec", commands), `ERR failed to parse transaction request: ${reason}`);
  assert.deepEqual((await server.get("/exists/k")).json, { result: 0 });
  assert.deepEqual((await server.post("/pipeline", commands)).json, [
    { result: "OK" },
    { error: `ERR failed to parse command: ${reason}` },
    { result: "v" },
  ]);
});

test("A3, A.errors.parse: an empty pipeline is refused, an empty command is an error in its position", async () => {
  await using server = await startServer();
  await assertRefused(server.post("/pipeline", "[]"), "ERR empty pipeline request");

  assert.deepEqual((await server.post("/pipeline", [[]])).json, [{ error: "ERR empty pipeline command" }]);
  assert.deepEqual((await server.post("/pipeline", [["PING"], [], ["ECHO", "a"]])).json, [
    { result: "PONG" },
    { error: "ERR empty pipeline command" },
    { result: "a" },
  ]);
});

test("A3: a long pipeline answers every command, and other clients are served meanwhile", async () => {
  await using server = await startServer();
  const commands = Array.from({ length: 5_000 }, () => ["INCR", "n"]);

  const [long, short] = await Promise.all([server.post("/pipeline", commands), server.get("/ping")]);

  assert.equal(short.text, '{"result":"PONG"}');
  assert.deepEqual(
    long.json,
    commands.map((_, index) => ({ result: index + 1 })),
  );
});

test("A3.order: other clients' commands run between those of a pipeline, which is answered when all of them have run", async () => {
  await using server = await startServer();
  const reader = await openStream(`${server.url}/subscribe/begun`, { token: TOKEN });
  await reader.next();
  const count = 50_000;
  const commands = [["PUBLISH", "begun", "x"], ...Array.from({ length: count }, () => ["INCR", "n"])];

  let isAnswered = false;
  const answer = server.post("/pipeline", commands).finally(() => {
    isAnswered = true;
  });
  assert.equal(await reader.next(), "message,begun,x");
  const between = await server.get("/incr/n");
  assert.equal(isAnswered, false);
  const { json } = await answer;

  const numbers = (json as { result: number }[]).slice(1).map(({ result }) => result);
  const own = (between.json as { result: number }).result;
  assert.ok(own > 1 && own <= count, `between, ${own}`);
  assert.deepEqual(
    numbers,
    Array.from({ length: count + 1 }, (_, index) => index + 1).filter((number) => number !== own),
  );
});

test("A4.failures: all commands run as one, and a failing one does not stop the rest", async () => {
  await using server = await startServer();
  const reply = await server.post("/multi-exec", [
    ["SET", "k", "v"],
    ["INCR", "k"],
    ["HSET", "k", "f", "v"],
    ["APPEND", "k", "w"],
  ]);

  assert.equal(reply.status, 200);
  assert.deepEqual(reply.json, [
    { result: "OK" },
    { error: "ERR value is not an integer or out of range" },
    { error: "WRONGTYPE Operation against a key holding the wrong kind of value" },
    { result: 2 },
  ]);
});

test("A4.discard: a refused command discards all, with 400 and one error object", async () => {
  await using server = await startServer();
  const rows: [unknown[], string][] = [
    [["NOPE"], NOT_AVAILABLE],
    [["GET"], "ERR wrong number of arguments for 'get' command"],
    [["SET", "a"], "ERR wrong number of arguments for 'set' command"],
    [
      ["WATCH", "k"],
      "ERR Command is not available: 'WATCH'. See docs/reference/commands.md of larder for its commands",
    ],
  ];
  for (const [command, error] of rows)
    await assertRefused(server.post("/multi-exec", [["SET", "before", "1"], command, ["SET", "after", "1"]]), error);

  assert.deepEqual((await server.get("/exists/before/after")).json, { result: 0 });
});

test("A4, A.errors.parse: malformed, empty and half empty transactions are refused", async () => {
  await using server = await startServer();
  for (const body of ["", "{}", '["GET","k"]', '[["GET",null]'])
    assert.equal((await server.post("/multi-exec", body)).status, 400, body);
  await assertRefused(server.post("/multi-exec", "{}"), "ERR failed to parse transaction request");
  await assertRefused(server.post("/multi-exec", "[]"), "ERR empty transaction request");
  await assertRefused(server.post("/multi-exec", [["SET", "k", "v"], []]), "ERR empty transaction command");
  await assertRefused(server.get("/multi-exec"), "ERR failed to parse transaction request");
  assert.deepEqual((await server.get("/exists/k")).json, { result: 0 });
});

test("A4: concurrent transactions do not mix", async () => {
  await using server = await startServer();
  const step = [
    ["INCR", "a"],
    ["INCR", "b"],
  ];
  const replies = await Promise.all(Array.from({ length: 50 }, () => server.post("/multi-exec", step)));

  const pairs = replies.map(({ json }) => (json as { result: number }[]).map(({ result }) => result));
  for (const [a, b] of pairs) assert.equal(a, b);
  assert.equal(new Set(pairs.map(([a]) => a)).size, 50);
});

test("A3.resp: a pipeline and a transaction may be RESP commands, with any bytes", async () => {
  await using server = await startServer();
  const body = Buffer.concat([
    Buffer.from("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$2\r\n"),
    Buffer.from([0xff, 0x00]),
    Buffer.from("\r\n*2\r\n$6\r\nSTRLEN\r\n$1\r\nk\r\n"),
  ]);
  const headers = { "content-type": "application/x-resp2" };
  for (const path of ["/pipeline", "/multi-exec"])
    assert.deepEqual((await server.post(path, body, { headers })).json, [{ result: "OK" }, { result: 2 }], path);
  assert.deepEqual((await server.get("/get/k", { headers: { "service-encoding": "base64" } })).json, {
    result: "/wA=",
  });
});

test("A.limits.daily: the daily request limit is 400 for a command, an error element in a pipeline, and discards a transaction", async () => {
  await using server = await startServer({ dailyRequestsMax: 3 });
  const over = (usage: number): string =>
    `ERR max daily request limit exceeded. Limit: 3, Usage: ${usage}. The operator sets it with --daily-request-limit`;
  await server.get("/set/k/1");

  await assertRefused(
    server.post("/multi-exec", [
      ["INCR", "k"],
      ["INCR", "k"],
      ["INCR", "k"],
    ]),
    over(4),
  );
  assert.deepEqual(
    (
      await server.post("/pipeline", [
        ["INCR", "k"],
        ["GET", "k"],
        ["INCR", "k"],
      ])
    ).json,
    [{ result: 2 }, { result: "2" }, { error: over(4) }],
  );
  await assertRefused(server.get("/get/k"), over(4));
  server.clock.advance(86_400_000);
  assert.deepEqual((await server.get("/get/k")).json, { result: "2" });
});

async function assertRefused(reply: Promise<{ status: number; json: unknown }>, error: string): Promise<void> {
  const { status, json } = await reply;
  assert.equal(status, 400);
  assert.deepEqual(json, { error });
}
