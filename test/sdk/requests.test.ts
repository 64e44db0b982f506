/** Pipelines, transactions, automatic pipelining and read-your-writes of `@upstash/redis`, against the real program. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Redis } from "@upstash/redis";
import { Served, startProcess } from "./client.ts";

const served = new Served(startProcess);

interface Sent {
  readonly path: string;
  readonly syncToken: string | null;
}

/** Records the path and the sync token of every request that clients send during `run`. */
async function recording(run: () => Promise<void>): Promise<readonly Sent[]> {
  const sent: Sent[] = [];
  const fetchForReal = globalThis.fetch;
  globalThis.fetch = (input, init) => {
    const syncToken = new Headers(init?.headers).get("upstash-sync-token");
    sent.push({ path: new URL(String(input)).pathname, syncToken });
    return fetchForReal(input, init);
  };
  try {
    await run();
  } finally {
    globalThis.fetch = fetchForReal;
  }
  return sent;
}

async function emptied(redis: Redis): Promise<Redis> {
  await redis.flushdb();
  return redis;
}

test("a pipeline answers each command in order", async () => {
  const redis = await emptied(served.client());
  const pipeline = redis.pipeline();
  pipeline.set("a", { deep: [1] });
  pipeline.get("a");
  pipeline.incr("count");
  pipeline.hset("hash", { field: "OK" });
  pipeline.hgetall("hash");
  pipeline.get("missing");

  const results = await pipeline.exec();

  assert.deepEqual(results, ["OK", { deep: [1] }, 1, 1, { field: "OK" }, null]);
});

test("a pipeline continues after a failing command, and the client names that command", async () => {
  const redis = await emptied(served.client());
  await redis.hset("hash", { a: 1 });

  await assert.rejects(redis.pipeline().set("before", 1).incr("hash").set("after", 1).exec(), {
    name: "UpstashError",
    message: "Command 2 [ incr ] failed: WRONGTYPE Operation against a key holding the wrong kind of value",
  });

  assert.deepEqual(await redis.mget("before", "after"), [1, 1]);
});

test("a pipeline with keepErrors returns errors in their positions", async () => {
  const redis = await emptied(served.client());
  await redis.set("text", "abc");

  const results = await redis.pipeline().incr("text").set("key", "x").exec({ keepErrors: true });

  assert.deepEqual(results, [
    { error: "ERR value is not an integer or out of range", result: undefined },
    { error: undefined, result: "OK" },
  ]);
});

test("a pipeline of 2,000 commands runs completely", async () => {
  const redis = await emptied(served.client());
  const pipeline = redis.pipeline();
  for (let i = 0; i < 2_000; i += 1) pipeline.incr("count");

  const results = await pipeline.exec<number[]>();

  assert.equal(results.at(-1), 2_000);
});

test("a transaction runs as one", async () => {
  const redis = await emptied(served.client());

  const results = await redis.multi().set("a", 1).incrby("a", 41).get("a").hset("h", { f: 1 }).exec();

  assert.deepEqual(results, ["OK", 42, 42, 1]);
});

test("a transaction is not split by other clients", async () => {
  const redis = await emptied(served.client());
  const transactions = Array.from({ length: 50 }, () =>
    served.client().multi().incr("left").incr("right").mget("left", "right").exec<[number, number, number[]]>(),
  );

  const results = await Promise.all(transactions);

  for (const [left, right, both] of results) assert.deepEqual([right, ...both], [left, left, left]);
  assert.deepEqual(await redis.mget("left", "right"), [50, 50]);
});

test("a transaction with a command that cannot run does nothing", async () => {
  const redis = await emptied(served.client());

  // The client does not reject DEL without a key.
  const transaction = redis.multi().set("a", 1).del();

  await assert.rejects(transaction.exec(), /ERR wrong number of arguments for 'del' command/);
  assert.equal(await redis.exists("a"), 0);
});

test("a command that fails while a transaction runs does not stop the rest", async () => {
  const redis = await emptied(served.client());
  await redis.set("text", "abc");

  const results = await redis.multi().set("a", 1).incr("text").set("b", 2).exec({ keepErrors: true });

  assert.deepEqual(
    results.map(({ error }) => error),
    [undefined, "ERR value is not an integer or out of range", undefined],
  );
  assert.deepEqual(await redis.mget("a", "b"), [1, 2]);
});

