/** Mutations of string values. How a mutation is made: see `generic.ts`. */
import type { Bytes } from "../../kernel/bytes.ts";
import type { FrameWriter } from "../../kernel/frame.ts";
import type { Keyspace, KeyspaceUndo } from "../keyspace.ts";
import { LargeString } from "../structures/large-string.ts";
import { bytesOf, isString, type StringValue, stringFrom, stringFromBuffer } from "../values/string.ts";
import { applyClearExpiry, applyExpiry, applyPut } from "./generic.ts";
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

/**
 * As `putString` with a copy of the content of a buffer. An existing long string takes it into its own memory, unless
 * the unit of work may be undone.
 */
export function putContent(keyspace: Keyspace, key: Bytes, content: Buffer): void {
  keyspace.useReplaced(key);
  keyspace.change(PUT_STRING, key).buffer(content);
  const old = keyspace.entries.get(key);
  if (keyspace.undo !== undefined || !(old instanceof LargeString && old.replaceBy(content))) {
    applyPutString(keyspace, key, stringFromBuffer(content));
    return;
  }
  // The capacity does not change, so the meter need not know.
  keyspace.stampReplaced(keyspace.entries.find(key));
  applyClearExpiry(keyspace, key);
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

/** Overwrites part of a string; fills a gap before it with zeros. Returns the new length. */
export function setStringRange(keyspace: Keyspace, key: Bytes, range: { offset: number; bytes: Bytes }): number {
  keyspace.change(SET_STRING_RANGE, key).number(range.offset).bytes(range.bytes);
  return applySetRange(keyspace, key, range);
}

export const stringMutations: readonly Mutation[] = [
  {
    code: PUT_STRING,
    name: "put-string",
    apply: (keyspace, record) => applyPutString(keyspace, record.bytes(), stringFromBuffer(record.buffer())),
  },
  {
    code: PUT_STRING_UNTIL,
    name: "put-string-until",
    apply: (keyspace, record) => {
      const key = record.bytes();
      const atMs = record.time();
      applyPutStringUntil(keyspace, key, { atMs, value: stringFromBuffer(record.buffer()) });
    },
  },
  {
    code: REPLACE_STRING,
    name: "replace-string",
    apply: (keyspace, record) => applyPut(keyspace, record.bytes(), stringFromBuffer(record.buffer())),
  },
  {
    code: APPEND_STRING,
    name: "append-string",
    apply: (keyspace, record) => applyAppend(keyspace, record.bytes(), record.bytes()),
  },
  {
    code: SET_STRING_RANGE,
    name: "set-string-range",
    apply: (keyspace, record) =>
      applySetRange(keyspace, record.bytes(), { offset: record.number(), bytes: record.bytes() }),
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

function applyPutString(keyspace: Keyspace, key: Bytes, value: StringValue): void {
  applyPut(keyspace, key, value);
  if (keyspace.expiries.size > 0) applyClearExpiry(keyspace, key);
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
  if (grown === old) willChangePart(keyspace, grown, { start: grown.length, end: grown.length });
  grown.append(bytes);
  if (grown !== old) applyPut(keyspace, key, grown);
  return grown.length;
}

function applySetRange(keyspace: Keyspace, key: Bytes, range: { offset: number; bytes: Bytes }): number {
  const old = findString(keyspace, key);
  const changed = old instanceof LargeString ? old : LargeString.from(old === undefined ? "" : bytesOf(old));
  const { offset, bytes } = range;
  if (changed === old) willChangePart(keyspace, changed, { start: offset, end: offset + bytes.length });
  changed.setRange(range.offset, range.bytes);
  if (changed !== old) applyPut(keyspace, key, changed);
  return changed.length;
}

interface Part {
  readonly start: number;
  readonly end: number;
}

/** The string at a key, which may also grow, is about to change in place from `start` up to `end`. */
export function willChangePart(keyspace: Keyspace, string: LargeString, part: Part): void {
  keyspace.meter.change(string);
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

function findString(keyspace: Keyspace, key: Bytes): StringValue | undefined {
  const value = keyspace.entries.get(key);
  return isString(value) ? value : undefined;
}
