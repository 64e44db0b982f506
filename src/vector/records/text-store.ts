/**
 * Texts by record, as UTF-8 outside V8's heap: a log of entries in chunks, which
 * are compacted.
 *
 *     location   by record: unit of the entry plus one; 0: no text; LARGE: a buffer of its own
 *     unit       4 bytes: number of the chunk, then its 16,384 units
 *     entry      | record u32 | bytes << 1, plus 1 if ASCII u16 | UTF-8 | padding to 4 |
 *
 * (1) An entry is alive if the location of its record is its own. All entries of a
 *     chunk are whole and follow each other up to `used`.
 * (2) New entries go to the open chunk. It grows by doubling up to the full size;
 *     all others have the full size.
 * (3) A closed chunk of which less than two thirds are alive is moved: its
 *     entries go to the open chunk, and its memory is freed. So chunks take at
 *     most 1.6 times the bytes of the live entries, and one chunk more; a change
 *     moves at most a few chunks, for each of which a third of a chunk was freed.
 * (4) A chunk is in a block of the memory of rows, as a page of numbers is
 *     (`number-pages.ts`).
 * (5) Texts have no lone surrogates: the edge refuses them, because UTF-8 has one
 *     character for all of them.
 */
import { assert } from "../../kernel/assert.ts";
import { cutBytes } from "../../kernel/short-bytes.ts";
import type { Block, RowMemory } from "../rows/row-memory.ts";
import { Uint32Pages } from "./number-pages.ts";

const UNIT_BYTES = 4;
const CHUNK_SHIFT = 14;
const CHUNK_UNITS = 1 << CHUNK_SHIFT;
const CHUNK_BYTES = CHUNK_UNITS * UNIT_BYTES;
const CHUNK_BYTES_MIN = 128;
/** Beyond this many chunks (16 GiB) texts have buffers of their own. */
const CHUNKS_MAX = 2 ** (32 - CHUNK_SHIFT) - 1;
/** An open chunk with less in it is only moved when it is full. */
const MOVED_BYTES_MIN = 4_096;
const ENTRY_HEAD_BYTES = 6;

/** The location of a text with a buffer of its own, and the least bytes of one: a chunk has at most 6 % unused at its end. */
const LARGE = 0xffff_ffff;
const LARGE_BYTES_MIN = 4_096;
/** The memory of a buffer and its entry in the map, in addition to its bytes. */
const BUFFER_BYTES = 300;

/** Shorter texts are written faster by a loop than by a call of the runtime. */
const LOOP_LENGTH_MAX = 40;

interface Chunk {
  bytes: Buffer;
  /** The same memory. */
  words: Uint32Array;
  /** The block of the memory of rows that it is in; undefined if its buffer is its own. */
  block: Block | undefined;
  /** Bytes with entries. */
  used: number;
  /** Bytes of live entries. */
  live: number;
  /** Changes with each entry that is written. */
  version: number;
}

/** Texts of one chunk that are read in a row before the chunk is decoded as a whole. */
const READS_MIN = 8;

// The chunk of the last text that was read, and its bytes as a string, for all stores: each of its texts is then a slice,
// which takes a tenth of the time of a call of the runtime.
let readChunk: Chunk | undefined;
let readVersion = 0;
let readCount = 0;
let readText = "";

export class TextStore {
  readonly #memory: RowMemory;
  readonly #chunksMax: number;
  readonly #locations: Uint32Pages;
  #chunks: (Chunk | undefined)[] = [];
  #freeNumbers: number[] = [];
  /** The number of the open chunk; -1 without an open chunk. */
  #open = -1;
  /** Undefined until the first one, as most namespaces have none. */
  #large: Map<number, Buffer> | undefined;
  #textBytes = 0;
  #entryBytes = 0;
  #chunkBytes = 0;

  /** `chunksMax`: beyond it, texts have buffers of their own. */
  constructor(memory: RowMemory, chunksMax = CHUNKS_MAX) {
    this.#memory = memory;
    this.#chunksMax = chunksMax;
    this.#locations = new Uint32Pages(memory);
  }

  /** The bytes of all texts in UTF-8. */
  get textBytes(): number {
    return this.#textBytes;
  }

  /** The memory of all texts with their entries, without what `byteCount` has unused. */
  get liveBytes(): number {
    return this.#entryBytes;
  }

