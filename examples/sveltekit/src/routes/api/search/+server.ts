import { json } from "@sveltejs/kit";
import { index } from "#lib/server/clients.ts";
import type { RequestHandler } from "./$types";

export const GET: RequestHandler = async ({ url }) => {
  const hits = await index().query({ data: url.searchParams.get("q") ?? "", topK: 3, includeData: true });
  return json({ texts: hits.map(({ id, score, data }) => ({ id, score, text: data })) });
};
