/**
 * Commands on the expiry of keys. Times are stored in milliseconds since the
 * epoch; one that is not in the future removes the key at once.
 */

import { type Call, firstKey, type Row } from "../command.ts";
import { gtAndLt, nxAndOthers, unsupportedOption } from "../errors.ts";
import { clearExpiry, removeKey, setExpiry } from "../mutations/generic.ts";
import { events } from "../observe/keyspace-events.ts";
import { integer, one, type Reply, zero } from "../reply/reply.ts";
import { updated } from "./command-keys.ts";
import {
  millisecondsFromNow,
  millisecondsSinceEpoch,
  readMoment,
  secondsFromNow,
  secondsOf,
  secondsSinceEpoch,
  type TimeForm,
} from "./expire-time.ts";

const KEY_MISSING = -2;
const NO_EXPIRY = -1;

export const expiryRows: readonly Row[] = [
  expiring("EXPIRE", "Sets the expiry of a key in seconds", secondsFromNow),
  expiring("EXPIREAT", "Sets the expiry of a key to a Unix time in seconds", secondsSinceEpoch),
  reporting("EXPIRETIME", "Returns the expiry of a key as a Unix time in seconds", secondsOf),
  {
    name: "PERSIST",
    summary: "Removes the expiry of a key",
    arity: 2,
    flags: ["write", "fast"],
    keys: firstKey,
    keyUses: [updated],
    run: persist,
  },
  expiring("PEXPIRE", "Sets the expiry of a key in milliseconds", millisecondsFromNow),
  expiring("PEXPIREAT", "Sets the expiry of a key to a Unix time in milliseconds", millisecondsSinceEpoch),
  reporting("PEXPIRETIME", "Returns the expiry of a key as a Unix time in milliseconds", (atMs) => atMs),
  reporting("PTTL", "Returns the time to live of a key in milliseconds", (atMs, nowMs) => atMs - nowMs),
  reporting("TTL", "Returns the time to live of a key in seconds", (atMs, nowMs) => roundToSeconds(atMs - nowMs)),
];

/** A row that sets the expiry of a key, given in this form. */
function expiring(name: string, summary: string, form: TimeForm): Row {
  return {
    name,
    summary,
    arity: -3,
    flags: ["write", "fast"],
    keys: firstKey,
    keyUses: [updated],
    run: (call) => expire(call, form),
  };
}

/** A row that returns the expiry of a key in its own unit. */
function reporting(name: string, summary: string, report: (atMs: number, nowMs: number) => number): Row {
  return {
    name,
    summary,
    arity: 2,
    flags: ["readonly", "fast"],
    keys: firstKey,
    run: (call) => expiryOf(call, (atMs) => report(atMs, call.nowMs)),
  };
}

function expire(call: Call, form: TimeForm): Reply {
  const { keyspace, arg } = call;
  const isWanted = readCondition(call, 3);
  const atMs = readMoment(call, 2, form);
  const key = arg(1);
  if (!keyspace.use(key)) return zero;
  // The old expiry is another look-up, which only a condition needs.
  if (isWanted !== undefined && !isWanted(keyspace.expiryOf(key), atMs)) return zero;
  if (atMs <= call.nowMs) {
    removeKey(keyspace, key);
    keyspace.notify(events.del, key);
  } else {
    setExpiry(keyspace, key, atMs);
    keyspace.notify(events.expire, key);
  }
  return one;
}

type Condition = (oldMs: number | undefined, newMs: number) => boolean;

/** Reads the options of EXPIRE from `index` on: whether the old and the new expiry allow the change; undefined: always. */
function readCondition({ arg, word, argCount }: Call, index: number): Condition | undefined {
  if (argCount === index) return undefined;
  let nx = false;
  let xx = false;
  let gt = false;
  let lt = false;
  for (let i = index; i < argCount; i += 1) {
    const option = word(i);
    if (option === "NX") nx = true;
    else if (option === "XX") xx = true;
    else if (option === "GT") gt = true;
    else if (option === "LT") lt = true;
    else throw unsupportedOption(arg(i));
  }
  if (nx && (xx || gt || lt)) throw nxAndOthers;
  if (gt && lt) throw gtAndLt;
  // A key without an expiry counts as one that expires after any time.
  return (oldMs, newMs) =>
    !(nx && oldMs !== undefined) &&
    !(xx && oldMs === undefined) &&
    !(gt && newMs <= (oldMs ?? Number.POSITIVE_INFINITY)) &&
    !(lt && newMs >= (oldMs ?? Number.POSITIVE_INFINITY));
}

function persist({ keyspace, arg }: Call): Reply {
  const key = arg(1);
  if (!keyspace.use(key) || keyspace.expiryOf(key) === undefined) return zero;
  clearExpiry(keyspace, key);
  keyspace.notify(events.persist, key);
  return one;
}

function expiryOf({ keyspace, arg }: Call, report: (atMs: number) => number): Reply {
  const key = arg(1);
  if (!keyspace.has(key)) {
    keyspace.notify(events.keymiss, key);
    return KEY_MISSING;
  }
  const atMs = keyspace.expiryOf(key);
  return atMs === undefined ? NO_EXPIRY : integer(report(atMs));
}

/** To the nearest second, halves up, as Redis rounds a time to live. */
function roundToSeconds(ms: number): number {
  return Math.floor((ms + 500) / 1_000);
}
