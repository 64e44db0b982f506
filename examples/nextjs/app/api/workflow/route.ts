import { serve } from "@upstash/workflow/nextjs";
import { redis } from "@/lib/clients";

export const { POST } = serve<{ id: string }>(async (context) => {
  const { id } = context.requestPayload;
  await context.run("pay", () => redis().set(`order:${id}`, "paid"));
  await context.sleep("pack", "10s");
  await context.run("ship", () => redis().set(`order:${id}`, "shipped"));
});
