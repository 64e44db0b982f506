/** A page with a counter, a search over texts, a message and a workflow. */
import { Client, Receiver } from "@upstash/qstash";
import { Ratelimit } from "@upstash/ratelimit";
import { Redis } from "@upstash/redis";
import { Index } from "@upstash/vector";
import { Client as WorkflowClient } from "@upstash/workflow";
import { serve } from "@upstash/workflow/hono";
import { Hono } from "hono";
import { createMiddleware } from "hono/factory";

// Each reads its address and token from the environment.
const redis = Redis.fromEnv();
const index = new Index();
const qstash = new Client();
const workflows = new WorkflowClient({});
const receiver = new Receiver();
const limit = new Ratelimit({ redis, limiter: Ratelimit.tokenBucket(5, "1 m", 5), prefix: "texts" });

export const app = new Hono();

app.get("/", async (c) => c.html(`<h1>larder and Hono</h1><p>${await redis.incr("views")} views</p>`));

const limited = createMiddleware(async (c, next) => {
  // All callers share the limit. For one of each caller, use its address or its user.
  const { success, reset } = await limit.limit("everybody");
  if (!success) return c.json({ error: "Too many texts", retryAt: new Date(reset).toISOString() }, 429);
  await next();
});

app.post("/api/texts", limited, async (c) => {
  const { id, text } = await c.req.json<{ id: string; text: string }>();
  await index.upsert({ id, data: text });
  return c.json({ id }, 201);
});

app.get("/api/search", async (c) => {
  const hits = await index.query({ data: c.req.query("q") ?? "", topK: 3, includeData: true });
  return c.json({ texts: hits.map(({ id, score, data }) => ({ id, score, text: data })) });
});

app.post("/api/messages", async (c) => {
  const url = new URL("/api/messages/receive", c.req.url).href;
  const { messageId } = await qstash.publishJSON({ url, body: await c.req.json() });
  return c.json({ messageId }, 202);
});

app.get("/api/messages", async (c) => c.json({ messages: await redis.lrange("messages", 0, -1) }));

const signed = createMiddleware(async (c, next) => {
  const signature = c.req.header("upstash-signature") ?? "";
  const isValid = await receiver.verify({ signature, body: await c.req.text() }).catch(() => false);
  if (!isValid) return c.json({ error: "The signature is not valid" }, 401);
  await next();
});

app.post("/api/messages/receive", signed, async (c) => {
  const { text } = await c.req.json<{ text: string }>();
  await redis.rpush("messages", text);
  return c.json({ received: true });
});

app.post("/api/orders", async (c) => {
  const { id } = await c.req.json<{ id: string }>();
  const url = new URL("/api/workflow", c.req.url).href;
  return c.json(await workflows.trigger({ url, body: { id } }), 202);
});

app.get("/api/orders/:id", async (c) => {
  const id = c.req.param("id");
  return c.json({ id, status: await redis.get(`order:${id}`) });
});

app.post(
  "/api/workflow",
  serve<{ id: string }>(async (context) => {
    const { id } = context.requestPayload;
    await context.run("pay", () => redis.set(`order:${id}`, "paid"));
    await context.sleep("pack", "10s");
    await context.run("ship", () => redis.set(`order:${id}`, "shipped"));
  }),
);
