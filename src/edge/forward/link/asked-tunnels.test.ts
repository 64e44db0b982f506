/** Connections of RESP clients over links to nodes whose frames a test writes, and to nodes of the version before. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { LINK_KEY, type LinkPeer, openRest, owningPeers, type SentFrame } from "../../../../test/harness/link-peer.ts";
import { start } from "../../../../test/harness/listener-bench.ts";
import { systemClock } from "../../../kernel/clock.ts";
import { createLog } from "../../../kernel/log.ts";
import { SharedKeys } from "../../http/shared-key.ts";
import type { ByteStream } from "../byte-stream.ts";
import type { Caller } from "../forwarded-head.ts";
import { innerService, innerTunnels } from "../inner-service.ts";
import { FORMER_LINK_PROTOCOL, TUNNEL_WINDOW_BYTES } from "./frames.ts";
import { LinkSender } from "./sender.ts";
import { withLinks } from "./transport.ts";
import { LinkTunnel } from "./tunnel.ts";

interface TestContext {
  after(task: () => unknown): void;
}

const CALLER: Caller = { address: "192.0.2.7", port: 9 };
const NEVER = new AbortController().signal;

function senderOf(context: TestContext, warnings: string[] = []): LinkSender {
  const log = createLog({ level: "warn", format: "json", clock: systemClock, sink: (line) => warnings.push(line) });
  const sender = new LinkSender({ key: LINK_KEY, clock: systemClock, log, shard: 4 });
  context.after(() => sender.close(0));
  return sender;
}

/** The stream, which goes on, and what comes of it. */
function listened(stream: ByteStream | undefined): { readonly stream: ByteStream; readonly heard: string[] } {
  assert.ok(stream instanceof LinkTunnel);
  const heard: string[] = [];
  stream.on("data", (piece) => void heard.push(String(piece)));
  for (const event of ["end", "close"] as const) stream.on(event, () => void heard.push(`(${event})`));
  stream.resume();
  return { stream, heard };
}

function closing(stream: ByteStream): Promise<void> {
  return new Promise((resolve) => void (stream.closed ? resolve() : stream.once("close", resolve)));
}

test("the owner is told the shard and the client, and nothing more before it has taken the tunnel", async (context) => {
  const owner = await owningPeers(context, async (peer) => {
    assert.deepEqual(await peer.next(), { kind: "open", number: 1, rest: openRest(4) });
    assert.deepEqual(peer.frames, []);
    peer.send(["opened", 1], ["tunnelData", 1, "first"]);
    assert.deepEqual(await peer.next(), { kind: "tunnelData", number: 1, rest: "AUTH" });
    peer.send(["tunnelEnd", 1]);
    await peer.next("tunnelEnd");
    assert.deepEqual(await peer.next(), { kind: "open", number: 2, rest: openRest(4) });
    peer.send(["tunnelReset", 2]);
  });
  const sender = senderOf(context);
  const { stream, heard } = listened(await sender.openTunnel(owner.at, CALLER, NEVER));
  stream.write(Buffer.from("AUTH"));
  stream.once("end", () => stream.end());
  await closing(stream);
  assert.deepEqual(heard, ["first", "(end)", "(close)"]);
  assert.equal(await sender.openTunnel(owner.at, CALLER, NEVER), undefined);
  assert.equal(owner.opened.length, 1);
});

test("many tunnels share the packets of a turn", async (context) => {
  let packetCount = 0;
  const owner = await owningPeers(context, async (peer) => {
    for (let i = 1; i <= 30; i += 1) peer.send(["opened", (await peer.next("open")).number]);
    peer.socket.on("data", () => {
      packetCount += 1;
    });
    for (let i = 1; i <= 30; i += 1) peer.send(["tunnelData", (await peer.next("tunnelData")).number, "answer"]);
  });
  const sender = senderOf(context);
  const streams = await Promise.all(Array.from({ length: 30 }, () => sender.openTunnel(owner.at, CALLER, NEVER)));
  const answered = streams.map((stream) => new Promise((resolve) => void stream?.on("data", resolve)));
  for (const stream of streams) stream?.resume();
  for (const stream of streams) stream?.write(Buffer.from("ask"));
  await Promise.all(answered);
  assert.deepEqual([owner.opened.length, packetCount], [1, 1]);
});

test("when the link ends, its tunnels close, and one that was not opened yet is refused", async (context) => {
  const owner = await owningPeers(context, async (peer) => {
    peer.send(["opened", (await peer.next("open")).number], ["tunnelData", 1, "came"]);
    await peer.next("open");
    peer.socket.destroy();
  });
  const sender = senderOf(context);
  const { stream, heard } = listened(await sender.openTunnel(owner.at, CALLER, NEVER));
  assert.equal(await sender.openTunnel(owner.at, CALLER, NEVER), undefined);
  await closing(stream);
  assert.deepEqual(heard, ["came", "(close)"]);
});

test("a client that has gone leaves a node that does not answer, and the owner learns it", async (context) => {
  const peers: LinkPeer[] = [];
  const gone = new AbortController();
  const owner = await owningPeers(context, async (peer) => {
    peers.push(peer);
    await peer.next("open");
    gone.abort();
    // This has crossed.
    assert.deepEqual(await peer.next(), { kind: "tunnelReset", number: 1, rest: "" });
    peer.send(["opened", 1], ["tunnelData", 1, "x"]);
    peer.send(["opened", (await peer.next("open")).number]);
  });
  const sender = senderOf(context);
  assert.equal(await sender.openTunnel(owner.at, CALLER, gone.signal), undefined);
  assert.equal(await sender.openTunnel(owner.at, CALLER, gone.signal), undefined);
  assert.ok((await sender.openTunnel(owner.at, CALLER, NEVER)) !== undefined);
});

