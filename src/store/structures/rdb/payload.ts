/**
 * A dump: one value in the format of Redis' files.
 *
 *     | type u8 | content | version u16 | CRC-64 of all before it |      lowest byte first
 *
 * Values are plain arrays here. They are written in the forms that all versions
 * read (a count and the elements one after the other) and read in every form that
 * the known versions write (versions.ts). The server that reads a dump chooses
 * its own encoding.
 *
 *     type  0 string    1 list     2 set         3, 5 sorted set (scores as text, as doubles)   4 hash
 *          10 list, 12 sorted set, 13 hash as a ziplist       11 set as an intset
 *          14 list of ziplists    18 list of listpacks and single elements
 *          15, 19, 21, 26 stream (see stream-payload.ts)
 *          16 hash, 17 sorted set, 20 set as a listpack
 *          22 to 25 hash with expiries (see hash-payload.ts)
 *           6, 7 a value of a module, refused
 *
 * Metadata of modules may come before the type (see key-metadata.ts).
 */
import type { Bytes } from "../../../kernel/bytes.ts";
import { badDataFormat, moduleValueRefused } from "../../errors.ts";
import { parseFloat64 } from "../numbers/number-text.ts";
import {
  type DumpedHash,
  readCandidateHash,
  readExpiringHash,
  readHash,
  readPackedExpiringHash,
  readPackedHash,
  readValkeyHash,
  writeExpiringHash,
  writeHash,
} from "./hash-payload.ts";
import { KEY_METADATA, skipKeyMetadata } from "./key-metadata.ts";
import { moduleName } from "./module-names.ts";
import { type Count, columns, notEmpty, readIntset, readListpack, readZiplist } from "./packed-lists.ts";
import { closePayload, openPayload } from "./payload-footer.ts";
import { PayloadReader } from "./payload-reader.ts";
import { PayloadWriter } from "./payload-writer.ts";
import { type DumpedStream, readStream, writeStream } from "./stream-payload.ts";
import { isOfValkey } from "./versions.ts";

/** A value in the format. The caller must check that unique elements are not repeated. */
export type Dumped =
  | { readonly kind: "string"; readonly bytes: Bytes | Uint8Array }
  | { readonly kind: "list"; readonly elements: readonly Bytes[] }
  | { readonly kind: "set"; readonly members: readonly Bytes[] }
  | { readonly kind: "sorted set"; readonly members: readonly Bytes[]; readonly scores: readonly number[] }
  | DumpedHash
  | DumpedStream;

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
/** Written by release candidates of Redis 4.0. */
const CANDIDATE_MODULE_VALUE = 6;
const MODULE_VALUE = 7;
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
/** The types from here on mean something else to Valkey than to Redis. */
export const COMMON_TYPES_END = 22;
const CANDIDATE_HASH = 22;
const CANDIDATE_HASH_LISTPACK = 23;
const EXPIRING_HASH = 24;
const EXPIRING_HASH_LISTPACK = 25;
const STREAM_WITH_PRODUCERS = 26;
const VALKEY_HASH = 22;

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
      if (value.expiriesMs === undefined) {
        writeHash(writer.byte(HASH), value);
        return VERSION;
      }
      writeExpiringHash(writer.byte(EXPIRING_HASH), value);
      return FIELD_EXPIRY_VERSION;
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

/**
 * The value of a dump. Strings may be views of the payload.
 *
 * @throws `dumpChecksumWrong`, `dumpVersionUnknown`, `badDataFormat`, `moduleValueRefused`, `metadataRefused`
 */
export function readPayload(payload: Buffer): Dumped {
  const { content, version } = openPayload(payload);
  const isValkey = isOfValkey(version);
  const reader = new PayloadReader(content);
  let type = reader.byte();
  if (type === KEY_METADATA && !isValkey) {
    skipKeyMetadata(reader);
    type = reader.byte();
  }
  // Bytes between the value and the footer are ignored, as in Redis.
  if (type < COMMON_TYPES_END) return readCommonType(reader, type);
  return isValkey ? readValkeyType(reader, type) : readRedisType(reader, type);
}

function readCommonType(reader: PayloadReader, type: number): Dumped {
  const { countElement } = reader;
  switch (type) {
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
      return readPackedHash(reader, readZiplist);
    case HASH_LISTPACK:
      return readPackedHash(reader, readListpack);
    case STREAM_WITHOUT_COUNTS:
      return readStream(reader, { hasCounts: false, hasActiveTimes: false, hasProducers: false });
    case STREAM:
      return readStream(reader, { hasCounts: true, hasActiveTimes: false, hasProducers: false });
    case STREAM_WITH_ACTIVE_TIMES:
      return readStream(reader, { hasCounts: true, hasActiveTimes: true, hasProducers: false });
    case CANDIDATE_MODULE_VALUE:
    case MODULE_VALUE:
      throw moduleValueRefused(moduleName(BigInt(reader.wholeLength())));
    default:
      throw badDataFormat;
  }
}

function readRedisType(reader: PayloadReader, type: number): Dumped {
  switch (type) {
    case CANDIDATE_HASH:
      return readCandidateHash(reader);
    case CANDIDATE_HASH_LISTPACK:
      return readPackedExpiringHash(reader, { hasFirst: false });
    case EXPIRING_HASH:
      return readExpiringHash(reader);
    case EXPIRING_HASH_LISTPACK:
      return readPackedExpiringHash(reader, { hasFirst: true });
    case STREAM_WITH_PRODUCERS:
      return readStream(reader, { hasCounts: true, hasActiveTimes: true, hasProducers: true });
    default:
      throw badDataFormat;
  }
}

function readValkeyType(reader: PayloadReader, type: number): Dumped {
  if (type === VALKEY_HASH) return readValkeyHash(reader);
  throw badDataFormat;
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
