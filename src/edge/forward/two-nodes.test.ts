/** A client, the node that it asks, and the node that serves, over real sockets. */
import assert from "node:assert/strict";
import { createServer, type Server, type Socket } from "node:net";
import { test } from "node:test";
import { createServer as createTlsServer } from "node:tls";
import {
  type Bench,
  type Case,
  get,
  Peer,
  post,
  reply,
  start,
  untilOpen,
} from "../../../test/harness/listener-bench.ts";
import { type Clock, systemClock } from "../../kernel/clock.ts";
import { createLog } from "../../kernel/log.ts";
import type { Handler, HttpRequest, HttpService, RequestHead, StreamSink } from "../handler.ts";
import { connectWithKey, type NamedKey, SharedKeys } from "../http/shared-key.ts";
import { transportNames } from "../http/transport.ts";
import { Front, type OwnerAddress, type Sender, type SendOutcome } from "./front.ts";
import { innerService } from "./inner-service.ts";
import { LinkSender } from "./link/sender.ts";
import { withLinks } from "./link/transport.ts";
import { namedOwner } from "./named-owner.ts";
import { PoolSender } from "./pool-sender.ts";

const KEY: NamedKey = { name: "larder-0", secret: new Uint8Array(32).fill(7) };
const NEXT: NamedKey = { name: "larder-1", secret: new Uint8Array(32).fill(8) };
const BODY_BYTES_MAX = 4_000_000;
const BUDGET_BYTES = 64_000_000;
const limits = { bodyBytesMax: () => BODY_BYTES_MAX };
const log = createLog({ level: "error", format: "json", clock: systemClock, sink: () => {} });

interface KeyedSender extends Sender {
  offer(key: NamedKey): void;
}

interface TestContext {
  after(task: () => unknown): void;
  newSender(over?: { readonly key?: NamedKey; readonly clock?: Clock }): KeyedSender;
}

/** A test with each way to a node that has links and HTTP/1.1 on one port. */
function testWays(name: string, run: (context: TestContext) => unknown): void {
  for (const [way, Way] of [
    ["HTTP/1.1", PoolSender],
    ["links", LinkSender],
  ] as const)
    test(`${name} (${way})`, async (context) => {
      await run({
        after: (task) => context.after(async () => void (await task())),
        newSender(over) {
          const sender = new Way({ key: KEY, clock: systemClock, ...over });
          context.after(() => sender.close(0));
          return sender;
        },
      });
    });
}

/** The same with each reader of HTTP/1 at the node that serves. */
function testBoth(name: string, run: (context: TestContext & Pick<Case, "transport">) => unknown): void {
  for (const transport of transportNames)
    testWays(`${name} (${transport})`, (context) => run({ ...context, transport }));
}

function caseOf(context: Pick<TestContext, "after">): Case {
  return { transport: "larder", after: (task) => context.after(task) };
}

interface Owner {
  readonly at: OwnerAddress;
  readonly bench: Bench<Peer>;
  /** Addresses whose connections have not shown the key. */
  readonly refused: string[];
  readonly keys: SharedKeys;
  /** It serves the area no longer. */
  withdraw(): void;
}

/** A node that accepts forwarded requests, and serves the area if it has a handler. */
async function startOwner(
  context: Pick<TestContext, "after">,
  handle: Handler | undefined,
  { key = KEY, transport, host = "127.0.0.1" }: Partial<Pick<Case, "transport"> & { key: NamedKey; host: string }> = {},
): Promise<Owner> {
  const refused: string[] = [];
  let area: HttpService | undefined = handle && namedOwner({ handle, ...limits }, "b");
  const inner = innerService({ area: "store", service: limits, serving: () => area });
  const keys = new SharedKeys([key]);
  const bench = await start({ ...caseOf(context), ...(transport && { transport }) }, inner.handle, {
    ...{ area: inner, budgetBytes: BUDGET_BYTES, tls: keys, host, besideHttp1: withLinks(log) },
    onHandshakeFailed: (address) => void refused.push(address),
  });
  const withdraw = (): void => {
    area = undefined;
  };
  return { at: { node: "b", host, port: bench.listener.port }, bench, refused, keys, withdraw };
}

/** A connection to the port of a node, made as by another node. */
function keyed({ host, port }: OwnerAddress): Peer {
  return new Peer(connectWithKey({ host, port }, KEY));
}

/** A node that serves nothing. */
async function startFront(context: TestContext, at: OwnerAddress | undefined, waitMs = 0): Promise<Bench<Peer>> {
  const sender = context.newSender();
  const front = new Front({ area: "store", service: limits, sender, clock: systemClock, waitMs });
  if (at !== undefined) front.follow({ kind: "node", at });
  context.after(() => front.close(0));
  const area = { ...limits, refuseEarly: (head: RequestHead) => front.refuseEarly(head) };
  return start(caseOf(context), front.handle, { area, budgetBytes: BUDGET_BYTES });
}

