import assert from "node:assert/strict";
import { test } from "node:test";
import { heard, startSessions } from "../../../test/harness/session-harness.ts";
import { error, startSession, testCaller } from "../../../test/harness/store-harness.ts";
import { readOnlyUser } from "../acl/built-in-users.ts";
import { push, simple } from "../reply/reply.ts";

test("PUBSUB returns channels, their subscribers, and patterns", () => {
  const session = startSession();
  const { pubsub } = session.database;
  const one = pubsub.open({ receive: () => {}, drop: () => {} });
  const other = pubsub.open({ receive: () => {}, drop: () => {} });
  for (const channel of ["news.a", "news.b", "x"]) pubsub.subscribe(one, channel);
  pubsub.subscribe(other, "x");
  pubsub.subscribePattern(other, "n*");
  session.expect([
    ["PUBSUB CHANNELS", ["news.a", "news.b", "x"]],
    ["PUBSUB channels news.*", ["news.a", "news.b"]],
    ["PUBSUB CHANNELS nothing", []],
    ["PUBSUB NUMSUB", []],
    ["PUBSUB NUMSUB x y news.a x", ["x", 2, "y", 0, "news.a", 1, "x", 2]],
    ["PUBSUB NUMPAT", 1],
    ["PUBSUB SHARDCHANNELS", []],
    ["PUBSUB SHARDCHANNELS a*", []],
    ["PUBSUB SHARDNUMSUB x y", ["x", 0, "y", 0]],
    ["PUBLISH x m", 2],
    ["PUBLISH news.a m", 2],
    ["PUBLISH other m", 0],
  ]);
});

test("PUBSUB rejects extra arguments", () => {
  startSession().expect([
    ["PUBSUB", error("ERR wrong number of arguments for 'pubsub' command")],
    ["PUBSUB NOPE", error("ERR unknown subcommand 'NOPE'. Try PUBSUB HELP.")],
    [
      "PUBSUB CHANNELS a b",
      error("ERR unknown subcommand or wrong number of arguments for 'CHANNELS'. Try PUBSUB HELP."),
    ],
    [
      "PUBSUB shardchannels a b",
      error("ERR unknown subcommand or wrong number of arguments for 'shardchannels'. Try PUBSUB HELP."),
    ],
    ["PUBSUB NUMPAT x", error("ERR wrong number of arguments for 'pubsub|numpat' command")],
  ]);
});

test("PUBSUB HELP lists every subcommand", () => {
  const lines = startSession().run("PUBSUB HELP");
  const text = JSON.stringify(lines);
  for (const name of ["CHANNELS", "NUMPAT", "NUMSUB", "SHARDCHANNELS", "SHARDNUMSUB"]) assert.ok(text.includes(name));
});

test("a read-only token may query the subscribers of known channels, and nothing else", () => {
  const { database } = startSession();
  const caller = { ...testCaller, user: readOnlyUser } as const;
  assert.deepEqual(database.command(caller, ["PUBSUB", "NUMSUB", "a"]), ["a", 0]);
  for (const words of [
    ["PUBSUB", "CHANNELS"],
    ["PUBSUB", "NUMPAT"],
    ["PUBLISH", "a", "b"],
  ])
    assert.match(JSON.stringify(database.command(caller, words)), /NOPERM/);
});

