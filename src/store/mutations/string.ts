/** Mutations of string values. How a mutation is made: see `generic.ts`. */
import type { Bytes } from "../../kernel/bytes.ts";
import type { FrameReader, FrameWriter } from "../../kernel/frame.ts";
import type { Keyspace, KeyspaceUndo } from "../keyspace.ts";
import { LARGE_BYTES_MIN, LargeString } from "../structures/large-string.ts";
import { bytesOf, isString, type StringValue, stringFrom, stringFromBuffer } from "../values/string.ts";
import { applyClearExpiry, applyExpiry, applyPut, applyPutNew } from "./generic.ts";
import type { Description, Mutation } from "./mutation.ts";

const PUT_STRING = 20;
const PUT_STRING_UNTIL = 21;
const REPLACE_STRING = 22;
const APPEND_STRING = 23;
const SET_STRING_RANGE = 24;

/** Puts a string at a key without expiry, and overwrites it. */
export function putString(keyspace: Keyspace, key: Bytes, value: StringValue): void {
  keyspace.useReplaced(key);
  writeString(keyspace.change(PUT_STRING, key), value);
  applyPutString(keyspace, key, value);
}

/** As `putString`, with the bytes of a long string; see `RequestWithValue`. */
export function putBytes(keyspace: Keyspace, key: Bytes, bytes: Buffer): void {
  keyspace.useReplaced(key);
  keyspace.change(PUT_STRING, key).buffer(bytes);
  if (!overwritesLong(keyspace, key, bytes)) applyPutString(keyspace, key, LargeString.own(bytes));
}

interface Content {
  readonly length: number;
  /** Writes all bytes of the content. */
  readonly write: (result: Buffer) => void;
  /** The values that `write` reads. */
  readonly sources: readonly unknown[];
}

/**
 * As `putString` with a computed content. It is computed in the memory of an existing long string, unless it is computed
 * from that string or the unit of work may be undone.
 */
export function putContent(keyspace: Keyspace, key: Bytes, { length, write, sources }: Content): void {
  keyspace.useReplaced(key);
  const old = keyspace.entries.get(key);
  const isFree = keyspace.undo === undefined && old instanceof LargeString && !sources.includes(old);
  const replaced = isFree ? old.replaceable(length) : undefined;
  const content = replaced ?? scratchOf(length);
  write(content);
  keyspace.change(PUT_STRING, key).buffer(content);
  if (replaced === undefined) {
    applyPutString(keyspace, key, stringFromBuffer(content));
    return;
  }
  // The capacity does not change, so the meter need not know.
  keyspace.stampReplaced(keyspace.entries.find(key));
  applyClearExpiry(keyspace, key);
}

/** Contents up to this size are made in a reused buffer: allocating memory costs more than copying. */
const SCRATCH_BYTES_MAX = 1024 * 1024;
let scratch = Buffer.alloc(LARGE_BYTES_MIN);

/** A buffer with any content, valid until the next call. */
function scratchOf(length: number): Buffer {
  if (length > SCRATCH_BYTES_MAX) return Buffer.allocUnsafeSlow(length);
  if (scratch.length < length) scratch = Buffer.alloc(Math.min(SCRATCH_BYTES_MAX, length * 2));
  return scratch.subarray(0, length);
}

/** As `putString`, with the expiry `atMs`. */
export function putStringUntil(keyspace: Keyspace, key: Bytes, content: { value: StringValue; atMs: number }): void {
  keyspace.useReplaced(key);
  writeString(keyspace.change(PUT_STRING_UNTIL, key).time(content.atMs), content.value);
  applyPutStringUntil(keyspace, key, content);
}

/** As `putString`, but the key keeps its expiry. */
export function replaceString(keyspace: Keyspace, key: Bytes, value: StringValue): void {
  writeString(keyspace.change(REPLACE_STRING, key), value);
  applyPut(keyspace, key, value);
}

/** Appends bytes to a string, or creates it. Returns the new length. */
export function appendString(keyspace: Keyspace, key: Bytes, bytes: Bytes): number {
  keyspace.change(APPEND_STRING, key).bytes(bytes);
  return applyAppend(keyspace, key, bytes);
}

interface Overwriting {
  readonly offset: number;
  readonly bytes: Bytes;
  /** The string at the key now, which the caller has read: it is not looked up again. */
  readonly old: StringValue | undefined;
}

/** Overwrites part of a string; fills a gap before it with zeros. Returns the string at the key afterwards. */
export function setStringRange(keyspace: Keyspace, key: Bytes, range: Overwriting): LargeString {
  keyspace.change(SET_STRING_RANGE, key).number(range.offset).bytes(range.bytes);
  return applySetRange(keyspace, key, range);
}

