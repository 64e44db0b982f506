/**
 * List commands. A list has an order and two ends, and exists while it has an
 * element. Indexes count from 0 at the left and from -1 at the right.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import { type Call, countedKeys, family, firstKey, firstTwoKeys } from "../command.ts";
import {
  countNegative,
  indexOutOfRange,
  maxLengthNegative,
  noSuchKey,
  notBetween,
  outOfRange,
  rankZero,
  syntaxError,
  wrongArity,
} from "../errors.ts";
import type { Keyspace } from "../keyspace.ts";
import {
  type End,
  insertElement,
  moveElement,
  popElement,
  popElements,
  pushElements,
  removeElements,
  setElement,
  trimList,
} from "../mutations/list.ts";
import { events } from "../observe/keyspace-events.ts";
import { ReplyBudget } from "../reply/budget.ts";
import { bulk, emptyArray, nil, nilArray, ok, type Reply, zero } from "../reply/reply.ts";
import { INTEGER_MAX } from "../structures/numbers/number-text.ts";
import type { ListValue } from "../values/list.ts";
import { inserted, looked, reduced, taken, updated } from "./command-keys.ts";
import { countFromZeroOr, readPopWords } from "./pop-words.ts";

export const listCommands = family("list", [
  {
    name: "LINDEX",
    summary: "Returns the element at an index",
    arity: 3,
    flags: ["readonly"],
    keys: firstKey,
    run: ({ keyspace, arg, count }) => {
      const list = keyspace.readList(arg(1));
      // As Redis: if the key does not exist, the index is not checked.
      if (list === undefined) return nil;
      const index = indexFromLeft(list, count(2));
      return index >= 0 && index < list.length ? bulk(list.at(index)) : nil;
    },
  },
  {
    name: "LINSERT",
    summary: "Inserts an element before or after another and returns the new length",
    arity: 5,
    flags: ["write", "denyoom"],
    keys: firstKey,
    keyUses: [inserted],
    run: linsert,
  },
  {
    name: "LLEN",
    summary: "Returns the number of elements",
    arity: 2,
    flags: ["readonly", "fast"],
    keys: firstKey,
    keyUses: [looked],
    run: ({ keyspace, arg }) => keyspace.readList(arg(1))?.length ?? zero,
  },
  {
    name: "LMOVE",
    summary: "Moves an element from an end of a list to an end of another",
    arity: 5,
    flags: ["write", "denyoom"],
    keys: firstTwoKeys,
    keyUses: [taken, inserted],
    run: (call) => {
      const fromEnd = readEnd(call, 3);
      const toEnd = readEnd(call, 4);
      return move(call, { fromEnd, toEnd });
    },
  },
  {
    name: "LMPOP",
    summary: "Removes and returns elements of the first list that is not empty",
    arity: -4,
    flags: ["write", "movablekeys"],
    keys: countedKeys,
    keyUses: [taken],
    run: lmpop,
  },
  {
    name: "LPOP",
    summary: "Removes and returns elements from the left",
    arity: -2,
    flags: ["write", "fast"],
    keys: firstKey,
    keyUses: [taken],
    run: (call) => pop(call, "left"),
  },
  {
    name: "LPOS",
    summary: "Returns the indexes of equal elements",
    arity: -3,
    flags: ["readonly"],
    keys: firstKey,
    run: lpos,
  },
  {
    name: "LPUSH",
    summary: "Prepends elements, one after the other, and returns the new length",
    arity: -3,
    flags: ["write", "denyoom", "fast"],
    keys: firstKey,
    keyUses: [inserted],
    run: (call) => push(call, "left"),
  },
  {
    name: "LPUSHX",
    summary: "Like LPUSH, but only if the list exists",
    arity: -3,
    flags: ["write", "denyoom", "fast"],
    keys: firstKey,
    keyUses: [inserted],
    run: (call) => pushToExisting(call, "left"),
  },
  {
    name: "LRANGE",
    summary: "Returns the elements between two indexes",
    arity: 4,
    flags: ["readonly"],
    keys: firstKey,
    run: lrange,
  },
  {
    name: "LREM",
    summary: "Removes equal elements and returns the number removed",
    arity: 4,
    flags: ["write"],
    keys: firstKey,
    keyUses: [reduced],
    run: lrem,
  },
  {
    name: "LSET",
    summary: "Replaces the element at an index",
    arity: 4,
    flags: ["write", "denyoom"],
    keys: firstKey,
    keyUses: [updated],
    run: ({ keyspace, arg, count }) => {
      const key = arg(1);
      const list = keyspace.readList(key);
      if (list === undefined) throw noSuchKey;
      const index = indexFromLeft(list, count(2));
      if (index < 0 || index >= list.length) throw indexOutOfRange;
      setElement(keyspace, key, { index, element: arg(3) });
      keyspace.notify(events.lset, key);
      return ok;
    },
  },
  {
    name: "LTRIM",
    summary: "Removes all elements outside a range",
    arity: 4,
    flags: ["write"],
    keys: firstKey,
    keyUses: [reduced],
    run: (call) => {
      const { keyspace, arg } = call;
      const start = call.count(2);
      const end = call.count(3);
      const list = keyspace.readList(arg(1));
      if (list === undefined) return ok;
      const range = rangeOf(list, start, end);
      if (range.to - range.from < list.length) trimList(keyspace, arg(1), range);
      keyspace.notifyTaken(events.ltrim, arg(1));
      return ok;
    },
  },
  {
    name: "RPOP",
    summary: "Removes and returns elements from the right",
    arity: -2,
    flags: ["write", "fast"],
    keys: firstKey,
    keyUses: [taken],
    run: (call) => pop(call, "right"),
  },
  {
    name: "RPOPLPUSH",
    summary: "Moves the last element of a list to the left of another",
    arity: 3,
    flags: ["write", "denyoom"],
    keys: firstTwoKeys,
    keyUses: [taken, inserted],
    run: (call) => move(call, { fromEnd: "right", toEnd: "left" }),
  },
  {
    name: "RPUSH",
    summary: "Appends elements and returns the new length",
    arity: -3,
    flags: ["write", "denyoom", "fast"],
    keys: firstKey,
    keyUses: [inserted],
    run: (call) => push(call, "right"),
  },
  {
    name: "RPUSHX",
    summary: "Like RPUSH, but only if the list exists",
    arity: -3,
    flags: ["write", "denyoom", "fast"],
    keys: firstKey,
    keyUses: [inserted],
    run: (call) => pushToExisting(call, "right"),
  },
]);

/** The event of a push at each end. */
const pushed = { left: events.lpush, right: events.rpush };
const popped = { left: events.lpop, right: events.rpop };

