/** A first program for each client; all read the variables that Home shows. */

export interface Client {
  readonly name: string;
  readonly program: string;
  /** It speaks the Redis protocol, so it needs `--resp-port`. */
  readonly needsResp?: true;
}

export const clients: readonly Client[] = [
  {
    name: "@upstash/redis",
    program: `import { Redis } from "@upstash/redis";

const redis = Redis.fromEnv();
await redis.set("greeting", "hello", { ex: 60 });
console.log(await redis.get("greeting"));`,
  },
  {
    name: "@upstash/vector",
    program: `import { Index } from "@upstash/vector";

const index = Index.fromEnv();
const { dimension } = await index.info();
await index.upsert({ id: "first", vector: Array.from({ length: dimension }, () => Math.random()) });
console.log(await index.fetch(["first"]));`,
  },
  {
    name: "@upstash/qstash",
    program: `import { Client } from "@upstash/qstash";

const qstash = new Client({ baseUrl: process.env.QSTASH_URL, token: process.env.QSTASH_TOKEN });
const { messageId } = await qstash.publishJSON({ url: "http://localhost:3000/api/job", body: { hello: "world" }, retries: 3 });
console.log(messageId);`,
  },
  {
    name: "@upstash/workflow",
    program: `import { serve } from "@upstash/workflow/nextjs";

export const { POST } = serve(async (context) => {
  const order = await context.run("read the order", () => context.requestPayload);
  await context.sleep("wait", "10s");
  await context.run("ship it", () => console.log("shipped", order));
});`,
  },
  {
    name: "@upstash/ratelimit",
    program: `import { Ratelimit } from "@upstash/ratelimit";
import { Redis } from "@upstash/redis";

const ratelimit = new Ratelimit({ redis: Redis.fromEnv(), limiter: Ratelimit.slidingWindow(10, "10 s") });
const { success, remaining } = await ratelimit.limit("caller");
console.log(success, remaining);`,
  },
  {
    name: "ioredis",
    needsResp: true,
    program: `import { Redis } from "ioredis";

const redis = new Redis(process.env.REDIS_URL);
await redis.set("greeting", "hello", "EX", 60);
console.log(await redis.get("greeting"));`,
  },
  {
    name: "redis",
    needsResp: true,
    program: `import { createClient } from "redis";

const redis = createClient({ url: process.env.REDIS_URL });
await redis.connect();
await redis.set("greeting", "hello", { EX: 60 });
console.log(await redis.get("greeting"));`,
  },
  {
    name: "Python",
    program: `from upstash_redis import Redis

redis = Redis.from_env()
redis.set("greeting", "hello", ex=60)
print(redis.get("greeting"))`,
  },
  {
    name: "curl",
    program: `curl "$UPSTASH_REDIS_REST_URL/set/greeting/hello" -H "Authorization: Bearer $UPSTASH_REDIS_REST_TOKEN"
curl "$UPSTASH_REDIS_REST_URL/get/greeting" -H "Authorization: Bearer $UPSTASH_REDIS_REST_TOKEN"`,
  },
];
