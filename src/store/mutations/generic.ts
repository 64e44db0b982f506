/**
 * Mutations of keys with values of any type.
 *
 * Each mutation is a function that records itself in the frame and then changes
 * the keyspace, and a row that replays it. Both change the keyspace through the
 * same `apply…` function, so recovery builds exactly the served state. `apply…`
 * reads no clock and no random numbers: times and choices are in the record.
 *
 * Within a unit of work that can be undone, `apply…` pushes the inverse of its
 * change first (`undo-log.ts`). A value that is replaced or removed is kept as it
 * is; only changes in place have inverses of their own, in the file of the type.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import type { FrameWriter } from "../../kernel/frame.ts";
import type { Keyspace, KeyspaceUndo } from "../keyspace.ts";
import { events } from "../observe/keyspace-events.ts";
import { HashValue } from "../values/hash.ts";
import { SearchDefinition } from "../values/search-definition.ts";
import { StreamValue } from "../values/stream.ts";
import type { Value } from "../values/table.ts";
import { typeOf, valueBytesOf } from "../values/table.ts";
import type { Mutation } from "./mutation.ts";
import type { SharedInverses } from "./undo-log.ts";

const REMOVE_KEY = 1;
const EXPIRE_KEY = 2;
const SET_EXPIRY = 3;
const CLEAR_EXPIRY = 4;
const RENAME_KEY = 5;
const COPY_KEY = 6;
const CLEAR_KEYSPACE = 7;
const EVICT_KEY = 8;

/** Removes a key for a command. The key must exist. */
export function removeKey(keyspace: Keyspace, key: Bytes): void {
  keyspace.change(REMOVE_KEY, key);
  applyRemove(keyspace, key);
}

/** Removes an expired key. The key must exist. */
export function expireKey(keyspace: Keyspace, key: Bytes): void {
  keyspace.changeOwn(EXPIRE_KEY, key);
  keyspace.expiredCount += 1;
  applyRemove(keyspace, key);
  keyspace.notify(events.expired, key);
}

/** Evicts a key. The key must exist. */
export function evictKey(keyspace: Keyspace, key: Bytes): void {
  keyspace.changeOwn(EVICT_KEY, key);
  keyspace.evictedCount += 1;
  applyRemove(keyspace, key);
  keyspace.notify(events.evicted, key);
}

/** Sets the expiry of a key to `atMs`. The key must exist. */
export function setExpiry(keyspace: Keyspace, key: Bytes, atMs: number): void {
  keyspace.change(SET_EXPIRY, key).time(atMs);
  applyExpiry(keyspace, key, atMs);
}

/** Removes the expiry of a key. */
export function clearExpiry(keyspace: Keyspace, key: Bytes): void {
  keyspace.change(CLEAR_EXPIRY, key);
  applyClearExpiry(keyspace, key);
}

/** Moves value and expiry from one key to another, and overwrites it. `from` must exist and differ from `to`. */
export function renameKey(keyspace: Keyspace, from: Bytes, to: Bytes): void {
  keyspace.willChange(to);
  keyspace.change(RENAME_KEY, from).bytes(to);
  applyRename(keyspace, from, to);
}

/** Copies value and expiry to another key, and overwrites it. `from` must exist and differ from `to`. */
export function copyKey(keyspace: Keyspace, from: Bytes, to: Bytes): void {
  keyspace.willChange(to);
  keyspace.record(COPY_KEY).bytes(from).bytes(to);
  applyCopy(keyspace, from, to);
}

export function clearKeyspace(keyspace: Keyspace): void {
  keyspace.willChange(undefined);
  keyspace.record(CLEAR_KEYSPACE);
  applyClear(keyspace);
}

export const genericMutations: readonly Mutation[] = [
  { code: REMOVE_KEY, name: "remove-key", apply: (keyspace, record) => applyRemove(keyspace, record.bytes()) },
  { code: EXPIRE_KEY, name: "expire-key", apply: (keyspace, record) => applyRemove(keyspace, record.bytes()) },
  {
    code: SET_EXPIRY,
    name: "set-expiry",
    apply: (keyspace, record) => applyExpiry(keyspace, record.bytes(), record.time()),
  },
  { code: CLEAR_EXPIRY, name: "clear-expiry", apply: (keyspace, record) => applyClearExpiry(keyspace, record.bytes()) },
  {
    code: RENAME_KEY,
    name: "rename-key",
    apply: (keyspace, record) => applyRename(keyspace, record.bytes(), record.bytes()),
  },
  {
    code: COPY_KEY,
    name: "copy-key",
    apply: (keyspace, record) => applyCopy(keyspace, record.bytes(), record.bytes()),
  },
  { code: CLEAR_KEYSPACE, name: "clear-keyspace", apply: (keyspace) => applyClear(keyspace) },
  { code: EVICT_KEY, name: "evict-key", apply: (keyspace, record) => applyRemove(keyspace, record.bytes()) },
];

