import { json } from "@sveltejs/kit";
import { addressOf, workflows } from "#lib/server/clients.ts";
import type { RequestHandler } from "./$types";

export const POST: RequestHandler = async ({ request, url }) => {
  const { id } = (await request.json()) as { id: string };
  return json(await workflows().trigger({ url: addressOf("/api/workflow", url), body: { id } }), { status: 202 });
};
