/**
 * String commands. A string is a sequence of bytes; a counter is a string whose
 * bytes are a 64-bit integer, so INCR parses and prints on every call.
 *
 * This file has the rows, and the commands that read a string or change a part of
 * it. SET and its variants are in `string-set.ts`, counters in
 * `string-numbers.ts` and `string-increx.ts`, comparisons in
 * `string-condition.ts`, LCS in `string-lcs.ts`.
 */
import { type Bytes, copyOf } from "../../kernel/bytes.ts";
import { allKeys, type Call, countedPairs, family, firstKey, firstTwoKeys, keyValuePairs } from "../command.ts";
import { offsetOutOfRange, stringTooLong, wrongArity } from "../errors.ts";
import { removeKey } from "../mutations/generic.ts";
import { appendString, setStringRange } from "../mutations/string.ts";
import { events } from "../observe/keyspace-events.ts";
import { ReplyBudget } from "../reply/budget.ts";
import { integer, nil, ok, one, type Reply, zero } from "../reply/reply.ts";
import { LARGE_BYTES_MIN } from "../structures/large-string.ts";
import { bulkOf, bulkPartOf, isString, STRING_BYTES_MAX, type StringValue, stringFrom } from "../values/string.ts";
import { created, inserted, looked, overwritten, taken, updated } from "./command-keys.ts";
import { delEx, delIfEq, digest } from "./string-condition.ts";
import { incrEx } from "./string-increx.ts";
import { lcs } from "./string-lcs.ts";
import { decr, decrBy, incr, incrBy, incrByFloat } from "./string-numbers.ts";
import { getEx, getSet, mayCompare, msetEx, psetEx, putAndNotify, set, setEx, setNx, setUses } from "./string-set.ts";

