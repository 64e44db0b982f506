/** CLIENT TRACKING in sessions: which pushes each connection gets, and in which order. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type Heard,
  isPushed,
  type Speaker,
  startSessions,
  type TestSessions,
} from "../../../../test/harness/session-harness.ts";
import { error, ok } from "../../../../test/harness/store-harness.ts";
import type { Bytes } from "../../../kernel/bytes.ts";
import { defaultUser } from "../../acl/built-in-users.ts";
import { simple } from "../../reply/reply.ts";
import type { Push } from "../pushes.ts";

const queued = simple("QUEUED");

/** The push about these keys; without keys: about all. */
function invalid(...keys: readonly Bytes[]): Push {
  return { kind: "invalidate", keys: keys.length === 0 ? null : keys };
}

/** Sends lines, and compares the output of each: the reply, then pushes, as a connection sends them. */
function expect(speaker: Speaker, turns: readonly (readonly [line: string, ...output: readonly Heard[]])[]): void {
  for (const [line, ...output] of turns) {
    const all = speaker.run(line);
    assert.deepEqual([...all.filter((one) => !isPushed(one)), ...all.filter(isPushed)], output, line);
  }
}

/** A connection with RESP3, after some lines. */
function connect3({ connect }: TestSessions, ...lines: readonly string[]): Speaker {
  const speaker = connect();
  for (const line of ["HELLO 3", ...lines]) speaker.run(line);
  speaker.listen();
  return speaker;
}

/** A connection that tracks, and another one. */
function start(line = "CLIENT TRACKING ON"): { sessions: TestSessions; one: Speaker; two: Speaker } {
  const sessions = startSessions({ hasScripts: true });
  return { sessions, one: connect3(sessions, line), two: connect3(sessions) };
}

test("a change of a key is pushed once to each client that has read it", () => {
  const { sessions, one, two } = start();
  const three = connect3(sessions, "CLIENT TRACKING ON", "EXISTS k");
  expect(two, [["SET k 1", ok]]);
  expect(one, [
    ["GET k", "1"],
    ["GET k", "1"],
  ]);
  assert.deepEqual(three.listen(), [invalid("k")]);
  three.run("STRLEN k");
  three.listen();
  expect(two, [
    ["SET k 2", ok],
    ["SET k 3", ok],
  ]);
  assert.deepEqual([one.listen(), three.listen()], [[invalid("k")], [invalid("k")]]);
});

test("the changes of one command are pushed key by key, in their order", () => {
  const { one, two } = start();
  expect(one, [["MGET k j k l", [null, null, null, null]]]);
  expect(two, [["MSET l 1 k 1 j 1", ok]]);
  assert.deepEqual(one.listen(), [invalid("l"), invalid("k"), invalid("j")]);
});

test("a client gets its own changes, unless it tracks with NOLOOP", () => {
  const { one, two } = start();
  expect(one, [
    ["GET k", null],
    ["SET k 1", ok, invalid("k")],
    ["CLIENT TRACKING ON NOLOOP", ok],
    ["GET k", "1"],
    ["SET k 2", ok],
  ]);
  // As in Redis, the client's own change ends the tracking of the key.
  expect(two, [["SET k 3", ok]]);
  assert.deepEqual(one.listen(), []);
});

test("reads and changes in a transaction are pushed after its array", () => {
  const { one, two } = start();
  expect(one, [
    ["MULTI", ok],
    ["GET k", queued],
    ["SET k 1", queued],
    ["GET j", queued],
    ["EXEC", [null, ok, null], invalid("k")],
  ]);
  expect(two, [["MSET k 1 j 1", ok]]);
  assert.deepEqual(one.listen(), [invalid("j")]);
});

test("tracking that a transaction turns on covers its later commands", () => {
  const { one, two } = start("PING");
  expect(one, [
    ["MULTI", ok],
    ["GET before", queued],
    ["CLIENT TRACKING ON", queued],
    ["GET after", queued],
    ["EXEC", [null, ok, null]],
  ]);
  expect(two, [["MSET before 1 after 1", ok]]);
  assert.deepEqual(one.listen(), [invalid("after")]);
});

