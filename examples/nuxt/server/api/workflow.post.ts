/** Each step is a request of larder, whose signature `serve` verifies. */
import { serve } from "@upstash/workflow/h3";

const { handler } = serve<{ id: string }>(async (context) => {
  const { id } = context.requestPayload;
  await context.run("pay", () => redis.set(`order:${id}`, "paid"));
  await context.sleep("pack", "10s");
  await context.run("ship", () => redis.set(`order:${id}`, "shipped"));
});

export default defineEventHandler((event) => {
  // The adapter takes the scheme of its own address from this header, which only a proxy sets.
  event.node.req.headers["x-forwarded-proto"] ??= "http";
  return handler(event);
});