  /** The memory outside the heap. */
  get byteCount(): number {
    let bytes = this.#chunkBytes + this.#locations.byteCount;
    for (const { length } of this.#large?.values() ?? []) bytes += length;
    return bytes;
  }

  has(record: number): boolean {
    return this.#locations.get(record) !== 0;
  }

  get(record: number): string | undefined {
    const location = this.#locations.get(record);
    if (location === 0) return undefined;
    if (location === LARGE) return this.#large?.get(record)?.utf8Slice();
    const { bytes } = this.#chunkAt(location);
    const at = startOf(location);
    const head = headAt(bytes, at);
    const start = at + ENTRY_HEAD_BYTES;
    const end = start + (head >>> 1);
    return (head & 1) === 1 ? cutBytes(bytes, start, end) : bytes.utf8Slice(start, end);
  }

  /**
   * As `get`, for a reader of many texts in order that keeps none of them: the text may be a slice of a long string, which
   * stays in memory with it.
   */
  look(record: number): string | undefined {
    const location = this.#locations.get(record);
    if (location === 0 || location === LARGE) return this.get(record);
    const chunk = this.#chunkAt(location);
    const at = startOf(location);
    const head = headAt(chunk.bytes, at);
    if ((head & 1) === 0) return this.get(record);
    const start = at + ENTRY_HEAD_BYTES;
    const end = start + (head >>> 1);
    if (readChunk !== chunk || readVersion !== chunk.version) {
      readChunk = chunk;
      readVersion = chunk.version;
      readCount = 0;
      readText = "";
    }
    readCount += 1;
    if (readCount < READS_MIN) return cutBytes(chunk.bytes, start, end);
    if (readCount === READS_MIN) readText = chunk.bytes.latin1Slice(0, chunk.used);
    return readText.substring(start, end);
  }

  /** The bytes of a text in UTF-8; undefined for a record without a text. */
  lengthOf(record: number): number | undefined {
    const location = this.#locations.get(record);
    if (location === 0) return undefined;
    if (location === LARGE) return this.#large?.get(record)?.length;
    return headAt(this.#chunkAt(location).bytes, startOf(location)) >>> 1;
  }

  /** Whether the record has this text, or, if that is undefined, no text. */
  equals(record: number, text: string | undefined): boolean {
    const location = this.#locations.get(record);
    if (location === 0 || text === undefined) return location === 0 && text === undefined;
    // Short texts have buffers of their own too when the chunks are full.
    if (location === LARGE)
      return this.#large?.get(record)?.length === Buffer.byteLength(text) && this.get(record) === text;
    const { bytes } = this.#chunkAt(location);
    const at = startOf(location);
    const head = headAt(bytes, at);
    const { length } = text;
    if ((head & 1) === 0) return head >>> 1 > length && this.get(record) === text;
    return head >>> 1 === length && isAsciiAt(bytes, at + ENTRY_HEAD_BYTES, text);
  }

  /** Whether the record has a text that begins with `prefix`. */
  startsWith(record: number, prefix: string): boolean {
    const location = this.#locations.get(record);
    if (location === 0) return false;
    if (location !== LARGE) {
      const { bytes } = this.#chunkAt(location);
      const at = startOf(location);
      const head = headAt(bytes, at);
      if ((head & 1) === 1) return head >>> 1 >= prefix.length && isAsciiAt(bytes, at + ENTRY_HEAD_BYTES, prefix);
    }
    return this.get(record)?.startsWith(prefix) === true;
  }

  /** Sets or, with undefined, removes a text. */
  set(record: number, text: string | undefined): void {
    if (text === undefined) {
      this.#remove(record);
      return;
    }
    const length = Buffer.byteLength(text);
    if (length >= LARGE_BYTES_MIN || this.#isFull) {
      this.#remove(record);
      this.#large ??= new Map();
      this.#large.set(record, bufferOf(text, length));
      this.#locations.set(record, LARGE);
      this.#count(length, length + BUFFER_BYTES);
      return;
    }
    const size = entryBytes(length);
    const known = this.#locations.get(record);
    if (known !== 0 && known !== LARGE) {
      const chunk = this.#chunkAt(known);
      const at = startOf(known);
      const before = headAt(chunk.bytes, at) >>> 1;
      if (entryBytes(before) === size) {
        chunk.version += 1;
        writeText(chunk.bytes, at, text, length);
        this.#count(length - before, 0);
        return;
      }
    }
    this.#remove(record);
    const location = this.#take(size);
    const chunk = this.#chunkAt(location);
    const at = startOf(location);
    chunk.words[at / UNIT_BYTES] = record;
    writeText(chunk.bytes, at, text, length);
    chunk.live += size;
    this.#locations.set(record, location);
    this.#count(length, size);
  }

  /** Gives the text of a record, if it has one, to a record without a text. */
  move(from: number, to: number): void {
    const location = this.#locations.get(from);
    if (location === 0) return;
    assert(!this.has(to), "a text moves to a record without one");
    if (location === LARGE) {
      this.#large?.set(to, this.#large.get(from) as Buffer);
      this.#large?.delete(from);
    } else {
      this.#chunkAt(location).words[startOf(location) / UNIT_BYTES] = to;
    }
    this.#locations.set(to, location);
    this.#locations.set(from, 0);
  }

  /** Frees memory for records from `count` on, which have no texts. */
  freeFrom(count: number): void {
    this.#locations.freeFrom(count);
  }

  /** Removes all texts and frees their memory. */
  clear(): void {
    this.#locations.clear();
    for (const chunk of this.#chunks) if (chunk !== undefined) this.#release(chunk.block);
    this.#chunks = [];
    this.#freeNumbers = [];
    this.#open = -1;
    this.#large = undefined;
    this.#textBytes = 0;
    this.#entryBytes = 0;
    this.#chunkBytes = 0;
  }

  get #isFull(): boolean {
    return this.#chunks.length === this.#chunksMax && this.#freeNumbers.length === 0;
  }

  #chunkAt(location: number): Chunk {
    return this.#chunks[(location - 1) >>> CHUNK_SHIFT] as Chunk;
  }

  #count(textBytes: number, bytes: number): void {
    this.#textBytes += textBytes;
    this.#entryBytes += bytes;
  }

