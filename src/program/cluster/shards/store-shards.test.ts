/** One RESP port for two shards of the store, over real sockets. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { RawPeer } from "../../../../test/harness/raw-peer.ts";
import { startSession } from "../../../../test/harness/store-harness.ts";
import { TokenTable } from "../../../edge/auth.ts";
import { ByteBudget } from "../../../edge/limits/byte-budget.ts";
import { RespListener } from "../../../edge/resp/listener.ts";
import { systemClock } from "../../../kernel/clock.ts";
import { createLog } from "../../../kernel/log.ts";
import { Turns } from "../../../kernel/turns.ts";
import type { StoreShard } from "../../services/service.ts";
import { StoreShards } from "./store-shards.ts";

const key = Buffer.alloc(32, 1);
const tokenOf = (name: string): { token: string; access: "standard" } => ({
  token: `token-of-${name}`,
  access: "standard",
});

/** A shard with one database. */
function shardWith(name: string): StoreShard {
  const { store } = startSession();
  const tokens = new TokenTable(key);
  tokens.replaceTenant(name, [tokenOf(name)]);
  store.database(name);
  return { store, tokens, listening: () => {} };
}

async function startPort(context: TestContext): Promise<{
  readonly shards: StoreShards;
  readonly red: StoreShard;
  readonly tan: StoreShard;
  open(): Promise<RawPeer>;
}> {
  const all = new TokenTable(key);
  for (const name of ["red", "tan"]) all.replaceTenant(name, [tokenOf(name)]);
  const shards = new StoreShards({ turns: new Turns({ clock: systemClock }), tokens: all });
  const [red, tan] = [shardWith("red"), shardWith("tan")];
  shards.add(1, red);
  const listener = new RespListener({
    store: shards.store,
    tokens: shards.tokens,
    host: "127.0.0.1",
    port: 0,
    connectionsMax: 100,
    isOpenToAll: false,
    isServing: () => shards.isServing,
    clock: systemClock,
    storeClock: systemClock,
    log: createLog({ level: "error", format: "json", clock: systemClock, sink: () => {} }),
    budget: new ByteBudget(1e9),
    limits: { requestBytesMax: 1e6, replyBytesMax: 1e6 },
  });
  await listener.open();
  shards.listening(listener);
  context.after(() => listener.close(0));
  return { shards, red, tan, open: () => RawPeer.open(listener.port) };
}

const NOT_HERE = "-ERR this node does not serve the database: connect to the node that does\r\n";

async function ask(peer: RawPeer, command: string, reply: string): Promise<void> {
  assert.equal(await peer.ask(`${command}\r\n`, reply.length), reply);
}

test("a login finds its database on its shard, and the token of another node's database is refused by name", async (context) => {
  const { shards, red, tan, open } = await startPort(context);
  using first = await open();
  await ask(first, "GET k", "-NOAUTH Authentication required.\r\n");
  await ask(first, "AUTH token-of-tan", NOT_HERE);
  await ask(first, "AUTH token-of-red", "+OK\r\n");
  await ask(first, "SET k red", "+OK\r\n");

  shards.add(4, tan);
  using second = await open();
  assert.match(await second.ask("AUTH token-of-nobody\r\n", 10), /^-WRONGPASS/);
  using third = await open();
  await ask(third, "AUTH token-of-tan", "+OK\r\n");
  await ask(third, "GET k", "$-1\r\n");
  await ask(third, "SET k tan", "+OK\r\n");
  await ask(first, "GET k", "$3\r\nred\r\n");
  await ask(third, "AUTH token-of-red", "-ERR the database is on another shard: log in to it on a new connection\r\n");
  await ask(third, "GET k", "$3\r\ntan\r\n");
  assert.deepEqual(
    [red.store.databaseNames, tan.store.databaseNames],
    [
      ["main", "red"],
      ["main", "tan"],
    ],
  );
});

test("connections have numbers of their own across shards, and a user names the database", async (context) => {
  const { shards, tan, open } = await startPort(context);
  shards.add(4, tan);
  tan.store.database("tan").users.set("ann", ["on", ">password", "+client|id"]);
  using first = await open();
  await ask(first, "AUTH token-of-red", "+OK\r\n");
  await ask(first, "CLIENT ID", ":1\r\n");
  using second = await open();
  await ask(second, "AUTH ann@tan password", "+OK\r\n");
  await ask(second, "CLIENT ID", ":2\r\n");
});

test("a revoked token and a released shard end their connections, and no others", async (context) => {
  const { shards, red, tan, open } = await startPort(context);
  shards.add(4, tan);
  using stays = await open();
  await ask(stays, "AUTH token-of-red", "+OK\r\n");
  using revoked = await open();
  await ask(revoked, "AUTH token-of-tan", "+OK\r\n");
  tan.tokens.removeTenant("tan");
  assert.equal(await revoked.hearAll(), "");
  tan.tokens.replaceTenant("tan", [tokenOf("tan")]);
  using released = await open();
  await ask(released, "AUTH token-of-tan", "+OK\r\n");
  const removed = shards.remove(4, 0);
  assert.equal(await released.hearAll(), "");
  await removed;
  await ask(stays, "PING", "+PONG\r\n");
  using again = await open();
  await ask(again, "AUTH token-of-tan", NOT_HERE);
  assert.deepEqual(red.store.databaseNames, ["main", "red"]);
});
