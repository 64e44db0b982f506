/** Mutations of hashes and of the expiry of their fields. How a mutation is made: see `generic.ts`. */
import type { Bytes } from "../../kernel/bytes.ts";
import type { Keyspace, KeyspaceUndo } from "../keyspace.ts";
import { events } from "../observe/keyspace-events.ts";
import { HashValue } from "../values/hash.ts";
import { applyClearFieldExpiryKey, applyFieldExpiryKey, applyPut, applyRemove } from "./generic.ts";
import type { Description, Mutation } from "./mutation.ts";

const PUT_FIELD = 40;
const REPLACE_FIELD = 41;
const REMOVE_FIELD = 42;
const EXPIRE_FIELD = 43;
const SET_FIELD_EXPIRY = 44;
const CLEAR_FIELD_EXPIRY = 45;

/** Sets a field without expiry; creates the hash if it does not exist. True if the field is new. */
export function putField(keyspace: Keyspace, key: Bytes, pair: { field: Bytes; value: Bytes }): boolean {
  keyspace.change(PUT_FIELD, key).bytes(pair.field).bytes(pair.value);
  return applyPutField(keyspace, key, pair);
}

/** Sets a field, which keeps its expiry. True if the field is new. */
export function replaceField(keyspace: Keyspace, key: Bytes, pair: { field: Bytes; value: Bytes }): boolean {
  keyspace.change(REPLACE_FIELD, key).bytes(pair.field).bytes(pair.value);
  return applyReplaceField(keyspace, key, pair);
}

/** Removes a field for a command, and the key with its last field. The field must exist. */
export function removeField(keyspace: Keyspace, key: Bytes, field: Bytes): void {
  keyspace.change(REMOVE_FIELD, key).bytes(field);
  applyRemoveField(keyspace, key, field);
}

/** Sets the expiry of a field to `atMs`. The field must exist. */
export function setFieldExpiry(keyspace: Keyspace, key: Bytes, expiry: { field: Bytes; atMs: number }): void {
  keyspace.change(SET_FIELD_EXPIRY, key).bytes(expiry.field).time(expiry.atMs);
  applySetFieldExpiry(keyspace, key, expiry);
}

/** Removes the expiry of a field. */
export function clearFieldExpiry(keyspace: Keyspace, key: Bytes, field: Bytes): void {
  keyspace.change(CLEAR_FIELD_EXPIRY, key).bytes(field);
  applyClearFieldExpiry(keyspace, key, field);
}

/** Removes expired fields, at most `countMax`, and the key with the last one. Returns how many. */
export function expireFields(
  keyspace: Keyspace,
  key: Bytes,
  hash: HashValue,
  countMax = Number.POSITIVE_INFINITY,
): number {
  let count = 0;
  for (let field = hash.findDue(keyspace.nowMs); field !== undefined; field = hash.findDue(keyspace.nowMs)) {
    if (count === countMax) break;
    keyspace.changeOwn(EXPIRE_FIELD, key).bytes(field);
    keyspace.expiredFieldCount += 1;
    applyRemoveField(keyspace, key, field);
    count += 1;
  }
  if (count > 0) keyspace.notifyTaken(events.hexpired, key);
  return count;
}

export const hashMutations: readonly Mutation[] = [
  {
    code: PUT_FIELD,
    name: "put-field",
    apply: (keyspace, record) =>
      applyPutField(keyspace, record.bytes(), { field: record.bytes(), value: record.bytes() }),
  },
  {
    code: REPLACE_FIELD,
    name: "replace-field",
    apply: (keyspace, record) =>
      applyReplaceField(keyspace, record.bytes(), { field: record.bytes(), value: record.bytes() }),
  },
  {
    code: REMOVE_FIELD,
    name: "remove-field",
    apply: (keyspace, record) => applyRemoveField(keyspace, record.bytes(), record.bytes()),
  },
  {
    code: EXPIRE_FIELD,
    name: "expire-field",
    apply: (keyspace, record) => applyRemoveField(keyspace, record.bytes(), record.bytes()),
  },
  {
    code: SET_FIELD_EXPIRY,
    name: "set-field-expiry",
    apply: (keyspace, record) =>
      applySetFieldExpiry(keyspace, record.bytes(), { field: record.bytes(), atMs: record.time() }),
  },
  {
    code: CLEAR_FIELD_EXPIRY,
    name: "clear-field-expiry",
    apply: (keyspace, record) => applyClearFieldExpiry(keyspace, record.bytes(), record.bytes()),
  },
];

/** The records that rebuild a hash. */
export function describeHash({ key, value: hash, record }: Description<HashValue>): void {
  for (let place = 0; place < hash.size; place += 1) {
    const field = hash.fieldAt(place);
    record(PUT_FIELD).bytes(key).bytes(field).bytes(hash.valueAt(place));
    const atMs = hash.expiryOf(field);
    if (atMs !== undefined) record(SET_FIELD_EXPIRY).bytes(key).bytes(field).time(atMs);
  }
}

function applyPutField(keyspace: Keyspace, key: Bytes, pair: { field: Bytes; value: Bytes }): boolean {
  const hash = hashAt(keyspace, key, pair.field);
  if (hash.clearExpiry(pair.field) && !hash.hasExpiries) applyClearFieldExpiryKey(keyspace, key);
  return hash.set(pair.field, pair.value);
}

function applyReplaceField(keyspace: Keyspace, key: Bytes, pair: { field: Bytes; value: Bytes }): boolean {
  return hashAt(keyspace, key, pair.field).set(pair.field, pair.value);
}

function applyRemoveField(keyspace: Keyspace, key: Bytes, field: Bytes): void {
  const hash = hashAt(keyspace, key, field);
  hash.delete(field);
  if (hash.size === 0) applyRemove(keyspace, key);
  else if (!hash.hasExpiries) applyClearFieldExpiryKey(keyspace, key);
}

function applySetFieldExpiry(keyspace: Keyspace, key: Bytes, expiry: { field: Bytes; atMs: number }): void {
  hashAt(keyspace, key, expiry.field).setExpiry(expiry.field, expiry.atMs);
  applyFieldExpiryKey(keyspace, key);
}

function applyClearFieldExpiry(keyspace: Keyspace, key: Bytes, field: Bytes): void {
  const hash = hashAt(keyspace, key, field);
  if (hash.clearExpiry(field) && !hash.hasExpiries) applyClearFieldExpiryKey(keyspace, key);
}

/**
 * The hash at a key, of which a field is about to be changed; created if missing. The caller has checked the type of
 * the key.
 */
function hashAt(keyspace: Keyspace, key: Bytes, field: Bytes): HashValue {
  const value = keyspace.entries.get(key);
  if (value instanceof HashValue) {
    keyspace.meter.change(value);
    if (keyspace.undo?.owns(value) === false) pushFieldChange(keyspace, keyspace.undo, { hash: value, field });
    return value;
  }
  const hash = new HashValue(keyspace.hashSeed);
  applyPut(keyspace, key, hash);
  return hash;
}

function pushFieldChange(
  { meter }: Keyspace,
  undo: KeyspaceUndo,
  { hash, field }: { readonly hash: HashValue; readonly field: Bytes },
): void {
  const { isCompact } = hash;
  const restore = isCompact ? hash.restorer() : hash.fieldRestorer(field);
  undo.push(isCompact ? hash.memoryBytes : field.length + (hash.get(field)?.length ?? 0), () => {
    meter.change(hash);
    restore();
  });
  if (isCompact) undo.own(hash);
}
