/**
 * A stream in the format of Redis' files: entries in listpacks, then the facts
 * of the stream, then its groups.
 *
 *     stream     | listpacks: count, (first id raw16, listpack) … | length | last id |
 *                | first id | greatest deleted id | entries added |                         from type 19 on
 *                | groups: count, group … |
 *                | producers (from type 26 on) |
 *     group      | name | last id | entries read (from type 19 on) | pending: count, (id raw16, time, deliveries) … |
 *                | consumers: count, (name, seen, active (from type 21 on), pending: count, id raw16 …) … |
 *     producers  | seconds | entries at most | count, (name, count, (idempotent id, id) …) … | added | repeated |
 *     id         | ms length | seq length |          raw16: both in 8 bytes, highest first
 *     time       | ms, 8 bytes, lowest first |
 *
 *     listpack   | count | deleted | names: count, name … | 0 | entry … |
 *     entry      | flags | ms - first's | seq - first's | [count of pairs, (name, value) …] or value … | elements before |
 *
 * Everything is checked, as everywhere in dumps: ids rise, counts agree, and a pending entry has exactly one consumer.
 *
 * Producers are dropped: they say for some time (100 s by default) which XADD of Redis 8.6 would be a repetition, and
 * larder has no such XADD.
 */
import type { Bytes } from "../../../kernel/bytes.ts";
import { TIME_MS_MAX } from "../../../kernel/frame.ts";
import { badDataFormat } from "../../errors.ts";
import { parseInteger } from "../numbers/number-text.ts";
import { compareIds, formatId, ID_MIN, isZeroId, type StreamId, WHOLE_MAX, type Whole, wholeOf } from "../stream-id.ts";
import { ListpackWriter } from "./listpack-writer.ts";
import { readListpack } from "./packed-lists.ts";
import type { PayloadReader } from "./payload-reader.ts";
import type { PayloadWriter } from "./payload-writer.ts";

export interface DumpedEntry extends StreamId {
  readonly names: readonly Bytes[];
  readonly values: readonly Bytes[];
}

export interface DumpedStream {
  readonly kind: "stream";
  readonly entries: readonly DumpedEntry[];
  readonly lastId: StreamId;
  readonly maxDeletedId: StreamId;
  readonly addedCount: number;
  readonly groups: readonly DumpedGroup[];
}

export interface DumpedGroup {
  readonly name: Bytes;
  readonly lastId: StreamId;
  /** Undefined if unknown. `"estimate"` if the format did not have it yet. */
  readonly readCount: number | undefined | "estimate";
  readonly consumers: readonly DumpedConsumer[];
}

export interface DumpedConsumer {
  readonly name: Bytes;
  readonly seenMs: number;
  /** When it last got entries; undefined if never, absent in types up to 19, of which the written one is. */
  readonly activeMs?: number | undefined;
  /** In the order of the ids. */
  readonly pending: readonly DumpedPending[];
}

export interface DumpedPending extends StreamId {
  readonly deliveredAtMs: number;
  readonly deliveryCount: number;
}

/** The additions of later types to the first. */
export interface StreamForm {
  readonly hasCounts: boolean;
  readonly hasActiveTimes: boolean;
  readonly hasProducers: boolean;
}

/** As Redis' stream-node-max-entries and stream-node-max-bytes. */
const LISTPACK_ENTRIES_MAX = 100;
const LISTPACK_BYTES_MAX = 4096;

const DELETED = 1;
const SAME_NAMES = 2;
/** Flags, two parts of the id, and the count after the entry. */
const ENTRY_ELEMENTS = 3;
const RAW_ID_BYTES = 16;

/** Writes the content of type 19. */
export function writeStream(writer: PayloadWriter, stream: DumpedStream): void {
  const { entries, lastId, maxDeletedId, addedCount, groups } = stream;
  const parts = partsOf(entries);
  writer.length(parts.length);
  for (const part of parts) {
    writer.length(RAW_ID_BYTES);
    writeRawId(writer, part[0] as DumpedEntry);
    const listpack = listpackOf(part);
    writer.length(listpack.length).raw(listpack);
  }
  writer.length(entries.length);
  for (const id of [lastId, entries[0] ?? ID_MIN, maxDeletedId]) writer.length(id.ms).length(id.seq);
  writer.length(addedCount).length(groups.length);
  for (const { name, lastId: readUpTo, readCount, consumers } of groups) {
    writer.string(name).length(readUpTo.ms).length(readUpTo.seq);
    writer.length(typeof readCount === "number" ? readCount : WHOLE_MAX);
    const pending = consumers.flatMap((consumer) => consumer.pending).sort(compareIds);
    writer.length(pending.length);
    for (const one of pending) {
      writeRawId(writer, one);
      writer.number64(one.deliveredAtMs).length(one.deliveryCount);
    }
    writer.length(consumers.length);
    for (const consumer of consumers) {
      writer.string(consumer.name).number64(consumer.seenMs).length(consumer.pending.length);
      for (const one of consumer.pending) writeRawId(writer, one);
    }
  }
}

