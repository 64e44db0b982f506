/** Scripts and functions compared with redis-server: random ones, and dumps of libraries exchanged between the two. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Bytes } from "../../src/kernel/bytes.ts";
import { startSession } from "../harness/store-harness.ts";
import { besideRedis } from "./beside-redis.ts";
import { scriptingFamily } from "./families/scripting.ts";
import { testFamilies } from "./family-tests.ts";

testFamilies([scriptingFamily], "scripts");

const LIBRARIES: readonly Bytes[] = [
  "#!lua name=short\nredis.register_function('f', function() return 'f' end)",
  `#!lua name=long\nredis.register_function('g', function() return 'g' end)\n${"-- a comment that repeats\n".repeat(300)}`,
  "#!lua name=binary\nredis.register_function('h', function() return '\x00\xff\xe9' end)",
];

besideRedis((redis) => {
  test("libraries dumped by Redis are restored here, and ours there", async () => {
    const load = LIBRARIES.map((code) => ["FUNCTION", "LOAD", code]);
    const replies = await redis().pipeline([["FUNCTION", "FLUSH"], ...load, ["FUNCTION", "DUMP"]]);
    const theirs = replies.at(-1);
    assert.ok(typeof theirs === "string");
    const session = startSession();

    session.call("FUNCTION", "RESTORE", theirs);

    session.expect([
      ["FCALL f 0", "f"],
      ["FCALL g 0", "g"],
      ["FCALL h 0", "\x00\xff\xe9"],
    ]);
    const ours = session.run("FUNCTION DUMP");
    assert.ok(typeof ours === "string");
    const [restored, ...called] = await redis().pipeline([
      ["FUNCTION", "RESTORE", ours, "FLUSH"],
      ["FCALL", "f", "0"],
      ["FCALL", "g", "0"],
      ["FCALL", "h", "0"],
    ]);
    assert.deepEqual(restored, { kind: "simple", text: "OK" });
    assert.deepEqual(called, ["f", "g", "\x00\xff\xe9"]);
  });
});
