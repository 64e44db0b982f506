/**
 * Who may only read can do nothing else, however it is asked (service.md Authentication, Area A, 2 and 3; threats A-03,
 * A-04): every line of `test/store-escapes.ts`, in every way to send it and every spelling of its name.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { READ_ONLY_TOKEN, startServer, type TestServer, TOKEN } from "../server.ts";
import { type Escape, escapes, spellings, ways } from "../store-escapes.ts";

const refusal =
  /^\{"error":"(?:NOPERM this user has no permissions to run the '[^']+' command or its subcommand|ERR Command is not available: )/;
/** The path of a stream, which is refused for its form before anybody asks who may read it. */
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

/** All that those lines could have changed. */
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

/** Sends a line in every way and spelling, and shows that each was refused. */
async function tryAll(server: TestServer, { words: [name = "", ...rest] }: Escape, token: string): Promise<void> {
  for (const [spelling, write] of spellings) {
    const words = [write(name), ...rest];
    for (const way of ways) {
      const answer = await way.send(server, words, token);
      if (answer === undefined || isStream.test(answer.text)) continue;
      const sent = `${JSON.stringify(words)} in ${spelling} by ${way.name}`;
      assert.equal(answer.status, 400, `${sent}: ${answer.text}`);
      assert.match(answer.text, refusal, sent);
    }
  }
}

test("every way to send a line sends it as it is, and the first three spellings name the command", async () => {
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

test("A-04: no command that writes or tells too much gets past the read-only token", async () => {
  await using server = await startServer();
  await fill(server);
  const before = await stateOf(server);

  for (const line of escapes) await tryAll(server, line, READ_ONLY_TOKEN);

  assert.equal(await stateOf(server), before);
});
