/**
 * Ranges of sorted sets: by rank, by score and by the bytes of members. A range
 * is parsed without the set, and then found in the set as ranks, so reading,
 * counting, storing and removing a range share one search.
 *
 * Ranges of bytes are defined only if all scores are equal. Otherwise a small set
 * returns what Redis' listpack returns, scanned from the front, and a large one
 * is as little defined as in Redis.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import { type Call, firstKey, firstTwoKeys, type Row } from "../command.ts";
import { lexWithScores, limitNeedsRange, notFloatRange, notLexRange, syntaxError } from "../errors.ts";
import { removeKey } from "../mutations/generic.ts";
import { removeRanks, storeSortedSet } from "../mutations/sorted-set.ts";
import { events, type KeyspaceEvent } from "../observe/keyspace-events.ts";
import { ReplyBudget } from "../reply/budget.ts";
import { double, emptyArray, flatPairs, type Reply, zero } from "../reply/reply.ts";
import { parseFloat64, parseInteger } from "../structures/numbers/number-text.ts";
import { COMPACT_COUNT_MAX, type RankRange, SortedSetValue } from "../values/sorted-set.ts";
import { overwritten, read, reduced } from "./command-keys.ts";

/** The bytes of a score in the budget of a reply, in addition to its element. */
export const SCORE_BYTES = 8;

interface ScoreBound {
  readonly score: number;
  readonly isExclusive: boolean;
}

/** Before all members, after all members, or at a member. */
type LexBound =
  | { readonly kind: "lowest" }
  | { readonly kind: "highest" }
  | { readonly kind: "member"; readonly member: Bytes; readonly isExclusive: boolean };

type Range =
  | { readonly by: "rank"; readonly start: number; readonly stop: number }
  | { readonly by: "score"; readonly min: ScoreBound; readonly max: ScoreBound }
  | { readonly by: "lex"; readonly min: LexBound; readonly max: LexBound };

/** A range with the options of ZRANGE and its variants. */
interface Selection {
  readonly range: Range;
  readonly isReverse: boolean;
  readonly offset: number;
  /** Negative: no limit. */
  readonly limit: number;
  readonly withScores: boolean;
}

/** The fixed properties of a command like ZRANGE. */
interface Kind {
  /** Undefined if BYSCORE and BYLEX are options. */
  readonly by?: Range["by"];
  /** Undefined if REV is an option. */
  readonly isReverse?: boolean;
  /** Whether LIMIT is allowed for a range of ranks (A.particulars.zrange-limit). */
  readonly limitsRanks?: boolean;
  readonly isStore?: boolean;
}

const EMPTY: RankRange = { from: 0, count: 0 };

