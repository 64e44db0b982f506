import { serve } from "@upstash/workflow/svelte";
import { redis } from "#lib/server/clients.ts";
import * as env from "$app/env/private";

export const { POST } = serve<{ id: string }>(
  async (context) => {
    const { id } = context.requestPayload;
    await context.run("pay", () => redis().set(`order:${id}`, "paid"));
    await context.sleep("pack", "10s");
    await context.run("ship", () => redis().set(`order:${id}`, "shipped"));
  },
  { env },
);
