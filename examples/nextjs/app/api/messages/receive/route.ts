import { verifySignatureAppRouter } from "@upstash/qstash/nextjs";
import { redis } from "@/lib/clients";

async function receive(request: Request) {
  const { text } = (await request.json()) as { text: string };
  await redis().rpush("messages", text);
  return Response.json({ received: true });
}

/** The keys are read for each request: `next build` loads this file without them. */
export const POST = (request: Request) => verifySignatureAppRouter(receive)(request);
