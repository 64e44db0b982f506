import { connection } from "next/server";
import { qstash, redis } from "@/lib/clients";

export async function POST(request: Request) {
  const url = new URL("/api/messages/receive", request.url).href;
  const { messageId } = await qstash().publishJSON({ url, body: await request.json() });
  return Response.json({ messageId }, { status: 202 });
}

export async function GET() {
  await connection();
  return Response.json({ messages: await redis().lrange("messages", 0, -1) });
}
