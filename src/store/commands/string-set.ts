/**
 * SET with all its options, and the commands that share them: SETEX, PSETEX,
 * SETNX, MSETEX, GETSET and GETEX.
 *
 * Replacing a value removes the expiry of its key unless the command has KEEPTTL.
 * All checks come before the first mutation, so a refused SET has changed
 * nothing.
 */
import { type Bytes, upperCase } from "../../kernel/bytes.ts";
import type { Call } from "../command.ts";
import type { KeyUse } from "../command-facts.ts";
import { pairCountInvalid, pairCountWrong, syntaxError } from "../errors.ts";
import type { Keyspace } from "../keyspace.ts";
import { clearExpiry, removeKey, setExpiry } from "../mutations/generic.ts";
import { putBytes, putString, putStringUntil, replaceString } from "../mutations/string.ts";
import { events } from "../observe/keyspace-events.ts";
import { nil, ok, one, type Reply, zero } from "../reply/reply.ts";
import { parseInteger } from "../structures/numbers/number-text.ts";
import { bulkOf, type StringValue, stringFrom } from "../values/string.ts";
import { overwritten, readAndUpdated } from "./command-keys.ts";
import { millisecondsFromNow, readExpireTime, secondsFromNow, type TimeForm, timeForms } from "./expire-time.ts";
import { type Condition, conditionWords, isMet } from "./string-condition.ts";

/** A time among the options: the word at `index`, in this form. */
interface TimeOption {
  readonly form: TimeForm;
  readonly index: number;
}

interface SetOptions {
  readonly only: "if absent" | "if present" | Condition | undefined;
  readonly returnsOld: boolean;
  readonly expiry: TimeOption | "keep" | undefined;
}

const OVERWRITTEN: readonly KeyUse[] = [overwritten];

/** GET returns the value, and a comparison allows guessing it. */
export function setUses(words: readonly Bytes[]): readonly KeyUse[] {
  if (words.length <= 3) return OVERWRITTEN;
  const isRead = words.slice(3).some((word) => upperCase(word) === "GET" || conditionWords.has(upperCase(word)));
  return [isRead ? readAndUpdated : overwritten];
}

/** Whether SET may have a condition that reads the whole current value: some option begins with an I. */
export function mayCompare(words: readonly Bytes[]): boolean {
  for (let index = 3; index < words.length; index += 1)
    if (((words[index] as Bytes).charCodeAt(0) | 0x20) === 0x69) return true;
  return false;
}

export function set(call: Call): Reply {
  const { keyspace } = call;
  const key = call.arg(1);
  if (call.argCount === 3) {
    const { bytes } = call.value;
    if (bytes === undefined) putString(keyspace, key, call.storedWord(2));
    else putBytes(keyspace, key, bytes);
    keyspace.notify(events.set, key);
    return ok;
  }
  const { only, returnsOld, expiry } = readSetOptions(call);
  const atMs = typeof expiry === "object" ? readExpireTime(call, expiry.index, expiry.form) : undefined;
  const comparesValue = typeof only === "object";
  // GET and a comparison must fail on other types, so they read the value. NX and XX check only the key, and so does
  // KEEPTTL: the expiry of an expired key is not preserved.
  const old = returnsOld || comparesValue ? keyspace.readString(key) : undefined;
  const asksForKey = !returnsOld && !comparesValue && (only !== undefined || expiry === "keep");
  const isThere = old !== undefined || (asksForKey && keyspace.has(key));
  const mayWrite = comparesValue ? isMet(only, old) : only === undefined || isThere === (only === "if present");
  const oldReply = returnsOld && old !== undefined ? bulkOf(old) : nil;
  // Redis looks the key up for writing, which counts as a use; here only storing a value does.
  if (!comparesValue && (!mayWrite || expiry === "keep")) keyspace.use(key);
  if (!mayWrite) return oldReply;

  const value = call.storedWord(2);
  if (atMs !== undefined) putUntilAndNotify(keyspace, key, { value, atMs });
  else if (expiry === "keep") replaceAndNotify(keyspace, key, value);
  else putAndNotify(keyspace, key, value);
  return returnsOld ? oldReply : ok;
}

/** The options after the value, in any order: at most one time and one condition; the others may be repeated. */
function readSetOptions(call: Call): SetOptions {
  const { argCount } = call;
  let only: SetOptions["only"];
  let returnsOld = false;
  let expiry: SetOptions["expiry"];
  for (let i = 3; i < argCount; i += 1) {
    const word = call.word(i);
    const form = timeForms.get(word);
    const comparison = conditionWords.get(word);
    if (form !== undefined && i + 1 < argCount && mayFollow(expiry, form)) {
      i += 1;
      expiry = { form, index: i };
    } else if (comparison !== undefined && i + 1 < argCount && only === undefined) {
      i += 1;
      only = { comparison, operand: call.arg(i) };
    } else if (word === "NX" && (only === undefined || only === "if absent")) {
      only = "if absent";
    } else if (word === "XX" && (only === undefined || only === "if present")) {
      only = "if present";
    } else if (word === "KEEPTTL" && (expiry === undefined || expiry === "keep")) {
      expiry = "keep";
    } else if (word === "GET") {
      returnsOld = true;
    } else {
      throw syntaxError;
    }
  }
  return { only, returnsOld, expiry };
}

/** As in Redis, the same time option may be repeated, and the last one counts; no other time may follow. */
function mayFollow(expiry: TimeOption | "keep" | "remove" | undefined, form: TimeForm): boolean {
  return expiry === undefined || (typeof expiry === "object" && expiry.form === form);
}