/** The record that flushes a keyspace. */
export function describeClear(record: (code: number) => FrameWriter): void {
  record(CLEAR_KEYSPACE);
}

/** The record that removes a key. */
export function describeRemoval(record: (code: number) => FrameWriter, key: Bytes): void {
  record(REMOVE_KEY).bytes(key);
}

/** The record that sets the expiry of a key, for a snapshot. */
export function describeExpiry(record: (code: number) => FrameWriter, key: Bytes, atMs: number): void {
  record(SET_EXPIRY).bytes(key).time(atMs);
}

/** Puts a new value at a key, and overwrites it. The caller sets the expiry. True if the key existed. */
export function applyPut(keyspace: Keyspace, key: Bytes, value: Value): boolean {
  const { entries, meter, undo } = keyspace;
  const slot = entries.find(key);
  if (slot < 0) {
    undo?.pushInsertion();
    keyspace.stampNew(entries.insert(key, value));
    keyspace.notify(events.new, key);
  } else {
    const old = entries.valueAt(slot);
    if (undo?.restoresLast(slot) === false) {
      undo.pushReplacement(valueBytesOf(old), slot, entries.stampAt(slot), old);
    }
    if (keyspace.fieldExpiryKeys.size > 0) applyClearFieldExpiryKey(keyspace, key);
    meter.remove(old);
    entries.setValueAt(slot, value);
    keyspace.stampReplaced(slot);
    if (old instanceof StreamValue) keyspace.onReady?.(key, old);
  }
  if (undo !== undefined && typeof value === "object") undo.own(value);
  meter.add(value);
  keyspace.onReady?.(key, value);
  return slot >= 0;
}

/** Puts a value at a key of a snapshot, in which each key is new. */
export function applyPutNew(keyspace: Keyspace, key: Bytes, value: Value): void {
  keyspace.stampNew(keyspace.entries.append(key, value));
  keyspace.meter.add(value);
}

/** Removes all keys but the newest, without a record: for a check that keeps no state. */
export function keepNewestKey(keyspace: Keyspace): void {
  const { entries } = keyspace;
  const slot = entries.size - 1;
  if (slot <= 0) return;
  const key = entries.keyAt(slot);
  const value = entries.valueAt(slot);
  applyClear(keyspace);
  applyPut(keyspace, key, value);
}

/** Sets the expiry of a key, which must exist. The table of expiries uses the same string as the table of keys. */
export function applyExpiry(keyspace: Keyspace, key: Bytes, atMs: number): void {
  const { entries, expiries, undo } = keyspace;
  const slot = expiries.find(key);
  if (undo !== undefined) pushExpiry(keyspace, undo, { key, slot });
  if (slot >= 0) expiries.setValueAt(slot, atMs);
  else expiries.insert(entries.keyAt(entries.find(key)), atMs);
}

/** Removes the expiry of a key, if it has one. */
export function applyClearExpiry(keyspace: Keyspace, key: Bytes): void {
  const { expiries, undo } = keyspace;
  if (expiries.size === 0) return;
  const slot = expiries.find(key);
  if (slot < 0) return;
  if (undo !== undefined) pushExpiryRemoval(keyspace, undo, slot);
  expiries.removeAt(slot);
}

/** Removes a key, if it exists. A key that does not has no expiry either, so the other tables need no look then. */
export function applyRemove(keyspace: Keyspace, key: Bytes): void {
  const { entries, meter, undo } = keyspace;
  const slot = entries.find(key);
  if (slot < 0) return;
  applyClearExpiry(keyspace, key);
  applyClearFieldExpiryKey(keyspace, key);
  const value = entries.valueAt(slot);
  if (undo !== undefined) pushRemoval(keyspace, undo, slot);
  meter.remove(value);
  entries.removeAt(slot);
  // Notifies clients that wait in a group that the group was removed.
  if (value instanceof StreamValue) keyspace.onReady?.(key, value);
  else if (value instanceof SearchDefinition) keyspace.search.removeDefinition(key);
}

function applyRename(keyspace: Keyspace, from: Bytes, to: Bytes): void {
  const { entries } = keyspace;
  const slot = entries.find(from);
  if (slot < 0) return;
  const value = entries.valueAt(slot);
  const stamp = entries.stampAt(slot);
  const atMs = keyspace.expiries.get(from);
  // The new name first, as in Redis: waiters are served in the order in which the keys became ready.
  applyRemove(keyspace, to);
  putMoved(keyspace, to, value);
  applyExpiries(keyspace, to, { value, atMs });
  entries.setStampAt(entries.find(to), stamp);
  applyRemove(keyspace, from);
}

/** Puts the value of another key at a key. It is not new to the unit of work, unless it was before. */
function putMoved(keyspace: Keyspace, key: Bytes, value: Value): void {
  const { undo } = keyspace;
  const isOld = undo !== undefined && typeof value === "object" && !undo.owns(value);
  applyPut(keyspace, key, value);
  if (isOld) undo.disown(value);
}

