/** Blocking sorted-set commands: the input, the immediate reply, and the reply that comes later. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { error, nilArray, ok, type Row, startSession } from "../../../test/harness/store-harness.ts";
import { connect, transact } from "../../../test/harness/waiting-callers.ts";
import { double, later, type Reply } from "../reply/reply.ts";

const SYNTAX = error("ERR syntax error");

/** Commands of one connection that do not need to wait. */
const tables: Readonly<Record<string, readonly Row[]>> = {
  "the first sorted set with members is used at once": [
    ["ZADD b 1 x 2 y 3 z", 3],
    ["BZPOPMIN a b 0", ["b", "x", double(1)]],
    ["BZPOPMAX a b 0", ["b", "z", double(3)]],
    ["ZADD b 7 v", 1],
    [
      "BZMPOP 0 2 a b MAX COUNT 5",
      [
        "b",
        [
          ["v", double(7)],
          ["y", double(2)],
        ],
      ],
    ],
    ["DBSIZE", 0],
  ],
  "refuses invalid arguments": [
    ["SET s v", ok],
    ["BZPOPMIN a s 0", error("WRONGTYPE Operation against a key holding the wrong kind of value")],
    ["BZPOPMIN a x", error("ERR timeout is not a float or out of range")],
    ["BZPOPMAX a -1", error("ERR timeout is negative")],
    ["BZMPOP x 1 a MIN", error("ERR timeout is not a float or out of range")],
    ["BZMPOP x 0 a MIN", error("ERR numkeys should be greater than 0")],
    ["BZMPOP 0 1 a LEFT", SYNTAX],
    ["BZMPOP 0 1 a MIN COUNT 0", error("ERR count should be greater than 0")],
    ["BZPOPMIN a", error("ERR wrong number of arguments for 'bzpopmin' command")],
  ],
  "COMMAND GETKEYS finds the keys": [
    ["COMMAND GETKEYS BZPOPMAX a b 0", ["a", "b"]],
    ["COMMAND GETKEYS BZMPOP 0 2 a b MIN", ["a", "b"]],
  ],
};

for (const [name, rows] of Object.entries(tables)) {
  test(name, () => {
    const caller = connect(startSession());
    for (const [line, reply] of rows) assert.deepEqual(caller.run(line), reply, line);
  });
}

test("a caller that cannot wait gets its reply at once, and over HTTP these commands are not available", () => {
  const session = startSession();
  const lines = ["BZPOPMIN k 0", "BZPOPMAX k 0", "BZMPOP 0 1 k MIN"];
  assert.deepEqual(transact(session, lines), [nilArray, nilArray, nilArray]);
  for (const line of lines) {
    const name = line.slice(0, line.indexOf(" "));
    assert.deepEqual(
      session.run(line),
      error(`ERR Command is not available: '${name}'. See docs/reference/commands.md of larder for its commands`),
    );
  }
});

/** The reply that a waiting client receives when members are added, and the number that remain. */
const served: readonly (readonly [line: string, reply: Reply, left: number])[] = [
  ["BZPOPMIN x k 0", ["k", "a", double(1)], 2],
  ["BZPOPMAX k 0", ["k", "c", double(3)], 2],
  ["BZMPOP 0 1 k MIN", ["k", [["a", double(1)]]], 2],
  [
    "BZMPOP 0 2 x k MAX COUNT 2",
    [
      "k",
      [
        ["c", double(3)],
        ["b", double(2)],
      ],
    ],
    1,
  ],
  [
    "BZMPOP 0 2 x k MAX COUNT 9",
    [
      "k",
      [
        ["c", double(3)],
        ["b", double(2)],
        ["a", double(1)],
      ],
    ],
    0,
  ],
];

for (const [line, reply, left] of served) {
  test(`${line} receives ${JSON.stringify(reply)}`, () => {
    const session = startSession();
    const waiting = connect(session);
    assert.equal(waiting.run(line), later);
    assert.equal(session.run("ZADD k 1 a 2 b 3 c"), 3);
    assert.deepEqual(waiting.received, [reply]);
    assert.equal(session.run("ZCARD k"), left);
  });
}

test("a sorted set stored at a key serves the clients that wait for it", () => {
  for (const line of [
    "ZUNIONSTORE k 1 other",
    "ZRANGESTORE k other 0 -1",
    "GEOSEARCHSTORE k other FROMMEMBER a BYRADIUS 1 m",
  ]) {
    const session = startSession();
    const waiting = connect(session);
    waiting.run("BZPOPMIN k 0");
    session.run("GEOADD other 0 0 a");
    session.run(line);
    assert.equal(waiting.received.length, 1, line);
  }
});

test("a sorted set stored over a key of another type serves waiting clients, as in Redis since 7.2", () => {
  const session = startSession();
  const waiting = connect(session);
  waiting.run("BZPOPMIN k 0");
  session.run("SET k string");
  session.run("ZADD other 1 a");
  session.run("ZUNIONSTORE k 1 other");
  assert.deepEqual(waiting.received, [["k", "a", double(1)]]);
});
