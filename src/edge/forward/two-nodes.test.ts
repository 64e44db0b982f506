/** A client, the node that it asks, and the node that serves, over real sockets. */
import assert from "node:assert/strict";
import { createServer, type Server, type Socket } from "node:net";
import { test } from "node:test";
import {
  type Bench,
  type Case,
  get,
  type Peer,
  post,
  reply,
  start,
  untilOpen,
} from "../../../test/harness/listener-bench.ts";
import { type Clock, systemClock } from "../../kernel/clock.ts";
import type { Handler, HttpRequest, HttpService, RequestHead, StreamSink } from "../handler.ts";
import { Front, type OwnerAddress, type SendOutcome } from "./front.ts";
import { innerService } from "./inner-service.ts";
import { namedOwner } from "./named-owner.ts";
import { PoolSender } from "./pool-sender.ts";

const KEY = new Uint8Array(32).fill(7);
const BODY_BYTES_MAX = 4_000_000;
const BUDGET_BYTES = 64_000_000;
const limits = { bodyBytesMax: () => BODY_BYTES_MAX };

interface TestContext {
  after(task: () => unknown): void;
}

function caseOf(context: TestContext): Case {
  return { transport: "larder", after: (task) => context.after(task) };
}

interface Owner {
  readonly at: OwnerAddress;
  readonly bench: Bench<Peer>;
  /** Requests that no node has signed. */
  readonly unsigned: { readonly remoteAddress: string }[];
  /** It serves the area no longer. */
  withdraw(): void;
}

/** A node that accepts forwarded requests, and serves the area if it has a handler. */
async function startOwner(context: TestContext, handle: Handler | undefined, key = KEY): Promise<Owner> {
  const unsigned: { readonly remoteAddress: string }[] = [];
  let area: HttpService | undefined = handle && namedOwner({ handle, ...limits }, "b");
  const inner = innerService({
    ...{ area: "store", key, clock: systemClock, service: limits },
    serving: () => area,
    onUnsigned: (head) => void unsigned.push(head),
  });
  const bench = await start(caseOf(context), inner.handle, { area: inner, budgetBytes: BUDGET_BYTES });
  const withdraw = (): void => {
    area = undefined;
  };
  return { at: { node: "b", host: "127.0.0.1", port: bench.listener.port }, bench, unsigned, withdraw };
}

/** A node that serves nothing. */
async function startFront(context: TestContext, at: OwnerAddress | undefined, waitMs = 0): Promise<Bench<Peer>> {
  const sender = new PoolSender({ key: KEY, clock: systemClock });
  const front = new Front({ area: "store", service: limits, sender, clock: systemClock, waitMs });
  if (at !== undefined) front.follow({ kind: "node", at });
  context.after(() => front.close(0));
  const area = { ...limits, refuseEarly: (head: RequestHead) => front.refuseEarly(head) };
  return start(caseOf(context), front.handle, { area, budgetBytes: BUDGET_BYTES });
}

/** Sends a request without a front. */
async function send(context: TestContext, at: OwnerAddress, over: Partial<HttpRequest> = {}): Promise<SendOutcome> {
  const sender = new PoolSender({ key: KEY, clock: systemClock });
  context.after(() => sender.close(0));
  return sender.send(at, {
    ...{ method: "POST", target: "/set/k", rawHeaders: ["Host", "a"], body: Buffer.from("1"), id: "1" },
    ...{ header: () => undefined, remoteAddress: "192.0.2.7", remotePort: 9 },
    ...over,
  });
}

/** A server of bytes. `talk` is called with each piece that a connection receives. */
async function startRaw(context: TestContext, talk: (socket: Socket, piece: string) => void): Promise<OwnerAddress> {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", (piece) => talk(socket, piece.toString("latin1")));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  context.after(() => server.close());
  return { node: "b", host: "127.0.0.1", port: portOf(server) };
}

function portOf(server: Server): number {
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  return address.port;
}

const CLOSE = "Connection: close\r\n";

