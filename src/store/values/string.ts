/**
 * A string value: short ones are `Bytes`; one that is longer than a few KiB,
 * or that is changed in place, is a `LargeString`, outside the JavaScript heap.
 */
import { type Bytes, bufferFrom, bytesFrom } from "../../kernel/bytes.ts";
import { replyTooLarge } from "../errors.ts";
import { LARGE_BYTES_MIN, LargeString } from "../structures/large-string.ts";

/** Redis' proto-max-bulk-len: 512 MB. */
export const STRING_BYTES_MAX = 512 * 1024 * 1024;

export type StringValue = Bytes | LargeString;

export function isString(value: unknown): value is StringValue {
  return typeof value === "string" || value instanceof LargeString;
}

/** The stored form of these bytes. */
export function stringFrom(bytes: Bytes): StringValue {
  return bytes.length < LARGE_BYTES_MIN ? bytes : LargeString.from(bytes);
}

/** The stored form of a view of a foreign buffer: always a copy. */
export function stringFromBuffer(buffer: Buffer): StringValue {
  return buffer.length < LARGE_BYTES_MIN ? bytesFrom(buffer) : LargeString.fromBuffer(buffer);
}

/** The whole value as bytes. */
export function bytesOf(value: StringValue): Bytes {
  return typeof value === "string" ? value : value.toBytes();
}

/** Longer strings cannot be in a reply of 256 MB, where a length and two line breaks stand beside them (threats A-15). */
const BULK_BYTES_MAX = 256 * 1024 * 1024 - 32;

/**
 * The whole value as a reply that later changes do not touch, since a reply may have to wait. Throws `replyTooLarge`,
 * so a command that also changes the value must create the reply first.
 */
export function bulkOf(value: StringValue): Bytes | Buffer {
  return typeof value === "string" ? value : bulkPartOf(value, 0, value.length);
}

/** As `bulkOf`, for the bytes from `start` up to, not including, `end`. */
export function bulkPartOf(value: LargeString, start: number, end: number): Buffer {
  if (end - start > BULK_BYTES_MAX) throw replyTooLarge;
  return value.lend().subarray(start, end);
}

/** The byte at an index; 0 after the end, and everywhere in a missing string. */
export function byteAt(value: StringValue | undefined, index: number): number {
  if (value === undefined || index >= value.length) return 0;
  return typeof value === "string" ? value.charCodeAt(index) : value.byteAt(index);
}

/** The bytes for reading, valid until the next change: those of the value itself if it is a buffer. */
export function viewOf(value: StringValue): Buffer {
  return typeof value === "string" ? bufferFrom(value) : value.view;
}