  #remove(record: number): void {
    const location = this.#locations.get(record);
    if (location === 0) return;
    this.#locations.set(record, 0);
    if (location === LARGE) {
      const length = this.#large?.get(record)?.length ?? 0;
      this.#large?.delete(record);
      this.#count(-length, -length - BUFFER_BYTES);
      return;
    }
    const number = (location - 1) >>> CHUNK_SHIFT;
    const chunk = this.#chunks[number] as Chunk;
    const length = headAt(chunk.bytes, startOf(location)) >>> 1;
    const size = entryBytes(length);
    chunk.live -= size;
    this.#count(-length, -size);
    if (chunk.live === 0) this.#drop(number);
    else if (isSparse(chunk) && (number !== this.#open || chunk.used >= MOVED_BYTES_MIN)) this.#moveChunk(number);
  }

  /** The location of a new entry of this size, which the caller writes at once. */
  #take(size: number): number {
    let chunk = this.#chunks[this.#open];
    if (chunk === undefined) {
      chunk = this.#add(Math.max(CHUNK_BYTES_MIN, 2 ** Math.ceil(Math.log2(size))));
    } else if (chunk.used + size > chunk.bytes.length) {
      chunk = this.#withRoom(chunk, size);
    }
    const at = chunk.used;
    chunk.used += size;
    chunk.version += 1;
    return this.#open * CHUNK_UNITS + at / UNIT_BYTES + 1;
  }

  /** The open chunk with room for an entry: compacted, larger, or the next. */
  #withRoom(chunk: Chunk, size: number): Chunk {
    const number = this.#open;
    if (isSparse(chunk)) {
      this.#moveChunk(number);
      const moved = this.#chunks[this.#open] as Chunk;
      return moved.used + size <= moved.bytes.length ? moved : this.#withRoom(moved, size);
    }
    if (chunk.bytes.length === CHUNK_BYTES) return this.#add(CHUNK_BYTES); // keeps (2)
    const { bytes, block } = chunk;
    let length = 2 * bytes.length;
    while (length < chunk.used + size) length *= 2;
    Object.assign(chunk, this.#allocate(Math.min(length, CHUNK_BYTES)));
    chunk.bytes.set(bytes);
    this.#release(block);
    this.#chunkBytes += chunk.bytes.length - bytes.length;
    if (chunk.used + size <= chunk.bytes.length) return chunk;
    return this.#add(CHUNK_BYTES);
  }

