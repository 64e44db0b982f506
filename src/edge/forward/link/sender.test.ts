/** Requests over links to nodes whose frames a test writes, and to nodes without links. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createServer } from "node:tls";
import {
  answerRest,
  LINK_KEY,
  type LinkPeer,
  type OwningPeers,
  owningPeers,
  type SentFrame,
  uint,
} from "../../../../test/harness/link-peer.ts";
import { reply, start } from "../../../../test/harness/listener-bench.ts";
import { type Clock, systemClock } from "../../../kernel/clock.ts";
import { createLog } from "../../../kernel/log.ts";
import type { HeadMemo, HttpReply, HttpRequest, HttpStream, StreamSink } from "../../handler.ts";
import { SharedKeys } from "../../http/shared-key.ts";
import type { OwnerAddress, SendOutcome } from "../front.ts";
import { innerService } from "../inner-service.ts";
import { LinkSender, PLAIN_MS } from "./sender.ts";
import { withLinks } from "./transport.ts";

interface TestContext {
  after(task: () => unknown): void;
}

const request: HttpRequest = {
  ...{ method: "POST", target: "/set/k", rawHeaders: ["Host", "a"], body: Buffer.from("1"), id: "1" },
  ...{ header: () => undefined, remoteAddress: "192.0.2.7", remotePort: 9 },
};
const LOST: SendOutcome = { kind: "lost" };
const NOT_EXECUTED: SendOutcome = { kind: "not executed" };

function senderOf(context: TestContext, over: { clock?: Clock; warnings?: string[] } = {}): LinkSender {
  const { clock = systemClock, warnings = [] } = over;
  const log = createLog({ level: "warn", format: "json", clock: systemClock, sink: (line) => warnings.push(line) });
  const sender = new LinkSender({ key: LINK_KEY, clock, log });
  context.after(() => sender.close(0));
  return sender;
}

/** The status and the body of an answer, or how it ended otherwise. */
function shown(outcome: SendOutcome): unknown {
  if (outcome.kind !== "answered") return outcome.kind;
  return "body" in outcome.reply ? [outcome.reply.status, textOf(outcome.reply)] : "stream";
}

function textOf({ body }: HttpReply): string {
  return typeof body === "string" ? body : body.toString("latin1");
}

/** A server of links that gives each of its requests, numbered as on its link, these frames. */
function answering(context: TestContext, ...frames: readonly SentFrame[]): Promise<OwningPeers> {
  return owningPeers(context, async (peer) => {
    await peer.next("request");
    peer.send(...frames);
  });
}

test("the requests of a turn leave in one packet over one link, and answers in any order reach their requests", async (context) => {
  let packetCount = 0;
  const owner = await owningPeers(context, async (peer) => {
    peer.socket.on("data", () => {
      packetCount += 1;
    });
    const numbers: number[] = [];
    for (let i = 0; i < 40; i += 1) numbers.push((await peer.next("request")).number);
    peer.send(...numbers.reverse().map((number) => ["answer", number, answerRest(200, "", `to ${number}`)] as const));
  });
  const sender = senderOf(context);
  const outcomes = await Promise.all(Array.from({ length: 40 }, () => sender.send(owner.at, request)));
  assert.deepEqual(
    outcomes.map(shown),
    Array.from({ length: 40 }, (_, i) => [200, `to ${i + 1}`]),
  );
  assert.deepEqual([owner.opened.length, packetCount], [1, 1]);
});

/** A server of links that keeps what it is sent, and answers each request with its number and body. */
async function echoing(context: TestContext): Promise<OwningPeers & { readonly received: unknown[] }> {
  const received: unknown[] = [];
  const owner = await owningPeers(context, async (peer) => {
    for (;;) {
      const { kind, number, rest } = await peer.next();
      received.push([kind, number, rest]);
      if (kind === "request") peer.send(["answer", number, answerRest(200, "", `${number} ${rest.slice(-1)}`)]);
    }
  });
  return { ...owner, received };
}

const FORWARDED = "Larder-Forwarded: 2;9;192.0.2.7\r\n\r\n";