export const sortedSetRangeRows: readonly Row[] = [
  {
    name: "ZCOUNT",
    summary: "Returns how many members have a score in a range",
    arity: 4,
    flags: ["readonly", "fast"],
    keys: firstKey,
    run: (call) => countRange(call, readRange(call, "score", 2)),
  },
  {
    name: "ZLEXCOUNT",
    summary: "Returns how many members are in a range of bytes",
    arity: 4,
    flags: ["readonly", "fast"],
    keys: firstKey,
    run: (call) => countRange(call, readRange(call, "lex", 2)),
  },
  {
    name: "ZRANGE",
    summary: "Returns the members in a range of ranks, scores or bytes",
    arity: -4,
    flags: ["readonly"],
    keys: firstKey,
    run: (call) => answerRange(call, { limitsRanks: true }),
  },
  {
    name: "ZRANGEBYLEX",
    summary: "Returns the members in a range of bytes",
    arity: -4,
    flags: ["readonly"],
    keys: firstKey,
    run: (call) => answerRange(call, { by: "lex", isReverse: false }),
  },
  {
    name: "ZRANGEBYSCORE",
    summary: "Returns the members in a range of scores",
    arity: -4,
    flags: ["readonly"],
    keys: firstKey,
    run: (call) => answerRange(call, { by: "score", isReverse: false }),
  },
  {
    name: "ZRANGESTORE",
    summary: "Stores a range of a sorted set at another key",
    arity: -5,
    flags: ["write", "denyoom"],
    notifiesMisses: true,
    keys: firstTwoKeys,
    keyUses: [overwritten, read],
    run: zrangestore,
  },
  {
    name: "ZREMRANGEBYLEX",
    summary: "Removes the members in a range of bytes",
    arity: 4,
    flags: ["write"],
    keys: firstKey,
    keyUses: [reduced],
    run: (call) => removeRange(call, readRange(call, "lex", 2), events.zremrangebylex),
  },
  {
    name: "ZREMRANGEBYRANK",
    summary: "Removes the members in a range of ranks",
    arity: 4,
    flags: ["write"],
    keys: firstKey,
    keyUses: [reduced],
    run: (call) => removeRange(call, readRange(call, "rank", 2), events.zremrangebyrank),
  },
  {
    name: "ZREMRANGEBYSCORE",
    summary: "Removes the members in a range of scores",
    arity: 4,
    flags: ["write"],
    keys: firstKey,
    keyUses: [reduced],
    run: (call) => removeRange(call, readRange(call, "score", 2), events.zremrangebyscore),
  },
  {
    name: "ZREVRANGE",
    summary: "Returns the members in a range of ranks, highest first",
    arity: -4,
    flags: ["readonly"],
    keys: firstKey,
    run: (call) => answerRange(call, { by: "rank", isReverse: true }),
  },
  {
    name: "ZREVRANGEBYLEX",
    summary: "Returns the members in a range of bytes, last first",
    arity: -4,
    flags: ["readonly"],
    keys: firstKey,
    run: (call) => answerRange(call, { by: "lex", isReverse: true }),
  },
  {
    name: "ZREVRANGEBYSCORE",
    summary: "Returns the members in a range of scores, highest first",
    arity: -4,
    flags: ["readonly"],
    keys: firstKey,
    run: (call) => answerRange(call, { by: "score", isReverse: true }),
  },
];

function countRange({ keyspace, arg }: Call, range: Range): Reply {
  const sortedSet = keyspace.readSortedSet(arg(1));
  return sortedSet === undefined ? zero : findRange(sortedSet, range, false).count;
}

function removeRange({ keyspace, arg }: Call, range: Range, event: KeyspaceEvent): Reply {
  const key = arg(1);
  const sortedSet = keyspace.readSortedSet(key);
  if (sortedSet === undefined) return zero;
  const found = findRange(sortedSet, range, false);
  if (found.count > 0) {
    removeRanks(keyspace, key, found);
    keyspace.notifyTaken(event, key);
  }
  return found.count;
}

function answerRange(call: Call, kind: Kind): Reply {
  const selection = readSelection(call, 2, kind);
  const sortedSet = call.keyspace.readSortedSet(call.arg(1));
  if (sortedSet === undefined) return emptyArray;
  const found = findSelection(sortedSet, selection);
  const { isReverse, withScores } = selection;
  const budget = new ReplyBudget();
  budget.expect(found.count);
  const elements: Reply[] = [];
  const add = (member: Bytes, score: number): void => {
    budget.take(member.length);
    elements.push(member);
    if (!withScores) return;
    budget.take(SCORE_BYTES);
    elements.push(double(score));
  };
  if (isReverse) sortedSet.visitBackwards(found, add);
  else sortedSet.visit(found, add);
  return withScores ? flatPairs(elements) : elements;
}

function zrangestore(call: Call): Reply {
  const { keyspace, arg } = call;
  const selection = readSelection(call, 3, { limitsRanks: true, isStore: true });
  const source = keyspace.readSortedSet(arg(2));
  const { range, isReverse } = selection;
  const found = source === undefined ? EMPTY : findSelection(source, selection);
  // As in Redis, where the count of ranks is known from the start, and -0 is lost while the result is small.
  const isLarge = range.by === "rank" && found.count > COMPACT_COUNT_MAX;
  const stored = new SortedSetValue(keyspace.hashSeed, { isLarge });
  const put = (member: Bytes, score: number): void => stored.put(member, score);
  if (isReverse) source?.visitBackwards(found, put);
  else source?.visit(found, put);
  return storeOrRemove(call, stored, events.zrangestore);
}

