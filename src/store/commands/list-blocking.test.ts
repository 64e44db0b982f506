/** Blocking list commands: the input, the immediate reply, and the reply that comes later. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { error, nil, nilArray, ok, type Row, startSession } from "../../../test/harness/store-harness.ts";
import { connect, transact } from "../../../test/harness/waiting-callers.ts";
import { later, type Reply } from "../reply/reply.ts";

const NOT_FLOAT = error("ERR timeout is not a float or out of range");
const NEGATIVE = error("ERR timeout is negative");
const OUT_OF_RANGE = error("ERR timeout is out of range");
const SYNTAX = error("ERR syntax error");
const WRONG_TYPE = error("WRONGTYPE Operation against a key holding the wrong kind of value");

function notAvailable(name: string): Reply {
  return error(`ERR Command is not available: '${name}'. See docs/reference/commands.md of larder for its commands`);
}

/** Commands of one connection that do not need to wait. */
const tables: Readonly<Record<string, readonly Row[]>> = {
  "the first list with elements is used at once": [
    ["RPUSH b 1 2 3", 3],
    ["RPUSH c 4", 1],
    ["BLPOP a b c 0", ["b", "1"]],
    ["BRPOP a b c 0", ["b", "3"]],
    ["BLMPOP 0 3 a b c LEFT COUNT 5", ["b", ["2"]]],
    ["BLMPOP 0 2 a c RIGHT", ["c", ["4"]]],
    ["DBSIZE", 0],
  ],
  "BLMOVE and BRPOPLPUSH move an available element at once": [
    ["RPUSH a 1 2 3", 3],
    ["BLMOVE a b LEFT RIGHT 0", "1"],
    ["BRPOPLPUSH a b 0", "3"],
    ["LRANGE b 0 -1", ["3", "1"]],
    ["BLMOVE b b left right 0", "3"],
    ["LRANGE b 0 -1", ["1", "3"]],
  ],
  "the timeout is in seconds with a fraction": [
    ...["nan", "abc", " 1", "1 ", "1s"].map((time): Row => [`BLPOP k "${time}"`, NOT_FLOAT]),
    ['BLPOP k ""', NOT_FLOAT],
    // Redis counts ms in 64 bits, and larger values become negative.
    ...["-1", "-0.001", "-inf"].map((time): Row => [`BLPOP k ${time}`, NEGATIVE]),
    ...["inf", "1e30", "9223372036854776"].map((time): Row => [`BLPOP k ${time}`, OUT_OF_RANGE]),
    ["BRPOPLPUSH k l x", NOT_FLOAT],
    ["BLMOVE k l LEFT RIGHT x", NOT_FLOAT],
    ["BLMPOP x 1 k LEFT", NOT_FLOAT],
  ],
  "other arguments are checked as in the commands that do not block": [
    ["BLMOVE k l UP RIGHT x", SYNTAX],
    ["BLMOVE k l LEFT 0", error("ERR wrong number of arguments for 'blmove' command")],
    ["BLMPOP x 0 k LEFT", error("ERR numkeys should be greater than 0")],
    ["BLMPOP x 2 k LEFT", SYNTAX],
    ["BLMPOP x 1 k MIDDLE", SYNTAX],
    ["BLMPOP x 1 k LEFT COUNT 0", error("ERR count should be greater than 0")],
    ["BLMPOP x 1 k LEFT COUNT 1 COUNT 2", SYNTAX],
    ["BLPOP k", error("ERR wrong number of arguments for 'blpop' command")],
  ],
  "refuses another type unless a list comes before it": [
    ["SET s v", ok],
    ["BLPOP none s l 0", WRONG_TYPE],
    ["BLMOVE s l LEFT LEFT 0", WRONG_TYPE],
    ["RPUSH l a", 1],
    ["BLPOP l s 0", ["l", "a"]],
    ["RPUSH l a", 1],
    ["BLMOVE l s LEFT LEFT 0", WRONG_TYPE],
    ["LLEN l", 1],
  ],
  "COMMAND GETKEYS finds the keys": [
    ["COMMAND GETKEYS BLPOP a b 0", ["a", "b"]],
    ["COMMAND GETKEYS BLMPOP 0 2 a b LEFT", ["a", "b"]],
    ["COMMAND GETKEYS BLMOVE a b LEFT LEFT 0", ["a", "b"]],
    ["COMMAND GETKEYS BRPOPLPUSH a b 0", ["a", "b"]],
  ],
};