test("method, target, headers, body and the address of the client arrive as they were sent", async (context) => {
  const seen: unknown[] = [];
  const owner = await startOwner(context, (request) => {
    const { method, target, body, rawHeaders, remoteAddress, remotePort } = request;
    seen.push({ method, target, body: body.toString("latin1"), remoteAddress, hasPort: remotePort > 0 });
    seen.push(rawHeaders.filter((_, index) => /^(?:x-|auth)/i.test(rawHeaders[index - (index % 2)] ?? "")));
    return { status: 201, headers: ["X-One", "1", "x-two", "\xe9"], body: Buffer.from("\x00\xff\r\n", "latin1") };
  });
  const front = await startFront(context, owner.at);
  const head =
    "PUT /set/a%20b?_token=t&x=/y HTTP/1.1\r\nX-First: 1\r\nHost: store.example\r\nAuthorization: Bearer t\r\n" +
    "x-again: a\r\nX-Hop: gone\r\nConnection: close, x-hop\r\nx-again: b\r\nContent-Length: 4\r\n\r\n";
  const answer = await front.open().send(`${head}\x00\xff\r\n`).untilClosed();
  assert.deepEqual(seen, [
    {
      method: "PUT",
      target: "/set/a%20b?_token=t&x=/y",
      body: "\x00\xff\r\n",
      remoteAddress: "127.0.0.1",
      hasPort: true,
    },
    ["X-First", "1", "Authorization", "Bearer t", "x-again", "a", "x-again", "b"],
  ]);
  assert.match(
    answer,
    /^HTTP\/1\.1 201 Created\r\nX-One: 1\r\nx-two: \xe9\r\nLarder-Owner: b\r\nContent-Length: 4\r\n/,
  );
  assert.ok(answer.endsWith("\r\n\r\n\x00\xff\r\n"));
  assert.equal(answer.match(/\r\nDate:/g)?.length, 1);
});

test("long bodies pass in both ways", async (context) => {
  const owner = await startOwner(context, ({ body }) => ({ status: 200, headers: [], body }));
  const front = await startFront(context, owner.at);
  const body = "0123456789abcdef".repeat(200_000);
  const answer = await front
    .open()
    .send(`POST / HTTP/1.1\r\nHost: a\r\n${CLOSE}Content-Length: ${body.length}\r\n\r\n${body}`)
    .untilClosed();
  assert.ok(answer.endsWith(`\r\n\r\n${body}`));
  assert.equal(front.budget.usedBytes, 0);
  assert.equal(owner.bench.budget.usedBytes, 0);
});

test("the answer to HEAD has the length of the body that is not sent", async (context) => {
  const owner = await startOwner(context, () => reply("four"));
  const front = await startFront(context, owner.at);
  const answer = await front.open().send(`HEAD / HTTP/1.1\r\nHost: a\r\n${CLOSE}\r\n`).untilClosed();
  assert.match(answer, /\r\nContent-Length: 4\r\n/);
  assert.match(answer, /\r\n\r\n$/);
});

test("pipelined requests are carried out and answered in their order", async (context) => {
  const begun: string[] = [];
  const owner = await startOwner(context, async ({ target }) => {
    begun.push(target);
    if (target === "/slow") for (let turns = 0; turns < 20; turns += 1) await new Promise((next) => setImmediate(next));
    begun.push(`${target} done`);
    return reply(target);
  });
  const front = await startFront(context, owner.at);
  const peer = front.open().send(get("/slow") + post("/b", "x") + get("/c"));
  const answer = await peer.until(/\/c$/);
  assert.deepEqual(begun, ["/slow", "/slow done", "/b", "/b done", "/c", "/c done"]);
  assert.deepEqual(
    [...answer.matchAll(/\r\n\r\n(\/[a-z]+)/g)].map((match) => match[1]),
    ["/slow", "/b", "/c"],
  );
  peer.destroy();
});

test("a node that does not serve the area answers 421 and asks nobody else", async (context) => {
  const owner = await startOwner(context, undefined);
  assert.deepEqual(await send(context, owner.at), { kind: "not executed" });
  assert.deepEqual(owner.unsigned, []);
  assert.equal(owner.bench.observations.length, 1);
});

