import { redis } from "#lib/server/clients.ts";

export async function load() {
  return { views: await redis().incr("views") };
}
