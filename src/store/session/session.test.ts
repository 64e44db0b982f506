/** Login, the version of RESP, names, and the end of a session. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { heard, settled, startSessions } from "../../../test/harness/session-harness.ts";
import { error, nil, ok } from "../../../test/harness/store-harness.ts";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { readOnlyUser } from "../acl/built-in-users.ts";
import { map, pong, simple } from "../reply/reply.ts";

const noAuthentication = error("NOAUTH Authentication required.");
const wrongPassword = error("WRONGPASS invalid username-password pair or user is disabled.");

/** The reply to HELLO. */
function greeting(proto: 2 | 3, id: number) {
  return map([
    ["server", "redis"],
    ["version", "7.0.15"],
    ["proto", proto],
    ["id", id],
    ["mode", "standalone"],
    ["role", "master"],
    ["modules", []],
  ]);
}

test("before login only AUTH, HELLO, PING, QUIT and RESET run", () => {
  const { connectStranger } = startSessions();
  const stranger = connectStranger();
  assert.equal(stranger.session.isAuthenticated, false);
  stranger.expect([
    ["GET k", noAuthentication],
    ["get", noAuthentication],
    ["NOSUCH", noAuthentication],
    ["ECHO x", noAuthentication],
    ["CLIENT ID", noAuthentication],
    ["MULTI", noAuthentication],
    ["PING", pong],
    ["ping hello", "hello"],
    ["PING a b", error("ERR wrong number of arguments for 'ping' command")],
    ["RESET", simple("RESET")],
    ["RESET x", error("ERR wrong number of arguments for 'reset' command")],
    ["AUTH", error("ERR wrong number of arguments for 'auth' command")],
    ["AUTH a b c", error("ERR syntax error")],
    ["AUTH wrong", wrongPassword],
    ["AUTH default wrong", wrongPassword],
    ["AUTH nobody main-token", wrongPassword],
    ["HELLO x", error("ERR Protocol version is not an integer or out of range")],
    ["HELLO 4", error("NOPROTO unsupported protocol version")],
    ["HELLO 3 what", error("ERR Syntax error in HELLO option 'what'")],
    ["HELLO 3 AUTH default", error("ERR Syntax error in HELLO option 'AUTH'")],
    [
      "HELLO 3",
      error(
        "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time",
      ),
    ],
    ["HELLO 3 AUTH default wrong", wrongPassword],
  ]);
  assert.equal(stranger.session.respVersion, 2);
  stranger.expect([
    ["AUTH main-token", ok],
    ["SET k v", ok],
    ["GET k", "v"],
    ["AUTH wrong", wrongPassword],
    ["GET k", "v"],
    ["RESET", simple("RESET")],
    ["GET k", noAuthentication],
    ["QUIT", ok],
  ]);
  assert.equal(stranger.closed, "when written");
});

test("HELLO logs in, sets the name and the version, and is never queued", () => {
  const { connectStranger } = startSessions();
  const one = connectStranger();
  one.expect([
    ["HELLO 3 AUTH default_ro main-readonly SETNAME me", greeting(3, 1)],
    ["CLIENT GETNAME", "me"],
    ["HELLO", greeting(3, 1)],
    ['HELLO 2 SETNAME "a b"', error("ERR Client names cannot contain spaces, newlines or special characters.")],
    ["hello 2", greeting(2, 1)],
    ["SET k v", error("NOPERM this user has no permissions to run the 'set' command or its subcommand")],
    ["MULTI", ok],
    ["HELLO 3", error("ERR Command not allowed inside a transaction")],
    ["AUTH main-token", error("ERR Command not allowed inside a transaction")],
    ["EXEC", error("EXECABORT Transaction discarded because of previous errors.")],
    ["AUTH default main-token", ok],
    ["SET k v", ok],
  ]);
  assert.equal(connectStranger().session.id, 2);
});

test("without required password every client is logged in, and a password is refused as in Redis", () => {
  const { connect } = startSessions();
  const one = connect();
  assert.equal(one.session.isAuthenticated, true);
  one.expect([
    ["SET k v", ok],
    [
      "AUTH foo",
      error(
        "ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?",
      ),
    ],
    ["AUTH default foo", wrongPassword],
    ["RESET", simple("RESET")],
    ["GET k", "v"],
  ]);
});

test("PING, ECHO and SELECT", () => {
  const { connect } = startSessions();
  connect().expect([
    ["PING", pong],
    ["PING hi", "hi"],
    ["ECHO hi", "hi"],
    ["SELECT 0", ok],
    ["SELECT 1", error("ERR DB index is out of range")],
    ["SELECT -1", error("ERR DB index is out of range")],
    ["SELECT x", error("ERR value is not an integer or out of range")],
    ["SELECT 99999999999", error("ERR value is not an integer or out of range")],
  ]);
});

