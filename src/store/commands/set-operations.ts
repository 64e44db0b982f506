/**
 * Unions, intersections and differences of sets, returned, counted or stored.
 *
 * A key named many times counts once, so the size of the database bounds the
 * work, however long the command is. An intersection visits the smallest set; a
 * difference uses the cheaper of two methods, as in Redis. A `ReplyBudget`
 * bounds the reply while members are found.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import { allKeys, type Call, countedKeys, type Row } from "../command.ts";
import { keyCountNotPositive, keyCountTooLarge, limitNegative, syntaxError } from "../errors.ts";
import type { Keyspace } from "../keyspace.ts";
import { removeKey } from "../mutations/generic.ts";
import { putSet } from "../mutations/set.ts";
import { events, type KeyspaceEvent } from "../observe/keyspace-events.ts";
import { ReplyBudget } from "../reply/budget.ts";
import { type Reply, set, zero } from "../reply/reply.ts";
import { SIFT_COUNT_MAX } from "../structures/dictionary.ts";
import { parseInteger } from "../structures/numbers/number-text.ts";
import { SetValue } from "../values/set.ts";
import { overwritten, read, updated } from "./command-keys.ts";

/** Called once with each member of the result; false ends the visit. */
type Visit = (member: Bytes) => boolean;

/** The sets at the keys of a command, undefined for missing keys. */
type Sets = readonly (SetValue | undefined)[];

interface Means {
  /** The hash seed of the resulting table. */
  readonly seed: Uint8Array;
  /** The limit of the reply, if the result is returned. */
  readonly budget?: ReplyBudget;
}

/** Returns a new set with the members of the result. */
type Operation = (sets: Sets, means: Means) => SetValue;

export const setOperationRows: readonly Row[] = [
  {
    name: "SDIFF",
    summary: "Returns the members of the first set that no other set has",
    arity: -2,
    flags: ["readonly"],
    keys: allKeys,
    run: (call) => answer(call, difference),
  },
  {
    name: "SDIFFCARD",
    summary: "Returns how many members the first set has and no other set, counted up to a limit",
    arity: -3,
    flags: ["readonly", "movablekeys"],
    keys: countedKeys,
    run: sdiffCard,
  },
  {
    name: "SDIFFSTORE",
    summary: "Stores the members of the first set that no other set has, and returns their number",
    arity: -3,
    flags: ["write", "denyoom"],
    notifiesMisses: true,
    keys: allKeys,
    keyUses: [overwritten, read],
    run: (call) => store(call, difference, events.sdiffstore),
  },
  {
    name: "SINTER",
    summary: "Returns the members that all of the sets have",
    arity: -2,
    flags: ["readonly"],
    keys: allKeys,
    run: sinter,
  },
  {
    name: "SINTERCARD",
    summary: "Returns how many members all of the sets have, counted up to a limit",
    arity: -3,
    flags: ["readonly", "movablekeys"],
    keys: countedKeys,
    run: sinterCard,
  },
  {
    name: "SINTERSTORE",
    summary: "Stores the members that all of the sets have, and returns their number",
    arity: -3,
    flags: ["write", "denyoom"],
    notifiesMisses: true,
    keys: allKeys,
    keyUses: [updated, read],
    run: (call) => store(call, intersection, events.sinterstore),
  },
  {
    name: "SUNION",
    summary: "Returns the members that any of the sets has",
    arity: -2,
    flags: ["readonly"],
    keys: allKeys,
    run: (call) => answer(call, union),
  },
  {
    name: "SUNIONCARD",
    summary: "Returns how many members any of the sets has, counted up to a limit",
    arity: -3,
    flags: ["readonly", "movablekeys"],
    keys: countedKeys,
    run: sunionCard,
  },
  {
    name: "SUNIONSTORE",
    summary: "Stores the members that any of the sets has, and returns their number",
    arity: -3,
    flags: ["write", "denyoom"],
    notifiesMisses: true,
    keys: allKeys,
    keyUses: [overwritten, read],
    run: (call) => store(call, union, events.sunionstore),
  },
];

function sinter({ keyspace, argCount, arg }: Call): Reply {
  const budget = new ReplyBudget();
  const members: Bytes[] = [];
  intersect(
    readSets(keyspace, argCount - 1, (index) => arg(1 + index)),
    (member) => {
      budget.take(member.length);
      members.push(member);
      return true;
    },
  );
  return set(members);
}

function sinterCard(call: Call): Reply {
  const { sets, limit } = readCounted(call);
  let count = 0;
  intersect(sets, () => {
    count += 1;
    return count !== limit;
  });
  return count;
}

/** Redis 8.10. */
function sunionCard(call: Call): Reply {
  const { sets, limit } = readCounted(call, { mayApproximate: true });
  const members = new SetValue(call.keyspace.hashSeed);
  for (const one of differentOnes(sets)) {
    for (let place = 0; place < one.size; place += 1) {
      members.add(one.memberAt(place));
      if (members.size === limit) return limit;
    }
  }
  return members.size;
}

/** Redis 8.10. */
function sdiffCard(call: Call): Reply {
  const { sets, limit } = readCounted(call);
  const [first, ...rest] = sets;
  if (first === undefined || rest.includes(first)) return zero;
  if (!isLookingUpCheaper(first, rest)) {
    const { size } = difference(sets, { seed: call.keyspace.hashSeed });
    return limit === 0 ? size : Math.min(size, limit);
  }
  let count = 0;
  visitSifted(first, { others: differentOnes(rest), wanted: false }, () => {
    count += 1;
    return count !== limit;
  });
  return count;
}

/**
 * The sets of a command that counts members, and the count at which to stop; 0: none. APPROX of SUNIONCARD allows an
 * estimate: here the exact number costs no more than to visit all members.
 */
