/** The frames that a node sends and gets whose links other nodes have opened. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  askingPeer,
  headOf,
  LINK_KEY,
  type LinkPeer,
  openRest,
  type SentFrame,
  uint,
} from "../../../../test/harness/link-peer.ts";
import {
  type Bench,
  gate,
  type Options,
  type Peer,
  reply,
  start,
  untilOpen,
} from "../../../../test/harness/listener-bench.ts";
import { systemClock } from "../../../kernel/clock.ts";
import { VirtualClock } from "../../../kernel/clock.virtual.ts";
import { createLog } from "../../../kernel/log.ts";
import type { Handler, HttpReply, StreamSink } from "../../handler.ts";
import { SharedKeys } from "../../http/shared-key.ts";
import type { ByteStream } from "../byte-stream.ts";
import { innerService } from "../inner-service.ts";
import { FORMER_LINK_PROTOCOL, TUNNEL_WINDOW_BYTES } from "./frames.ts";
import { withLinks } from "./transport.ts";

interface TestContext {
  after(task: () => unknown): void;
}

interface Owner extends Bench<Peer> {
  readonly warnings: string[];
  ask(): LinkPeer;
}

async function startOwner(context: TestContext, handle: Handler, options: Options = {}): Promise<Owner> {
  const warnings: string[] = [];
  const log = createLog({ level: "warn", format: "json", clock: systemClock, sink: (line) => warnings.push(line) });
  const area = { handle, bodyBytesMax: () => 100_000 };
  const inner = innerService({ area: "store", service: area, serving: () => area });
  const each = { transport: "larder", after: (task: () => unknown) => context.after(task) } as const;
  const bench = await start(each, inner.handle, {
    ...{ area: inner, budgetBytes: 64_000_000, tls: new SharedKeys([LINK_KEY]), besideHttp1: withLinks(log) },
    ...options,
  });
  const ask = (): LinkPeer => {
    const peer = askingPeer(bench.listener);
    context.after(() => peer.socket.destroy());
    return peer;
  };
  return { ...bench, warnings, ask };
}

/** The rest of a request whose head is in this place. */
function requestRest(place: number, { body = "", syncToken = "" } = {}): string {
  return uint(place) + uint(syncToken.length, 2) + syncToken + body;
}

/** Of an answer: its number, status and body. */
async function answerOf(peer: LinkPeer): Promise<readonly [number: number, status: number, body: string]> {
  const { number, rest } = await peer.next("answer");
  const bytes = Buffer.from(rest, "latin1");
  return [number, bytes.readUInt16BE(0), rest.slice(10 + bytes.readUInt32BE(6))];
}

test("an answer has its status, the fields of the area and the body", async (context) => {
  const seen: unknown[] = [];
  const owner = await startOwner(context, ({ method, target, rawHeaders, remoteAddress, remotePort, body }) => {
    seen.push([method, target, rawHeaders, remoteAddress, remotePort, String(body)]);
    return { status: 201, headers: ["X-One", "1", "Connection", "close", "x-two", "\xe9"], body: "\u20ac" };
  });
  const peer = owner
    .ask()
    .send(["head", 0, headOf("PUT", "/k", "X: y\r\n")], ["request", 1, requestRest(0, { body: "b" })]);
  const { number, rest } = await peer.next();
  assert.deepEqual(seen, [["PUT", "/k", ["Host", "a", "X", "y"], "192.0.2.7", 9, "b"]]);
  assert.equal(number, 1);
  assert.equal(rest, `${uint(201, 2)}${uint(3)}${uint(15)}X-One\n1\nx-two\n\xe9\xe2\x82\xac`);
});

test("answers come when they are ready, and not in the order of their requests", async (context) => {
  const slow = gate<HttpReply>();
  const owner = await startOwner(context, ({ target }) => (target === "/slow" ? slow.promise : reply(target)));
  const peer = owner
    .ask()
    .send(["head", 1, headOf("GET", "/slow")], ["head", 2, headOf("GET", "/b")])
    .send(["request", 1, requestRest(1)], ["request", 2, requestRest(2)], ["request", 3, requestRest(2)]);
  assert.deepEqual(
    [await answerOf(peer), await answerOf(peer)],
    [
      [2, 200, "/b"],
      [3, 200, "/b"],
    ],
  );
  slow.open(reply("at last"));
  assert.deepEqual(await answerOf(peer), [1, 200, "at last"]);
});

