/** Mutations of sorted sets. How a mutation is made: see `generic.ts`. */
import type { Bytes } from "../../kernel/bytes.ts";
import type { FrameReader, FrameWriter } from "../../kernel/frame.ts";
import type { Keyspace, KeyspaceUndo } from "../keyspace.ts";
import { type RankRange, SortedSetValue } from "../values/sorted-set.ts";
import { applyClearExpiry, applyPut, applyRemove } from "./generic.ts";
import type { Description, Mutation } from "./mutation.ts";

const PUT_MEMBERS = 100;
const REMOVE_MEMBERS = 101;
const REMOVE_RANKS = 102;
const STORE_SORTED_SET = 103;
const OPEN_LARGE = 104;

/** Memory of a removed pair in the undo log, beside its member. */
const PAIR_BYTES = 64;
/** Members of one record of a snapshot. */
const DESCRIBED_COUNT_MAX = 128;

export interface Scored {
  readonly member: Bytes;
  readonly score: number;
}

/** A member that gets a score. */
export interface ScoreChange extends Scored {
  /** Its score now, or after the changes before this one, which the caller has read; undefined: it is new. */
  readonly old: number | undefined;
}

interface Putting {
  readonly changes: readonly ScoreChange[];
  /** The sorted set at the key now, which the caller has read: it is not looked up again. */
  readonly old: SortedSetValue | undefined;
}

/** Sets the scores of at least one member, new or not; creates the sorted set if it does not exist. */
export function putMembers(keyspace: Keyspace, key: Bytes, { changes, old }: Putting): void {
  const record = keyspace.change(PUT_MEMBERS, key).number(changes.length);
  for (const { member, score } of changes) record.bytes(member).double(score);
  const sortedSet = changing(keyspace, key, old);
  for (const { member, score, old: from } of changes) {
    if (keyspace.undo?.owns(sortedSet) === false)
      pushMemberChange(keyspace, keyspace.undo, { sortedSet, member, score: from });
    sortedSet.change(member, { from, to: score });
  }
}

/** Removes members, and the key with the last one. They must exist. */
export function removeMembers(keyspace: Keyspace, key: Bytes, members: readonly Bytes[]): void {
  const record = keyspace.change(REMOVE_MEMBERS, key).number(members.length);
  for (const member of members) record.bytes(member);
  applyRemoveMembers(keyspace, key, members);
}

/** Removes the members at given ranks, and the key with the last one. The ranks must exist. */
export function removeRanks(keyspace: Keyspace, key: Bytes, range: RankRange): void {
  keyspace.change(REMOVE_RANKS, key).number(range.from).number(range.count);
  applyRemoveRanks(keyspace, key, range);
}

/** Puts a whole sorted set, which is not empty, at a key without expiry, and overwrites it. */
export function storeSortedSet(keyspace: Keyspace, key: Bytes, sortedSet: SortedSetValue): void {
  keyspace.useReplaced(key);
  const record = keyspace.change(STORE_SORTED_SET, key).number(sortedSet.isListpack ? 0 : 1);
  record.number(sortedSet.size);
  writePairs(record, sortedSet, { from: 0, count: sortedSet.size });
  applyStore(keyspace, key, sortedSet);
}

export const sortedSetMutations: readonly Mutation[] = [
  {
    code: PUT_MEMBERS,
    name: "put-members",
    apply: (keyspace, record) => readPairs(record, sortedSetAt(keyspace, record.bytes())),
  },
  {
    code: REMOVE_MEMBERS,
    name: "remove-members",
    apply: (keyspace, record) => {
      const key = record.bytes();
      const members = Array.from({ length: record.number() }, () => record.bytes());
      applyRemoveMembers(keyspace, key, members);
    },
  },
  {
    code: REMOVE_RANKS,
    name: "remove-ranks",
    apply: (keyspace, record) =>
      applyRemoveRanks(keyspace, record.bytes(), { from: record.number(), count: record.number() }),
  },
  {
    code: STORE_SORTED_SET,
    name: "store-sorted-set",
    apply: (keyspace, record) => {
      const key = record.bytes();
      const sortedSet = new SortedSetValue(keyspace.hashSeed, { isLarge: record.number() === 1 });
      readPairs(record, sortedSet);
      applyStore(keyspace, key, sortedSet);
    },
  },
  {
    code: OPEN_LARGE,
    name: "open-large-sorted-set",
    apply: (keyspace, record) =>
      applyStore(keyspace, record.bytes(), new SortedSetValue(keyspace.hashSeed, { isLarge: true })),
  },
];

