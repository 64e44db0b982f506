/**
 * The flat forms of small collections in Redis' memory and dumps: lists of byte
 * strings and integers in one run of bytes. Numbers are little-endian unless
 * noted otherwise.
 *
 *     listpack   | bytes u32 | count u16 | entry … | ff |      entry    | encoding, content | its length, backwards |
 *     ziplist    | bytes u32 | last u32 | count u16 | entry … | ff |    entry    | length of the one before | encoding, content |
 *     intset     | width u32 | count u32 | integer … |         in ascending order
 *
 * They are untrusted: every length is checked against the available bytes,
 * redundant data must agree, and anything else is `badDataFormat`.
 */
import type { Bytes } from "../../../kernel/bytes.ts";
import { cutBytes } from "../../../kernel/short-bytes.ts";
import { badDataFormat } from "../../errors.ts";

/** Called for each element before it is created, with its length in bytes. */
export type Count = (byteCount: number) => void;

const END = 0xff;
/** In a count of 16 bits: too many to count. */
const COUNT_UNKNOWN = 0xffff;
const INTEGER_BYTES_MAX = 20;

/** An element and its end. One for all, so that reading allocates only the elements. */
const found = { element: "", end: 0 };

/** The elements of a listpack. */
export function readListpack(blob: Buffer, count: Count): Bytes[] {
  const headerBytes = 6;
  if (blob.length < headerBytes + 1 || blob.readUInt32LE(0) !== blob.length) throw badDataFormat;
  const elements: Bytes[] = [];
  const last = blob.length - 1;
  let at = headerBytes;
  while (at < last) {
    readListpackElement(blob, at, count);
    elements.push(found.element);
    at = checkBackwardsLength(blob, found.end, found.end - at);
  }
  checkEnd(blob, at);
  checkCount(blob.readUInt16LE(4), elements.length);
  return elements;
}

function readListpackElement(blob: Buffer, at: number, count: Count): void {
  const first = blob[at] as number;
  if (first < 0x80) setInteger(first, at + 1, count);
  else if (first < 0xc0) setString(blob, at + 1, first & 0x3f, count);
  else if (first < 0xe0) {
    const value = ((first & 0x1f) << 8) | byteAt(blob, at + 1);
    setInteger(value >= 0x1000 ? value - 0x2000 : value, at + 2, count);
  } else if (first < 0xf0) setString(blob, at + 2, ((first & 0x0f) << 8) | byteAt(blob, at + 1), count);
  else if (first === 0xf0) setString(blob, at + 5, unsignedAt(blob, at + 1), count);
  else if (first === 0xf1) readInteger(blob, at + 1, 2, count);
  else if (first === 0xf2) readInteger(blob, at + 1, 3, count);
  else if (first === 0xf3) readInteger(blob, at + 1, 4, count);
  else if (first === 0xf4) readInteger(blob, at + 1, 8, count);
  else throw badDataFormat;
}

/** After each entry comes its length, seven bits a byte, for reading from the end. Returns the next offset. */
function checkBackwardsLength(blob: Buffer, at: number, length: number): number {
  const byteCount = length <= 127 ? 1 : length < 16_383 ? 2 : length < 2_097_151 ? 3 : length < 268_435_455 ? 4 : 5;
  if (at + byteCount > blob.length) throw badDataFormat;
  let rest = length;
  for (let i = byteCount - 1; i >= 0; i -= 1) {
    const expected = (rest % 0x80) | (i === 0 ? 0 : 0x80);
    if (blob[at + i] !== expected) throw badDataFormat;
    rest = Math.floor(rest / 0x80);
  }
  return at + byteCount;
}

/** The elements of a ziplist, which Redis wrote until 6.2. */
export function readZiplist(blob: Buffer, count: Count): Bytes[] {
  const headerBytes = 10;
  if (blob.length < headerBytes + 1 || blob.readUInt32LE(0) !== blob.length) throw badDataFormat;
  const elements: Bytes[] = [];
  const last = blob.length - 1;
  let at = headerBytes;
  let lastEntry = headerBytes;
  let lengthBefore = 0;
  while (at < last) {
    const isLong = blob[at] === 0xfe;
    if ((isLong ? unsignedAt(blob, at + 1) : (blob[at] as number)) !== lengthBefore) throw badDataFormat;
    readZiplistElement(blob, at + (isLong ? 5 : 1), count);
    elements.push(found.element);
    lastEntry = at;
    lengthBefore = found.end - at;
    at = found.end;
  }
  checkEnd(blob, at);
  if (blob.readUInt32LE(4) !== lastEntry) throw badDataFormat;
  checkCount(blob.readUInt16LE(8), elements.length);
  return elements;
}

