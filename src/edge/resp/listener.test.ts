/** The RESP port over real sockets, with a real store. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { Socket } from "node:net";
import { test } from "node:test";
import { RawPeer } from "../../../test/harness/raw-peer.ts";
import { contentOf, RecordingJournal, replayed } from "../../../test/harness/recording-journal.ts";
import { startSession } from "../../../test/harness/store-harness.ts";
import { systemClock } from "../../kernel/clock.ts";
import { createLog } from "../../kernel/log.ts";
import type { Store } from "../../store/mod.ts";
import { TokenTable } from "../auth.ts";
import type { Caller } from "../forward/forwarded-head.ts";
import type { TunnelOutcome } from "../forward/front.ts";
import { TrustedProxies } from "../http/trusted-proxies.ts";
import { ByteBudget } from "../limits/byte-budget.ts";
import { RespListener, type RespListenerOptions } from "./listener.ts";
import type { LoginRoutes } from "./login.ts";

interface Port extends AsyncDisposable {
  readonly listener: RespListener;
  readonly store: Store;
  readonly journal: RecordingJournal;
  readonly tokens: TokenTable;
  open(): Promise<RawPeer>;
  /** Opens a connection and logs in. */
  enter(): Promise<RawPeer>;
}

async function startPort(options: Partial<RespListenerOptions> = {}): Promise<Port> {
  const journal = new RecordingJournal();
  const { store, clock } = startSession({ journal });
  const tokens = new TokenTable(Buffer.alloc(32, 1));
  tokens.replaceTenant("main", [
    { token: "token", access: "standard" },
    { token: "reader", access: "read-only" },
  ]);
  const listener = new RespListener({
    store,
    tokens,
    host: "127.0.0.1",
    port: 0,
    connectionsMax: 100,
    isOpenToAll: false,
    isServing: () => true,
    clock: systemClock,
    storeClock: clock,
    log: createLog({ level: "error", format: "json", clock, sink: () => {} }),
    budget: new ByteBudget(1e9),
    limits: { requestBytesMax: 1e6, replyBytesMax: 1e6 },
    ...options,
  });
  await listener.open();
  const open = (): Promise<RawPeer> => RawPeer.open(listener.port);
  return {
    listener,
    store,
    journal,
    tokens,
    open,
    enter: async () => {
      const peer = await open();
      assert.equal(await peer.ask("AUTH token\r\n", 5), "+OK\r\n");
      return peer;
    },
    [Symbol.asyncDispose]: () => listener.close(0),
  };
}

test("A.tcp: refuses commands before AUTH", async () => {
  await using port = await startPort();
  using peer = await port.open();
  const refusal = "-NOAUTH Authentication required.\r\n";
  assert.equal(await peer.ask("GET k\r\nnone\r\n", 2 * refusal.length), refusal.repeat(2));
  assert.match(await peer.ask("AUTH wrong\r\n", 11), /^-WRONGPASS/);
});

test("reports failed commands to the watcher, and no others", async () => {
  const texts: string[] = [];
  await using port = await startPort({ onFailure: (text) => texts.push(text) });
  using peer = await port.open();
  const ask = async (line: string, reply: string): Promise<void> => {
    assert.equal(await peer.ask(`${line}\r\n`, reply.length + 2), `${reply}\r\n`);
  };
  await ask("AUTH wrong", "-WRONGPASS invalid username-password pair or user is disabled.");
  await ask("AUTH token", "+OK");
  await ask("SET k v", "+OK");
  await ask("INCR k", "-ERR value is not an integer or out of range");
  assert.deepEqual(texts, [
    "WRONGPASS invalid username-password pair or user is disabled.",
    "ERR value is not an integer or out of range",
  ]);
});

test("answers LOADING while the store opens, and then serves", async () => {
  let isServing = false;
  await using port = await startPort({ isServing: () => isServing });
  using peer = await port.open();
  const loading = "-LOADING larder is loading its data\r\n";
  assert.equal(await peer.ask("AUTH token\r\nPING\r\n", 2 * loading.length), loading.repeat(2));
  isServing = true;
  assert.equal(await peer.ask("AUTH token\r\n", 5), "+OK\r\n");
});

