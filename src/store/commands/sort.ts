/**
 * SORT and SORT_RO: the elements of a list, set or sorted set, ordered by their
 * own value or by the values of other keys. STORE stores the result as a list.
 *
 * A pattern names a key: its first `*` is replaced by the element, and the text
 * after `->` is the field of a hash. BY without a star keeps the order of the
 * elements.
 */
import { type Bytes, copyOf } from "../../kernel/bytes.ts";
import { type Call, firstKey, type Row } from "../command.ts";
import type { OperandCounts } from "../command-facts.ts";
import { notSortable, sortOptionDenied, syntaxError, wrongType } from "../errors.ts";
import type { Keyspace } from "../keyspace.ts";
import { removeKey } from "../mutations/generic.ts";
import { putList } from "../mutations/list.ts";
import { events } from "../observe/keyspace-events.ts";
import { ReplyBudget } from "../reply/budget.ts";
import type { Reply } from "../reply/reply.ts";
import { firstPlaces } from "../structures/first-places.ts";
import { LARGE_BYTES_MIN } from "../structures/large-string.ts";
import { parseFloat64 } from "../structures/numbers/number-text.ts";
import { HashValue } from "../values/hash.ts";
import { ListValue } from "../values/list.ts";
import { SetValue } from "../values/set.ts";
import { SortedSetValue } from "../values/sorted-set.ts";
import { bytesOf, isString, type StringValue } from "../values/string.ts";
import { optionIndexes, overwritten, read } from "./command-keys.ts";

export const sortRows: readonly Row[] = [
  {
    name: "SORT",
    summary: "Sorts elements and returns them, or stores them as a list",
    arity: -2,
    flags: ["write", "denyoom", "movablekeys"],
    categories: ["set", "sortedset", "list", "dangerous"],
    notifiesMisses: true,
    keys: { ...firstKey, stored: storedAt },
    keyUses: [read, overwritten],
    run: (call) => sort(call, { mayStore: true }),
  },
  {
    name: "SORT_RO",
    summary: "Sorts elements and returns them",
    arity: -2,
    flags: ["readonly", "movablekeys"],
    categories: ["set", "sortedset", "list", "dangerous"],
    keys: firstKey,
    // BY and GET read keys that the command does not name.
    isPowerfulWith: (words) => words.slice(2).some((word) => /^(?:by|get)$/i.test(word)),
    run: (call) => sort(call, { mayStore: false }),
  },
];

const operandCounts: OperandCounts = new Map([
  ["LIMIT", 2],
  ["BY", 1],
  ["GET", 1],
  ["STORE", 1],
]);

/** The index of the key of the last STORE. */
function storedAt(words: readonly Bytes[]): readonly number[] {
  const places = optionIndexes(words, { word: "STORE", operandCounts, from: 2 }).map((at) => at + 1);
  return places.filter((at) => at < words.length).slice(-1);
}

interface SortOptions {
  descending: boolean;
  alphabetic: boolean;
  start: number;
  /** Negative: all. */
  count: number;
  by: Bytes | undefined;
  /** BY without a star was given; as in Redis, a later BY does not change that. */
  unsorted: boolean;
  readonly gets: Bytes[];
  store: Bytes | undefined;
}

/** Redis requires this right too: for BY with a star, and for GET of anything but the element itself. */
function checkUnnamedKeys({ by, gets }: SortOptions, call: Call): void {
  const isBy = by?.includes("*") === true;
  const isGet = gets.some((get) => get !== "#");
  if (!(isBy || isGet) || call.mayReadAllKeys) return;
  throw sortOptionDenied(isBy ? "BY" : "GET");
}

function sort(call: Call, options: { mayStore: boolean }): Reply {
  const { keyspace, arg } = call;
  const order = readOptions(call, options);
  checkUnnamedKeys(order, call);
  const key = arg(1);
  const value = keyspace.find(key);
  if (
    value !== undefined &&
    !(value instanceof ListValue || value instanceof SetValue || value instanceof SortedSetValue)
  )
    throw wrongType;
  const mustNotDependOnChance = order.store !== undefined || call.caller.isScript === true;
  const sorted = value === undefined ? [] : inOrder(keyspace, value, { ...order, mustNotDependOnChance });
  const answer = take(keyspace, sorted, order);
  if (order.store === undefined) return answer;
  if (answer.length > 0) {
    // A missing value is stored as an empty element. Copied, since an element may be part of a longer string.
    const elements = answer.map((element) => (element === null ? "" : copyOf(element, 0, element.length)));
    putList(keyspace, order.store, elements);
    keyspace.notify(events.sortstore, order.store);
  } else if (keyspace.has(order.store)) {
    removeKey(keyspace, order.store);
    keyspace.notify(events.del, order.store);
  }
  return answer.length;
}

