/**
 * Heads that repeat on a connection are read once (edge/http/wire/repeated-head.ts). What ends the right to send such a
 * request applies to the next one.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultUser } from "../../src/store/mod.ts";
import { type ServerOptions, startServer, type TestReply, type TestServer, TOKEN } from "../harness/server.ts";

const admin = { user: defaultUser, transport: "http", address: "" } as const;

/** A server that notes whether the head of a request was known, and three requests with one head. */
async function start(options: ServerOptions = {}): Promise<{ server: TestServer; repeats: boolean[] }> {
  const repeats: boolean[] = [];
  const server = await startServer({
    transport: "larder",
    ...options,
    area: (store) => ({
      bodyBytesMax: () => store.bodyBytesMax("/"),
      handle: (request) => {
        repeats.push(request.memo?.learnt !== undefined);
        return store.handle(request);
      },
    }),
  });
  return { server, repeats };
}

function ask(server: TestServer, token = TOKEN, count = 1): Promise<TestReply> {
  const headers = { "upstash-encoding": "base64", "upstash-sync-token": `t:${count}` };
  return server.post("/", ["SET", "k", "v".repeat(count)], { token, headers });
}

async function askFourTimes(server: TestServer, token = TOKEN): Promise<void> {
  for (const count of [1, 20, 300, 4_000]) {
    const { status, text } = await ask(server, token, count);
    assert.deepEqual([status, text], [200, '{"result":"OK"}']);
  }
}

test("a head that repeats with other lengths and sync tokens is known", async () => {
  const { server, repeats } = await start();
  await using _ = server;
  await askFourTimes(server);
  assert.deepEqual(repeats, [false, false, false, true]);
  const reply = await server.post("/", ["GET", "k"], { headers: { "upstash-encoding": "base64" } });
  assert.deepEqual(reply.json, { result: Buffer.from("v".repeat(4_000)).toString("base64") });
});

test("A-05: a revoked token is refused at the next request of its connection", async () => {
  const { server, repeats } = await start();
  await using _ = server;
  await askFourTimes(server);
  server.tokens.remove(TOKEN);
  assert.equal((await ask(server)).status, 401);
  assert.equal(repeats.at(-1), true);
});

test("A-05: a removed user, and one who loses a right, is refused at the next request of its connection", async () => {
  const { server, repeats } = await start();
  await using _ = server;
  const database = server.store.database("main");
  database.execute(admin, ["ACL", "SETUSER", "ann", "on", ">secret", "~*", "+set"]);
  const token = String(database.execute(admin, ["ACL", "RESTTOKEN", "ann", "secret"]));
  await askFourTimes(server, token);
  database.execute(admin, ["ACL", "SETUSER", "ann", "-set"]);
  assert.match((await ask(server, token)).text, /NOPERM/);
  database.execute(admin, ["ACL", "DELUSER", "ann"]);
  assert.equal((await ask(server, token)).status, 401);
  assert.deepEqual(repeats.slice(-2), [true, true]);
});

test("A.limits.daily: a quota that is reached refuses the next request of a connection", async () => {
  const { server, repeats } = await start({ dailyRequestsMax: 4 });
  await using _ = server;
  await askFourTimes(server);
  const { status, text } = await ask(server);
  assert.deepEqual(
    [status, text],
    [
      400,
      '{"error":"ERR max daily request limit exceeded. Limit: 4, Usage: 5. The operator sets it with --daily-request-limit"}',
    ],
  );
  assert.equal(repeats.at(-1), true);
});

test("A.limits.rate: a rate that is reached refuses the next request of a connection", async () => {
  const { server, repeats } = await start({ rate: { perSecond: 1, burst: 4 } });
  await using _ = server;
  await askFourTimes(server);
  assert.equal((await ask(server)).status, 429);
  assert.equal(repeats.at(-1), true);
});
