/**
 * How long a receiver asks us to wait: the first of four response headers that
 * is present (C.retry-delay, RFC 9110 §10.2.3).
 *
 *     Retry-After                    seconds, a date, or a duration in Go's notation
 *     X-RateLimit-Reset              the same, or a time as seconds or ms since 1970
 *     X-RateLimit-Reset-Requests     the same
 *     X-RateLimit-Reset-Tokens       the same
 *
 * (1) A value that cannot be parsed, lies in the past or is more than a day is ignored, and so are the headers after
 *     it: the usual backoff applies.
 * (2) A wait is never shorter than the requested one: fractions of a ms are rounded up.
 */
import { parseDecimal, parseGoDurationMs } from "../../kernel/text/duration.ts";
import { parseHttpDateMs } from "../options/http-date.ts";

interface Source {
  /** Lower case. */
  readonly header: string;
  /** A large number is a time since 1970. `Retry-After` is a standard, and has only durations. */
  readonly mayBeTime: boolean;
}

const sources: readonly Source[] = [
  { header: "retry-after", mayBeTime: false },
  { header: "x-ratelimit-reset", mayBeTime: true },
  { header: "x-ratelimit-reset-requests", mayBeTime: true },
  { header: "x-ratelimit-reset-tokens", mayBeTime: true },
];

/** A receiver must not stop deliveries for longer (threats C-17). */
const REQUESTED_MS_MAX = 86_400_000;
/** Larger numbers are seconds since 1970: this is the year 2001 as a time, and 31 years as a duration. */
const TIME_SECONDS_MIN = 1e9;
/** Larger numbers are ms since 1970: this is the year 2001 in ms, and the year 33658 in seconds. */
const TIME_MS_MIN = 1e12;

/**
 * The delay in whole ms, from 0 to a day, or undefined if the usual backoff applies. `header` returns the value of a
 * response header by its name in lower case.
 */
export function requestedDelayMs(header: (name: string) => string | undefined, nowMs: number): number | undefined {
  for (const source of sources) {
    const value = header(source.header);
    if (value === undefined) continue;
    const delayMs = parseDelayMs(value.trim(), nowMs, source.mayBeTime);
    return delayMs !== undefined && delayMs >= 0 && delayMs <= REQUESTED_MS_MAX ? delayMs : undefined;
  }
  return undefined;
}

function parseDelayMs(text: string, nowMs: number, mayBeTime: boolean): number | undefined {
  const count = parseDecimal(text);
  if (count !== undefined) {
    if (mayBeTime && count >= TIME_MS_MIN) return Math.ceil(count - nowMs);
    if (mayBeTime && count >= TIME_SECONDS_MIN) return Math.ceil(count * 1_000 - nowMs);
    return Math.ceil(count * 1_000);
  }
  const durationMs = parseGoDurationMs(text);
  if (durationMs !== undefined) return durationMs;
  const dateMs = parseHttpDateMs(text, nowMs);
  return dateMs === undefined ? undefined : Math.ceil(dateMs - nowMs);
}