function readCounted(
  { keyspace, arg, word, argCount }: Call,
  { mayApproximate }: { readonly mayApproximate: boolean } = { mayApproximate: false },
): { readonly sets: Sets; readonly limit: number } {
  const keyCount = countAt(arg(1));
  if (keyCount === undefined || keyCount < 1) throw keyCountNotPositive;
  if (keyCount > argCount - 2) throw keyCountTooLarge;
  let limit = 0;
  for (let i = 2 + keyCount; i < argCount; i += 1) {
    if (mayApproximate && word(i) === "APPROX") continue;
    if (word(i) !== "LIMIT" || i + 1 === argCount) throw syntaxError;
    i += 1;
    const limitArgument = countAt(arg(i));
    if (limitArgument === undefined || limitArgument < 0) throw limitNegative;
    limit = limitArgument;
  }
  return { sets: readSets(keyspace, keyCount, (index) => arg(2 + index)), limit };
}

/** The count in the word, or undefined. Counts larger than any set need not be exact. */
function countAt(text: Bytes): number | undefined {
  const value = parseInteger(text);
  return value === undefined ? undefined : Number(value);
}

function answer({ keyspace, argCount, arg }: Call, operation: Operation): Reply {
  const sets = readSets(keyspace, argCount - 1, (index) => arg(1 + index));
  return membersOf(operation(sets, { seed: keyspace.hashSeed, budget: new ReplyBudget() }));
}

/** The members of a set as a reply. Throws `replyTooLarge`. */
export function membersOf(value: SetValue): Reply {
  const budget = new ReplyBudget();
  const members: Bytes[] = [];
  for (let place = 0; place < value.size; place += 1) {
    const member = value.memberAt(place);
    budget.take(member.length);
    members.push(member);
  }
  return set(members);
}

function store({ keyspace, argCount, arg }: Call, operation: Operation, event: KeyspaceEvent): Reply {
  const sets = readSets(keyspace, argCount - 2, (index) => arg(2 + index));
  const target = arg(1);
  const result = operation(sets, { seed: keyspace.hashSeed });
  if (result.size > 0) {
    putSet(keyspace, target, result);
    keyspace.notify(event, target);
  } else if (keyspace.has(target)) {
    removeKey(keyspace, target);
    keyspace.notify(events.del, target);
  }
  return result.size === 0 ? zero : result.size;
}

/** The sets at some keys, undefined for missing keys. Throws `wrongType`, even if the result is already known. */
function readSets(keyspace: Keyspace, count: number, keyAt: (index: number) => Bytes): Sets {
  return Array.from({ length: count }, (_, index) => keyspace.readSet(keyAt(index)));
}

/** The distinct sets, without missing ones. */
function differentOnes(sets: Sets): SetValue[] {
  return [...new Set(sets)].filter((one) => one !== undefined);
}

function intersect(sets: Sets, visit: Visit): void {
  if (sets.includes(undefined)) return;
  const [smallest, ...others] = differentOnes(sets).toSorted((one, other) => one.size - other.size);
  if (smallest === undefined) return;
  visitSifted(smallest, { others, wanted: true }, visit);
}

function intersection(sets: Sets, { seed }: Means): SetValue {
  const result = new SetValue(seed);
  intersect(sets, (member) => {
    result.insert(member);
    return true;
  });
  return result;
}

function union(sets: Sets, { seed, budget }: Means): SetValue {
  const result = new SetValue(seed);
  for (const one of differentOnes(sets)) {
    for (let place = 0; place < one.size; place += 1) {
      const member = one.memberAt(place);
      if (result.add(member)) budget?.take(member.length);
    }
  }
  return result;
}

function difference(sets: Sets, { seed, budget }: Means): SetValue {
  const result = new SetValue(seed);
  const [first, ...rest] = sets;
  if (first === undefined || rest.includes(first)) return result;
  const others = differentOnes(rest);
  if (isLookingUpCheaper(first, rest)) {
    // The largest first: it most likely has the member.
    others.sort((one, other) => other.size - one.size);
    visitSifted(first, { others, wanted: false }, (member) => {
      budget?.take(member.length);
      result.insert(member);
      return true;
    });
    return result;
  }
  for (let place = 0; place < first.size; place += 1) result.insert(first.memberAt(place));
  for (const other of others) {
    for (let place = 0; place < other.size && result.size > 0; place += 1) result.delete(other.memberAt(place));
  }
  return result;
}

/**
 * True if a difference should look up each member of the first set in all others, rather than copy it and remove the
 * members of all others. This is exactly Redis' estimate, because a copy may leave another encoding: a lookup counts
 * half, since the first one often ends it, and a set that is named twice counts twice.
 */
function isLookingUpCheaper(first: SetValue, rest: Sets): boolean {
  let lookUps = first.size;
  let copies = first.size;
  for (const other of rest) {
    if (other === undefined) continue;
    lookUps += first.size;
    copies += other.size;
  }
  return Math.floor(lookUps / 2) <= copies;
}

/** Visits the members of a set that all others have (`wanted`), or that none of them has. */
function visitSifted(
  set: SetValue,
  { others, wanted }: { others: readonly SetValue[]; wanted: boolean },
  visit: Visit,
): void {
  const places = new Int32Array(SIFT_COUNT_MAX);
  for (let start = 0; start < set.size; start += SIFT_COUNT_MAX) {
    let count = Math.min(SIFT_COUNT_MAX, set.size - start);
    for (let i = 0; i < count; i += 1) places[i] = start + i;
    for (const other of others) count = other.siftMembersOf(set, places, { count, wanted });
    for (let i = 0; i < count; i += 1) if (!visit(set.memberAt(places[i] as number))) return;
  }
}
