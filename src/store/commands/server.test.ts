/** The commands on a database as a whole: what is sent, and the literal reply. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { error, nil, ok, startSession } from "../../../test/store-harness.ts";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import type { Reply } from "../reply.ts";

function arity(name: string): Reply {
  return error(`ERR wrong number of arguments for '${name}' command`);
}

test("DBSIZE counts the keys, FLUSHDB and FLUSHALL remove them with all that expires", () => {
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

test("FLUSHDB and FLUSHALL take SYNC or ASYNC and nothing else", () => {
  startSession().expect([
    ["SET a 1", ok],
    ["FLUSHALL now", error("ERR syntax error")],
    ["FLUSHDB SYNC ASYNC", error("ERR syntax error")],
    ["GET a", "1"],
    ["DBSIZE x", arity("dbsize")],
  ]);
});

test("TIME answers seconds and microseconds of the unit of work it runs in", () => {
  startSession({ clock: new VirtualClock(1_700_000_000_042) }).expect([
    ["TIME", ["1700000000", "42000"]],
    ["TIME x", arity("time")],
  ]);
});
