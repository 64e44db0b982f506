/** The store behind its HTTP edge with a journal that stores nothing, as a separate process, for `fan-out.bench.ts`. */
import { startServer, TOKEN } from "../../test/harness/server.ts";

const server = await startServer();
console.log(`listening on ${server.listener.port} with ${TOKEN}`);
process.once("SIGTERM", () => process.exit(0));