function readZiplistElement(blob: Buffer, at: number, count: Count): void {
  const first = byteAt(blob, at);
  if (first < 0x40) setString(blob, at + 1, first, count);
  else if (first < 0x80) setString(blob, at + 2, ((first & 0x3f) << 8) | byteAt(blob, at + 1), count);
  else if (first === 0x80) {
    if (at + 5 > blob.length) throw badDataFormat;
    setString(blob, at + 5, blob.readUInt32BE(at + 1), count);
  } else if (first === 0xc0) readInteger(blob, at + 1, 2, count);
  else if (first === 0xd0) readInteger(blob, at + 1, 4, count);
  else if (first === 0xe0) readInteger(blob, at + 1, 8, count);
  else if (first === 0xf0) readInteger(blob, at + 1, 3, count);
  else if (first === 0xfe) readInteger(blob, at + 1, 1, count);
  else if (first > 0xf0 && first < 0xfe) setInteger((first & 0x0f) - 1, at + 1, count);
  else throw badDataFormat;
}

/** The members of an intset. */
export function readIntset(blob: Buffer, count: Count): Bytes[] {
  const headerBytes = 8;
  if (blob.length < headerBytes) throw badDataFormat;
  const width = blob.readUInt32LE(0);
  const memberCount = blob.readUInt32LE(4);
  if (width !== 2 && width !== 4 && width !== 8) throw badDataFormat;
  if (blob.length !== headerBytes + width * memberCount) throw badDataFormat;
  const members: Bytes[] = [];
  let before: bigint | number = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < memberCount; i += 1) {
    const at = headerBytes + i * width;
    const value = width === 8 ? blob.readBigInt64LE(at) : blob.readIntLE(at, width);
    // In order, so that none is repeated.
    if (value <= before) throw badDataFormat;
    before = value;
    count(INTEGER_BYTES_MAX);
    members.push(`${value}`);
  }
  return members;
}

/** Distributes the elements of a flat form to columns in turn. */
export function columns(elements: readonly Bytes[], count: number): readonly Bytes[][] {
  if (notEmpty(elements).length % count !== 0) throw badDataFormat;
  return Array.from({ length: count }, (_, first) => {
    const column: Bytes[] = [];
    for (let at = first; at < elements.length; at += count) column.push(elements[at] as Bytes);
    return column;
  });
}

/** An empty collection does not exist. */
export function notEmpty<T extends readonly Bytes[]>(elements: T): T {
  if (elements.length === 0) throw badDataFormat;
  return elements;
}

function byteAt(blob: Buffer, at: number): number {
  const byte = blob[at];
  if (byte === undefined) throw badDataFormat;
  return byte;
}

function unsignedAt(blob: Buffer, at: number): number {
  if (at + 4 > blob.length) throw badDataFormat;
  return blob.readUInt32LE(at);
}

function readInteger(blob: Buffer, at: number, width: 1 | 2 | 3 | 4 | 8, count: Count): void {
  if (at + width > blob.length) throw badDataFormat;
  setInteger(width === 8 ? blob.readBigInt64LE(at) : blob.readIntLE(at, width), at + width, count);
}

function setInteger(value: number | bigint, end: number, count: Count): void {
  count(INTEGER_BYTES_MAX);
  found.element = `${value}`;
  found.end = end;
}

function setString(blob: Buffer, start: number, length: number, count: Count): void {
  const end = start + length;
  if (end > blob.length) throw badDataFormat;
  count(length);
  found.element = cutBytes(blob, start, end);
  found.end = end;
}

function checkEnd(blob: Buffer, at: number): void {
  if (at !== blob.length - 1 || blob[at] !== END) throw badDataFormat;
}

function checkCount(stored: number, actual: number): void {
  if (stored !== COUNT_UNKNOWN && stored !== actual) throw badDataFormat;
}
