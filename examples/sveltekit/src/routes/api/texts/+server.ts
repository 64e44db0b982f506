import { json } from "@sveltejs/kit";
import { index, limit } from "#lib/server/clients.ts";
import type { RequestHandler } from "./$types";

export const POST: RequestHandler = async ({ request }) => {
  // All callers share the limit. For one of each caller, use its address or its user.
  const { success, reset } = await limit().limit("everybody");
  if (!success) return json({ error: "Too many texts", retryAt: new Date(reset).toISOString() }, { status: 429 });
  const { id, text } = (await request.json()) as { id: string; text: string };
  await index().upsert({ id, data: text });
  return json({ id }, { status: 201 });
};
