/** Decides what follows from the end of an attempt (C.outcome). */

import { Body } from "../bodies/body.ts";
import { defaultDelayMs, parseRetryDelay } from "../options/retry-delay.ts";
import type { DeadLetter, ResponseFacts } from "../state/dead-letters.ts";
import type { Message } from "../state/message.ts";
import type { UnitOfWork } from "../unit-of-work.ts";
import { cutHeaders } from "./cut-answer.ts";
import type { DeliveryResult } from "./delivery.ts";
import { requestedDelayMs } from "./retry-after.ts";

/** With this status and the header, a receiver reports that retries are useless. */
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
  const requestedMs =
    result.kind === "answer" ? requestedDelayMs((name) => headerOf(result.headers, name), nowMs) : undefined;
  if (requestedMs !== undefined) return { kind: "retry", delayMs: requestedMs };
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

/** An attempt that has ended. */
export interface EndedAttempt {
  readonly result: DeliveryResult;
  readonly response: ResponseFacts;
  readonly bytes: Buffer;
  readonly nowMs: number;
}

/** Records a delivery or a planned retry. A failure is only counted: the caller records it. */
export function recordOutcome(unit: UnitOfWork, message: Message, attempt: EndedAttempt): Outcome["kind"] {
  const { result, response, bytes, nowMs } = attempt;
  const { counts } = unit;
  const outcome = outcomeOf(message, result, nowMs);
  switch (outcome.kind) {
    case "delivered":
      unit.deliver(message, nowMs, response.status);
      counts.delivered += 1;
      break;
    case "retry": {
      const { user, sequence } = message;
      const dueMs = nowMs + outcome.delayMs;
      unit.apply(user, "retryPlanned", { sequence, atMs: nowMs, dueMs, response, responseBytes: bytes });
      counts.retried += 1;
      break;
    }
    case "failed":
      counts.failed += 1;
      break;
    default: {
      const never: never = outcome;
      throw never;
    }
  }
  return outcome.kind;
}

/** Records that a message becomes a dead letter. */
export function buryMessage(
  unit: UnitOfWork,
  message: Message,
  { response, bytes, nowMs }: Omit<EndedAttempt, "result">,
): DeadLetter {
  const { user, sequence } = message;
  unit.watcher?.deadLettered({
    message: message.id,
    url: message.envelope.fields.url,
    reason: response.error === "" ? `status ${response.status}` : response.error,
  });
  const id = user.deadLetters.nextId(nowMs);
  const responseBody = Body.of(bytes, false);
  return unit.apply(user, "failed", { sequence, atMs: nowMs, id, response, responseBody });
}

/** The first value of a header; names are compared in lower case. */
export function headerOf(headers: readonly string[], name: string): string | undefined {
  const wanted = name.toLowerCase();
  for (let i = 0; i < headers.length; i += 2) {
    if ((headers[i] as string).toLowerCase() === wanted) return headers[i + 1];
  }
  return undefined;
}