test("a script counts the keys that it reads, not those that it declares", () => {
  const { one, two } = start();
  for (const line of [
    "EVAL \"return redis.call('get', 'read')\" 1 declared",
    "EVAL_RO \"return redis.call('get', 'read too')\" 0",
  ])
    expect(one, [[line, null]]);
  expect(two, [["MSET declared 1 read 1 'read too' 1", ok]]);
  assert.deepEqual(one.listen(), [invalid("read"), invalid("read too")]);
});

test("a script's changes are those of its client", () => {
  const { one, two } = start("CLIENT TRACKING ON NOLOOP");
  expect(one, [
    ["GET k", null],
    ["EVAL \"return redis.call('set', KEYS[1], '1')\" 1 k", ok],
    ["GET j", null],
  ]);
  expect(two, [["EVAL \"return redis.call('set', KEYS[1], '1')\" 1 j", ok]]);
  assert.deepEqual(one.listen(), [invalid("j")]);
});

test("only keys of commands that read count, whether these succeed or not", () => {
  const { one, two } = start();
  expect(one, [
    ["LPUSH list a", 1],
    ["GETSET s 1", null],
    ["GET list", error("WRONGTYPE Operation against a key holding the wrong kind of value")],
    ["TTL t", -2],
    ["GET u v", error("ERR wrong number of arguments for 'get' command")],
    ["XREAD COUNT 1 STREAMS x y 0 0", { kind: "nil array" }],
  ]);
  expect(two, [
    ["MSET s 1 t 1 u 1", ok],
    ["LPUSH list b", 2],
    ["SET y 1", ok],
  ]);
  assert.deepEqual(one.listen(), [invalid("t"), invalid("list"), invalid("y")]);
});

test("a flush is one push without keys to each client that tracks, and ends the tracking of keys", () => {
  const { sessions, one, two } = start();
  const three = connect3(sessions, "CLIENT TRACKING ON BCAST PREFIX a NOLOOP");
  expect(one, [
    ["GET k", null],
    ["FLUSHALL", ok, invalid()],
    ["GET k", null],
  ]);
  expect(three, [["FLUSHDB", ok, invalid(), invalid()]]);
  expect(two, [["SET k 1", ok]]);
  assert.deepEqual(one.listen(), [invalid()]);
});

test("an expired key is pushed when it is removed, to NOLOOP too", () => {
  const { sessions, one, two } = start("CLIENT TRACKING ON NOLOOP");
  const three = connect3(sessions, "CLIENT TRACKING ON BCAST NOLOOP");
  two.run("SET k 1 PX 1000");
  two.run("SET j 1 PX 1000");
  three.listen();
  one.run("GET k");
  one.run("GET j");
  one.listen();
  sessions.clock.advance(1_001);
  expect(one, [["GET k", null, invalid("k")]]);
  assert.deepEqual(three.listen(), [invalid("k")]);
  sessions.store.database("main").sweepExpired();
  assert.deepEqual([one.listen(), three.listen()], [[invalid("j")], [invalid("j")]]);
});

test("an evicted key is pushed, to the NOLOOP client whose command evicts too", () => {
  const { one } = start("CLIENT TRACKING ON NOLOOP");
  one.run("SET k 1");
  one.run("GET k");
  one.listen();
  expect(one, [["CONFIG SET maxmemory-policy allkeys-random maxmemory 1", ok, invalid("k")]]);
});

test("OPTIN counts the command after CLIENT CACHING YES, or the transaction", () => {
  const { one, two } = start("CLIENT TRACKING ON OPTIN");
  expect(one, [
    ["GET a", null],
    ["CLIENT CACHING YES", ok],
    ["CLIENT GETNAME", null],
    ["GET b", null],
    ["GET c", null],
    ["CLIENT CACHING YES", ok],
    ["PING", simple("PONG")],
    ["GET d", null],
    ["CLIENT CACHING YES", ok],
    ["MULTI", ok],
    ["GET e", queued],
    ["GET f", queued],
    ["EXEC", [null, null]],
    ["GET g", null],
  ]);
  expect(two, [["MSET a 1 b 1 c 1 d 1 e 1 f 1 g 1", ok]]);
  assert.deepEqual(one.listen(), [invalid("b"), invalid("e"), invalid("f")]);
});