test("an owner that stops keeps its tunnels, and its link ends with the last one", async (context) => {
  const peers: LinkPeer[] = [];
  const owner = await owningPeers(context, async (peer) => {
    peers.push(peer);
    peer.send(["opened", (await peer.next("open")).number], ["goodbye", 0]);
  });
  const sender = senderOf(context);
  const { stream, heard } = listened(await sender.openTunnel(owner.at, CALLER, NEVER));
  peers[0]?.send(["tunnelData", 1, "still here"]);
  while (heard.length === 0) await new Promise((resolve) => setImmediate(resolve));
  stream.destroy();
  await peers[0]?.closed;
  assert.deepEqual(heard, ["still here", "(close)"]);
});

test("bytes for an owner that gives no credit wait at their source", async (context) => {
  const owner = await owningPeers(context, async (peer) => {
    peer.send(["opened", (await peer.next("open")).number]);
    let bytes = 0;
    while (bytes < TUNNEL_WINDOW_BYTES) bytes += (await peer.next("tunnelData")).rest.length;
    peer.send(["tunnelData", 1, `${bytes}`]);
  });
  const { stream, heard } = listened(await senderOf(context).openTunnel(owner.at, CALLER, NEVER));
  for (let i = 0; i < 20; i += 1) stream.write(Buffer.alloc(50_000));
  while (heard.length === 0) await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(heard, [`${TUNNEL_WINDOW_BYTES}`]);
  assert.equal(stream.writableLength, 1_000_000 - TUNNEL_WINDOW_BYTES);
});

test("a tunnel frame without a place ends the link with a line in the log, and its tunnels", async (context) => {
  const faults: readonly (readonly [fault: string, ...frames: SentFrame[]])[] = [
    ["tunnel 1 is opened twice", ["opened", 1], ["opened", 1]],
    ["tunnel 1 is not open", ["tunnelData", 1, "x"]],
    ["tunnel 2 was not opened", ["opened", 1], ["tunnelEnd", 2]],
    ["a frame has the kind 17", ["opened", 1], [17, 1]],
  ];
  for (const [fault, ...frames] of faults) {
    const owner = await owningPeers(context, async (peer) => {
      await peer.next("open");
      peer.send(...frames);
    });
    const warnings: string[] = [];
    const stream = await senderOf(context, warnings).openTunnel(owner.at, CALLER, NEVER);
    if (stream !== undefined) await closing(stream);
    assert.match(warnings.join(), new RegExp(fault), fault);
  }
});

test("to a node whose links have no tunnels, a tunnel is a connection of its own, and requests still share a link", async (context) => {
  const links: string[] = [];
  const onTunnel = innerTunnels({
    area: "store",
    accept:
      (shard, { address, port }) =>
      (stream) => {
        stream.on("data", (piece) => void stream.write(`<${shard} ${address}:${port} ${piece}>`, "latin1"));
      },
  });
  const area = { handle: () => ({ status: 200, headers: [], body: "served" }), bodyBytesMax: () => 1_000 };
  const inner = innerService({ area: "store", service: area, serving: () => area });
  const log = createLog({ level: "error", format: "json", clock: systemClock, sink: () => {} });
  const each = { transport: "larder", after: (task: () => unknown) => context.after(task) } as const;
  const { listener } = await start(each, inner.handle, {
    ...{ area: inner, tls: new SharedKeys([LINK_KEY]), onTunnel },
    besideHttp1: (http1) => (handlers, options) => {
      const transport = withLinks(log)(http1)(handlers, options);
      // The choice of a node of the version before.
      const [server] = [transport.server as unknown as { ALPNProtocols?: Buffer; setSecureContext?: unknown }];
      server.ALPNProtocols = alpnOf(FORMER_LINK_PROTOCOL, "http/1.1");
      transport.server.on(
        "secureConnection",
        (socket: { alpnProtocol: string }) => void links.push(socket.alpnProtocol),
      );
      return transport;
    },
  });
  const at = { node: "b", host: "127.0.0.1", port: listener.port };
  const sender = senderOf(context);
  for (let i = 0; i < 2; i += 1) {
    const stream = await sender.openTunnel(at, CALLER, NEVER);
    assert.ok(stream !== undefined && !(stream instanceof LinkTunnel));
    const answer = new Promise((resolve) => void stream.on("data", (piece) => resolve(String(piece))));
    stream.resume();
    stream.write(Buffer.from("PING"));
    assert.equal(await answer, "<4 192.0.2.7:9 PING>");
  }
  const outcome = await sender.send(at, {
    ...{ method: "GET", target: "/", rawHeaders: ["Host", "a"], body: Buffer.alloc(0), id: "1" },
    ...{ header: () => undefined, remoteAddress: "192.0.2.7", remotePort: 9 },
  });
  assert.equal(outcome.kind, "answered");
  assert.deepEqual(links, [FORMER_LINK_PROTOCOL, "http/1.1", "http/1.1"]);
});

/** Names of protocols as a TLS server keeps them. */
function alpnOf(...names: readonly string[]): Buffer {
  return Buffer.concat(names.map((name) => Buffer.from(`${String.fromCharCode(name.length)}${name}`, "latin1")));
}
