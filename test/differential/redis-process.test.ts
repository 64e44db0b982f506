/** The client of the comparison tests itself, against the real server. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { redisMissing, startRedis } from "./redis-process.ts";

test("every kind of RESP2 reply comes back as its value", { skip: redisMissing }, async () => {
  const redis = await startRedis();
  try {
    const bytes = Array.from({ length: 256 }, (_, code) => String.fromCharCode(code)).join("");
    assert.deepEqual(await redis.call(["SET", "k", bytes]), { kind: "simple", text: "OK" });
    assert.deepEqual(
      await redis.pipeline([
        ["GET", "k"],
        ["GET", "none"],
        ["INCR", "n"],
        ["INCRBY", "n", "9223372036854775806"],
        ["INCR", "k"],
        ["MGET", "n", "none"],
        ["BLPOP", "none", "0.001"],
        ["LRANGE", "none", "0", "-1"],
      ]),
      [
        bytes,
        null,
        1,
        9223372036854775807n,
        { kind: "error", error: { text: "ERR value is not an integer or out of range" } },
        ["9223372036854775807", null],
        { kind: "nil array" },
        [],
      ],
    );
  } finally {
    await redis.stop();
  }
});

test("a pipeline and a reply of any length are received completely", { skip: redisMissing }, async () => {
  const redis = await startRedis();
  try {
    const large = "x\r\n".repeat(1_000_000);
    const replies = await redis.pipeline([
      ["SET", "large", large],
      ["GET", "large"],
      ...Array.from({ length: 5_000 }, (_, i) => ["ECHO", `${i}`]),
    ]);
    assert.equal(replies.length, 5_002);
    assert.equal(replies[1], large);
    assert.equal(replies[5_001], "4999");
  } finally {
    await redis.stop();
  }
});
