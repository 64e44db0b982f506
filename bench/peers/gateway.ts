/**
 * The obvious gateway, for comparison: node:http in front of a redis-server,
 * with ioredis between them. It has the same POST / and POST /pipeline as
 * the store and does nothing else: no base64, no limits, no sync token. So it
 * is a lower bound of what such a gateway costs.
 *
 * node bench/peers/gateway.ts <redis port>    (TOKEN is the token that it requires)
 */
import { createServer, type IncomingMessage } from "node:http";
import { Redis } from "ioredis";

const redis = new Redis({ host: "127.0.0.1", port: Number(process.argv[2]), enableAutoPipelining: true });
const bearer = `Bearer ${process.env["TOKEN"]}`;

const server = createServer(async (request, response) => {
  const { status, body } = await answer(request);
  response.writeHead(status, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
  response.end(body);
});
server.keepAliveTimeout = 75_000;
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  console.log(`listening on ${typeof address === "object" ? address?.port : address}`);
});
process.once("SIGTERM", () => process.exit(0));

async function answer(request: IncomingMessage): Promise<{ status: number; body: string }> {
  const text = await readBody(request);
  if (request.headers.authorization !== bearer) return { status: 401, body: '{"error":"WRONGPASS"}' };
  try {
    const body = JSON.parse(text) as string[] | string[][];
    if (request.url === "/pipeline") return { status: 200, body: await runPipeline(body as string[][]) };
    const [name = "", ...args] = body as string[];
    return { status: 200, body: JSON.stringify({ result: await redis.call(name.toLowerCase(), ...args) }) };
  } catch (error) {
    return { status: 400, body: JSON.stringify({ error: String(error) }) };
  }
}

async function runPipeline(commands: readonly string[][]): Promise<string> {
  // ioredis finds the commands of a pipeline by their lower-case names.
  const named = commands.map(([name = "", ...args]) => [name.toLowerCase(), ...args]);
  const replies = (await redis.pipeline(named).exec()) ?? [];
  return JSON.stringify(replies.map(([error, result]) => (error === null ? { result } : { error: error.message })));
}

function readBody(request: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => resolve(Buffer.concat(chunks).toString()));
    request.on("error", reject);
  });
}
