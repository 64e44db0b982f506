/**
 * A dump: one value in the format of Redis' files.
 *
 *     | type u8 | content | version u16 | CRC-64 of all before it |      lowest byte first
 *
 * Values are plain arrays here. They are written in the forms that all versions
 * read (a count and the elements one after the other) and read in every form that
 * Redis up to 7.2 writes, plus those of 7.4 for hashes with expiring fields. The
 * server that reads a dump chooses its own encoding.
 *
 *     type  0 string    1 list     2 set         3, 5 sorted set (scores as text, as doubles)   4 hash
 *          10 list, 12 sorted set, 13 hash as a ziplist       11 set as an intset
 *          14 list of ziplists    18 list of listpacks and single elements
 *          15, 19, 21 stream (see stream-payload.ts)
 *          16 hash, 17 sorted set, 20 set as a listpack
 *          24 hash with expiries: the first time u64, then per field its distance from it plus one (0 for none)
 *          25 the same as a listpack of (field, value, time or 0)
 */
import type { Bytes } from "../../../kernel/bytes.ts";
import { badDataFormat } from "../../errors.ts";
import { parseFloat64 } from "../numbers/number-text.ts";
import { type Count, readIntset, readListpack, readZiplist } from "./packed-lists.ts";
import { closePayload, openPayload } from "./payload-footer.ts";
import { PayloadReader } from "./payload-reader.ts";
import { PayloadWriter } from "./payload-writer.ts";
import { type DumpedStream, readStream, writeStream } from "./stream-payload.ts";

/** A value in the format. The caller must check that unique elements are not repeated. */
export type Dumped =
  | { readonly kind: "string"; readonly bytes: Bytes | Uint8Array }
  | { readonly kind: "list"; readonly elements: readonly Bytes[] }
  | { readonly kind: "set"; readonly members: readonly Bytes[] }
  | { readonly kind: "sorted set"; readonly members: readonly Bytes[]; readonly scores: readonly number[] }
  | DumpedHash
  | DumpedStream;

export interface DumpedHash {
  readonly kind: "hash";
  readonly fields: readonly Bytes[];
  readonly values: readonly Bytes[];
  /** Per field its expiry time in ms, or 0; absent if no field has one. */
  readonly expiriesMs?: readonly number[];
}

/** The version of Redis 7.0. */
const VERSION = 10;
/** That of Redis 7.4, where fields expire. */
const FIELD_EXPIRY_VERSION = 12;

const STRING = 0;
const LIST = 1;
const SET = 2;
const SORTED_SET_OF_TEXTS = 3;
const HASH = 4;
const SORTED_SET = 5;
const LIST_ZIPLIST = 10;
const SET_INTSET = 11;
const SORTED_SET_ZIPLIST = 12;
const HASH_ZIPLIST = 13;
const LIST_OF_ZIPLISTS = 14;
const STREAM_WITHOUT_COUNTS = 15;
const HASH_LISTPACK = 16;
const SORTED_SET_LISTPACK = 17;
const LIST_OF_LISTPACKS = 18;
const STREAM = 19;
const SET_LISTPACK = 20;
const STREAM_WITH_ACTIVE_TIMES = 21;
const EXPIRING_HASH = 24;
const EXPIRING_HASH_LISTPACK = 25;

/** Kinds of nodes in a list of listpacks. */
const NODE_PLAIN = 1;
const NODE_PACKED = 2;

/** The dump of a value. */
export function writePayload(value: Dumped): Buffer {
  const writer = new PayloadWriter();
  const version = writeValue(writer, value);
  return closePayload(writer, version);
}

/** Returns the version of the format that the dump needs. */
function writeValue(writer: PayloadWriter, value: Dumped): number {
  switch (value.kind) {
    case "string":
      writer.byte(STRING).string(value.bytes);
      return VERSION;
    case "list":
      writeElements(writer.byte(LIST), value.elements);
      return VERSION;
    case "set":
      writeElements(writer.byte(SET), value.members);
      return VERSION;
    case "sorted set": {
      const { members, scores } = value;
      writer.byte(SORTED_SET).length(members.length);
      for (const [index, member] of members.entries()) writer.string(member).binaryDouble(scores[index] as number);
      return VERSION;
    }
    case "hash":
      return writeHash(writer, value);
    case "stream":
      writeStream(writer.byte(STREAM), value);
      return VERSION;
    default: {
      const never: never = value;
      return never;
    }
  }
}

