/**
 * The head of a request to messaging: the caller and the options of the message.
 * Read in one pass over the headers, because this runs for every publish.
 *
 * `Service-` wins over the other spelling of a header, and a header wins over a
 * query parameter of the same name (C.options.query).
 */

import { readTraceContext, TRACE_PARENT, TRACE_STATE, type TraceContext } from "../../kernel/trace-context.ts";
import { type GivenHeaders, headerText } from "../../messaging/mod.ts";
import type { RequestHead } from "../handler.ts";
import { headerPrefixes } from "../names.ts";

export interface MessagingHead {
  readonly authorization: string | undefined;
  readonly contentType: string | undefined;
  /** As received; several are joined with commas. */
  readonly traceParent: string | undefined;
  readonly traceState: string | undefined;
  /** Ours, without prefix, names in lower case: name, value, name, value, … */
  readonly own: readonly string[];
}

const [SERVICE, UPSTASH] = headerPrefixes;

/** The first of each plain header counts. */
export function readMessagingHead(rawHeaders: readonly string[]): MessagingHead {
  let authorization: string | undefined;
  let contentType: string | undefined;
  let traceParent: string | undefined;
  let traceState: string | undefined;
  const service: string[] = [];
  const upstash: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = (rawHeaders[i] as string).toLowerCase();
    const value = rawHeaders[i + 1] as string;
    if (name.startsWith(UPSTASH)) addOwn(upstash, name.slice(UPSTASH.length), value);
    else if (name.startsWith(SERVICE)) addOwn(service, name.slice(SERVICE.length), value);
    else if (name === "authorization") authorization ??= value;
    else if (name === "content-type") contentType ??= value;
    else if (name === TRACE_PARENT) traceParent = joined(traceParent, value);
    else if (name === TRACE_STATE) traceState = joined(traceState, value);
  }
  return { authorization, contentType, traceParent, traceState, own: withDefaults(service, upstash) };
}

/** Several headers of one name as one value. */
export function joined(first: string | undefined, value: string): string {
  return first === undefined ? value : `${first},${value}`;
}

/** The trace of a request: from the tracer of its listener, or else from its headers. */
export function traceOfRequest(
  { trace }: Pick<RequestHead, "trace">,
  { traceParent, traceState }: Pick<MessagingHead, "traceParent" | "traceState">,
): TraceContext | undefined {
  return trace ?? readTraceContext(traceParent, traceState);
}

/** `own`, and those of `defaults` with other names. Both are name, value, name, value, … */
export function withDefaults(own: readonly string[], defaults: readonly string[]): readonly string[] {
  if (defaults.length === 0) return own;
  if (own.length === 0) return defaults;
  const names = new Set<string>();
  for (let i = 0; i < own.length; i += 2) names.add(own[i] as string);
  const all = [...own];
  for (let i = 0; i < defaults.length; i += 2) {
    const name = defaults[i] as string;
    if (!names.has(name)) all.push(name, defaults[i + 1] as string);
  }
  return all;
}

function addOwn(own: string[], name: string, value: string): void {
  if (name !== "") own.push(name, isForwarded(name) ? value : headerText(value));
}

/** Headers for a destination stay bytes. */
function isForwarded(name: string): boolean {
  return name.startsWith("forward-") || name.includes("callback-");
}

/** The headers of one request, including options from its query. */
export class RequestHeaders implements GivenHeaders {
  readonly own: readonly string[];
  readonly contentType: string | undefined;
  readonly trace: TraceContext | undefined;
  readonly #rawHeaders: readonly string[];
  readonly #isAuthorizationOurs: boolean;

  constructor(
    { own, contentType, trace }: Pick<GivenHeaders, "own" | "contentType" | "trace">,
    rawHeaders: readonly string[],
    { isAuthorizationOurs }: { readonly isAuthorizationOurs: boolean },
  ) {
    this.own = own;
    this.contentType = contentType;
    this.trace = trace;
    this.#rawHeaders = rawHeaders;
    this.#isAuthorizationOurs = isAuthorizationOurs;
  }

  others(): readonly string[] {
    return otherHeaders(this.#rawHeaders, this.#isAuthorizationOurs);
  }
}

/**
 * The headers of a request that may be forwarded unchanged (threats C-11, C-12): not ours, not Content-Type, not those
 * in the Connection header, and not the Authorization of the request. Headers that no message may have are removed
 * later.
 */
export function otherHeaders(rawHeaders: readonly string[], isAuthorizationOurs: boolean): readonly string[] {
  const connection = new Set<string>();
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if ((rawHeaders[i] as string).toLowerCase() !== "connection") continue;
    for (const name of (rawHeaders[i + 1] as string).split(",")) connection.add(name.trim().toLowerCase());
  }
  const others: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = (rawHeaders[i] as string).toLowerCase();
    if (headerPrefixes.some((prefix) => name.startsWith(prefix)) || name === "content-type") continue;
    if (connection.has(name) || (name === "authorization" && isAuthorizationOurs)) continue;
    others.push(name, rawHeaders[i + 1] as string);
  }
  return others;
}
