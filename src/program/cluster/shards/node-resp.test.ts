/** Clients of the RESP port of one node whose database another node serves, over real sockets and stores. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { connect as connectTls, createServer as createTlsServer } from "node:tls";
import { Redis } from "ioredis";
import { createClient } from "redis";
import { NODE_KEY, RespNode, type RespNodeOptions, tokenOf } from "../../../../test/harness/cluster/resp-node.ts";
import { localCertificates } from "../../../../test/harness/local-certificates.ts";
import { RawPeer } from "../../../../test/harness/raw-peer.ts";
import { startSession, testCaller } from "../../../../test/harness/store-harness.ts";
import type { AreaOwner } from "../../../edge/forward/front.ts";
import { SharedKeys } from "../../../edge/http/shared-key.ts";
import type { Store } from "../../../store/mod.ts";

const NO_OWNER = "-ERR larder-not-executed: no node serves store now; try again\r\n";
const UNBLOCKED = "-UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)\r\n";

/** A node that serves `red`, and one that serves nothing. */
async function startPair(
  context: TestContext,
  options: RespNodeOptions = {},
): Promise<{ readonly owner: RespNode; readonly front: RespNode; readonly store: Store }> {
  const owner = new RespNode("owner", {});
  const front = new RespNode("front", options);
  await owner.open();
  await front.open();
  closeAfter(context, front, owner);
  const store = owner.serve("red");
  front.follow("red", owner);
  return { owner, front, store };
}

async function ask(peer: RawPeer, command: string, reply: string): Promise<void> {
  assert.equal(await peer.ask(`${command}\r\n`, reply.length), reply);
}

/** The next test need not wait until the ports for other nodes are closed, which they are half a second later. */
function closeAfter(context: TestContext, ...nodes: readonly RespNode[]): void {
  context.after(() => {
    for (const node of nodes) void node.close();
  });
}

/** Listens until the test ends. */
async function ownerAt(server: Server, context: TestContext): Promise<AreaOwner> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  context.after(() => server.close());
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  return { kind: "node", at: { node: "other", host: "127.0.0.1", port: address.port } };
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setImmediate(resolve));
}

test("a login by token or by user goes on to the node that serves its database", async (context) => {
  const { front, store } = await startPair(context);
  using peer = await front.client();
  await ask(peer, "GET k", "-NOAUTH Authentication required.\r\n");
  await ask(peer, "PING", "+PONG\r\n");
  await ask(peer, `AUTH ${tokenOf("red")}`, "+OK\r\n");
  await ask(peer, "SET k v", "+OK\r\n");
  assert.equal(store.database("red").command(testCaller, ["GET", "k"]), "v");
  using user = await front.client();
  await ask(user, "AUTH ann@red password", "+OK\r\n");
  await ask(user, "ACL WHOAMI", "$3\r\nann\r\n");
});

test("HELLO logs in and chooses RESP3 at the owner", async (context) => {
  const { front } = await startPair(context);
  using peer = await front.client();
  peer.say(`HELLO 3 AUTH default ${tokenOf("red")} SETNAME red-client\r\n`);
  assert.match(await peer.hear(20), /^%7\r\n\$6\r\nserver\r\n/);
  for (let heard = ""; !heard.endsWith("*0\r\n"); ) heard += await peer.hear(1);
  await ask(peer, "CLIENT GETNAME", "$10\r\nred-client\r\n");
  await ask(peer, "GET none", "_\r\n");
});

test("commands in the packet of the login run after it, at the owner, in their order", async (context) => {
  const { front } = await startPair(context);
  using peer = await front.client();
  const replies = "-NOAUTH Authentication required.\r\n+OK\r\n+OK\r\n:2\r\n$1\r\n2\r\n";
  await ask(peer, `GET n\r\n*2\r\n$4\r\nAUTH\r\n$12\r\n${tokenOf("red")}\r\nSET n 1\r\nINCR n\r\nGET n`, replies);
});

test("a wrong password is refused by the owner, and the connection goes on", async (context) => {
  const { front, store } = await startPair(context);
  using peer = await front.client();
  assert.match(await peer.ask("AUTH ann@red wrong\r\n", 64), /^-WRONGPASS .*\r\n$/);
  const [failed] = store.database("red").users.log.entries;
  assert.match(failed?.client ?? "", new RegExp(` addr=127\\.0\\.0\\.1:${peer.socket.localPort} `));
  assert.equal(failed?.username, "ann");
  await ask(peer, "AUTH ann@red password", "+OK\r\n");
});