function writeRawId(writer: PayloadWriter, { ms, seq }: StreamId): void {
  const bytes = Buffer.allocUnsafe(RAW_ID_BYTES);
  bytes.writeBigUInt64BE(BigInt(ms), 0);
  bytes.writeBigUInt64BE(BigInt(seq), 8);
  writer.raw(bytes);
}

/** The entries in parts, each of which Redis would store in one listpack. */
function partsOf(entries: readonly DumpedEntry[]): DumpedEntry[][] {
  const parts: DumpedEntry[][] = [];
  let byteCount = 0;
  for (const entry of entries) {
    const part = parts.at(-1);
    let bytes = 0;
    for (const value of entry.values) bytes += value.length;
    byteCount += bytes;
    if (part === undefined || part.length === LISTPACK_ENTRIES_MAX || byteCount > LISTPACK_BYTES_MAX) {
      parts.push([entry]);
      byteCount = bytes;
    } else {
      part.push(entry);
    }
  }
  return parts;
}

function listpackOf(entries: readonly DumpedEntry[]): Buffer {
  const first = entries[0] as DumpedEntry;
  const writer = new ListpackWriter();
  writer.integer(entries.length).integer(0).integer(first.names.length);
  for (const name of first.names) writer.string(name);
  writer.integer(0);
  for (const { ms, seq, names, values } of entries) {
    const isSame = names.length === first.names.length && names.every((name, i) => name === first.names[i]);
    writer.integer(isSame ? SAME_NAMES : 0);
    writer.integer(distance(first.ms, ms)).integer(distance(first.seq, seq));
    if (!isSame) writer.integer(names.length);
    for (const [i, value] of values.entries()) {
      if (!isSame) writer.string(names[i] as Bytes);
      writer.string(value);
    }
    writer.integer(isSame ? values.length + ENTRY_ELEMENTS : 2 * values.length + ENTRY_ELEMENTS + 1);
  }
  return writer.finish();
}

/** As a signed 64-bit integer, which wraps around. */
function distance(from: Whole, to: Whole): number | bigint {
  if (typeof from === "number" && typeof to === "number") return to - from;
  return BigInt.asIntN(64, BigInt(to) - BigInt(from));
}

function sum(from: Whole, distanceTo: number | bigint): Whole {
  if (typeof from === "number" && typeof distanceTo === "number") {
    const to = from + distanceTo;
    if (to >= 0 && to <= Number.MAX_SAFE_INTEGER) return to;
  }
  return wholeOf(BigInt.asUintN(64, BigInt(from) + BigInt(distanceTo)));
}

/**
 * Reads the content of a stream.
 *
 * @throws `badDataFormat`
 */
export function readStream(reader: PayloadReader, form: StreamForm): DumpedStream {
  const entries: DumpedEntry[] = [];
  for (let left = reader.countFromZero(2); left > 0; left -= 1) readPart(reader, entries);
  let previous: StreamId | undefined;
  for (const entry of entries) {
    if (previous !== undefined && compareIds(previous, entry) >= 0) throw badDataFormat;
    previous = entry;
  }
  if (reader.length() !== entries.length) throw badDataFormat;
  const lastId = readId(reader);
  if (previous !== undefined && compareIds(previous, lastId) > 0) throw badDataFormat;
  let maxDeletedId = ID_MIN;
  let addedCount = entries.length;
  if (form.hasCounts) {
    // The first id, which the entries also contain.
    readId(reader);
    maxDeletedId = readId(reader);
    addedCount = counted(reader.wholeLength());
    if (addedCount < entries.length) throw badDataFormat;
  }
  const groups: DumpedGroup[] = [];
  const names = new Set<Bytes>();
  for (let left = reader.countFromZero(5); left > 0; left -= 1) {
    const group = readGroup(reader, form);
    if (names.has(group.name)) throw badDataFormat;
    names.add(group.name);
    groups.push(group);
  }
  if (form.hasProducers) skipProducers(reader);
  return { kind: "stream", entries, lastId, maxDeletedId, addedCount, groups };
}

