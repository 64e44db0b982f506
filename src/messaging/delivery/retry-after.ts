/**
 * How long a receiver asks us to wait: the first of four response headers that
 * is there (C.retry-delay, RFC 9110 §10.2.3).
 *
 *     Retry-After                    seconds, a date, or a span as Go writes it
 *     X-RateLimit-Reset              the same, or a moment as seconds or ms since 1970
 *     X-RateLimit-Reset-Requests     the same
 *     X-RateLimit-Reset-Tokens       the same
 *
 * (1) A value that cannot be read, lies in the past or asks for more than a day is ignored, and so are the headers after
 *     it: the usual backoff holds.
 * (2) A wait is never shorter than what was asked for: parts of a ms are rounded up.
 */
import { parseDecimal, parseGoDurationMs } from "../../kernel/duration.ts";
import { parseHttpDateMs } from "../options/http-date.ts";

interface Source {
  /** Lower case. */
  readonly header: string;
  /** A large number is a moment. `Retry-After` is a standard, and has only spans. */
  readonly mayBeMoment: boolean;
}

const sources: readonly Source[] = [
  { header: "retry-after", mayBeMoment: false },
  { header: "x-ratelimit-reset", mayBeMoment: true },
  { header: "x-ratelimit-reset-requests", mayBeMoment: true },
  { header: "x-ratelimit-reset-tokens", mayBeMoment: true },
];

/** A receiver must not silence us for longer (threats C-17). */
const REQUESTED_MS_MAX = 86_400_000;
/** From here on a number counts seconds since 1970: it was reached in 2001, and no span is 31 years long. */
const MOMENT_SECONDS_MIN = 1e9;
/** From here on it counts ms since 1970: the year 2001 again, and the year 33658 in seconds. */
const MOMENT_MS_MIN = 1e12;

/**
 * The delay in whole ms, from 0 to a day, or undefined if the usual backoff holds. `header` answers the value of a response
 * header by its name in lower case.
 */
export function requestedDelayMs(header: (name: string) => string | undefined, nowMs: number): number | undefined {
  for (const source of sources) {
    const value = header(source.header);
    if (value === undefined) continue;
    const delayMs = parseDelayMs(value.trim(), nowMs, source.mayBeMoment);
    return delayMs !== undefined && delayMs >= 0 && delayMs <= REQUESTED_MS_MAX ? delayMs : undefined;
  }
  return undefined;
}

function parseDelayMs(text: string, nowMs: number, mayBeMoment: boolean): number | undefined {
  const count = parseDecimal(text);
  if (count !== undefined) {
    if (mayBeMoment && count >= MOMENT_MS_MIN) return Math.ceil(count - nowMs);
    if (mayBeMoment && count >= MOMENT_SECONDS_MIN) return Math.ceil(count * 1_000 - nowMs);
    return Math.ceil(count * 1_000);
  }
  const spanMs = parseGoDurationMs(text);
  if (spanMs !== undefined) return spanMs;
  const dateMs = parseHttpDateMs(text, nowMs);
  return dateMs === undefined ? undefined : Math.ceil(dateMs - nowMs);
}