test("the owner knows the address of the client", async (context) => {
  const { front } = await startPair(context);
  using peer = await front.client();
  await ask(peer, `AUTH ${tokenOf("red")}`, "+OK\r\n");
  peer.say("CLIENT INFO\r\n");
  let heard = "";
  while (!heard.includes("laddr=")) heard += await peer.hear(1);
  assert.match(heard, new RegExp(` addr=127\\.0\\.0\\.1:${peer.socket.localPort} `));
});

test("long values pass both ways", async (context) => {
  const { front } = await startPair(context);
  using peer = await front.client();
  await ask(peer, `AUTH ${tokenOf("red")}`, "+OK\r\n");
  const value = "0123456789abcdef".repeat(2 ** 19);
  await ask(peer, `*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$${value.length}\r\n${value}`, "+OK\r\n");
  const reply = `$${value.length}\r\n${value}\r\n`;
  assert.ok((await peer.ask("GET k\r\nGET k\r\n", 2 * reply.length)) === reply.repeat(2));
});

test("messages, transactions and blocked commands pass through", async (context) => {
  const { front } = await startPair(context);
  using subscriber = await front.client();
  using peer = await front.client();
  await ask(subscriber, `AUTH ${tokenOf("red")}`, "+OK\r\n");
  await ask(subscriber, "SUBSCRIBE c", "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n");
  await ask(peer, `AUTH ${tokenOf("red")}`, "+OK\r\n");
  await ask(peer, "PUBLISH c hi", ":1\r\n");
  const message = "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$2\r\nhi\r\n";
  assert.equal(await subscriber.hear(message.length), message);
  await ask(peer, "MULTI\r\nSET a 1\r\nINCR a\r\nEXEC", "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n+OK\r\n:2\r\n");
  using blocked = await front.client();
  blocked.say(`AUTH ${tokenOf("red")}\r\nBLPOP list 0\r\n`);
  assert.equal(await blocked.hear(5), "+OK\r\n");
  await ask(peer, "RPUSH list x", ":1\r\n");
  assert.equal(await blocked.hear(21), "*2\r\n$4\r\nlist\r\n$1\r\nx\r\n");
});

test("the end of a client's side reaches the owner after its commands, and the replies come", async (context) => {
  const { front, owner } = await startPair(context);
  using peer = await front.client();
  peer.say(`AUTH ${tokenOf("red")}\r\nSET k v\r\nGET k\r\n`);
  peer.socket.end();
  assert.equal(await peer.hearAll(), "+OK\r\n+OK\r\n$1\r\nv\r\n");
  await until(() => owner.connectionCount === 0 && front.connectionCount === 0);
});

test("clients with TLS use the public certificate, and no other", async (context) => {
  const directory = mkdtempSync(join(tmpdir(), "larder-resp-"));
  context.after(() => rmSync(directory, { recursive: true, force: true }));
  const [{ certificate, key }] = localCertificates;
  const paths = { certificate: join(directory, "cert.pem"), key: join(directory, "key.pem") };
  writeFileSync(paths.certificate, certificate);
  writeFileSync(paths.key, key, { mode: 0o600 });
  const named = (path: string): { path: string; place: string } => ({ path, place: "--resp-tls-cert" });
  const tls = { certificate: named(paths.certificate), key: named(paths.key) };
  const { front } = await startPair(context, { resp: { tls } });
  const socket = connectTls({ host: "127.0.0.1", port: front.respPort, ca: certificate, servername: "localhost" });
  await once(socket, "secureConnect");
  using peer = new RawPeer(socket);
  await ask(peer, `AUTH ${tokenOf("red")}\r\nSET k v\r\nGET k`, "+OK\r\n+OK\r\n$1\r\nv\r\n");
});

test("a client of the owner that logs in again elsewhere is refused, and so is one that was passed on", async (context) => {
  const { front, owner } = await startPair(context);
  const other = new RespNode("other", {});
  await other.open();
  closeAfter(context, other);
  other.serve("tan");
  front.follow("tan", other);
  owner.follow("tan", other);
  const refusal = "-ERR this node does not serve the database: log in to it on a new connection\r\n";
  for (const node of [front, owner]) {
    using peer = await node.client();
    await ask(peer, `AUTH ${tokenOf("red")}`, "+OK\r\n");
    await ask(peer, `AUTH ${tokenOf("tan")}`, refusal);
    await ask(peer, "GET none", "$-1\r\n");
  }
  using fresh = await owner.client();
  await ask(fresh, `AUTH ${tokenOf("tan")}\r\nSET k tan`, "+OK\r\n+OK\r\n");
});

