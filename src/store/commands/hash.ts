/**
 * Hash commands. A hash maps fields to values and exists while it has a field.
 * The expiry of fields is in `hash-expiry.ts`: setting a field removes its
 * expiry, incrementing it does not.
 *
 * No command sees an expired field: `keyspace.readHash` removes them first.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import { type Call, family, firstKey } from "../command.ts";
import {
  countOutOfRange,
  hashNotFloat,
  hashNotInteger,
  notBetween,
  notFinite,
  notFiniteArgument,
  notFloat,
  overflow,
  syntaxError,
  wrongArity,
} from "../errors.ts";
import { putField, removeField, replaceField } from "../mutations/hash.ts";
import { events } from "../observe/keyspace-events.ts";
import { ReplyBudget } from "../reply/budget.ts";
import { bulk, emptyArray, flatPairs, integer, map, nil, ok, one, type Reply, zero } from "../reply/reply.ts";
import { addIntegers } from "../structures/numbers/integer-sum.ts";
import { addLongDoubles, formatLongDouble, isInfinite, parseLongDouble } from "../structures/numbers/long-double.ts";
import { INTEGER_MAX, parseInteger } from "../structures/numbers/number-text.ts";
import { samplePlaces } from "../structures/sample.ts";
import type { HashValue } from "../values/hash.ts";
import { inserted, looked, reduced, updated } from "./command-keys.ts";
import { hashExpiryRows } from "./hash-expiry.ts";
import { readCursor, readScanOptions, scanSome } from "./scan.ts";

export const hashCommands = family("hash", [
  {
    name: "HDEL",
    summary: "Removes fields and returns the number removed",
    arity: -3,
    flags: ["write", "fast"],
    keys: firstKey,
    keyUses: [reduced],
    run: hdel,
  },
  {
    name: "HEXISTS",
    summary: "Returns whether a field exists",
    arity: 3,
    flags: ["readonly", "fast"],
    keys: firstKey,
    keyUses: [looked],
    run: ({ keyspace, arg }) => (keyspace.readHash(arg(1))?.has(arg(2)) === true ? one : zero),
  },
  {
    name: "HGET",
    summary: "Returns the value of a field",
    arity: 3,
    flags: ["readonly", "fast"],
    keys: firstKey,
    run: ({ keyspace, arg }) => bulk(keyspace.readHash(arg(1))?.get(arg(2))),
  },
  {
    name: "HGETALL",
    summary: "Returns all fields with their values",
    arity: 2,
    flags: ["readonly"],
    keys: firstKey,
    run: hgetall,
  },
  {
    name: "HINCRBY",
    summary: "Adds an integer to the integer value of a field",
    arity: 4,
    flags: ["write", "denyoom", "fast"],
    keys: firstKey,
    run: hincrby,
  },
  {
    name: "HINCRBYFLOAT",
    summary: "Adds a floating-point number to the value of a field",
    arity: 4,
    flags: ["write", "denyoom", "fast"],
    keys: firstKey,
    run: hincrbyfloat,
  },
  {
    name: "HKEYS",
    summary: "Returns all fields",
    arity: 2,
    flags: ["readonly"],
    keys: firstKey,
    run: ({ keyspace, arg }) => listOf(keyspace.readHash(arg(1)), (hash, place) => hash.fieldAt(place)),
  },
  {
    name: "HLEN",
    summary: "Returns the number of fields",
    arity: 2,
    flags: ["readonly", "fast"],
    keys: firstKey,
    keyUses: [looked],
    run: ({ keyspace, arg }) => keyspace.readHash(arg(1))?.size ?? zero,
  },
  {
    name: "HMGET",
    summary: "Returns the values of fields",
    arity: -3,
    flags: ["readonly", "fast"],
    keys: firstKey,
    run: hmget,
  },
  {
    name: "HMSET",
    summary: "Sets fields and returns OK",
    arity: -4,
    flags: ["write", "denyoom", "fast"],
    keys: firstKey,
    keyUses: [updated],
    run: (call) => {
      putPairs(call);
      return ok;
    },
  },
  {
    name: "HRANDFIELD",
    summary: "Returns random fields",
    arity: -2,
    flags: ["readonly"],
    keys: firstKey,
    run: hrandfield,
  },
  {
    name: "HSCAN",
    summary: "Iterates over the fields",
    arity: -3,
    flags: ["readonly"],
    keys: firstKey,
    run: hscan,
  },
  {
    name: "HSET",
    summary: "Sets fields and returns how many are new",
    arity: -4,
    flags: ["write", "denyoom", "fast"],
    keys: firstKey,
    keyUses: [updated],
    run: putPairs,
  },
  {
    name: "HSETNX",
    summary: "Sets a field if it does not exist",
    arity: 4,
    flags: ["write", "denyoom", "fast"],
    keys: firstKey,
    keyUses: [inserted],
    run: ({ keyspace, arg }) => {
      const key = arg(1);
      const field = arg(2);
      if (keyspace.readHash(key)?.has(field) === true) return zero;
      putField(keyspace, key, { field, value: arg(3) });
      keyspace.notify(events.hset, key);
      return one;
    },
  },
  {
    name: "HSTRLEN",
    summary: "Returns the length in bytes of the value of a field",
    arity: 3,
    flags: ["readonly", "fast"],
    keys: firstKey,
    keyUses: [looked],
    run: ({ keyspace, arg }) => keyspace.readHash(arg(1))?.get(arg(2))?.length ?? zero,
  },
  {
    name: "HVALS",
    summary: "Returns all values",
    arity: 2,
    flags: ["readonly"],
    keys: firstKey,
    run: ({ keyspace, arg }) => listOf(keyspace.readHash(arg(1)), (hash, place) => hash.valueAt(place)),
  },
  ...hashExpiryRows,
]);

function hdel({ keyspace, arg, argCount }: Call): Reply {
  const key = arg(1);
  const hash = keyspace.readHash(key);
  if (hash === undefined) return zero;
  let count = 0;
  for (let i = 2; i < argCount; i += 1) {
    const field = arg(i);
    // After its last field is removed, the hash has left the keyspace and is empty here.
    if (!hash.has(field)) continue;
    removeField(keyspace, key, field);
    count += 1;
  }
  if (count > 0) keyspace.notifyTaken(events.hdel, key);
  return count;
}

function hgetall({ keyspace, arg }: Call): Reply {
  const hash = keyspace.readHash(arg(1));
  if (hash === undefined) return map([]);
  const budget = new ReplyBudget();
  const pairs: [Bytes, Bytes][] = [];
  for (let place = 0; place < hash.size; place += 1) {
    const field = hash.fieldAt(place);
    const value = hash.valueAt(place);
    budget.take(field.length);
    budget.take(value.length);
    pairs.push([field, value]);
  }
  return map(pairs);
}

function listOf(hash: HashValue | undefined, at: (hash: HashValue, place: number) => Bytes): Reply {
  if (hash === undefined) return emptyArray;
  const budget = new ReplyBudget();
  const list: Bytes[] = [];
  for (let place = 0; place < hash.size; place += 1) {
    const bytes = at(hash, place);
    budget.take(bytes.length);
    list.push(bytes);
  }
  return list;
}

function hincrby({ keyspace, arg, integer: integerAt }: Call): Reply {
  const increment = integerAt(3);
  const key = arg(1);
  const field = arg(2);
  const text = keyspace.readHash(key)?.get(field);
  const old = text === undefined ? 0 : parseInteger(text);
  if (old === undefined) throw hashNotInteger;
  const sum = addIntegers(old, increment);
  if (sum === undefined) throw overflow;
  replaceField(keyspace, key, { field, value: String(sum) });
  keyspace.notify(events.hincrby, key);
  return integer(sum);
}

function hincrbyfloat({ keyspace, arg }: Call): Reply {
  const increment = parseLongDouble(arg(3));
  if (increment === undefined) throw notFloat;
  if (isInfinite(increment)) throw notFiniteArgument;
  const key = arg(1);
  const field = arg(2);
  const old = parseLongDouble(keyspace.readHash(key)?.get(field) ?? "0");
  if (old === undefined) throw hashNotFloat;
  const sum = addLongDoubles(old, increment);
  if (sum === undefined) throw notFinite;
  const value = formatLongDouble(sum);
  replaceField(keyspace, key, { field, value });
  keyspace.notify(events.hincrbyfloat, key);
  return bulk(value);
}

function hmget({ keyspace, arg, argCount }: Call): Reply {
  const hash = keyspace.readHash(arg(1));
  const budget = new ReplyBudget();
  const values: Reply[] = [];
  for (let i = 2; i < argCount; i += 1) {
    const value = hash?.get(arg(i));
    budget.take(value?.length ?? 0);
    values.push(bulk(value));
  }
  return values;
}

function putPairs({ keyspace, arg, argCount, command }: Call): number {
  if (argCount % 2 !== 0) throw wrongArity(command.name);
  const key = arg(1);
  // Refuses other types and removes expired fields before the first field is set.
  keyspace.readHash(key);
  let count = 0;
  for (let i = 2; i < argCount; i += 2) if (putField(keyspace, key, { field: arg(i), value: arg(i + 1) })) count += 1;
  keyspace.notify(events.hset, key);
  return count;
}

/** The largest count if each field comes with its value. */
const PAIR_COUNT_MAX = INTEGER_MAX / 2n;

