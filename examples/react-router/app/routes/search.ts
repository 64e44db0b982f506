import { index } from "../clients.server";
import type { Route } from "./+types/search";

export async function loader({ request }: Route.LoaderArgs) {
  const words = new URL(request.url).searchParams.get("q") ?? "";
  const hits = await index.query({ data: words, topK: 3, includeData: true });
  return Response.json({ texts: hits.map(({ id, score, data }) => ({ id, score, text: data })) });
}
