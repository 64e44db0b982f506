/** Connections that one node passes on to another, over real sockets and with each implementation of HTTP/1. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { test } from "node:test";
import { connect as connectTls } from "node:tls";
import { type Dispatcher, Pool } from "undici";
import { type Bench, type Case, Peer, reply, start, testHttp1 } from "../../../test/harness/listener-bench.ts";
import { localCertificates } from "../../../test/harness/local-certificates.ts";
import { type Clock, systemClock } from "../../kernel/clock.ts";
import { createLog } from "../../kernel/log.ts";
import { listen } from "../http/listener.ts";
import { connectWithKey, type NamedKey, SharedKeys } from "../http/shared-key.ts";
import { transportNames } from "../http/transport.ts";
import { ByteBudget } from "../limits/byte-budget.ts";
import type { Traveller } from "./departures.ts";
import { type Caller, shardOfTunnel, tunnelTo } from "./forwarded-head.ts";
import type { OwnerAddress } from "./front.ts";
import { innerTunnels } from "./inner-service.ts";
import { CUT_MS, PoolSender } from "./pool-sender.ts";
import { Tunnels } from "./tunnels.ts";

const KEY: NamedKey = { name: "larder-0", secret: new Uint8Array(32).fill(7) };
const CALLER: Caller = { address: "192.0.2.7", port: 9 };
const NEVER = new AbortController().signal;

interface Owner {
  readonly at: OwnerAddress;
  readonly bench: Bench<Peer>;
  /** `shard address:port` of each connection. */
  readonly taken: string[];
  /** Addresses whose connections have not shown the key. */
  readonly refused: string[];
}

/** A node that serves shard 4, and answers each piece with it in brackets. */
async function startOwner(context: Case): Promise<Owner> {
  const taken: string[] = [];
  const refused: string[] = [];
  const onTunnel = innerTunnels({
    area: "store",
    accept: (shard, { address, port }) =>
      shard === 4
        ? (socket) => {
            taken.push(`${shard} ${address}:${port}`);
            socket.on("data", (piece) => socket.write(`<${String(piece)}>`));
            socket.on("end", () => socket.end("end"));
          }
        : undefined,
  });
  const bench = await start(context, () => reply("http"), {
    ...{ onTunnel, tls: new SharedKeys([KEY]) },
    onHandshakeFailed: (address) => void refused.push(address),
  });
  return { at: { node: "b", host: "127.0.0.1", port: bench.listener.port }, bench, taken, refused };
}

function senderOf(context: Case, { key = KEY, shard = 4, clock = systemClock as Clock } = {}): PoolSender {
  const sender = new PoolSender({ key, clock, shard });
  context.after(() => sender.close(0));
  return sender;
}

/** What the owner answers to a piece. */
async function ask(socket: Socket, piece: string): Promise<string> {
  socket.write(piece);
  const [answer] = await once(socket, "data");
  return String(answer);
}

/** A connection to the port of a node, made as by another node. */
function keyed({ host, port }: OwnerAddress): Peer {
  return new Peer(connectWithKey({ host, port }, KEY));
}

testHttp1("a CONNECT request of a node becomes a connection of the client, in both directions", async (context) => {
  const { at, taken, refused, bench } = await startOwner(context);
  const socket = await senderOf(context).openTunnel(at, CALLER, NEVER);
  assert.ok(socket !== undefined);
  socket.resume();
  assert.equal(await ask(socket, "PING"), "<PING>");
  assert.equal(await ask(socket, "GET / HTTP/1.1\r\n\r\n"), "<GET / HTTP/1.1\r\n\r\n>");
  assert.deepEqual([taken, refused], [["4 192.0.2.7:9"], []]);
  assert.equal(bench.listener.openRequestCount, 0);
  const last = once(socket, "data");
  socket.end();
  assert.equal(String((await last)[0]), "end");
  await once(socket, "close");
});

testHttp1("a tunnel uses a connection that had requests before, and requests get another one", async (context) => {
  const { at, bench } = await startOwner(context);
  const sender = senderOf(context);
  const request = {
    ...{ method: "GET", target: "/", rawHeaders: ["Host", "a"], body: Buffer.alloc(0), id: "1" },
    ...{ header: () => undefined, remoteAddress: "192.0.2.7", remotePort: 9 },
  };
  assert.equal((await sender.send(at, request)).kind, "answered");
  const socket = await sender.openTunnel(at, CALLER, NEVER);
  assert.equal((await sender.send(at, request)).kind, "answered");
  socket?.resume();
  assert.equal(socket && (await ask(socket, "PING")), "<PING>");
  assert.equal(bench.observations.length, 2);
  socket?.destroy();
});