test("ACL LOG names the connection of a refused command and of a wrong password", async () => {
  await using port = await startPort();
  const { store } = port;
  const database = store.database("main");
  database.users.set("ann", ["on", ">password", "+ping"]);
  using peer = await port.open();
  assert.match(await peer.ask("AUTH ann wrong\r\n", 11), /^-WRONGPASS/);
  peer.say("AUTH ann password\r\nGET k\r\nPING\r\n");
  for (let heard = ""; !heard.endsWith("+PONG\r\n"); ) heard += await peer.hear(1);
  const [refused, wrong] = database.users.log.entries;
  assert.match(refused?.client ?? "", /^id=1 addr=127\.0\.0\.1:\d+ laddr=127\.0\.0\.1:\d+ fd=-1 .* cmd=get user=ann /);
  assert.match(wrong?.client ?? "", /^id=1 addr=127\.0\.0\.1:\d+ laddr=127\.0\.0\.1:\d+ fd=-1 .* user=default /);
});

test("a publisher to its own channel gets the reply before the message, as in Redis since 7.2", async () => {
  await using port = await startPort();
  using peer = await port.enter();
  peer.say("HELLO 3\r\nPING\r\n");
  for (let heard = ""; !heard.endsWith("+PONG\r\n"); ) heard += await peer.hear(1);
  const message = (text: string): string => `>3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$${text.length}\r\n${text}\r\n`;
  for (const [said, heard] of [
    ["SUBSCRIBE c", ">3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n"],
    ["PUBLISH c hi\r\nPING", `:1\r\n${message("hi")}+PONG\r\n`],
    [
      "MULTI\r\nPUBLISH c one\r\nGET k\r\nPUBLISH c two\r\nEXEC",
      `+OK\r\n${"+QUEUED\r\n".repeat(3)}*3\r\n:1\r\n_\r\n:1\r\n${message("one")}${message("two")}`,
    ],
    [`EVAL "redis.call('publish', 'c', 'lua') return 5" 0`, `:5\r\n${message("lua")}`],
  ] as const)
    assert.equal(await peer.ask(`${said}\r\n`, heard.length), heard, said);
});

test("refuses a connection beyond the limit with an error", async () => {
  await using port = await startPort({ connectionsMax: 1 });
  using first = await port.enter();
  using second = await port.open();
  assert.equal(await second.hearAll(), "-ERR max number of clients reached\r\n");
  assert.deepEqual([port.listener.acceptedCount, port.listener.rejectedCount], [1, 1]);
  assert.equal(await first.ask("PING\r\n", 7), "+PONG\r\n");
});

test("ends only connections whose token is revoked", async () => {
  await using port = await startPort();
  using peer = await port.enter();
  using reader = await port.open();
  assert.equal(await reader.ask("AUTH default_ro reader\r\n", 5), "+OK\r\n");
  port.tokens.remove("token");
  assert.equal(await peer.hearAll(), "");
  assert.equal(port.listener.cutCount("token revoked"), 1);
  assert.equal(await reader.ask("PING\r\n", 7), "+PONG\r\n");
});

test("messages arrive in the order of their publishers' replies", async () => {
  await using port = await startPort();
  using peer = await port.enter();
  using other = await port.enter();
  const subscribed = "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n";
  assert.equal(await peer.ask("SUBSCRIBE c\r\n", subscribed.length), subscribed);
  const message = "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$3\r\none\r\n";
  assert.equal(await other.ask("PUBLISH c one\r\n", 4), ":1\r\n");
  assert.equal(await peer.hear(message.length), message);
});

