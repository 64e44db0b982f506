import { json } from "@sveltejs/kit";
import { verifySignatureSvelte } from "@upstash/qstash/svelte";
import { redis } from "#lib/server/clients.ts";
import * as env from "$app/env/private";
import type { RequestHandler } from "./$types";

const receive: RequestHandler = async ({ request }) => {
  const { text } = (await request.json()) as { text: string };
  await redis().rpush("messages", text);
  return json({ received: true });
};

/** The keys are read for each request: a build loads this file without them. */
export const POST: RequestHandler = (event) =>
  verifySignatureSvelte(receive, {
    currentSigningKey: env.QSTASH_CURRENT_SIGNING_KEY,
    nextSigningKey: env.QSTASH_NEXT_SIGNING_KEY,
  })(event);