test("the requests of a packet are answered in one write", async (context) => {
  const owner = await startOwner(context, () => reply("x"));
  const peer = owner.ask();
  let packetCount = 0;
  peer.send(["head", 1, headOf("GET", "/")], ["request", 1, requestRest(1)]);
  await answerOf(peer);
  peer.socket.on("data", () => {
    packetCount += 1;
  });
  peer.send(...Array.from({ length: 50 }, (_, i) => ["request", i + 2, requestRest(1)] as const));
  for (let i = 0; i < 50; i += 1) await answerOf(peer);
  assert.equal(packetCount, 1);
});

test("a head in a place is known until another one takes the place, with what the area has learnt of it", async (context) => {
  const seen: unknown[] = [];
  const owner = await startOwner(context, (request) => {
    const { memo, target, rawHeaders } = request;
    seen.push([target, memo?.learnt, rawHeaders.at(-1)]);
    if (memo !== undefined) memo.learnt = (Number(memo.learnt ?? 0) as number) + 1;
    return reply("");
  });
  const peer = owner.ask();
  peer.send(
    ["head", 7, headOf("GET", "/a", "Upstash-Sync-Token: first\r\n")],
    ["request", 1, requestRest(7)],
    ["request", 2, requestRest(7, { syncToken: "second" })],
    ["request", 3, requestRest(7, { syncToken: "third" })],
    ["head", 7, headOf("GET", "/b", "X: y\r\n")],
    ["request", 4, requestRest(7)],
    ["head", 0, headOf("GET", "/c")],
    ["request", 5, requestRest(0)],
  );
  for (let i = 0; i < 5; i += 1) await answerOf(peer);
  assert.deepEqual(seen, [
    ["/a", undefined, "first"],
    ["/a", 1, "second"],
    ["/a", 2, "third"],
    ["/b", undefined, "y"],
    ["/c", undefined, "a"],
  ]);
});

test("a head that HTTP/1.1 would refuse is refused, and the next request is served", async (context) => {
  const owner = await startOwner(context, () => reply("served"), { limits: { headerBytesMax: 200 } });
  const cases: readonly (readonly [head: string, status: number])[] = [
    ["", 400],
    ["GET / HTTP/1.1\r\nHost: a\r\n", 400],
    ["GET / HTTP/1.1\r\nHost: a\r\n\r\nX", 400],
    ["GET / HTTP/1.1\r\nHost: a\nX: y\r\n\r\n", 400],
    [headOf("GET", "/", "Content-Length: 1\r\n"), 400],
    [headOf("GET", "/", "Transfer-Encoding: chunked\r\n"), 400],
    [headOf("GET", "/", "Host: b\r\n"), 400],
    [headOf("CONNECT", "/"), 405],
    [headOf("GET", "/", `X: ${"y".repeat(200)}\r\n`), 431],
    ["GET / HTTP/1.1\r\nHost: a\r\n\r\n", 421],
  ];
  const peer = owner.ask();
  for (const [i, [head, status]] of cases.entries()) {
    peer.send(["head", 0, head], ["request", 2 * i + 1, requestRest(0)]);
    assert.deepEqual((await answerOf(peer)).slice(0, 2), [2 * i + 1, status], head);
    peer.send(["head", 0, headOf("GET", "/")], ["request", 2 * i + 2, requestRest(0)]);
    assert.deepEqual(await answerOf(peer), [2 * i + 2, 200, "served"], head);
  }
  assert.deepEqual(owner.warnings, []);
});

const HEAD = ["head", 1, headOf("GET", "/", "Upstash-Sync-Token: t\r\n")] as const;
const TWO_TOKENS = headOf("GET", "/", "Upstash-Sync-Token: t\r\nService-Sync-Token: t\r\n");
const REQUEST = ["request", 1, requestRest(1)] as const;