test("over TCP a session subscribes, receives messages, and unsubscribes", () => {
  const { connect } = startSessions();
  const listener = connect();
  const one = connect();
  listener.expect([
    ["SUBSCRIBE a b a", heard(push(["subscribe", "a", 1]), push(["subscribe", "b", 2]), push(["subscribe", "a", 2]))],
    ["PSUBSCRIBE a* [b]", heard(push(["psubscribe", "a*", 3]), push(["psubscribe", "[b]", 4]))],
    ["SUBSCRIBE", error("ERR wrong number of arguments for 'subscribe' command")],
  ]);
  one.expect([
    ["PUBLISH a x", 2],
    ["PUBLISH b y", 2],
    ["PUBLISH c z", 0],
    ["PUBSUB NUMSUB a b c", ["a", 1, "b", 1, "c", 0]],
    ["PUBSUB NUMPAT", 2],
  ]);
  assert.deepEqual(listener.listen(), [
    { kind: "message", channel: "a", payload: "x" },
    { kind: "pmessage", pattern: "a*", channel: "a", payload: "x" },
    { kind: "message", channel: "b", payload: "y" },
    { kind: "pmessage", pattern: "[b]", channel: "b", payload: "y" },
  ]);
  listener.expect([
    ["UNSUBSCRIBE b c", heard(push(["unsubscribe", "b", 3]), push(["unsubscribe", "c", 3]))],
    ["PUNSUBSCRIBE", heard(push(["punsubscribe", "a*", 2]), push(["punsubscribe", "[b]", 1]))],
    ["UNSUBSCRIBE", push(["unsubscribe", "a", 0])],
    ["PUNSUBSCRIBE", push(["punsubscribe", null, 0])],
    ["PUBLISH a x", 0],
  ]);
  assert.equal(listener.session.isListening, false);
});

test("SSUBSCRIBE and SPUBLISH have channels of their own, which are counted apart", () => {
  const { connect } = startSessions();
  const listener = connect();
  const one = connect();
  listener.expect([
    [
      "SSUBSCRIBE a b a",
      heard(push(["ssubscribe", "a", 1]), push(["ssubscribe", "b", 2]), push(["ssubscribe", "a", 2])),
    ],
    ["SUBSCRIBE a", push(["subscribe", "a", 1])],
    ["PSUBSCRIBE *", push(["psubscribe", "*", 2])],
    [
      "SPUBLISH a x",
      error(
        "ERR Can't execute 'spublish': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context",
      ),
    ],
  ]);
  one.expect([
    ["SPUBLISH a x", 1],
    ["SPUBLISH c x", 0],
    ["PUBLISH a y", 2],
    ["PUBSUB SHARDCHANNELS", ["a", "b"]],
    ["PUBSUB SHARDCHANNELS [b]", ["b"]],
    ["PUBSUB SHARDNUMSUB a c", ["a", 1, "c", 0]],
    ["PUBSUB CHANNELS", ["a"]],
    ["SPUBLISH a", error("ERR wrong number of arguments for 'spublish' command")],
  ]);
  assert.deepEqual(listener.listen(), [
    { kind: "smessage", channel: "a", payload: "x" },
    { kind: "message", channel: "a", payload: "y" },
    { kind: "pmessage", pattern: "*", channel: "a", payload: "y" },
  ]);
  listener.expect([
    ["UNSUBSCRIBE", push(["unsubscribe", "a", 1])],
    ["PUNSUBSCRIBE", push(["punsubscribe", "*", 0])],
    ["SUNSUBSCRIBE c b", heard(push(["sunsubscribe", "c", 2]), push(["sunsubscribe", "b", 1]))],
    ["PING", ["pong", ""]],
    ["SUNSUBSCRIBE", push(["sunsubscribe", "a", 0])],
    ["SUNSUBSCRIBE", push(["sunsubscribe", null, 0])],
    ["PING", simple("PONG")],
  ]);
});

test("in a transaction SPUBLISH and SUNSUBSCRIBE run, and SSUBSCRIBE is refused", () => {
  const { connect } = startSessions();
  const listener = connect();
  listener.run("SSUBSCRIBE a");
  connect().expect([
    ["MULTI", simple("OK")],
    ["SSUBSCRIBE a", simple("QUEUED")],
    ["SPUBLISH a m", simple("QUEUED")],
    ["SUNSUBSCRIBE", simple("QUEUED")],
    ["EXEC", [error("ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client"), 1, push(["sunsubscribe", null, 0])]],
  ]);
  assert.deepEqual(listener.listen(), [{ kind: "smessage", channel: "a", payload: "m" }]);
});

test("a script may SPUBLISH, and may not SSUBSCRIBE", () => {
  const session = startSession();
  session.expect([
    ["EVAL \"return redis.call('SPUBLISH', 'a', 'm')\" 0", 0],
    ["EVAL \"return redis.pcall('SSUBSCRIBE', 'a')\" 0", error("ERR This Redis command is not allowed from script")],
  ]);
});

