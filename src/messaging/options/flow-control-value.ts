/**
 * `Flow-Control-Value`: the limits that a message sets for its flow-control key
 * (C.flow-control).
 *
 *     parallelism=2, rate=10, period=1m
 *
 * Parts in any order, each once, separated by commas; blanks around commas and equal signs do not count, nor do empty
 * parts: a client prints `rate=5,` without a parallelism. `period` is a duration with units s, m, h, d, or a number of
 * seconds. `ratePerSecond=n` is an old form of `rate=n, period=1s`.
 */
import { parseDurationMs } from "../../kernel/text/duration.ts";

export interface FlowControlLimits {
  /** Calls at the same time. */
  readonly parallelism?: number;
  /** Calls that may start in a window. */
  readonly rate?: number;
  /** The length of a window in ms, above 0 and at most a week. */
  readonly periodMs?: number;
}

/** The message names the part. */
export class InvalidFlowControl extends Error {
  override name = "InvalidFlowControl";
}

const SECOND_MS = 1_000;
export const PERIOD_MS_MAX = 7 * 86_400_000;
/** The largest parallelism and rate. */
const COUNT_MAX = 1_000_000_000;
/** In characters: the names and numbers above need less than a hundred. */
const TEXT_LENGTH_MAX = 1_024;

type Limits = { -readonly [Name in keyof FlowControlLimits]: FlowControlLimits[Name] };

/** One row for each part: sets the limit that `value` has. */
const parts: Readonly<Record<string, (limits: Limits, value: string) => void>> = {
  parallelism(limits, value) {
    limits.parallelism = parseCount("parallelism", value);
  },
  rate(limits, value) {
    limits.rate = parseCount("rate", value);
  },
  period(limits, value) {
    limits.periodMs = parsePeriodMs(value);
  },
  ratePerSecond(limits, value) {
    limits.rate = parseCount("ratePerSecond", value);
    limits.periodMs = SECOND_MS;
  },
};

const knownParts = `${Object.keys(parts).join("=, ")}=`;

/** Throws `InvalidFlowControl`. The result has at least one limit. */
export function parseFlowControlValue(text: string): FlowControlLimits {
  if (text.length > TEXT_LENGTH_MAX) throw new InvalidFlowControl(`Longer than ${TEXT_LENGTH_MAX} characters`);
  const limits: Limits = {};
  const given = new Set<string>();
  for (const part of text.split(",")) {
    if (part.trim() === "") continue;
    const [name = "", value, ...rest] = part.split("=").map((word) => word.trim());
    const read = Object.hasOwn(parts, name) ? parts[name] : undefined;
    if (read === undefined || value === undefined || rest.length > 0)
      throw new InvalidFlowControl(`Unknown part ${JSON.stringify(part.trim())}; known parts are ${knownParts}`);
    if (given.has(name)) throw new InvalidFlowControl(`${name} is given twice`);
    given.add(name);
    read(limits, value);
  }
  if (given.size === 0) throw new InvalidFlowControl(`It has no part; known parts are ${knownParts}`);
  if (given.has("ratePerSecond") && (given.has("rate") || given.has("period")))
    throw new InvalidFlowControl("ratePerSecond cannot be combined with rate or period");
  return limits;
}

/** The number that `value` spells, from 1 on. Throws `InvalidFlowControl` naming `name`. */
export function parseCount(name: string, value: string): number {
  const count = /^[0-9]{1,10}$/.test(value) ? Number(value) : 0;
  if (count < 1 || count > COUNT_MAX)
    throw new InvalidFlowControl(
      `Invalid ${name} ${JSON.stringify(value)}: give a whole number from 1 to ${COUNT_MAX}`,
    );
  return count;
}

/** Parses a duration in ms. Throws `InvalidFlowControl`. */
export function parsePeriodMs(value: string): number {
  const periodMs = parseDurationMs(value, "smhd");
  if (periodMs === undefined)
    throw new InvalidFlowControl(`Invalid period ${JSON.stringify(value)}: give a duration such as 30s, 5m or 1d`);
  if (periodMs === 0) throw new InvalidFlowControl(`Invalid period ${JSON.stringify(value)}: it must be above 0`);
  if (periodMs > PERIOD_MS_MAX)
    throw new InvalidFlowControl(`Invalid period ${JSON.stringify(value)}: it must be at most a week`);
  return periodMs;
}
