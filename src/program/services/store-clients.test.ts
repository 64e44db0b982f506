/** The sessions of a store as clients: facts, filters, pages, and the end of one. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { startSessions } from "../../../test/harness/session-harness.ts";
import { storeClients } from "./store-clients.ts";

test("a client has the facts of CLIENT LIST by name, and nothing of keys, arguments and channels", async () => {
  const { clock, store, connect } = startSessions();
  const one = connect();
  one.run("CLIENT SETINFO lib-name ioredis");
  one.run("CLIENT SETINFO lib-ver 5.4.1");
  one.run("CLIENT SETNAME worker-1");
  one.run("HELLO 3");
  one.run("SUBSCRIBE secret-channel");
  one.run("WATCH secret-key");
  clock.advance(61_500);
  one.run("MULTI");
  one.run("SET secret-key secret-value");
  clock.advance(2_000);
  const { clients } = await storeClients(store, clock).list({ count: 10 });
  assert.deepEqual(clients, [
    {
      ...{ id: 1, database: "main", user: "default", address: "127.0.0.1:40001", localAddress: "127.0.0.1:6379" },
      ...{ name: "worker-1", libraryName: "ioredis", libraryVersion: "5.4.1", respVersion: 3 },
      ...{ ageSeconds: 63, idleSeconds: 2, states: ["subscribed", "transaction"], lastCommand: "multi", commands: 8 },
      ...{ subscriptions: 1, queuedCommands: 1, watchedKeys: 1 },
      ...{ memoryBytes: clients[0]?.memoryBytes, receivedBytes: 0, sentBytes: 0 },
    },
  ]);
  assert.doesNotMatch(JSON.stringify(clients), /secret/);
});

test("says what a client does: it is blocked, or watches commands; a new one has no last command", async () => {
  const { clock, store, connect } = startSessions();
  connect().run("BLPOP list 0");
  connect().run("MONITOR");
  connect();
  const { clients } = await storeClients(store, clock).list({ count: 10 });
  assert.deepEqual(
    clients.map(({ states, lastCommand }) => [states, lastCommand]),
    [
      [["blocked"], "blpop"],
      [["monitor"], "monitor"],
      [[], undefined],
    ],
  );
});

test("lists all databases by id, page by page, or those that pass the filters", async () => {
  const { clock, store, connect, connectStranger } = startSessions();
  const other = store.database("other");
  for (const database of ["main", "other", "main", "other"])
    connect({ database: store.database(database) }).run(`CLIENT SETNAME ${database}-client`);
  // Not logged in: of no database.
  connectStranger();
  other.users.set("\u00c3\u00a9va", ["on"]);
  const user = other.users.find("\u00c3\u00a9va");
  assert.ok(user !== undefined);
  connect({ database: other, user });
  const clients = storeClients(store, clock);
  const ids = async (query: Partial<Parameters<typeof clients.list>[0]>): Promise<unknown> => {
    const page = await clients.list({ count: 10, ...query });
    return [page.clients.map(({ id }) => id), page.cursor];
  };
  assert.deepEqual(await ids({}), [[1, 2, 3, 4, 6], undefined]);
  assert.deepEqual(await ids({ count: 2 }), [[1, 2], "2"]);
  assert.deepEqual(await ids({ count: 3, cursor: 2 }), [[3, 4, 6], undefined]);
  assert.deepEqual(await ids({ cursor: 6 }), [[], undefined]);
  assert.deepEqual(await ids({ database: "other" }), [[2, 4, 6], undefined]);
  assert.deepEqual(await ids({ name: "main-" }), [[1, 3], undefined]);
  assert.deepEqual(await ids({ user: "\u00e9va" }), [[6], undefined]);
  assert.deepEqual(await ids({ user: "nobody" }), [[], undefined]);
});

test("ends the connection of a client of any database at once", async () => {
  const { clock, store, connect } = startSessions();
  const one = connect();
  const two = connect({ database: store.database("other") });
  const clients = storeClients(store, clock);
  assert.equal(await clients.kill(2), true);
  assert.deepEqual([one.closed, two.closed], [undefined, "at once"]);
  assert.equal(await clients.kill(2), false);
});