const faults: readonly (readonly [name: string, fault: string, ...frames: readonly SentFrame[]])[] = [
  ["an unknown kind", "a frame has the kind 17", [17, 1]],
  ["a kind of the owner", "a frame has the kind 12", ["opened", 1]],
  ["a tunnel whose number is left out", "tunnel 2 has no place", ["open", 2, openRest(4)]],
  ["a tunnel without an address", "a frame of kind 11 is too short", ["open", 1, uint(4)]],
  ["a tunnel of a long address", "an address has 65 bytes", ["open", 1, openRest(4, "x".repeat(65))]],
  ["data of a tunnel that was not opened", "tunnel 1 was not opened", ["tunnelData", 1, "x"]],
  ["the tunnel 0", "tunnel 0 was not opened", ["tunnelEnd", 0]],
  ["a kind of the other side", "a frame has the kind 5", [5, 1]],
  ["a place beyond the table", "a head has the place 4097", ["head", 4_097, headOf("GET", "/")]],
  [
    "a long head to be kept",
    "a kept head has 5065 bytes",
    ["head", 1, headOf("GET", "/", `X: ${"y".repeat(5_000)}\r\n`)],
  ],
  ["a place without a head", "the head in place 2 is unknown", HEAD, ["request", 1, requestRest(2)]],
  [
    "a place beyond the table in a request",
    "the head in place 4294967295 is unknown",
    ["request", 1, requestRest(2 ** 32 - 1)],
  ],
  [
    "a head for one request, used twice",
    "the head in place 0 is unknown",
    ["head", 0, headOf("GET", "/")],
    ["request", 1, requestRest(0)],
    ["request", 2, requestRest(0)],
  ],
  ["the number 0", "request 0 follows 0", HEAD, ["request", 0, requestRest(1)]],
  ["a number that is left out", "request 2 follows 0", HEAD, ["request", 2, requestRest(1)]],
  ["a number that comes twice", "request 1 follows 1", HEAD, REQUEST, REQUEST],
  ["a request without a place", "a frame of kind 2 is too short", HEAD, ["request", 1, "\0\0\0"]],
  ["a request without a length of its sync token", "a frame of kind 2 is too short", HEAD, ["request", 1, uint(1)]],
  [
    "a sync token longer than its frame",
    "a frame of kind 2 is too short",
    HEAD,
    ["request", 1, `${uint(1)}${uint(5, 2)}abc`],
  ],
  [
    "a sync token with a line end",
    "a request has an unexpected sync token",
    HEAD,
    ["request", 1, requestRest(1, { syncToken: "a\r\nX: y" })],
  ],
  [
    "a sync token that its head has not",
    "a request has an unexpected sync token",
    ["head", 1, headOf("GET", "/")],
    ["request", 1, requestRest(1, { syncToken: "a" })],
  ],
  ["a kept head with two sync tokens", "a request has an unexpected sync token", ["head", 1, TWO_TOKENS], REQUEST],
  ["a credit for a request that was not sent", "request 1 was not sent", ["credit", 1, uint(1)]],
  ["a credit without bytes", "a frame of kind 3 is too short", HEAD, REQUEST, ["credit", 1]],
  ["a cancel of the request 0", "request 0 was not sent", ["cancel", 0]],
  ["a credit above the window", "a credit of 1 bytes is too large", HEAD, REQUEST, ["credit", 1, uint(1)]],
];

test("a frame that has no place ends its link with a line in the log, and no other link", async (context) => {
  const owner = await startOwner(context, () => new Promise(() => {}));
  const other = owner.ask().send(HEAD, REQUEST);
  await untilOpen(owner.listener, 1);
  for (const [name, fault, ...frames] of faults) {
    const peer = owner.ask().send(...frames);
    await peer.closed;
    const [line = "{}"] = owner.warnings.splice(0);
    const { event, fault: logged } = JSON.parse(line);
    assert.deepEqual([event, logged], ["a link of another node broke the protocol", fault], name);
    await untilOpen(owner.listener, 1);
  }
  assert.equal(other.socket.closed, false);
});

test("bytes that are no frames end the link", async (context) => {
  const owner = await startOwner(context, () => reply(""));
  const peer = owner.ask();
  peer.socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  await peer.closed;
  assert.match(owner.warnings.join(), /a frame has 1195725856 bytes/);
});

/** The pieces of an answer, as far as they come without a further credit. */
async function piecesOf(peer: LinkPeer, bytes: number): Promise<string> {
  let body = "";
  while (body.length < bytes) {
    const { kind, rest } = await peer.next();
    assert.equal(kind, "data");
    assert.ok(rest.length <= 65_536);
    body += rest;
  }
  return body;
}

