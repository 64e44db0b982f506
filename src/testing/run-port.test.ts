import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { TEST_RUN_VARIABLE } from "../program/facts.ts";
import { type FreshLarder, freshLarder } from "./fresh-larder.ts";
import { freshLarder as freshOfTest } from "./node-test.ts";
import { openRunPort, type RunPort } from "./run-port.ts";
import { fixtures } from "./vitest.ts";

let port: RunPort;
before(async () => {
  port = await openRunPort({});
  process.env[TEST_RUN_VARIABLE] = port.url;
});
after(async () => {
  delete process.env[TEST_RUN_VARIABLE];
  await port.close();
});

async function command({ store }: Pick<FreshLarder, "store">, ...words: readonly string[]): Promise<unknown> {
  const headers = { authorization: `Bearer ${store.token}` };
  const reply = await fetch(store.url, { method: "POST", headers, body: JSON.stringify(words) });
  return ((await reply.json()) as { result: unknown }).result;
}

test("two tests share a server and no data", async () => {
  await using first = await freshLarder();
  await using second = await freshLarder();

  assert.equal(await command(first, "SET", "a", "1"), "OK");

  assert.equal(first.store.url, second.store.url);
  assert.equal(await command(second, "GET", "a"), null);
});

test("the variables are those of the official clients, with the address for clients of Redis", async () => {
  await using larder = await freshLarder();
  const { messaging, redisUrl, store, vector } = larder;

  assert.deepEqual(larder.env, {
    UPSTASH_REDIS_REST_URL: store.url,
    UPSTASH_REDIS_REST_TOKEN: store.token,
    KV_REST_API_URL: store.url,
    KV_REST_API_TOKEN: store.token,
    KV_REST_API_READ_ONLY_TOKEN: store.readOnlyToken,
    REDIS_URL: redisUrl,
    UPSTASH_VECTOR_REST_URL: vector.url,
    UPSTASH_VECTOR_REST_TOKEN: vector.token,
    UPSTASH_VECTOR_REST_READONLY_TOKEN: vector.readOnlyToken,
    QSTASH_URL: messaging.url,
    QSTASH_TOKEN: messaging.token,
    QSTASH_CURRENT_SIGNING_KEY: messaging.currentSigningKey,
    QSTASH_NEXT_SIGNING_KEY: messaging.nextSigningKey,
  });
  assert.equal(new URL(redisUrl).password, store.token);
});

test("the index embeds texts as that of larder dev does, unless the test describes another", async () => {
  const upsert = async ({ vector: { url, token } }: FreshLarder, record: object): Promise<number> => {
    const headers = { authorization: `Bearer ${token}` };
    return (await fetch(`${url}/upsert-data`, { method: "POST", headers, body: JSON.stringify(record) })).status;
  };
  await using larder = await freshLarder();
  await using described = await freshLarder({ index: { dimension: 2 } });

  assert.equal(await upsert(larder, { id: "a", data: "hello" }), 200);
  assert.equal(await upsert(described, { id: "a", data: "hello" }), 422);
  await assert.rejects(freshLarder({ index: { dimension: -1 } }), /^Error: Invalid index: dimension is neither/);
});

test("a frozen clock moves only for the test that has it", async () => {
  const first = await freshLarder({ clock: "frozen" });
  const second = await freshLarder({ clock: "frozen" });
  const startMs = first.clock.now();
  const otherMs = second.clock.now();
  assert.notEqual(first.store.url, second.store.url);
  for (const each of [first, second]) await command(each, "SET", "a", "1", "PX", "1000");

  await first.clock.advance(1_001);

  assert.equal(first.clock.now(), startMs + 1_001);
  assert.equal(second.clock.now(), otherMs);
  assert.deepEqual([await command(first, "GET", "a"), await command(second, "GET", "a")], [null, "1"]);
  await assert.rejects(first.clock.advance(-1), /^Error: advance\(-1\): time moves forward/);
  await first.end();
  await assert.rejects(first.clock.advance(1), /^Error: The time of a larder that has ended does not move/);
  await second.end();
});

test("a larder ends with the test of node:test that made it, or with the fixture of Vitest", async (context) => {
  const refusalOf = async ({ store }: FreshLarder): Promise<number> =>
    (await fetch(`${store.url}/ping`, { headers: { authorization: `Bearer ${store.token}` } })).status;
  const made: FreshLarder[] = [];
  const ends: (() => Promise<void>)[] = [];
  made.push(await freshOfTest({ after: (end) => void ends.push(end) }));
  await fixtures.larder({}, async (larder) => void made.push(larder));
  for (const end of ends) await end();
  // A deletion is done before tenants are made after it.
  for (let count = 0; count < 2; count += 1) context.after((await freshLarder()).end);

  assert.deepEqual(await Promise.all(made.map(refusalOf)), [401, 401]);
});

test("the port answers nobody without its secret, and a run names the options that it decides itself", async () => {
  const { origin } = new URL(port.url);
  assert.equal((await fetch(`${origin}/fresh`, { method: "POST", body: "{}" })).status, 404);
  const given = JSON.parse('{ "storePort": 8079 }');
  await assert.rejects(
    openRunPort(given),
    /^StartRefusal: storePort in startRun\(\): a run for tests decides it itself/,
  );
});

test("without a run the error says what to set", async () => {
  delete process.env[TEST_RUN_VARIABLE];
  try {
    await assert.rejects(freshLarder(), /LARDER_TEST_URL is not set\): set globalSetup to larderd\/vitest\/setup/);
  } finally {
    process.env[TEST_RUN_VARIABLE] = port.url;
  }
});
