/**
 * A command whose reply cannot be sent has changed nothing, over every route and
 * in every format. Values of zero bytes are six times as long in JSON.
 */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { IN_FLIGHT_BYTES_MAX } from "../../src/edge/http/listener.ts";
import { ByteBudget } from "../../src/edge/limits/byte-budget.ts";
import { REPLY_BYTES_MAX as LONGEST_REPLY_BYTES, REQUEST_BYTES_MAX } from "../../src/edge/store/routes.ts";
import { commands, defaultUser } from "../../src/store/mod.ts";
import { findError } from "../../src/store/reply/mod.ts";
import { startServer, type TestServer } from "../harness/server.ts";

/** 1,600 bytes: 9,600 in JSON and 2,136 in base64. */
const LONG = "\0".repeat(1_600);
const REPLY_BYTES_MAX = 2_000;
const ERROR = "ERR reply exceeds the maximum allowed size";
const UNDONE = `${ERROR}; its writes were undone`;

type Words = readonly (string | number)[];

const list: Words[] = [
  ["RPUSH", "k", "a", LONG, "b"],
  ["LPUSH", "k", LONG],
  ["RPUSH", "k", LONG],
];
const sortedSet: Words[] = [["ZADD", "k", 1, LONG, 2, "b", 3, `${LONG}x`]];
const string: Words[] = [["SET", "k", LONG]];
const hash: Words[] = [["HSET", "k", "f", LONG, "g", "b"]];
const stream: Words[] = [
  ["XADD", "k", "1-1", "f", LONG],
  ["XGROUP", "CREATE", "k", "g", 0],
];
const pending: Words[] = [...stream, ["XREADGROUP", "GROUP", "g", "c", "STREAMS", "k", ">"]];
const library = "#!lua name=l\nredis.register_function('pop', function(keys) return redis.call('LPOP', keys[1]) end)";

const POP = "return redis.call('LPOP', KEYS[1])";
const POP_SHA = createHash("sha1").update(POP).digest("hex");

/** Commands that write and return what is stored, each with what makes the key `k`. */
const rows: readonly (readonly [words: Words, setup: readonly Words[]])[] = [
  [["LPOP", "k"], list],
  [["LPOP", "k", 2], list],
  [["RPOP", "k"], list],
  [["RPOP", "k", 2], list],
  [["LMPOP", 1, "k", "LEFT"], list],
  [["LMOVE", "k", "other", "LEFT", "RIGHT"], list],
  [["RPOPLPUSH", "k", "k"], list],
  [["SPOP", "k"], [["SADD", "k", LONG]]],
  [["SPOP", "k", 2], [["SADD", "k", LONG, "b"]]],
  [["ZPOPMIN", "k"], sortedSet],
  [["ZPOPMAX", "k", 2], sortedSet],
  [["ZMPOP", 1, "k", "MIN"], sortedSet],
  [["GETDEL", "k"], string],
  [["GETSET", "k", "new"], string],
  [["SET", "k", "new", "GET"], string],
  [["SET", "k", "new", "IFEQ", LONG, "GET"], string],
  [["GETEX", "k", "EX", 10], string],
  [["HGETDEL", "k", "FIELDS", 1, "f"], hash],
  [["HGETEX", "k", "EX", 10, "FIELDS", 1, "f"], hash],
  [["XREADGROUP", "GROUP", "g", "c", "STREAMS", "k", ">"], stream],
  [["XCLAIM", "k", "g", "d", 0, "1-1"], pending],
  [["XAUTOCLAIM", "k", "g", "d", 0, 0], pending],
  [["BITFIELD", "k", ...Array.from({ length: 120 }, () => ["SET", "u63", 0, 2 ** 53]).flat()], string],
  [
    ["JSON.NUMINCRBY", "k", "$.*", 1],
    [["JSON.SET", "k", "$", JSON.stringify(Array.from({ length: 700 }, (_, i) => 100 + i))]],
  ],
  [
    ["JSON.NUMMULTBY", "k", "$.*", 2],
    [["JSON.SET", "k", "$", JSON.stringify(Array.from({ length: 700 }, (_, i) => 100 + i))]],
  ],
  [["JSON.ARRPOP", "k", "$.a"], [["JSON.SET", "k", "$", JSON.stringify({ a: [LONG] })]]],
  [["EVAL", POP, 1, "k"], list],
  [["EVAL", "return redis.call('BLPOP', KEYS[1], 0)", 1, "k"], list],
  [["EVAL", "return redis.call('BZMPOP', 0, 1, KEYS[1], 'MAX')", 1, "k"], sortedSet],
  [["EVAL", "redis.call('DEL', 'k') return string.rep('\\0', 1600)", 0], string],
  [
    ["EVALSHA", POP_SHA, 1, "k"],
    [["SCRIPT", "LOAD", POP], ...list],
  ],
  [
    ["FCALL", "pop", 1, "k"],
    [["FUNCTION", "LOAD", "REPLACE", library], ...list],
  ],
];

