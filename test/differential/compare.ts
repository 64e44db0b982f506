/**
 * When two replies are equal. Our reply is converted to RESP2, which is
 * the form of the replies of the real server.
 *
 * Most replies must be equal byte by byte, including error texts. Where Redis
 * promises no order, or returns a time that advances during the test, a family names
 * one of the comparisons below, or its own comparison, which checks a property.
 */

import { TIME_MS_MAX } from "../../src/kernel/frame.ts";
import type { Reply } from "../../src/store/reply/reply.ts";
import { doubleOfRedis70 } from "../../src/store/structures/numbers/redis-double.ts";
import type { Command } from "./programs.ts";
import type { RawReply } from "./redis-process.ts";

/** Two answers to the same command. */
export interface Exchange {
  readonly command: Command;
  readonly ours: RawReply;
  readonly theirs: RawReply;
}

/** True if the answers agree. */
export type Comparison = (exchange: Exchange) => boolean;

/** Real time may pass between our answer and that of Redis: a busy machine may pause for a second. */
const TIME_TOLERANCE_MS = 20_000;

export const exact: Comparison = ({ ours, theirs }) => isSame(ours, theirs);

/** An array in any order. */
export const asMultiset: Comparison = ({ ours, theirs }) => haveSameGroups(ours, theirs, 1);

/** An array of pairs, flat, in any order: HGETALL. */
export const asPairs: Comparison = ({ ours, theirs }) => haveSameGroups(ours, theirs, 2);

/** Seconds left, or the second of an expiry. */
export const asSeconds: Comparison = (exchange) => isNear(exchange, 1_000);

/** Milliseconds left, or the millisecond of an expiry. */
export const asMilliseconds: Comparison = (exchange) => isNear(exchange, 1);

/**
 * Times may differ by the time that has passed. A time after the latest one that we store
 * is stored as that latest time (skip list: "expiry beyond the year 10889").
 */
function isNear({ ours, theirs }: Exchange, unitMs: number): boolean {
  if (isSame(ours, theirs)) return true;
  if (!isTime(ours) || !isTime(theirs)) return false;
  const oursMs = Number(ours) * unitMs;
  const theirsMs = Number(theirs) * unitMs;
  if (theirsMs > TIME_MS_MAX / 2 && oursMs > TIME_MS_MAX / 2) return theirsMs >= oursMs - TIME_TOLERANCE_MS;
  return Math.abs(oursMs - theirsMs) <= TIME_TOLERANCE_MS;
}

function isTime(reply: RawReply): reply is number | bigint {
  return (typeof reply === "number" || typeof reply === "bigint") && reply >= 0;
}

/** A reply as RESP2 encodes it. */
export function rawReply(reply: Reply): RawReply {
  if (Buffer.isBuffer(reply)) return reply.latin1Slice();
  if (typeof reply === "bigint") return Number.isSafeInteger(Number(reply)) ? Number(reply) : reply;
  if (typeof reply !== "object" || reply === null) return reply;
  if (!("kind" in reply)) return reply.map(rawReply);
  switch (reply.kind) {
    case "simple":
    case "nil array":
      return reply;
    case "error":
      return { kind: "error", error: { text: errorLine(reply.error.text) } };
    case "double":
      return reply.text ?? doubleOfRedis70(reply.value);
    case "map":
      return reply.pairs.flatMap(([name, value]) => [rawReply(name), rawReply(value)]);
    case "pairs":
      return reply.pairs.map((pair) => pair.map(rawReply));
    case "set":
      return reply.members.map(rawReply);
    case "push":
    case "flat pairs":
      return reply.items.map(rawReply);
    case "array in resp3":
      return rawReply(reply.elsewhere);
    case "boolean":
      return reply.value ? 1 : 0;
    case "verbatim":
      return reply.text;
    case "later":
      throw new Error("the reply is not available yet");
    default: {
      const never: never = reply;
      return never;
    }
  }
}

