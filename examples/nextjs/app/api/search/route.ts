import type { NextRequest } from "next/server";
import { index } from "@/lib/clients";

export async function GET(request: NextRequest) {
  const data = request.nextUrl.searchParams.get("q") ?? "";
  const hits = await index().query({ data, topK: 3, includeData: true });
  return Response.json({ texts: hits.map(({ id, score, data: text }) => ({ id, score, text })) });
}
