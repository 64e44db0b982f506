/** What the commands that wait have in common: how long, and for which keys. */
import type { Bytes } from "../../kernel/bytes.ts";
import type { KeyPositions } from "../command-facts.ts";
import { timeoutNegative, timeoutNotFloat } from "../errors.ts";
import { isInfinite, parseLongDouble } from "../structures/numbers/long-double.ts";

/** BLPOP: keys, and behind them how long to wait. */
export const keysThenTimeout: KeyPositions = { first: 1, last: -2, step: 1 };
/** BLMPOP: how long to wait, how many keys, and the keys. */
export const keysAfterTimeout: KeyPositions = { first: 0, last: 0, step: 0, countAt: 2 };

/** Redis counts in 64 bits, and what is beyond comes out negative. */
const TIMEOUT_MS_END = 2 ** 63;

/** Seconds, with a fraction, in whole ms, of which a begun one counts. Throws what Redis says of the word. */
export function readTimeoutMs(seconds: Bytes): number {
  const value = parseLongDouble(seconds);
  if (value === undefined) throw timeoutNotFloat;
  if (isInfinite(value)) throw timeoutNegative;
  const ms = Math.ceil(Number(value.mantissa) * 2 ** value.exponent * 1_000);
  if (ms < 0 || ms >= TIMEOUT_MS_END) throw timeoutNegative;
  // Too small for our numbers, and yet not for ever; and what is above -1 ms is for ever, as in Redis.
  return ms === 0 && value.mantissa > 0n ? 1 : ms + 0;
}
