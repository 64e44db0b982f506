/**
 * INCREX (Redis 8.8): adds to a counter, within bounds, and sets its expiry. With
 * UBOUND, EX and ENX it is a rate limiter with a window in one command.
 *
 * A result outside the bounds changes nothing, neither the value nor the expiry;
 * with SATURATE it becomes the nearest bound. What integers and floats have in
 * common is written once, over their `Arithmetic`.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import type { Call } from "../command.ts";
import { boundsCrossed, type CommandError, notFinite, overflow, syntaxError } from "../errors.ts";
import { removeKey } from "../mutations/generic.ts";
import { putString, putStringUntil, replaceString } from "../mutations/string.ts";
import { events, type KeyspaceEvent } from "../observe/keyspace-events.ts";
import { integer, type Reply } from "../reply/reply.ts";
import { addIntegers } from "../structures/numbers/integer-sum.ts";
import {
  addLongDoubles,
  compareLongDoubles,
  formatLongDouble,
  isInfinite,
  type LongDouble,
  negativeOf,
} from "../structures/numbers/long-double.ts";
import { INTEGER_MAX, INTEGER_MIN } from "../structures/numbers/number-text.ts";
import { stringFrom } from "../values/string.ts";
import { readExpireTime, type TimeForm, timeForms } from "./expire-time.ts";
import { counterIn, floatIn, floatOf, integerOf } from "./string-numbers.ts";

interface IncrExOptions {
  /** The text of the increment and its kind; undefined: one. */
  readonly increment: { readonly kind: "BYINT" | "BYFLOAT"; readonly text: Bytes } | undefined;
  readonly lower: Bytes | undefined;
  readonly upper: Bytes | undefined;
  readonly saturates: boolean;
  readonly expiry: { readonly form: TimeForm; readonly index: number } | "remove" | undefined;
  readonly onlyWithoutExpiry: boolean;
}

interface Arithmetic<N> {
  /** The number of an argument. Throws `notInteger` or `notFloat`. */
  read(text: Bytes): N;
  /** The number at the key, 0 if it does not exist. */
  current(call: Call): N;
  /** Undefined beyond the limits of the type. */
  add(one: N, other: N): N | undefined;
  subtract(one: N, other: N): N | undefined;
  isLess(one: N, other: N): boolean;
  isNegative(value: N): boolean;
  /** The limits of the type, as far as a result may become one. */
  readonly limits: { readonly lower: N | undefined; readonly upper: N | undefined };
  readonly tooLarge: CommandError;
  format(value: N): Bytes;
  reply(value: N): Reply;
  readonly event: KeyspaceEvent;
}

const integers: Arithmetic<number | bigint> = {
  read: integerOf,
  current: ({ keyspace, arg }) => counterIn(keyspace.readString(arg(1))),
  add: addIntegers,
  subtract: (one, other) => withinInteger(BigInt(one) - BigInt(other)),
  isLess: (one, other) => one < other,
  isNegative: (value) => value < 0,
  limits: { lower: INTEGER_MIN, upper: INTEGER_MAX },
  tooLarge: overflow,
  format: (value) => `${value}`,
  reply: integer,
  event: events.incrby,
};

const floats: Arithmetic<LongDouble> = {
  read: floatOf,
  current: ({ keyspace, arg }) => {
    const value = floatIn(keyspace.readString(arg(1)));
    // As INCRBYFLOAT.
    if (isInfinite(value)) throw notFinite;
    return value;
  },
  add: addLongDoubles,
  subtract: (one, other) => addLongDoubles(one, negativeOf(other)),
  isLess: (one, other) => compareLongDoubles(one, other) < 0,
  isNegative: ({ mantissa }) => mantissa < 0n,
  // The largest number would be a text of 4,933 digits.
  limits: { lower: undefined, upper: undefined },
  tooLarge: notFinite,
  format: formatLongDouble,
  reply: (value) => {
    const text = formatLongDouble(value);
    return { kind: "double", value: Number(text), text };
  },
  event: events.incrbyfloat,
};

