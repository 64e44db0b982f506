/**
 * Counters: strings whose bytes are a number. Integers are signed 64-bit and
 * exact; beyond ±(2^53 - 1) they are computed as bigint. Floats are added in the
 * 80-bit format of Redis. Changing a counter preserves its expiry.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import type { Call } from "../command.ts";
import { decrementOverflow, notFinite, notFloat, notInteger, overflow } from "../errors.ts";
import { replaceString } from "../mutations/string.ts";
import { events } from "../observe/keyspace-events.ts";
import { integer, type Reply } from "../reply/reply.ts";
import { addIntegers } from "../structures/numbers/integer-sum.ts";
import {
  addLongDoubles,
  formatLongDouble,
  type LongDouble,
  parseLongDouble,
} from "../structures/numbers/long-double.ts";
import { INTEGER_MIN, parseInteger } from "../structures/numbers/number-text.ts";
import { bytesOf, type StringValue, stringFrom } from "../values/string.ts";

/** The longest text of a 64-bit integer; longer texts are refused without copying them. */
const INTEGER_LENGTH_MAX = 20;
/** Redis reads the text of a float into a buffer of 5 KiB. */
const FLOAT_LENGTH_MAX = 5 * 1024;

export function incr(call: Call): Reply {
  return add(call, 1);
}

export function decr(call: Call): Reply {
  return add(call, -1);
}

export function incrBy(call: Call): Reply {
  return add(call, call.integer(2));
}

export function decrBy(call: Call): Reply {
  const decrement = call.integer(2);
  // Its negation is not a 64-bit integer.
  if (decrement === INTEGER_MIN) throw decrementOverflow;
  return add(call, -decrement);
}

function add({ keyspace, arg }: Call, increment: number | bigint): Reply {
  const key = arg(1);
  const sum = addIntegers(counterIn(keyspace.readString(key)), increment);
  if (sum === undefined) throw overflow;
  replaceString(keyspace, key, `${sum}`);
  keyspace.notify(events.incrby, key);
  return integer(sum);
}

/** The integer in a string; a missing one is 0. Throws `notInteger`. */
export function counterIn(value: StringValue | undefined): number | bigint {
  if (value === undefined) return 0;
  return integerOf(value.length > INTEGER_LENGTH_MAX ? "" : bytesOf(value));
}

export function integerOf(text: Bytes): number | bigint {
  const value = parseInteger(text);
  if (value === undefined) throw notInteger;
  return value;
}

export function incrByFloat({ keyspace, arg }: Call): Reply {
  const key = arg(1);
  const sum = addLongDoubles(floatIn(keyspace.readString(key)), floatOf(arg(2)));
  if (sum === undefined) throw notFinite;
  const text = formatLongDouble(sum);
  replaceString(keyspace, key, stringFrom(text));
  keyspace.notify(events.incrbyfloat, key);
  return text;
}

/** The number in a string; a missing one is 0. Throws `notFloat`. */
export function floatIn(value: StringValue | undefined): LongDouble {
  if (value === undefined) return floatOf("0");
  return floatOf(value.length > FLOAT_LENGTH_MAX ? "" : bytesOf(value));
}

export function floatOf(text: Bytes): LongDouble {
  const value = parseLongDouble(text);
  if (value === undefined) throw notFloat;
  return value;
}
