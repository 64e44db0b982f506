import { json } from "@sveltejs/kit";
import { addressOf, qstash, redis } from "#lib/server/clients.ts";
import type { RequestHandler } from "./$types";

export const POST: RequestHandler = async ({ request, url }) => {
  const { messageId } = await qstash().publishJSON({
    url: addressOf("/api/messages/receive", url),
    body: await request.json(),
  });
  return json({ messageId }, { status: 202 });
};

export const GET: RequestHandler = async () => json({ messages: await redis().lrange("messages", 0, -1) });
