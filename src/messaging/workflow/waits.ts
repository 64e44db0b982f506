/**
 * Waits of runs for events, from the request to the end (W.wait).
 *
 * (1) The frame that removes a waiter also adds the result to the run, so exactly
 *     one of event and time-out wins.
 */

import { JsonTooLarge, parseJson } from "../../kernel/json/document.ts";
import { jsonText } from "../../kernel/json/text.ts";
import { parseDurationMs } from "../../kernel/text/duration.ts";
import type { Notified, WaitRequest } from "../api.ts";
import { badRequest, quotaExceeded } from "../failure.ts";
import type { MessagingLimits } from "../limits.ts";
import type { Redaction } from "../options/envelope.ts";
import { acceptedOptions } from "../options/headers.ts";
import { joinedRedaction } from "../options/redaction.ts";
import { newFacts } from "../state/drawn-ids.ts";
import type { Message } from "../state/message.ts";
import type { Run, Waiter, WaiterRecord } from "../state/run.ts";
import type { User } from "../state/user.ts";
import type { UnitOfWork } from "../unit-of-work.ts";
import { headersOf, isObject, partHeaders } from "./invoke.ts";
import { resultMessage } from "./run-messages.ts";

const EVENT_ID_BYTES_MAX = 512;
const TIMEOUT_DEFAULT = "7d";

/** Throws a `MessagingFailure`. */
export function checkEventId(eventId: string): void {
  const bytes = Buffer.byteLength(eventId);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: an id must not have these.
  if (bytes > 0 && bytes <= EVENT_ID_BYTES_MAX && !/[\u0000-\u001f\u007f]/.test(eventId) && eventId.trim() !== "")
    return;
  throw badRequest(
    `Invalid value for eventId: it must be 1 to ${EVENT_ID_BYTES_MAX} bytes without control characters, and not blank`,
  );
}

/** Reads a wait, without its number and deadline. Throws a `MessagingFailure` that names the field. */
export function readWait({ eventId, runId, headers, contentType, body, refusalOf }: WaitRequest): {
  readonly waiter: Omit<WaiterRecord, "number" | "createdAtMs" | "deadlineMs">;
  readonly timeoutMs: number;
} {
  const given = readObject(body);
  const url = urlOf(given["url"], "url", refusalOf);
  const { step, timeout, timeoutBody } = given;
  if (!isObject(step)) throw invalid("step", "an object");
  if (timeout !== undefined && timeout !== null && typeof timeout !== "string" && typeof timeout !== "number") {
    throw invalid("timeout", "a duration such as 90s or 1d2h");
  }
  const duration = String(timeout ?? TIMEOUT_DEFAULT);
  const timeoutMs = parseDurationMs(duration, "smhd");
  if (timeoutMs === undefined) throw invalid("timeout", "a duration such as 90s or 1d2h");
  const timeoutUrl = given["timeoutUrl"] ?? undefined;
  const own = contentType === undefined ? headers : ["content-type", contentType, ...headers];
  const timeoutHeaders = headersOf(given["timeoutHeaders"], "timeoutHeaders", { areOthersSent: true });
  acceptedOptions(partHeaders(own));
  return {
    waiter: {
      eventId,
      runId,
      timeout: duration,
      url,
      headers: own,
      timeoutUrl: timeoutUrl === undefined ? url : urlOf(timeoutUrl, "timeoutUrl", refusalOf),
      timeoutHeaders: timeoutHeaders.length === 0 ? own : timeoutHeaders,
      ...(timeoutBody === undefined || timeoutBody === null
        ? {}
        : { timeoutBody: typeof timeoutBody === "string" ? timeoutBody : jsonText(timeoutBody) }),
      step,
    },
    timeoutMs,
  };
}

/** The redaction in the headers of a wait, for both of its outcomes. */
export function hiddenOfWait({
  headers,
  timeoutHeaders,
}: Pick<Waiter, "headers" | "timeoutHeaders">): Redaction | undefined {
  const own = [headers, timeoutHeaders].map((list) =>
    list.includes("redact-fields") ? acceptedOptions(partHeaders(list)).redact : undefined,
  );
  return joinedRedaction(own[0], own[1]);
}

/** The entry of a wait that ended: `data` is that of the event; undefined for a time-out. */
export function waitResult({ step, eventId }: Waiter, data: Buffer | undefined): Buffer {
  const outcome = data === undefined ? { waitTimeout: true } : { out: data.toString("base64") };
  return Buffer.from(JSON.stringify({ ...step, waitEventId: eventId, ...outcome }));
}

