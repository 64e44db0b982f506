/** A page with a counter, a search over texts, a message and a workflow. */
import { serve } from "@upstash/workflow/cloudflare";
import { type Env, indexOf, limitOf, qstashOf, receiverOf, redisOf, workflowsOf } from "./clients.ts";

export default {
  async fetch(request, env): Promise<Response> {
    const { origin, pathname, searchParams } = new URL(request.url);
    switch (`${request.method} ${pathname}`) {
      case "GET /":
        return page(env);
      case "POST /api/texts":
        return addText(request, env);
      case "GET /api/search":
        return search(searchParams.get("q") ?? "", env);
      case "POST /api/messages":
        return sendMessage(request, env, `${origin}/api/messages/receive`);
      case "GET /api/messages":
        return Response.json({ messages: await redisOf(env).lrange("messages", 0, -1) });
      case "POST /api/messages/receive":
        return receiveMessage(request, env);
      case "POST /api/orders":
        return startOrder(request, env, `${origin}/api/workflow`);
      case "POST /api/workflow":
        return orderWorkflow(env).fetch(request, env);
    }
    const [, order] = /^\/api\/orders\/([^/]+)$/.exec(pathname) ?? [];
    if (order !== undefined && request.method === "GET") {
      return Response.json({ id: order, status: await redisOf(env).get(`order:${order}`) });
    }
    return Response.json({ error: "There is nothing here" }, { status: 404 });
  },
} satisfies ExportedHandler<Env>;

async function page(env: Env): Promise<Response> {
  const views = await redisOf(env).incr("views");
  return new Response(`<h1>larder and Workers</h1><p>${views} views</p>`, {
    headers: { "content-type": "text/html; charset=utf-8" },
  });
}

async function addText(request: Request, env: Env): Promise<Response> {
  // All callers share the limit. For one of each caller, use its address or its user.
  const { success, reset } = await limitOf(env).limit("everybody");
  if (!success)
    return Response.json({ error: "Too many texts", retryAt: new Date(reset).toISOString() }, { status: 429 });
  const { id, text } = await request.json<{ id: string; text: string }>();
  await indexOf(env).upsert({ id, data: text });
  return Response.json({ id }, { status: 201 });
}

async function search(words: string, env: Env): Promise<Response> {
  const hits = await indexOf(env).query({ data: words, topK: 3, includeData: true });
  return Response.json({ texts: hits.map(({ id, score, data }) => ({ id, score, text: data })) });
}

async function sendMessage(request: Request, env: Env, url: string): Promise<Response> {
  const { messageId } = await qstashOf(env).publishJSON({ url, body: await request.json() });
  return Response.json({ messageId }, { status: 202 });
}

async function receiveMessage(request: Request, env: Env): Promise<Response> {
  const signature = request.headers.get("upstash-signature") ?? "";
  const body = await request.text();
  const isValid = await receiverOf(env)
    .verify({ signature, body })
    .catch(() => false);
  if (!isValid) return Response.json({ error: "The signature is not valid" }, { status: 401 });
  const { text } = JSON.parse(body) as { text: string };
  await redisOf(env).rpush("messages", text);
  return Response.json({ received: true });
}

async function startOrder(request: Request, env: Env, url: string): Promise<Response> {
  const { id } = await request.json<{ id: string }>();
  return Response.json(await workflowsOf(env).trigger({ url, body: { id } }), { status: 202 });
}

function orderWorkflow(env: Env) {
  return serve<{ id: string }>(async (context) => {
    const { id } = context.requestPayload;
    await context.run("pay", () => redisOf(env).set(`order:${id}`, "paid"));
    await context.sleep("pack", "10s");
    await context.run("ship", () => redisOf(env).set(`order:${id}`, "shipped"));
  });
}
