import { workflows } from "@/lib/clients";

export async function POST(request: Request) {
  const { id } = (await request.json()) as { id: string };
  const url = new URL("/api/workflow", request.url).href;
  return Response.json(await workflows().trigger({ url, body: { id } }), { status: 202 });
}
