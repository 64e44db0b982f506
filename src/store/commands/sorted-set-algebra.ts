/**
 * Union, intersection and difference of sorted sets. A plain set counts as a
 * sorted set with scores of 1, and a missing key as an empty one.
 *
 * Sums of doubles depend on their order, so inputs are processed in that of
 * Redis: the smallest first, except for a difference.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import type { Call, Row } from "../command.ts";
import type { KeyPositions } from "../command-facts.ts";
import { CommandError, limitNegative, noInputKeys, syntaxError, weightNotFloat, wrongType } from "../errors.ts";
import type { Keyspace } from "../keyspace.ts";
import { events, type KeyspaceEvent } from "../observe/keyspace-events.ts";
import { ReplyBudget } from "../reply/budget.ts";
import { double, flatPairs, type Reply } from "../reply/reply.ts";
import { parseFloat64 } from "../structures/numbers/number-text.ts";
import { SetValue } from "../values/set.ts";
import { SortedSetValue } from "../values/sorted-set.ts";
import { overwritten, read } from "./command-keys.ts";
import { SCORE_BYTES, storeOrRemove } from "./sorted-set-range.ts";

/** The first argument is the number of keys that follow. */
export const inputKeys: KeyPositions = { first: 0, last: 0, step: 0, countAt: 1 };
/** The first argument is a key, the second the number of keys that follow. */
const storeKeys: KeyPositions = { first: 1, last: 1, step: 1, countAt: 2 };

type Operation = "difference" | "intersection" | "union";
type Aggregate = (one: number, other: number) => number;

interface Aggregation {
  readonly combine: Aggregate;
  /** Every score counts as 1, so that only weights are combined. */
  readonly ignoresScores: boolean;
}

interface Input {
  readonly value: SortedSetValue | SetValue | undefined;
  weight: number;
  hasUnitScores: boolean;
}

interface AlgebraOptions {
  readonly operation: Operation;
  readonly inputs: readonly Input[];
  readonly aggregate: Aggregate;
  readonly withScores: boolean;
  /** ZINTERCARD: the count at which to stop; 0 means no limit. */
  readonly limit: number;
}

/** How a command uses its result. */
type Purpose = "answer" | "count" | "store";

export const sortedSetAlgebraRows: readonly Row[] = [
  returning("ZDIFF", "Returns the members of the first sorted set that no other one has", "difference"),
  storing("ZDIFFSTORE", "Stores the members of the first sorted set that no other one has", "difference"),
  returning("ZINTER", "Returns the members that all sorted sets have", "intersection"),
  {
    name: "ZINTERCARD",
    summary: "Returns how many members all sorted sets have",
    arity: -3,
    flags: ["readonly", "movablekeys"],
    keys: inputKeys,
    run: zintercard,
  },
  storing("ZINTERSTORE", "Stores the members that all sorted sets have", "intersection"),
  returning("ZUNION", "Returns the members that any of the sorted sets has", "union"),
  storing("ZUNIONSTORE", "Stores the members that any of the sorted sets has", "union"),
];

function returning(name: string, summary: string, operation: Operation): Row {
  return {
    name,
    summary,
    arity: -3,
    flags: ["readonly", "movablekeys"],
    keys: inputKeys,
    run: (call) => answer(call, operation),
  };
}

function storing(name: string, summary: string, operation: Operation): Row {
  return {
    name,
    summary,
    arity: -4,
    flags: ["write", "denyoom", "movablekeys"],
    notifiesMisses: true,
    keys: storeKeys,
    keyUses: [overwritten, read],
    run: (call) => store(call, operation),
  };
}

function answer(call: Call, operation: Operation): Reply {
  const options = readOptions(call, operation, "answer");
  const result = combine(call.keyspace, options);
  const budget = new ReplyBudget();
  const elements: Reply[] = [];
  result.visit({ from: 0, count: result.size }, (member, score) => {
    budget.take(member.length);
    elements.push(member);
    if (!options.withScores) return;
    budget.take(SCORE_BYTES);
    elements.push(double(score));
  });
  return options.withScores ? flatPairs(elements) : elements;
}

const storeEvents: Readonly<Record<Operation, KeyspaceEvent>> = {
  union: events.zunionstore,
  intersection: events.zinterstore,
  difference: events.zdiffstore,
};

function store(call: Call, operation: Operation): Reply {
  const result = combine(call.keyspace, readOptions(call, operation, "store")).compacted();
  return storeOrRemove(call, result, storeEvents[operation]);
}

function zintercard(call: Call): Reply {
  const { inputs, limit } = readOptions(call, "intersection", "count");
  const [smallest, ...others] = bySize(inputs);
  let count = 0;
  const isEverywhere = (member: Bytes): boolean => others.every((input) => scoreIn(input, member) !== undefined);
  for (const [member] of pairsOf(smallest)) {
    if (!isEverywhere(member)) continue;
    count += 1;
    if (count === limit) break;
  }
  return count;
}

