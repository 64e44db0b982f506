/** Shared by the blocking commands: their keys, their timeouts, and the values that they wait for. */
import type { Bytes } from "../../kernel/bytes.ts";
import type { Call } from "../command.ts";
import type { KeyPositions } from "../command-facts.ts";
import { timeoutNegative, timeoutNotFloat, timeoutOutOfRange } from "../errors.ts";
import type { Keyspace } from "../keyspace.ts";
import { nilArray, type Reply } from "../reply/reply.ts";
import type { Wait } from "../session/waiters.ts";
import { isInfinite, parseLongDouble } from "../structures/numbers/long-double.ts";
import type { Value } from "../values/table.ts";

/** BLPOP: keys, then the timeout. */
export const keysThenTimeout: KeyPositions = { first: 1, last: -2, step: 1 };
/** BLMPOP: the timeout, the number of keys, and the keys. */
export const keysAfterTimeout: KeyPositions = { first: 0, last: 0, step: 0, countAt: 2 };

/** As in Redis, the moment of a timeout fits 64 bits. */
const MOMENT_MS_END = 2 ** 63;

/** Seconds with a fraction as whole ms, rounded up. Throws Redis' errors. */
export function readTimeoutMs(seconds: Bytes, nowMs: number): number {
  const value = parseLongDouble(seconds);
  if (value === undefined) throw timeoutNotFloat;
  if (isInfinite(value)) throw value.mantissa < 0n ? timeoutNegative : timeoutOutOfRange;
  const ms = Math.ceil(Number(value.mantissa) * 2 ** value.exponent * 1_000);
  if (ms < 0) throw timeoutNegative;
  if (ms + nowMs >= MOMENT_MS_END) throw timeoutOutOfRange;
  // Too small for our numbers, but not infinite; values above -1 ms mean no timeout, as in Redis.
  return ms === 0 && value.mantissa > 0n ? 1 : ms + 0;
}

/** The values of one type whose elements clients wait for. */
export interface Awaited<V extends Value> {
  /** Its clients are one line: each is served while elements remain. */
  readonly type: Wait["type"];
  /** The value of this type at a key, or undefined. Throws `wrongType`. */
  readonly read: (keyspace: Keyspace, key: Bytes) => V | undefined;
  readonly holds: (value: Value | undefined) => value is V;
}

/** A command that pops, or waits until it can. */
export interface Pop<V> {
  readonly keys: readonly Bytes[];
  /** The index of the timeout. */
  readonly timeoutAt: number;
  /** Removes elements of an existing value. */
  readonly pop: (keyspace: Keyspace, key: Bytes, value: V) => Reply;
}

/** Pops from the first key that has a value, or waits until one has. */
export function popOrWait<V extends Value>(
  call: Call,
  { type, read, holds }: Awaited<V>,
  { keys, timeoutAt, pop }: Pop<V>,
): Reply {
  const { keyspace } = call;
  const timeoutMs = readTimeoutMs(call.arg(timeoutAt), call.nowMs);
  for (const key of keys) {
    const value = read(keyspace, key);
    if (value !== undefined) return pop(keyspace, key, value);
  }
  return call.wait({
    keys: [...new Set(keys)],
    timeoutMs,
    timedOut: nilArray,
    type,
    line: type,
    serve: (key) => {
      const value = keyspace.peek(key);
      return holds(value) ? pop(keyspace, key, value) : undefined;
    },
  });
}

/** Like BLPOP, whose arguments are keys and the timeout. */
export function popFromKeysOrWait<V extends Value>(call: Call, awaited: Awaited<V>, pop: Pop<V>["pop"]): Reply {
  const timeoutAt = call.argCount - 1;
  return popOrWait(call, awaited, { keys: call.argsFrom(1).slice(0, timeoutAt - 1), timeoutAt, pop });
}
