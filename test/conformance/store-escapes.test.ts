/**
 * Read-only tokens and users cannot do anything else, in any form (A.read-only-token; threats A-03,
 * A-04): every line of `test/harness/store-escapes.ts`, sent in every way and with every spelling of its name. In a
 * proof every spelling goes in every way; otherwise a line goes in every way with its usual spelling, and each other
 * spelling in one way, which changes from line to line.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { allowanceOf } from "../budget.ts";
import { READ_ONLY_TOKEN, startServer, type TestServer, TOKEN } from "../harness/server.ts";
import { type Answer, type Escape, escapes, spellings, ways } from "../harness/store-escapes.ts";

/** Whether every spelling goes in every way. */
const isWhole = "count" in allowanceOf("store-escapes");

const refusal =
  /^\{"error":"(?:NOPERM this user has no permissions to run the '[^']+' command or its subcommand|ERR Command is not available: )/;
/** The path of a stream, which is refused for its form before permissions are checked. */
const isStream = /this is an event stream/;

async function fill(server: TestServer): Promise<void> {
  await server.post("/multi-exec", [
    ["SET", "app:k", "v", "EX", "1000"],
    ["SET", "app:n", "1"],
    ["HSET", "app:h", "f", "v"],
    ["RPUSH", "app:l", "a", "b"],
    ["SADD", "app:s", "a", "b"],
    ["ZADD", "app:z", "1", "a"],
    ["XADD", "app:x", "0-1", "f", "v"],
    ["JSON.SET", "app:j", "$", "[1]"],
  ]);
}

/** Everything that those lines could have changed. */
async function stateOf(server: TestServer): Promise<string> {
  const reads = [
    ["GET", "app:k"],
    ["TTL", "app:k"],
    ["GET", "app:n"],
    ["HGETALL", "app:h"],
    ["LRANGE", "app:l", "0", "-1"],
    ["SMEMBERS", "app:s"],
    ["ZRANGE", "app:z", "0", "-1"],
    ["XRANGE", "app:x", "-", "+"],
    ["JSON.GET", "app:j"],
    ["DBSIZE"],
    ["CONFIG", "GET", "maxmemory"],
  ];
  return (await server.post("/pipeline", reads)).text;
}

/** Sends a line in every way and spelling, and checks that each is refused. */
async function tryAll(server: TestServer, line: Escape, token: string): Promise<void> {
  const [name = "", ...rest] = line.words;
  for (const [place, [spelling, write]] of spellings.entries()) {
    const words = [write(name), ...rest];
    const first = (escapes.indexOf(line) + place) % ways.length;
    for (const way of [...ways.slice(first), ...ways.slice(0, first)]) {
      const answer = await way.send(server, words, token);
      if (answer === undefined || isStream.test(answer.text)) continue;
      checkRefused(answer, `${JSON.stringify(words)} in ${spelling} by ${way.name}`);
      if (place > 0 && !isWhole) break;
    }
  }
}

function checkRefused({ status, text }: Answer, sent: string): void {
  assert.equal(status, 400, `${sent}: ${text}`);
  assert.match(text, refusal, sent);
}

test("every way to send a line sends it unchanged, and the first three spellings name the command", async () => {
  await using server = await startServer();
  for (const [index, [spelling, write]] of spellings.entries()) {
    for (const way of ways) {
      const sent = `${spelling} by ${way.name}`;
      const answer = await way.send(server, [write("SET"), "app:k", `${sent}/?&+`, "EX", "100"], TOKEN);
      if (index > 2) assert.match(answer?.text ?? "", /^\{"error":"ERR Command is not available/, sent);
      else assert.deepEqual((await server.get("/get/app:k")).json, { result: `${sent}/?&+` }, sent);
    }
  }
});

test("A-04: no command that writes or discloses too much is allowed with the read-only token", async () => {
  await using server = await startServer();
  await fill(server);
  const before = await stateOf(server);

  for (const line of escapes) await tryAll(server, line, READ_ONLY_TOKEN);

  assert.equal(await stateOf(server), before);
});

/** Makes a user with these rules and returns a token of it. */
async function tokenOf(server: TestServer, rules: string): Promise<string> {
  const made = await server.post("/pipeline", [
    ["ACL", "SETUSER", "reader", "reset", "on", ">secret", ...rules.split(" ")],
    ["ACL", "RESTTOKEN", "reader", "secret"],
  ]);
  const [, token] = made.json as { result: string }[];
  return token?.result ?? "";
}

test("A-04, A-05: nor for a user with read permission below a prefix", async () => {
  await using server = await startServer();
  await fill(server);
  const token = await tokenOf(server, "+@read +ping ~app:*");
  const before = await stateOf(server);
  assert.deepEqual((await server.get("/get/app:k", { token })).json, { result: "v" });

  for (const line of escapes) if (line.isRead !== true) await tryAll(server, line, token);

  assert.equal(await stateOf(server), before);
});

const NO_KEY = '{"error":"NOPERM this user has no permissions to access one of the keys used as arguments"}';

/** Lines with a key that is not below `app:`, in each place where a command may name one. */
const foreignKeys: readonly string[] = [
  "GET other",
  "MGET app:k other",
  "SET other x",
  "MSET app:k x other x",
  "DEL app:k other",
  "COPY app:k other",
  "COPY other app:k",
  "RENAME app:k other",
  "OBJECT ENCODING other",
  "MEMORY USAGE other",
  "DUMP other",
  "LCS app:k other",
  "BITOP AND app:d app:k other",
  "PFCOUNT app:hll other",
  "HGETALL other",
  "LMOVE app:l other LEFT LEFT",
  "LMPOP 2 app:l other LEFT",
  "SINTERSTORE other app:s",
  "SDIFF app:s other",
  "SINTERCARD 2 app:s other",
  "ZUNION 2 app:z other",
  "ZRANGESTORE other app:z 0 -1",
  "ZUNIONSTORE app:d 2 app:z other",
  "SORT app:l STORE other",
  "SORT_RO other",
  "GEORADIUS app:g 0 0 1 km STORE other",
  "GEOSEARCHSTORE other app:g FROMLONLAT 0 0 BYRADIUS 1 km",
  "XREAD STREAMS app:x other 0 0",
  "XREADGROUP GROUP STREAMS c COUNT 1 STREAMS app:x other > >",
  "XGROUP CREATE other g $ MKSTREAM",
  "XINFO STREAM other",
  "JSON.GET other $",
  "JSON.MGET app:j other $",
  "EVAL x 1 other",
  "EVALSHA 0000000000000000000000000000000000000000 2 app:k other",
];

test("A-05: no key outside the patterns of a user is reached, wherever a command names it", async () => {
  await using server = await startServer();
  await fill(server);
  await server.post("/", ["SET", "other", "secret"]);
  const token = await tokenOf(server, "+@all ~app:*");
  const before = await stateOf(server);
  for (const line of foreignKeys) {
    for (const way of ways) {
      const answer = await way.send(server, line.split(" "), token);
      if (answer !== undefined) assert.deepEqual([answer.status, answer.text], [400, NO_KEY], `${line} by ${way.name}`);
    }
  }
  assert.equal(await stateOf(server), before);
  assert.deepEqual((await server.get("/get/other")).json, { result: "secret" });
});

test("A-05: reading and writing are separate permissions", async () => {
  await using server = await startServer();
  const token = await tokenOf(server, "+@all %R~in:* %W~out:* ~both:*");
  await server.post("/pipeline", [
    ["SET", "in:a", "1"],
    ["SADD", "in:s", "a"],
  ]);
  const rows: readonly (readonly [line: string, isAllowed: boolean])[] = [
    ["GET in:a", true],
    ["COPY in:a out:a", true],
    ["SUNIONSTORE out:s in:s", true],
    ["SET out:k v", true],
    ["SET both:k v GET", true],
    ["GETEX in:a", false],
    ["GET out:a", false],
    ["SET in:a x", false],
    ["SET out:k v GET", false],
    ["GETEX in:a PERSIST", false],
    ["GETDEL in:a", false],
    ["APPEND in:a x", false],
    ["SUNIONSTORE out:s out:s", false],
    ["SUNIONSTORE in:s in:s", false],
    ["RENAME in:a out:b", false],
  ];
  for (const [line, isAllowed] of rows) {
    const { status, text } = await server.post("/", line.split(" "), { token });
    assert.deepEqual([status, text === NO_KEY], isAllowed ? [200, false] : [400, true], `${line}: ${text}`);
  }
});