/** Stores the result of a command at its first key, or removes the key if it is empty. Returns its size. */
export function storeOrRemove({ keyspace, arg }: Call, result: SortedSetValue, event: KeyspaceEvent): number {
  const key = arg(1);
  if (result.size > 0) {
    storeSortedSet(keyspace, key, result);
    keyspace.notify(event, key);
  } else if (keyspace.has(key)) {
    removeKey(keyspace, key);
    keyspace.notify(events.del, key);
  }
  return result.size;
}

/** Reads a range from the word at `index` on, and its options. Throws Redis' errors, in its order. */
function readSelection(call: Call, index: number, kind: Kind): Selection {
  const { word, argCount } = call;
  let by = kind.by;
  let isReverse = kind.isReverse;
  let withScores = false;
  let offset = 0;
  let limit = -1;
  for (let i = index + 2; i < argCount; i += 1) {
    const option = word(i);
    if (option === "WITHSCORES" && kind.isStore !== true) {
      withScores = true;
    } else if (option === "LIMIT" && i + 2 < argCount) {
      offset = call.count(i + 1);
      limit = call.count(i + 2);
      i += 2;
    } else if (option === "REV" && isReverse === undefined) {
      isReverse = true;
    } else if (option === "BYLEX" && by === undefined) {
      by = "lex";
    } else if (option === "BYSCORE" && by === undefined) {
      by = "score";
    } else {
      throw syntaxError;
    }
  }
  by ??= "rank";
  isReverse ??= false;
  if (limit !== -1 && by === "rank" && kind.limitsRanks !== true) throw limitNeedsRange;
  if (withScores && by === "lex") throw lexWithScores;
  // As Redis: a limit of -1 means no limit, and then the offset is ignored too.
  if (by === "rank" && limit === -1) offset = 0;
  const isSwapped = isReverse && by !== "rank";
  const range = readRange(call, by, index, isSwapped ? "max first" : "min first");
  return { range, isReverse, offset, limit, withScores };
}

/** Reads the two words of a range at `index`. */
function readRange(call: Call, by: Range["by"], index: number, order: "min first" | "max first" = "min first"): Range {
  const { arg } = call;
  const minAt = order === "min first" ? index : index + 1;
  const maxAt = order === "min first" ? index + 1 : index;
  switch (by) {
    case "rank":
      return { by, start: call.count(minAt), stop: call.count(maxAt) };
    case "score":
      return { by, min: readScoreBound(arg(minAt)), max: readScoreBound(arg(maxAt)) };
    case "lex":
      return { by, min: readLexBound(arg(minAt)), max: readLexBound(arg(maxAt)) };
    default: {
      const never: never = by;
      return never;
    }
  }
}

function readScoreBound(text: Bytes): ScoreBound {
  const isExclusive = text.startsWith("(");
  const score = parseCDouble(isExclusive ? text.slice(1) : text);
  if (score === undefined) throw notFloatRange;
  return { score, isExclusive };
}

const LEADING_SPACE = /^[ \t\n\v\f\r]+/;
const DECIMAL = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;

/**
 * A whole C string as strtod reads it, or undefined. Unlike scores, bounds may be blank, begin with spaces, or exceed
 * the range of a double.
 */
function parseCDouble(bytes: Bytes): number | undefined {
  // Most are integers, and exact ones read the same in either way.
  const integer = parseInteger(bytes);
  if (typeof integer === "number") return integer;
  const [text = ""] = bytes.split("\x00", 1);
  if (text === "") return 0;
  const number = text.replace(LEADING_SPACE, "");
  return DECIMAL.test(number) ? Number(number) : parseFloat64(number);
}

function readLexBound(text: Bytes): LexBound {
  const first = text[0];
  if (first === "(" || first === "[") return { kind: "member", member: text.slice(1), isExclusive: first === "(" };
  // A C string ends at its first zero byte.
  if ((first === "-" || first === "+") && (text.length === 1 || text[1] === "\x00"))
    return { kind: first === "-" ? "lowest" : "highest" };
  throw notLexRange;
}

