import { json } from "@sveltejs/kit";
import { redis } from "#lib/server/clients.ts";
import type { RequestHandler } from "./$types";

export const GET: RequestHandler = async ({ params: { id } }) => json({ id, status: await redis().get(`order:${id}`) });
