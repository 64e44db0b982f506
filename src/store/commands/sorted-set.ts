/**
 * Sorted-set commands. A sorted set maps members to scores, orders them by score
 * and then by their bytes, and exists while it has a member. Ranges are in
 * `sorted-set-range.ts`; union, intersection and difference in
 * `sorted-set-algebra.ts`.
 *
 * A score is any double except NaN. Scores that are equal as numbers are equal
 * here: setting a score of -0 to 0 changes nothing.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import { type Call, family, firstKey } from "../command.ts";
import {
  countOutOfRange,
  gtLtNx,
  incrWithSeveral,
  notBetween,
  notFloat,
  scoreNotNumber,
  syntaxError,
  wrongArity,
  xxAndNx,
} from "../errors.ts";
import type { Keyspace } from "../keyspace.ts";
import { putMembers, removeMembers, removeRanks, type ScoreChange, type Scored } from "../mutations/sorted-set.ts";
import { events } from "../observe/keyspace-events.ts";
import { ReplyBudget } from "../reply/budget.ts";
import { bulk, double, emptyArray, flatPairs, nil, nilArray, type Reply, zero } from "../reply/reply.ts";
import { formatDouble, INTEGER_MAX, parseFloat64 } from "../structures/numbers/number-text.ts";
import { samplePlaces } from "../structures/sample.ts";
import type { SortedSetValue } from "../values/sorted-set.ts";
import { looked, reduced, taken, updated } from "./command-keys.ts";
import { readPopWords } from "./pop-words.ts";
import { readCursor, readScanOptions, scanSome } from "./scan.ts";
import { inputKeys, sortedSetAlgebraRows } from "./sorted-set-algebra.ts";
import { SCORE_BYTES, sortedSetRangeRows } from "./sorted-set-range.ts";

export const sortedSetCommands = family("sorted-set", [
  {
    name: "ZADD",
    summary: "Sets the scores of members and returns how many are new",
    arity: -4,
    flags: ["write", "denyoom", "fast"],
    keys: firstKey,
    keyUses: [updated],
    run: (call) => zadd(call, PLAIN_ADD),
  },
  {
    name: "ZCARD",
    summary: "Returns the number of members",
    arity: 2,
    flags: ["readonly", "fast"],
    keys: firstKey,
    keyUses: [looked],
    run: ({ keyspace, arg }) => keyspace.readSortedSet(arg(1))?.size ?? zero,
  },
  {
    name: "ZINCRBY",
    summary: "Adds to the score of a member",
    arity: 4,
    flags: ["write", "denyoom", "fast"],
    keys: firstKey,
    run: (call) => zadd(call, INCREMENT),
  },
  {
    name: "ZMPOP",
    summary: "Removes and returns members at one end of the first sorted set that is not empty",
    arity: -4,
    flags: ["write", "movablekeys"],
    keys: inputKeys,
    keyUses: [taken],
    run: zmpop,
  },
  {
    name: "ZMSCORE",
    summary: "Returns the scores of members",
    arity: -3,
    flags: ["readonly", "fast"],
    keys: firstKey,
    run: ({ keyspace, arg, argsFrom }) => {
      const sortedSet = keyspace.readSortedSet(arg(1));
      return argsFrom(2).map((member) => scoreReply(sortedSet?.get(member)));
    },
  },
  {
    name: "ZPOPMAX",
    summary: "Removes the members with the highest scores",
    arity: -2,
    flags: ["write", "fast"],
    keys: firstKey,
    keyUses: [taken],
    run: (call) => zpop(call, "MAX"),
  },
  {
    name: "ZPOPMIN",
    summary: "Removes the members with the lowest scores",
    arity: -2,
    flags: ["write", "fast"],
    keys: firstKey,
    keyUses: [taken],
    run: (call) => zpop(call, "MIN"),
  },
  {
    name: "ZRANDMEMBER",
    summary: "Returns random members",
    arity: -2,
    flags: ["readonly"],
    keys: firstKey,
    run: zrandmember,
  },
  {
    name: "ZRANK",
    summary: "Returns the rank of a member, in ascending order of scores",
    arity: -3,
    flags: ["readonly", "fast"],
    keys: firstKey,
    run: (call) => zrank(call, { isReverse: false }),
  },
  {
    name: "ZREM",
    summary: "Removes members and returns the number removed",
    arity: -3,
    flags: ["write", "fast"],
    keys: firstKey,
    keyUses: [reduced],
    run: zrem,
  },
  {
    name: "ZREVRANK",
    summary: "Returns the rank of a member, in descending order of scores",
    arity: -3,
    flags: ["readonly", "fast"],
    keys: firstKey,
    run: (call) => zrank(call, { isReverse: true }),
  },
  {
    name: "ZSCAN",
    summary: "Iterates over the members",
    arity: -3,
    flags: ["readonly"],
    keys: firstKey,
    run: zscan,
  },
  {
    name: "ZSCORE",
    summary: "Returns the score of a member",
    arity: 3,
    flags: ["readonly", "fast"],
    keys: firstKey,
    run: ({ keyspace, arg }) => scoreReply(keyspace.readSortedSet(arg(1))?.get(arg(2))),
  },
  ...sortedSetRangeRows,
  ...sortedSetAlgebraRows,
]);

function scoreReply(score: number | undefined): Reply {
  return score === undefined ? nil : double(score);
}

export interface AddOptions {
  readonly onlyNew: boolean;
  readonly onlyOld: boolean;
  readonly onlyGreater: boolean;
  readonly onlyLess: boolean;
  /** Whether changed scores count in the reply too. */
  readonly countsChanged: boolean;
  readonly isIncrement: boolean;
}

