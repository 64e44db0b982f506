/**
 * The expiry of single fields of a hash. Redis has these commands since 7.4 and
 * 8.0; options, codes and texts are the same. As in its later versions, options
 * may also follow the fields. NX and XX of HSETEX are those of Valkey.
 *
 * Most of them return an array with a code for each field; a missing key is a
 * hash without fields, so all its codes are FIELD_MISSING.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import { type Call, firstKey, type Row } from "../command.ts";
import {
  type CommandError,
  expiringFieldCountNotPositive,
  fieldCountInvalid,
  fieldCountMismatch,
  fieldCountNotPositive,
  fieldsArgumentMissing,
  fieldsMissing,
  fnxAndFxx,
  negativeExpire,
  nxAndXx,
  severalExpireTimes,
  unknownArgument,
  wrongArity,
} from "../errors.ts";
import { clearFieldExpiry, putField, removeField, replaceField, setFieldExpiry } from "../mutations/hash.ts";
import { events, type KeyspaceEvent } from "../observe/keyspace-events.ts";
import { bulk, one, type Reply, zero } from "../reply/reply.ts";
import { parseInteger } from "../structures/numbers/number-text.ts";
import { taken, updated } from "./command-keys.ts";
import {
  millisecondsFromNow,
  millisecondsSinceEpoch,
  readMoment,
  secondsFromNow,
  secondsOf,
  secondsSinceEpoch,
  type TimeForm,
  timeForms,
} from "./expire-time.ts";

const FIELD_MISSING = -2;
const NO_EXPIRY = -1;
const CONDITION_FAILED = 0;
const DONE = 1;
const REMOVED_AT_ONCE = 2;

export const hashExpiryRows: readonly Row[] = [
  expiring("HEXPIRE", "Sets the expiry of fields in seconds", secondsFromNow),
  expiring("HEXPIREAT", "Sets the expiry of fields to a Unix time in seconds", secondsSinceEpoch),
  reporting("HEXPIRETIME", "Returns the expiry of fields as Unix times in seconds", secondsOf),
  {
    name: "HGETDEL",
    summary: "Removes fields and returns their values",
    arity: -5,
    flags: ["write", "fast"],
    keys: firstKey,
    keyUses: [taken],
    run: hgetdel,
  },
  {
    name: "HGETEX",
    summary: "Returns the values of fields and sets or removes their expiry",
    arity: -5,
    flags: ["write", "fast"],
    keys: firstKey,
    run: hgetex,
  },
  {
    name: "HPERSIST",
    summary: "Removes the expiry of fields",
    arity: -5,
    flags: ["write", "fast"],
    keys: firstKey,
    keyUses: [updated],
    run: hpersist,
  },
  expiring("HPEXPIRE", "Sets the expiry of fields in milliseconds", millisecondsFromNow),
  expiring("HPEXPIREAT", "Sets the expiry of fields to a Unix time in milliseconds", millisecondsSinceEpoch),
  reporting("HPEXPIRETIME", "Returns the expiry of fields as Unix times in milliseconds", (atMs) => atMs),
  reporting("HPTTL", "Returns the time to live of fields in milliseconds", (atMs, nowMs) => atMs - nowMs),
  {
    name: "HSETEX",
    summary: "Sets fields and their expiry",
    arity: -6,
    flags: ["write", "denyoom", "fast"],
    keys: firstKey,
    keyUses: [updated],
    run: hsetex,
  },
  reporting("HTTL", "Returns the time to live of fields in seconds", (atMs, nowMs) =>
    Math.ceil((atMs - nowMs) / 1_000),
  ),
];

/** A row that sets the expiry of fields, given in this form. */
function expiring(name: string, summary: string, form: TimeForm): Row {
  return {
    name,
    summary,
    arity: -6,
    flags: ["write", "denyoom", "fast"],
    keys: firstKey,
    keyUses: [updated],
    run: (call) => hexpire(call, form),
  };
}

/** A row that returns the expiry of fields in its own unit. */
function reporting(name: string, summary: string, report: (atMs: number, nowMs: number) => number): Row {
  return {
    name,
    summary,
    arity: -5,
    flags: ["readonly", "fast"],
    keys: firstKey,
    run: (call) => expiriesOf(call, (atMs) => report(atMs, call.nowMs)),
  };
}

/** Whether NX, XX, GT and LT allow the new expiry, given the old one (undefined: none). */
type ExpiryCondition = (oldMs: number | undefined, newMs: number) => boolean;

const conditions: ReadonlyMap<string, ExpiryCondition> = new Map<string, ExpiryCondition>([
  ["NX", (oldMs) => oldMs === undefined],
  ["XX", (oldMs) => oldMs !== undefined],
  ["GT", (oldMs, newMs) => oldMs !== undefined && newMs > oldMs],
  ["LT", (oldMs, newMs) => oldMs === undefined || newMs < oldMs],
]);