/** Commands that return a part of a value that they change, but never much of it: a number, an element's rank, a word. */
const shortReplies: readonly string[] = [
  ...["COPY", "RENAME", "RENAMENX", "FLUSHALL", "FLUSHDB", "PUBLISH", "SETBIT", "BITOP", "DELEX", "DELIFEQ", "SMOVE"],
  ...["DECR", "DECRBY", "INCR", "INCRBY", "INCRBYFLOAT", "INCREX", "HINCRBY", "HINCRBYFLOAT", "ZINCRBY"],
  ...["SDIFFSTORE", "SINTERSTORE", "SUNIONSTORE", "ZRANGESTORE", "ZDIFFSTORE", "ZINTERSTORE", "ZUNIONSTORE"],
  ...["GEOSEARCHSTORE", "PFCOUNT", "PFMERGE", "JSON.TOGGLE"],
  // They return elements or store them, never both.
  ...["SORT", "GEORADIUS", "GEORADIUSBYMEMBER"],
];

const base64 = { "upstash-encoding": "base64" };
const caller = { user: defaultUser, transport: "http", address: "" } as const;

/** All that the database has at the keys of the rows, and how often it was changed. */
function stateOf({ store }: TestServer): unknown {
  const database = store.database("main");
  const dumps = ["k", "other", "none"].map((key) => database.execute(caller, ["DUMP", key]));
  return [dumps, database.activity.changeCount];
}

/** Makes the keys of a row, without a limit of replies. */
function prepare(server: TestServer, setup: readonly Words[]): unknown {
  const database = server.store.database("main");
  for (const words of [["FLUSHALL"], ...setup])
    assert.equal(findError(database.execute(caller, words.map(String))), undefined, String(words));
  return stateOf(server);
}

test("A.limits.reply: a command whose reply is too long changes nothing", async () => {
  await using server = await startServer({ replyBytesMax: REPLY_BYTES_MAX });
  for (const [words, setup] of rows) {
    const name = JSON.stringify(words).slice(0, 60);
    const before = prepare(server, setup);
    for (const headers of [{}, base64]) {
      const reply = await server.post("/", words, { headers });
      assert.deepEqual([reply.status, reply.json], [400, { error: UNDONE }], name);
      assert.deepEqual(stateOf(server), before, name);
    }
    const batch = await server.post("/pipeline", [words, ["PING"]]);
    assert.deepEqual([batch.status, batch.json], [200, [{ error: UNDONE }, { result: "PONG" }]], name);
    assert.deepEqual(stateOf(server), before, name);
    const all = await server.post("/multi-exec", [["INCR", "none"], words, ["PING"]]);
    assert.deepEqual([all.status, all.json], [400, { error: `${ERROR}; the transaction was undone` }], name);
    assert.deepEqual(stateOf(server), before, name);
  }
});

test("A.limits.reply: every command that returns what it changes is tried with a long reply", () => {
  const tried = new Set([...rows.map(([[name]]) => name), ...shortReplies]);
  const missing = commands
    .filter((command) => command.mayChange && command.returnsValues && command.isAvailableOverHttp)
    .map(({ name }) => name);
  assert.deepEqual(
    missing.filter((name) => !tried.has(name)),
    [],
  );
});