test("a long answer is sent in pieces, within the window and the credits", async (context) => {
  const body = Buffer.alloc(600_000, "0123456789");
  const owner = await startOwner(context, ({ target }) =>
    target === "/long" ? { ...reply(""), body } : reply("short"),
  );
  const peer = owner.ask().send(["head", 1, headOf("GET", "/long")], ["head", 2, headOf("GET", "/b")], REQUEST);
  assert.deepEqual(await peer.next(), {
    kind: "begin",
    number: 1,
    rest: `${uint(200, 2)}${uint(600_000)}Content-Type\ntext/plain`,
  });
  let received = await piecesOf(peer, 262_144);
  // The window is used up, and other answers come.
  peer.send(["request", 2, requestRest(2)]);
  assert.deepEqual(await answerOf(peer), [2, 200, "short"]);
  peer.send(["credit", 1, uint(262_144)]);
  received += await piecesOf(peer, 262_144);
  peer.send(["request", 3, requestRest(2)]);
  assert.deepEqual(await answerOf(peer), [3, 200, "short"]);
  assert.ok(owner.budget.usedBytes > 0);
  peer.send(["credit", 1, uint(200_000)]);
  received += await piecesOf(peer, 600_000 - 2 * 262_144);
  assert.equal(received, body.toString("latin1"));
  await untilOpen(owner.listener, 0);
  assert.equal(owner.budget.usedBytes, 0);
  assert.deepEqual(peer.frames, []);
});

test("long answers take turns, piece by piece", async (context) => {
  const owner = await startOwner(context, () => ({ ...reply(""), body: Buffer.alloc(200_000) }));
  const peer = owner.ask().send(["head", 1, headOf("GET", "/")]);
  peer.send(...[1, 2, 3].map((number) => ["request", number, requestRest(1)] as const));
  const order: number[] = [];
  for (let bytes = 0; bytes < 600_000; ) {
    const { number, rest } = await peer.next("data");
    order.push(number);
    bytes += rest.length;
  }
  assert.deepEqual(order, [1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3]);
});

test("the answer to HEAD, and to a request without content, has no body", async (context) => {
  const owner = await startOwner(context, ({ target }) => ({
    status: target === "/none" ? 204 : 200,
    headers: [],
    body: "four",
  }));
  const peer = owner.ask().send(["head", 1, headOf("HEAD", "/")], REQUEST);
  assert.equal((await peer.next()).rest, uint(200, 2) + uint(4) + uint(0));
  peer.send(["head", 1, headOf("GET", "/none")], ["request", 2, requestRest(1)]);
  assert.equal((await peer.next()).rest, uint(204, 2) + uint(0) + uint(0));
});

/** Answers with a stream. */
function streaming(): { handle: Handler; opened: Promise<StreamSink>; closed: Promise<void> } {
  const opened = gate<StreamSink>();
  const closed = gate<void>();
  const handle: Handler = () => ({
    ...{ status: 200, headers: ["Content-Type", "text/event-stream"] },
    open(sink) {
      opened.open(sink);
      return () => closed.open();
    },
  });
  return { handle, opened: opened.promise, closed: closed.promise };
}

test("a stream is sent as it comes, and its end is a frame", async (context) => {
  const { handle, opened } = streaming();
  const owner = await startOwner(context, handle);
  const peer = owner.ask().send(HEAD, REQUEST);
  assert.deepEqual(await peer.next(), {
    kind: "begin",
    number: 1,
    rest: `${uint(200, 2)}${uint(0xffff_ffff)}Content-Type\ntext/event-stream`,
  });
  const sink = await opened;
  sink.write("data: \u20ac\n\n");
  assert.deepEqual(await peer.next(), { kind: "data", number: 1, rest: "data: \xe2\x82\xac\n\n" });
  sink.end();
  assert.deepEqual(await peer.next(), { kind: "end", number: 1, rest: "" });
});

test("a stream without credit waits with its bytes, and another request is answered", async (context) => {
  const { handle, opened } = streaming();
  const owner = await startOwner(context, (request) => (request.target === "/b" ? reply("b") : handle(request)));
  const peer = owner.ask().send(HEAD, REQUEST, ["head", 2, headOf("GET", "/b")]);
  const sink = await opened;
  sink.write("x".repeat(300_000));
  await peer.next("begin");
  await piecesOf(peer, 262_144);
  peer.send(["request", 2, requestRest(2)]);
  assert.deepEqual(await answerOf(peer), [2, 200, "b"]);
  assert.equal(sink.queuedBytes, 37_856);
  peer.send(["credit", 1, uint(40_000)]);
  await piecesOf(peer, 37_856);
  assert.equal(sink.queuedBytes, 0);
});

test("a cancelled stream ends at its source, and a frame about it that was on its way is ignored", async (context) => {
  const { handle, closed } = streaming();
  const owner = await startOwner(context, (request) => (request.target === "/b" ? reply("b") : handle(request)));
  const peer = owner.ask().send(HEAD, REQUEST, ["head", 2, headOf("GET", "/b")]);
  await peer.next("begin");
  peer.send(["cancel", 1]);
  await closed;
  await untilOpen(owner.listener, 0);
  peer.send(["cancel", 1], ["credit", 1, uint(9)], ["request", 2, requestRest(2)]);
  assert.deepEqual(await answerOf(peer), [2, 200, "b"]);
});