test("a head that repeats is sent once, and the sync token with each request", async (context) => {
  const owner = await echoing(context);
  const sender = senderOf(context);
  const memo: HeadMemo = { learnt: undefined };
  const withToken = (token: string): HttpRequest => ({
    ...request,
    rawHeaders: ["Host", "a", "Upstash-Sync-Token", token, "Content-Length", "1"],
  });
  await sender.send(owner.at, withToken("t0"));
  await sender.send(owner.at, { ...withToken("t1"), memo });
  await sender.send(owner.at, { ...withToken("t2!"), memo, body: Buffer.from("2") });
  await sender.send(owner.at, { ...request, memo: { learnt: undefined }, target: "/b" });
  const head = (token: string): string =>
    `POST /set/k HTTP/1.1\r\nHost: a\r\nUpstash-Sync-Token: ${token}\r\n${FORWARDED}`;
  assert.deepEqual(owner.received, [
    ["head", 0, head("t0")],
    ["request", 1, `${uint(0)}\0\x001`],
    ["head", 1, head("t1")],
    ["request", 2, `${uint(1)}\0\x02t11`],
    ["request", 3, `${uint(1)}\0\x03t2!2`],
    ["head", 2, `POST /b HTTP/1.1\r\nHost: a\r\n${FORWARDED}`],
    ["request", 4, `${uint(2)}\0\x001`],
  ]);
});

test("a head with two sync tokens is sent each time", async (context) => {
  const owner = await echoing(context);
  const sender = senderOf(context);
  const rawHeaders = ["Host", "a", "Upstash-Sync-Token", "a", "Service-Sync-Token", "b"];
  const memo: HeadMemo = { learnt: undefined };
  for (let i = 0; i < 2; i += 1) await sender.send(owner.at, { ...request, rawHeaders, memo });
  assert.deepEqual(
    owner.received.map((frame) => (frame as unknown[]).slice(0, 2)),
    [
      ["head", 0],
      ["request", 1],
      ["head", 0],
      ["request", 2],
    ],
  );
});

test("a sync token that is too long to be sent by itself goes with its head", async (context) => {
  const owner = await echoing(context);
  const sender = senderOf(context);
  const memo: HeadMemo = { learnt: undefined };
  for (const token of ["t", "x".repeat(1_024), "x".repeat(60_000), "t"])
    await sender.send(owner.at, {
      ...request,
      rawHeaders: ["Host", "a", "Upstash-Sync-Token", token],
      memo,
      body: Buffer.alloc(65_536),
    });
  assert.deepEqual(
    owner.received.map((frame) =>
      (frame as [string, number, string]).map((part) => (typeof part === "number" ? part : part.length)),
    ),
    [
      [4, 1, 89],
      [7, 1, 65_543],
      [7, 2, 66_566],
      [4, 0, 60_088],
      [7, 3, 65_542],
      [7, 4, 65_543],
    ],
  );
});

test("a head whose place another one has taken, or that another link has sent, is sent again", async (context) => {
  const owner = await echoing(context);
  const sender = senderOf(context);
  const memos = Array.from({ length: 4_097 }, (): HeadMemo => ({ learnt: undefined }));
  await Promise.all(memos.map((memo) => sender.send(owner.at, { ...request, memo })));
  const send = async (memo: HeadMemo | undefined): Promise<unknown> => {
    owner.received.length = 0;
    await sender.send(owner.at, { ...request, memo });
    return owner.received.map((frame) => (frame as unknown[]).slice(0, 2));
  };
  assert.deepEqual(await send(memos[4_096]), [["request", 4_098]]);
  assert.deepEqual(await send(memos[0]), [
    ["head", 2],
    ["request", 4_099],
  ]);
  assert.deepEqual(await send(memos[1]), [
    ["head", 3],
    ["request", 4_100],
  ]);
  assert.deepEqual(await send(memos[3]), [["request", 4_101]]);
  owner.opened[0]?.socket.destroy();
  await owner.opened[0]?.closed;
  while ((owner.opened.length as number) === 1) await send(memos[3]);
  assert.deepEqual(await send(memos[3]), [["request", 2]]);
});

