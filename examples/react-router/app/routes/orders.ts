import { workflows } from "../clients.server";
import type { Route } from "./+types/orders";

export async function action({ request }: Route.ActionArgs) {
  const { id } = await request.json();
  const url = new URL("/api/workflow", request.url).href;
  return Response.json(await workflows.trigger({ url, body: { id } }), { status: 202 });
}
