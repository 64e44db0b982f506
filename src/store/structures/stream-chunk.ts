/**
 * Up to a hundred neighbouring entries of a stream.
 *
 * The chunk at the end of a stream is open: its entries are objects. When it is
 * full it is packed into one string, and stays so:
 *
 *     text    | names: count, name … | entry … |
 *     entry   | form u8 | id | [names: count, name …] | value … |
 *     id      | ms - that of the chunk, varint | seq, varint |        or, in form 2, as two texts
 *     string  | length varint | bytes |
 *
 * Form 1: the entry has its own names; else they are those of the chunk, which are those of its first entry.
 *
 * (1) `ms` and `seq` are the id of the first entry the chunk ever had: no entry in it comes before that.
 * (2) Entries removed from the front of a packed chunk leave their bytes, until it is dropped or rewritten.
 */
import { assert } from "../../kernel/assert.ts";
import { type Bytes, memoryBytesOf } from "../../kernel/bytes.ts";
import { FrameWriter } from "../../kernel/frame.ts";
import { compareIds, type StreamId, type Whole, wholeOf } from "./stream-id.ts";

/** As Redis' stream-node-max-entries and stream-node-max-bytes. */
export const ENTRIES_MAX = 100;
export const CONTENT_BYTES_MAX = 4096;

/** Strings read from a chunk may be slices that keep a longer string alive: use them in a reply, do not store them. */
export interface StreamEntry extends StreamId {
  readonly names: readonly Bytes[];
  /** As many as there are names. */
  readonly values: readonly Bytes[];
}

/** Memory of a chunk beside its entries, and of an open entry and its values beside their bytes. */
const CHUNK_BYTES = 120;
const OPEN_ENTRY_BYTES = 110;
const OPEN_VALUE_BYTES = 8;

const OWN_NAMES = 1;
const LONG_ID = 2;

const writer = new FrameWriter();
/** The read position. One for all chunks, so that reading allocates only its result. */
const cursor = { at: 0 };

export class StreamChunk implements StreamId {
  readonly ms: Whole;
  readonly seq: Whole;
  #count: number;
  /** The entries of an open chunk, else absent. */
  #entries: StreamEntry[] | undefined;
  /** Bytes of the values, and of the names that differ from those of the first entry. */
  #contentBytes = 0;
  #openBytes = 0;
  #text: Bytes = "";
  /** The offset of the first remaining entry: (2). */
  #start = 0;

  /** An open chunk of one entry, or one that shares the packed form of another. */
  constructor(from: StreamEntry | StreamChunk) {
    this.ms = from.ms;
    this.seq = from.seq;
    if (from instanceof StreamChunk) {
      this.#count = from.#count;
      this.#entries = from.#entries?.slice();
      this.#contentBytes = from.#contentBytes;
      this.#openBytes = from.#openBytes;
      this.#text = from.#text;
      this.#start = from.#start;
    } else {
      this.#count = 0;
      this.#entries = [];
      this.append(from);
    }
  }

  get count(): number {
    return this.#count;
  }

