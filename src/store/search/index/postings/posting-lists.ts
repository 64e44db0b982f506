/**
 * The postings of the terms of one field. A term has a row of eight numbers and at most two growing blocks of the arena,
 * so that tens of thousands of words are no objects:
 *
 *     tail      up to 127 documents, one after the other:
 *                   gap * 2 + (frequency is 1), [frequency, [bytes of positions]], positions     each a varint
 *     chunks    one entry of four words for each 128 documents before the tail:
 *                   last document, block, greatest frequency, least length code | widths
 *     block     128 gaps, 128 frequencies, each of a fixed width, then the positions as in the tail
 *
 * (1) A gap is the document minus the one before it, minus 1; before the first document of a term is -1.
 * (2) The first position of a document is written as it is, each other one as the difference.
 * (3) The number of chunks is the number of postings divided by 128; the rest are in the tail.
 * (4) Nothing is taken out: postings of removed documents stay until the whole is copied. The number of live documents
 *     of a term is exact.
 * (5) No live document of a chunk has a greater frequency or a smaller length code than its entry says.
 *
 * A term with one or two documents mostly has only a tail of 8 or 16 bytes, which is what a place in the row would take.
 * Postings have no lengths: scores read the column of lengths, which has one byte for each document and field, where
 * one for each posting would take 40 bytes for a document of 46 words.
 */

import { grown } from "../documents/live-documents.ts";
import type { Term } from "../index-reader.ts";
import { type ByteArena, byteOffset, classBytes, classFor, NO_BLOCK, wordOffset } from "./byte-arena.ts";
import { reading, readVarint, skipVarints, varintBytes, writeVarint } from "./varint.ts";

export const CHUNK_DOCUMENTS = 128;
export const CHUNK_BITS = 7;

/** The words of an entry of a chunk. */
export const ENTRY_WORDS = 4;
export const ENTRY_LAST = 0;
export const ENTRY_BLOCK = 1;
export const ENTRY_FREQUENCY_MAX = 2;
/** Bits 0-7 the code of the least length, 8-11 the width of gaps, 12-15 the width of frequencies: 0 if all are 1. */
export const ENTRY_SHAPE = 3;

/** The numbers of a row. */
const ROW = 8;
const LIVE = 0;
const COUNT = 1;
/** The last document plus 1. */
const NEXT = 2;
const TAIL = 3;
const TAIL_BYTES = 4;
const CHUNKS = 5;
/** A place that the index uses while it counts the terms of one document. */
const SLOT = 6;
/** Bits 0-7 the size class of the tail, 8-15 that of the chunks. */
const CLASSES = 7;

/** From here on, a document of a tail has the number of bytes of its positions. */
const SKIP_FREQUENCY_MIN = 8;

/** Where one document has a term. */
export interface Occurrences {
  first: number;
  count: number;
  /** By position: the next one of the same term. */
  nexts: Uint32Array;
}

/** The codes of the lengths of documents; 0 for a removed one. */
export interface LengthCodes {
  readonly codes: Uint8Array;
}

export class PostingLists {
  readonly arena: ByteArena;
  readonly #lengths: LengthCodes;
  #rows = new Uint32Array(ROW * 8);
  #termCount = 0;

  constructor(arena: ByteArena, lengths: LengthCodes) {
    this.arena = arena;
    this.#lengths = lengths;
  }

  get termCount(): number {
    return this.#termCount;
  }

  get memoryBytes(): number {
    return this.#rows.byteLength;
  }