  /** Moves the live entries of a chunk to the open one, or to a new open one if it is itself open. keeps (3) */
  #moveChunk(number: number): void {
    const { words, bytes, used, live } = this.#chunks[number] as Chunk;
    const base = number * CHUNK_UNITS + 1;
    if (number === this.#open) this.#add(Math.min(CHUNK_BYTES, 2 ** Math.ceil(Math.log2(2 * live))));
    let moved = 0;
    for (let at = 0; at < used && moved < live; ) {
      const size = entryBytes(headAt(bytes, at) >>> 1);
      const from = at / UNIT_BYTES;
      const record = words[from] as number;
      if (this.#locations.get(record) === base + from) {
        const location = this.#take(size);
        const target = this.#chunkAt(location);
        const to = startOf(location) / UNIT_BYTES;
        for (let i = 0; i < size / UNIT_BYTES; i += 1) target.words[to + i] = words[from + i] as number;
        target.live += size;
        this.#locations.set(record, location);
        moved += size;
      }
      at += size;
    }
    this.#drop(number);
  }

  /** Adds an open chunk; the one before is closed. */
  #add(length: number): Chunk {
    const chunk: Chunk = { ...this.#allocate(length), used: 0, live: 0, version: 0 };
    this.#open = this.#freeNumbers.pop() ?? this.#chunks.length;
    this.#chunks[this.#open] = chunk;
    this.#chunkBytes += length;
    return chunk;
  }

  /** Memory with arbitrary contents. keeps (4) */
  #allocate(length: number): Pick<Chunk, "bytes" | "words" | "block"> {
    const block = this.#memory.findBlock(length);
    const bytes =
      block === undefined
        ? Buffer.from(new ArrayBuffer(length))
        : Buffer.from(block.arena.floats.buffer, block.address, length);
    return { bytes, words: new Uint32Array(bytes.buffer, bytes.byteOffset, length / UNIT_BYTES), block };
  }

  #release(block: Block | undefined): void {
    if (block !== undefined) this.#memory.release(block);
  }

  #drop(number: number): void {
    const { bytes, block } = this.#chunks[number] as Chunk;
    this.#chunkBytes -= bytes.length;
    this.#release(block);
    this.#chunks[number] = undefined;
    this.#freeNumbers.push(number);
    if (number === this.#open) this.#open = -1;
  }
}

function isSparse({ live, used }: Chunk): boolean {
  return 3 * live < 2 * used;
}

/** The offset of an entry in its chunk. */
function startOf(location: number): number {
  return ((location - 1) & (CHUNK_UNITS - 1)) * UNIT_BYTES;
}

function headAt(bytes: Buffer, at: number): number {
  return (bytes[at + 4] as number) | ((bytes[at + 5] as number) << 8);
}

function entryBytes(length: number): number {
  return (ENTRY_HEAD_BYTES + length + UNIT_BYTES - 1) & -UNIT_BYTES;
}

function writeText(bytes: Buffer, at: number, text: string, length: number): void {
  const isAscii = length === text.length;
  const head = (length << 1) | Number(isAscii);
  bytes[at + 4] = head & 0xff;
  bytes[at + 5] = head >>> 8;
  const start = at + ENTRY_HEAD_BYTES;
  if (!isAscii) bytes.utf8Write(text, start, length);
  else if (length > LOOP_LENGTH_MAX) bytes.latin1Write(text, start, length);
  else for (let i = 0; i < length; i += 1) bytes[start + i] = text.charCodeAt(i);
}

/** Not from the pool of Node, which would stay in memory as long as one of its texts. */
function bufferOf(text: string, length: number): Buffer {
  const buffer = Buffer.allocUnsafeSlow(length);
  buffer.utf8Write(text, 0, length);
  return buffer;
}

/** Whether the bytes are those of the text, of which each unit is a byte if it is ASCII. */
function isAsciiAt(bytes: Buffer, start: number, text: string): boolean {
  for (let i = 0; i < text.length; i += 1) if (bytes[start + i] !== text.charCodeAt(i)) return false;
  return true;
}
