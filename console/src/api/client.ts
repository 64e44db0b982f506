/**
 * Requests to larder. Everything goes through `/console/api/` at the admin port, which adds the token of the tenant: the
 * page has none. Writes carry the CSRF token of the session.
 *
 *     /console/api/store/<database>/…      the store's routes
 *     /console/api/vector/<index>/…        the routes of the vector index
 *     /console/api/messaging/<user>/…      the routes of messaging
 *     /console/api/admin/…                 the routes of the admin port
 */
import { endSession, session } from "./session.ts";

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

export interface RequestOptions {
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Left out: undefined values. A list becomes repeated parameters. */
  readonly query?: Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Sent as it is; `json` is not set then. */
  readonly body?: BodyInit;
  readonly signal?: AbortSignal;
  /** The time limit of an answer; `ANSWER_MS_MAX` if absent. */
  readonly waitMs?: number;
}

/** An answer that is not a success; `message` is larder's own text. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  /** The HTTP status; 0 if no answer came. */
  readonly status: number;
  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

const ROOT = "/console/api/";

/** The time limit of an answer: the admin port itself waits up to 60 s for an area. */
export const ANSWER_MS_MAX = 65_000;

/** Sends a request and resolves with the response, which is a success; its body has no time limit. Throws `ApiError`. */
export function send(path: string, options: RequestOptions = {}): Promise<Response> {
  return exchange(path, options, (response) => response);
}

/** Sends a request and resolves with the JSON of the answer; undefined for an empty one. Throws `ApiError`. */
export async function request<Answer = Json>(path: string, options: RequestOptions = {}): Promise<Answer> {
  const text = await exchange(path, options, (response) => response.text());
  return (text === "" ? undefined : JSON.parse(text)) as Answer;
}

/** `read` is within the time limit. */
async function exchange<Value>(
  path: string,
  options: RequestOptions,
  read: (response: Response) => Value | Promise<Value>,
): Promise<Value> {
  const { signal, waitMs = ANSWER_MS_MAX } = options;
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(), waitMs);
  try {
    const both = signal === undefined ? limit.signal : AbortSignal.any([signal, limit.signal]);
    const response = await fetchSigned(path, options, both);
    if (response.ok) return await read(response);
    if (response.status === 401 && path !== "login") endSession();
    throw new ApiError(await errorText(response), response.status);
  } catch (error) {
    if (error instanceof ApiError || signal?.aborted === true) throw error;
    const reason = limit.signal.aborted ? `has not answered within ${waitMs / 1_000} s` : "does not answer";
    throw new ApiError(`larder ${reason}`, 0);
  } finally {
    clearTimeout(timer);
  }
}

/** With the CSRF token, if it may be a change. */
function fetchSigned(path: string, options: RequestOptions, signal: AbortSignal): Promise<Response> {
  const { method = options.json === undefined && options.body === undefined ? "GET" : "POST" } = options;
  const headers = new Headers(options.headers);
  if (method !== "GET") headers.set("x-larder-csrf", session.value?.csrf ?? "");
  let body = options.body;
  if (options.json !== undefined) {
    headers.set("content-type", "application/json");
    body = JSON.stringify(options.json);
  }
  return fetch(ROOT + path + queryText(options.query), {
    method,
    headers,
    signal,
    ...(body !== undefined && { body }),
  });
}

function queryText(query: RequestOptions["query"]): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value === undefined) continue;
    if (typeof value === "object") for (const item of value) parameters.append(name, item);
    else parameters.set(name, `${value}`);
  }
  const text = parameters.toString();
  return text === "" ? "" : `?${text}`;
}

/** The areas name their errors in different ways. */
async function errorText(response: Response): Promise<string> {
  const text = await response.text().catch(() => "");
  try {
    const answer: unknown = JSON.parse(text);
    if (typeof answer === "object" && answer !== null)
      for (const name of ["error", "message", "detail"]) {
        const value = (answer as Record<string, unknown>)[name];
        if (typeof value === "string") return value;
      }
  } catch {
    // Not JSON: the text itself.
  }
  return text.slice(0, 500) || `the answer has status ${response.status}`;
}

/** A tenant's path: `of("store", "main")` is `store/main/`. */
export function of(area: "store" | "vector" | "messaging", tenant: string): string {
  return `${area}/${encodeURIComponent(tenant)}/`;
}

/** Runs a command of the store and resolves with its result. Throws `ApiError` with Redis' error text. */
export async function command<Result = Json>(
  database: string,
  words: readonly (string | number)[],
  signal?: AbortSignal,
): Promise<Result> {
  const { result } = await request<{ result: Result }>(of("store", database), {
    json: words.map(String),
    ...(signal !== undefined && { signal }),
  });
  return result;
}

/** Runs commands in order. An error of one of them is in its place. */
export async function pipeline(
  database: string,
  commands: readonly (readonly (string | number)[])[],
  signal?: AbortSignal,
): Promise<({ result: Json } | { error: string })[]> {
  if (commands.length === 0) return [];
  return await request(`${of("store", database)}pipeline`, {
    json: commands.map((words) => words.map(String)),
    ...(signal !== undefined && { signal }),
  });
}
