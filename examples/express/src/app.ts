/** A page with a counter, a search over texts, a message and a workflow. */
import { Client, Receiver } from "@upstash/qstash";
import { Ratelimit } from "@upstash/ratelimit";
import { Redis } from "@upstash/redis";
import { Index } from "@upstash/vector";
import { Client as WorkflowClient } from "@upstash/workflow";
import { serve } from "@upstash/workflow/express";
import express, { type Request, type RequestHandler } from "express";

// Each reads its address and token from the environment.
const redis = Redis.fromEnv();
const index = new Index();
const qstash = new Client();
const workflows = new WorkflowClient({});
const receiver = new Receiver();
const limit = new Ratelimit({ redis, limiter: Ratelimit.tokenBucket(5, "1 m", 5), prefix: "texts" });

export const app = express();

app.get("/", async (_req, res) => {
  res.send(`<h1>larder and Express</h1><p>${await redis.incr("views")} views</p>`);
});

const signed: RequestHandler = async (req, res, next) => {
  const signature = req.get("upstash-signature") ?? "";
  const isValid = await receiver.verify({ signature, body: req.body }).catch(() => false);
  if (isValid) next();
  else res.status(401).json({ error: "The signature is not valid" });
};

// Before express.json(), because the signature is that of the text.
app.post("/api/messages/receive", express.text({ type: "*/*" }), signed, async (req, res) => {
  const { text } = JSON.parse(req.body) as { text: string };
  await redis.rpush("messages", text);
  res.json({ received: true });
});

app.use(express.json());

const limited: RequestHandler = async (_req, res, next) => {
  // All callers share the limit. For one of each caller, use its address or its user.
  const { success, reset } = await limit.limit("everybody");
  if (success) next();
  else res.status(429).json({ error: "Too many texts", retryAt: new Date(reset).toISOString() });
};

app.post("/api/texts", limited, async (req, res) => {
  const { id, text } = req.body as { id: string; text: string };
  await index.upsert({ id, data: text });
  res.status(201).json({ id });
});

app.get("/api/search", async (req, res) => {
  const hits = await index.query({ data: String(req.query["q"]), topK: 3, includeData: true });
  res.json({ texts: hits.map(({ id, score, data }) => ({ id, score, text: data })) });
});

app.post("/api/messages", async (req, res) => {
  const { messageId } = await qstash.publishJSON({ url: addressOf(req, "/api/messages/receive"), body: req.body });
  res.status(202).json({ messageId });
});

app.get("/api/messages", async (_req, res) => {
  res.json({ messages: await redis.lrange("messages", 0, -1) });
});

app.post("/api/orders", async (req, res) => {
  const { id } = req.body as { id: string };
  res.status(202).json(await workflows.trigger({ url: addressOf(req, "/api/workflow"), body: { id } }));
});

app.get("/api/orders/:id", async (req, res) => {
  const { id } = req.params;
  res.json({ id, status: await redis.get(`order:${id}`) });
});

app.use(
  "/api/workflow",
  serve<{ id: string }>(async (context) => {
    const { id } = context.requestPayload;
    await context.run("pay", () => redis.set(`order:${id}`, "paid"));
    await context.sleep("pack", "10s");
    await context.run("ship", () => redis.set(`order:${id}`, "shipped"));
  }),
);

/** The address of a route of this application, as its caller reaches it. */
function addressOf(req: Request, path: string): string {
  return `${req.protocol}://${req.get("host")}${path}`;
}
