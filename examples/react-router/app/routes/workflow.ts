/** Each step is a request of larder, whose signature `serve` verifies. */
import { serve } from "@upstash/workflow/react-router";
import { redis } from "../clients.server";

export const action = serve<{ id: string }>(async (context) => {
  const { id } = context.requestPayload;
  await context.run("pay", () => redis.set(`order:${id}`, "paid"));
  await context.sleep("pack", "10s");
  await context.run("ship", () => redis.set(`order:${id}`, "shipped"));
});
