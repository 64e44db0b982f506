/** A page with a counter, a search over texts, a message and a workflow, with the server of Bun. */
import { Client, Receiver } from "@upstash/qstash";
import { Ratelimit } from "@upstash/ratelimit";
import { Redis } from "@upstash/redis";
import { Index } from "@upstash/vector";
import { serve, Client as WorkflowClient } from "@upstash/workflow";

// Each reads its address and token from the environment.
const redis = Redis.fromEnv();
const index = new Index();
const qstash = new Client();
const workflows = new WorkflowClient({});
const receiver = new Receiver();
const limit = new Ratelimit({ redis, limiter: Ratelimit.tokenBucket(5, "1 m", 5), prefix: "texts" });

const { handler: order } = serve<{ id: string }>(async (context) => {
  const { id } = context.requestPayload;
  await context.run("pay", () => redis.set(`order:${id}`, "paid"));
  await context.sleep("pack", "10s");
  await context.run("ship", () => redis.set(`order:${id}`, "shipped"));
});

const server = Bun.serve({
  hostname: Bun.env.HOST ?? "127.0.0.1",
  port: Bun.env.PORT ?? 3000,
  routes: {
    "/": async () => {
      const page = `<h1>larder and Bun</h1><p>${await redis.incr("views")} views</p>`;
      return new Response(page, { headers: { "content-type": "text/html" } });
    },
    "/api/texts": { POST: addText },
    "/api/search": { GET: search },
    "/api/messages": {
      GET: async () => Response.json({ messages: await redis.lrange("messages", 0, -1) }),
      POST: async (request) => {
        const url = new URL("/api/messages/receive", request.url).href;
        const { messageId } = await qstash.publishJSON({ url, body: await request.json() });
        return Response.json({ messageId }, { status: 202 });
      },
    },
    "/api/messages/receive": { POST: receive },
    "/api/orders": {
      POST: async (request) => {
        const { id } = (await request.json()) as { id: string };
        const url = new URL("/api/workflow", request.url).href;
        return Response.json(await workflows.trigger({ url, body: { id } }), { status: 202 });
      },
    },
    "/api/orders/:id": async ({ params: { id } }) => Response.json({ id, status: await redis.get(`order:${id}`) }),
    "/api/workflow": { POST: (request) => order(request) },
  },
  fetch: () => Response.json({ error: "Not found" }, { status: 404 }),
});
console.log(`The application is at ${server.url}`);

async function addText(request: Request): Promise<Response> {
  // Behind a proxy, take the address that it reports. Here, all callers share the limit.
  const { success, reset } = await limit.limit("everybody");
  if (!success) return Response.json({ error: "Too many texts", retryAt: new Date(reset) }, { status: 429 });
  const { id, text } = (await request.json()) as { id: string; text: string };
  await index.upsert({ id, data: text });
  return Response.json({ id }, { status: 201 });
}

async function search(request: Request): Promise<Response> {
  const words = new URL(request.url).searchParams.get("q") ?? "";
  const hits = await index.query({ data: words, topK: 3, includeData: true });
  return Response.json({ texts: hits.map(({ id, score, data }) => ({ id, score, text: data })) });
}

async function receive(request: Request): Promise<Response> {
  const body = await request.text();
  const signature = request.headers.get("upstash-signature") ?? "";
  const isValid = await receiver.verify({ signature, body, url: request.url }).catch(() => false);
  if (!isValid) return Response.json({ error: "The signature is not valid" }, { status: 401 });
  await redis.rpush("messages", JSON.parse(body).text);
  return Response.json({ received: true });
}