test("a request that has no form in HTTP/1 is refused, and nothing is sent", async (context) => {
  const owner = await echoing(context);
  const sender = senderOf(context);
  const cases: readonly Partial<HttpRequest>[] = [
    { method: "A B" },
    { method: "" },
    { target: "/a b" },
    { target: "/\r\n" },
    { target: "*" },
    { rawHeaders: ["Host", "a\r\nX: y"] },
    { rawHeaders: ["Ho st", "a"] },
    { rawHeaders: ["Host", "a", "", "b"] },
    { rawHeaders: ["Host", "a", "X", "\u20ac"] },
    { rawHeaders: ["Host", "a", "X", "\0"] },
  ];
  for (const over of cases)
    assert.deepEqual(
      await sender.send(owner.at, { ...request, ...over }),
      { kind: "unsendable" },
      JSON.stringify(over),
    );
  assert.deepEqual(owner.received, []);
});

test("a request of HTTP/1.0 without a Host gets one", async (context) => {
  const owner = await echoing(context);
  await senderOf(context).send(owner.at, { ...request, rawHeaders: [] });
  assert.deepEqual(owner.received[0], [
    "head",
    0,
    `POST /set/k HTTP/1.1\r\nLarder-Forwarded: 2;9;192.0.2.7\r\nHost: larder\r\n\r\n`,
  ]);
});

test("a link that ends loses the requests that it was given, sends none of them again, and the next request opens another", async (context) => {
  const received: string[] = [];
  const owner = await owningPeers(context, async (peer) => {
    for (;;) {
      const { number, rest } = await peer.next("request");
      received.push(rest.slice(6));
      if (rest.endsWith("last")) peer.socket.destroy();
      if (rest.endsWith("c")) peer.send(["answer", number, answerRest(200, "", "c")]);
    }
  });
  const sender = senderOf(context);
  const send = (text: string): Promise<SendOutcome> => sender.send(owner.at, { ...request, body: Buffer.from(text) });
  assert.deepEqual(await Promise.all([send("a"), send("b last")]), [LOST, LOST]);
  let last = await send("c");
  // The end of the link may not have been noticed.
  while (last.kind !== "answered") last = await send("c");
  assert.deepEqual(received, ["a", "b last", "c"]);
  assert.equal(owner.opened.length, 2);
});

test("a request that was not yet written when its link ended was not carried out, and one that was written is lost", async (context) => {
  // The time to end is over at once.
  const clock: Clock = {
    ...systemClock,
    after(_delayMs, task) {
      task();
      return () => {};
    },
  };
  const received = Promise.withResolvers<void>();
  const owner = await owningPeers(context, async (peer) => {
    await peer.next("request");
    received.resolve();
  });
  const sender = senderOf(context, { clock });
  const written = sender.send(owner.at, request);
  await received.promise;
  const unwritten = sender.send(owner.at, request);
  sender.follow(undefined);
  assert.deepEqual([await written, await unwritten], [LOST, NOT_EXECUTED]);
});

test("a link whose handshake fails has carried nothing out", async (context) => {
  const owner = await echoing(context);
  const stranger = new LinkSender({ key: { name: "larder-9", secret: new Uint8Array(32) }, clock: systemClock });
  context.after(() => stranger.close(0));
  const outcomes = await Promise.all([stranger.send(owner.at, request), stranger.send(owner.at, request)]);
  assert.deepEqual(outcomes, [NOT_EXECUTED, NOT_EXECUTED]);
  assert.deepEqual(owner.received, []);
});

const OK_BEGIN = ["begin", 1, uint(200, 2) + uint(5)] as const;
const STREAM_BEGIN = ["begin", 1, uint(200, 2) + uint(0xffff_ffff)] as const;

