/** SORT and SORT_RO. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { error, nil, ok, type Row, startSession } from "../../../test/harness/store-harness.ts";
import { readOnlyUser } from "../acl/built-in-users.ts";

const NOT_SORTABLE = error("ERR One or more scores can't be converted into double");
const SYNTAX = error("ERR syntax error");

const tables: Record<string, readonly Row[]> = {
  "numbers, texts and directions": [
    ["RPUSH k 10 9 1e1 -2.5 0x10", 5],
    ["SORT k", ["-2.5", "9", "10", "1e1", "0x10"]],
    ["SORT k DESC", ["0x10", "1e1", "10", "9", "-2.5"]],
    ["SORT k ALPHA", ["-2.5", "0x10", "10", "1e1", "9"]],
    ["SORT_RO k alpha desc", ["9", "1e1", "10", "0x10", "-2.5"]],
    ["SORT k LIMIT 1 2", ["9", "10"]],
    ["SORT k LIMIT -5 1", ["-2.5"]],
    ["SORT k LIMIT 9 1", []],
    ["SORT k LIMIT 3 -1", ["1e1", "0x10"]],
    ["SORT none", []],
    ["RPUSH words b a", 2],
    ["SORT words", NOT_SORTABLE],
    ["RPUSH numbers 1 1e400", 2],
    ["SORT numbers", NOT_SORTABLE],
  ],
  "other keys give the order and the result": [
    ["RPUSH k a b c", 3],
    ["MSET w_a 3 w_b 1", ok],
    ["HSET h_a f 1 name Ada", 2],
    ["HSET h_b f 9", 1],
    ["SORT k BY w_*", ["c", "b", "a"]],
    ["SORT k BY h_*->f DESC", ["b", "a", "c"]],
    ["SORT k BY w_* ALPHA", ["c", "b", "a"]],
    ["SORT k BY nosort", ["a", "b", "c"]],
    ["SORT k BY nosort DESC LIMIT 0 2", ["c", "b"]],
    [
      "SORT k BY nosort GET # GET w_* GET h_*->name GET w_a",
      ["a", "3", "Ada", nil, "b", "1", nil, nil, "c", nil, nil, nil],
    ],
    ["SORT k", NOT_SORTABLE],
  ],
  "sets and sorted sets": [
    ["SADD s 3 1 2", 3],
    ["SORT s", ["1", "2", "3"]],
    ["SORT s BY nosort DESC STORE to", 3],
    ["LRANGE to 0 -1", ["3", "2", "1"]],
    ["ZADD z 1 c 2 b 3 a", 3],
    ["SORT z ALPHA", ["a", "b", "c"]],
    ["SORT z BY nosort", ["c", "b", "a"]],
    ["SORT z BY nosort DESC LIMIT 1 1", ["b"]],
    // In a script the order of a set may not depend on chance.
    ["SADD unordered m9 m1 m5 m3", 4],
    [`EVAL "return redis.call('SORT', 'unordered', 'BY', 'nosort')" 0`, ["m1", "m3", "m5", "m9"]],
    [`EVAL_RO "return redis.call('SORT_RO', 'unordered', 'BY', 'nosort', 'DESC', 'LIMIT', 0, 2)" 0`, ["m9", "m5"]],
    [`EVAL "return redis.call('SORT', 'z', 'BY', 'nosort')" 0`, ["c", "b", "a"]],
    ["SET text v", ok],
    ["SORT text", error("WRONGTYPE Operation against a key holding the wrong kind of value")],
  ],
  "STORE replaces the key with a list": [
    ["RPUSH k 2 1", 2],
    ["SET to v EX 100", ok],
    ["SORT k GET none_* GET # STORE to", 4],
    ["LRANGE to 0 -1", ["", "1", "", "2"]],
    ["TTL to", -1],
    ["SORT none STORE to", 0],
    ["EXISTS to", 0],
    ["SORT k STORE k", 2],
    ["LRANGE k 0 -1", ["1", "2"]],
    ["SORT_RO k STORE to", SYNTAX],
    ["SORT k LIMIT 1", SYNTAX],
    ["SORT k LIMIT x 1", error("ERR value is not an integer or out of range")],
    ["SORT text SIDEWAYS", SYNTAX],
  ],
};

for (const [fact, rows] of Object.entries(tables)) test(fact, () => startSession().expect(rows));

test("A-04: a read-only token may sort, but not read other keys with BY and GET", () => {
  const { database } = startSession();
  const run = (...words: readonly string[]): unknown =>
    database.command({ user: readOnlyUser, transport: "http", address: "127.0.0.1:1" }, words);
  const refused = error("NOPERM this user has no permissions to run the 'sort_ro' command or its subcommand");

  assert.deepEqual(run("SORT_RO", "k", "ALPHA", "LIMIT", "0", "1"), []);
  assert.deepEqual(run("SORT_RO", "k", "GET", "#"), refused);
  assert.deepEqual(run("SORT_RO", "k", "ALPHA", "by", "w_*"), refused);
});

test("A-15: refuses a reply beyond its bound", () => {
  const session = startSession();
  session.call("SET", "long", "m".repeat(1024 * 1024));
  session.call("RPUSH", "k", ...Array.from({ length: 130 }, () => "long"));

  assert.deepEqual(session.run("SORT k ALPHA GET *"), error("ERR reply exceeds the maximum allowed size"));
  assert.deepEqual(session.run("SORT k ALPHA GET * STORE to"), error("ERR reply exceeds the maximum allowed size"));
  assert.equal(session.run("EXISTS to"), 0);
});

test("A-15: limits the values of BY too, but does not count short ones", () => {
  const session = startSession();
  session.call("SET", "weight_x", "1".repeat(1024 * 1024));
  session.call("RPUSH", "k", ...Array.from({ length: 130 }, () => "x"));

  assert.deepEqual(session.run("SORT k ALPHA BY weight_*"), error("ERR reply exceeds the maximum allowed size"));
  assert.deepEqual(session.run("SORT k ALPHA BY other_* LIMIT 0 1"), ["x"]);
});