function hrandfield(call: Call): Reply {
  const { keyspace, arg, word, argCount, random } = call;
  if (argCount === 2) {
    const hash = keyspace.readHash(arg(1));
    return hash === undefined ? nil : hash.fieldAt(random.below(hash.size));
  }
  const exact = call.integer(2);
  if (exact < -INTEGER_MAX) throw notBetween(String(-INTEGER_MAX), String(INTEGER_MAX));
  const withValues = argCount > 3;
  if (withValues) {
    if (argCount > 4 || word(3) !== "WITHVALUES") throw syntaxError;
    if (exact < -PAIR_COUNT_MAX || exact > PAIR_COUNT_MAX) throw countOutOfRange;
  }
  const count = call.count(2);
  const hash = keyspace.readHash(arg(1));
  if (hash === undefined || count === 0) return emptyArray;
  const budget = new ReplyBudget();
  const elements: Bytes[] = [];
  const add = (place: number): void => {
    const field = hash.fieldAt(place);
    budget.take(field.length);
    elements.push(field);
    if (!withValues) return;
    const value = hash.valueAt(place);
    budget.take(value.length);
    elements.push(value);
  };
  if (count > 0) {
    for (const place of samplePlaces(hash.size, count, random)) add(place);
  } else {
    // A negative count draws each field again, so one may repeat.
    budget.expect(-count);
    for (let draws = count; draws < 0; draws += 1) add(random.below(hash.size));
  }
  return withValues ? flatPairs(elements) : elements;
}

function hscan(call: Call): Reply {
  const { keyspace, arg } = call;
  const cursor = readCursor(arg(2));
  const hash = keyspace.readHash(arg(1));
  // As Redis: if the key does not exist, the options are not checked.
  if (hash === undefined) return ["0", emptyArray];
  const { count, matches, withValues } = readScanOptions(call, 3, ["NOVALUES"]);
  const budget = new ReplyBudget();
  const elements: Bytes[] = [];
  const add = (element: Bytes): void => {
    budget.take(element.length);
    elements.push(element);
  };
  const next = scanSome(cursor, count, {
    step: (at, visit) => hash.scan(at, visit),
    visit: (place) => {
      const field = hash.fieldAt(place);
      if (!matches(field)) return;
      add(field);
      if (withValues) add(hash.valueAt(place));
    },
  });
  return [String(next), elements];
}