function writeElements(writer: PayloadWriter, elements: readonly Bytes[]): void {
  writer.length(elements.length);
  for (const element of elements) writer.string(element);
}

function writeHash(writer: PayloadWriter, { fields, values, expiriesMs }: DumpedHash): number {
  if (expiriesMs === undefined) {
    writer.byte(HASH).length(fields.length);
    for (const [index, field] of fields.entries()) writer.string(field).string(values[index] as Bytes);
    return VERSION;
  }
  let firstMs = Number.POSITIVE_INFINITY;
  for (const atMs of expiriesMs) if (atMs > 0 && atMs < firstMs) firstMs = atMs;
  writer.byte(EXPIRING_HASH).number64(firstMs).length(fields.length);
  for (const [index, field] of fields.entries()) {
    const atMs = expiriesMs[index] as number;
    writer
      .length(atMs === 0 ? 0 : atMs - firstMs + 1)
      .string(field)
      .string(values[index] as Bytes);
  }
  return FIELD_EXPIRY_VERSION;
}

/**
 * The value of a dump. Strings may be views of the payload.
 *
 * @throws `dumpChecksumWrong`, `badDataFormat`
 */
export function readPayload(payload: Buffer): Dumped {
  // Bytes between the value and the footer are ignored, as in Redis.
  return readValue(new PayloadReader(openPayload(payload)));
}

function readValue(reader: PayloadReader): Dumped {
  const { countElement } = reader;
  switch (reader.byte()) {
    case STRING:
      return { kind: "string", bytes: reader.string() };
    case LIST:
      return { kind: "list", elements: readElements(reader) };
    case LIST_ZIPLIST:
      return { kind: "list", elements: notEmpty(readZiplist(reader.blob(), countElement)) };
    case LIST_OF_ZIPLISTS:
      return { kind: "list", elements: readNodes(reader, () => readZiplist(reader.blob(), countElement)) };
    case LIST_OF_LISTPACKS:
      return { kind: "list", elements: readNodes(reader, () => readNode(reader)) };
    case SET:
      return { kind: "set", members: readElements(reader) };
    case SET_INTSET:
      return { kind: "set", members: notEmpty(readIntset(reader.blob(), countElement)) };
    case SET_LISTPACK:
      return { kind: "set", members: notEmpty(readListpack(reader.blob(), countElement)) };
    case SORTED_SET_OF_TEXTS:
      return readSortedSet(reader, () => readTextScore(reader));
    case SORTED_SET:
      return readSortedSet(reader, () => reader.binaryDouble());
    case SORTED_SET_ZIPLIST:
      return packedSortedSet(reader, readZiplist);
    case SORTED_SET_LISTPACK:
      return packedSortedSet(reader, readListpack);
    case HASH:
      return readHash(reader);
    case HASH_ZIPLIST:
      return packedHash(reader, readZiplist);
    case HASH_LISTPACK:
      return packedHash(reader, readListpack);
    case EXPIRING_HASH:
      return readExpiringHash(reader);
    case EXPIRING_HASH_LISTPACK:
      return packedExpiringHash(reader);
    case STREAM_WITHOUT_COUNTS:
      return readStream(reader, { hasCounts: false, hasActiveTimes: false });
    case STREAM:
      return readStream(reader, { hasCounts: true, hasActiveTimes: false });
    case STREAM_WITH_ACTIVE_TIMES:
      return readStream(reader, { hasCounts: true, hasActiveTimes: true });
    default:
      throw badDataFormat;
  }
}

function readElements(reader: PayloadReader): Bytes[] {
  const elements: Bytes[] = [];
  for (let left = reader.elementCount(1); left > 0; left -= 1) elements.push(reader.element());
  return elements;
}

