/**
 * Uses the installed package: the official clients against `larder dev`, whose
 * variables are in the environment, and larder as a library. Copied into an empty
 * folder and run there. Throws on any difference.
 */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { Client, Receiver } from "@upstash/qstash";
import { Redis } from "@upstash/redis";
import { Index } from "@upstash/vector";
import { serve, Client as WorkflowClient } from "@upstash/workflow";
import { start } from "larderd";

const redis = Redis.fromEnv();
await redis.set("greeting", { hello: "world" }, { ex: 60 });
assert.deepEqual(await redis.get("greeting"), { hello: "world" });
assert.deepEqual(await redis.multi().incr("visits").incr("visits").exec(), [1, 2]);
assert.equal(await redis.eval("return redis.call('GET', KEYS[1])", ["visits"], []), 2);

const index = new Index();
await index.upsert({ id: "a", vector: [0.1, 0.9], metadata: { city: "Oslo" } });
const [hit] = await index.query({ vector: [0.2, 0.8], topK: 1, filter: "city = 'Oslo'" });
assert.equal(hit?.id, "a");

const { QSTASH_URL = "", QSTASH_TOKEN = "" } = process.env;
const messaging = { baseUrl: QSTASH_URL, token: QSTASH_TOKEN };
const receiver = new Receiver();
const { handler } = serve(
  async (context) => {
    const sum = await context.run("add", () => 1 + 2);
    await redis.set("sum", sum);
  },
  { qstashClient: new Client(messaging), receiver, disableTelemetry: true },
);

const done = Promise.withResolvers();
const server = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks).toString();
  if (request.url === "/message") {
    await receiver.verify({ signature: String(request.headers["upstash-signature"]), body });
    response.end();
    done.resolve(JSON.parse(body));
    return;
  }
  const headers = new Headers(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
  const reply = await handler(
    new Request(`http://${request.headers.host}${request.url}`, { method: "POST", headers, body }),
  );
  response.writeHead(reply.status, Object.fromEntries(reply.headers));
  response.end(await reply.text());
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const { port } = server.address();

await new Client(messaging).publishJSON({ url: `http://127.0.0.1:${port}/message`, body: { id: 7 } });
assert.deepEqual(await done.promise, { id: 7 });
await new WorkflowClient(messaging).trigger({ url: `http://127.0.0.1:${port}/workflow` });
while ((await redis.get("sum")) !== 3);
server.closeAllConnections();
server.close();

const own = await start();
const ownRedis = new Redis({ url: own.store.url, token: own.store.token });
await ownRedis.set("session", "x", { ex: 3_600 });
await own.clock.advance(3_600_001);
assert.equal(await ownRedis.get("session"), null);
await own.stop();

console.log(`the clients work on Node ${process.versions.node}`);