test("A.limits.reply: a pop that does not fit the rest of a pipeline's answer changes nothing", async () => {
  await using server = await startServer({ replyBytesMax: REPLY_BYTES_MAX });
  await server.post("/", ["RPUSH", "k", "x".repeat(900), "y".repeat(900), "z".repeat(900)]);
  const reply = await server.post("/pipeline", [
    ["LPOP", "k"],
    ["LPOP", "k"],
    ["LPOP", "k"],
    ["LLEN", "k"],
  ]);
  assert.deepEqual(reply.json, [
    { result: "x".repeat(900) },
    { result: "y".repeat(900) },
    { error: UNDONE },
    { result: 1 },
  ]);
});

test("A.limits.reply: a read whose reply is too long is refused without a remark", async () => {
  await using server = await startServer({ replyBytesMax: REPLY_BYTES_MAX });
  await server.post("/", ["SET", "k", LONG]);
  assert.deepEqual((await server.post("/", ["GET", "k"])).json, { error: ERROR });
  assert.deepEqual((await server.post("/multi-exec", [["GET", "k"]])).json, { error: ERROR });
});

test("A-13: a pop without room for its reply is refused with 503, and changes nothing", async () => {
  await using server = await startServer({ replyBytesMax: 1_000_000, inFlightBytesMax: 1_000_000 });
  const other = { name: "other" };
  const element = "x".repeat(100_000);
  await server.post("/", ["RPUSH", "k", element]);
  const before = stateOf(server);
  server.budget.add(850_000, other);
  const requests = [
    ["/", ["LPOP", "k"]],
    ["/multi-exec", [["LPOP", "k"]]],
    ["/", ["LRANGE", "k", 0, 0]],
  ] as const;
  for (const [path, body] of requests) {
    const reply = await server.post(path, body);
    assert.deepEqual([reply.status, reply.json], [503, { error: "ERR server is busy; try again" }]);
    assert.equal(reply.headers["retry-after"], "1");
  }
  const batch = await server.post("/pipeline", [["LPOP", "k"], ["PING"]]);
  assert.deepEqual(batch.json, [
    { error: "ERR server is busy; try again; its writes were undone" },
    { result: "PONG" },
  ]);
  assert.deepEqual(stateOf(server), before);
  server.budget.release(850_000, other);
  assert.deepEqual((await server.post("/", ["LPOP", "k"])).json, { result: element });
  assert.equal(server.budget.usedBytes, 0);
});

test("A-13: the reply of a write that cannot be undone is sent even without room for it", async () => {
  await using server = await startServer({ inFlightBytesMax: 4_000_000 });
  const element = "x".repeat(70_000);
  await server.post("/", ["MSET", "a", element, "b", element]);
  server.budget.add(3_470_000, { name: "other" });
  assert.equal((await server.post("/", ["GET", "a"])).status, 503);
  assert.deepEqual((await server.post("/", ["GETDEL", "a"])).json, { result: element });
  assert.deepEqual((await server.post("/pipeline", [["GETDEL", "b"]])).json, [{ result: element }]);
});

test("A.limits.reply: a reply longer than the room of the listener is too long, not busy", async () => {
  await using server = await startServer({ inFlightBytesMax: 400_000 });
  await server.post("/", ["SETRANGE", "k", 60_000, "x"]);
  const before = stateOf(server);
  const reply = await server.post("/", ["GETDEL", "k"]);
  assert.deepEqual([reply.status, reply.json], [400, { error: UNDONE }]);
  assert.deepEqual(stateOf(server), before);
});

test("A.limits.reply: the listeners of a thread have room for the longest reply", () => {
  assert.ok(new ByteBudget(IN_FLIGHT_BYTES_MAX).ownBytesMax > LONGEST_REPLY_BYTES + REQUEST_BYTES_MAX);
});