/** ZADD without options. */
export const PLAIN_ADD: AddOptions = {
  onlyNew: false,
  onlyOld: false,
  onlyGreater: false,
  onlyLess: false,
  countsChanged: false,
  isIncrement: false,
};

const INCREMENT: AddOptions = { ...PLAIN_ADD, isIncrement: true };

const ADD_OPTIONS: ReadonlyMap<string, keyof AddOptions> = new Map([
  ["NX", "onlyNew"],
  ["XX", "onlyOld"],
  ["GT", "onlyGreater"],
  ["LT", "onlyLess"],
  ["CH", "countsChanged"],
  ["INCR", "isIncrement"],
]);

/** ZADD and ZINCRBY: as in Redis, options of ZADD are recognised in ZINCRBY too, where they are never valid. */
function zadd(call: Call, always: AddOptions): Reply {
  const { argCount } = call;
  let at = 2;
  let name = addOptionAt(call, at);
  if (name === undefined) return addScores(call, at, always);
  const options = { ...always };
  while (name !== undefined) {
    options[name] = true;
    at += 1;
    name = at < argCount ? addOptionAt(call, at) : undefined;
  }
  return addScores(call, at, options);
}

const CAPITAL_A = 0x41;

/** The option at an index, if any. Mostly a score is there, which begins with no letter unless it is infinite. */
function addOptionAt({ arg, word }: Call, at: number): ReturnType<(typeof ADD_OPTIONS)["get"]> {
  return arg(at).charCodeAt(0) < CAPITAL_A ? undefined : ADD_OPTIONS.get(word(at));
}

/** Adds the pairs of score and member from `index` on. */
function addScores(call: Call, index: number, options: AddOptions): Reply {
  const { arg, argCount } = call;
  const { onlyNew, onlyOld, onlyGreater, onlyLess, isIncrement } = options;
  if (argCount === index || (argCount - index) % 2 !== 0) throw syntaxError;
  if (onlyNew && onlyOld) throw xxAndNx;
  if ((onlyGreater && onlyNew) || (onlyLess && onlyNew) || (onlyGreater && onlyLess)) throw gtLtNx;
  if (isIncrement && argCount - index > 2) throw incrWithSeveral;
  const pairs: Scored[] = [];
  for (let i = index; i < argCount; i += 2) {
    const score = parseFloat64(arg(i));
    if (score === undefined) throw notFloat;
    pairs.push({ member: arg(i + 1), score });
  }
  return addPairs(call, pairs, options);
}

