import { index, limit } from "@/lib/clients";

export async function POST(request: Request) {
  // All callers share the limit. For one of each caller, use its address or its user.
  const { success, reset } = await limit().limit("everybody");
  if (!success)
    return Response.json({ error: "Too many texts", retryAt: new Date(reset).toISOString() }, { status: 429 });
  const { id, text } = (await request.json()) as { id: string; text: string };
  await index().upsert({ id, data: text });
  return Response.json({ id }, { status: 201 });
}
