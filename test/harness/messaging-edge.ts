/**
 * The HTTP interface of messaging on an API that each test defines: its
 * calls are recorded, and it answers as the test specifies.
 *
 *     const edge = messagingEdge({ accept: () => ({ outcomes: [one], safe: undefined }) });
 *     const reply = await edge.send("POST /v2/publish/https://a.test");
 *     edge.calls; // [["accept", [{ destination: "https://a.test", … }]]]
 */
import { TokenTable } from "../../src/edge/auth.ts";
import type { HeadMemo, HttpReply, HttpRequest, RequestHead } from "../../src/edge/handler.ts";
import { MessagingArea, type MessagingAreaOptions } from "../../src/edge/messaging/area.ts";
import { VirtualClock } from "../../src/kernel/clock.virtual.ts";
import type { TraceContext } from "../../src/kernel/trace-context.ts";
import { Turns } from "../../src/kernel/turns.ts";
import type { MessagingApi } from "../../src/messaging/api.ts";
import { defaultLimits } from "../../src/messaging/limits.ts";

export const EDGE_TOKEN = "messaging-token";
export const EDGE_READ_ONLY_TOKEN = "messaging-read-only-token";

export interface EdgeReply {
  readonly status: number;
  readonly text: string;
  /** The body as JSON. */
  readonly json: unknown;
  readonly route: string;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface EdgeSend {
  /** name, value, … in addition to Authorization. */
  readonly headers?: readonly string[];
  /** A string or Buffer is sent unchanged, anything else as JSON. */
  readonly body?: unknown;
  /** null sends no Authorization. */
  readonly token?: string | null;
  /** Of a head that repeats. */
  readonly memo?: HeadMemo;
  readonly trace?: TraceContext;
  readonly remoteAddress?: string;
}

export interface MessagingEdge {
  readonly area: MessagingArea;
  readonly clock: VirtualClock;
  readonly tokens: TokenTable;
  /** The calls of the API: name of the method, then its arguments. */
  readonly calls: unknown[][];
  /** `POST /v2/publish/…` */
  send(line: string, options?: EdgeSend): Promise<EdgeReply>;
}

/** `answers` has the methods of the API; calling any other is an error of the test. */
export function messagingEdge(
  answers: Partial<MessagingApi> = {},
  options: Partial<MessagingAreaOptions> = {},
): MessagingEdge {
  const calls: unknown[][] = [];
  const clock = new VirtualClock();
  const tokens = new TokenTable(Buffer.alloc(32, 3));
  tokens.add(EDGE_TOKEN, { tenant: "main", access: "standard" });
  tokens.add(EDGE_READ_ONLY_TOKEN, { tenant: "main", access: "read-only" });
  const api = recordingApi(answers, calls);
  const area = new MessagingArea({
    messaging: { user: (name) => (name === "main" ? api : undefined) },
    tokens,
    queryToken: true,
    limits: defaultLimits,
    clock,
    turns: new Turns({ clock }),
    destinations: (url) => (url.hostname === "refused.test" ? "The destination refused.test is refused" : undefined),
    ...options,
  });
  return {
    area,
    clock,
    tokens,
    calls,
    async send(line, sent = {}) {
      return edgeReply(await area.handle(edgeRequest(line, sent)));
    },
  };
}

export function edgeReply(reply: HttpReply): EdgeReply {
  const headers: Record<string, string> = {};
  for (let i = 0; i < reply.headers.length; i += 2) {
    headers[(reply.headers[i] as string).toLowerCase()] = reply.headers[i + 1] as string;
  }
  const text = String(reply.body);
  const json: unknown = text === "" ? undefined : JSON.parse(text);
  return { status: reply.status, text, json, route: reply.route ?? "", headers };
}

export function edgeRequest(line: string, sent: EdgeSend = {}): HttpRequest {
  const { headers = [], body, token = EDGE_TOKEN, memo, trace, remoteAddress = "::ffff:10.0.0.7" } = sent;
  const space = line.indexOf(" ");
  const rawHeaders = [...(token === null ? [] : ["Authorization", `Bearer ${token}`]), ...headers];
  const head: RequestHead = {
    method: line.slice(0, space),
    target: line.slice(space + 1),
    rawHeaders,
    header: (name) => {
      const index = rawHeaders.findIndex((given, at) => at % 2 === 0 && given.toLowerCase() === name);
      return index < 0 ? undefined : rawHeaders[index + 1];
    },
    remoteAddress,
    remotePort: 4_000,
    id: "x-1",
    memo,
    trace,
  };
  return { ...head, body: bytesOf(body) };
}

function bytesOf(body: unknown): Buffer {
  if (body === undefined) return Buffer.alloc(0);
  if (Buffer.isBuffer(body)) return body;
  return Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
}

function recordingApi(answers: Partial<MessagingApi>, calls: unknown[][]): MessagingApi {
  const noRuns = { find: () => undefined };
  const recorded: Record<string, unknown> = { name: "main", whenSafe: () => undefined, workflows: noRuns };
  for (const [name, answer] of Object.entries(answers)) {
    if (typeof answer !== "function") recorded[name] = answer;
    else {
      const method = answer as (...given: unknown[]) => unknown;
      recorded[name] = (...given: unknown[]) => {
        calls.push([name, ...given]);
        return method(...given);
      };
    }
  }
  return recorded as unknown as MessagingApi;
}