/** Sets the scores that the options allow and returns the reply of ZADD. At most one pair is an increment. */
export function addPairs({ keyspace, arg }: Call, pairs: readonly Scored[], options: AddOptions): Reply {
  const { onlyNew, onlyOld, onlyGreater, onlyLess, isIncrement } = options;
  const key = arg(1);
  const sortedSet = keyspace.readSortedSet(key);

  // A decision about a member applies to its next occurrence, before anything is changed.
  const decided = pairs.length > 1 ? new Map<Bytes, number>() : undefined;
  const changes: ScoreChange[] = [];
  let newCount = 0;
  let result: number | undefined;
  for (const { member, score: given } of pairs) {
    const old = decided?.get(member) ?? sortedSet?.get(member);
    let score = given;
    if (old === undefined) {
      if (onlyOld) continue;
      newCount += 1;
    } else {
      if (onlyNew) continue;
      if (isIncrement) score = old + given;
      if (Number.isNaN(score)) throw scoreNotNumber;
      if ((onlyLess && score >= old) || (onlyGreater && score <= old)) continue;
    }
    result = score;
    if (score === old) continue;
    decided?.set(member, score);
    changes.push({ member, score, old });
  }
  if (changes.length > 0) {
    putMembers(keyspace, key, { changes, old: sortedSet });
    keyspace.notify(isIncrement ? events.zincr : events.zadd, key);
  }
  if (isIncrement) return scoreReply(result);
  return options.countsChanged ? changes.length : newCount;
}

/** WITHSCORE (Redis 7.2) returns rank and score. */
function zrank({ keyspace, arg, word, argCount, command }: Call, { isReverse }: { isReverse: boolean }): Reply {
  if (argCount > 4) throw wrongArity(command.name);
  const withScore = argCount === 4;
  if (withScore && word(3) !== "WITHSCORE") throw syntaxError;
  const sortedSet = keyspace.readSortedSet(arg(1));
  const ascending = sortedSet?.rankOf(arg(2));
  if (sortedSet === undefined || ascending === undefined) return withScore ? nilArray : nil;
  const rank = isReverse ? sortedSet.size - 1 - ascending : ascending;
  return withScore ? [rank, double(sortedSet.scoreAtRank(ascending))] : rank;
}

function zrem({ keyspace, arg, argsFrom }: Call): Reply {
  const key = arg(1);
  const sortedSet = keyspace.readSortedSet(key);
  if (sortedSet === undefined) return zero;
  const members = new Set(argsFrom(2));
  const found = [...members].filter((member) => sortedSet.has(member));
  if (found.length > 0) {
    removeMembers(keyspace, key, found);
    keyspace.notifyTaken(events.zrem, key);
  }
  return found.length;
}

export type End = "MIN" | "MAX";

function zpop(call: Call, end: End): Reply {
  const { keyspace, arg, argCount } = call;
  if (argCount > 3) throw syntaxError;
  const count = argCount === 3 ? call.countFromZero(2) : 1;
  const sortedSet = keyspace.readSortedSet(arg(1));
  if (sortedSet === undefined) return emptyArray;
  const popped = flatReply(popPairs(keyspace, { key: arg(1), sortedSet, end, count }));
  // As in Redis, one pair is flat in RESP3 too, unless a count was given.
  return argCount === 3 ? flatPairs(popped) : popped;
}

/** Members with their scores, in one flat array. */
export function flatReply(pairs: readonly Scored[]): Reply[] {
  const replies: Reply[] = [];
  for (const { member, score } of pairs) replies.push(member, double(score));
  return replies;
}

function zmpop(call: Call): Reply {
  const { keyspace } = call;
  const { keys, end, count } = readPopWords(call, 1, readEnd);
  for (const key of keys) {
    const sortedSet = keyspace.readSortedSet(key);
    if (sortedSet !== undefined) return nestedReply(key, popPairs(keyspace, { key, sortedSet, end, count }));
  }
  return nilArray;
}

/** A key and the members popped from it, each with its score. */
export function nestedReply(key: Bytes, pairs: readonly Scored[]): Reply {
  return [key, pairs.map(({ member, score }) => [member, double(score)])];
}

