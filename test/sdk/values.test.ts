/** Values and keys of every kind through `@upstash/redis`, with and without base64. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Served, startHere } from "./client.ts";

const served = new Served(startHere);

const encodings = [
  { responseEncoding: "base64", automaticDeserialization: false },
  { responseEncoding: false, automaticDeserialization: false },
] as const;

const texts: readonly (readonly [name: string, text: string])[] = [
  ["empty text", ""],
  ["the word OK", "OK"],
  ["text that looks like base64", "T0s="],
  ["umlauts", "Grüße, naïve façade"],
  ["emoji", "👩‍👩‍👧‍👦 🏳️‍🌈 🙂"],
  ["Chinese, Arabic and Hebrew", "汉字 العربية עברית"],
  ["control characters", "\0\u0001\b\t\n\r\u001f\u007f\u0085"],
  ["quotes and backslashes", '"\\" \' \\u0000 </script>'],
  ["line and paragraph separators", "a\u2028b\u2029c"],
  ["the replacement character", "\ufffd"],
  ["numbers with more digits than a double has", "12345678901234567890"],
  ["a decimal with trailing zeros", "1.10"],
  ["JSON", '{"a":[1,null,true,{"b":"c"}]}'],
  ["100,000 characters", "äbc".repeat(33_334)],
];

for (const options of encodings) {
  const form = options.responseEncoding === "base64" ? "base64 answers" : "plain answers";

  for (const [name, text] of texts) {
    test(`with ${form}, ${name} comes back as it was sent`, async () => {
      const redis = served.client(options);

      assert.equal(await redis.set("value", text), "OK");
      await redis.hset("hash", { [`field ${text.slice(0, 100)}`]: text });

      assert.equal(await redis.get("value"), text);
      assert.deepEqual(await redis.mget("value", "missing"), [text, null]);
      assert.deepEqual(await redis.hgetall("hash"), [`field ${text.slice(0, 100)}`, text]);
      assert.deepEqual(await redis.pipeline().get("value").exec(), [text]);
      await redis.del("hash");
    });
  }

  test(`with ${form}, keys may hold any character`, async () => {
    const redis = served.client(options);
    const keys = [
      "",
      " ",
      "a/b",
      "a%2Fb",
      "?x=1&y",
      "#",
      "ключ",
      "🔑",
      "line\nbreak",
      "nul\0byte",
      "__proto__",
      '"',
      "*[?\\",
    ];
    await redis.flushdb();

    for (const key of keys) assert.equal(await redis.set(key, `of ${key}`), "OK");

    for (const key of keys) assert.equal(await redis.get(key), `of ${key}`);
    assert.equal(await redis.dbsize(), keys.length);
    assert.deepEqual([...(await redis.keys("*"))].sort(), [...keys].sort());
  });

  test(`with ${form}, null, integers and nested arrays keep their types`, async () => {
    const redis = served.client(options);
    await redis.flushdb();
    await redis.set("key", "value");

    assert.equal(await redis.get("missing"), null);
    assert.equal(await redis.strlen("key"), 5);
    assert.deepEqual(await redis.scan(0), ["0", ["key"]]);
    assert.deepEqual(await redis.hmget("missing", "a", "b"), [null, null]);
    assert.equal(await redis.exec(["TYPE", "key"]), "string");
    assert.equal(await redis.ping(), "PONG");
  });
}

test("invalid UTF-8 becomes U+FFFD, with and without base64", async () => {
  for (const options of encodings) {
    const redis = served.client(options);
    await redis.set("value", "é");

    assert.equal(await redis.getrange("value", 0, 0), "\ufffd");
    assert.equal(await redis.strlen("value"), 2);
  }
});

test("a value of 5 MB comes back as it was sent", async () => {
  const redis = served.client();
  const text = "0123456789abcdef".repeat(327_680);

  await redis.set("large", text);

  assert.equal(await redis.strlen("large"), 5_242_880);
  assert.ok((await redis.get<string>("large")) === text);
});

test("numbers come back as numbers if a double represents them, otherwise as text", async () => {
  const redis = served.client();
  for (const [number, expected] of [
    [0, 0],
    [-1, -1],
    [3.25, 3.25],
    [9_007_199_254_740_991, 9_007_199_254_740_991],
    ["9223372036854775807", "9223372036854775807"],
    ["1.10", "1.10"],
  ] as const) {
    await redis.set("number", number);
    assert.equal(await redis.get("number"), expected);
  }
});

test("integers beyond 2^53 are exact", async () => {
  const redis = served.client();
  await redis.set("count", "9223372036854775806");

  assert.equal(await redis.incr("count"), "9223372036854775807");
  await assert.rejects(redis.incr("count"), /ERR increment or decrement would overflow/);
  await redis.set("count", "-9007199254740994");
  assert.equal(await redis.decrby("count", 1), "-9007199254740995");
});

test("__proto__, constructor and toString are keys and fields like any other", async () => {
  const redis = served.client();
  await redis.flushdb();
  for (const name of ["__proto__", "constructor", "toString", "hasOwnProperty"]) {
    assert.equal(await redis.get(name), null);
    assert.equal(await redis.hset(`hash:${name}`, JSON.parse(`{"${name}":"field"}`)), 1);
    assert.equal(await redis.hget(`hash:${name}`, name), "field");
    assert.equal(await redis.set(name, "value"), "OK");
    assert.equal(await redis.get(name), "value");
  }
  assert.equal(Object.prototype.toString.call({}), "[object Object]");
  assert.equal(await redis.dbsize(), 8);
});