testHttp1(
  "a request is refused without the key, a client or the shard, and with bytes after its head",
  async (context) => {
    const { at, taken, refused } = await startOwner(context);
    const strange: NamedKey = { ...KEY, secret: new Uint8Array(32) };
    assert.equal(await senderOf(context, { key: strange }).openTunnel(at, CALLER, NEVER), undefined);
    assert.deepEqual(refused, ["127.0.0.1"]);
    assert.equal(await senderOf(context, { shard: 5 }).openTunnel(at, CALLER, NEVER), undefined);
    const nobody = keyed(at).send("CONNECT larder-resp:4 HTTP/1.1\r\nHost: larder\r\n\r\n");
    assert.match(await nobody.untilClosed(), /^HTTP\/1\.1 421 [\s\S]*does not say for which client/);
    const hasty = keyed(at).send("CONNECT larder-resp:4 HTTP/1.1\r\nHost: larder\r\n\r\nAUTH x\r\n");
    assert.match(await hasty.untilClosed(), /^HTTP\/1\.1 405 /);
    assert.deepEqual(taken, []);
  },
);

testHttp1("a listener that drains leaves tunnels to their owner, until the end of its grace", async (context) => {
  const { at, bench } = await startOwner(context);
  const socket = await senderOf(context).openTunnel(at, CALLER, NEVER);
  assert.ok(socket !== undefined);
  socket.resume();
  const idle = bench.open();
  await idle.opened;
  const closed = bench.listener.close(60_000);
  await idle.untilClosed();
  assert.equal(await ask(socket, "PING"), "<PING>");
  socket.end();
  await closed;
});

testHttp1(
  "a node that does not answer is left when the client has gone, and tunnels to a former owner are cut",
  async (context) => {
    const silent = createServer((socket) => socket.on("error", () => {}).resume());
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    context.after(() => silent.close());
    const address = silent.address();
    assert.ok(typeof address === "object" && address !== null);
    const gone = new AbortController();
    const connected = once(silent, "connection");
    const asked = senderOf(context).openTunnel(
      { node: "a", host: "127.0.0.1", port: address.port },
      CALLER,
      gone.signal,
    );
    await connected;
    gone.abort();
    assert.equal(await asked, undefined);

    const waits: { readonly ms: number; readonly run: () => void }[] = [];
    const clock: Clock = {
      ...systemClock,
      after(ms, run) {
        waits.push({ ms, run });
        return () => {};
      },
    };
    const { at } = await startOwner(context);
    const sender = senderOf(context, { clock });
    const socket = await sender.openTunnel(at, CALLER, NEVER);
    assert.ok(socket !== undefined);
    sender.follow(at);
    assert.equal(waits.length, 0);
    sender.follow({ ...at, port: 1 });
    assert.deepEqual(
      waits.map(({ ms }) => ms),
      [CUT_MS, CUT_MS],
    );
    for (const { run } of waits) run();
    assert.equal(socket.destroyed, true);
  },
);

for (const transport of transportNames)
  test(`over TLS each side ends by itself too, also while the listener drains (${transport})`, async (context) => {
    const [tls] = localCertificates;
    const log = createLog({ level: "error", format: "json", clock: systemClock, sink: () => {} });
    const listener = await listen({
      ...{ host: "127.0.0.1", port: 0, clock: systemClock, log, budget: new ByteBudget(1e6), idPrefix: "t" },
      ...{ transport, tls, area: { handle: () => reply("http"), bodyBytesMax: () => 1 } },
      onTunnel: () => (socket) => {
        const pieces: string[] = [];
        socket.on("data", (piece) => pieces.push(String(piece)));
        socket.on("end", () => socket.end(`<${pieces.join("")}>`));
      },
    });
    // With `https` the HTTP client would look for the name of the Host header in the certificate.
    const pool = new Pool(`http://127.0.0.1:${listener.port}`, {
      connect({ hostname, port }, done) {
        const secure = connectTls({ host: hostname, port: Number(port), ca: tls.certificate, servername: "localhost" });
        secure.once("secureConnect", () => done(null, secure));
      },
    });
    context.after(() => Promise.all([pool.destroy(), listener.close(0)]));
    const tunnels = new Tunnels(systemClock);
    const connections = {
      dispatch: (options: Dispatcher.DispatchOptions, traveller: Traveller) => void pool.dispatch(options, traveller),
    };
    const target = { place: "b", target: "larder-resp:4", headers: ["Host", "larder"], abandoned: NEVER };
    const socket = await tunnels.open(connections, target);
    assert.ok(socket !== undefined);
    socket.allowHalfOpen = true;
    socket.resume();
    const closed = listener.close(60_000);
    socket.end("PING");
    const [answer] = await once(socket, "data");
    assert.equal(String(answer), "<PING>");
    await once(socket, "close");
    await closed;
  });

test("the target of a tunnel names its shard", () => {
  assert.equal(tunnelTo(12), "larder-resp:12");
  for (const [target, shard] of [
    ["larder-resp:12", 12],
    ["larder-resp:0", 0],
    ["larder-resp:", undefined],
    ["larder-resp:1x", undefined],
    ["other:1", undefined],
    ["larder-resp:1234567890", undefined],
  ] as const)
    assert.equal(shardOfTunnel(target), shard, target);
});