test("another connection serves a blocked command, in both orders of arrival", async () => {
  await using port = await startPort();
  using peer = await port.enter();
  using other = await port.enter();
  const popped = "*2\r\n$4\r\nlist\r\n$1\r\nx\r\n";
  peer.say("BLPOP list 0\r\nPING\r\n");
  assert.equal(await other.ask("RPUSH list x\r\n", 4), ":1\r\n");
  assert.equal(await peer.hear(popped.length + 7), `${popped}+PONG\r\n`);
  assert.equal(await other.ask("RPUSH list x\r\n", 4), ":1\r\n");
  assert.equal(await peer.ask("BLPOP list 0\r\n", popped.length), popped);
});

test("the commands of a packet share a frame, which is in the journal when their replies leave", async () => {
  await using port = await startPort();
  using peer = await port.enter();
  const { journal, store } = port;
  const before = journal.frames.length;
  assert.equal(await peer.ask("SET a 1\r\nSET b 2\r\nINCR b\r\n", 14), "+OK\r\n+OK\r\n:3\r\n");
  assert.equal(journal.frames.length, before + 1);
  assert.equal(await peer.ask("SET a 2\r\n", 5), "+OK\r\n");
  assert.equal(journal.frames.length, before + 2);
  assert.deepEqual(contentOf(replayed(journal.frames)), contentOf(store));
});

test("a drain answers received requests, ends every connection and accepts no more", async () => {
  const port = await startPort();
  using idle = await port.enter();
  using waiting = await port.enter();
  waiting.say("BLPOP none 0\r\n");
  const closed = port.listener.close(60_000);
  assert.deepEqual(await Promise.all([idle.hearAll(), waiting.hearAll()]), ["", ""]);
  await closed;
  assert.equal(port.listener.connectionCount, 0);
  await assert.rejects(port.open());
});

test("does not count a connection whose peer has disconnected", async () => {
  await using port = await startPort();
  using peer = await port.enter();
  assert.equal(port.listener.connectionCount, 1);
  peer.socket.end();
  await once(peer.socket, "close");
  while (port.listener.connectionCount > 0) await new Promise((resolve) => setImmediate(resolve));
  assert.ok(port.listener.receivedBytes === "AUTH token\r\n".length && port.listener.sentBytes === 5);
});

test("S-01: refuses and counts a connection without free descriptors", async () => {
  await using port = await startPort({
    gate: { proxies: new TrustedProxies(), perAddressMax: 1, descriptorsMax: 0 },
  });
  using refused = await port.open();
  assert.equal(await refused.hearAll(), "-ERR max number of clients reached\r\n");
  assert.equal(port.listener.rejectedCount, 1);
});

/** Every login leads to a node that this function chooses. */
function routesTo(tunnel: (caller: Caller) => TunnelOutcome): LoginRoutes {
  return { routeOf: () => ({ tunnel: async (caller) => tunnel(caller) }), onlyRoute: undefined };
}

test("a login whose way ends at this node is decided here, and only that one", async () => {
  const callers: Caller[] = [];
  const routes = routesTo((caller) => {
    callers.push(caller);
    return { kind: "here" };
  });
  await using port = await startPort({ routes });
  using peer = await port.open();
  assert.match(await peer.ask("AUTH wrong\r\n", 64), /^-WRONGPASS .*\r\n$/);
  assert.equal(await peer.ask("AUTH token\r\nSET k v\r\n", 10), "+OK\r\n+OK\r\n");
  const caller = { address: "127.0.0.1", port: peer.socket.localPort };
  assert.deepEqual(callers, [caller, caller]);
});

test("S-01: a connection to another node without free descriptors is refused, and the client stays", async () => {
  const tunnel = new Socket();
  Object.assign(tunnel, { _handle: { fd: 5_000, close: () => {} } });
  const routes = routesTo(() => ({ kind: "open", stream: tunnel }));
  await using port = await startPort({
    routes,
    gate: { proxies: new TrustedProxies(), perAddressMax: 1, descriptorsMax: 4_000 },
  });
  using peer = await port.open();
  const refusal = "-ERR max number of clients reached\r\n+PONG\r\n";
  assert.equal(await peer.ask("AUTH token\r\nPING\r\n", refusal.length), refusal);
  assert.equal(tunnel.destroyed, true);
});
