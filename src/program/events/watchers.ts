/**
 * Turns what the rooms report into events.
 *
 * (1) A token is never printed whole, neither from a header nor from a query, and
 *     a path is cut before the arguments of the caller. A URL has neither user
 *     nor query.
 */
import { type OnRefusal, REFUSAL_STATUS_MIN, type Refusal } from "../../edge/refusal.ts";
import { type Bytes, textFromBytes } from "../../kernel/bytes.ts";
import type { Clock } from "../../kernel/clock.ts";
import { parseJsonText } from "../../kernel/json/parse.ts";
import type { MessagingWatcher } from "../../messaging/mod.ts";
import type { EventReporter } from "./reporter.ts";

/** Reports the refused requests of a listener. */
export function refusalWatcher(events: EventReporter, listener: string): OnRefusal {
  return ({ head, status, reply }) => {
    const reason = reasonOf(reply);
    if (status < REFUSAL_STATUS_MIN) {
      events.note("command failed", { over: "HTTP", reason });
      return;
    }
    const isWithoutAccess = status === 401 || status === 403;
    events.note("request refused", {
      listener,
      method: head?.method,
      path: head && shownPath(head.target),
      status,
      reason,
      token: isWithoutAccess && head !== undefined ? shownToken(head.header("authorization"), head.target) : undefined,
    });
  };
}

/** Reports failed commands over RESP. */
export function commandWatcher(events: EventReporter): (text: Bytes) => void {
  return (text) => events.note("command failed", { over: "RESP", reason: withoutArguments(textFromBytes(text)) });
}

export function messagingWatcher(events: EventReporter, clock: Pick<Clock, "nowMs">): MessagingWatcher {
  return {
    called: ({ message, url, method, status, failure, durationMs }) =>
      events.note("delivery", { message, method, url: shownUrl(url), status, failure, ms: Math.round(durationMs) }),
    retryPlanned: ({ message, url, retry, retriesMax, dueMs }) =>
      events.note("retry planned", {
        message,
        url: shownUrl(url),
        retry,
        retriesMax,
        next: new Date(dueMs).toISOString(),
        inMs: Math.max(0, dueMs - clock.nowMs()),
      }),
    deadLettered: ({ message, url, reason }) => events.note("dead letter", { message, url: shownUrl(url), reason }),
    scheduleFired: ({ schedule, destination, messageCount, error, nextMs }) =>
      events.note("schedule fired", {
        schedule,
        destination: shownUrl(destination),
        messages: messageCount,
        failure: error === "" ? undefined : error,
        next: nextMs === 0 ? undefined : new Date(nextMs).toISOString(),
      }),
    stepDone: (step) => events.note("step done", step),
    runEnded: ({ run, url, state, durationMs }) =>
      events.note("run ended", { run, url: shownUrl(url), state, ms: Math.max(0, Math.round(durationMs)) }),
  };
}

/** The error of a reply. */
function reasonOf({ body, bodyIsBytes }: Refusal["reply"]): string {
  const text = typeof body === "string" ? (bodyIsBytes === true ? textFromBytes(body) : body) : body.toString("utf8");
  return withoutArguments(errorIn(text) ?? text);
}

function errorIn(text: string): string | undefined {
  try {
    const value: unknown = parseJsonText(text);
    if (typeof value !== "object" || value === null || !("error" in value)) return undefined;
    return typeof value.error === "string" ? value.error : JSON.stringify(value.error);
  } catch {
    // Not every reply is JSON.
    return undefined;
  }
}

/** Redis' text of an unknown command repeats its arguments. */
function withoutArguments(reason: string): string {
  return reason.replace(/,? with args beginning with:[\s\S]*$/, "");
}

/** Segments that come before the name of a command or a route. */
const PREFIXES: ReadonlySet<string> = new Set(["store", "vector", "messaging", "v1", "v2"]);

/** keeps (1): `/v2/publish/…`, `/set/…`. */
export function shownPath(target: string): string {
  const [path = ""] = target.split("?", 1);
  const segments = path.split("/").slice(1);
  const nameIndex = segments.findIndex((segment) => !PREFIXES.has(segment));
  const shown = segments.slice(0, nameIndex < 0 ? undefined : nameIndex + 1);
  return `/${shown.join("/")}${shown.length < segments.length ? "/…" : ""}`;
}

/** keeps (1) */
export function shownUrl(url: string): string {
  return url.replace(/^([a-z]+:\/\/)[^/?#]*@/i, "$1…@").replace(/[?#][\s\S]*$/, "?…");
}

/** So much of a long token is printed that its owner recognizes it. */
const TOKEN_START = 4;
const TOKEN_LENGTH_MIN = 12;

/** keeps (1): the start of a long token, and its length. */
export function shownToken(authorization: string | undefined, target: string): string {
  const parameter = /[?&]_token=([^&]*)/.exec(target)?.[1];
  const token = authorization?.replace(/^bearer +/i, "") ?? parameter;
  if (token === undefined || token === "") return "missing";
  const start = token.length < TOKEN_LENGTH_MIN ? "" : token.slice(0, TOKEN_START);
  return `${start}… of ${token.length} characters`;
}
