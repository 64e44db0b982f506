/** What follows from the end of an attempt (C.outcome). */

import { defaultDelayMs, parseRetryDelay } from "../options/retry-delay.ts";
import type { ResponseFacts } from "../state/dead-letters.ts";
import type { Message } from "../state/message.ts";
import { cutHeaders } from "./cut-answer.ts";
import type { DeliveryResult } from "./delivery.ts";
import { requestedDelayMs } from "./retry-after.ts";

/** With this status and the header, a receiver says that trying again is useless. */
const NON_RETRYABLE_STATUS = 489;
const NON_RETRYABLE_HEADERS = ["upstash-nonretryable-error", "service-nonretryable-error"];

export type Outcome =
  | { readonly kind: "delivered" }
  | { readonly kind: "retry"; readonly delayMs: number }
  | { readonly kind: "failed" };

export function outcomeOf(message: Message, result: DeliveryResult, nowMs: number): Outcome {
  const { retriesMax, retryDelay } = message.envelope.fields;
  if (result.kind === "answer") {
    if (result.status >= 200 && result.status < 300) return { kind: "delivered" };
    if (
      result.status === NON_RETRYABLE_STATUS &&
      NON_RETRYABLE_HEADERS.some((name) => headerOf(result.headers, name)?.toLowerCase() === "true")
    )
      return { kind: "failed" };
  }
  if (result.kind === "failure" && result.isFinal === true) return { kind: "failed" };
  if (message.retried >= retriesMax) return { kind: "failed" };
  const asked =
    result.kind === "answer" ? requestedDelayMs((name) => headerOf(result.headers, name), nowMs) : undefined;
  if (asked !== undefined) return { kind: "retry", delayMs: asked };
  const delayMs =
    retryDelay === undefined ? defaultDelayMs(message.retried) : parseRetryDelay(retryDelay).delayMs(message.retried);
  return { kind: "retry", delayMs };
}

export function responseOf(result: DeliveryResult): { readonly response: ResponseFacts; readonly bytes: Buffer } {
  if (result.kind === "failure") {
    return { response: { status: result.status ?? 0, headers: [], error: result.text }, bytes: NO_BYTES };
  }
  const { status, headers, body, isBodyCut } = result;
  const shown = isBodyCut === true ? cutHeaders(headers, body.length) : headers;
  return { response: { status, headers: shown, error: "" }, bytes: body };
}

const NO_BYTES = Buffer.alloc(0);

/** The first value of a header by its lower-case name. */
export function headerOf(headers: readonly string[], name: string): string | undefined {
  const wanted = name.toLowerCase();
  for (let i = 0; i < headers.length; i += 2) {
    if ((headers[i] as string).toLowerCase() === wanted) return headers[i + 1];
  }
  return undefined;
}
