import { connection } from "next/server";
import { redis } from "@/lib/clients";

/** Rendered for each request, and counted. */
export default async function Page() {
  await connection();
  const views = await redis().incr("views");
  return (
    <main>
      <h1>larder and Next.js</h1>
      <p>{`${views} views`}</p>
    </main>
  );
}