function hexpire(call: Call, form: TimeForm): Reply {
  const { keyspace, arg, word } = call;
  const key = arg(1);
  const hash = keyspace.readHash(key);
  const atMs = readFieldMoment(call, 2, form);
  let isWanted: ExpiryCondition | undefined;
  const takeOption = (at: number): number => {
    const named = isWanted === undefined ? conditions.get(word(at)) : undefined;
    isWanted ??= named;
    return named === undefined ? 0 : 1;
  };
  const fields = readFields(call, { from: 3, notPositive: expiringFieldCountNotPositive, takeOption });
  const codes = codesOf(call, fields, (field) => {
    if (hash?.has(field) !== true) return FIELD_MISSING;
    if (isWanted !== undefined && !isWanted(hash.expiryOf(field), atMs)) return CONDITION_FAILED;
    return expireField(call, key, { field, atMs }) ? REMOVED_AT_ONCE : DONE;
  });
  if (codes.includes(DONE)) keyspace.notify(events.hexpire, key);
  if (codes.includes(REMOVED_AT_ONCE)) keyspace.notifyTaken(events.hdel, key);
  return codes;
}

function hpersist(call: Call): Reply {
  const { keyspace, arg } = call;
  const key = arg(1);
  const hash = keyspace.readHash(key);
  const codes = codesOf(call, readFields(call, NO_OPTIONS), (field) => {
    if (hash?.has(field) !== true) return FIELD_MISSING;
    if (hash.expiryOf(field) === undefined) return NO_EXPIRY;
    clearFieldExpiry(keyspace, key, field);
    return DONE;
  });
  if (codes.includes(DONE)) keyspace.notify(events.hpersist, key);
  return codes;
}

function expiriesOf(call: Call, report: (atMs: number) => number): Reply {
  const hash = call.keyspace.readHash(call.arg(1));
  return codesOf(call, readFields(call, NO_OPTIONS), (field) => {
    if (hash?.has(field) !== true) return FIELD_MISSING;
    const atMs = hash.expiryOf(field);
    return atMs === undefined ? NO_EXPIRY : report(atMs);
  });
}

function hgetdel(call: Call): Reply {
  const { keyspace, arg } = call;
  const key = arg(1);
  const hash = keyspace.readHash(key);
  const { first, end } = readFields(call, NO_OPTIONS);
  const values: Reply[] = [];
  let isChanged = false;
  for (let i = first; i < end; i += 1) {
    const field = arg(i);
    const value = hash?.get(field);
    values.push(bulk(value));
    if (value === undefined) continue;
    removeField(keyspace, key, field);
    isChanged = true;
  }
  if (isChanged) keyspace.notifyTaken(events.hdel, key);
  return values;
}

function hgetex(call: Call): Reply {
  const { keyspace, arg, word, argCount } = call;
  const key = arg(1);
  const hash = keyspace.readHash(key);
  let persists = false;
  let atMs: number | undefined;
  const takeOption = (at: number): number => {
    if (persists || atMs !== undefined) return 0;
    persists = word(at) === "PERSIST";
    const form = timeForms.get(word(at));
    if (form === undefined || at + 1 === argCount) return persists ? 1 : 0;
    atMs = readFieldMoment(call, at + 1, form);
    return 2;
  };
  const { first, end } = readFields(call, { ...NO_OPTIONS, takeOption });
  const values: Reply[] = [];
  let change: KeyspaceEvent | undefined;
  for (let i = first; i < end; i += 1) {
    const field = arg(i);
    const value = hash?.get(field);
    values.push(bulk(value));
    if (value === undefined) continue;
    if (atMs !== undefined) {
      change = expireField(call, key, { field, atMs }) ? events.hdel : events.hexpire;
    } else if (persists && hash?.expiryOf(field) !== undefined) {
      clearFieldExpiry(keyspace, key, field);
      change = events.hpersist;
    }
  }
  if (change !== undefined) keyspace.notifyTaken(change, key);
  return values;
}

function hsetex(call: Call): Reply {
  const { keyspace, arg } = call;
  const key = arg(1);
  const hash = keyspace.readHash(key);
  const { first, end, wantsKey, wanted, keepsExpiry, atMs } = readSetOptions(call);
  if (wantsKey !== undefined && (hash !== undefined) !== wantsKey) return zero;
  if (wanted !== undefined) {
    for (let i = first; i < end; i += 2) if ((hash?.has(arg(i)) === true) !== (wanted === "all")) return zero;
  }
  let isRemoved = false;
  for (let i = first; i < end; i += 2) {
    const pair = { field: arg(i), value: arg(i + 1) };
    if (keepsExpiry) {
      replaceField(keyspace, key, pair);
    } else {
      putField(keyspace, key, pair);
      if (atMs !== undefined) isRemoved = expireField(call, key, { field: pair.field, atMs });
    }
  }
  keyspace.notify(events.hset, key);
  if (isRemoved) keyspace.notifyTaken(events.hdel, key);
  else if (atMs !== undefined) keyspace.notify(events.hexpire, key);
  return one;
}