function readOptions(call: Call, { mayStore }: { mayStore: boolean }): SortOptions {
  const { arg, word, argCount } = call;
  const order: SortOptions = {
    descending: false,
    alphabetic: false,
    start: 0,
    count: -1,
    by: undefined,
    unsorted: false,
    gets: [],
    store: undefined,
  };
  for (let i = 2; i < argCount; i += 1) {
    const option = word(i);
    const left = argCount - i - 1;
    if (option === "ASC") {
      order.descending = false;
    } else if (option === "DESC") {
      order.descending = true;
    } else if (option === "ALPHA") {
      order.alphabetic = true;
    } else if (option === "LIMIT" && left >= 2) {
      order.start = call.count(i + 1);
      order.count = call.count(i + 2);
      i += 2;
    } else if (option === "STORE" && left >= 1 && mayStore) {
      i += 1;
      order.store = arg(i);
    } else if (option === "BY" && left >= 1) {
      i += 1;
      order.by = arg(i);
      if (!arg(i).includes("*")) order.unsorted = true;
    } else if (option === "GET" && left >= 1) {
      i += 1;
      order.gets.push(arg(i));
    } else {
      throw syntaxError;
    }
  }
  return order;
}

/** Up to one in this many elements are selected; for more, all are sorted. */
const SELECTED_SHARE = 8;

/** The elements within LIMIT, in the requested order. Throws `notSortable`. */
function inOrder(
  keyspace: Keyspace,
  value: ListValue | SetValue | SortedSetValue,
  order: SortOptions & { readonly mustNotDependOnChance: boolean },
): Bytes[] {
  const length = value instanceof ListValue ? value.length : value.size;
  new ReplyBudget().expect(length);
  const { from, to } = limitsOf(order, length);
  let { by, alphabetic } = order;
  if (order.unsorted) {
    // As Redis: a stored result, and that of a script, must not depend on the internal order of a set.
    if (!(value instanceof SetValue) || !order.mustNotDependOnChance)
      return elementsOf(value, { from, to, descending: order.descending });
    by = undefined;
    alphabetic = true;
  }
  const elements = elementsOf(value, { from: 0, to: length, descending: false });
  const weights = by === undefined ? elements : weightsOf(keyspace, elements, by);
  const compare = alphabetic ? byText(weights) : byNumber(elements, weights);
  const inDirection: Compare = order.descending ? (one, other) => compare(other, one) : compare;
  // If LIMIT requests few of many elements, only those are ordered.
  const indexes =
    to * SELECTED_SHARE <= length
      ? firstPlaces(length, to, inDirection)
      : elements.map((_, index) => index).sort(inDirection);
  return indexes.slice(from, to).map((index) => elements[index] as Bytes);
}

/** The values that the pattern finds for each element. Throws `replyTooLarge`. */
function weightsOf(keyspace: Keyspace, elements: readonly Bytes[], by: Bytes): (Bytes | undefined)[] {
  // A long value is copied for each element that leads to it, even if it is the same one for all.
  const budget = new ReplyBudget();
  return elements.map((element) => {
    const weight = findByPattern(keyspace, by, element);
    if (weight === undefined) return undefined;
    if (weight.length >= LARGE_BYTES_MIN) budget.take(weight.length);
    return bytesOf(weight);
  });
}

/** The range of LIMIT in this many elements. */
function limitsOf({ start, count }: SortOptions, length: number): { from: number; to: number } {
  const from = Math.min(Math.max(start, 0), length);
  const to = count < 0 ? length : Math.min(from + count, length);
  return { from, to };
}

/** A range of the elements in their own order, which for a set is internal. */
function elementsOf(
  value: ListValue | SetValue | SortedSetValue,
  { from, to, descending }: { from: number; to: number; descending: boolean },
): Bytes[] {
  const elements: Bytes[] = [];
  if (from >= to) return elements;
  if (value instanceof SetValue) {
    for (let place = from; place < to; place += 1) elements.push(value.memberAt(place));
    return elements;
  }
  if (value instanceof ListValue) {
    const range = descending ? { from: value.length - to, to: value.length - from } : { from, to };
    value.visit({ ...range, backwards: descending }, (element) => elements.push(element) > 0);
    return elements;
  }
  const last = value.size - 1;
  for (let rank = from; rank < to; rank += 1) elements.push(value.memberAtRank(descending ? last - rank : rank));
  return elements;
}