  get memoryBytes(): number {
    return CHUNK_BYTES + (this.#entries === undefined ? memoryBytesOf(this.#text) : this.#openBytes);
  }

  /** True if an entry with these values fits. */
  hasRoom(values: readonly Bytes[]): boolean {
    if (this.#entries === undefined || this.#count >= ENTRIES_MAX) return false;
    let bytes = this.#contentBytes;
    for (const value of values) bytes += value.length;
    return bytes <= CONTENT_BYTES_MAX;
  }

  /** Appends an entry. The chunk must be open. */
  append(entry: StreamEntry): void {
    const entries = this.#entries;
    assert(entries !== undefined, "entries are added to open chunks");
    // Repeated names are stored once.
    const previous = entries.at(-1)?.names;
    const isRepeated = previous !== undefined && areSame(previous, entry.names);
    const added = isRepeated ? { ms: entry.ms, seq: entry.seq, names: previous, values: entry.values } : entry;
    entries.push(added);
    this.#count += 1;
    this.#weigh(added, isRepeated);
  }

  /** Calls `visit` for the entries from one id to another, both included, until it returns false; returns whether it did. */
  visit(from: StreamId, to: StreamId, visit: (entry: StreamEntry) => boolean): boolean {
    const entries = this.#entries;
    if (entries !== undefined) {
      for (let i = placeOf(entries, from); i < entries.length; i += 1) {
        const entry = entries[i] as StreamEntry;
        if (compareIds(entry, to) > 0) return true;
        if (!visit(entry)) return false;
      }
      return true;
    }
    const text = this.#text;
    cursor.at = 0;
    const names = readStrings(text);
    let at = this.#start;
    for (let left = this.#count; left > 0; left -= 1) {
      cursor.at = at;
      const form = text.charCodeAt(cursor.at++);
      const id = this.#readId(form);
      if (compareIds(id, to) > 0) return true;
      if (compareIds(id, from) < 0) {
        skipStrings(text, (form & OWN_NAMES) !== 0 ? skipStrings(text, readNumber(text)) : names.length);
        at = cursor.at;
        continue;
      }
      const ownNames = (form & OWN_NAMES) !== 0 ? readStrings(text) : names;
      const values = readSome(text, ownNames.length);
      // `visit` may read other chunks.
      at = cursor.at;
      if (!visit({ ms: id.ms, seq: id.seq, names: ownNames, values })) return false;
    }
    return true;
  }

  /** The entries from one id to another, both included. */
  entries(from: StreamId, to: StreamId): StreamEntry[] {
    const found: StreamEntry[] = [];
    this.visit(from, to, (entry) => found.push(entry) > 0);
    return found;
  }

  /** Removes a number of entries from the front; at least one stays. */
  dropFirst(count: number): void {
    this.#count -= count;
    const entries = this.#entries;
    if (entries !== undefined) {
      entries.splice(0, count);
      this.#weighAll();
      return;
    }
    const text = this.#text;
    cursor.at = 0;
    const nameCount = readNumber(text);
    cursor.at = this.#start;
    for (let left = count; left > 0; left -= 1) {
      const form = text.charCodeAt(cursor.at++);
      this.#readId(form);
      skipStrings(text, (form & OWN_NAMES) !== 0 ? skipStrings(text, readNumber(text)) : nameCount);
    }
    this.#start = cursor.at;
  }

  /** Removes the entry with this id, which is not the only one. */
  remove(id: StreamId): void {
    const entries = this.#entries ?? this.entries(this, LAST);
    const place = placeOf(entries, id);
    assert(compareIds(entries[place] as StreamEntry, id) === 0, "the entry to remove exists");
    if (this.#entries === undefined && place === 0) {
      this.dropFirst(1);
      return;
    }
    entries.splice(place, 1);
    this.#count -= 1;
    if (this.#entries === undefined) this.#write(entries);
    else this.#weighAll();
  }

  /** No more entries are added. */
  pack(): void {
    if (this.#entries === undefined) return;
    this.#write(this.#entries);
    this.#entries = undefined;
  }

  #write(entries: readonly StreamEntry[]): void {
    const { names } = entries[0] as StreamEntry;
    writeStrings(writer, names);
    const headBytes = writer.byteCount;
    for (const { ms, seq, names: own, values } of entries) {
      const isOwn = own !== names && !areSame(own, names);
      const isLong = typeof ms !== "number" || typeof seq !== "number" || typeof this.ms !== "number";
      writer.number((isOwn ? OWN_NAMES : 0) | (isLong ? LONG_ID : 0));
      if (isLong) writer.bytes(`${ms}`).bytes(`${seq}`);
      else writer.number(ms - this.ms).number(seq);
      if (isOwn) writeStrings(writer, own);
      for (const value of values) writer.bytes(value);
    }
    this.#text = writer.take().latin1Slice();
    this.#start = headBytes;
  }

  #readId(form: number): StreamId {
    const text = this.#text;
    if ((form & LONG_ID) !== 0) {
      const [ms = "", seq = ""] = readSome(text, 2);
      return { ms: wholeOf(BigInt(ms)), seq: wholeOf(BigInt(seq)) };
    }
    const ms = Number(this.ms) + readNumber(text);
    return { ms, seq: readNumber(text) };
  }

  #weighAll(): void {
    this.#contentBytes = 0;
    this.#openBytes = 0;
    let previous: readonly Bytes[] | undefined;
    for (const entry of this.#entries ?? []) {
      this.#weigh(entry, entry.names === previous);
      previous = entry.names;
    }
  }

  #weigh({ names, values }: StreamEntry, isRepeated: boolean): void {
    this.#openBytes += OPEN_ENTRY_BYTES;
    for (const value of values) {
      this.#contentBytes += value.length;
      this.#openBytes += OPEN_VALUE_BYTES + memoryBytesOf(value);
    }
    if (isRepeated) return;
    for (const name of names) {
      this.#contentBytes += name.length;
      this.#openBytes += OPEN_VALUE_BYTES + memoryBytesOf(name);
    }
  }
}

const LAST: StreamId = { ms: 2n ** 64n - 1n, seq: 2n ** 64n - 1n };

/** The index of the first entry that does not come before this id. */
function placeOf(entries: readonly StreamEntry[], id: StreamId): number {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compareIds(entries[middle] as StreamEntry, id) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

function areSame(one: readonly Bytes[], other: readonly Bytes[]): boolean {
  if (one.length !== other.length) return false;
  for (let i = 0; i < one.length; i += 1) if (one[i] !== other[i]) return false;
  return true;
}

function writeStrings(to: FrameWriter, strings: readonly Bytes[]): void {
  to.number(strings.length);
  for (const string of strings) to.bytes(string);
}

function readNumber(text: Bytes): number {
  let value = 0;
  let unit = 1;
  for (;;) {
    const byte = text.charCodeAt(cursor.at++);
    value += (byte & 0x7f) * unit;
    if (byte < 0x80) return value;
    unit *= 0x80;
  }
}

function readStrings(text: Bytes): Bytes[] {
  return readSome(text, readNumber(text));
}

function readSome(text: Bytes, count: number): Bytes[] {
  const strings: Bytes[] = new Array(count);
  for (let i = 0; i < count; i += 1) {
    const length = readNumber(text);
    strings[i] = text.slice(cursor.at, cursor.at + length);
    cursor.at += length;
  }
  return strings;
}

/** Returns the count. */
function skipStrings(text: Bytes, count: number): number {
  for (let left = count; left > 0; left -= 1) {
    // Reading the length also moves the position.
    const length = readNumber(text);
    cursor.at += length;
  }
  return count;
}
