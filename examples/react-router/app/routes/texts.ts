import { index, limit } from "../clients.server";
import type { Route } from "./+types/texts";

export async function action({ request }: Route.ActionArgs) {
  // Behind a proxy, take the address that it reports. Here, all callers share the limit.
  const { success, reset } = await limit.limit("everybody");
  if (!success) return Response.json({ error: "Too many texts", retryAt: new Date(reset) }, { status: 429 });
  const { id, text } = await request.json();
  await index.upsert({ id, data: text });
  return Response.json({ id }, { status: 201 });
}