const faults: readonly (readonly [name: string, fault: string, ...frames: readonly SentFrame[]])[] = [
  ["an unknown kind", "a frame has the kind 17", [17, 1]],
  ["a kind of the asking side", "a frame has the kind 11", ["open", 1, uint(4)]],
  ["a tunnel that was not asked for", "tunnel 1 was not opened", ["opened", 1]],
  ["a kind of the other side", "a frame has the kind 2", ["request", 1]],
  ["an answer to the request 0", "request 0 was not sent", ["answer", 0]],
  ["an answer to a request that was not sent", "request 2 was not sent", ["answer", 2, answerRest(200, "", "")]],
  ["an answer without a head", "a frame of kind 5 is too short", ["answer", 1, "\0"]],
  ["a head longer than its frame", "a frame of kind 5 is too short", ["answer", 1, uint(200, 2) + uint(0) + uint(9)]],
  [
    "a body that is shorter than its length",
    "the body of an answer has another length",
    ["answer", 1, `${uint(200, 2)}${uint(4)}${uint(0)}abc`],
  ],
  [
    "a body that is longer than its length",
    "the body of an answer has another length",
    ["answer", 1, `${uint(200, 2)}${uint(2)}${uint(0)}abc`],
  ],
  ["a status below 200", "the head of an answer is malformed", ["answer", 1, answerRest(100, "", "")]],
  ["a field without a value", "the head of an answer is malformed", ["answer", 1, answerRest(200, "X", "")]],
  ["a piece without a beginning", "a piece has no place", ["data", 1, "abc"]],
  ["an empty piece", "a piece has no place", OK_BEGIN, ["data", 1]],
  ["a second beginning", "an answer begins twice", OK_BEGIN, OK_BEGIN],
  ["pieces that are longer than their sum", "an answer is longer than announced", OK_BEGIN, ["data", 1, "abcdef"]],
  ["an early end of an answer with a length", "an answer with a length ends early", OK_BEGIN, ["end", 1]],
];

test("a frame that has no place ends its link with a line in the log, and its request is lost", async (context) => {
  for (const [name, fault, ...frames] of faults) {
    const owner = await answering(context, ...frames);
    const warnings: string[] = [];
    const outcome = await senderOf(context, { warnings }).send(owner.at, request);
    assert.deepEqual(shown(outcome), "lost", name);
    const { event, fault: logged } = JSON.parse(warnings.join());
    assert.deepEqual([event, logged], ["a link to another node broke the protocol", fault], name);
  }
});

test("a stream with more than its window ends the link, and is cut", async (context) => {
  const piece = ["data", 1, "x".repeat(65_536)] as const;
  const owner = await answering(context, STREAM_BEGIN, piece, piece, piece, piece, ["data", 1, "y"]);
  const warnings: string[] = [];
  const outcome = await senderOf(context, { warnings }).send(owner.at, request);
  const sink = new TestSink();
  sink.queuedBytes = 100_000;
  openStream(outcome, sink);
  await sink.ended;
  assert.deepEqual([sink.bytes, sink.endedBy], [262_144, "abort"]);
  assert.match(warnings.join(), /a piece has no place/);
});

test("an answer with a length is passed on when it is complete, and lost if its link ends or it is reset before", async (context) => {
  const whole = await answering(context, OK_BEGIN, ["data", 1, "ab"], ["data", 1, "cde"]);
  assert.deepEqual(shown(await senderOf(context).send(whole.at, request)), [200, "abcde"]);
  const reset = await answering(context, OK_BEGIN, ["data", 1, "ab"], ["reset", 1]);
  assert.deepEqual(await senderOf(context).send(reset.at, request), LOST);
  const cut = await owningPeers(context, async (peer) => {
    await peer.next("request");
    peer.send(OK_BEGIN, ["data", 1, "ab"]).socket.end();
  });
  assert.deepEqual(await senderOf(context).send(cut.at, request), LOST);
});

test("a node that answers 421, in a frame or in pieces, has not carried the request out", async (context) => {
  const short = await answering(context, ["answer", 1, answerRest(421, "", "no")]);
  assert.deepEqual(await senderOf(context).send(short.at, request), NOT_EXECUTED);
  const long = await answering(context, ["begin", 1, uint(421, 2) + uint(2)], ["data", 1, "no"]);
  assert.deepEqual(await senderOf(context).send(long.at, request), NOT_EXECUTED);
});

test("credits follow the bytes of a long answer, and a client that has gone cancels it", async (context) => {
  const piece = ["data", 1, "x".repeat(65_536)] as const;
  const client = { ...request, isAbandoned: false };
  const received: unknown[] = [];
  const owner = await owningPeers(context, async (peer) => {
    await peer.next("request");
    peer.send(["begin", 1, uint(200, 2) + uint(300_000)], piece);
    received.push(await peer.next());
    client.isAbandoned = true;
    peer.send(piece);
    received.push(await peer.next());
    // It was on its way.
    peer.send(piece);
    const { number } = await peer.next("request");
    peer.send(["answer", number, answerRest(200, "", "next")]);
  });
  const sender = senderOf(context);
  assert.deepEqual(await sender.send(owner.at, client), LOST);
  assert.deepEqual(shown(await sender.send(owner.at, request)), [200, "next"]);
  assert.deepEqual(received, [
    { kind: "credit", number: 1, rest: uint(65_536) },
    { kind: "cancel", number: 1, rest: "" },
  ]);
});

