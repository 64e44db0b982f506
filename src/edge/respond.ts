/**
 * The only place that turns a kind of failure into a status. The body of a failure
 * is `{"error": text}` in every area and contains neither a stack nor a path
 * (H.errors; threats S-10).
 */
import type { FailureKind, RequestFailure } from "./errors.ts";
import type { HttpReply, HttpService } from "./handler.ts";
import { jsonError, utf8Of } from "./store/reply-json.ts";

const statusByKind: Record<FailureKind, number> = {
  "bad request": 400,
  unauthorized: 401,
  forbidden: 403,
  "not found": 404,
  conflict: 409,
  misdirected: 421,
  "method not allowed": 405,
  "request timeout": 408,
  "quota exceeded": 412,
  // The store's original answers 400, and its clients expect it (A.limits.request).
  "too large": 400,
  "unsupported encoding": 415,
  "expectation failed": 417,
  unprocessable: 422,
  "too many requests": 429,
  "headers too large": 431,
  internal: 500,
  "not implemented": 501,
  "bad gateway": 502,
  unavailable: 503,
};

/** Every failed command has this status, with any text (A.result). */
export const COMMAND_FAILED_STATUS = statusByKind["bad request"];

/** For a request whose peer disconnected before its turn: it has not run, and the reply is not sent. nginx' status. */
export const abandonedReply: HttpReply = { status: 499, headers: [], body: "", route: "abandoned" };

export function statusOf(kind: FailureKind): number {
  return statusByKind[kind];
}

/** The answer to a failure in the area's form of errors; without one of its own, in the common form. */
export function refusalOf(area: Pick<HttpService, "refusal">, failure: RequestFailure, target: string): HttpReply {
  return area.refusal?.(failure, target) ?? failureReply(failure);
}

/** A failure as a reply. `extraHeaders` come first: name, value, … */
export function failureReply(failure: RequestFailure, extraHeaders: readonly string[] = []): HttpReply {
  return {
    status: statusOf(failure.kind),
    headers: [...extraHeaders, "Content-Type", "application/json", ...failure.headers],
    body: utf8Of(jsonError(failure)),
    bodyIsBytes: true,
  };
}

/** A failure of an engine as a reply; its text is not bytes. `extraHeaders` come first: name, value, … */
export function refusalReply(
  {
    kind,
    text,
    headers = [],
  }: { readonly kind: FailureKind; readonly text: string; readonly headers?: readonly string[] },
  extraHeaders: readonly string[] = [],
): HttpReply {
  return {
    status: statusOf(kind),
    headers: [...extraHeaders, "Content-Type", "application/json", ...headers],
    body: JSON.stringify({ error: text }),
  };
}

/** Statuses that differ in the vector index. */
const numberedStatuses: Partial<Record<FailureKind, number>> = { "too large": 413 };

/** The same with the status also in the body, as clients of the vector index expect (B.errors). */
export function numberedRefusalReply(
  failure: { readonly kind: FailureKind; readonly text: string; readonly headers?: readonly string[] },
  extraHeaders: readonly string[] = [],
): HttpReply {
  const reply = refusalReply(failure, extraHeaders);
  const status = numberedStatuses[failure.kind] ?? reply.status;
  return { ...reply, status, body: JSON.stringify({ error: failure.text, status }) };
}

/** Bytes of the body on the wire. */
export function bodyBytes({ body, bodyIsBytes }: HttpReply): number {
  return typeof body === "string" && bodyIsBytes !== true ? Buffer.byteLength(body) : body.length;
}

export function encodingOf({ bodyIsBytes }: HttpReply): "latin1" | "utf8" {
  return bodyIsBytes === true ? "latin1" : "utf8";
}