/** Reads keys and options. Throws Redis' errors, in its order. */
function readOptions(call: Call, operation: Operation, purpose: Purpose): AlgebraOptions {
  const { keyspace, arg, word, argCount, command } = call;
  const countAt = purpose === "store" ? 2 : 1;
  const keyCount = call.count(countAt);
  if (keyCount < 1) throw noInputKeys(command.fullName);
  if (keyCount > argCount - (countAt + 1)) throw syntaxError;
  const inputs: Input[] = [];
  let at = countAt + 1;
  for (; inputs.length < keyCount; at += 1) {
    const value = readInput(keyspace, arg(at));
    inputs.push({ value, weight: 1, hasUnitScores: value instanceof SetValue });
  }

  const isCombined = operation !== "difference" && purpose !== "count";
  let aggregation: Aggregation = SUM;
  let withScores = false;
  let limit = 0;
  for (; at < argCount; at += 1) {
    const option = word(at);
    const left = argCount - at - 1;
    if (option === "WEIGHTS" && isCombined && left >= keyCount) {
      for (const input of inputs) {
        at += 1;
        const weight = parseFloat64(arg(at));
        if (weight === undefined) throw weightNotFloat;
        input.weight = weight;
      }
    } else if (option === "AGGREGATE" && isCombined && left >= 1) {
      at += 1;
      const named = aggregates.get(word(at));
      if (named === undefined) throw syntaxError;
      aggregation = named;
    } else if (option === "WITHSCORES" && purpose === "answer") {
      withScores = true;
    } else if (option === "LIMIT" && purpose === "count" && left >= 1) {
      at += 1;
      limit = readLimit(call, at);
    } else {
      throw syntaxError;
    }
  }
  if (aggregation.ignoresScores) for (const input of inputs) input.hasUnitScores = true;
  return { operation, inputs, aggregate: aggregation.combine, withScores, limit };
}

function readInput(keyspace: Keyspace, key: Bytes): Input["value"] {
  const value = keyspace.find(key);
  if (value === undefined || value instanceof SortedSetValue || value instanceof SetValue) return value;
  throw wrongType;
}

function readLimit(call: Call, index: number): number {
  try {
    const limit = call.count(index);
    if (limit >= 0) return limit;
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
  }
  throw limitNegative;
}

function combine(keyspace: Keyspace, options: AlgebraOptions): SortedSetValue {
  const result = new SortedSetValue(keyspace.hashSeed, { isLarge: true });
  switch (options.operation) {
    case "difference":
      putDifference(result, options.inputs);
      break;
    case "intersection":
      putIntersection(result, options);
      break;
    case "union":
      putUnion(result, options);
      break;
    default: {
      const never: never = options.operation;
      return never;
    }
  }
  return result;
}

function putDifference(result: SortedSetValue, [first, ...others]: readonly Input[]): void {
  for (const [member, score] of pairsOf(first))
    if (others.every((input) => scoreIn(input, member) === undefined)) result.put(member, score);
}

function putIntersection(result: SortedSetValue, { inputs, aggregate }: AlgebraOptions): void {
  const [smallest, ...others] = bySize(inputs);
  if (smallest === undefined) return;
  for (const [member, own] of pairsOf(smallest)) {
    let score = weighted(own, smallest.weight);
    let isEverywhere = true;
    for (const input of others) {
      const other = scoreIn(input, member);
      isEverywhere = other !== undefined;
      if (other === undefined) break;
      score = aggregate(score, other * input.weight);
    }
    if (isEverywhere) result.put(member, score);
  }
}

function putUnion(result: SortedSetValue, { inputs, aggregate }: AlgebraOptions): void {
  for (const input of bySize(inputs)) {
    for (const [member, own] of pairsOf(input)) {
      const score = weighted(own, input.weight);
      const old = result.get(member);
      result.put(member, old === undefined ? score : aggregate(old, score));
    }
  }
}

/** Infinity times zero is zero, as in Redis. */
function weighted(score: number, weight: number): number {
  const product = score * weight;
  return Number.isNaN(product) ? 0 : product;
}

function sum(one: number, other: number): number {
  const total = one + other;
  // Two infinities of opposite sign add up to zero, as in Redis.
  return Number.isNaN(total) ? 0 : total;
}

const SUM: Aggregation = { combine: sum, ignoresScores: false };

// Written out: Math.min and Math.max distinguish -0 from 0 and return NaN if an argument is NaN.
const aggregates: ReadonlyMap<string, Aggregation> = new Map<string, Aggregation>([
  ["SUM", SUM],
  ["MIN", { combine: (one, other) => (other < one ? other : one), ignoresScores: false }],
  ["MAX", { combine: (one, other) => (other > one ? other : one), ignoresScores: false }],
  // Redis 8.8: without weights, the number of inputs that have the member.
  ["COUNT", { combine: sum, ignoresScores: true }],
]);

function bySize(inputs: readonly Input[]): Input[] {
  return inputs.toSorted((one, other) => (one.value?.size ?? 0) - (other.value?.size ?? 0));
}

function scoreIn({ value, hasUnitScores }: Input, member: Bytes): number | undefined {
  if (value instanceof SetValue) return value.has(member) ? 1 : undefined;
  const score = value?.get(member);
  return hasUnitScores && score !== undefined ? 1 : score;
}

function* pairsOf(input: Input | undefined): Generator<readonly [Bytes, number]> {
  const value = input?.value;
  if (value === undefined) return;
  for (let place = 0; place < value.size; place += 1)
    yield [value.memberAt(place), input?.hasUnitScores || value instanceof SetValue ? 1 : value.scoreAt(place)];
}
