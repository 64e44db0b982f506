/** Who can open a connection to a port that asks for a shared key, and whom a node with the key takes for another one. */
import assert from "node:assert/strict";
import { connect, createServer, type Server, type Socket } from "node:net";
import { test } from "node:test";
import {
  type ConnectionOptions,
  connect as connectTls,
  createServer as createTlsServer,
  type TLSSocket,
} from "node:tls";
import { get, Peer, reply, start, testHttp1 } from "../../../test/harness/listener-bench.ts";
import { localCertificates } from "../../../test/harness/local-certificates.ts";
import { connectWithKey, type NamedKey, SharedKeys } from "./shared-key.ts";

const KEY: NamedKey = { name: "larder-0", secret: new Uint8Array(32).fill(7) };
const NEXT: NamedKey = { name: "larder-1", secret: new Uint8Array(32).fill(8) };
const OTHER_SECRET = new Uint8Array(32).fill(9);
const [{ certificate, key: certificateKey }] = localCertificates;
const CLOSE = "Connection: close\r\n";

function keyed(port: number, key = KEY): Peer {
  return new Peer(connectWithKey({ host: "127.0.0.1", port }, key));
}

/** Settles when the handshake has ended: with the error, or undefined. */
function endOfHandshake(socket: TLSSocket): Promise<Error | undefined> {
  return new Promise((resolve) => {
    socket.once("secureConnect", () => resolve(undefined));
    socket.once("error", resolve);
  });
}

testHttp1("a peer with the key is served over TLS 1.3, with a key of the connection", async (context) => {
  const bench = await start(context, () => reply("served"), { tls: new SharedKeys([KEY]) });
  const socket = connectWithKey({ host: "127.0.0.1", port: bench.listener.port }, KEY);
  assert.equal(await endOfHandshake(socket), undefined);
  assert.deepEqual([socket.getProtocol(), socket.getCipher().name], ["TLSv1.3", "TLS_AES_128_GCM_SHA256"]);
  assert.ok(Object.keys(socket.getEphemeralKeyInfo() ?? {}).length > 0, "the secret alone does not decrypt it");
  const answer = await new Peer(socket).send(get("/", CLOSE)).untilClosed();
  assert.match(answer, /^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\n\r\nserved$/);
});

const tls12 = { minVersion: "TLSv1.2", maxVersion: "TLSv1.2" } as const;
const withKey = { pskCallback: () => ({ psk: KEY.secret, identity: KEY.name }), checkServerIdentity: () => undefined };

/** Peers without the key. */
const strangers: readonly (readonly [name: string, open: (port: number) => Socket])[] = [
  ["plain HTTP", (port) => connect({ host: "127.0.0.1", port })],
  ["another secret of the same name", keyedWith({ name: KEY.name, secret: OTHER_SECRET })],
  ["the secret under another name", keyedWith({ name: "larder-1", secret: KEY.secret })],
  ["TLS without a key", opened({})],
  ["TLS with a certificate", opened({ cert: certificate, key: certificateKey })],
  [
    "TLS 1.2 with the key",
    opened({ ...tls12, ...withKey, ciphers: "PSK-AES128-GCM-SHA256:DHE-PSK-AES128-GCM-SHA256" }),
  ],
  ["TLS 1.2 without a key", opened(tls12)],
];

function keyedWith(key: NamedKey): (port: number) => Socket {
  return (port) => connectWithKey({ host: "127.0.0.1", port }, key);
}

function opened(options: ConnectionOptions): (port: number) => Socket {
  return (port) => connectTls({ host: "127.0.0.1", port, rejectUnauthorized: false, ...options });
}

testHttp1("no byte of a request is read of a peer without the key", async (context) => {
  const refused: string[] = [];
  let handledCount = 0;
  const bench = await start(
    context,
    () => {
      handledCount += 1;
      return reply("no");
    },
    { tls: new SharedKeys([KEY]), onHandshakeFailed: (address) => void refused.push(address) },
  );
  for (const [name, open] of strangers) {
    const before = refused.length;
    const received = await new Peer(open(bench.listener.port)).send(get("/")).untilClosed();
    assert.doesNotMatch(received, /HTTP/, name);
    while (refused.length === before) await new Promise((next) => setImmediate(next));
    assert.deepEqual(refused.slice(before), ["127.0.0.1"], name);
  }
  assert.deepEqual([handledCount, bench.observations.length, bench.listener.openRequestCount], [0, 0, 0]);
});

