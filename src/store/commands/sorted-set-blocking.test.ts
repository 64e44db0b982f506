/** Sorted-set commands that wait: what is asked, what is answered at once, and what is told later. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { error, nilArray, ok, type Row, startSession } from "../../../test/harness/store-harness.ts";
import { connect, transact } from "../../../test/harness/waiting-callers.ts";
import { double, later, type Reply } from "../reply/reply.ts";

const SYNTAX = error("ERR syntax error");

/** Lines of one connection that need not wait. */
const tables: Readonly<Record<string, readonly Row[]>> = {
  "Where there are members, the first sorted set with any answers at once": [
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
  "What is wrong is refused": [
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
  "COMMAND tells of keys": [
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

test("Who cannot wait has its answer at once, and over HTTP these commands are not there", () => {
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

/** What one who waits is told when members come, and how many are left. */
const served: readonly (readonly [line: string, told: Reply, left: number])[] = [
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

for (const [line, told, left] of served) {
  test(`${line} is told ${JSON.stringify(told)}`, () => {
    const session = startSession();
    const waiting = connect(session);
    assert.equal(waiting.run(line), later);
    assert.equal(session.run("ZADD k 1 a 2 b 3 c"), 3);
    assert.deepEqual(waiting.received, [told]);
    assert.equal(session.run("ZCARD k"), left);
  });
}

test("A sorted set that is stored at a key serves who waits for it", () => {
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

test("A sorted set that is stored over a key of another type serves who waits for it, as in Redis since 7.2", () => {
  const session = startSession();
  const waiting = connect(session);
  waiting.run("BZPOPMIN k 0");
  session.run("SET k string");
  session.run("ZADD other 1 a");
  session.run("ZUNIONSTORE k 1 other");
  assert.deepEqual(waiting.received, [["k", "a", double(1)]]);
});