interface SetOptions {
  /** The index of the first field; its value and further pairs follow up to `end`. */
  readonly first: number;
  readonly end: number;
  /** Whether the key must exist, or must not. */
  readonly wantsKey: boolean | undefined;
  /** Which of the fields must exist. */
  readonly wanted: "all" | "none" | undefined;
  readonly keepsExpiry: boolean;
  readonly atMs: number | undefined;
}

/** Reads the options of HSETEX in any order. */
function readSetOptions(call: Call): SetOptions {
  const { arg, word, argCount, command } = call;
  let place: { readonly first: number; readonly end: number } | undefined;
  let wantsKey: boolean | undefined;
  let wanted: SetOptions["wanted"];
  let keepsExpiry = false;
  let atMs: number | undefined;
  for (let i = 2; i < argCount; i += 1) {
    const option = word(i);
    const form = timeForms.get(option);
    if (option === "FIELDS" && place === undefined) {
      if (i + 3 >= argCount) throw wrongArity(command.name);
      const count = readFieldCount(arg(i + 1), fieldCountInvalid);
      place = { first: i + 2, end: i + 2 + 2 * count };
      if (place.end > argCount) throw wrongArity(command.name);
      i = place.end - 1;
    } else if (option === "NX" || option === "XX") {
      if (wantsKey !== undefined) throw nxAndXx;
      wantsKey = option === "XX";
    } else if (option === "FNX" || option === "FXX") {
      if (wanted !== undefined) throw fnxAndFxx;
      wanted = option === "FNX" ? "none" : "all";
    } else if (option === "KEEPTTL" || form !== undefined) {
      if (keepsExpiry || atMs !== undefined) throw severalExpireTimes;
      if (form === undefined) {
        keepsExpiry = true;
        continue;
      }
      i += 1;
      if (i === argCount) break;
      atMs = readFieldMoment(call, i, form);
    } else {
      // After the fields it is rather one word of a pair too many.
      throw place === undefined ? unknownArgument(arg(i)) : wrongArity(command.name);
    }
  }
  if (place === undefined) throw fieldsArgumentMissing;
  return { ...place, wantsKey, wanted, keepsExpiry, atMs };
}

/** Sets the expiry of a field, or removes the field if the expiry is not in the future. True if it was removed. */
function expireField(call: Call, key: Bytes, expiry: { field: Bytes; atMs: number }): boolean {
  if (expiry.atMs <= call.nowMs) {
    removeField(call.keyspace, key, expiry.field);
    return true;
  }
  setFieldExpiry(call.keyspace, key, expiry);
  return false;
}

/**
 * The time in the word at `index`, in ms since the epoch, with the same upper bound as that of a key. Throws
 * `notInteger`, `negativeExpire` and `invalidExpire`.
 */
function readFieldMoment(call: Call, index: number, form: TimeForm): number {
  if (call.integer(index) < 0) throw negativeExpire;
  return readMoment(call, index, form);
}

/** The indexes of the first field and of the word after the last one. */
interface FieldPlaces {
  readonly first: number;
  readonly end: number;
}

interface FieldsForm {
  /** The index of the first word after those that every call has. */
  readonly from: number;
  readonly notPositive: CommandError;
  /**
   * Reads the option at an index and returns the number of its words, 0 if it is not an option. Absent if the command
   * has no options.
   */
  readonly takeOption?: (at: number) => number;
}

const NO_OPTIONS: FieldsForm = { from: 2, notPositive: fieldCountNotPositive };

/** Reads `FIELDS n` and n fields, with options before and after them. */
function readFields({ arg, word, argCount }: Call, form: FieldsForm): FieldPlaces {
  const { notPositive, takeOption = () => 0 } = form;
  let at = form.from;
  for (; at < argCount && word(at) !== "FIELDS"; ) {
    const words = takeOption(at);
    if (words === 0) throw fieldsMissing;
    at += words;
  }
  if (at >= argCount) throw fieldsMissing;
  const count = readFieldCount(at + 1 < argCount ? arg(at + 1) : "", notPositive);
  const first = at + 2;
  const end = first + count;
  if (end > argCount) throw fieldCountMismatch;
  for (at = end; at < argCount; ) {
    const words = takeOption(at);
    if (words === 0) throw fieldCountMismatch;
    at += words;
  }
  return { first, end };
}

function readFieldCount(text: Bytes, notPositive: CommandError): number {
  const count = parseInteger(text);
  if (count === undefined || count < 1) throw notPositive;
  return Number(count);
}

/** The codes of the fields. A repeated field has a code for each occurrence, in order. */
function codesOf({ arg }: Call, { first, end }: FieldPlaces, codeOf: (field: Bytes) => number): readonly number[] {
  const codes: number[] = [];
  for (let i = first; i < end; i += 1) codes.push(codeOf(arg(i)));
  return codes;
}