/** Sends a request without a front. */
async function send(context: TestContext, at: OwnerAddress, over: Partial<HttpRequest> = {}): Promise<SendOutcome> {
  const sender = context.newSender();
  return sender.send(at, { ...request, ...over });
}

const request: HttpRequest = {
  ...{ method: "POST", target: "/set/k", rawHeaders: ["Host", "a"], body: Buffer.from("1"), id: "1" },
  ...{ header: () => undefined, remoteAddress: "192.0.2.7", remotePort: 9 },
};

/** A server of bytes that has the key. `talk` is called with each piece that a connection receives. */
async function startRaw(context: TestContext, talk: (socket: Socket, piece: string) => void): Promise<OwnerAddress> {
  const server = createTlsServer({ ...new SharedKeys([KEY]).serverOptions }, (socket) => {
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
const FORWARDED = "Larder-Forwarded: 2;9;192.0.2.7\r\n";

testWays("method, target, headers, body and the address of the client arrive as they were sent", async (context) => {
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

testWays("long bodies pass in both ways", async (context) => {
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

testWays("the answer to HEAD has the length of the body that is not sent", async (context) => {
  const owner = await startOwner(context, () => reply("four"));
  const front = await startFront(context, owner.at);
  const answer = await front.open().send(`HEAD / HTTP/1.1\r\nHost: a\r\n${CLOSE}\r\n`).untilClosed();
  assert.match(answer, /\r\nContent-Length: 4\r\n/);
  assert.match(answer, /\r\n\r\n$/);
});

testWays("pipelined requests are carried out and answered in their order", async (context) => {
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

testWays("a node that does not serve the area answers 421 and asks nobody else", async (context) => {
  const owner = await startOwner(context, undefined);
  assert.deepEqual(await send(context, owner.at), { kind: "not executed" });
  assert.deepEqual(owner.refused, []);
  assert.equal(owner.bench.observations.length, 1);
});

testWays("a probe says whether a node serves the area", async (context) => {
  const handled: string[] = [];
  const serving = await startOwner(context, ({ target }) => {
    handled.push(target);
    return reply("no");
  });
  const idle = await startOwner(context, undefined);
  const sender = context.newSender();
  assert.deepEqual([await sender.probe(serving.at), await sender.probe(idle.at)], [true, false]);
  const stranger = context.newSender({ key: NEXT });
  assert.equal(await stranger.probe(serving.at), false);
  assert.deepEqual(handled, []);
});

testWays("a node that stops refuses with 421 what was on its way, with a body or without", async (context) => {
  const owner = await startOwner(context, () => reply("served"));
  const half = keyed(owner.at).send(`POST /a HTTP/1.1\r\nHost: a\r\n${FORWARDED}Content-Length: 4\r\n\r\nbo`);
  await untilOpen(owner.bench.listener, 1);
  owner.withdraw();
  assert.deepEqual(await send(context, owner.at), { kind: "not executed" });
  const closed = owner.bench.listener.close(60_000);
  assert.match(await half.untilClosed(), /^HTTP\/1\.1 421 [\s\S]*larder-not-executed/);
  await closed;
});

testBoth("a node of another cluster has carried nothing out, and its request is not read", async (context) => {
  let handledCount = 0;
  const handle: Handler = () => {
    handledCount += 1;
    return reply("no");
  };
  for (const key of [NEXT, { ...KEY, secret: NEXT.secret }]) {
    const owner = await startOwner(context, handle, { key, transport: context.transport });
    assert.deepEqual(await send(context, owner.at), { kind: "not executed" });
    assert.deepEqual([owner.refused, owner.bench.observations], [["127.0.0.1"], []]);
  }
  assert.equal(handledCount, 0);
});

testBoth("nodes forward to each other over IPv4 and IPv6", async (context) => {
  for (const host of ["127.0.0.1", "::1"]) {
    const owner = await startOwner(context, ({ remoteAddress }) => reply(remoteAddress), {
      host,
      transport: context.transport,
    });
    const outcome = await send(context, owner.at, { remoteAddress: "2001:db8::7" });
    assert.ok(outcome.kind === "answered" && "body" in outcome.reply, host);
    assert.equal(String(outcome.reply.body), "2001:db8::7");
  }
});

testWays(
  "a node that does not say whose request it forwards is refused, before a long body is read",
  async (context) => {
    const owner = await startOwner(context, () => reply("served"));
    for (const value of ["", "Larder-Forwarded: 1;9;192.0.2.7\r\n", FORWARDED + FORWARDED]) {
      const answer = await keyed(owner.at)
        .send(`POST / HTTP/1.1\r\nHost: a\r\n${value}Content-Length: 3000000\r\n\r\n`)
        .until(/\}$/);
      assert.match(answer, /^HTTP\/1\.1 421 [\s\S]*does not say for which client/, value);
      const short = await keyed(owner.at)
        .send(get("/", CLOSE + value))
        .untilClosed();
      assert.match(short, /^HTTP\/1\.1 421 /, value);
    }
  },
);

testWays(
  "the header of a forwarded request changes nothing on the port for clients, and does not pass through it",
  async (context) => {
    const seen: unknown[] = [];
    const handle: Handler = ({ remoteAddress, rawHeaders }) => {
      seen.push([remoteAddress, rawHeaders.filter((text) => /forwarded|2;9/i.test(text))]);
      return reply("served");
    };
    const owner = await startOwner(context, handle);
    const front = await startFront(context, owner.at);
    await front
      .open()
      .send(get("/", CLOSE + FORWARDED))
      .untilClosed();
    const alone = await start(caseOf(context), handle);
    await alone
      .open()
      .send(get("/", CLOSE + FORWARDED))
      .untilClosed();
    assert.deepEqual(seen, [
      ["127.0.0.1", []],
      ["127.0.0.1", ["Larder-Forwarded", "2;9;192.0.2.7"]],
    ]);
  },
);

testWays("a burst of two thousand requests over no open connection is carried out", async (context) => {
  let handledCount = 0;
  const owner = await startOwner(context, () => {
    handledCount += 1;
    return reply("served");
  });
  const sender = context.newSender();
  const outcomes = await Promise.all(Array.from({ length: 2_000 }, () => sender.send(owner.at, request)));
  assert.deepEqual([...new Set(outcomes.map(({ kind }) => kind))], ["answered"]);
  assert.equal(handledCount, 2_000);
});

testWays(
  "connections are made with the key that is offered last, and those of the key before end after their requests",
  async (context) => {
    const under = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const owner = await startOwner(context, async ({ target }) => {
      if (target !== "/slow") return reply(target);
      begun.resolve();
      await under.promise;
      return reply("slow");
    });
    const sender = context.newSender();
    const slow = sender.send(owner.at, { ...request, target: "/slow" });
    await begun.promise;
    owner.keys.replace([NEXT, KEY]);
    sender.offer(NEXT);
    assert.equal((await sender.send(owner.at, request)).kind, "answered");
    under.resolve();
    assert.equal((await slow).kind, "answered");
    owner.keys.replace([NEXT]);
    assert.equal((await sender.send(owner.at, request)).kind, "answered");
    assert.deepEqual(owner.refused, []);
  },
);

testWays("a node that cannot be connected to has carried nothing out", async (context) => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const port = portOf(server);
  await new Promise((resolve) => server.close(resolve));
  assert.deepEqual(await send(context, { node: "b", host: "127.0.0.1", port }), { kind: "not executed" });
});

testWays(
  "a connection that ends after the first byte was sent leaves the outcome unknown, and nothing is sent twice",
  async (context) => {
    const received: string[] = [];
    const at = await startRaw(context, (socket, piece) => {
      const [line = ""] = piece.split("\r\n");
      // A second attempt would succeed.
      if (received.includes(line)) socket.write("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n}");
      else socket.destroy();
      received.push(line);
    });
    const front = await startFront(context, at, 10_000);
    const peer = front.open();
    const answer = await peer.send(post("/incr/k", "1") + get("/next")).until(/\}[\s\S]*\}$/);
    assert.equal(answer.match(/HTTP\/1\.1 502 Bad Gateway\r\n/g)?.length, 2);
    assert.equal(answer.match(/the request may have been carried out"\}/g)?.length, 2);
    assert.deepEqual(received, ["POST /incr/k HTTP/1.1", "GET /next HTTP/1.1"]);
    peer.destroy();
  },
);

testWays("a method that the HTTP client does not write is refused, and not waited for", async (context) => {
  const owner = await startOwner(context, () => reply("no"));
  assert.deepEqual(await send(context, owner.at, { method: "A B" }), { kind: "unsendable" });
});

testWays("half an answer is no answer", async (context) => {
  const at = await startRaw(context, (socket) => socket.end("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"));
  assert.deepEqual(await send(context, at), { kind: "lost" });
});

testWays("a connection is used again, and one that was closed meanwhile is not", async (context) => {
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

testWays("an event stream passes through until the client closes it", async (context) => {
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

testWays("an event stream ends with its source, and is cut if the source is", async (context) => {
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

testWays("an event stream whose client does not read stops its source", async (context) => {
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

testWays("an answer that has no room is lost, and its memory is free", async (context) => {
  const owner = await startOwner(context, () => reply("y".repeat(3_000_000)));
  const outcome = await send(context, owner.at, { takeReply: () => false });
  assert.deepEqual(outcome, { kind: "lost" });
});

testWays("requests to a former owner end when it has had time to answer", async (context) => {
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
  const sender = context.newSender({ clock });
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