export const stringCommands = family("string", [
  {
    name: "APPEND",
    summary: "Appends bytes to the string at a key and returns its new length",
    arity: 3,
    flags: ["write", "denyoom", "fast"],
    keys: firstKey,
    keyUses: [inserted],
    run: append,
  },
  {
    name: "DECR",
    summary: "Subtracts one from the counter at a key",
    arity: 2,
    flags: ["write", "denyoom", "fast"],
    keys: firstKey,
    run: decr,
  },
  {
    name: "DECRBY",
    summary: "Subtracts an integer from the counter at a key",
    arity: 3,
    flags: ["write", "denyoom", "fast"],
    keys: firstKey,
    run: decrBy,
  },
  {
    name: "DELEX",
    summary: "Removes a key if its string, or the digest of it, equals or differs from the given one",
    arity: -2,
    flags: ["write", "fast"],
    // A condition reads the whole string.
    isQuick: false,
    keys: firstKey,
    run: delEx,
  },
  {
    name: "DELIFEQ",
    summary: "Removes a key if its string equals the given one",
    arity: 3,
    flags: ["write", "fast"],
    // Compares the whole string.
    isQuick: false,
    keys: firstKey,
    keyUses: [taken],
    run: delIfEq,
  },
  {
    name: "DIGEST",
    summary: "Returns the XXH3 digest of the string at a key, in 16 hex digits",
    arity: 2,
    flags: ["readonly", "fast"],
    // Reads the whole string.
    isQuick: false,
    keys: firstKey,
    run: digest,
  },
  {
    name: "GET",
    summary: "Returns the string at a key",
    arity: 2,
    flags: ["readonly", "fast"],
    keys: firstKey,
    run: get,
  },
  {
    name: "GETDEL",
    summary: "Returns the string at a key and removes the key",
    arity: 2,
    flags: ["write", "fast"],
    notifiesMisses: true,
    keys: firstKey,
    keyUses: [taken],
    run: getDel,
  },
  {
    name: "GETEX",
    summary: "Returns the string at a key and sets or removes its expiry",
    arity: -2,
    flags: ["write", "fast"],
    notifiesMisses: true,
    keys: firstKey,
    run: getEx,
  },
  {
    name: "GETRANGE",
    summary: "Returns the part of the string at a key between two offsets",
    arity: 4,
    flags: ["readonly"],
    keys: firstKey,
    run: getRange,
  },
  {
    name: "GETSET",
    summary: "Stores a string and returns the old one",
    arity: 3,
    flags: ["write", "denyoom", "fast"],
    notifiesMisses: true,
    keys: firstKey,
    valueAt: 2,
    run: getSet,
  },
  {
    name: "INCR",
    summary: "Adds one to the counter at a key",
    arity: 2,
    flags: ["write", "denyoom", "fast"],
    keys: firstKey,
    run: incr,
  },
  {
    name: "INCRBY",
    summary: "Adds an integer to the counter at a key",
    arity: 3,
    flags: ["write", "denyoom", "fast"],
    keys: firstKey,
    run: incrBy,
  },
  {
    name: "INCRBYFLOAT",
    summary: "Adds a floating-point number to the number at a key",
    arity: 3,
    flags: ["write", "denyoom", "fast"],
    keys: firstKey,
    run: incrByFloat,
  },
  {
    name: "INCREX",
    summary: "Adds to the number at a key, within bounds, and sets its expiry",
    arity: -2,
    flags: ["write", "denyoom", "fast"],
    keys: firstKey,
    run: incrEx,
  },
  {
    name: "LCS",
    summary: "Returns the longest common subsequence of the strings at two keys",
    arity: -3,
    flags: ["readonly"],
    keys: firstTwoKeys,
    run: lcs,
  },
  {
    name: "MGET",
    summary: "Returns the strings at several keys",
    arity: -2,
    flags: ["readonly", "fast"],
    keys: allKeys,
    run: mget,
  },
  {
    name: "MSET",
    summary: "Stores several strings at once",
    arity: -3,
    flags: ["write", "denyoom"],
    keys: keyValuePairs,
    keyUses: [overwritten],
    run: mset,
  },
  {
    name: "MSETEX",
    summary: "Stores several strings at once, with one expiry, and perhaps only if all or none of the keys exist",
    arity: -4,
    flags: ["write", "denyoom", "movablekeys"],
    keys: countedPairs,
    keyUses: [overwritten],
    run: msetEx,
  },
  {
    name: "MSETNX",
    summary: "Stores several strings at once, if none of the keys exists",
    arity: -3,
    flags: ["write", "denyoom"],
    keys: keyValuePairs,
    keyUses: [created],
    run: msetNx,
  },
  {
    name: "PSETEX",
    summary: "Stores a string with an expiry in milliseconds",
    arity: 4,
    flags: ["write", "denyoom"],
    isQuick: true,
    keys: firstKey,
    keyUses: [overwritten],
    valueAt: 3,
    run: psetEx,
  },
  {
    name: "SET",
    summary: "Stores a string, replacing any value",
    arity: -3,
    flags: ["write", "denyoom"],
    isQuick: true,
    isLongWith: mayCompare,
    notifiesMisses: true,
    keys: firstKey,
    keyUsesWith: setUses,
    valueAt: 2,
    run: set,
  },
  {
    name: "SETEX",
    summary: "Stores a string with an expiry in seconds",
    arity: 4,
    flags: ["write", "denyoom"],
    isQuick: true,
    keys: firstKey,
    keyUses: [overwritten],
    valueAt: 3,
    run: setEx,
  },
  {
    name: "SETNX",
    summary: "Stores a string if the key does not exist",
    arity: 3,
    flags: ["write", "denyoom", "fast"],
    keys: firstKey,
    keyUses: [created],
    valueAt: 2,
    run: setNx,
  },
  {
    name: "SETRANGE",
    summary: "Overwrites a part of the string at a key from an offset on",
    arity: 4,
    flags: ["write", "denyoom"],
    keys: firstKey,
    keyUses: [updated],
    run: setRange,
  },
  {
    name: "STRLEN",
    summary: "Returns the length in bytes of the string at a key",
    arity: 2,
    flags: ["readonly", "fast"],
    keys: firstKey,
    keyUses: [looked],
    run: ({ keyspace, arg }) => integer(keyspace.readString(arg(1))?.length ?? 0),
  },
  {
    name: "SUBSTR",
    summary: "The old name of GETRANGE",
    arity: 4,
    flags: ["readonly"],
    keys: firstKey,
    run: getRange,
  },
]);