test("a probe says whether a node serves the area", async (context) => {
  const handled: string[] = [];
  const serving = await startOwner(context, ({ target }) => {
    handled.push(target);
    return reply("no");
  });
  const idle = await startOwner(context, undefined);
  const sender = new PoolSender({ key: KEY, clock: systemClock });
  context.after(() => sender.close(0));
  assert.deepEqual([await sender.probe(serving.at), await sender.probe(idle.at)], [true, false]);
  const stranger = new PoolSender({ key: new Uint8Array(32), clock: systemClock });
  context.after(() => stranger.close(0));
  assert.equal(await stranger.probe(serving.at), false);
  assert.deepEqual(handled, []);
});

test("a node that stops refuses with 421 what was on its way, with a body or without", async (context) => {
  const owner = await startOwner(context, () => reply("served"));
  const half = owner.bench.open().send("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbo");
  await untilOpen(owner.bench.listener, 1);
  owner.withdraw();
  assert.deepEqual(await send(context, owner.at), { kind: "not executed" });
  const closed = owner.bench.listener.close(60_000);
  assert.match(await half.untilClosed(), /^HTTP\/1\.1 421 [\s\S]*larder-not-executed/);
  await closed;
});

test("a request is refused unless a node of the cluster has signed it", async (context) => {
  let handled = 0;
  const owner = await startOwner(
    context,
    () => {
      handled += 1;
      return reply("no");
    },
    new Uint8Array(32).fill(8),
  );
  assert.deepEqual(await send(context, owner.at), { kind: "not executed" });
  const answer = await owner.bench
    .open()
    .send(`POST / HTTP/1.1\r\nHost: a\r\n${CLOSE}Content-Length: 1\r\n\r\n1`)
    .untilClosed();
  assert.match(answer, /^HTTP\/1\.1 421 /);
  // Before its body is read, if that is long.
  const early = await owner.bench
    .open()
    .send(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3000000\r\n\r\n`)
    .until(/\}$/);
  assert.match(early, /^HTTP\/1\.1 421 [\s\S]*is not signed by a node of this cluster/);
  assert.deepEqual([handled, owner.unsigned.length], [0, 3]);
});

test("a node that cannot be connected to has carried nothing out", async (context) => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const port = portOf(server);
  await new Promise((resolve) => server.close(resolve));
  assert.deepEqual(await send(context, { node: "b", host: "127.0.0.1", port }), { kind: "not executed" });
});

test("a connection that ends after the first byte was sent leaves the outcome unknown, and nothing is sent twice", async (context) => {
  const received: string[] = [];
  const at = await startRaw(context, (socket, piece) => {
    const [line = ""] = piece.split("\r\n");
    // A second attempt would succeed.
    if (received.includes(line)) socket.write("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n}");
    else socket.resetAndDestroy();
    received.push(line);
  });
  const front = await startFront(context, at, 10_000);
  const peer = front.open();
  const answer = await peer.send(post("/incr/k", "1") + get("/next")).until(/\}[\s\S]*\}$/);
  assert.equal(answer.match(/HTTP\/1\.1 502 Bad Gateway\r\n/g)?.length, 2);
  assert.equal(answer.match(/the request may have been carried out"\}/g)?.length, 2);
  assert.deepEqual(received, ["POST /incr/k HTTP/1.1", "GET /next HTTP/1.1"]);
  peer.destroy();
});

test("a method that the HTTP client does not write is refused, and not waited for", async (context) => {
  const owner = await startOwner(context, () => reply("no"));
  assert.deepEqual(await send(context, owner.at, { method: "A B" }), { kind: "unsendable" });
});

test("half an answer is no answer", async (context) => {
  const at = await startRaw(context, (socket) => socket.end("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"));
  assert.deepEqual(await send(context, at), { kind: "lost" });
});

test("a connection is used again, and one that was closed meanwhile is not", async (context) => {
  const peers = new Set<number | undefined>();
  const at = await startRaw(context, (socket, piece) => {
    peers.add(socket.remotePort);
    socket.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    if (piece.startsWith("GET /last")) socket.end();
  });
  const front = await startFront(context, at);
  const peer = front.open();
  await peer.send(get("/1")).until(/\r\n\r\n$/);
  await peer.send(get("/2")).until(/\r\n\r\n[\s\S]*\r\n\r\n$/);
  assert.equal(peers.size, 1);
  peer.destroy();
});

test("an event stream passes through until the client closes it", async (context) => {
  const ended = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<StreamSink>();
  const owner = await startOwner(context, () => ({
    status: 200,
    headers: ["Content-Type", "text/event-stream"],
    open(sink) {
      opened.resolve(sink);
      return () => ended.resolve();
    },
  }));
  const front = await startFront(context, owner.at);
  const peer = front.open().send(get("/subscribe/c"));
  const sink = await opened.promise;
  sink.write("data: one\n\n");
  await peer.until(/data: one/);
  sink.write("data: two\n\n");
  const head = await peer.until(/data: two/);
  assert.match(head, /^HTTP\/1\.1 200 OK\r\nContent-Type: text\/event-stream\r\nLarder-Owner: b\r\n/);
  peer.destroy();
  await ended.promise;
});

test("an event stream ends with its source, and is cut if the source is", async (context) => {
  const sinks: StreamSink[] = [];
  const owner = await startOwner(context, () => ({
    status: 200,
    headers: [],
    open(sink) {
      sinks.push(sink);
      sink.write("one");
      return () => {};
    },
  }));
  const front = await startFront(context, owner.at);
  const ending = front.open().send(get("/a"));
  await ending.until(/one/);
  sinks[0]?.end();
  assert.match(await ending.untilClosed(), /one\r\n0\r\n\r\n$/);
  const cut = front.open().send(get("/b"));
  await cut.until(/one/);
  sinks[1]?.abort();
  assert.match(await cut.untilClosed(), /one\r\n$/);
});

test("an event stream whose client does not read stops its source", async (context) => {
  const opened = Promise.withResolvers<StreamSink>();
  const owner = await startOwner(context, () => ({
    status: 200,
    headers: [],
    open(sink) {
      opened.resolve(sink);
      return () => {};
    },
  }));
  const front = await startFront(context, owner.at);
  const peer = front.open();
  peer.socket.pause();
  peer.send(get("/monitor"));
  const sink = await opened.promise;
  const piece = "x".repeat(100_000);
  let written = 0;
  // The buffers of the system take some megabytes; a front without a limit would take everything.
  while (sink.queuedBytes < 1_000_000 && written < 2_000) {
    sink.write(piece);
    written += 1;
    await new Promise((next) => setImmediate(next));
  }
  assert.ok(written < 2_000, "the source has to wait");
  peer.destroy();
});

test("an answer that has no room is lost, and its memory is free", async (context) => {
  const owner = await startOwner(context, () => reply("y".repeat(3_000_000)));
  const sender = new PoolSender({ key: KEY, clock: systemClock });
  context.after(() => sender.close(0));
  const outcome = await send(context, owner.at, { takeReply: () => false });
  assert.deepEqual(outcome, { kind: "lost" });
});

test("requests to a former owner end when it has had time to answer", async (context) => {
  const cut: (() => void)[] = [];
  const clock: Clock = {
    ...systemClock,
    after(_delayMs, task) {
      cut.push(task);
      return () => {};
    },
  };
  const received = Promise.withResolvers<void>();
  const at = await startRaw(context, () => received.resolve());
  const sender = new PoolSender({ key: KEY, clock });
  const asked = sender.send(at, {
    ...{ method: "GET", target: "/", rawHeaders: ["Host", "a"], body: Buffer.alloc(0), id: "1" },
    ...{ header: () => undefined, remoteAddress: "192.0.2.7", remotePort: 9 },
  });
  await received.promise;
  sender.follow({ ...at, port: 1 });
  assert.equal(cut.length, 1);
  cut[0]?.();
  assert.deepEqual(await asked, { kind: "lost" });
});