test("a login to another database ends all state of the session in the old one", () => {
  const { store, connectStranger } = startSessions();
  store.database("other");
  const one = connectStranger();
  one.expect([
    ["HELLO 3 AUTH default main-token", greeting(3, 1)],
    ["WATCH k", ok],
    ["SUBSCRIBE news", { kind: "push", items: ["subscribe", "news", 1] }],
    ["AUTH other-token", ok],
    ["GET k", nil],
  ]);
  const main = store.database("main");
  assert.equal(main.sessions.count, 0);
  assert.equal(main.pubsub.subscriberCountOf("news"), 0);
  assert.equal(store.database("other").sessions.count, 1);
});

test("a session that closes or is killed leaves no state in the database", () => {
  const { store, connect } = startSessions();
  const database = store.database("main");
  for (const end of ["close", "kill"] as const) {
    const one = connect();
    one.run("SUBSCRIBE a b");
    const two = connect();
    two.run("WATCH k");
    two.run("MULTI");
    assert.equal(database.sessions.count, 2);
    one.session[end]();
    two.session[end]();
    assert.equal(one.closed, end === "kill" ? "at once" : undefined);
    assert.equal(database.sessions.count, 0);
    assert.equal(database.pubsub.hasListeners, false);
    assert.equal(database.keyspace.onChange, undefined);
    one.session.kill();
    assert.deepEqual(two.run("GET k"), []);
  }
});

test("a database that is dropped ends its sessions", () => {
  const { store, connect } = startSessions();
  const one = connect();
  one.expect([["SUBSCRIBE a", { kind: "push", items: ["subscribe", "a", 1] }]]);
  const two = connect();
  store.dropDatabase("main");
  assert.equal(one.closed, "at once");
  assert.equal(two.closed, "at once");
});

test("A-04: over TCP, too, a read-only user runs only reads", () => {
  const { store, connect } = startSessions();
  const reader = connect({ user: readOnlyUser });
  const refused: readonly string[] = [
    ...["GETDEL k", "GETEX k", "GETSET k v", "SORT k STORE l", "GEORADIUS k 1 1 1 m STORE l", "SPOP k", "COPY k l"],
    ...["GEOSEARCHSTORE a b FROMLONLAT 1 1 BYRADIUS 1 m", "BITFIELD k SET u8 0 1", "LMOVE a b LEFT RIGHT"],
    ...["XREADGROUP GROUP g c STREAMS k >", "XAUTOCLAIM k g c 1 0", "OBJECT ENCODING k", "PUBLISH a b"],
    ...["SUBSCRIBE a", "PSUBSCRIBE a", "MONITOR", "CONFIG GET *", "KEYS *", "SCAN 0", "INFO"],
    ...[
      "CLIENT LIST",
      "CLIENT KILL ID 1",
      "CLIENT PAUSE 1",
      "CLIENT UNPAUSE",
      "CLIENT UNBLOCK 1",
      "CLIENT NO-EVICT ON",
    ],
    ...["SET k v", "sEt k v", "DEL k", "FLUSHALL"],
  ];
  for (const line of refused) {
    const [reply] = reader.run(line);
    assert.match(JSON.stringify(reply), /NOPERM this user has no permissions/, line);
  }
  reader.expect([["MULTI", ok]]);
  for (const line of refused) assert.match(JSON.stringify(reader.run(line)), /NOPERM/, line);
  reader.expect([
    ["GET k", simple("QUEUED")],
    ["EXEC", error("EXECABORT Transaction discarded because of previous errors.")],
    ["MULTI", ok],
    ["GET k", simple("QUEUED")],
    ["EXEC", [nil]],
    ["CLIENT SETNAME reader", ok],
    ["CLIENT SETINFO LIB-NAME ioredis", ok],
    ["WATCH k", ok],
    ["UNWATCH", ok],
    ["SELECT 0", ok],
  ]);
  for (const name of ["DEBUG", "MIGRATE", "FAILOVER", "PSYNC", "SHUTDOWN", "SET\x00", " SET"])
    assert.match(JSON.stringify(reader.say(name, "x")), /Command is not available/, name);
  assert.equal(store.database("main").keyspace.size, 0);
});

test("CLIENT REPLY switches replies off, skips one, and switches them on", () => {
  const { connect } = startSessions();
  connect().expect([
    ["CLIENT REPLY SKIP"],
    ["SET k v"],
    ["GET k", "v"],
    ["CLIENT REPLY OFF"],
    ["GET k"],
    ["CLIENT REPLY SKIP"],
    ["GET k"],
    ["NOSUCH"],
    ["CLIENT REPLY ON", ok],
    ["GET k", "v"],
    ["CLIENT REPLY what", error("ERR syntax error")],
    ["MULTI", ok],
    ["CLIENT REPLY OFF", error("ERR Command not allowed inside a transaction")],
    ["DISCARD", ok],
    ["CLIENT REPLY SKIP"],
    ["RESET"],
    ["CLIENT REPLY OFF"],
    ["SUBSCRIBE a", { kind: "push", items: ["subscribe", "a", 1] }],
    ["PING"],
    ["RESET", simple("RESET")],
    ["GET k", "v"],
  ]);
});