function readNodes(reader: PayloadReader, readNext: () => readonly Bytes[]): Bytes[] {
  const elements: Bytes[] = [];
  for (let left = reader.elementCount(1); left > 0; left -= 1) for (const element of readNext()) elements.push(element);
  return notEmpty(elements);
}

function readNode(reader: PayloadReader): readonly Bytes[] {
  const kind = reader.length();
  if (kind === NODE_PLAIN) return [reader.element()];
  if (kind !== NODE_PACKED) throw badDataFormat;
  return readListpack(reader.blob(), reader.countElement);
}

function readSortedSet(reader: PayloadReader, readScore: () => number): Dumped {
  const members: Bytes[] = [];
  const scores: number[] = [];
  for (let left = reader.elementCount(2); left > 0; left -= 1) {
    members.push(reader.element());
    scores.push(checkedScore(readScore()));
  }
  return { kind: "sorted set", members, scores };
}

function readTextScore(reader: PayloadReader): number {
  const length = reader.byte();
  if (length === 253) return Number.NaN;
  if (length === 254) return Number.POSITIVE_INFINITY;
  if (length === 255) return Number.NEGATIVE_INFINITY;
  return parseFloat64(reader.raw(length)) ?? Number.NaN;
}

function packedSortedSet(reader: PayloadReader, read: (blob: Buffer, count: Count) => Bytes[]): Dumped {
  const [members, texts] = columns(read(reader.blob(), reader.countElement), 2);
  const scores = (texts as Bytes[]).map((text) => checkedScore(parseFloat64(text) ?? Number.NaN));
  return { kind: "sorted set", members: members as Bytes[], scores };
}

function checkedScore(score: number): number {
  if (Number.isNaN(score)) throw badDataFormat;
  return score;
}

function readHash(reader: PayloadReader): DumpedHash {
  const fields: Bytes[] = [];
  const values: Bytes[] = [];
  for (let left = reader.elementCount(2); left > 0; left -= 1) {
    fields.push(reader.element());
    values.push(reader.element());
  }
  return { kind: "hash", fields, values };
}

function packedHash(reader: PayloadReader, read: (blob: Buffer, count: Count) => Bytes[]): DumpedHash {
  const [fields, values] = columns(read(reader.blob(), reader.countElement), 2);
  return { kind: "hash", fields: fields as Bytes[], values: values as Bytes[] };
}

function readExpiringHash(reader: PayloadReader): DumpedHash {
  const firstMs = reader.number64();
  const fields: Bytes[] = [];
  const values: Bytes[] = [];
  const expiriesMs: number[] = [];
  for (let left = reader.elementCount(3); left > 0; left -= 1) {
    const distance = reader.length();
    expiriesMs.push(distance === 0 ? 0 : firstMs + distance - 1);
    fields.push(reader.element());
    values.push(reader.element());
  }
  return { kind: "hash", fields, values, expiriesMs };
}

function packedExpiringHash(reader: PayloadReader): DumpedHash {
  // The first time, which the times also contain.
  reader.number64();
  const [fields, values, texts] = columns(readListpack(reader.blob(), reader.countElement), 3);
  const expiriesMs = (texts as Bytes[]).map((text) => {
    const atMs = parseFloat64(text);
    if (atMs === undefined || atMs < 0 || !Number.isSafeInteger(atMs)) throw badDataFormat;
    return atMs;
  });
  return { kind: "hash", fields: fields as Bytes[], values: values as Bytes[], expiriesMs };
}

/** Distributes elements to columns in turn. */
function columns(elements: readonly Bytes[], count: number): readonly Bytes[][] {
  if (notEmpty(elements).length % count !== 0) throw badDataFormat;
  return Array.from({ length: count }, (_, column) => elements.filter((_element, index) => index % count === column));
}

/** An empty collection does not exist. */
function notEmpty<T extends readonly Bytes[]>(elements: T): T {
  if (elements.length === 0) throw badDataFormat;
  return elements;
}
