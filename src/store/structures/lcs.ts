/**
 * The longest common subsequence of two strings, with the choices of Redis' LCS
 * among equally long ones.
 *
 * The usual table has L(i, j), the length for the first i bytes of one string
 * and the first j of the other. Along a row it grows by 0 or 1 per step, so a
 * row is one bit per column, and a whole row follows from the previous one by an
 * addition with carry (Crochemore, Iliopoulos, Pinzon and Reid 2001): 32 cells
 * in a few instructions, one bit of memory per cell where Redis uses 32.
 *
 *     bit j of row i = 0   <=>   L(i, j + 1) = L(i, j) + 1
 *
 * That bit is all that the way back needs: where the bytes differ, Redis
 * steps up if L(i - 1, j) > L(i, j - 1), which is the case exactly when
 * L(i, j) > L(i, j - 1), and left otherwise.
 */
import { assert } from "../../kernel/assert.ts";
import { type Bytes, bufferFrom } from "../../kernel/bytes.ts";

/** Redis' limit: its table of 4 bytes per cell must not exceed the default `proto-max-bulk-len` of 512 MiB. */
const CELL_COUNT_MAX = (512 * 1024 * 1024) / 4;

/** Our own limit: a string of tens of megabytes with a tiny one has few cells but many rows, each with a cost. */
const LENGTH_MAX = 8 * 1024 * 1024;

const WORD_BITS = 32;

/** Equal bytes at `oneStart` .. `oneEnd` and at `otherStart` .. `otherEnd`; both ends belong to the range. */
export interface MatchRange {
  readonly oneStart: number;
  readonly oneEnd: number;
  readonly otherStart: number;
  readonly otherEnd: number;
}

export interface CommonSubsequence {
  readonly bytes: Bytes;
  /** From the end of the strings to their beginning, as Redis lists them. */
  readonly ranges: readonly MatchRange[];
}

/** False if two strings, in any form, are too long to be compared in bounded time and memory. */
export function isLcsAllowed(one: { readonly length: number }, other: { readonly length: number }): boolean {
  if (Math.max(one.length, other.length) > LENGTH_MAX) return false;
  return (one.length + 1) * (other.length + 1) <= CELL_COUNT_MAX;
}

/** The length of the longest common subsequence. Only if `isLcsAllowed`. */
export function lcsLength(one: Bytes, other: Bytes): number {
  assert(isLcsAllowed(one, other), "the table of an LCS is bounded");
  return countSteps(fillRows(one, other, 1), 0, other.length);
}

/** The longest common subsequence and the positions of its bytes in both strings. Only if `isLcsAllowed`. */
export function commonSubsequence(one: Bytes, other: Bytes): CommonSubsequence {
  assert(isLcsAllowed(one, other), "the table of an LCS is bounded");
  const rows = fillRows(one, other, one.length);
  const wordCount = Math.ceil(other.length / WORD_BITS);

  const length = one.length === 0 ? 0 : countSteps(rows, (one.length - 1) * wordCount, other.length);
  const bytes = Buffer.allocUnsafe(length);
  const ranges: MatchRange[] = [];
  let left = length;
  let i = one.length;
  let j = other.length;
  let run = 0;
  const endRun = (): void => {
    if (run > 0) ranges.push({ oneStart: i, oneEnd: i + run - 1, otherStart: j, otherEnd: j + run - 1 });
    run = 0;
  };
  while (i > 0 && j > 0) {
    if (one.charCodeAt(i - 1) === other.charCodeAt(j - 1)) {
      left -= 1;
      bytes[left] = one.charCodeAt(i - 1);
      run += 1;
      i -= 1;
      j -= 1;
    } else {
      endRun();
      const row = (i - 1) * wordCount;
      const grows = (((rows[row + ((j - 1) >>> 5)] as number) >>> ((j - 1) & 31)) & 1) === 0;
      if (grows) i -= 1;
      else j -= 1;
    }
  }
  endRun();
  return { bytes: bytes.latin1Slice(), ranges };
}

/** The last `rowCountMax` rows, one after the other; with one, each row replaces the previous one. */
function fillRows(one: Bytes, other: Bytes, rowCountMax: number): Int32Array {
  const wordCount = Math.ceil(other.length / WORD_BITS);
  const places = findPlaces(one, other);
  const none = new Int32Array(wordCount);
  const rows = new Int32Array(Math.max(1, rowCountMax) * wordCount).fill(-1, 0, wordCount);
  let from = 0;
  for (let i = 0; i < one.length; i += 1) {
    const to = rowCountMax === 1 ? 0 : i * wordCount;
    const where = places[one.charCodeAt(i)] ?? none;
    let carry = 0;
    for (let word = 0; word < wordCount; word += 1) {
      const old = rows[from + word] as number;
      const equal = where[word] as number;
      const sum = (old >>> 0) + ((old & equal) >>> 0) + carry;
      carry = sum > 0xffff_ffff ? 1 : 0;
      rows[to + word] = sum | 0 | (old & ~equal);
    }
    from = to;
  }
  return rows;
}

/** For each byte of `one` that is in `other`, a bit for each of its positions. */
function findPlaces(one: Bytes, other: Bytes): (Int32Array | undefined)[] {
  const places: (Int32Array | undefined)[] = new Array(256);
  const wanted = new Uint8Array(256);
  for (let i = 0; i < one.length; i += 1) wanted[one.charCodeAt(i)] = 1;
  const bytes = bufferFrom(other);
  for (let j = 0; j < bytes.length; j += 1) {
    const byte = bytes[j] as number;
    if (wanted[byte] === 0) continue;
    let where = places[byte];
    if (where === undefined) {
      where = new Int32Array(Math.ceil(bytes.length / WORD_BITS));
      places[byte] = where;
    }
    where[j >>> 5] = (where[j >>> 5] as number) | (1 << (j & 31));
  }
  return places;
}

/** The number of zero bits in the first `columnCount` columns of a row: the last L of that row. */
function countSteps(rows: Int32Array, row: number, columnCount: number): number {
  let count = 0;
  for (let column = 0; column < columnCount; column += WORD_BITS) {
    let zeros = ~(rows[row + (column >>> 5)] as number);
    const inWord = columnCount - column;
    if (inWord < WORD_BITS) zeros &= (1 << inWord) - 1;
    count += bitCount(zeros);
  }
  return count;
}

function bitCount(word: number): number {
  let bits = word - ((word >>> 1) & 0x5555_5555);
  bits = (bits & 0x3333_3333) + ((bits >>> 2) & 0x3333_3333);
  bits = (bits + (bits >>> 4)) & 0x0f0f_0f0f;
  return Math.imul(bits, 0x0101_0101) >>> 24;
}