testHttp1("a session of an earlier connection opens no other one", async (context) => {
  const bench = await start(context, () => reply("served"), { tls: new SharedKeys([KEY]) });
  const { port } = bench.listener;
  const first = connectWithKey({ host: "127.0.0.1", port }, KEY);
  const session = new Promise<Buffer>((resolve) => first.once("session", resolve));
  await new Peer(first).send(get("/")).until(/served/);
  const second = opened({ session: await session, minVersion: "TLSv1.3" })(port) as TLSSocket;
  assert.ok((await endOfHandshake(second)) instanceof Error);
  first.destroy();
});

testHttp1("connections of a key that is no longer accepted end, and others stay", async (context) => {
  const keys = new SharedKeys([KEY]);
  const bench = await start(context, ({ target }) => reply(target), { tls: keys });
  const { port } = bench.listener;
  const old = keyed(port);
  await old.send(get("/1")).until(/\/1$/);
  keys.replace([NEXT, KEY]);
  const fresh = keyed(port, NEXT);
  await fresh.send(get("/2")).until(/\/2$/);
  await old.send(get("/3")).until(/\/3$/);
  keys.replace([NEXT]);
  await old.closed;
  await fresh.send(get("/4")).until(/\/4$/);
  assert.equal(await keyed(port).send(get("/5")).untilClosed(), "");
  fresh.destroy();
});

testHttp1("a keyed port answers at an address of IPv6", async (context) => {
  const bench = await start(context, () => reply("served"), { tls: new SharedKeys([KEY]), host: "::1" });
  const peer = new Peer(connectWithKey({ host: "::1", port: bench.listener.port }, KEY));
  assert.match(await peer.send(get("/", CLOSE)).untilClosed(), /served$/);
});

/** A server of `server`, and everything that it reads of clients in the clear. */
async function startStranger(
  context: { after(task: () => unknown): void },
  open: (accept: (socket: Socket) => void) => Server,
): Promise<{ readonly port: number; readonly read: () => string }> {
  let text = "";
  const server = open((socket) => {
    socket.on("error", () => {});
    socket.on("data", (piece: Buffer) => {
      text += piece.latin1Slice();
    });
  });
  server.on("tlsClientError", (_fault: Error, socket: Socket) => socket.destroy());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  context.after(() => server.close());
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  return { port: address.port, read: () => text };
}

test("a server without the key gets no byte of a request", async (context) => {
  const other = new SharedKeys([{ name: KEY.name, secret: OTHER_SECRET }]);
  const servers: readonly (readonly [name: string, open: (accept: (socket: Socket) => void) => Server])[] = [
    ["another secret", (accept) => createTlsServer({ ...other.serverOptions }, accept)],
    ["no secret", (accept) => createTlsServer({ ...new SharedKeys([]).serverOptions }, accept)],
    ["a certificate", (accept) => createTlsServer({ cert: certificate, key: certificateKey }, accept)],
  ];
  for (const [name, open] of servers) {
    const { port, read } = await startStranger(context, open);
    const socket = connectWithKey({ host: "127.0.0.1", port }, KEY);
    socket.write(get("/secret"));
    assert.ok((await endOfHandshake(socket)) instanceof Error, name);
    assert.equal(read(), "", name);
  }
});

test("a server with a certificate that this program trusts is no node", async (context) => {
  const { getCACertificates, setDefaultCACertificates } = process.getBuiltinModule("node:tls");
  const before = getCACertificates();
  setDefaultCACertificates([certificate]);
  context.after(() => setDefaultCACertificates(before));
  const { port, read } = await startStranger(context, (accept) =>
    createTlsServer({ cert: certificate, key: certificateKey }, accept),
  );
  const trusting = connectTls({ host: "127.0.0.1", port, checkServerIdentity: () => undefined });
  assert.equal(await endOfHandshake(trusting), undefined);
  trusting.destroy();
  const socket = connectWithKey({ host: "127.0.0.1", port }, KEY);
  socket.write(get("/secret"));
  assert.ok((await endOfHandshake(socket)) instanceof Error);
  assert.equal(read(), "");
});

test("a server in the clear reads nothing of a request", async (context) => {
  const { port, read } = await startStranger(context, (accept) =>
    createServer((socket) => {
      accept(socket);
      socket.end("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    }),
  );
  const socket = connectWithKey({ host: "127.0.0.1", port }, KEY);
  socket.write(get("/secret"));
  assert.ok((await endOfHandshake(socket)) instanceof Error);
  assert.doesNotMatch(read(), /secret/);
});
