/** Serves the application on the port in `PORT`, or 3000. */
import { app } from "./app.ts";

const port = Number(process.env["PORT"] ?? 3000);
app.listen(port, process.env["HOST"] ?? "127.0.0.1", (error) => {
  if (error) throw error;
  console.log(`The application is at http://127.0.0.1:${port}`);
});