test("a long answer asks for room, and is cancelled without it", async (context) => {
  const asked: number[] = [];
  const after = Promise.withResolvers<string>();
  const owner = await owningPeers(context, async (peer) => {
    await peer.next("request");
    peer.send(["begin", 1, uint(200, 2) + uint(300_000)]);
    after.resolve((await peer.next()).kind);
  });
  const takeReply = (bytes: number): boolean => {
    asked.push(bytes);
    return false;
  };
  assert.deepEqual(await senderOf(context).send(owner.at, { ...request, takeReply }), LOST);
  assert.deepEqual(asked, [300_000]);
  assert.equal(await after.promise, "cancel");
});

class TestSink implements StreamSink {
  bytes = 0;
  queuedBytes = 0;
  endedBy: string | undefined;
  readonly ended: Promise<void>;
  #resolve: () => void = () => {};

  constructor() {
    this.ended = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  write(chunk: string | Buffer): boolean {
    this.bytes += chunk.length;
    return true;
  }

  end(): void {
    this.endedBy = "end";
    this.#resolve();
  }

  abort(): void {
    this.endedBy = "abort";
    this.#resolve();
  }
}

/** Returns what the listener calls when the client has gone. */
function openStream(outcome: SendOutcome, sink: StreamSink): () => void {
  assert.ok(outcome.kind === "answered" && "open" in outcome.reply);
  return (outcome.reply satisfies HttpStream).open(sink);
}

test("a stream whose client does not read gets no credit until it does, while others are answered", async (context) => {
  const looks: (() => void)[] = [];
  const clock: Clock = {
    ...systemClock,
    after(_delayMs, task) {
      looks.push(task);
      return () => {};
    },
  };
  const peer = Promise.withResolvers<LinkPeer>();
  const owner = await owningPeers(context, (opened) => peer.resolve(opened));
  const sender = senderOf(context, { clock });
  const asked = sender.send(owner.at, request);
  const opened = await peer.promise;
  await opened.next("request");
  opened.send(STREAM_BEGIN);
  const sink = new TestSink();
  const gone = openStream(await asked, sink);
  sink.queuedBytes = 100_000;
  opened.send(["data", 1, "x".repeat(65_536)]);
  const other = sender.send(owner.at, request);
  assert.equal((await opened.next()).kind, "head");
  assert.equal((await opened.next()).kind, "request");
  opened.send(["answer", 2, answerRest(200, "", "other")]);
  assert.deepEqual(shown(await other), [200, "other"]);
  assert.deepEqual([sink.bytes, looks.length], [65_536, 1]);
  looks.shift()?.();
  assert.equal(looks.length, 1);
  sink.queuedBytes = 0;
  looks.shift()?.();
  assert.deepEqual(await opened.next(), { kind: "credit", number: 1, rest: uint(65_536) });
  gone();
  assert.deepEqual(await opened.next(), { kind: "cancel", number: 1, rest: "" });
});

test("an owner that says goodbye gets no further requests on this link, and has time for those under way", async (context) => {
  const owner = await owningPeers(context, async (peer) => {
    const { number, rest } = await peer.next("request");
    peer.send(["goodbye", 0]);
    if (rest.endsWith("a")) await peer.next("request").catch(() => undefined);
    peer.send(["answer", number, answerRest(200, "", rest.slice(6))]);
  });
  const sender = senderOf(context);
  const first = sender.send(owner.at, { ...request, body: Buffer.from("b") });
  assert.deepEqual(shown(await first), [200, "b"]);
  await owner.opened[0]?.closed;
  assert.deepEqual(shown(await sender.send(owner.at, { ...request, body: Buffer.from("c") })), [200, "c"]);
  assert.equal(owner.opened.length, 2);
});

test("a link with a former key ends after its requests, and the next request shows the key that is offered", async (context) => {
  const peers: LinkPeer[] = [];
  const owner = await owningPeers(context, (peer) => peers.push(peer));
  const sender = senderOf(context);
  const slow = sender.send(owner.at, request);
  while (peers.length === 0) await new Promise((resolve) => setImmediate(resolve));
  const [peer] = peers as [LinkPeer];
  await peer.next("request");
  sender.offer({ name: "larder-9", secret: new Uint8Array(32) });
  // The peer does not know this key.
  assert.deepEqual(await sender.send(owner.at, request), NOT_EXECUTED);
  assert.equal(peer.socket.closed, false);
  peer.send(["answer", 1, answerRest(200, "", "slow")]);
  assert.deepEqual(shown(await slow), [200, "slow"]);
  await peer.closed;
});

test("closing gives the requests under way their time, and then loses them", async (context) => {
  const ends: [number, () => void][] = [];
  const clock: Clock = {
    ...systemClock,
    after(delayMs, task) {
      ends.push([delayMs, task]);
      return () => {};
    },
  };
  const received = Promise.withResolvers<LinkPeer>();
  const owner = await owningPeers(context, async (peer) => {
    await peer.next("request");
    received.resolve(peer);
  });
  const sender = new LinkSender({ key: LINK_KEY, clock });
  const asked = sender.send(owner.at, request);
  await received.promise;
  const closed = sender.close(5_000);
  assert.deepEqual(
    ends.map(([delayMs]) => delayMs),
    [5_000],
  );
  ends[0]?.[1]();
  assert.deepEqual(await asked, LOST);
  await closed;
});

test("a node without links is asked over HTTP/1.1, and asked again for links after a while", async (context) => {
  let connectionCount = 0;
  const failed: Error[] = [];
  // A node of the version before: it takes HTTP/1.1 in the handshake.
  const server = createServer(
    { ...new SharedKeys([LINK_KEY]).serverOptions, ALPNProtocols: ["http/1.1"] },
    (socket) => {
      connectionCount += 1;
      socket.on("error", () => {});
      socket.on("data", (piece: Buffer) => {
        // The body may come by itself.
        if (piece.length > 1) socket.write("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nserved");
      });
    },
  );
  server.on("tlsClientError", (fault) => failed.push(fault));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  context.after(() => server.close());
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  const at: OwnerAddress = { node: "b", host: "127.0.0.1", port: address.port };
  let nowMs = 0;
  const sender = senderOf(context, { clock: { ...systemClock, monotonicMs: () => nowMs } });
  // One that would have been a link, and one of HTTP/1.1; then another one that would have been a link.
  const steps: readonly (readonly [atMs: number, connectionCount: number])[] = [
    [0, 2],
    [0, 2],
    [PLAIN_MS - 1, 2],
    [PLAIN_MS, 3],
    [PLAIN_MS, 3],
  ];
  for (const [atMs, expected] of steps) {
    nowMs = atMs;
    assert.deepEqual(shown(await sender.send(at, request)), [200, "served"]);
    // The HTTP client takes a turn until its connection may be used again.
    do await new Promise((resolve) => setImmediate(resolve));
    while (connectionCount < expected);
    assert.equal(connectionCount, expected, `${atMs}`);
  }
  assert.deepEqual(failed, []);
});

test("a body that is too long for a link goes over HTTP/1.1", async (context) => {
  const area = { handle: () => reply("served"), bodyBytesMax: () => 100_000 };
  const inner = innerService({ area: "store", service: area, serving: () => area });
  const each = { transport: "larder", after: (task: () => unknown) => context.after(task) } as const;
  const log = createLog({ level: "error", format: "json", clock: systemClock, sink: () => {} });
  const { listener } = await start(each, inner.handle, {
    ...{ area: inner, tls: new SharedKeys([LINK_KEY]), besideHttp1: withLinks(log) },
  });
  const at: OwnerAddress = { node: "b", host: "127.0.0.1", port: listener.port };
  const outcome = await senderOf(context).send(at, { ...request, body: Buffer.alloc(70_000) });
  assert.deepEqual(shown(outcome), [200, "served"]);
});