export const stringMutations: readonly Mutation[] = [
  {
    code: PUT_STRING,
    name: "put-string",
    apply: (keyspace, record) => replayPutString(keyspace, record.bytes(), record.bytesBelow(LARGE_BYTES_MIN)),
  },
  {
    code: PUT_STRING_UNTIL,
    name: "put-string-until",
    apply: (keyspace, record) => {
      const key = record.bytes();
      const atMs = record.time();
      applyPutStringUntil(keyspace, key, { atMs, value: readString(record) });
    },
  },
  {
    code: REPLACE_STRING,
    name: "replace-string",
    apply: (keyspace, record) => applyPut(keyspace, record.bytes(), readString(record)),
  },
  {
    code: APPEND_STRING,
    name: "append-string",
    apply: (keyspace, record) => applyAppend(keyspace, record.bytes(), record.bytes()),
  },
  {
    code: SET_STRING_RANGE,
    name: "set-string-range",
    apply: (keyspace, record) => {
      const key = record.bytes();
      const offset = record.number();
      applySetRange(keyspace, key, { offset, bytes: record.bytes(), old: findString(keyspace, key) });
    },
  },
];

/** The record that rebuilds a string. */
export function describeString({ key, value, record }: Description<StringValue>): void {
  writeString(record(PUT_STRING).bytes(key), value);
}

function writeString(record: FrameWriter, value: StringValue): void {
  if (typeof value === "string") record.bytes(value);
  else record.buffer(value.view);
}

/** The string of a record, in its stored form. */
function readString(record: FrameReader): StringValue {
  return storedOf(record.bytesBelow(LARGE_BYTES_MIN));
}

/** The stored form of a field that `bytesBelow` read. */
function storedOf(content: Bytes | Buffer): StringValue {
  return typeof content === "string" ? content : stringFromBuffer(content);
}

/** As `applyPutString`. */
function replayPutString(keyspace: Keyspace, key: Bytes, content: Bytes | Buffer): void {
  if (keyspace.loadsSnapshot) {
    applyPutNew(keyspace, key, storedOf(content));
    return;
  }
  if (typeof content === "string" || !overwritesLong(keyspace, key, content))
    applyPutString(keyspace, key, storedOf(content));
}

/**
 * Overwrites a long string in its own memory, as `applyPutString`; false, without change, unless that stays the same and
 * nothing can be undone. New memory costs more than its bytes: V8 marks its whole heap after some tens of megabytes.
 */
function overwritesLong(keyspace: Keyspace, key: Bytes, content: Buffer): boolean {
  if (keyspace.undo !== undefined) return false;
  const slot = keyspace.entries.find(key);
  const old = slot < 0 ? undefined : keyspace.entries.valueAt(slot);
  if (!(old instanceof LargeString && old.overwrite(content))) return false;
  // Its memory has the same size, so the meter need not know.
  keyspace.stampReplaced(slot);
  applyClearExpiry(keyspace, key);
  return true;
}

function applyPutString(keyspace: Keyspace, key: Bytes, value: StringValue): void {
  const existed = applyPut(keyspace, key, value);
  if (existed && keyspace.expiries.size > 0) applyClearExpiry(keyspace, key);
}

function applyPutStringUntil(keyspace: Keyspace, key: Bytes, content: { value: StringValue; atMs: number }): void {
  applyPut(keyspace, key, content.value);
  applyExpiry(keyspace, key, content.atMs);
}

function applyAppend(keyspace: Keyspace, key: Bytes, bytes: Bytes): number {
  const old = findString(keyspace, key);
  if (old === undefined) {
    applyPut(keyspace, key, stringFrom(bytes));
    return bytes.length;
  }
  // A string that grew once will grow again: from now on it is a buffer with spare capacity.
  const grown = typeof old === "string" ? LargeString.from(old) : old;
  if (grown === old) willChangePart(keyspace, grown, { start: grown.length, end: grown.length + bytes.length });
  grown.append(bytes);
  if (grown !== old) applyPut(keyspace, key, grown);
  return grown.length;
}

function applySetRange(keyspace: Keyspace, key: Bytes, { offset, bytes, old }: Overwriting): LargeString {
  const changed = old instanceof LargeString ? old : LargeString.from(old === undefined ? "" : bytesOf(old));
  if (changed === old) willChangePart(keyspace, changed, { start: offset, end: offset + bytes.length });
  changed.setRange(offset, bytes);
  if (changed !== old) applyPut(keyspace, key, changed);
  return changed;
}

interface Part {
  readonly start: number;
  readonly end: number;
}

/** The string at a key, which may also grow, is about to change in place from `start` up to `end`. */
export function willChangePart(keyspace: Keyspace, string: LargeString, part: Part): void {
  // Within its capacity its memory does not change, so the meter need not know.
  if (part.end > string.capacity) keyspace.meter.change(string);
  if (keyspace.undo?.owns(string) === false) pushPart(keyspace, keyspace.undo, { string, part });
}

function pushPart(
  { meter }: Keyspace,
  undo: KeyspaceUndo,
  { string, part: { start, end } }: { readonly string: LargeString; readonly part: Part },
): void {
  const restore = string.restorer(start, end);
  undo.push(string.restorerBytes(start, end), () => {
    meter.change(string);
    restore();
  });
}

/** The string at a key, without a use of the key. */
export function findString(keyspace: Keyspace, key: Bytes): StringValue | undefined {
  const value = keyspace.entries.get(key);
  return isString(value) ? value : undefined;
}