export function setEx(call: Call): Reply {
  return setUntil(call, secondsFromNow);
}

export function psetEx(call: Call): Reply {
  return setUntil(call, millisecondsFromNow);
}

function setUntil(call: Call, form: TimeForm): Reply {
  const atMs = readExpireTime(call, 2, form);
  putUntilAndNotify(call.keyspace, call.arg(1), { value: call.storedWord(3), atMs });
  return ok;
}

/** Stores a string and sends its event. */
export function putAndNotify(keyspace: Keyspace, key: Bytes, value: StringValue): void {
  putString(keyspace, key, value);
  keyspace.notify(events.set, key);
}

function replaceAndNotify(keyspace: Keyspace, key: Bytes, value: StringValue): void {
  replaceString(keyspace, key, value);
  keyspace.notify(events.set, key);
}

function putUntilAndNotify(keyspace: Keyspace, key: Bytes, put: { value: StringValue; atMs: number }): void {
  putStringUntil(keyspace, key, put);
  keyspace.notify(events.set, key);
  keyspace.notify(events.expire, key);
}

export function setNx({ keyspace, arg, storedWord }: Call): Reply {
  const key = arg(1);
  if (keyspace.use(key)) return zero;
  putAndNotify(keyspace, key, storedWord(2));
  return one;
}

/** The largest number of pairs that Redis takes for one. */
const PAIR_COUNT_MAX = 2 ** 31 - 1;

/** MSETEX of Redis 8.4: all keys get the same expiry, and the condition is on all of them. */
export function msetEx(call: Call): Reply {
  const { keyspace, arg } = call;
  const pairCount = parseInteger(arg(1));
  if (pairCount === undefined || pairCount < 1 || pairCount > PAIR_COUNT_MAX) throw pairCountInvalid;
  const end = 2 + 2 * Number(pairCount);
  if (end > call.argCount) throw pairCountWrong;
  const { only, expiry } = readMsetExOptions(call, end);
  const atMs = typeof expiry === "object" ? readExpireTime(call, expiry.index, expiry.form) : undefined;
  for (let i = 2; only !== undefined && i < end; i += 2)
    if (keyspace.use(arg(i)) !== (only === "if present")) return zero;
  for (let i = 2; i < end; i += 2) {
    const key = arg(i);
    const value = stringFrom(arg(i + 1));
    // The expiry of an expired key is not preserved.
    if (expiry === "keep") keyspace.use(key);
    if (atMs !== undefined) putUntilAndNotify(keyspace, key, { value, atMs });
    else if (expiry === "keep") replaceAndNotify(keyspace, key, value);
    else putAndNotify(keyspace, key, value);
  }
  return one;
}

/** The options after the pairs, in any order, as those of SET. */
function readMsetExOptions(call: Call, from: number): Pick<SetOptions, "only" | "expiry"> {
  let only: "if absent" | "if present" | undefined;
  let expiry: SetOptions["expiry"];
  for (let i = from; i < call.argCount; i += 1) {
    const word = call.word(i);
    const form = timeForms.get(word);
    if (form !== undefined && i + 1 < call.argCount && mayFollow(expiry, form)) {
      i += 1;
      expiry = { form, index: i };
    } else if (word === "NX" && only !== "if present") {
      only = "if absent";
    } else if (word === "XX" && only !== "if absent") {
      only = "if present";
    } else if (word === "KEEPTTL" && (expiry === undefined || expiry === "keep")) {
      expiry = "keep";
    } else {
      throw syntaxError;
    }
  }
  return { only, expiry };
}

export function getSet({ keyspace, arg, storedWord }: Call): Reply {
  const key = arg(1);
  const old = keyspace.readString(key);
  const reply = old === undefined ? nil : bulkOf(old);
  putAndNotify(keyspace, key, storedWord(2));
  return reply;
}

export function getEx(call: Call): Reply {
  const { keyspace } = call;
  const key = call.arg(1);
  const expiry = readGetExOptions(call);
  const value = keyspace.readString(key);
  if (value === undefined) return nil;
  if (expiry === "remove") {
    const reply = bulkOf(value);
    if (keyspace.expiryOf(key) !== undefined) {
      clearExpiry(keyspace, key);
      keyspace.notify(events.persist, key);
    }
    return reply;
  }
  // Redis reads the time only if there is something to expire.
  const atMs = expiry === undefined ? undefined : readExpireTime(call, expiry.index, expiry.form);
  const reply = bulkOf(value);
  if (atMs !== undefined && atMs <= call.nowMs) {
    removeKey(keyspace, key);
    keyspace.notify(events.del, key);
  } else if (atMs !== undefined) {
    setExpiry(keyspace, key, atMs);
    keyspace.notify(events.expire, key);
  }
  return reply;
}

function readGetExOptions(call: Call): TimeOption | "remove" | undefined {
  const { argCount } = call;
  let expiry: TimeOption | "remove" | undefined;
  for (let i = 2; i < argCount; i += 1) {
    const word = call.word(i);
    const form = timeForms.get(word);
    if (form !== undefined && i + 1 < argCount && mayFollow(expiry, form)) {
      i += 1;
      expiry = { form, index: i };
    } else if (word === "PERSIST" && (expiry === undefined || expiry === "remove")) {
      expiry = "remove";
    } else {
      throw syntaxError;
    }
  }
  return expiry;
}
