/**
 * Mutations of sets. How a mutation is made: see `generic.ts`.
 *
 * The members in a record follow one another, each after a 1, and a 0 ends
 * them. So members can be recorded and changed one by one, without a list of
 * them, and the key is written once.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import type { FrameReader, FrameWriter } from "../../kernel/frame.ts";
import type { Keyspace, KeyspaceUndo } from "../keyspace.ts";
import { SetValue } from "../values/set.ts";
import { applyClearExpiry, applyPut, applyRemove } from "./generic.ts";
import type { Description, Mutation } from "./mutation.ts";

const ADD_MEMBERS = 80;
const REMOVE_MEMBERS = 81;
const PUT_SET = 82;

const NO_MORE = 0;
const ONE_MORE = 1;

/** Adds missing members; creates the set if it does not exist. Returns how many are new. */
export function addMembers(keyspace: Keyspace, key: Bytes, members: readonly Bytes[]): number {
  let set = findSet(keyspace, key);
  let record: FrameWriter | undefined;
  let count = 0;
  for (const member of members) {
    if (set?.has(member) === true) continue;
    record ??= keyspace.change(ADD_MEMBERS, key);
    record.number(ONE_MORE).bytes(member);
    set ??= makeSet(keyspace, key);
    willChange(keyspace, set, member);
    set.insert(member);
    count += 1;
  }
  record?.number(NO_MORE);
  return count;
}

/** Removes members, and the key with its last member. Returns how many existed. */
export function removeMembers(keyspace: Keyspace, key: Bytes, members: readonly Bytes[]): number {
  const set = findSet(keyspace, key);
  if (set === undefined) return 0;
  let record: FrameWriter | undefined;
  let count = 0;
  for (const member of members) {
    if (!set.has(member)) continue;
    record ??= keyspace.change(REMOVE_MEMBERS, key);
    record.number(ONE_MORE).bytes(member);
    willChange(keyspace, set, member);
    set.delete(member);
    count += 1;
  }
  record?.number(NO_MORE);
  if (set.size === 0) applyRemove(keyspace, key);
  return count;
}

/** Puts a set, which is not empty and not shared, at a key without expiry, and overwrites it. */
export function putSet(keyspace: Keyspace, key: Bytes, set: SetValue): void {
  keyspace.useReplaced(key);
  const record = keyspace.change(PUT_SET, key);
  for (let place = 0; place < set.size; place += 1) record.number(ONE_MORE).bytes(set.memberAt(place));
  record.number(NO_MORE);
  applyPutSet(keyspace, key, set);
}

export const setMutations: readonly Mutation[] = [
  {
    code: ADD_MEMBERS,
    name: "add-members",
    apply: (keyspace, record) => {
      const key = record.bytes();
      const set = findSet(keyspace, key) ?? makeSet(keyspace, key);
      eachMember(record, (member) => set.add(member));
    },
  },
  {
    code: REMOVE_MEMBERS,
    name: "remove-members",
    apply: (keyspace, record) => {
      const key = record.bytes();
      const set = findSet(keyspace, key);
      eachMember(record, (member) => set?.delete(member));
      if (set?.size === 0) applyRemove(keyspace, key);
    },
  },
  {
    code: PUT_SET,
    name: "put-set",
    apply: (keyspace, record) => {
      const key = record.bytes();
      const set = new SetValue(keyspace.hashSeed);
      eachMember(record, (member) => set.add(member));
      applyPutSet(keyspace, key, set);
    },
  },
];

/** Members of one record of a snapshot, so that frames stay small. */
const DESCRIBED_BYTES = 16 * 1024;

/** The records that rebuild a set. */
export function describeSet({ key, value: set, record: open }: Description<SetValue>): void {
  for (let place = 0; place < set.size; ) {
    const record = open(ADD_MEMBERS).bytes(key);
    const end = record.byteCount + DESCRIBED_BYTES;
    for (; place < set.size && record.byteCount < end; place += 1) record.number(ONE_MORE).bytes(set.memberAt(place));
    record.number(NO_MORE);
  }
}

function eachMember(record: FrameReader, visit: (member: Bytes) => void): void {
  while (record.number() === ONE_MORE) visit(record.bytes());
}

function applyPutSet(keyspace: Keyspace, key: Bytes, set: SetValue): void {
  applyPut(keyspace, key, set);
  applyClearExpiry(keyspace, key);
}

/** The set at a key, about to be changed. */
function findSet(keyspace: Keyspace, key: Bytes): SetValue | undefined {
  const value = keyspace.entries.get(key);
  if (!(value instanceof SetValue)) return undefined;
  keyspace.meter.change(value);
  return value;
}

/** An empty set at a key without value. */
function makeSet(keyspace: Keyspace, key: Bytes): SetValue {
  const set = new SetValue(keyspace.hashSeed);
  applyPut(keyspace, key, set);
  return set;
}

/** A member is about to be added to the set or removed from it, in a unit of work. Replay cannot be undone. */
function willChange(keyspace: Keyspace, set: SetValue, member: Bytes): void {
  if (keyspace.undo?.owns(set) === false) pushMemberChange(keyspace, keyspace.undo, { set, member });
}

function pushMemberChange(
  { meter }: Keyspace,
  undo: KeyspaceUndo,
  { set, member }: { readonly set: SetValue; readonly member: Bytes },
): void {
  const { isCompact } = set;
  const restore = isCompact ? set.restorer() : set.memberRestorer(member);
  undo.push(isCompact ? set.memoryBytes : member.length, () => {
    meter.change(set);
    restore();
  });
  if (isCompact) undo.own(set);
}