function applyCopy(keyspace: Keyspace, from: Bytes, to: Bytes): void {
  const value = keyspace.entries.get(from);
  if (value === undefined) return;
  applyWhole(keyspace, to, { value: typeOf(value).copy(value), atMs: keyspace.expiries.get(from) });
}

interface Whole {
  readonly value: Value;
  readonly atMs: number | undefined;
}

/** Puts a new value at a key, with its expiry if it has one. */
export function applyWhole(keyspace: Keyspace, key: Bytes, whole: Whole): void {
  applyRemove(keyspace, key);
  applyPut(keyspace, key, whole.value);
  applyExpiries(keyspace, key, whole);
}

function applyExpiries(keyspace: Keyspace, key: Bytes, { value, atMs }: Whole): void {
  if (atMs !== undefined) applyExpiry(keyspace, key, atMs);
  if (value instanceof HashValue && value.hasExpiries) applyFieldExpiryKey(keyspace, key);
}

/** Registers that a hash, which must exist, has a field that expires. */
export function applyFieldExpiryKey(keyspace: Keyspace, key: Bytes): void {
  const { entries, fieldExpiryKeys, undo } = keyspace;
  if (fieldExpiryKeys.has(key)) return;
  undo?.push(0, () => fieldExpiryKeys.delete(key));
  fieldExpiryKeys.insert(entries.keyAt(entries.find(key)), true);
}

/** Registers that a key has no field that expires. */
export function applyClearFieldExpiryKey(keyspace: Keyspace, key: Bytes): void {
  const { fieldExpiryKeys, undo } = keyspace;
  if (fieldExpiryKeys.size === 0) return;
  const slot = fieldExpiryKeys.find(key);
  if (slot < 0) return;
  if (undo !== undefined) pushFieldExpiryKeyRemoval(keyspace, undo, slot);
  fieldExpiryKeys.removeAt(slot);
}

function applyClear(keyspace: Keyspace): void {
  const { entries, expiries, fieldExpiryKeys, meter, undo } = keyspace;
  keyspace.onReady?.(undefined);
  if (undo !== undefined) pushClear(keyspace, undo);
  const restoreNames = keyspace.search.clear();
  undo?.push(0, restoreNames);
  meter.clear();
  entries.clear();
  expiries.clear();
  fieldExpiryKeys.clear();
}

// The inverses. Each is pushed by a function of its own: a closure in `apply…` would cost every call its variables.

/** The inverses of `applyPut`. Slots are those of the time of the change, because later changes are undone before. */
export function inversesOfPut({ entries, meter }: Keyspace): SharedInverses<Value> {
  return {
    removeLast() {
      const slot = entries.size - 1;
      meter.remove(entries.valueAt(slot));
      entries.removeAt(slot);
    },
    putBack(slot, old, stamp) {
      meter.remove(entries.valueAt(slot));
      entries.setValueAt(slot, old);
      entries.setStampAt(slot, stamp);
      meter.add(old);
    },
  };
}

function pushRemoval({ entries, meter, search }: Keyspace, undo: KeyspaceUndo, slot: number): void {
  const key = entries.keyAt(slot);
  const value = entries.valueAt(slot);
  const stamp = entries.stampAt(slot);
  undo.push(key.length + valueBytesOf(value), () => {
    entries.restoreAt(slot, key, value);
    entries.setStampAt(slot, stamp);
    meter.add(value);
    if (value instanceof SearchDefinition) search.putDefinition(key, value);
  });
}

function pushExpiry(
  { expiries }: Keyspace,
  undo: KeyspaceUndo,
  { key, slot }: { readonly key: Bytes; readonly slot: number },
): void {
  if (slot < 0) {
    undo.push(0, () => expiries.delete(key));
    return;
  }
  const atMs = expiries.valueAt(slot);
  undo.push(0, () => expiries.setValueAt(slot, atMs));
}

function pushExpiryRemoval({ expiries }: Keyspace, undo: KeyspaceUndo, slot: number): void {
  const key = expiries.keyAt(slot);
  const atMs = expiries.valueAt(slot);
  undo.push(0, () => expiries.restoreAt(slot, key, atMs));
}

function pushFieldExpiryKeyRemoval({ fieldExpiryKeys }: Keyspace, undo: KeyspaceUndo, slot: number): void {
  const key = fieldExpiryKeys.keyAt(slot);
  undo.push(0, () => fieldExpiryKeys.restoreAt(slot, key, true));
}

function pushClear(keyspace: Keyspace, undo: KeyspaceUndo): void {
  const { entries, expiries, fieldExpiryKeys, meter } = keyspace;
  const valueBytes = meter.totalBytes;
  const restorers = [entries, expiries, fieldExpiryKeys].map((table) => table.restorer());
  undo.push(keyspace.usedBytes, () => {
    for (const restore of restorers) restore();
    meter.restore(valueBytes);
  });
}
