/** What a run says when it waits for an event, and what it is told of it (W.wait). */
import { parseDurationMs } from "../../kernel/duration.ts";
import { JsonTooLarge, parseJson } from "../../kernel/json/document.ts";
import { jsonText } from "../../kernel/json/text.ts";
import { badRequest } from "../failure.ts";
import type { Redaction } from "../options/envelope.ts";
import { acceptedOptions } from "../options/headers.ts";
import { joinedRedaction } from "../options/redaction.ts";
import type { Waiter, WaiterRecord } from "../state/waiter.ts";
import { headersOf, isObject, partHeaders } from "./invoke.ts";

const EVENT_ID_BYTES_MAX = 512;
const TIMEOUT_DEFAULT = "7d";

/** Throws a `MessagingFailure`. */
export function checkEventId(eventId: string): void {
  const bytes = Buffer.byteLength(eventId);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what an id must not have.
  if (bytes > 0 && bytes <= EVENT_ID_BYTES_MAX && !/[\u0000-\u001f\u007f]/.test(eventId) && eventId.trim() !== "")
    return;
  throw badRequest(
    `Invalid value for eventId: it must be 1 to ${EVENT_ID_BYTES_MAX} bytes, and hold more than blanks and no control characters`,
  );
}

export interface WaitRequest {
  readonly eventId: string;
  readonly runId: string;
  /** Names in lower case without prefix, value, … */
  readonly headers: readonly string[];
  readonly contentType: string | undefined;
  readonly body: Buffer;
  /** Why a URL may not be called, or undefined. */
  readonly refusalOf: (url: URL) => string | undefined;
}

/** What a wait asks for, but for its number and its deadline. Throws a `MessagingFailure` that names the field. */
export function readWait({ eventId, runId, headers, contentType, body, refusalOf }: WaitRequest): {
  readonly waiter: Omit<WaiterRecord, "number" | "createdAtMs" | "deadlineMs">;
  readonly timeoutMs: number;
} {
  const given = readObject(body);
  const url = urlOf(given["url"], "url", refusalOf);
  const { step, timeout, timeoutBody } = given;
  if (!isObject(step)) throw invalid("step", "an object");
  if (timeout !== undefined && timeout !== null && typeof timeout !== "string" && typeof timeout !== "number") {
    throw invalid("timeout", "a span such as 90s or 1d2h");
  }
  const span = String(timeout ?? TIMEOUT_DEFAULT);
  const timeoutMs = parseDurationMs(span, "smhd");
  if (timeoutMs === undefined) throw invalid("timeout", "a span such as 90s or 1d2h");
  const timeoutUrl = given["timeoutUrl"] ?? undefined;
  const own = contentType === undefined ? headers : ["content-type", contentType, ...headers];
  const timeoutHeaders = headersOf(given["timeoutHeaders"], "timeoutHeaders", { areOthersSent: true });
  for (const list of [own, timeoutHeaders]) acceptedOptions(partHeaders(list));
  return {
    waiter: {
      eventId,
      runId,
      timeout: span,
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

/** What the headers of a wait hide: of what it sends in either way. */
export function hiddenOfWait({
  headers,
  timeoutHeaders,
}: Pick<Waiter, "headers" | "timeoutHeaders">): Redaction | undefined {
  const own = [headers, timeoutHeaders].map((list) =>
    list.includes("redact-fields") ? acceptedOptions(partHeaders(list)).redact : undefined,
  );
  return joinedRedaction(own[0], own[1]);
}

/** The entry of a wait that ended: `data` is what the event brought; undefined: it waited too long. */
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