test("OPTOUT counts all commands except the one after CLIENT CACHING NO", () => {
  const { one, two } = start("CLIENT TRACKING ON OPTOUT");
  expect(one, [
    ["GET a", null],
    ["CLIENT CACHING NO", ok],
    ["GET b", null],
    ["GET c", null],
  ]);
  expect(two, [["MSET a 1 b 1 c 1", ok]]);
  assert.deepEqual(one.listen(), [invalid("a"), invalid("c")]);
});

test("BCAST pushes the changed keys of a command by prefix, both sorted, whether they were read or not", () => {
  const { one, two } = start("CLIENT TRACKING ON BCAST PREFIX k PREFIX a");
  expect(one, [["GET z", null]]);
  expect(two, [
    ["MSET k2 1 z 1 k1 1 a2 1 a1 1 k1 2", ok],
    ["SET z 2", ok],
  ]);
  assert.deepEqual(one.listen(), [invalid("a1", "a2"), invalid("k1", "k2")]);
  expect(one, [["SET k1 3", ok, invalid("k1")]]);
});

test("BCAST without a prefix pushes every change, and with NOLOOP those of others", () => {
  const { one, two } = start("CLIENT TRACKING ON BCAST NOLOOP");
  expect(one, [["MSET a 1 b 1", ok]]);
  expect(two, [["SET '' 1", ok]]);
  assert.deepEqual(one.listen(), [invalid("")]);
});

test("a client is notified of its own key that another client takes at once", () => {
  const { one, two } = start("CLIENT TRACKING ON BCAST NOLOOP");
  two.run("BLPOP list 0");
  expect(one, [["RPUSH list a", 1, invalid("list")]]);
});

test("BCAST pushes to a user the keys that it has a right to", () => {
  const sessions = startSessions();
  const admin = connect3(sessions);
  expect(admin, [["ACL SETUSER ann on nopass +@all ~app:* %R~shared", ok]]);
  const database = sessions.store.database("main");
  const ann = database.users.find("ann") ?? defaultUser;
  const one = sessions.connect({ user: ann });
  expect(one, [
    ["CLIENT TRACKING ON REDIRECT 3 BCAST", error("ERR The client ID you want redirect to does not exist")],
  ]);
  for (const line of ["HELLO 3", "CLIENT TRACKING ON BCAST"]) one.run(line);
  one.listen();
  expect(admin, [["MSET app:1 1 other 1 shared 1", ok]]);
  assert.deepEqual(one.listen(), [invalid("app:1", "shared")]);
});

test("a connection that tracks with RESP2 gets pushes once it speaks RESP3", () => {
  const sessions = startSessions();
  const one = sessions.connect();
  const two = sessions.connect();
  expect(one, [
    ["CLIENT TRACKING ON", ok],
    ["GET a", null],
    ["GET b", null],
  ]);
  expect(two, [["SET a 1", ok]]);
  one.run("HELLO 3");
  one.listen();
  expect(two, [["SET b 1", ok]]);
  assert.deepEqual(one.listen(), [invalid("b")]);
});

test("REDIRECT pushes to another connection: with RESP3, or subscribed to any channel", () => {
  const sessions = startSessions();
  const sink = sessions.connect();
  const one = sessions.connect();
  const two = sessions.connect();
  expect(one, [[`CLIENT TRACKING ON REDIRECT ${sink.session.id}`, ok]]);
  const changed = (): readonly Heard[] => {
    one.run("GET k");
    two.run("SET k 1");
    return sink.listen();
  };
  assert.deepEqual(changed(), []);
  sink.run("SUBSCRIBE __redis__:invalidate");
  assert.deepEqual(changed(), [invalid("k")]);
  sink.run("RESET");
  sink.listen();
  assert.deepEqual(changed(), []);
  sink.run("HELLO 3");
  sink.listen();
  assert.deepEqual(changed(), [invalid("k")]);
  assert.equal(sink.session.isListening, true);
});

