import { redis } from "@/lib/clients";

export async function GET(_request: Request, { params }: RouteContext<"/api/orders/[id]">) {
  const { id } = await params;
  return Response.json({ id, status: await redis().get(`order:${id}`) });
}