test("RESET makes a connection of a node one that may be passed on", async (context) => {
  const { front, owner } = await startPair(context);
  front.serve("tan");
  using peer = await front.client();
  await ask(peer, `AUTH ${tokenOf("tan")}\r\nSET k tan`, "+OK\r\n+OK\r\n");
  await ask(peer, `RESET\r\nAUTH ${tokenOf("red")}\r\nGET k`, "+RESET\r\n+OK\r\n$-1\r\n");
  assert.equal(owner.connectionCount, 1);
});

test("when the shard moves, a blocked command ends with an error, and the client logs in at the next owner", async (context) => {
  const { front, owner, store } = await startPair(context);
  using blocked = await front.client();
  await ask(blocked, `AUTH ${tokenOf("red")}\r\nSET k v`, "+OK\r\n+OK\r\n");
  blocked.say("BLPOP none 0\r\nBLPOP none 0\r\nGET k\r\n");
  using direct = await owner.client();
  await ask(direct, `AUTH ${tokenOf("red")}`, "+OK\r\n");
  using idle = await front.client();
  await ask(idle, `AUTH ${tokenOf("red")}\r\nMULTI\r\nSET k lost`, "+OK\r\n+OK\r\n+QUEUED\r\n");
  direct.say("BLPOP none 0\r\n");
  const { waiters } = store.database("red");
  await until(() => waiters.count === 2);
  const released = owner.release("red");
  assert.equal(await blocked.hearAll(), `${UNBLOCKED}${UNBLOCKED}$1\r\nv\r\n`);
  assert.equal(await direct.hearAll(), UNBLOCKED);
  assert.equal(await idle.hearAll(), "");
  await released;
  assert.equal(waiters.count, 0);

  // Logins wait until the shard is served again, here or there.
  owner.follow("red", front);
  using waiting = await owner.client();
  waiting.say(`AUTH ${tokenOf("red")}\r\nSET k next\r\n`);
  front.serve("red");
  assert.equal(await waiting.hear(10), "+OK\r\n+OK\r\n");
  using local = await front.client();
  await ask(local, `AUTH ${tokenOf("red")}\r\nGET k`, "+OK\r\n$4\r\nnext\r\n");
});

test("a connection that waits for the shard that its own node gets is served there", async (context) => {
  const { front } = await startPair(context);
  using peer = await front.client();
  peer.say(`AUTH ${tokenOf("tan")}\r\nSET k v\r\n`);
  using other = await front.client();
  await ask(other, "PING", "+PONG\r\n");
  front.serve("tan");
  assert.equal(await peer.hear(10), "+OK\r\n+OK\r\n");
});

test("without an owner a login is refused after the wait, nothing runs, and the client may try again", async (context) => {
  const { front, owner } = await startPair(context, { waitMs: 0 });
  using peer = await front.client();
  await ask(peer, `AUTH ${tokenOf("tan")}\r\nSET k v`, `${NO_OWNER}-NOAUTH Authentication required.\r\n`);
  await ask(peer, `HELLO 3 AUTH default ${tokenOf("tan")}`, NO_OWNER);
  const store = owner.serve("tan");
  front.follow("tan", owner);
  await ask(peer, `AUTH ${tokenOf("tan")}\r\nGET k`, "+OK\r\n$-1\r\n");
  assert.deepEqual(store.databaseNames, ["main", "tan"]);
});

test("a node that lost the shard refuses a connection, which is then refused here", async (context) => {
  const { front, owner } = await startPair(context, { waitMs: 0 });
  await owner.release("red");
  using peer = await front.client();
  await ask(peer, `AUTH ${tokenOf("red")}`, NO_OWNER);
});

test("a client whose connection to the owner breaks is disconnected", async (context) => {
  const { front } = await startPair(context);
  let tunnel: Socket | undefined;
  const owner = createTlsServer(new SharedKeys([NODE_KEY]).serverOptions, (socket) => {
    tunnel = socket;
    socket.on("error", () => {});
    socket.once("data", () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      socket.once("data", () => socket.write("+OK\r\n"));
    });
  });
  front.forwarding.frontOf(1).follow(await ownerAt(owner, context));
  using peer = await front.client();
  await ask(peer, `AUTH ${tokenOf("red")}`, "+OK\r\n");
  peer.say("INCR n\r\n");
  tunnel?.destroy();
  assert.equal(await peer.hearAll(), "");
  await until(() => front.connectionCount === 0);
});

test("a client that has gone ends its connection at the owner", async (context) => {
  const { front, owner } = await startPair(context);
  const peer = await front.client();
  await ask(peer, `AUTH ${tokenOf("red")}`, "+OK\r\n");
  assert.equal(owner.connectionCount, 1);
  peer.socket.resetAndDestroy();
  await until(() => owner.connectionCount === 0 && front.connectionCount === 0);
});