test("RESET restores a new session", () => {
  const { connect } = startSessions();
  const one = connect();
  one.expect([
    ["HELLO 3 SETNAME me", greeting(3, 1)],
    ["CLIENT SETINFO lib-name redis-py", ok],
    [
      "SUBSCRIBE a b",
      heard({ kind: "push", items: ["subscribe", "a", 1] }, { kind: "push", items: ["subscribe", "b", 2] }),
    ],
    ["WATCH k", ok],
    ["MULTI", ok],
    ["RESET", simple("RESET")],
    ["EXEC", error("ERR EXEC without MULTI")],
    ["CLIENT GETNAME", nil],
  ]);
  assert.equal(one.session.respVersion, 2);
  assert.equal(one.session.isListening, false);
  assert.equal(one.session.transaction.watchedCount, 0);
  assert.equal(one.session.libraryName, "redis-py");
});

test("a user that is deleted loses its sessions, and revoked rights apply at once", () => {
  const { store, connect } = startSessions();
  const database = store.database("main");
  const admin = connect();
  const setAnn = (...rules: string[]): void => {
    database.users.set("ann", rules);
    admin.expect([["PING", pong]]);
  };
  setAnn("on", ">secret-of-ann", "~*", "&*", "+@all");
  const user = database.users.find("ann");
  assert.ok(user !== undefined);
  const one = connect({ user });
  one.expect([
    ["SET k v", ok],
    ["MULTI", ok],
    ["GET k", simple("QUEUED")],
    ["SET k w", simple("QUEUED")],
  ]);
  setAnn("-set");
  one.expect([
    [
      "EXEC",
      [
        "v",
        error(
          "NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC call. This command is no longer allowed for the following reason: no permission to execute the command or subcommand",
        ),
      ],
    ],
    ["SET k w", error("NOPERM this user has no permissions to run the 'set' command or its subcommand")],
  ]);
  const listener = connect({ user });
  listener.expect([["SUBSCRIBE news", { kind: "push", items: ["subscribe", "news", 1] }]]);
  setAnn("resetchannels", "&other");
  assert.equal(listener.closed, "at once");
  assert.equal(one.closed, undefined);
  one.expect([
    ["SUBSCRIBE news", error("NOPERM this user has no permissions to access one of the channels used as arguments")],
  ]);
  database.users.delete(["ann"]);
  admin.expect([["PING", pong]]);
  assert.equal(one.closed, "at once");
});

test("a command right after another has its time, but not after a login or a command with special state", () => {
  const { clock, store, connect, connectStranger } = startSessions({ clock: new VirtualClock(1_000_000) });
  const other = connect({ database: store.database("other") });
  const sayNext = (speaker: ReturnType<typeof connect>, line: string) => {
    speaker.session.executeNext(line.split(" "));
    return speaker.listen();
  };
  const one = connect();
  // The first one reads the clock in any case.
  assert.deepEqual(sayNext(one, "TIME"), [["1000", "0"]]);
  clock.advance(2_000);
  assert.deepEqual(sayNext(one, "TIME"), [["1000", "0"]]);
  assert.deepEqual(one.run("TIME"), [["1002", "0"]]);
  clock.advance(1_000);
  assert.deepEqual(sayNext(one, "MULTI"), [ok]);
  assert.deepEqual(sayNext(one, "DISCARD"), [ok]);
  clock.advance(1_000);
  assert.deepEqual(sayNext(one, "TIME"), [["1004", "0"]]);

  const stranger = connectStranger();
  assert.deepEqual(sayNext(stranger, "AUTH main-token"), [ok]);
  clock.advance(1_000);
  assert.deepEqual(sayNext(stranger, "TIME"), [["1005", "0"]]);
  assert.deepEqual(other.run("TIME"), [["1005", "0"]]);
  clock.advance(1_000);
  assert.deepEqual(sayNext(stranger, "TIME"), [["1005", "0"]]);
  // The time of the other database is that of its own last command.
  assert.deepEqual(sayNext(stranger, "AUTH other-token"), [ok]);
  assert.deepEqual(sayNext(stranger, "TIME"), [["1006", "0"]]);
});

test("a blocked or paused command of a database that moves ends with an error, and has done nothing", async () => {
  const { connect } = startSessions();
  const moved = error("UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)");
  const [one, two] = [connect(), connect()];
  one.expect([["BLPOP list 0"]]);
  one.session.unblock();
  await settled();
  assert.deepEqual([one.listen(), one.session.isWaiting], [[moved], false]);
  two.expect([
    ["RPUSH list x", 1],
    ["LLEN list", 1],
    ["CLIENT PAUSE 1000", ok],
  ]);
  one.expect([["LPOP list"]]);
  one.session.unblock();
  await settled();
  assert.deepEqual(one.listen(), [moved]);
  two.expect([["CLIENT UNPAUSE"]]);
  two.session.unblock();
  await settled();
  assert.deepEqual(two.listen(), [moved]);
  // A session that does not wait goes on.
  one.session.unblock();
  assert.deepEqual(one.listen(), []);
});
