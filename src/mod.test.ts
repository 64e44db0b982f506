import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { type Larder, start } from "./mod.ts";

async function command(larder: Larder, ...words: readonly string[]): Promise<unknown> {
  const headers = { authorization: `Bearer ${larder.store.token}` };
  const reply = await fetch(larder.store.url, { method: "POST", headers, body: JSON.stringify(words) });
  return ((await reply.json()) as { result: unknown }).result;
}

test("start() is larder dev on free ports: addresses, tokens, variables", async () => {
  await using larder = await start();

  assert.equal(larder.store.token, "dev");
  assert.equal(larder.env["UPSTASH_REDIS_REST_URL"], larder.store.url);
  assert.equal(larder.env["QSTASH_URL"], larder.messaging.url);
  assert.equal(larder.messaging.currentSigningKey, "sig_7kYjw48mhY7kAjqNGcy6cr29RJ6r");
  assert.equal(await command(larder, "SET", "a", "1"), "OK");
  assert.equal((await fetch(`${larder.admin.url}/health/ready`)).status, 200);
});

test("code that sends texts to the index works at once in dev, and needs a model in serve", async (context) => {
  const upsert = (larder: Larder): Promise<Response> =>
    fetch(`${larder.vector.url}/upsert-data`, {
      method: "POST",
      headers: { authorization: `Bearer ${larder.vector.token}` },
      body: JSON.stringify({ id: "a", data: "hello world" }),
    });
  await using dev = await start();
  assert.deepEqual(await (await upsert(dev)).json(), { result: "Success" });
  const dataDir = mkdtempSync(join(tmpdir(), "larder-mod-"));
  context.after(() => rmSync(dataDir, { recursive: true }));
  await using serve = await start({ command: "serve", dataDir });
  assert.equal((await upsert(serve)).status, 422);
});

test("clock.advance moves the engines' time: what expires on the way is gone", async () => {
  await using larder = await start();
  await command(larder, "SET", "hour", "1", "EX", "3600");
  await command(larder, "SET", "day", "1", "EX", "86400");

  await larder.clock.advance(3_599_000);
  assert.equal(await command(larder, "EXISTS", "hour", "day"), 2);

  await larder.clock.advance(2_000);
  assert.equal(await command(larder, "EXISTS", "hour", "day"), 1);
  assert.equal(await command(larder, "DBSIZE"), 1);

  await assert.rejects(larder.clock.advance(1e16), {
    message: "advance(10000000000000000): no date is as late as that",
  });
});

test("reset empties everything; two servers in one process share nothing", async () => {
  await using first = await start();
  await using second = await start();
  await command(first, "SET", "a", "1");
  await command(second, "SET", "a", "2");

  await first.reset();

  assert.equal(await command(first, "GET", "a"), null);
  assert.equal(await command(second, "GET", "a"), "2");
});

test("after stop() nothing listens", async () => {
  const larder = await start();
  await larder.stop();
  await assert.rejects(fetch(larder.store.url), /fetch failed/);
  await assert.rejects(fetch(larder.admin.url), /fetch failed/);
});

test("options are those of a configuration file, and refused by name", async () => {
  await using larder = await start({
    port: 0,
    store: { databases: [{ name: "mine", token: "my-token", readOnlyToken: "my-read-only" }] },
  });
  assert.equal(larder.store.token, "my-token");
  assert.match(larder.store.url, /\/store$/);
  assert.equal(await command(larder, "PING"), "PONG");

  // As JavaScript passes them: the types already refuse the first.
  const refused: readonly (readonly [options: string, message: string])[] = [
    ['{ "hots": 1 }', "start(): hots is not a known key"],
    ['{ "storePort": 70000 }', 'storePort in start(): "70000" is not a port from 0 to 65535'],
    ['{ "threads": "per-area" }', "threads in start(): a server inside another program runs in one thread"],
  ];
  for (const [options, message] of refused) {
    await assert.rejects(start(JSON.parse(options)), { name: "StartRefusal", message });
  }
});