function linsert({ keyspace, arg, word }: Call): Reply {
  const where = word(2);
  if (where !== "BEFORE" && where !== "AFTER") throw syntaxError;
  const key = arg(1);
  const list = keyspace.readList(key);
  if (list === undefined) return zero;
  const pivot = arg(3);
  let index = -1;
  list.visit({ from: 0, to: list.length }, (element, at) => {
    if (element === pivot) index = at;
    return index < 0;
  });
  if (index < 0) return -1;
  const length = insertElement(keyspace, key, { index: where === "BEFORE" ? index : index + 1, element: arg(4) });
  keyspace.notify(events.linsert, key);
  return length;
}

/** The ends of a move. */
export interface Ends {
  readonly fromEnd: End;
  readonly toEnd: End;
}

function move({ keyspace, arg }: Call, ends: Ends): Reply {
  const from = arg(1);
  return keyspace.readList(from) === undefined ? nil : moveOne(keyspace, { from, to: arg(2), ...ends });
}

/** Moves an element of an existing list. Throws `wrongType` if the target has another type. */
export function moveOne(keyspace: Keyspace, move: Ends & { readonly from: Bytes; readonly to: Bytes }): Reply {
  const { from, to } = move;
  // Refuses other types.
  keyspace.readList(to);
  const element = moveElement(keyspace, move);
  keyspace.notify(pushed[move.toEnd], to);
  keyspace.notifyTaken(popped[move.fromEnd], from);
  return bulk(element);
}

function lmpop(call: Call): Reply {
  const { keyspace } = call;
  const { keys, end, count } = readPopWords(call, 1, readEnd);
  for (const key of keys) {
    const list = keyspace.readList(key);
    if (list !== undefined) return [key, popSome(keyspace, key, { list, end, count })];
  }
  return nilArray;
}

function pop(call: Call, end: End): Reply {
  const { keyspace, arg, argCount, command } = call;
  if (argCount > 3) throw wrongArity(command.name);
  const key = arg(1);
  if (argCount === 2) {
    return keyspace.readList(key) === undefined ? nil : popOne(keyspace, key, end);
  }
  const count = countFromZeroOr(call, 2, outOfRange);
  const list = keyspace.readList(key);
  if (list === undefined) return nilArray;
  return count === 0 ? emptyArray : popSome(keyspace, key, { list, end, count });
}

/** Removes the element at an end of an existing list. */
export function popOne(keyspace: Keyspace, key: Bytes, end: End): Bytes {
  const element = popElement(keyspace, key, end);
  keyspace.notifyTaken(popped[end], key);
  return element;
}