function urlOf(value: unknown, field: string, refusalOf: WaitRequest["refusalOf"]): string {
  const url = typeof value === "string" ? URL.parse(value) : null;
  if (typeof value !== "string" || url === null || (url.protocol !== "http:" && url.protocol !== "https:")) {
    throw invalid(field, "a URL that starts with http:// or https://");
  }
  const refusal = refusalOf(url);
  if (refusal !== undefined) throw badRequest(`Invalid value for ${field}: ${refusal}`);
  return value;
}

function readObject(bytes: Buffer): Readonly<Record<string, unknown>> {
  try {
    const value = parseJson(bytes);
    if (isObject(value)) return value;
  } catch (error) {
    if (error instanceof JsonTooLarge) throw badRequest(`The body of a wait ${error.message}`);
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw badRequest("The body of a wait must be a JSON object with url, step and timeout");
}

function invalid(field: string, wanted: string): unknown {
  return badRequest(`Invalid value for ${field}: it must be ${wanted}`);
}

/** Notifies the waiters that still wait. */
export function notifyEach(unit: UnitOfWork, waiters: readonly Waiter[], event: NewEvent): readonly Notified[] {
  const { user, data } = event;
  const nowMs = unit.now.wallMs;
  unit.assertFits(waiters.length * bytesOfEvent(data));
  const notified: Notified[] = [];
  for (const waiter of waiters) {
    if (user.waiters.get(waiter.eventId)?.has(waiter) !== true) continue;
    const run = unit.state.runOf(user, waiter.runId);
    notified.push({ run, waiter, messageId: wake(unit, run, { waiter, data, nowMs }).id });
  }
  return notified;
}

interface NewEvent {
  readonly user: User;
  readonly data: Buffer;
}

/** Notifies a run, now or when it waits for the event. */
export function notifyRun(
  unit: UnitOfWork,
  run: Run,
  { eventId, data }: { readonly eventId: string; readonly data: Buffer },
): Notified {
  unit.assertFits(bytesOfEvent(data));
  const waiter = [...run.waiters].find((other) => other.eventId === eventId);
  if (waiter !== undefined) {
    return { run, waiter, messageId: wake(unit, run, { waiter, data, nowMs: unit.now.wallMs }).id };
  }
  checkRoom(run, data, unit.limits);
  unit.apply(run.user, "eventSaved", { runId: run.id, eventId, data });
  return { run, waiter: undefined, messageId: undefined };
}

/** A message carries its data as Base64 in JSON. */
function bytesOfEvent(data: Buffer): number {
  return 2 * data.length;
}

/** Webhooks are open, so events that are saved for a run count like its entries. Throws a `MessagingFailure`. */
function checkRoom(run: Run, data: Buffer, { stepsPerRunMax, runBytesMax }: MessagingLimits): void {
  let count = 0;
  let bytes = run.entryBytes + data.length;
  for (const saved of run.savedEvents.values()) {
    count += saved.length;
    for (const { length } of saved) bytes += length;
  }
  if (count >= stepsPerRunMax || bytes > runBytesMax) {
    throw quotaExceeded(`Maximum number or bytes of saved events of the workflow run ${run.id} exceeded`);
  }
}

interface WaitEnd {
  readonly waiter: Waiter;
  /** The data of the event; undefined for a time-out. */
  readonly data: Buffer | undefined;
  readonly nowMs: number;
}

/** Ends a wait that is recorded. keeps (1) */
export function wake(unit: UnitOfWork, run: Run, end: WaitEnd): Message {
  unit.apply(run.user, "waiterRemoved", { number: end.waiter.number });
  return endWait(unit, run, end);
}

/** Adds the result of a wait to its run. */
export function endWait(unit: UnitOfWork, run: Run, { waiter, data, nowMs }: WaitEnd): Message {
  const bytes = waitResult(waiter, data);
  const { url, headers, timeoutUrl, timeoutHeaders, timeoutBody, timeout, deadlineMs } = waiter;
  const { stepId } = waiter.step;
  const part = { waited: { timeout, deadlineMs, ...(typeof stepId === "number" && { stepId }) } };
  const redact = hiddenOfWait(waiter);
  const { user } = run;
  if (data !== undefined) return unit.send(user, resultMessage(run, { url, headers, bytes, part, redact }), { nowMs });
  const late = resultMessage(run, { url: timeoutUrl, headers: timeoutHeaders, bytes, part, redact });
  if (timeoutBody === undefined) return unit.send(user, late, { nowMs });
  // The run gets its entry, and the URL gets the body of the wait's time-out.
  const facts = newFacts(unit, { nowMs, notBeforeMs: nowMs, slotOwner: 0 });
  unit.copyEntry(user, facts, { ...late, isNeededSoon: true, deduplicationKey: "" });
  const workflow = { runId: run.id, callType: "step", isBodyOwn: true } as const;
  return unit.send(user, { fields: { ...late.fields, workflow }, bytes: Buffer.from(timeoutBody) }, { nowMs });
}
