/** Client-side caching with node-redis and ioredis, over real sockets. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { Redis } from "ioredis";
import { createClient } from "redis";
import { startPort } from "../differential/far-sessions.ts";

test("node-redis answers reads from its cache until another client writes", async () => {
  const port = await startPort();
  const url = `redis://127.0.0.1:${port.port}`;
  const cached = createClient({ url, RESP: 3, clientSideCache: { ttl: 0, maxEntries: 100 } });
  const other = createClient({ url });
  await Promise.all([cached.connect(), other.connect()]);
  try {
    await other.set("k", "1");
    assert.equal(await cached.get("k"), "1");
    assert.equal(await cached.get("k"), "1");
    const readCount = (await other.info("commandstats")).match(/cmdstat_get:calls=(\d+)/)?.[1];
    assert.equal(readCount, "1");
    await other.set("k", "2");
    // The push was sent before this reply, on the same connection.
    await cached.ping();
    assert.equal(await cached.get("k"), "2");
  } finally {
    cached.destroy();
    other.destroy();
    await port.close(0);
  }
});

test("ioredis gets the redirected messages of __redis__:invalidate with RESP2", async () => {
  const port = await startPort();
  const [reader, subscriber, writer] = [0, 1, 2].map(() => new Redis({ port: port.port, protocol: 2 })) as [
    Redis,
    Redis,
    Redis,
  ];
  try {
    const id = await subscriber.client("ID");
    await subscriber.subscribe("__redis__:invalidate");
    await reader.client("TRACKING", "ON", "REDIRECT", id);
    assert.equal(await reader.get("k"), null);
    const message = once(subscriber, "message");
    await writer.set("k", "1");
    assert.deepEqual(await message, ["__redis__:invalidate", "k"]);
  } finally {
    for (const client of [reader, subscriber, writer]) client.disconnect();
    await port.close(0);
  }
});