function readPart(reader: PayloadReader, entries: DumpedEntry[]): void {
  if (reader.length() !== RAW_ID_BYTES) throw badDataFormat;
  const first = readRawId(reader);
  const elements = readListpack(reader.blob(), reader.countElement);
  let at = 0;
  const next = (): Bytes => {
    const element = elements[at];
    if (element === undefined) throw badDataFormat;
    at += 1;
    return element;
  };
  const integer = (): number | bigint => {
    const value = parseInteger(next());
    if (value === undefined) throw badDataFormat;
    return value;
  };
  const countOf = (value: number | bigint): number => {
    if (typeof value !== "number" || value < 0 || value > elements.length) throw badDataFormat;
    return value;
  };
  const count = countOf(integer());
  const deletedCount = countOf(integer());
  const masterNames = Array.from({ length: countOf(integer()) }, next);
  // Redis keeps listpacks in which every entry is deleted.
  if (integer() !== 0) throw badDataFormat;
  let deleted = 0;
  let found = 0;
  while (at < elements.length) {
    const start = at;
    const flags = Number(integer());
    const ms = sum(first.ms, integer());
    const seq = sum(first.seq, integer());
    const isSame = (flags & SAME_NAMES) !== 0;
    const pairCount = isSame ? masterNames.length : countOf(integer());
    const names: Bytes[] = isSame ? masterNames : [];
    const values: Bytes[] = [];
    for (let left = pairCount; left > 0; left -= 1) {
      if (!isSame) names.push(next());
      values.push(next());
    }
    const length = at - start;
    if (integer() !== length || pairCount === 0 || (flags & ~(DELETED | SAME_NAMES)) !== 0) throw badDataFormat;
    if ((flags & DELETED) !== 0) {
      deleted += 1;
      continue;
    }
    const entry = { ms, seq, names, values };
    if (compareIds(entry, first) < 0 || isZeroId(entry)) throw badDataFormat;
    found += 1;
    entries.push(entry);
  }
  if (found !== count || deleted !== deletedCount) throw badDataFormat;
}

function readGroup(reader: PayloadReader, form: StreamForm): DumpedGroup {
  const name = reader.element();
  const lastId = readId(reader);
  const readCount = form.hasCounts ? readCountOf(reader.wholeLength()) : "estimate";
  const deliveries = new Map<Bytes, DumpedPending>();
  for (let left = reader.countFromZero(RAW_ID_BYTES + 9); left > 0; left -= 1) {
    const id = readRawId(reader);
    reader.countElement(RAW_ID_BYTES);
    const text = formatId(id);
    if (deliveries.has(text)) throw badDataFormat;
    const deliveredAtMs = readMoment(reader);
    deliveries.set(text, { ...id, deliveredAtMs, deliveryCount: counted(reader.wholeLength()) });
  }
  const consumers: DumpedConsumer[] = [];
  const names = new Set<Bytes>();
  for (let left = reader.countFromZero(10); left > 0; left -= 1) {
    const consumer = reader.element();
    if (names.has(consumer)) throw badDataFormat;
    names.add(consumer);
    const seenMs = readMoment(reader);
    const times = form.hasActiveTimes ? { seenMs, activeMs: readMomentOrNever(reader) } : { seenMs };
    const pending: DumpedPending[] = [];
    for (let ids = reader.countFromZero(RAW_ID_BYTES); ids > 0; ids -= 1) {
      const text = formatId(readRawId(reader));
      const delivery = deliveries.get(text);
      if (delivery === undefined) throw badDataFormat;
      deliveries.delete(text);
      pending.push(delivery);
    }
    consumers.push({ name: consumer, ...times, pending: pending.sort(compareIds) });
  }
  if (deliveries.size > 0) throw badDataFormat;
  return { name, lastId, readCount, consumers };
}

function skipProducers(reader: PayloadReader): void {
  // How long and how many ids are kept.
  reader.wholeLength();
  reader.wholeLength();
  const names = new Set<Bytes>();
  for (let left = reader.countFromZero(2); left > 0; left -= 1) {
    const name = reader.element();
    if (names.has(name)) throw badDataFormat;
    names.add(name);
    const idempotentIds = new Set<Bytes>();
    for (let ids = reader.countFromZero(3); ids > 0; ids -= 1) {
      const idempotentId = reader.element();
      if (idempotentIds.has(idempotentId)) throw badDataFormat;
      idempotentIds.add(idempotentId);
      readId(reader);
    }
  }
  // How many entries had an id, and how many were repetitions.
  reader.wholeLength();
  reader.wholeLength();
}

function readId(reader: PayloadReader): StreamId {
  return { ms: reader.wholeLength(), seq: reader.wholeLength() };
}

function readRawId(reader: PayloadReader): StreamId {
  const bytes = Buffer.from(reader.raw(RAW_ID_BYTES), "latin1");
  return { ms: wholeOf(bytes.readBigUInt64BE(0)), seq: wholeOf(bytes.readBigUInt64BE(8)) };
}

/** A time, as exact as we store it. */
function readMoment(reader: PayloadReader): number {
  return readMomentOrNever(reader) ?? 0;
}

/** A time, or undefined for -1. */
function readMomentOrNever(reader: PayloadReader): number | undefined {
  const ms = reader.signed64();
  if (ms < 0n) return undefined;
  return ms > BigInt(TIME_MS_MAX) ? TIME_MS_MAX : Number(ms);
}

function readCountOf(value: Whole): number | undefined {
  return value === WHOLE_MAX ? undefined : counted(value);
}

/** A count, as exact as we store it. */
function counted(value: Whole): number {
  return typeof value === "number" ? value : Number.MAX_SAFE_INTEGER;
}