function append({ keyspace, arg }: Call): Reply {
  const key = arg(1);
  const bytes = arg(2);
  const old = keyspace.readString(key);
  // A new string is limited by the size of a request.
  if (old !== undefined && old.length + bytes.length > STRING_BYTES_MAX) throw stringTooLong;
  const length = appendString(keyspace, key, bytes);
  keyspace.notify(events.append, key);
  return integer(length);
}

function get({ keyspace, arg }: Call): Reply {
  const value = keyspace.readString(arg(1));
  return value === undefined ? nil : bulkOf(value);
}

function getDel({ keyspace, arg }: Call): Reply {
  const key = arg(1);
  const value = keyspace.readString(key);
  if (value === undefined) return nil;
  const reply = bulkOf(value);
  removeKey(keyspace, key);
  keyspace.notify(events.del, key);
  return reply;
}

/** Both ends are included; negative ones count from the end of the string. */
function getRange({ keyspace, arg, integer: readInteger }: Call): Reply {
  const start = readInteger(2);
  const end = readInteger(3);
  const value = keyspace.readString(arg(1));
  // Only for negative offsets, as in Redis: otherwise both may be cut to the first byte below, which is then the reply.
  if (value === undefined || (start < 0 && end < 0 && start > end)) return "";
  const { length } = value;
  const first = Math.max(0, start < 0 ? length + Number(start) : Number(start));
  const last = Math.min(length - 1, Math.max(0, end < 0 ? length + Number(end) : Number(end)));
  return first > last ? "" : sliceOf(value, first, last + 1);
}

/** The bytes from `start` to before `end`, as a reply. */
function sliceOf(value: StringValue, start: number, end: number): Bytes | Buffer {
  if (typeof value === "string") return copyOf(value, start, end);
  // The next change would copy all of a shared string, so a small part is copied instead.
  if ((end - start) * 2 > value.length) return bulkPartOf(value, start, end);
  return end - start < LARGE_BYTES_MIN ? value.slice(start, end) : Buffer.from(value.view.subarray(start, end));
}

function mget({ keyspace, arg, argCount }: Call): Reply {
  const replies: Reply[] = [];
  const budget = new ReplyBudget();
  for (let i = 1; i < argCount; i += 1) {
    const value = keyspace.find(arg(i));
    if (isString(value)) budget.take(value.length);
    replies.push(isString(value) ? bulkOf(value) : nil);
  }
  return replies;
}

function mset(call: Call): Reply {
  checkPairs(call);
  putPairs(call);
  return ok;
}

function msetNx(call: Call): Reply {
  checkPairs(call);
  const { keyspace, arg, argCount } = call;
  for (let i = 1; i < argCount; i += 2) if (keyspace.use(arg(i))) return zero;
  putPairs(call);
  return one;
}

function checkPairs({ argCount, command }: Call): void {
  if (argCount % 2 === 0) throw wrongArity(command.name);
}

function putPairs({ keyspace, arg, argCount }: Call): void {
  for (let i = 1; i < argCount; i += 2) putAndNotify(keyspace, arg(i), stringFrom(arg(i + 1)));
}

function setRange({ keyspace, arg, integer: readInteger }: Call): Reply {
  const offset = readInteger(2);
  const bytes = arg(3);
  if (offset < 0) throw offsetOutOfRange;
  const key = arg(1);
  const old = keyspace.readString(key);
  // Without bytes nothing changes: a missing key does not become an empty string.
  if (bytes.length === 0) return integer(old?.length ?? 0);
  if (Number(offset) + bytes.length > STRING_BYTES_MAX) throw stringTooLong;
  const changed = setStringRange(keyspace, key, { offset: Number(offset), bytes, old });
  keyspace.notify(events.setrange, key);
  return integer(changed.length);
}
