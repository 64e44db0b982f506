/**
 * The use of a key, in the 32 bits of its stamp. A stamp has one of two forms,
 * the same for all keys of a keyspace, by the policy:
 *
 *     recency     | time of the last use in units of 10 ms: u32, wraps |
 *     frequency   | minute of the last use: u24 | counter: u8 |
 *
 * The counter is that of Redis: the higher it is, the more rarely it grows, and
 * it falls with each minute (or several) in which the key is not used.
 *
 * A clock that steps back makes no key look idle: a last use that seems to be in
 * the future counts as now. So recency reaches 248 days back, half of the range
 * of 32 bits; Redis' 24 bits of seconds reach 194.
 */
import type { Random } from "../../kernel/random.ts";
import type { MemorySettings } from "./memory-settings.ts";

/** Redis has a second; at 100,000 commands per second all keys of a small cache would have the same one. */
const RECENCY_UNIT_MS = 10;
const RECENCY_UNITS_MAX = 2 ** 31 - 1;
const UNITS_PER_SECOND = 1_000 / RECENCY_UNIT_MS;

const COUNTER_BITS = 8;
const COUNTER_MAX = 255;
/** The counter of a new key, as in Redis: with 0 it would be evicted first. */
const COUNTER_NEW = 5;
const MINUTE_MS = 60_000;
const MINUTE_BITS = 24;

export function recencyStamp(nowMs: number): number {
  return Math.floor(nowMs / RECENCY_UNIT_MS) >>> 0;
}

/** The stamp of a key that was last used `seconds` before `nowMs`. */
export function recencyStampBefore(nowMs: number, seconds: number): number {
  return (recencyStamp(nowMs) - Math.min(seconds * UNITS_PER_SECOND, RECENCY_UNITS_MAX)) >>> 0;
}

/** Time since the last use, in units of 10 ms. */
export function idleUnitsOf(stamp: number, nowMs: number): number {
  return Math.max(0, (recencyStamp(nowMs) - stamp) | 0);
}

export function idleSecondsOf(stamp: number, nowMs: number): number {
  return Math.floor(idleUnitsOf(stamp, nowMs) / UNITS_PER_SECOND);
}

export function frequencyStamp(nowMs: number, counter = COUNTER_NEW): number {
  return ((minuteOf(nowMs) << COUNTER_BITS) | counter) >>> 0;
}

/** The counter, 0 … 255, less its decay since the last use. */
export function frequencyOf(stamp: number, nowMs: number, { frequencyDecayMinutes }: MemorySettings): number {
  const counter = stamp & COUNTER_MAX;
  if (frequencyDecayMinutes === 0) return counter;
  // Shifted to the top, so that the difference wraps at 24 bits and has a sign.
  const minutes = ((minuteOf(nowMs) - (stamp >>> COUNTER_BITS)) << COUNTER_BITS) >> COUNTER_BITS;
  return minutes <= 0 ? counter : Math.max(0, counter - Math.floor(minutes / frequencyDecayMinutes));
}

/** The stamp after one more use: the higher the counter, the less likely it is to grow. */
export function frequencyStampAfterUse(
  stamp: number,
  nowMs: number,
  { settings, random }: { settings: MemorySettings; random: Random },
): number {
  const counter = frequencyOf(stamp, nowMs, settings);
  if (counter === COUNTER_MAX) return frequencyStamp(nowMs, counter);
  const chance = 1 / (Math.max(0, counter - COUNTER_NEW) * settings.frequencyLogFactor + 1);
  return frequencyStamp(nowMs, chance === 1 || random.unit() < chance ? counter + 1 : counter);
}

/** The nearest stamp of the other form. */
export function frequencyFromRecency(stamp: number, nowMs: number): number {
  return frequencyStamp(nowMs - idleUnitsOf(stamp, nowMs) * RECENCY_UNIT_MS);
}

export function recencyFromFrequency(stamp: number, nowMs: number): number {
  const minutes = (minuteOf(nowMs) - (stamp >>> COUNTER_BITS)) & (2 ** MINUTE_BITS - 1);
  return recencyStampBefore(nowMs, minutes * 60);
}

function minuteOf(nowMs: number): number {
  return Math.floor(nowMs / MINUTE_MS) & (2 ** MINUTE_BITS - 1);
}
