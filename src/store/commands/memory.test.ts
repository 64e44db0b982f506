/** MEMORY USAGE: what it takes for arguments, and that it grows with what is stored. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { error, nil, ok, startSession } from "../../../test/store-harness.ts";

test("MEMORY USAGE answers bytes, nil for no key, and takes SAMPLES", () => {
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
    ["MEMORY PURGE", error("ERR unknown subcommand 'PURGE'. Try MEMORY HELP.")],
  ]);
});

test("a value takes at least its bytes, and gives them back", () => {
  const session = startSession();
  const usage = (): number => Number(session.run("MEMORY USAGE h"));
  session.call("HSET", "h", "first", "v");
  const small = usage();
  for (let i = 0; i < 600; i += 1) session.call("HSET", "h", `field ${i}`, "x".repeat(1_000));
  assert.ok(usage() > 600 * 1_000);
  for (let i = 0; i < 600; i += 1) session.call("HDEL", "h", `field ${i}`);
  assert.ok(usage() < small + 2_000);
});