/** The records that rebuild a sorted set: its pairs in order, which fill the nodes of the new one. */
export function describeSortedSet({ key, value: sortedSet, record }: Description<SortedSetValue>): void {
  // A large sorted set stays in the large form, whatever its current size.
  if (!sortedSet.isListpack) record(OPEN_LARGE).bytes(key);
  for (let from = 0; from < sortedSet.size; from += DESCRIBED_COUNT_MAX) {
    const count = Math.min(DESCRIBED_COUNT_MAX, sortedSet.size - from);
    writePairs(record(PUT_MEMBERS).bytes(key).number(count), sortedSet, { from, count });
  }
}

function writePairs(record: FrameWriter, sortedSet: SortedSetValue, range: RankRange): void {
  sortedSet.visit(range, (member, score) => record.bytes(member).double(score));
}

function readPairs(record: FrameReader, sortedSet: SortedSetValue): void {
  for (let left = record.number(); left > 0; left -= 1) sortedSet.put(record.bytes(), record.double());
}

function applyRemoveMembers(keyspace: Keyspace, key: Bytes, members: readonly Bytes[]): void {
  const sortedSet = sortedSetAt(keyspace, key);
  for (const member of members) {
    if (keyspace.undo?.owns(sortedSet) === false)
      pushMemberChange(keyspace, keyspace.undo, { sortedSet, member, score: sortedSet.get(member) });
    sortedSet.delete(member);
  }
  if (sortedSet.size === 0) applyRemove(keyspace, key);
}

function applyRemoveRanks(keyspace: Keyspace, key: Bytes, range: RankRange): void {
  const sortedSet = sortedSetAt(keyspace, key);
  if (keyspace.undo?.owns(sortedSet) === false) pushRanksRemoval(keyspace, keyspace.undo, { sortedSet, range });
  sortedSet.deleteRanks(range);
  if (sortedSet.size === 0) applyRemove(keyspace, key);
}

function applyStore(keyspace: Keyspace, key: Bytes, sortedSet: SortedSetValue): void {
  applyPut(keyspace, key, sortedSet);
  applyClearExpiry(keyspace, key);
}

/** The sorted set at a key, about to be changed; created if missing. The caller has checked the type of the key. */
function sortedSetAt(keyspace: Keyspace, key: Bytes): SortedSetValue {
  const value = keyspace.entries.get(key);
  return changing(keyspace, key, value instanceof SortedSetValue ? value : undefined);
}

/** As `sortedSetAt`, for the sorted set at the key, which was read. */
function changing(keyspace: Keyspace, key: Bytes, old: SortedSetValue | undefined): SortedSetValue {
  if (old !== undefined) {
    keyspace.meter.change(old);
    return old;
  }
  const sortedSet = new SortedSetValue(keyspace.hashSeed);
  applyPut(keyspace, key, sortedSet);
  return sortedSet;
}

interface ScoredMember {
  readonly sortedSet: SortedSetValue;
  readonly member: Bytes;
  /** Undefined if the set does not have it. */
  readonly score: number | undefined;
}

/** The score of a member is about to be set, or the member removed. */
function pushMemberChange({ meter }: Keyspace, undo: KeyspaceUndo, { sortedSet, member, score }: ScoredMember): void {
  const restore = sortedSet.memberRestorer(member, score);
  undo.push(member.length, () => {
    meter.change(sortedSet);
    restore();
  });
}

function pushRanksRemoval(
  { meter }: Keyspace,
  undo: KeyspaceUndo,
  { sortedSet, range }: { readonly sortedSet: SortedSetValue; readonly range: RankRange },
): void {
  const pairs: Scored[] = [];
  let bytes = 0;
  sortedSet.visit(range, (member, score) => {
    pairs.push({ member, score });
    bytes += member.length + PAIR_BYTES;
  });
  undo.push(bytes, () => {
    meter.change(sortedSet);
    for (const { member, score } of pairs) sortedSet.put(member, score);
  });
}
