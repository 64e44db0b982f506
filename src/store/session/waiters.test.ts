/** Clients that wait for keys: the order in which they are served, the unit of work, and the end of waiting. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { contentOf, RecordingJournal, replayed } from "../../../test/harness/recording-journal.ts";
import { error, nilArray, startSession } from "../../../test/harness/store-harness.ts";
import { connect, transact } from "../../../test/harness/waiting-callers.ts";
import type { CommandFacts } from "../command-facts.ts";
import { RedisCompat } from "../commands/redis-compat.ts";
import { later, pairs } from "../reply/reply.ts";

test("clients that wait for a key are served in the order in which they blocked", () => {
  const session = startSession();
  const [first, second, third] = [connect(session), connect(session), connect(session)];
  for (const caller of [first, second, third]) assert.equal(caller?.run("BLPOP k 0"), later);

  assert.equal(session.run("RPUSH k a b"), 2);

  assert.deepEqual(first?.received, [["k", "a"]]);
  assert.deepEqual(second?.received, [["k", "b"]]);
  assert.equal(third?.isWaiting, true);
  session.expect([
    ["EXISTS k", 0],
    ["RPUSH k c d", 2],
    ["LRANGE k 0 -1", ["d"]],
  ]);
  assert.deepEqual(third?.received, [["k", "c"]]);
  assert.equal(session.database.waiters.count, 0);
});

test("a push and the pop that it serves are one frame, and replay ends in the same state", () => {
  const journal = new RecordingJournal();
  const session = startSession({ journal });
  const [popping, moving] = [connect(session), connect(session)];
  popping.run("BLPOP k 0");
  moving.run("BLMOVE k target LEFT RIGHT 0");
  const frameCount = journal.frames.length;

  assert.equal(session.run("RPUSH k a b c"), 3);

  assert.equal(journal.frames.length, frameCount + 1);
  assert.deepEqual([popping.received, moving.received], [[["k", "a"]], ["b"]]);
  assert.deepEqual(contentOf(replayed(journal.frames)), contentOf(session.store));
  session.expect([
    ["LRANGE k 0 -1", ["c"]],
    ["LRANGE target 0 -1", ["b"]],
  ]);
});

test("clients that become ready by serving another one are served in the same unit of work, also in a cycle", () => {
  const journal = new RecordingJournal();
  const session = startSession({ journal });
  const callers = Array.from({ length: 4 }, () => connect(session));
  const [one, two, three, four] = callers;
  one?.run("BLMOVE a b LEFT LEFT 0");
  two?.run("BLMOVE b c LEFT LEFT 0");
  three?.run("BRPOPLPUSH c a 0");
  four?.run("BRPOP a 0");
  const frameCount = journal.frames.length;

  session.run("RPUSH a x");

  assert.deepEqual(
    callers.map(({ received }) => received),
    [["x"], ["x"], ["x"], [["a", "x"]]],
  );
  assert.equal(journal.frames.length, frameCount + 1);
  assert.equal(session.run("DBSIZE"), 0);
  assert.deepEqual(contentOf(replayed(journal.frames)), contentOf(session.store));
});

test("a key of another type serves no client until it has the right type again", () => {
  const session = startSession();
  const [popping, ranking, reading] = [connect(session), connect(session), connect(session)];
  popping.run("BLPOP k 0");
  ranking.run("BZPOPMIN k 0");
  reading.run("XREAD BLOCK 0 STREAMS k 0");

  session.expect([
    ["SET k v", { kind: "simple", text: "OK" }],
    ["DEL k", 1],
    ["ZADD k 1 m", 1],
  ]);
  assert.deepEqual(ranking.received, [["k", "m", { kind: "double", value: 1 }]]);
  session.expect([["RPUSH k e", 1]]);
  assert.deepEqual(popping.received, [["k", "e"]]);
  session.expect([["XADD k 1-1 n v", "1-1"]]);
  assert.deepEqual(reading.received, [pairs([["k", [["1-1", ["n", "v"]]]]])]);
});

test("an element that a transaction adds and removes serves no waiting client", () => {
  const session = startSession();
  const popping = connect(session);
  popping.run("BLPOP k 0");
  assert.deepEqual(transact(session, ["RPUSH k a", "DEL k"]), [1, 1]);
  assert.deepEqual(transact(session, ["RPUSH k a", "DEL k", "SADD k m"]), [1, 1, 1]);
  assert.equal(popping.isWaiting, true);
  assert.deepEqual(transact(session, ["DEL k", "RPUSH k a", "LPUSH k b"]), [1, 1, 2]);
  assert.deepEqual(popping.received, [["k", "b"]]);
});

test("keys that a transaction fills are served in the order in which they became ready", () => {
  const session = startSession();
  const [both, other] = [connect(session), connect(session)];
  both.run("BLPOP one two 0");
  other.run("BLPOP two 0");

  transact(session, ["SET one x", "RPUSH two b", "DEL one", "RPUSH one a"]);

  assert.deepEqual(both.received, [["two", "b"]]);
  assert.equal(other.isWaiting, true);
  session.expect([["LRANGE one 0 -1", ["a"]]]);
});

test("a reader of both names of a RENAME gets both streams, in the order of its command", () => {
  const session = startSession();
  session.run("XADD old 1-1 n 1");
  const reader = connect(session);
  assert.equal(reader.run("XREAD BLOCK 0 STREAMS new old $ $"), later);

  transact(session, [
    ["RENAME", "old", "new"],
    ["XADD", "old", "2-1", "n", "2"],
  ]);

  assert.deepEqual(reader.received, [
    pairs([
      ["new", [["1-1", ["n", "1"]]]],
      ["old", [["2-1", ["n", "2"]]]],
    ]),
  ]);
});

test("FLUSHALL makes only streams ready, so another awaited key is ready when it is filled", () => {
  const session = startSession();
  const first = connect(session);
  assert.equal(first.run("BZPOPMIN one two 0"), later);
  session.run("RPUSH one x");

  transact(session, ["FLUSHALL", "ZADD two 1 b", "ZADD one 1 a"]);

  assert.deepEqual(first.received, [["two", "b", { kind: "double", value: 1 }]]);
});

test("a value of a type that no client waits for makes no key ready", () => {
  const session = startSession();
  const first = connect(session);
  first.run("BLPOP one two 0");

  transact(session, ["XADD two 1-1 n 1", "RPUSH one a", "DEL two", "RPUSH two b"]);

  assert.deepEqual(first.received, [["one", "a"]]);
});

test("a value of a type that a client of another key waits for makes a key ready", () => {
  const session = startSession();
  const [first, other] = [connect(session), connect(session)];
  first.run("BLPOP one two 0");
  other.run("BZPOPMIN elsewhere 0");

  transact(session, ["ZADD two 1 a", "RPUSH one a", "DEL two", "RPUSH two b"]);

  assert.deepEqual(first.received, [["two", "b"]]);
});

test("FLUSHALL makes no stream ready while no client waits for a stream", () => {
  const session = startSession();
  const first = connect(session);
  first.run("BLPOP one two 0");

  transact(session, ["XADD two 1-1 n 1", "FLUSHALL", "RPUSH one a", "RPUSH two b"]);

  assert.deepEqual(first.received, [["one", "a"]]);
});

test("keys that a script fills are served after it, in the order in which they became ready", () => {
  const journal = new RecordingJournal();
  const session = startSession({ journal });
  const [both, other] = [connect(session), connect(session)];
  both.run("BLPOP one two 0");
  other.run("BLPOP one 0");
  const frameCount = journal.frames.length;

  const script = "redis.call('RPUSH', 'two', 'b') redis.call('RPUSH', 'one', 'a') return redis.call('LLEN', 'two')";
  assert.equal(session.call("EVAL", script, "0"), 1);

  assert.deepEqual([both.received, other.received], [[["two", "b"]], [["one", "a"]]]);
  assert.equal(journal.frames.length, frameCount + 1);
});

test("a script never blocks", () => {
  const session = startSession();
  const caller = connect(session);
  const call = (line: string): string => `return redis.pcall(unpack({${line.replace(/\S+/g, "'$&',")}}))`;
  assert.deepEqual(caller.run(["EVAL", call("BLMPOP 0 1 k LEFT"), "0"]), null);
  assert.deepEqual(caller.run(["EVAL", call("BZMPOP 0 1 k MIN"), "0"]), null);
  assert.deepEqual(caller.run(["EVAL", call("RPUSH k a"), "0"]), 1);
  assert.deepEqual(caller.run(["EVAL", call("BLMPOP 0 1 k LEFT"), "0"]), ["k", ["a"]]);
  for (const line of ["BLPOP k 0", "BLMOVE k l LEFT LEFT 0", "BZPOPMIN k 0", "XREAD BLOCK 0 STREAMS s $"])
    assert.deepEqual(caller.run(["EVAL", call(line), "0"]), null);
});

test("the timeout ends waiting, and not a millisecond earlier", () => {
  const session = startSession();
  const { clock } = session;
  const [popping, moving, patient] = [connect(session), connect(session), connect(session)];
  popping.run("BLPOP k 0.25");
  moving.run("BLMOVE k target LEFT LEFT 0.2501");
  patient.run("BLPOP k 0");
  clock.advance(249);
  assert.deepEqual([popping.isWaiting, moving.isWaiting], [true, true]);
  clock.advance(1);
  assert.deepEqual([popping.received, moving.isWaiting], [[nilArray], true]);
  clock.advance(1);
  assert.deepEqual(moving.received, [nilArray]);
  clock.advance(1_000_000_000);
  assert.equal(patient.isWaiting, true);
  session.run("RPUSH k a");
  assert.deepEqual([popping.received, moving.received, patient.received], [[nilArray], [nilArray], [["k", "a"]]]);
});

test("a served client gets no second reply at its timeout", () => {
  const session = startSession();
  const popping = connect(session);
  popping.run("BLPOP k 1");
  session.run("RPUSH k a");
  session.clock.advance(2_000);
  assert.deepEqual(popping.received, [["k", "a"]]);
});

test("a client that disconnects gets nothing, and the next one is served", () => {
  const session = startSession();
  const [gone, popping] = [connect(session), connect(session)];
  gone.run("BLPOP k l 1");
  popping.run("BLPOP k 0");
  const { waiters, keyspace } = session.database;
  if (gone.waiting !== undefined) waiters.leave(gone.waiting);
  session.run("RPUSH k a");
  session.clock.advance(2_000);
  assert.deepEqual([gone.received, popping.received], [[], [["k", "a"]]]);
  assert.equal(waiters.count, 0);
  assert.equal(keyspace.onReady, undefined);
});

test("another client may unblock a client with a reply, once", () => {
  const session = startSession();
  const popping = connect(session);
  popping.run("BLPOP k 0");
  const { waiters } = session.database;
  const unblocked = error("UNBLOCKED client unblocked via CLIENT UNBLOCK");
  assert.ok(popping.waiting !== undefined);
  assert.equal(waiters.end(popping.waiting, unblocked), true);
  assert.equal(waiters.end(popping.waiting, unblocked), false);
  session.run("RPUSH k a");
  assert.deepEqual(popping.received, [unblocked]);
});

test("a database that is dropped ends all waiting with an error", () => {
  const session = startSession();
  const callers = [connect(session), connect(session)];
  callers[0]?.run("BLPOP k 10");
  callers[1]?.run("XREAD BLOCK 0 STREAMS k $");
  session.store.dropDatabase("main");
  for (const { received, isWaiting } of callers) {
    assert.deepEqual([isWaiting, received.length], [false, 1]);
    assert.deepEqual(received[0], session.run("PING"));
  }
});

test("DEBUG RELOAD serves no client, and blocked clients stay blocked", () => {
  const session = startSession({ compat: new RedisCompat(() => {}) });
  const [popping, reading] = [connect(session), connect(session)];
  session.expect([
    ["XADD s 1-1 n v", "1-1"],
    ["XGROUP CREATE s g $", { kind: "simple", text: "OK" }],
  ]);
  popping.run("BLPOP k 0");
  reading.run("XREADGROUP GROUP g c BLOCK 0 STREAMS s >");
  session.run("DEBUG RELOAD");
  assert.deepEqual([popping.isWaiting, reading.isWaiting], [true, true]);
  session.run("RPUSH k a");
  session.run("XADD s 2-1 n v");
  assert.deepEqual(popping.received, [["k", "a"]]);
  assert.deepEqual(reading.received, [pairs([["s", [["2-1", ["n", "v"]]]]])]);
});

test("a command that names a key twice is in its queue once", () => {
  const session = startSession();
  const [popping, next] = [connect(session), connect(session)];
  popping.run("BLPOP k k 0");
  next.run("BLPOP k 0");
  session.run("RPUSH k a b");
  assert.deepEqual([popping.received, next.received], [[["k", "a"]], [["k", "b"]]]);
});

test("an error while a client is served goes to that client only, and the next one is served", () => {
  const session = startSession();
  const [moving, popping] = [connect(session), connect(session)];
  session.run("SET target string");
  moving.run("BLMOVE k target LEFT LEFT 0");
  popping.run("BLPOP k 0");
  assert.equal(session.run("RPUSH k a"), 1);
  assert.deepEqual(moving.received, [error("WRONGTYPE Operation against a key holding the wrong kind of value")]);
  assert.deepEqual(popping.received, [["k", "a"]]);
});

test("with thousands of clients that wait for a key, only those that can be served are tried", () => {
  const session = startSession();
  const { waiters } = session.database;
  const command = session.database.findCommand("BLPOP") as CommandFacts;
  let askedCount = 0;
  const served: number[] = [];
  for (let number = 0; number < 5_000; number += 1) {
    waiters.add(
      { take: () => served.push(number) },
      {
        type: "list",
        keys: ["k"],
        timeoutMs: 0,
        timedOut: nilArray,
        line: number % 2 === 0 ? "even" : "odd",
        serve: () => {
          askedCount += 1;
          return number < 4 ? "served" : undefined;
        },
      },
      { command, words: ["BLPOP", "k", "0"], caller: { address: "" } },
    );
  }
  session.run("RPUSH k a");
  assert.deepEqual(served, [0, 2, 1, 3]);
  assert.equal(askedCount, 6);
  session.run("RPUSH k b");
  assert.equal(askedCount, 6, "a push to a list with elements makes no client ready");
  session.run("SET other v");
  assert.equal(askedCount, 6);
});

test("INFO counts blocked clients", () => {
  const session = startSession();
  const popping = connect(session);
  const blocked = (): string => /blocked_clients:\d+/.exec(JSON.stringify(session.run("INFO clients")))?.[0] ?? "";
  assert.equal(blocked(), "blocked_clients:0");
  popping.run("BLPOP k 0");
  assert.equal(blocked(), "blocked_clients:1");
});