test("a broken redirection is pushed to the client each time, and shown until it tracks again", () => {
  const { sessions, one, two } = start();
  const sink = connect3(sessions);
  const { id } = sink.session;
  const broken: Push = { kind: "tracking-redir-broken", clientId: id };
  expect(one, [
    [`CLIENT TRACKING ON REDIRECT ${id}`, ok],
    ["MGET k j", [null, null]],
  ]);
  sink.session.close();
  assert.match(String(infoOf(one)), / flags=t .* redir=3 /);
  expect(two, [["MSET k 1 j 1", ok]]);
  assert.deepEqual(one.listen(), [broken, broken]);
  expect(one, [["FLUSHALL", ok, broken]]);
  assert.match(infoOf(one), / flags=tR /);
  expect(one, [["CLIENT TRACKING ON", ok]]);
  assert.match(infoOf(one), / flags=t .* redir=0 /);
});

function infoOf(speaker: Speaker): string {
  return JSON.stringify(speaker.run("CLIENT INFO"));
}

test("CLIENT INFO shows BCAST as the flag B, and no tracking as redir=-1", () => {
  const { one, two } = start("CLIENT TRACKING ON BCAST");
  assert.match(infoOf(one), / flags=tB .* redir=0 /);
  assert.match(infoOf(two), / flags=N .* redir=-1 /);
});

test("nothing is pushed for reads before tracking was turned off", () => {
  const { one, two } = start();
  expect(one, [
    ["GET k", null],
    ["CLIENT TRACKING OFF", ok],
    ["CLIENT TRACKING ON", ok],
  ]);
  expect(two, [["SET k 1", ok]]);
  assert.deepEqual(one.listen(), []);
  one.run("RESET");
  one.run("HELLO 3");
  one.listen();
  expect(two, [["FLUSHALL", ok]]);
  assert.deepEqual(one.listen(), []);
});

test("CLIENT REPLY OFF drops replies, not pushes", () => {
  const { one, two } = start();
  expect(one, [["GET k", null], ["CLIENT REPLY OFF"], ["GET k"]]);
  expect(two, [["SET k 1", ok]]);
  assert.deepEqual(one.listen(), [invalid("k")]);
});

test("writes over HTTP are pushed", () => {
  const { sessions, one } = start();
  one.run("GET k");
  one.listen();
  const caller = { user: defaultUser, transport: "http", address: "127.0.0.1:1" } as const;
  sessions.store.database("main").command(caller, ["SET", "k", "1"]);
  assert.deepEqual(one.listen(), [invalid("k")]);
});

test("A-06: tracking ends when a connection logs in to another database, and no database sees another's", () => {
  const sessions = startSessions();
  sessions.store.database("other");
  const one = connect3(sessions, "CLIENT TRACKING ON BCAST", "GET k");
  const inMain = connect3(sessions);
  const inOther = sessions.connect({ database: sessions.store.database("other") });
  expect(inOther, [
    ["SET k 1", ok],
    [
      `CLIENT TRACKING ON REDIRECT ${inMain.session.id}`,
      error("ERR The client ID you want redirect to does not exist"),
    ],
    ["FLUSHALL", ok],
  ]);
  assert.deepEqual(one.listen(), []);
  expect(one, [
    ["AUTH default other-token", ok],
    ["CLIENT GETREDIR", -1],
  ]);
  inMain.run("SET k 1");
  inOther.run("SET k 1");
  assert.deepEqual(one.listen(), []);
  assert.equal(sessions.store.database("main").tracking.clientCount, 0);
});

test("a redirection to a connection that has left the database is broken", () => {
  const { sessions, one, two } = start();
  sessions.store.database("other");
  const sink = connect3(sessions);
  expect(one, [
    [`CLIENT TRACKING ON REDIRECT ${sink.session.id}`, ok],
    ["GET k", null],
  ]);
  expect(sink, [["AUTH default other-token", ok]]);
  expect(two, [["SET k 1", ok]]);
  assert.deepEqual(one.listen(), [{ kind: "tracking-redir-broken", clientId: sink.session.id }]);
  assert.deepEqual(sink.listen(), []);
});