function withinInteger(value: bigint): number | bigint | undefined {
  if (value < INTEGER_MIN || value > INTEGER_MAX) return undefined;
  return Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

/** Returns the new number and what was added. */
export function incrEx(call: Call): Reply {
  const options = readOptions(call);
  if (options.increment?.kind !== "BYFLOAT") return increase(call, options, integers);
  if (isInfinite(floatOf(options.increment.text))) throw notFinite;
  return increase(call, options, floats);
}

function increase<N>(call: Call, options: IncrExOptions, arithmetic: Arithmetic<N>): Reply {
  const increment = arithmetic.read(options.increment?.text ?? "1");
  const lower = options.lower === undefined ? undefined : arithmetic.read(options.lower);
  const upper = options.upper === undefined ? undefined : arithmetic.read(options.upper);
  if (lower !== undefined && upper !== undefined && arithmetic.isLess(upper, lower)) throw boundsCrossed;
  const { expiry } = options;
  const atMs = typeof expiry === "object" ? readExpireTime(call, expiry.index, expiry.form) : undefined;

  const current = arithmetic.current(call);
  const bound = boundPassed(arithmetic.add(current, increment), { lower, upper, increment }, arithmetic);
  if (bound !== undefined && !options.saturates)
    return [arithmetic.reply(current), arithmetic.reply(arithmetic.read("0"))];
  const result = bound === undefined ? arithmetic.add(current, increment) : bound.value;
  const added = result === undefined ? undefined : arithmetic.subtract(result, current);
  if (result === undefined || added === undefined) throw arithmetic.tooLarge;

  store(call, arithmetic.format(result), { ...options, atMs, event: arithmetic.event });
  return [arithmetic.reply(result), arithmetic.reply(added)];
}

/** The bound that a sum is beyond; its value is undefined if the type has no such number. Undefined sum: beyond the type. */
function boundPassed<N>(
  sum: N | undefined,
  range: { readonly lower: N | undefined; readonly upper: N | undefined; readonly increment: N },
  arithmetic: Arithmetic<N>,
): { readonly value: N | undefined } | undefined {
  const { lower, upper, increment } = range;
  if (sum === undefined) {
    return arithmetic.isNegative(increment)
      ? { value: lower ?? arithmetic.limits.lower }
      : { value: upper ?? arithmetic.limits.upper };
  }
  if (upper !== undefined && arithmetic.isLess(upper, sum)) return { value: upper };
  if (lower !== undefined && arithmetic.isLess(sum, lower)) return { value: lower };
  return undefined;
}

function store(
  { keyspace, arg, nowMs }: Call,
  text: Bytes,
  options: Pick<IncrExOptions, "expiry" | "onlyWithoutExpiry"> & {
    readonly atMs: number | undefined;
    readonly event: KeyspaceEvent;
  },
): void {
  const key = arg(1);
  const value = stringFrom(text);
  const hasExpiry = keyspace.expiryOf(key) !== undefined;
  const atMs = options.onlyWithoutExpiry && hasExpiry ? undefined : options.atMs;
  if (atMs !== undefined && atMs <= nowMs) {
    if (!keyspace.has(key)) return;
    removeKey(keyspace, key);
    keyspace.notify(events.del, key);
    return;
  }
  if (atMs !== undefined) putStringUntil(keyspace, key, { value, atMs });
  else if (options.expiry === "remove") putString(keyspace, key, value);
  else replaceString(keyspace, key, value);
  keyspace.notify(options.event, key);
  if (atMs !== undefined) keyspace.notify(events.expire, key);
  else if (options.expiry === "remove" && hasExpiry) keyspace.notify(events.persist, key);
}

/** The options, in any order. Each may occur once, except that the last of equal times counts, as for SET. */
function readOptions(call: Call): IncrExOptions {
  const { arg, argCount } = call;
  let increment: IncrExOptions["increment"];
  let lower: Bytes | undefined;
  let upper: Bytes | undefined;
  let saturates = false;
  let expiry: IncrExOptions["expiry"];
  let onlyWithoutExpiry = false;
  for (let i = 2; i < argCount; i += 1) {
    const word = call.word(i);
    const form = timeForms.get(word);
    const hasOperand = i + 1 < argCount;
    if ((word === "BYINT" || word === "BYFLOAT") && hasOperand && increment === undefined) {
      i += 1;
      increment = { kind: word, text: arg(i) };
    } else if (word === "LBOUND" && hasOperand && lower === undefined) {
      i += 1;
      lower = arg(i);
    } else if (word === "UBOUND" && hasOperand && upper === undefined) {
      i += 1;
      upper = arg(i);
    } else if (word === "SATURATE") {
      saturates = true;
    } else if (form !== undefined && hasOperand && (expiry === undefined || isSameForm(expiry, form))) {
      i += 1;
      expiry = { form, index: i };
    } else if (word === "PERSIST" && (expiry === undefined || expiry === "remove")) {
      expiry = "remove";
    } else if (word === "ENX") {
      onlyWithoutExpiry = true;
    } else {
      throw syntaxError;
    }
  }
  if (onlyWithoutExpiry && typeof expiry !== "object") throw syntaxError;
  return { increment, lower, upper, saturates, expiry, onlyWithoutExpiry };
}

function isSameForm(expiry: Exclude<IncrExOptions["expiry"], undefined>, form: TimeForm): boolean {
  return expiry !== "remove" && expiry.form === form;
}