for (const [name, rows] of Object.entries(tables)) {
  test(name, () => {
    const caller = connect(startSession());
    for (const [line, reply] of rows) assert.deepEqual(caller.run(line), reply, line);
  });
}

test("blocking commands are not available over HTTP", () => {
  const session = startSession();
  for (const name of ["BLPOP", "BRPOP", "BLMOVE", "BRPOPLPUSH", "BLMPOP"])
    assert.deepEqual(session.run(`${name} a b c d 0`), notAvailable(name));
});

test("a caller that cannot wait gets its reply at once", () => {
  const session = startSession();
  assert.deepEqual(
    transact(session, ["BLPOP k 0", "BRPOP k 0", "BLMPOP 0 1 k LEFT", "BLMOVE k l LEFT LEFT 0", "BRPOPLPUSH k l 0"]),
    [nilArray, nilArray, nilArray, nil, nil],
  );
});

/** The reply that a waiting client receives after a push, and the remaining elements. */
const served: readonly (readonly [line: string, push: string, reply: Reply, left: readonly string[]])[] = [
  ["BLPOP x k 0", "RPUSH k 1 2 3", ["k", "1"], ["2", "3"]],
  ["BRPOP k x 0", "RPUSH k 1 2 3", ["k", "3"], ["1", "2"]],
  ["BLMPOP 0 2 x k LEFT COUNT 2", "RPUSH k 1 2 3", ["k", ["1", "2"]], ["3"]],
  ["BLMPOP 0 1 k RIGHT COUNT 2", "RPUSH k 1 2 3", ["k", ["3", "2"]], ["1"]],
  ["BLMPOP 0 1 k RIGHT COUNT 9", "RPUSH k 1 2 3", ["k", ["3", "2", "1"]], []],
  ["BLMOVE k k LEFT RIGHT 0", "RPUSH k 1 2 3", "1", ["2", "3", "1"]],
  ["BRPOPLPUSH k k 0", "RPUSH k 1", "1", ["1"]],
];

for (const [line, push, reply, left] of served) {
  test(`${line} receives ${JSON.stringify(reply)} after ${push}`, () => {
    const session = startSession();
    const waiting = connect(session);
    assert.equal(waiting.run(line), later);
    assert.equal(session.run(push), 3 - (push.length < "RPUSH k 1 2".length ? 2 : 0));
    assert.deepEqual(waiting.received, [reply]);
    assert.deepEqual(session.run("LRANGE k 0 -1"), left);
  });
}

test("a list that is renamed, copied, restored or moved to a key serves the clients that wait for it", () => {
  for (const line of ["RENAME other k", "COPY other k", "LMOVE other k LEFT LEFT", "SORT other ALPHA STORE k"]) {
    const session = startSession();
    const waiting = connect(session);
    waiting.run("BLPOP k 0");
    session.run("RPUSH other a");
    session.run(line);
    assert.deepEqual(waiting.received, [["k", "a"]], line);
  }
  const session = startSession();
  const waiting = connect(session);
  session.run("RPUSH other a");
  const dump = session.run("DUMP other");
  waiting.run("BLPOP k 0");
  session.call("RESTORE", "k", "0", typeof dump === "string" ? dump : "");
  assert.deepEqual(waiting.received, [["k", "a"]]);
});

test("keyspace events report the push first, then the effects of serving", () => {
  const session = startSession();
  const heard: string[] = [];
  const subscriber = session.database.pubsub.open({
    receive: (push) => {
      if (push.kind === "pmessage") heard.push(`${push.payload} ${push.channel.slice("__keyspace@0__:".length)}`);
    },
    drop: () => {},
  });
  session.database.pubsub.subscribePattern(subscriber, "*");
  session.run("CONFIG SET notify-keyspace-events KAm");
  const [moving, popping] = [connect(session), connect(session)];
  moving.run("BLMOVE k target LEFT LEFT 0");
  popping.run("BLPOP target 0");
  heard.length = 0;

  session.run("RPUSH k a");

  assert.deepEqual(heard, ["rpush k", "lpush target", "lpop k", "del k", "lpop target", "del target"]);
});