/** The ranks of a selection, with its limit applied from the end that is read first. */
function findSelection(sortedSet: SortedSetValue, selection: Selection): RankRange {
  const { range, isReverse, offset, limit } = selection;
  const { from, count } = findRange(sortedSet, range, isReverse);
  if (offset < 0 || offset >= count) return EMPTY;
  const taken = limit < 0 ? count - offset : Math.min(limit, count - offset);
  return { from: isReverse ? from + count - offset - taken : from + offset, count: taken };
}

function findRange(sortedSet: SortedSetValue, range: Range, isReverse: boolean): RankRange {
  switch (range.by) {
    case "rank": {
      const { size } = sortedSet;
      const start = Math.max(0, range.start < 0 ? range.start + size : range.start);
      const stop = Math.min(size - 1, range.stop < 0 ? range.stop + size : range.stop);
      if (start > stop) return EMPTY;
      return { from: isReverse ? size - 1 - stop : start, count: stop - start + 1 };
    }
    case "score": {
      const { min, max } = range;
      const from = sortedSet.countBelow(min.score, { orEqual: min.isExclusive });
      const to = sortedSet.countBelow(max.score, { orEqual: !max.isExclusive });
      return { from, count: Math.max(0, to - from) };
    }
    case "lex":
      return findLexRange(sortedSet, range, isReverse);
    default: {
      const never: never = range;
      return never;
    }
  }
}

interface LexRange {
  readonly min: LexBound;
  readonly max: LexBound;
}

function findLexRange(sortedSet: SortedSetValue, range: LexRange, isReverse: boolean): RankRange {
  const { size } = sortedSet;
  if (size === 0 || isEmptyLexRange(range)) return EMPTY;
  if (!isFromMin(sortedSet.memberAtRank(size - 1), range) || !isToMax(sortedSet.memberAtRank(0), range)) return EMPTY;
  if (sortedSet.isListpack) return scanLexRange(sortedSet, range, isReverse);
  const from = countBeforeLexBound(sortedSet, range.min, "min");
  const to = countBeforeLexBound(sortedSet, range.max, "max");
  return { from, count: Math.max(0, to - from) };
}

/** As in Redis: from the first member within the lower bound to the last one within the upper, or from the end. */
function scanLexRange(sortedSet: SortedSetValue, range: LexRange, isReverse: boolean): RankRange {
  const members: Bytes[] = [];
  sortedSet.visit({ from: 0, count: sortedSet.size }, (member) => members.push(member));
  if (isReverse) {
    let to = members.length;
    while (to > 0 && !isToMax(members[to - 1] as Bytes, range)) to -= 1;
    let from = to;
    while (from > 0 && isFromMin(members[from - 1] as Bytes, range)) from -= 1;
    return { from, count: to - from };
  }
  let from = 0;
  while (from < members.length && !isFromMin(members[from] as Bytes, range)) from += 1;
  let to = from;
  while (to < members.length && isToMax(members[to] as Bytes, range)) to += 1;
  return { from, count: to - from };
}

/** The number of members of equal score before a bound. */
function countBeforeLexBound(sortedSet: SortedSetValue, bound: LexBound, end: "min" | "max"): number {
  if (bound.kind !== "member") return bound.kind === "lowest" ? 0 : sortedSet.size;
  const { member, isExclusive } = bound;
  const score = sortedSet.scoreAtRank(0);
  const place = sortedSet.placeOf(score, member);
  const isPassed = isExclusive === (end === "min");
  return isPassed && sortedSet.get(member) === score ? place + 1 : place;
}

function isEmptyLexRange({ min, max }: LexRange): boolean {
  if (min.kind === "highest" || max.kind === "lowest") return true;
  if (min.kind === "lowest" || max.kind === "highest") return false;
  return min.member > max.member || (min.member === max.member && (min.isExclusive || max.isExclusive));
}

function isFromMin(member: Bytes, { min }: LexRange): boolean {
  if (min.kind !== "member") return min.kind === "lowest";
  return min.isExclusive ? member > min.member : member >= min.member;
}

function isToMax(member: Bytes, { max }: LexRange): boolean {
  if (max.kind !== "member") return max.kind === "highest";
  return max.isExclusive ? member < max.member : member <= max.member;
}