test("commands of one turn are sent together: one pipeline of writes, one of reads", async () => {
  const redis = await emptied(served.client());
  const results: unknown[] = [];

  const sent = await recording(async () => {
    results.push(...(await Promise.all([redis.set("a", 1), redis.incr("b"), redis.get("c"), redis.exists("c")])));
  });

  assert.deepEqual(results, ["OK", 1, null, 0]);
  assert.deepEqual(
    sent.map(({ path }) => path),
    ["/pipeline", "/pipeline"],
  );
});

test("without automatic pipelining each command is a request", async () => {
  const redis = await emptied(served.client({ enableAutoPipelining: false }));

  const sent = await recording(async () => {
    await Promise.all([redis.set("a", 1), redis.set("b", 2)]);
  });

  assert.deepEqual(
    sent.map(({ path }) => path),
    ["/", "/"],
  );
});

test("one failing command of an automatic pipeline fails alone", async () => {
  const redis = await emptied(served.client());
  await redis.set("text", "abc");

  const [incremented, set] = await Promise.allSettled([redis.incr("text"), redis.set("other", "x")]);

  assert.deepEqual(set, { status: "fulfilled", value: "OK" });
  assert.equal(incremented.status, "rejected");
  assert.match(String(incremented.reason), /Command failed: ERR value is not an integer or out of range/);
});

test("every answer carries a new sync token, which the client sends back", async () => {
  const redis = served.client({ enableAutoPipelining: false });
  const received: string[] = [];

  const sent = await recording(async () => {
    for (const run of [
      () => redis.set("a", 1),
      () => redis.get("a"),
      () => redis.pipeline().get("a").exec(),
      () => redis.multi().get("a").exec(),
    ]) {
      await run();
      received.push(redis.readYourWritesSyncToken ?? "");
    }
  });

  assert.deepEqual(
    sent.map(({ syncToken }) => syncToken),
    ["", ...received.slice(0, 3)],
  );
  assert.equal(new Set(received).size, 4);
  assert.ok(received.every((token) => token.length > 0));
});

test("sync tokens of concurrent requests differ", async () => {
  const clients = Array.from({ length: 20 }, () => served.client());

  await Promise.all(clients.map((redis, i) => redis.set(`key:${i}`, i)));

  assert.equal(new Set(clients.map((redis) => redis.readYourWritesSyncToken)).size, 20);
});

test("a client without read-your-writes sends no sync token", async () => {
  const redis = served.client({ readYourWrites: false });

  const sent = await recording(async () => {
    await redis.set("a", 1);
  });

  assert.equal(sent[0]?.syncToken, null);
});

test("a batch counts its commands, and the client itself rejects an empty one", async () => {
  const redis = await emptied(served.client());
  const pipeline = redis.pipeline().set("a", 1).json.set("b", "$", { c: 2 }).json.get("b", "$.c");

  assert.equal(pipeline.length(), 3);
  assert.deepEqual(await pipeline.exec(), ["OK", "OK", [2]]);
  assert.equal(redis.multi().length(), 0);
  await assert.rejects(redis.multi().exec(), /Pipeline is empty/);
});

test("a batch without deserialization returns text", async () => {
  const redis = await emptied(served.client({ automaticDeserialization: false }));
  await redis.set("object", { a: [1] });

  const results = await redis.multi().get("object").hset("hash", { n: 1 }).hgetall("hash").exec();

  assert.deepEqual(results, ['{"a":[1]}', 1, ["n", "1"]]);
});

test("a middleware sees each request and its answer", async () => {
  const redis = await emptied(served.client({ enableAutoPipelining: false }));
  const seen: unknown[] = [];
  redis.use(async (request, next) => {
    const answer = await next(request);
    seen.push([request.body, answer.result]);
    return answer as never;
  });

  await redis.set("key", "value");
  await redis.pipeline().get("key").exec();

  assert.deepEqual(seen[0], [["set", "key", "value"], "OK"]);
  assert.deepEqual((seen[1] as unknown[])[0], [["get", "key"]]);
});

test("many commands of one turn are one request in each direction, in the order of the calls", async () => {
  const redis = await emptied(served.client());
  const numbers: number[] = [];

  const sent = await recording(async () => {
    numbers.push(...(await Promise.all(Array.from({ length: 200 }, () => redis.incr("count")))));
  });

  assert.deepEqual(
    sent.map(({ path }) => path),
    ["/pipeline"],
  );
  assert.deepEqual(
    numbers,
    Array.from({ length: 200 }, (_, i) => i + 1),
  );
});
