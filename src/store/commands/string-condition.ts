/**
 * The conditions of SET and DELEX on the current value (Redis 8.4): IFEQ and
 * IFNE compare the value itself, IFDEQ and IFDNE its digest. DELIFEQ (Valkey 9)
 * is DELEX with IFEQ.
 *
 * For SET a missing key meets the negative conditions, and is created; DELEX has
 * nothing to delete and does not check.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import type { Call } from "../command.ts";
import { conditionNeedsString, digestLength, unknownCondition, wrongArity } from "../errors.ts";
import { removeKey } from "../mutations/generic.ts";
import { events } from "../observe/keyspace-events.ts";
import { nil, one, type Reply, zero } from "../reply/reply.ts";
import { xxh3Hex } from "../structures/hashing/xxh3.ts";
import { bytesOf, isString, type StringValue } from "../values/string.ts";

export interface Comparison {
  readonly of: "value" | "digest";
  readonly wants: "equal" | "different";
}

export const conditionWords: ReadonlyMap<string, Comparison> = new Map([
  ["IFEQ", { of: "value", wants: "equal" }],
  ["IFNE", { of: "value", wants: "different" }],
  ["IFDEQ", { of: "digest", wants: "equal" }],
  ["IFDNE", { of: "digest", wants: "different" }],
] as const);

export interface Condition {
  readonly comparison: Comparison;
  readonly operand: Bytes;
}

/** The number of hex digits of a digest. */
const DIGEST_LENGTH = 16;

/** Whether the current value meets the condition. Throws `digestLength` if there is a value to compare. */
export function isMet({ comparison, operand }: Condition, value: StringValue | undefined): boolean {
  const isEqual =
    value !== undefined && (comparison.of === "value" ? isSame(value, operand) : hasDigest(value, operand));
  return isEqual === (comparison.wants === "equal");
}

function isSame(value: StringValue, bytes: Bytes): boolean {
  return value.length === bytes.length && bytesOf(value) === bytes;
}

/** Redis checks only the length of a digest: characters that are not hex digits never match. */
function hasDigest(value: StringValue, digest: Bytes): boolean {
  if (digest.length !== DIGEST_LENGTH) throw digestLength;
  return digestOf(value) === digest.toLowerCase();
}

function digestOf(value: StringValue): Bytes {
  return typeof value === "string" ? xxh3Hex(value) : value.digest(xxh3Hex);
}

export function digest({ keyspace, arg }: Call): Reply {
  const value = keyspace.readString(arg(1));
  return value === undefined ? nil : digestOf(value);
}

export function delIfEq({ keyspace, arg }: Call): Reply {
  const key = arg(1);
  const value = keyspace.readString(key);
  if (value === undefined || !isSame(value, arg(2))) return zero;
  removeKey(keyspace, key);
  keyspace.notify(events.del, key);
  return one;
}

export function delEx({ keyspace, arg, word, argCount, command }: Call): Reply {
  // The condition and its operand come together or not at all.
  if (argCount !== 2 && argCount !== 4) throw wrongArity(command.name);
  const key = arg(1);
  const value = keyspace.find(key);
  if (value === undefined) return zero;
  if (argCount === 4) {
    if (!isString(value)) throw conditionNeedsString;
    const comparison = conditionWords.get(word(2));
    if (comparison === undefined) throw unknownCondition;
    if (!isMet({ comparison, operand: arg(3) }, value)) return zero;
  }
  removeKey(keyspace, key);
  keyspace.notify(events.del, key);
  return one;
}