  /** A term without documents. */
  addTerm(): Term {
    const term = this.#termCount;
    if ((term + 1) * ROW > this.#rows.length) this.#rows = grown(this.#rows, (term + 1) * ROW);
    this.#termCount += 1;
    return term;
  }

  /** Live documents of a term. */
  liveCount(term: Term): number {
    return this.#rows[term * ROW + LIVE] as number;
  }

  /** Postings of a term, with those of removed documents. */
  postingCount(term: Term): number {
    return this.#rows[term * ROW + COUNT] as number;
  }

  /** The block with the entries of the chunks of a term. */
  chunksOf(term: Term): number {
    return this.#rows[term * ROW + CHUNKS] as number;
  }

  slotOf(term: Term): number {
    return this.#rows[term * ROW + SLOT] as number;
  }

  setSlot(term: Term, slot: number): void {
    this.#rows[term * ROW + SLOT] = slot;
  }

  /** A document that has the term was removed; returns how many live ones have it. */
  subtractDocument(term: Term): number {
    const count = (this.#rows[term * ROW + LIVE] as number) - 1;
    this.#rows[term * ROW + LIVE] = count;
    return count;
  }

  /**
   * Adds a document, whose number is above all others of the term, and whose length code is known; returns how many
   * live ones have the term.
   */
  append(term: Term, document: number, occurrences: Occurrences): number {
    const row = term * ROW;
    const rows = this.#rows;
    const gap = document - (rows[row + NEXT] as number);
    if (occurrences.count === 1) this.#writeOnce(row, 2 * gap + 1, occurrences.first);
    else this.#writeToTail(row, encode(gap, occurrences));
    rows[row + NEXT] = document + 1;
    const liveCount = (rows[row + LIVE] as number) + 1;
    rows[row + LIVE] = liveCount;
    const count = (rows[row + COUNT] as number) + 1;
    rows[row + COUNT] = count;
    if (count % CHUNK_DOCUMENTS === 0) this.#seal(term);
    return liveCount;
  }

  /** Reads the documents after the chunks of a term. */
  readTail(term: Term, tail: TailPostings): void {
    const count = (this.#rows[term * ROW + COUNT] as number) % CHUNK_DOCUMENTS;
    this.#readTail(term, tail, count);
  }

  #readTail(term: Term, tail: TailPostings, count: number): void {
    const row = term * ROW;
    const reference = this.#rows[row + TAIL] as number;
    const chunkCount = ((this.#rows[row + COUNT] as number) - count) / CHUNK_DOCUMENTS;
    tail.reserve(count);
    tail.count = count;
    tail.bytes = this.arena.bytesOf(reference);
    let document = chunkCount === 0 ? -1 : this.#lastOf(this.#rows[row + CHUNKS] as number, chunkCount - 1);
    const { bytes, documents, frequencies, starts, ends } = tail;
    let at = byteOffset(reference);
    for (let i = 0; i < count; i += 1) {
      const head = readVarint(bytes, at);
      at = reading.at;
      document += (head >>> 1) + 1;
      let frequency = 1;
      if ((head & 1) === 0) {
        frequency = readVarint(bytes, at);
        at = reading.at;
      }
      let end = 0;
      if (frequency >= SKIP_FREQUENCY_MIN) {
        const positionBytes = readVarint(bytes, at);
        at = reading.at;
        end = at + positionBytes;
      } else end = skipVarints(bytes, at, frequency);
      documents[i] = document;
      frequencies[i] = frequency;
      starts[i] = at;
      ends[i] = end;
      at = end;
    }
  }

  /** The last document of a chunk. */
  #lastOf(chunks: number, chunk: number): number {
    const words = this.arena.wordsOf(chunks);
    return words[wordOffset(chunks) + chunk * ENTRY_WORDS + ENTRY_LAST] as number;
  }

  /** Writes a document that has the term once. */
  #writeOnce(row: number, head: number, position: number): void {
    const start = this.#reserve(row, varintBytes(head) + varintBytes(position));
    const bytes = this.arena.bytesOf(this.#rows[row + TAIL] as number);
    writeVarint(bytes, writeVarint(bytes, start, head), position);
  }

  /** Copies the first bytes of `coded` to the end of the tail. */
  #writeToTail(row: number, codedBytes: number): void {
    const start = this.#reserve(row, codedBytes);
    const bytes = this.arena.bytesOf(this.#rows[row + TAIL] as number);
    if (codedBytes >= CALL_BYTES_MIN) bytes.set(coded.subarray(0, codedBytes), start);
    else for (let i = 0; i < codedBytes; i += 1) bytes[start + i] = coded[i] as number;
  }

  /** Makes a tail longer, and returns where the new bytes begin in the bytes of its segment. */
  #reserve(row: number, byteCount: number): number {
    const rows = this.#rows;
    const used = rows[row + TAIL_BYTES] as number;
    const classes = rows[row + CLASSES] as number;
    const sizeClass = classes & 0xff;
    let tail = rows[row + TAIL] as number;
    if (tail === NO_BLOCK || used + byteCount > (classBytes[sizeClass] as number)) {
      const next = classFor(used + byteCount, sizeClass);
      const larger = this.arena.take(next);
      if (tail !== NO_BLOCK) {
        copyBytes(this.arena, { from: tail, to: larger, byteCount: used });
        this.arena.free(tail, sizeClass);
      }
      tail = larger;
      rows[row + TAIL] = tail;
      rows[row + CLASSES] = (classes & ~0xff) | next;
    }
    rows[row + TAIL_BYTES] = used + byteCount;
    return byteOffset(tail) + used;
  }

  /** Makes a chunk of a tail of 128 documents. */
  #seal(term: Term): void {
    const row = term * ROW;
    this.#readTail(term, sealed, CHUNK_DOCUMENTS);
    const { documents, frequencies, starts, ends } = sealed;
    const { codes } = this.#lengths;
    const chunk = (this.#rows[row + COUNT] as number) / CHUNK_DOCUMENTS - 1;
    const before = chunk === 0 ? -1 : this.#lastOf(this.#rows[row + CHUNKS] as number, chunk - 1);
    let gapMax = 0;
    let frequencyMax = 0;
    let leastCode = 255;
    let positionBytes = 0;
    for (let i = 0, previous = before; i < CHUNK_DOCUMENTS; i += 1) {
      const document = documents[i] as number;
      gapMax = Math.max(gapMax, document - previous - 1);
      previous = document;
      positionBytes += (ends[i] as number) - (starts[i] as number);
      frequencyMax = Math.max(frequencyMax, frequencies[i] as number);
      // Removed documents have no length any more. keeps (5)
      const code = codes[document] as number;
      if (code !== 0 && code < leastCode) leastCode = code;
    }
    const gapWidth = widthOf(gapMax);
    const frequencyWidth = frequencyMax === 1 ? 0 : widthOf(frequencyMax);
    const block = this.arena.allocate(CHUNK_DOCUMENTS * (gapWidth + frequencyWidth) + positionBytes);
    const bytes = this.arena.bytesOf(block);
    const gaps = byteOffset(block);
    const frequenciesAt = gaps + CHUNK_DOCUMENTS * gapWidth;
    let positionsAt = frequenciesAt + CHUNK_DOCUMENTS * frequencyWidth;
    // An allocation may have replaced the first segment.
    const tailBytes = this.arena.bytesOf(this.#rows[row + TAIL] as number);
    for (let i = 0, previous = before; i < CHUNK_DOCUMENTS; i += 1) {
      const document = documents[i] as number;
      writeWide(bytes, { at: gaps + i * gapWidth, width: gapWidth, value: document - previous - 1 });
      writeWide(bytes, {
        at: frequenciesAt + i * frequencyWidth,
        width: frequencyWidth,
        value: frequencies[i] as number,
      });
      previous = document;
      for (let from = starts[i] as number; from < (ends[i] as number); from += 1, positionsAt += 1)
        bytes[positionsAt] = tailBytes[from] as number;
    }
    this.#rows[row + TAIL_BYTES] = 0;
    const entry = this.#addEntry(row, chunk);
    const words = this.arena.wordsOf(this.#rows[row + CHUNKS] as number);
    words[entry + ENTRY_LAST] = documents[CHUNK_DOCUMENTS - 1] as number;
    words[entry + ENTRY_BLOCK] = block;
    words[entry + ENTRY_FREQUENCY_MAX] = frequencyMax;
    words[entry + ENTRY_SHAPE] = leastCode | (gapWidth << 8) | (frequencyWidth << 12);
  }

  /** Makes room for the entry of a chunk; returns its place in the words of its segment. */
  #addEntry(row: number, chunk: number): number {
    const rows = this.#rows;
    const byteCount = (chunk + 1) * ENTRY_WORDS * 4;
    const classes = rows[row + CLASSES] as number;
    const sizeClass = classes >>> 8;
    let chunks = rows[row + CHUNKS] as number;
    if (chunks === NO_BLOCK || byteCount > (classBytes[sizeClass] as number)) {
      const next = classFor(byteCount, sizeClass);
      const larger = this.arena.take(next);
      if (chunks !== NO_BLOCK) {
        copyBytes(this.arena, { from: chunks, to: larger, byteCount: chunk * ENTRY_WORDS * 4 });
        this.arena.free(chunks, sizeClass);
      }
      chunks = larger;
      rows[row + CHUNKS] = chunks;
      rows[row + CLASSES] = (classes & 0xff) | (next << 8);
    }
    return wordOffset(chunks) + chunk * ENTRY_WORDS;
  }
}

const noBytes = new Uint8Array(0);

/** The documents of a tail. `starts` and `ends` are the places of their positions in `bytes`. */
export class TailPostings {
  documents: Int32Array;
  frequencies: Uint32Array;
  starts: Uint32Array;
  ends: Uint32Array;
  bytes: Uint8Array = noBytes;
  count = 0;

  constructor(capacity: number) {
    this.documents = new Int32Array(capacity);
    this.frequencies = new Uint32Array(capacity);
    this.starts = new Uint32Array(capacity);
    this.ends = new Uint32Array(capacity);
  }

  reserve(count: number): void {
    if (this.documents.length >= count) return;
    this.documents = new Int32Array(count);
    this.frequencies = new Uint32Array(count);
    this.starts = new Uint32Array(count);
    this.ends = new Uint32Array(count);
  }
}

const sealed = new TailPostings(CHUNK_DOCUMENTS);

/** One document in the form of a tail. */
let coded = new Uint8Array(256);
/** More than this is not kept after use. */
const CODED_KEPT_BYTES = 65_536;

/** Writes a document that has the term several times to `coded`; returns its length in bytes. */
function encode(gap: number, { first, count, nexts }: Occurrences): number {
  const room = 15 + 5 * count;
  if (room > coded.length || (coded.length > CODED_KEPT_BYTES && room <= CODED_KEPT_BYTES)) {
    coded = new Uint8Array(Math.max(room, 256));
  }
  let at = writeVarint(coded, writeVarint(coded, 0, 2 * gap), count);
  if (count >= SKIP_FREQUENCY_MIN) {
    let byteCount = varintBytes(first);
    for (let left = count - 1, position = first; left > 0; left -= 1) {
      const next = nexts[position] as number;
      byteCount += varintBytes(next - position);
      position = next;
    }
    at = writeVarint(coded, at, byteCount);
  }
  at = writeVarint(coded, at, first);
  for (let left = count - 1, position = first; left > 0; left -= 1) {
    const next = nexts[position] as number;
    at = writeVarint(coded, at, next - position);
    position = next;
  }
  return at;
}

/** Below this, a call that copies costs more than a loop. */
const CALL_BYTES_MIN = 64;

function copyBytes(arena: ByteArena, { from, to, byteCount }: { from: number; to: number; byteCount: number }): void {
  const source = arena.bytesOf(from);
  const target = arena.bytesOf(to);
  const start = byteOffset(from);
  const end = byteOffset(to);
  if (byteCount >= CALL_BYTES_MIN) target.set(source.subarray(start, start + byteCount), end);
  else for (let i = 0; i < byteCount; i += 1) target[end + i] = source[start + i] as number;
}

function widthOf(value: number): number {
  if (value < 0x100) return 1;
  if (value < 0x1_0000) return 2;
  return value < 0x100_0000 ? 3 : 4;
}

function writeWide(bytes: Uint8Array, { at, width, value }: { at: number; width: number; value: number }): void {
  for (let i = 0, rest = value; i < width; i += 1, rest >>>= 8) bytes[at + i] = rest & 0xff;
}

/** Reads a number of a fixed width. */
export function readWide(bytes: Uint8Array, at: number, width: number): number {
  let value = 0;
  for (let i = width - 1; i >= 0; i -= 1) value = (value << 8) | (bytes[at + i] as number);
  return value >>> 0;
}