type Compare = (one: number, other: number) => number;

/** Equal numbers are ordered by their elements, and a missing number is 0, as in Redis. */
function byNumber(elements: readonly Bytes[], weights: readonly (Bytes | undefined)[]): Compare {
  const numbers = new Float64Array(weights.length);
  for (const [place, weight] of weights.entries()) numbers[place] = weight === undefined ? 0 : numberOf(weight);
  return (one, other) =>
    (numbers[one] as number) - (numbers[other] as number) ||
    ((numbers[one] as number) === (numbers[other] as number)
      ? compareBytes(elements[one] as Bytes, elements[other] as Bytes)
      : 0);
}

/** A missing text sorts first. */
function byText(weights: readonly (Bytes | undefined)[]): Compare {
  return (one, other) => {
    const oneWeight = weights[one];
    const otherWeight = weights[other];
    if (oneWeight === undefined || otherWeight === undefined)
      return oneWeight === otherWeight ? 0 : oneWeight === undefined ? -1 : 1;
    return compareBytes(oneWeight, otherWeight);
  };
}

function compareBytes(one: Bytes, other: Bytes): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

/** Smaller doubles have lost digits, which C's `strtod` reports as an error. */
const NORMAL_MIN = 2 ** -1022;

/** The number of a C string as `strtod` reads it: up to the first zero byte, without leading spaces. */
function numberOf(weight: Bytes): number {
  return readSmallInteger(weight) ?? readNumber(weight);
}

/** A double represents this many digits exactly. */
const EXACT_DIGITS = 15;

/** Reads the usual weights without making a string of them. */
function readSmallInteger(weight: Bytes): number | undefined {
  const isNegative = weight.charCodeAt(0) === 0x2d;
  const first = isNegative ? 1 : 0;
  if (weight.length === first || weight.length - first > EXACT_DIGITS) return undefined;
  let number = 0;
  for (let place = first; place < weight.length; place += 1) {
    const digit = weight.charCodeAt(place) - 0x30;
    if (digit < 0 || digit > 9) return undefined;
    number = number * 10 + digit;
  }
  return isNegative ? -number : number;
}

function readNumber(weight: Bytes): number {
  const end = weight.indexOf("\x00");
  const text = end < 0 ? weight : weight.slice(0, end);
  if (text === "") return 0;
  const number = parseFloat64(text.replace(/^[ \t-\r]+/, ""));
  if (number === undefined || (number !== 0 && Math.abs(number) < NORMAL_MIN)) throw notSortable;
  return number;
}

/** The result: the elements, or the values that the patterns of GET find for each. */
function take(keyspace: Keyspace, elements: readonly Bytes[], { gets }: SortOptions): (Bytes | null)[] {
  const budget = new ReplyBudget();
  budget.expect(elements.length * Math.max(1, gets.length));
  const answer: (Bytes | null)[] = [];
  for (const element of elements) {
    if (gets.length === 0) {
      budget.take(element.length);
      answer.push(element);
    }
    for (const pattern of gets) {
      const found = findByPattern(keyspace, pattern, element);
      budget.take(found?.length ?? 0);
      answer.push(found === undefined ? null : bytesOf(found));
    }
  }
  return answer;
}

/** The string (not copied yet) or hash field that the pattern finds, or undefined. `#` is the element itself. */
function findByPattern(keyspace: Keyspace, pattern: Bytes, element: Bytes): StringValue | undefined {
  if (pattern === "#") return element;
  const star = pattern.indexOf("*");
  if (star < 0) return undefined;
  const arrow = pattern.indexOf("->", star + 1);
  const hasField = arrow >= 0 && arrow + 2 < pattern.length;
  const key = pattern.slice(0, star) + element + pattern.slice(star + 1, hasField ? arrow : undefined);
  const value = keyspace.find(key);
  if (!hasField) return isString(value) ? value : undefined;
  return value instanceof HashValue ? keyspace.readHash(key)?.get(pattern.slice(arrow + 2)) : undefined;
}