/** Reads the end of ZMPOP. Throws `syntaxError`. */
export function readEnd({ word }: Call, index: number): End {
  const end = word(index);
  if (end !== "MIN" && end !== "MAX") throw syntaxError;
  return end;
}

/** Removes up to `count` pairs at one end, and returns them in order from that end. */
export function popPairs(
  keyspace: Keyspace,
  from: { readonly key: Bytes; readonly sortedSet: SortedSetValue; readonly end: End; readonly count: number },
): readonly Scored[] {
  const { key, sortedSet, end } = from;
  const count = Math.min(from.count, sortedSet.size);
  const range = { from: end === "MIN" ? 0 : sortedSet.size - count, count };
  const budget = new ReplyBudget();
  const popped: Scored[] = [];
  const add = (member: Bytes, score: number): void => {
    budget.take(member.length + SCORE_BYTES);
    popped.push({ member, score });
  };
  if (end === "MIN") sortedSet.visit(range, add);
  else sortedSet.visitBackwards(range, add);
  if (count > 0) {
    removeRanks(keyspace, key, range);
    keyspace.notifyTaken(end === "MIN" ? events.zpopmin : events.zpopmax, key);
  }
  return popped;
}

/** The largest count if each member comes with its score. */
const PAIR_COUNT_MAX = INTEGER_MAX / 2n;

function zrandmember(call: Call): Reply {
  const { keyspace, arg, word, argCount, random } = call;
  if (argCount === 2) {
    const sortedSet = keyspace.readSortedSet(arg(1));
    return bulk(sortedSet?.memberAt(random.below(sortedSet.size)));
  }
  const exact = call.integer(2);
  if (exact < -INTEGER_MAX) throw notBetween(String(-INTEGER_MAX), String(INTEGER_MAX));
  const withScores = argCount > 3;
  if (withScores) {
    if (argCount > 4 || word(3) !== "WITHSCORES") throw syntaxError;
    if (exact < -PAIR_COUNT_MAX || exact > PAIR_COUNT_MAX) throw countOutOfRange;
  }
  const count = call.count(2);
  const sortedSet = keyspace.readSortedSet(arg(1));
  if (sortedSet === undefined || count === 0) return emptyArray;
  const budget = new ReplyBudget();
  const elements: Reply[] = [];
  const add = (place: number): void => {
    const member = sortedSet.memberAt(place);
    budget.take(member.length);
    elements.push(member);
    if (!withScores) return;
    budget.take(SCORE_BYTES);
    elements.push(double(sortedSet.scoreAt(place)));
  };
  if (count > 0) {
    for (const place of samplePlaces(sortedSet.size, count, random)) add(place);
  } else {
    // A negative count draws each member again, so one may repeat.
    budget.expect(-count);
    for (let draws = count; draws < 0; draws += 1) add(random.below(sortedSet.size));
  }
  return withScores ? flatPairs(elements) : elements;
}

function zscan(call: Call): Reply {
  const { keyspace, arg } = call;
  const cursor = readCursor(arg(2));
  const sortedSet = keyspace.readSortedSet(arg(1));
  // As Redis: if the key does not exist, the options are not checked.
  if (sortedSet === undefined) return ["0", emptyArray];
  const { count, matches } = readScanOptions(call, 3, []);
  const budget = new ReplyBudget();
  const elements: Bytes[] = [];
  const next = scanSome(cursor, count, {
    step: (at, visit) => sortedSet.scan(at, visit),
    visit: (place) => {
      const member = sortedSet.memberAt(place);
      if (!matches(member)) return;
      budget.take(member.length + SCORE_BYTES);
      elements.push(member, scannedScore(sortedSet, place));
    },
  });
  return [String(next), elements];
}

/** Redis stores whole scores up to this value as integers in a listpack, and ZSCAN prints those. */
const LISTPACK_INTEGER_MAX = 2 ** 62;

function scannedScore(sortedSet: SortedSetValue, place: number): Bytes {
  const score = sortedSet.scoreAt(place);
  const isInteger = sortedSet.isListpack && Number.isInteger(score) && Math.abs(score) <= LISTPACK_INTEGER_MAX;
  return isInteger ? `${BigInt(score)}` : formatDouble(score);
}
