/** The commands on a whole database: input and literal reply. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { error, nil, ok, startSession } from "../../../test/harness/store-harness.ts";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import type { Reply } from "../reply/reply.ts";

function arity(name: string): Reply {
  return error(`ERR wrong number of arguments for '${name}' command`);
}

test("DBSIZE counts the keys, FLUSHDB and FLUSHALL remove them and their expiries", () => {
  for (const line of ["FLUSHDB", "FLUSHALL", "FLUSHDB ASYNC", "flushall sync"]) {
    const session = startSession();
    session.expect([
      ["DBSIZE", 0],
      ["SET a 1 EX 10", ok],
      ["HSET h f v", 1],
      ["HEXPIRE h 10 FIELDS 1 f", [1]],
      ["DBSIZE", 2],
      [line, ok],
      ["DBSIZE", 0],
      ["GET a", nil],
      ["SET a 2", ok],
      ["TTL a", -1],
    ]);
    assert.equal(session.database.keyspace.expiries.size, 0);
    assert.equal(session.database.keyspace.fieldExpiryKeys.size, 0);
  }
});

test("FLUSHDB and FLUSHALL accept SYNC or ASYNC and nothing else", () => {
  startSession().expect([
    ["SET a 1", ok],
    ["FLUSHALL now", error("ERR syntax error")],
    ["FLUSHDB SYNC ASYNC", error("ERR syntax error")],
    ["GET a", "1"],
    ["DBSIZE x", arity("dbsize")],
  ]);
});

test("TIME returns seconds and microseconds of its unit of work", () => {
  startSession({ clock: new VirtualClock(1_700_000_000_042) }).expect([
    ["TIME", ["1700000000", "42000"]],
    ["TIME x", arity("time")],
  ]);
});

test("LOLWUT draws in the requested size, within bounds, and ends with the version", () => {
  const session = startSession();
  const drawn = (line: string): string[] => {
    const reply = session.run(line);
    assert.ok(typeof reply === "object" && reply !== null && "kind" in reply && reply.kind === "verbatim");
    const lines = Buffer.from(reply.text, "latin1").toString().split("\n");
    assert.deepEqual(lines.slice(-3), ["", "larder 0.0.0, Redis ver. 7.0.15", ""]);
    return lines.slice(0, -3);
  };
  for (const [line, columns, rows] of [
    ["LOLWUT", 40, 10],
    ["LOLWUT 3 2", 3, 2],
    ["LOLWUT VERSION 5", 40, 10],
    ["LOLWUT version 6 4", 4, 10],
    ["LOLWUT 1000000000 -1", 200, 1],
    ["LOLWUT version", 40, 10],
    ["LOLWUT NX", 40, 10],
    ["LOLWUT VERSION 7 NX", 40, 10],
    ["LOLWUT VERSION 6 2 1 NX", 2, 1],
  ] as const) {
    const drawing = drawn(line);
    assert.equal(drawing.length, rows, line);
    for (const row of drawing) assert.match(row, new RegExp(`^[\\u2571\\u2572]{${columns}}$`), line);
  }
  for (const line of ["VERSION x", "VERSION 5 NX", "VERSION 5 1 1 NX", "VERSION 6 1 NX"])
    session.expect([[`LOLWUT ${line}`, error("ERR value is not an integer or out of range")]]);
});