/** Removes elements, after checking that the reply can contain them all. */
export function popSome(
  keyspace: Keyspace,
  key: Bytes,
  from: { readonly list: ListValue; readonly end: End; readonly count: number },
): Reply {
  const { list, end } = from;
  const count = Math.min(from.count, list.length);
  if (count > 1) {
    const budget = new ReplyBudget();
    budget.expect(count);
    const first = end === "left" ? 0 : list.length - count;
    list.visit({ from: first, to: first + count }, (element) => {
      budget.take(element.length);
      return true;
    });
  }
  const elements = popElements(keyspace, key, { end, count });
  keyspace.notifyTaken(popped[end], key);
  return elements;
}

function lpos(call: Call): Reply {
  const { keyspace, arg, word, argCount } = call;
  let rank: number | bigint = 1;
  let count: number | undefined;
  let looksMax = 0;
  for (let i = 3; i < argCount; i += 2) {
    if (i + 1 === argCount) throw syntaxError;
    const option = word(i);
    if (option === "RANK") {
      rank = call.integer(i + 1);
      if (rank < -INTEGER_MAX) throw notBetween(String(-INTEGER_MAX), String(INTEGER_MAX));
      if (rank === 0) throw rankZero;
    } else if (option === "COUNT") {
      count = countFromZeroOr(call, i + 1, countNegative);
    } else if (option === "MAXLEN") {
      looksMax = countFromZeroOr(call, i + 1, maxLengthNegative);
    } else {
      throw syntaxError;
    }
  }
  const list = keyspace.readList(arg(1));
  if (list === undefined) return count === undefined ? nil : emptyArray;
  const element = arg(2);
  const backwards = rank < 0;
  let skips = Math.abs(Number(rank)) - 1;
  const wanted = count === undefined ? 1 : count === 0 ? Number.POSITIVE_INFINITY : count;
  const looks = looksMax === 0 ? list.length : Math.min(looksMax, list.length);
  const from = backwards ? list.length - looks : 0;
  const budget = new ReplyBudget();
  const found: number[] = [];
  list.visit({ from, to: from + looks, backwards }, (other, index) => {
    if (other !== element) return true;
    if (skips > 0) {
      skips -= 1;
      return true;
    }
    budget.take(0);
    return found.push(index) < wanted;
  });
  return count === undefined ? (found[0] ?? nil) : found;
}

function push({ keyspace, arg, argsFrom }: Call, end: End): Reply {
  const key = arg(1);
  // Refuses other types.
  const old = keyspace.readList(key);
  return pushAndNotify(keyspace, key, { end, elements: argsFrom(2), old });
}

function pushToExisting(call: Call, end: End): Reply {
  const { keyspace, arg, argsFrom } = call;
  const key = arg(1);
  const old = keyspace.readList(key);
  if (old === undefined) return zero;
  return pushAndNotify(keyspace, key, { end, elements: argsFrom(2), old });
}

function pushAndNotify(keyspace: Keyspace, key: Bytes, push: Parameters<typeof pushElements>[2]): number {
  const length = pushElements(keyspace, key, push);
  keyspace.notify(pushed[push.end], key);
  return length;
}

function lrange(call: Call): Reply {
  const start = call.count(2);
  const end = call.count(3);
  const list = call.keyspace.readList(call.arg(1));
  if (list === undefined) return emptyArray;
  const range = rangeOf(list, start, end);
  const budget = new ReplyBudget();
  const elements: Bytes[] = [];
  list.visit(range, (element) => {
    budget.take(element.length);
    return elements.push(element) > 0;
  });
  return elements;
}

function lrem(call: Call): Reply {
  const { keyspace, arg } = call;
  const count = call.count(2);
  const key = arg(1);
  if (keyspace.readList(key) === undefined) return zero;
  const removed = removeElements(keyspace, key, {
    element: arg(3),
    end: count < 0 ? "right" : "left",
    countMax: count === 0 ? Number.POSITIVE_INFINITY : Math.abs(count),
  });
  if (removed > 0) keyspace.notifyTaken(events.lrem, key);
  return removed;
}

/** An index counted from the left; it may be out of range. */
function indexFromLeft(list: ListValue, index: number): number {
  return index < 0 ? list.length + index : index;
}

/** The range between two indexes, both included. */
function rangeOf(list: ListValue, start: number, end: number): { from: number; to: number } {
  const from = Math.max(0, indexFromLeft(list, start));
  const to = Math.min(list.length, indexFromLeft(list, end) + 1);
  return from < to ? { from, to } : { from: 0, to: 0 };
}

export function readEnd({ word }: Call, index: number): End {
  const end = word(index);
  if (end === "LEFT") return "left";
  if (end === "RIGHT") return "right";
  throw syntaxError;
}
