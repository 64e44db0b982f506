/** MEMORY: the arguments of USAGE, that it grows with the stored data, and the reports on the database. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { error, nil, ok, startSession } from "../../../test/harness/store-harness.ts";
import { double, map, verbatim } from "../reply/reply.ts";

test("MEMORY USAGE returns bytes, nil for a missing key, and accepts SAMPLES", () => {
  startSession().expect([
    ["MEMORY USAGE k", nil],
    ["SET k v", ok],
    ["MEMORY USAGE k", 80],
    ["MEMORY USAGE k SAMPLES 0", 80],
    ["EXPIRE k 100", 1],
    ["MEMORY USAGE k SAMPLES 5 SAMPLES 6", 112],
    ["MEMORY USAGE k SAMPLES -1", error("ERR syntax error")],
    ["MEMORY USAGE k SAMPLES x", error("ERR value is not an integer or out of range")],
    ["MEMORY USAGE k SAMPLES", error("ERR syntax error")],
    ["MEMORY USAGE k OTHER 1", error("ERR syntax error")],
    ["MEMORY SHRINK", error("ERR unknown subcommand 'SHRINK'. Try MEMORY HELP.")],
  ]);
});

test("a value uses at least its bytes, and releases them", () => {
  const session = startSession();
  const usage = (): number => Number(session.run("MEMORY USAGE h"));
  session.call("HSET", "h", "first", "v");
  const small = usage();
  for (let i = 0; i < 600; i += 1) session.call("HSET", "h", `field ${i}`, "x".repeat(1_000));
  assert.ok(usage() > 600 * 1_000);
  for (let i = 0; i < 600; i += 1) session.call("HDEL", "h", `field ${i}`);
  assert.ok(usage() < small + 2_000);
});

test("MEMORY STATS reports the memory of the database, by the names of Redis", () => {
  startSession().expect([
    ["SET k v EX 100", ok],
    ["SET l v", ok],
    [
      "MEMORY STATS",
      map([
        ["total.allocated", 1_512],
        ["replication.backlog", 0],
        ["clients.slaves", 0],
        ["clients.normal", 0],
        ["cluster.links", 0],
        ["lua.caches", 0],
        [
          "db.0",
          map([
            ["overhead.hashtable.main", 632],
            ["overhead.hashtable.expires", 432],
            ["overhead.hashtable.slot-to-keys", 0],
          ]),
        ],
        ["overhead.total", 1_464],
        ["keys.count", 2],
        ["keys.bytes-per-key", 756],
        ["dataset.bytes", 48],
        ["dataset.percentage", double(3.1746031746031744)],
      ]),
    ],
    ["MEMORY STATS x", error("ERR wrong number of arguments for 'memory|stats' command")],
  ]);
});

test("MEMORY DOCTOR reports a nearly full database; MALLOC-STATS and PURGE do nothing", () => {
  startSession().expect([
    ["MEMORY DOCTOR", verbatim("Nothing is wrong with the memory of this database.\n")],
    ["CONFIG SET maxmemory 1328", ok],
    [
      "MEMORY DOCTOR",
      verbatim("100 % of maxmemory is used, and the policy is noeviction: writes that take memory will be refused.\n"),
    ],
    ["CONFIG SET maxmemory 1mb", ok],
    ["MEMORY DOCTOR", verbatim("Nothing is wrong with the memory of this database.\n")],
    ["MEMORY MALLOC-STATS", verbatim("Stats not supported for the current allocator")],
    ["MEMORY PURGE", ok],
  ]);
});
