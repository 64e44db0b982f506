/** What larder delivers, with its signature. */
import { receiver, redis } from "../clients.server";
import type { Route } from "./+types/receive-message";

export async function action({ request }: Route.ActionArgs) {
  const body = await request.text();
  const signature = request.headers.get("upstash-signature") ?? "";
  const isValid = await receiver.verify({ signature, body, url: request.url }).catch(() => false);
  if (!isValid) return Response.json({ error: "The signature is not valid" }, { status: 401 });
  await redis.rpush("messages", JSON.parse(body).text);
  return Response.json({ received: true });
}
