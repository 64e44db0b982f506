/** Refusals in `@upstash/redis`: the server's texts in its errors, and the read-only token. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { errors, Redis } from "@upstash/redis";
import { Served, startHere } from "./client.ts";

const served = new Served(startHere);

/** Without automatic pipelining the client appends the command to the text. */
const single = { enableAutoPipelining: false } as const;

const refusals: readonly (readonly [name: string, run: (redis: Redis) => Promise<unknown>, message: string])[] = [
  [
    "the wrong kind of value",
    async (redis) => {
      await redis.hset("hash", { a: 1 });
      await redis.get("hash");
    },
    'WRONGTYPE Operation against a key holding the wrong kind of value, command was: ["get","hash"]',
  ],
  [
    "not an integer",
    async (redis) => {
      await redis.set("text", "abc");
      await redis.incr("text");
    },
    'ERR value is not an integer or out of range, command was: ["incr","text"]',
  ],
  [
    "an expiry of zero",
    (redis) => redis.set("key", "value", { ex: 0 }),
    `ERR invalid expire time in 'set' command, command was: ["set","key","value","ex",0]`,
  ],
  [
    "too few arguments",
    (redis) => redis.exec(["GET"]),
    `ERR wrong number of arguments for 'get' command, command was: ["GET"]`,
  ],
  [
    "a syntax error",
    (redis) => redis.exec(["SET", "key", "value", "NOPE"]),
    'ERR syntax error, command was: ["SET","key","value","NOPE"]',
  ],
  [
    "an unknown command",
    (redis) => redis.exec(["NOSUCH", "x"]),
    `ERR Command is not available: 'NOSUCH'. See docs/reference/commands.md of larder for its commands, command was: ["NOSUCH","x"]`,
  ],
  [
    "a command that does not exist over HTTP",
    (redis) => redis.exec(["BLPOP", "x", 0]),
    `ERR Command is not available: 'BLPOP'. See docs/reference/commands.md of larder for its commands, command was: ["BLPOP","x","0"]`,
  ],
];

for (const [name, run, message] of refusals) {
  test(`${name} is an UpstashError with the text of the server`, async () => {
    const redis = served.client(single);
    await redis.flushdb();

    await assert.rejects(run(redis), (error) => {
      assert.ok(error instanceof errors.UpstashError);
      assert.equal(error.message, message);
      return true;
    });
  });
}

test("a wrong token is refused", async () => {
  const redis = new Redis({ url: served.server.store.url, token: "wrong", ...single });

  await assert.rejects(redis.get("key"), {
    name: "UpstashError",
    message: 'WRONGPASS invalid or missing auth token, command was: ["get","key"]',
  });
});

test("a client made from the variables of the server works", async () => {
  const names = ["UPSTASH_REDIS_REST_URL", "UPSTASH_REDIS_REST_TOKEN"] as const;
  for (const name of names) process.env[name] = served.server.env[name];
  try {
    const redis = Redis.fromEnv();

    assert.equal(await redis.ping(), "PONG");
  } finally {
    for (const name of names) delete process.env[name];
  }
});

test("a client with telemetry disabled works", async () => {
  const redis = served.client({ enableTelemetry: false });

  assert.equal(await redis.ping(), "PONG");
});

test("a read-only token reads", async () => {
  const redis = served.client();
  await redis.flushdb();
  await redis.set("key", "value");
  await redis.hset("hash", { a: 1 });
  const reader = served.readOnlyClient();

  assert.equal(await reader.get("key"), "value");
  assert.deepEqual(await reader.mget("key", "missing"), ["value", null]);
  assert.deepEqual(await reader.hgetall("hash"), { a: 1 });
  assert.equal(await reader.exists("key"), 1);
  assert.equal(await reader.ttl("key"), -1);
  assert.equal(await reader.type("hash"), "hash");
  assert.equal(await reader.strlen("key"), 5);
  assert.equal(await reader.ping(), "PONG");
  assert.equal(await reader.echo("hello"), "hello");
});

const writes: readonly (readonly [name: string, run: (redis: Redis) => Promise<unknown>])[] = [
  ["set", (redis) => redis.set("key", "changed")],
  ["getdel", (redis) => redis.getdel("key")],
  ["getex", (redis) => redis.getex("key", { ex: 1 })],
  ["getset", (redis) => redis.getset("key", "changed")],
  ["append", (redis) => redis.append("key", "more")],
  ["incr", (redis) => redis.incr("count")],
  ["del", (redis) => redis.del("key")],
  ["unlink", (redis) => redis.unlink("key")],
  ["expire", (redis) => redis.expire("key", 1)],
  ["persist", (redis) => redis.persist("key")],
  ["rename", (redis) => redis.rename("key", "other")],
  ["copy", (redis) => redis.copy("key", "other")],
  ["hset", (redis) => redis.hset("hash", { a: 2 })],
  ["hdel", (redis) => redis.hdel("hash", "a")],
  ["hgetdel", (redis) => redis.exec(["HGETDEL", "hash", "FIELDS", 1, "a"])],
  ["hexpire", (redis) => redis.hexpire("hash", "a", 1)],
  ["flushdb", (redis) => redis.flushdb()],
  ["flushall", (redis) => redis.flushall()],
  ["keys", (redis) => redis.keys("*")],
  ["scan", (redis) => redis.scan(0)],
];

for (const [name, run] of writes) {
  test(`a read-only token cannot ${name}, and nothing changes`, async () => {
    const redis = served.client();
    await redis.flushdb();
    await redis.set("key", "value");
    await redis.hset("hash", { a: 1 });

    const pattern = /NOPERM this user has no permissions to run the '\w+' command or its subcommand/;
    await assert.rejects(run(served.readOnlyClient(single)), pattern);
    await assert.rejects(run(served.readOnlyClient()), pattern);

    assert.equal(await redis.dbsize(), 2);
    assert.equal(await redis.get("key"), "value");
    assert.equal(await redis.ttl("key"), -1);
    assert.deepEqual(await redis.hgetall("hash"), { a: 1 });
  });
}

test("a transaction of a read-only token with one write does nothing", async () => {
  await assert.rejects(
    served.readOnlyClient().multi().get("key").set("key", "changed").exec(),
    /NOPERM this user has no permissions to run the 'set' command or its subcommand/,
  );
});
