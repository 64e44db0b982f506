import { redis } from "../clients.server";
import type { Route } from "./+types/order";

export async function loader({ params: { id } }: Route.LoaderArgs) {
  return Response.json({ id, status: await redis.get(`order:${id}`) });
}
