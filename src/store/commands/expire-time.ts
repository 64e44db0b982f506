/**
 * The expiry time of a key or a field, from the argument of EX, PX, EXAT, PXAT
 * and of the commands that name their unit (SETEX, PSETEX).
 *
 * Redis computes it in signed 64-bit milliseconds and refuses values that are
 * not positive or overflow; so does larder. A valid value beyond `TIME_MS_MAX`
 * is stored as `TIME_MS_MAX`.
 */

import { TIME_MS_MAX } from "../../kernel/frame.ts";
import type { Call } from "../command.ts";
import { invalidExpire } from "../errors.ts";
import { INTEGER_MAX, INTEGER_MIN } from "../structures/numbers/number-text.ts";

/** The unit and the origin of a time. */
export interface TimeForm {
  readonly unitMs: 1 | 1_000;
  /** Relative to now, not to the epoch. */
  readonly isRelative: boolean;
}

export const secondsFromNow: TimeForm = { unitMs: 1_000, isRelative: true };
export const millisecondsFromNow: TimeForm = { unitMs: 1, isRelative: true };
export const secondsSinceEpoch: TimeForm = { unitMs: 1_000, isRelative: false };
export const millisecondsSinceEpoch: TimeForm = { unitMs: 1, isRelative: false };

/** The option words and their forms. */
export const timeForms: ReadonlyMap<string, TimeForm> = new Map([
  ["EX", secondsFromNow],
  ["PX", millisecondsFromNow],
  ["EXAT", secondsSinceEpoch],
  ["PXAT", millisecondsSinceEpoch],
]);

/**
 * The expiry time in the word at `index`, in ms since the epoch, at most `TIME_MS_MAX`. Throws `notInteger`, and
 * `invalidExpire` for values that are not positive or too large for Redis.
 */
export function readExpireTime(call: Call, index: number, form: TimeForm): number {
  const value = call.integer(index);
  if (value <= 0) throw invalidExpire(call.command.fullName);
  const startMs = form.isRelative ? call.nowMs : 0;
  // A number below 2^53 cannot overflow 64 bits, not even as seconds.
  if (typeof value === "bigint" && BigInt(startMs) + value * BigInt(form.unitMs) > INTEGER_MAX)
    throw invalidExpire(call.command.fullName);
  // Not exact beyond 2^53, but there the result is TIME_MS_MAX anyway.
  return Math.min(startMs + Number(value) * form.unitMs, TIME_MS_MAX);
}

/**
 * The time in the word at `index`, in ms since the epoch, at most `TIME_MS_MAX`; it may be in the past, even before the
 * epoch. Throws `notInteger`, and `invalidExpire` for values that 64 bits of milliseconds cannot hold.
 */
export function readMoment(call: Call, index: number, form: TimeForm): number {
  const value = call.integer(index);
  const startMs = form.isRelative ? call.nowMs : 0;
  if (typeof value === "bigint") {
    const moment = value * BigInt(form.unitMs);
    // Redis checks the product against both bounds, and the sum against the upper one only.
    if (moment < INTEGER_MIN || moment + BigInt(startMs) > INTEGER_MAX) throw invalidExpire(call.command.fullName);
  }
  return Math.min(startMs + Number(value) * form.unitMs, TIME_MS_MAX);
}

/**
 * A time in whole seconds since the epoch, rounded down: EXPIRETIME after `EXPIRE key 5` is never later than now + 5 by
 * a clock of seconds. Redis rounds to the nearest second for keys, and up for fields.
 */
export function secondsOf(atMs: number): number {
  return Math.floor(atMs / 1_000);
}
