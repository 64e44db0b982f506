/**
 * The connections of a copy in S3. Limits of time and length are those of the caller (`replication/objects/s3/http.ts`);
 * here are the sockets.
 */
import { createRequire } from "node:module";
import { Readable } from "node:stream";
import type { Agent } from "undici";
import type { HttpSend } from "../../../replication/objects/s3/http.ts";

const CONNECT_MS_MAX = 10_000;
const CONNECTIONS_MAX = 16;

export interface HttpClient {
  readonly send: HttpSend;
  /** Closes all connections; requests under way fail. */
  close(): Promise<void>;
}

/** Redirects are not followed, bodies are not decoded, and no proxy of the environment is used. */
export function openHttpClient(): HttpClient {
  const require = createRequire(import.meta.url);
  const undici = require("undici") as typeof import("undici");
  const agent: Agent = new undici.Agent({
    connect: { timeout: CONNECT_MS_MAX },
    connections: CONNECTIONS_MAX,
    pipelining: 1,
    // The caller watches both.
    headersTimeout: 0,
    bodyTimeout: 0,
    allowH2: false,
  });
  const send: HttpSend = async ({ method, url, headers, body, signal }) => {
    const { origin, pathname, search } = new URL(url);
    const answer = await agent.request({
      origin,
      path: `${pathname}${search}`,
      method,
      headers: { ...headers },
      body: body === undefined ? null : Readable.from(body),
      signal,
    });
    const joined: Record<string, string> = {};
    for (const [name, value] of Object.entries(answer.headers))
      if (value !== undefined) joined[name] = typeof value === "string" ? value : value.join(", ");
    return { status: answer.statusCode, headers: joined, body: answer.body };
  };
  return { send, close: () => agent.destroy() };
}
