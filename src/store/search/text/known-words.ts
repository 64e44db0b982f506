/**
 * The terms of the words that an index has met last, by the bytes of the words. A word that is found here becomes no
 * string, is not stemmed and is looked up nowhere else: so most words of a text cost a few comparisons of numbers.
 *
 * (1) A word is in one of two neighbouring places, which its hash says: the newer one of the two words is in the first. So
 *     words that were chosen to have one hash cost as much as unknown ones, and no more.
 * (2) No byte of a word is 0, so the numbers of a word, filled up with zeros, are those of no other one.
 * (3) A table that grows forgets its words, which come back one by one when they are met again: to move them would hold
 *     the thread for tens of thousands of words at once.
 */
import type { Bytes } from "../../../kernel/bytes.ts";

/** Longer words are never found. A pair of places takes 32 bytes, which memory gives at once. */
export const KNOWN_BYTES_MAX = 12;

/** The word is not here. */
export const UNKNOWN = -1;

/** The numbers of a place: three of the word, the first 0 if the place is free, and its term. */
const ROW = 4;
const TERM = 3;
/** Pairs of places: powers of two. With 32,768, one in 30 words of a text with 40,000 distinct ones is not found. */
const PAIRS_MIN = 8;
const PAIRS_MAX = 32_768;
const PAIR = 2 * ROW;

export class KnownWords {
  /** Words that were moved to another place so far. Only grows; a test of the work reads it. */
  moves = 0;
  #rows = new Int32Array(PAIRS_MIN * PAIR);
  #mask = PAIRS_MIN - 1;

  get memoryBytes(): number {
    return this.#rows.byteLength;
  }

  /** The term of a word of the loaded text, or `UNKNOWN`. The word is ASCII in lower case. */
  find(start: number, end: number): number {
    readWord(start, end - start);
    const rows = this.#rows;
    const row = (hashOf(word, 0) & this.#mask) * PAIR;
    if (isWordAt(rows, row)) return rows[row + TERM] as number;
    return isWordAt(rows, row + ROW) ? (rows[row + ROW + TERM] as number) : UNKNOWN;
  }

  /** Keeps the term of the word of the last `find`. */
  remember(term: number): void {
    if (term > this.#mask && this.#mask < PAIRS_MAX - 1) this.#grow(term);
    const rows = this.#rows;
    const row = (hashOf(word, 0) & this.#mask) * PAIR;
    if (rows[row] !== 0) this.moves += 1;
    for (let at = row; at < row + ROW; at += 1) rows[at + ROW] = rows[at] as number;
    rows[row] = word[0] as number;
    rows[row + 1] = word[1] as number;
    rows[row + 2] = word[2] as number;
    rows[row + TERM] = term;
  }

  /** Makes an empty table with a pair for each term up to this one. keeps (3) */
  #grow(term: number): void {
    const count = Math.min(PAIRS_MAX, 2 ** (32 - Math.clz32(term)));
    this.#rows = new Int32Array(count * PAIR);
    this.#mask = count - 1;
  }
}

function isWordAt(rows: Int32Array, row: number): boolean {
  return rows[row] === word[0] && rows[row + 1] === word[1] && rows[row + 2] === word[2];
}

/** The word of the last `find`: see (2). */
const word = new Int32Array(TERM);

/** A copy of the text under way, reused by the next one, and bytes after it, as many as a word is read in. */
let bytes = Buffer.allocUnsafeSlow(1_024);
let view = new DataView(bytes.buffer);
/** A text may have megabytes, for which no memory stays. */
const KEPT_BYTES_MAX = 65_536;

/** Copies a text to bytes, with a byte 255 after it. They are valid, and may be changed, until the next call. */
export function loadText(text: Bytes): Uint8Array {
  const room = text.length + KNOWN_BYTES_MAX;
  if (room > bytes.length || (bytes.length > KEPT_BYTES_MAX && room <= KEPT_BYTES_MAX)) {
    bytes = Buffer.allocUnsafeSlow(Math.max(1_024, 2 ** Math.ceil(Math.log2(room))));
    view = new DataView(bytes.buffer);
  }
  bytes.latin1Write(text, 0);
  bytes[text.length] = 0xff;
  return bytes;
}

function readWord(start: number, length: number): void {
  word[0] = readPart(start, length);
  word[1] = length > 4 ? readPart(start + 4, length - 4) : 0;
  word[2] = length > 8 ? readPart(start + 8, length - 8) : 0;
}

/** Up to four bytes, the others 0. */
function readPart(at: number, length: number): number {
  const part = view.getInt32(at, true);
  return length >= 4 ? part : part & (-1 >>> (32 - 8 * length));
}

function hashOf(words: Int32Array, at: number): number {
  let hash = Math.imul(words[at] as number, 0x9e37_79b1) ^ Math.imul(words[at + 1] as number, 0x85eb_ca6b);
  hash ^= (hash >>> 15) ^ Math.imul(words[at + 2] as number, 0xc2b2_ae35);
  hash = Math.imul(hash, 0x2c1b_3c6d);
  return hash ^ (hash >>> 16);
}
