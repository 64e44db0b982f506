import { qstash, redis } from "../clients.server";
import type { Route } from "./+types/messages";

export async function loader() {
  return Response.json({ messages: await redis.lrange("messages", 0, -1) });
}

export async function action({ request }: Route.ActionArgs) {
  const url = new URL("/api/messages/receive", request.url).href;
  const { messageId } = await qstash.publishJSON({ url, body: await request.json() });
  return Response.json({ messageId }, { status: 202 });
}