/** An error as it is sent: it is one line, so Redis drops line breaks at its end and sends spaces for the others. */
export function errorLine(text: string): string {
  return text.replace(/[\r\n]+$/, "").replace(/[\r\n]/g, " ");
}

export function isSame(one: RawReply, other: RawReply): boolean {
  if (typeof one !== "object" || one === null || typeof other !== "object" || other === null) return one === other;
  if (isList(one) || isList(other)) {
    if (!isList(one) || !isList(other) || one.length !== other.length) return false;
    for (let i = 0; i < one.length; i += 1) if (!isSame(one[i] as RawReply, other[i] as RawReply)) return false;
    return true;
  }
  if (one.kind !== other.kind) return false;
  if (one.kind === "simple") return other.kind === "simple" && one.text === other.text;
  if (one.kind === "error") return other.kind === "error" && one.error.text === other.error.text;
  return true;
}

/** Whether arrays have the same groups of items, in any order; whether other values are the same. */
function haveSameGroups(ours: RawReply, theirs: RawReply, groupLength: number): boolean {
  // Most have the same order.
  if (isSame(ours, theirs)) return true;
  const [some, others] = [textsOf(ours, groupLength), textsOf(theirs, groupLength)];
  if (some === undefined || others === undefined) return isSame(sorted(ours, groupLength), sorted(theirs, groupLength));
  return some.length === others.length && some.every((text, index) => text === others[index]);
}

/** A text for each group of strings, which no other group has, in order; undefined if an item is not a string. */
function textsOf(reply: RawReply, groupLength: number): readonly string[] | undefined {
  if (!isList(reply) || reply.length % groupLength > 0) return undefined;
  if (!reply.every((item) => typeof item === "string")) return undefined;
  if (groupLength === 1) return reply.toSorted();
  const texts: string[] = [];
  for (let i = 0; i < reply.length; i += groupLength)
    texts.push(reply.slice(i, i + groupLength).reduce((text, item) => `${text}${item.length}:${item}`, ""));
  return texts.sort();
}

/** The items of an array in groups of a given size, sorted as text; any other value unchanged. */
function sorted(reply: RawReply, groupLength: number): RawReply {
  if (!isList(reply)) return reply;
  const groups: (readonly RawReply[])[] = [];
  for (let i = 0; i < reply.length; i += groupLength) groups.push(reply.slice(i, i + groupLength));
  const looks = new Map(groups.map((group) => [group, showReply(group, Number.POSITIVE_INFINITY)]));
  return groups.toSorted((one, other) => ((looks.get(one) ?? "") < (looks.get(other) ?? "") ? -1 : 1)).flat();
}

export function isList(reply: RawReply): reply is readonly RawReply[] {
  return Array.isArray(reply);
}

export function isError(reply: RawReply): boolean {
  return typeof reply === "object" && reply !== null && "error" in reply;
}

/** A reply as readable text, cut to a maximum length. */
export function showReply(reply: RawReply, lengthMax = 400): string {
  const text = show(reply);
  return text.length <= lengthMax ? text : `${text.slice(0, lengthMax)}… (${text.length} characters)`;
}

function show(reply: RawReply): string {
  if (reply === null) return "(nil)";
  if (typeof reply === "string") return JSON.stringify(reply);
  if (typeof reply !== "object") return `(integer) ${reply}`;
  if (isList(reply)) return `[${reply.map(show).join(", ")}]`;
  if (reply.kind === "simple") return reply.text;
  return reply.kind === "error" ? `(error) ${reply.error.text}` : "(nil array)";
}

/** The kind of a reply, for counting the kinds that occurred. Each error text is a separate kind. */
export function replyKind(reply: RawReply): string {
  if (reply === null) return "nil";
  if (typeof reply === "string") return reply === "" ? "empty string" : "string";
  if (typeof reply !== "object") return typeof reply === "bigint" ? "long integer" : "integer";
  if (isList(reply)) return reply.length === 0 ? "empty array" : "array";
  if (reply.kind === "simple") return reply.text;
  return reply.kind === "error" ? reply.error.text : "nil array";
}
