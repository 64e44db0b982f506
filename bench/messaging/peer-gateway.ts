/**
 * The code that a team writes around a job queue instead of messaging: a plain
 * HTTP server that makes a job of each message and answers when the queue has
 * it, and a worker that signs the message, calls its destination and acknowledges it to the
 * queue. Nothing else: no limits, no logs, no redaction. So it is a lower
 * bound of what such a service costs.
 *
 * One process does both, as is usual on one core: a second one would only add
 * switches between them. Signing and calling use the code of larder.
 */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Agent } from "undici";
import { signDelivery } from "../../src/messaging/delivery/signature.ts";

export interface Job {
  readonly id: string;
  readonly url: string;
  readonly contentType: string;
  readonly body: string;
}

export interface JobQueue {
  /** Resolves when the job is on the disk. */
  add(job: Job, delaySeconds: number): Promise<void>;
}

export const PEER_KEY = "sig_bench-key-of-the-peers";
/** Concurrent calls, as many as larder makes to one destination. */
export const CALLS_MAX = 50;
const TIMEOUT_MS = 30_000;
const PATH = "/v2/publish/";

const agent = new Agent({ connections: CALLS_MAX, pipelining: 1, headersTimeout: TIMEOUT_MS, bodyTimeout: TIMEOUT_MS });

/** A module of `BENCH_PEERS`, the folder whose `node_modules` has it. */
export async function importPeer(name: string): Promise<Record<string, unknown>> {
  const require = createRequire(join(process.env["BENCH_PEERS"] ?? process.cwd(), "package.json"));
  return (await import(pathToFileURL(require.resolve(name)).href)) as Record<string, unknown>;
}

/** Calls the destination of a job. Rejects unless it answers with 2xx. */
export async function deliver({ id, url, contentType, body }: Job): Promise<void> {
  const signature = signDelivery({ key: PEER_KEY, url, body, nowMs: Date.now(), tokenId: `jwt_${randomUUID()}` });
  const { origin, pathname, search } = new URL(url);
  const headers = { "Content-Type": contentType, "Upstash-Message-Id": id, "Upstash-Signature": signature };
  const answer = await agent.request({ origin, path: pathname + search, method: "POST", headers, body });
  await answer.body.dump();
  if (answer.statusCode >= 300) throw new Error(`${url} answered ${answer.statusCode}`);
}

export function serve(queue: JobQueue): void {
  const server = createServer(async (request, response) => {
    try {
      const body = await readBody(request);
      const id = randomUUID();
      const url = request.url?.slice(PATH.length) ?? "";
      const contentType = request.headers["content-type"] ?? "application/octet-stream";
      await queue.add({ id, url, contentType, body }, Number(request.headers["delay-seconds"] ?? 0));
      reply(response, 200, { messageId: id });
    } catch (error) {
      reply(response, 500, { error: String(error) });
    }
  });
  server.keepAliveTimeout = 75_000;
  server.listen(0, "127.0.0.1", () => {
    const address = server.address();
    console.log(`listening on ${typeof address === "object" ? address?.port : address}`);
  });
  process.once("SIGTERM", () => process.exit(0));
}

function reply(response: ServerResponse, status: number, value: unknown): void {
  const body = JSON.stringify(value);
  response.writeHead(status, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
  response.end(body);
}

function readBody(request: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => resolve(Buffer.concat(chunks).toString()));
    request.on("error", reject);
  });
}