test("a stream that is cut at its source is reset", async (context) => {
  const { handle, opened } = streaming();
  const owner = await startOwner(context, handle);
  const peer = owner.ask().send(HEAD, REQUEST);
  await peer.next("begin");
  (await opened).abort();
  assert.deepEqual(await peer.next(), { kind: "reset", number: 1, rest: "" });
});

test("a link that ends with requests under way frees what they hold", async (context) => {
  const { handle, closed } = streaming();
  const owner = await startOwner(context, (request) =>
    request.target === "/" ? handle(request) : { ...reply(""), body: Buffer.alloc(900_000) },
  );
  const peer = owner.ask().send(HEAD, REQUEST, ["head", 2, headOf("GET", "/long")], ["request", 2, requestRest(2)]);
  await peer.next("data");
  assert.equal(owner.budget.usedBytes, 900_000);
  peer.socket.destroy();
  await closed;
  await untilOpen(owner.listener, 0);
  assert.equal(owner.budget.usedBytes, 0);
});

test("a drain asks for no more requests, answers those under way, and ends the link after them", async (context) => {
  const slow = gate<HttpReply>();
  const owner = await startOwner(context, () => slow.promise);
  const peer = owner.ask().send(HEAD, REQUEST);
  await untilOpen(owner.listener, 1);
  const closed = owner.listener.close(60_000);
  assert.deepEqual(await peer.next(), { kind: "goodbye", number: 0, rest: "" });
  slow.open(reply("late"));
  assert.deepEqual(await answerOf(peer), [1, 200, "late"]);
  peer.socket.end();
  await closed;
});

test("a drain ends a link without requests, although its peer does nothing", async (context) => {
  const owner = await startOwner(context, () => reply(""));
  const peer = owner.ask().send(HEAD, REQUEST);
  await answerOf(peer);
  await owner.listener.close(60_000);
  await peer.closed;
});

test("a link without requests ends after the time of an idle connection, and an answer that is not read after that of a stalled one", async (context) => {
  const clock = new VirtualClock();
  const owner = await startOwner(context, () => ({ ...reply(""), body: Buffer.alloc(900_000) }), { clock });
  const idle = owner.ask().send(HEAD);
  const stalled = owner.ask().send(HEAD, REQUEST);
  for (let i = 0; i < 4; i += 1) await stalled.next("data");
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 1_000) {
      clock.advance(1_000);
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  await pass(60_000);
  assert.deepEqual([idle.socket.closed, stalled.frames], [false, []]);
  await pass(3_000);
  assert.deepEqual(await stalled.next(), { kind: "reset", number: 1, rest: "" });
  await pass(14_000);
  await idle.closed;
  stalled.socket.destroy();
});

/** A node that takes tunnels to shard 4: `taken` has them, with `shard address:port`. */
async function startTunnelOwner(
  context: TestContext,
): Promise<Owner & { readonly taken: (readonly [string, ByteStream])[] }> {
  const taken: (readonly [string, ByteStream])[] = [];
  const log = createLog({ level: "error", format: "json", clock: systemClock, sink: () => {} });
  const owner = await startOwner(context, () => reply("x"), {
    besideHttp1: withLinks(log, (shard, { address, port }) =>
      shard === 4 ? (stream) => void taken.push([`${shard} ${address}:${port}`, stream]) : undefined,
    ),
  });
  return { ...owner, taken };
}

