/** Serves the application on the port in `PORT`, or 3000. */
import { serve } from "@hono/node-server";
import { app } from "./app.ts";

const port = Number(process.env["PORT"] ?? 3000);
serve({ fetch: app.fetch, port, hostname: process.env["HOST"] ?? "127.0.0.1" }, () => {
  console.log(`The application is at http://127.0.0.1:${port}`);
});
