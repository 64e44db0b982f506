/** A page with a counter and a search. */
import { Form } from "react-router";
import { index, redis } from "../clients.server";
import type { Route } from "./+types/home";

export async function loader({ request }: Route.LoaderArgs) {
  const words = new URL(request.url).searchParams.get("q") ?? "";
  const views = await redis.incr("views");
  const hits = words === "" ? [] : await index.query({ data: words, topK: 3, includeData: true });
  return { views, words, texts: hits.map(({ id, data }) => ({ id, text: data })) };
}

export default function Home({ loaderData: { views, words, texts } }: Route.ComponentProps) {
  return (
    <main>
      <title>larder and React Router</title>
      <h1>larder and React Router</h1>
      <p>{`${views} views`}</p>
      <Form>
        <input name="q" aria-label="Words" defaultValue={words} /> <button type="submit">Search</button>
      </Form>
      <ul>
        {texts.map(({ id, text }) => (
          <li key={id}>{text}</li>
        ))}
      </ul>
    </main>
  );
}