test("a tunnel to a shard that is served here is opened for its client, and its bytes share a write with answers", async (context) => {
  const owner = await startTunnelOwner(context);
  const peer = owner.ask().send(["head", 1, headOf("GET", "/")], ["open", 1, openRest(4)], ["open", 2, openRest(5)]);
  assert.deepEqual(await peer.next(), { kind: "opened", number: 1, rest: "" });
  assert.deepEqual(await peer.next(), { kind: "tunnelReset", number: 2, rest: "" });
  const [[name, stream] = ["", undefined]] = owner.taken;
  assert.equal(name, "4 192.0.2.7:9");
  assert.equal(stream?.remoteAddress, "127.0.0.1");
  const heard: string[] = [];
  stream?.on("data", (piece) => {
    heard.push(String(piece));
    stream.write(`<${piece}>`, "latin1");
  });
  let packetCount = 0;
  peer.socket.on("data", () => {
    packetCount += 1;
  });
  peer.send(["tunnelData", 1, "one"], ["request", 1, requestRest(1)], ["tunnelData", 1, "two"]);
  assert.deepEqual(await peer.next("tunnelData"), { kind: "tunnelData", number: 1, rest: "<one>" });
  assert.deepEqual(await answerOf(peer), [1, 200, "x"]);
  assert.deepEqual(await peer.next(), { kind: "tunnelData", number: 1, rest: "<two>" });
  assert.deepEqual([heard, packetCount], [["one", "two"], 1]);
  // Frames about one that was refused have crossed.
  peer.send(["tunnelData", 2, "late"], ["tunnelEnd", 1]);
  stream?.once("end", () => stream.end());
  assert.deepEqual(await peer.next(), { kind: "tunnelEnd", number: 1, rest: "" });
});

test("a link of the version before has no tunnels", async (context) => {
  const owner = await startOwner(context, () => reply("x"));
  const peer = askingPeer(owner.listener, FORMER_LINK_PROTOCOL);
  context.after(() => peer.socket.destroy());
  peer.send(["head", 1, headOf("GET", "/")], ["request", 1, requestRest(1)]);
  assert.deepEqual(await answerOf(peer), [1, 200, "x"]);
  peer.send(["open", 1, openRest(4)]);
  await peer.closed;
  assert.match(owner.warnings.join(), /a frame has the kind 11/);
});

test("when the link ends, its tunnels close; when it leaves, they go on and no other one is taken", async (context) => {
  const owner = await startTunnelOwner(context);
  const peer = owner.ask().send(["open", 1, openRest(4)]);
  await peer.next("opened");
  const closing = owner.listener.close(60_000);
  await peer.next("goodbye");
  peer.send(["open", 2, openRest(4)], ["tunnelData", 1, "x"]);
  assert.deepEqual(await peer.next(), { kind: "tunnelReset", number: 2, rest: "" });
  const [[, stream] = ["", undefined]] = owner.taken;
  assert.ok(stream !== undefined);
  stream.write("last", "latin1");
  assert.deepEqual(await peer.next(), { kind: "tunnelData", number: 1, rest: "last" });
  const closed = new Promise<void>((resolve) => void stream.once("close", resolve));
  peer.socket.destroy();
  await Promise.all([closed, closing]);
});

test("a client of a tunnel that reads nothing stops its own bytes, and the answers of others go on", async (context) => {
  const owner = await startTunnelOwner(context);
  const peer = owner.ask().send(["head", 1, headOf("GET", "/")], ["open", 1, openRest(4)]);
  await peer.next("opened");
  const [[, stream] = ["", undefined]] = owner.taken;
  stream?.write("x".repeat(1_000_000), "latin1");
  let bytes = 0;
  while (bytes < TUNNEL_WINDOW_BYTES) bytes += (await peer.next("tunnelData")).rest.length;
  peer.send(["request", 1, requestRest(1)]);
  // Without a further piece before it.
  assert.equal((await peer.next()).kind, "answer");
  assert.deepEqual([bytes, stream?.writableLength], [TUNNEL_WINDOW_BYTES, 1_000_000 - TUNNEL_WINDOW_BYTES]);
  peer.send(["tunnelCredit", 1, uint(1_000)]);
  assert.equal((await peer.next("tunnelData")).rest.length, 1_000);
});

test("a short answer waits for a bounded part of the bytes of many tunnels", async (context) => {
  const owner = await startTunnelOwner(context);
  const count = 40;
  const opens = Array.from({ length: count }, (_, i) => ["open", i + 1, openRest(4)] as const);
  const peer = owner.ask().send(["head", 1, headOf("GET", "/")], ...opens);
  for (let i = 0; i < count; i += 1) await peer.next("opened");
  for (const [, stream] of owner.taken) stream.on("data", () => void stream.write("x".repeat(60_000), "latin1"));
  const asks = Array.from({ length: count }, (_, i) => ["tunnelData", i + 1, "ask"] as const);
  peer.send(...asks, ["request", 1, requestRest(1)]);
  let before = 0;
  for (let frame = await peer.next(); frame.kind !== "answer"; frame = await peer.next()) before += frame.rest.length;
  // Of 2,400,000: 256 KiB, and the piece with which they become more.
  assert.equal(before, 300_000);
  for (let all = before; all < count * 60_000; ) all += (await peer.next("tunnelData")).rest.length;
});
