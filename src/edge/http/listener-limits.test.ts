/** The listener alone, over real sockets, with clients that send or read too slowly or too much. */
import assert from "node:assert/strict";
import { once } from "node:events";
import {
  get,
  type Peer,
  post,
  reply,
  start,
  startEach,
  testEach,
  testHttp1,
  untilOpen,
} from "../../../test/harness/listener-bench.ts";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { nextTurn } from "../../kernel/turn.ts";
import { pauseThread } from "../../store/commands/redis-compat.ts";
import { unauthorized } from "../errors.ts";
import type { HttpReply } from "../handler.ts";
import { failureReply } from "../respond.ts";

testEach("A-13: bodies of all connections share a budget, and release it", async (context) => {
  const bench = await startEach(context, ({ body }) => reply(`${body.length}`), { budgetBytes: 1_600 });
  const half = bench.open().send(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 800\r\n\r\n${"x".repeat(700)}`);
  while (bench.budget.usedBytes !== 700) await new Promise((resolve) => setImmediate(resolve));

  const refused = await bench
    .open()
    .send(post("/", "x".repeat(300)))
    .untilClosed();
  assert.match(refused, /^HTTP\/1\.1 503 [\s\S]*Retry-After: 1\r\n[\s\S]*\{"error":"ERR server is busy; try again"\}$/);

  await half.send("x".repeat(100)).until(/\r\n\r\n800$/);
  await untilOpen(bench.listener, 0);
  assert.equal(bench.budget.usedBytes, 0);
  half.destroy();
});

testEach("S-01: disconnects a peer that does not read its reply", async (context) => {
  const large = { ...reply("x".repeat(32 * 1024 * 1024)), bodyIsBytes: true };
  const bench = await startEach(context, () => large, { limits: { stalledTimeoutMs: 50 }, budgetBytes: 1_000_000_000 });
  const peer = bench.open();
  peer.pause();
  peer.send(get("/"));
  while (bench.budget.usedBytes !== large.body.length) await new Promise((resolve) => setImmediate(resolve));

  await untilOpen(bench.listener, 0);

  assert.equal(bench.budget.usedBytes, 0);
  peer.destroy();
});

testHttp1(
  "handles no more requests of a connection with too many unread bytes until its peer reads",
  async (context) => {
    let handledCount = 0;
    const bench = await start(
      context,
      () => {
        handledCount += 1;
        return { ...reply("x".repeat(4 * 1024 * 1024)), bodyIsBytes: true };
      },
      { limits: { unsentPerConnectionMax: 10 * 1024 * 1024 }, budgetBytes: 1024 * 1024 * 1024 },
    );
    const peer = bench.open();
    peer.pause();
    peer.send(get("/").repeat(20));
    await untilOpen(bench.listener, 20);
    assert.equal(handledCount, 3);

    peer.discard();

    await untilOpen(bench.listener, 0);
    assert.equal(handledCount, 20);
    assert.equal(bench.budget.usedBytes, 0);
    peer.destroy();
  },
);

testHttp1("A-13: unread small replies delay only their own connection", async (context) => {
  const MB = 1024 * 1024;
  let handledCount = 0;
  const greedy = { name: "greedy" };
  const bench = await start(
    context,
    (request) => {
      const refusal = request.claim?.(request.target === "/other" ? { name: "other" } : greedy);
      if (refusal !== undefined) return failureReply(refusal);
      if (request.target === "/other") return reply("served");
      handledCount += 1;
      return { ...reply("x".repeat(60_000)), bodyIsBytes: true };
    },
    { budgetBytes: 256 * MB },
  );
  const peers = Array.from({ length: 20 }, () => bench.open());
  for (const peer of peers) {
    peer.pause();
    peer.send(get("/").repeat(900));
  }
  while (bench.budget.usedBytes < 20 * MB) await new Promise((resolve) => setImmediate(resolve));

  assert.match(await bench.open().send(get("/other", "Connection: close\r\n")).untilClosed(), /served$/);
  assert.ok(handledCount < 20 * 150, `${handledCount} were handled`);
  assert.ok(bench.budget.usedBytes <= 20 * (MB + 61_000), `${bench.budget.usedBytes} bytes wait`);
  assert.deepEqual([...bench.budget.owners.keys()], [greedy]);

  for (const peer of peers) peer.destroy();
  await untilOpen(bench.listener, 0);
  assert.equal(bench.budget.usedBytes, 0);
});

testEach(
  "A-13: refuses requests of a tenant with too many unsent bytes before handling them, and no others",
  async (context) => {
    const tenants = new Map(["/a", "/b"].map((target) => [target, { name: target }]));
    let handledCount = 0;
    const bench = await startEach(
      context,
      (request) => {
        const refusal = request.claim?.(tenants.get(request.target) ?? { name: "new" });
        if (refusal !== undefined) return failureReply(refusal);
        handledCount += 1;
        return reply("in");
      },
      { budgetBytes: 1_000_000 },
    );
    const held = tenants.get("/a") ?? assert.fail();
    bench.budget.add(600_000, held);

    assert.match(await bench.open().send(get("/a", "Connection: close\r\n")).untilClosed(), /^HTTP\/1\.1 503 /);
    assert.equal(handledCount, 0);
    assert.match(await bench.open().send(get("/b", "Connection: close\r\n")).untilClosed(), /in$/);
    bench.budget.release(200_000, held);
    assert.match(await bench.open().send(get("/a", "Connection: close\r\n")).untilClosed(), /in$/);
  },
);

testEach("a finished reply that waits counts until it is sent", async (context) => {
  const made = Promise.withResolvers<HttpReply>();
  const bench = await startEach(context, (request) => {
    request.holdReply?.(5_000);
    return made.promise;
  });
  const peer = bench.open().send(get("/"));
  while (bench.budget.usedBytes !== 5_000) await new Promise((resolve) => setImmediate(resolve));
  made.resolve(reply("done"));
  await peer.until(/done$/);
  await untilOpen(bench.listener, 0);
  assert.equal(bench.budget.usedBytes, 0);
  peer.destroy();
});

testEach("while many bytes are held, reads a small body only if the area accepts its head", async (context) => {
  const bench = await startEach(context, () => reply("in"), {
    area: { refuseEarly: (head) => (head.header("x-in") === undefined ? failureReply(unauthorized) : undefined) },
    budgetBytes: 1_000,
  });
  const request = (headers: string): string => `POST / HTTP/1.1\r\nHost: a\r\n${headers}Content-Length: 5\r\n\r\nabcde`;
  bench.budget.add(251, { name: "somebody" });

  assert.match(await bench.open().send(request("")).until(/\}$/), /^HTTP\/1\.1 401 /);
  assert.match(await bench.open().send(request("X-In: 1\r\nConnection: close\r\n")).untilClosed(), /in$/);
});

testEach("a large reply without room in the budget becomes 503, a small one is sent", async (context) => {
  const bench = await startEach(context, ({ target }) => reply("x".repeat(Number(target.slice(1)))), {
    budgetBytes: 114_286,
  });
  assert.match(await bench.open().send(get("/100001", "Connection: close\r\n")).untilClosed(), /^HTTP\/1\.1 503 /);
  assert.match(await bench.open().send(get("/99999", "Connection: close\r\n")).untilClosed(), /^HTTP\/1\.1 200 /);
  await untilOpen(bench.listener, 0);
  assert.equal(bench.budget.usedBytes, 0);
});

testEach("S-01: slow headers and bodies are ended with 408", async (context) => {
  const bench = await startEach(context, () => reply("never"), {
    limits: { headersTimeoutMs: 50, requestTimeoutMs: 50 },
  });
  const inHeaders = bench.open().send("GET / HTTP/1.1\r\nHost: a\r\nX-");
  const inBody = bench.open().send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab");

  for (const peer of context.isHttp2 ? [inBody] : [inHeaders, inBody]) {
    assert.match(await peer.until(/\}$/), /^HTTP\/1\.1 408 [\s\S]*\{"error":"ERR request was not complete in time"\}$/);
    peer.destroy();
  }
});

testHttp1("S-01: answers a request that came in time but is read late, after the thread was busy", async (context) => {
  const { open } = await start(context, () => reply("late"), {
    limits: { headersTimeoutMs: 200, requestTimeoutMs: 200 },
  });
  const peers = [open(), open()];
  const [whole, half] = peers as [Peer, Peer];
  await Promise.all(peers.map(({ socket }) => once(socket, "connect")));
  // Both are accepted.
  await nextTurn();
  await nextTurn();
  whole.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  half.send("GET / HTTP/1.1\r\nHo");
  // Longer than the request timeout, and than the time between two checks.
  pauseThread(1_500);
  await whole.until(/late/);
  await half.until(/408/);
});

testEach("S-01: refuses a body below the least rate with 408", async (context) => {
  const clock = new VirtualClock();
  const bench = await startEach(context, () => reply("done"), { clock });
  const slow = bench.open().send("POST /slow HTTP/1.1\r\nHost: a\r\nContent-Length: 900\r\n\r\na");
  await untilOpen(bench.listener, 1);
  await slow.opened;
  for (let second = 0; second < 12; second += 1) clock.advance(1_000);
  assert.match(
    await slow.until(/}$/),
    /^HTTP\/1\.1 408 [\s\S]*ERR request body is too slow\. Minimum rate: 1024 bytes per second/,
  );
  assert.deepEqual(
    bench.observations.map(({ route, status }) => [route, status]),
    [["refused", 408]],
  );
  clock.advance(2_000);
  await slow.untilClosed();
});