test("the rights on channels apply to shard channels, and a lost right ends the session", async () => {
  const { store, connect } = startSessions();
  const admin = connect();
  admin.run("ACL SETUSER ann on >p +@all ~* &news:*");
  const user = store.database("main").users.find("ann");
  assert.ok(user !== undefined);
  const ann = connect({ user });
  ann.expect([
    ["SSUBSCRIBE news:a", push(["ssubscribe", "news:a", 1])],
    ["SSUBSCRIBE other", error("NOPERM this user has no permissions to access one of the channels used as arguments")],
  ]);
  connect({ user }).expect([
    ["SPUBLISH news:a x", 1],
    ["SPUBLISH other x", error("NOPERM this user has no permissions to access one of the channels used as arguments")],
  ]);
  admin.run("ACL SETUSER ann resetchannels");
  assert.equal(ann.closed, "at once");
});

test("RESET ends subscriptions of shard channels", () => {
  const { connect } = startSessions();
  const listener = connect();
  listener.run("SSUBSCRIBE a");
  listener.expect([["RESET", simple("RESET")]]);
  connect().expect([["SPUBLISH a x", 0]]);
  assert.deepEqual(listener.listen(), []);
});

test("MONITOR over TCP shows commands of others, without secrets and administrative commands", () => {
  const { clock, connect, connectStranger } = startSessions();
  clock.advance(1_721_284_005_242 - clock.nowMs());
  const monitor = connect();
  monitor.expect([
    ["MONITOR", simple("OK")],
    ["MONITOR"],
    ["GET k", error("ERR Replica can't interact with the keyspace")],
    ["PUBLISH a b", error("ERR Replica can't interact with the keyspace")],
  ]);
  assert.equal(monitor.session.isListening, true);
  const one = connect();
  for (const line of [
    "SET k v",
    "GET",
    "CONFIG GET maxmemory",
    "AUTH secret",
    "AUTH default secret",
    "HELLO 3 SETNAME auth AUTH default secret",
    "MULTI",
    "GET k",
    "EXEC",
    "CLIENT ID",
    "CLIENT LIST",
  ])
    one.run(line);
  connectStranger().run("AUTH main-token");
  const lines = monitor
    .listen()
    .map((push) => (typeof push === "object" && push !== null && "line" in push ? push.line : push));
  assert.deepEqual(lines, [
    '1721284005.242000 [0 127.0.0.1:40002] "SET" "k" "v"',
    '1721284005.242000 [0 127.0.0.1:40002] "AUTH" "(redacted)"',
    '1721284005.242000 [0 127.0.0.1:40002] "AUTH" "(redacted)" "(redacted)"',
    '1721284005.242000 [0 127.0.0.1:40002] "HELLO" "3" "SETNAME" "auth" "AUTH" "(redacted)" "(redacted)"',
    '1721284005.242000 [0 127.0.0.1:40002] "MULTI"',
    '1721284005.242000 [0 127.0.0.1:40002] "GET" "k"',
    '1721284005.242000 [0 127.0.0.1:40002] "EXEC"',
    '1721284005.242000 [0 127.0.0.1:40002] "CLIENT" "ID"',
  ]);
  monitor.expect([["RESET", simple("RESET")]]);
  one.run("SET k v");
  assert.deepEqual(monitor.listen(), []);
});

test("A-06: subscribers of one database receive nothing from another", () => {
  const { store, connect } = startSessions();
  const other = { database: store.database("other") };
  const listener = connect(other);
  listener.run("PSUBSCRIBE *");
  const monitor = connect(other);
  monitor.run("MONITOR");
  const one = connect();
  one.expect([
    ["PUBLISH a x", 0],
    ["SET k v", { kind: "simple", text: "OK" }],
    ["WATCH k", { kind: "simple", text: "OK" }],
    ["MULTI", { kind: "simple", text: "OK" }],
  ]);
  connect(other).run("SET k w");
  one.expect([["EXEC", []]]);
  assert.deepEqual(listener.listen(), []);
  const received = monitor.listen();
  assert.equal(received.length, 1);
});