test("a node that stops lets the owner answer what was sent, and ends the connections", async (context) => {
  const { front, owner } = await startPair(context);
  using peer = await front.client();
  await ask(peer, `AUTH ${tokenOf("red")}`, "+OK\r\n");
  await ask(peer, "SET k v", "+OK\r\n");
  const closed = front.close(60_000);
  assert.equal(await peer.hearAll(), "");
  await closed;
  await until(() => owner.connectionCount === 0);
});

test("an owner that stops accepts no client while it ends those that it has", async (context) => {
  const { front, owner, store } = await startPair(context);
  using peer = await front.client();
  using direct = await owner.client();
  for (const each of [peer, direct]) {
    await ask(each, `AUTH ${tokenOf("red")}`, "+OK\r\n");
    each.say("BLPOP none 0\r\n");
  }
  const { waiters } = store.database("red");
  await until(() => waiters.count === 2);
  const closed = owner.close(60_000);
  await assert.rejects(owner.client(), /ECONNREFUSED/);
  assert.deepEqual(await Promise.all([peer.hearAll(), direct.hearAll()]), [UNBLOCKED, UNBLOCKED]);
  await closed;
});

test("the connections that other nodes pass on count for the limit of the owner", async (context) => {
  const owner = new RespNode("owner", { resp: { listen: undefined, connectionsMax: 1 } });
  const front = new RespNode("front", {});
  await owner.open();
  await front.open();
  closeAfter(context, front, owner);
  owner.serve("red");
  front.follow("red", owner);
  assert.equal(owner.respPort, undefined);
  using first = await front.client();
  await ask(first, `AUTH ${tokenOf("red")}`, "+OK\r\n");
  using second = await front.client();
  second.say(`AUTH ${tokenOf("red")}\r\n`);
  assert.equal(await second.hearAll(), "-ERR max number of clients reached\r\n");
  await ask(first, "GET none", "$-1\r\n");
});

test("clients that need no login go on with their first command, if there is one database", async (context) => {
  const names = ["red"];
  const { front } = await startPair(context, { redisCompat: true, names });
  const owner = new RespNode("compat", { redisCompat: true, names });
  await owner.open();
  closeAfter(context, owner);
  const { store } = startSession();
  store.dropDatabase("main");
  store.database("red");
  owner.serve("red", store);
  front.follow("red", owner);
  using peer = await front.client();
  await ask(peer, "SET k v\r\nGET k", "+OK\r\n$1\r\nv\r\n");
  // Longer than what a client may send before its login.
  using long = await front.client();
  await ask(long, `*13\r\n$4\r\nMSET\r\n${"$1\r\na\r\n".repeat(12)}GET a`, "+OK\r\n$1\r\na\r\n");
});

test("ioredis and node-redis work through a node that serves nothing", async (context) => {
  const { front } = await startPair(context);
  const address = { host: "127.0.0.1", port: front.respPort ?? 0 };
  const io = new Redis({ ...address, password: tokenOf("red") });
  assert.equal(await io.set("k", "v"), "OK");
  const results = await io.pipeline().incr("n").incr("n").get("k").exec();
  assert.deepEqual(results, [
    [null, 1],
    [null, 2],
    [null, "v"],
  ]);
  const other = io.duplicate();
  const blocked = other.blpop("list", 0);
  assert.equal(await io.rpush("list", "x"), 1);
  assert.deepEqual(await blocked, ["list", "x"]);
  const node = createClient({ socket: address, username: "ann@red", password: "password", RESP: 3 });
  await node.connect();
  assert.equal(await node.get("k"), "v");
  assert.deepEqual(await node.multi().set("a", "1").incr("a").exec(), ["OK", 2]);
  await node.close();
  other.disconnect();
  io.disconnect();
});

test("a server that is no node of the cluster gets nothing of a client but a handshake", async (context) => {
  const heard: string[] = [];
  const stranger = createServer((socket: Socket) => {
    socket.on("error", () => {});
    socket.on("data", (piece) => {
      heard.push(piece.toString("latin1").slice(0, 2));
      socket.end("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n");
    });
  });
  const { front } = await startPair(context, { waitMs: 0 });
  front.forwarding.frontOf(1).follow(await ownerAt(stranger, context));
  using peer = await front.client();
  await ask(peer, `AUTH ${tokenOf("red")}`, NO_OWNER);
  assert.deepEqual(heard, ["\x16\x03"]);
});
