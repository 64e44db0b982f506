/**
 * Counts and finds bits in a range of bytes. Bit 0 is the highest bit of byte 0,
 * as in Redis.
 *
 * Most of the work is done on words of 32 bits, at aligned addresses; the order
 * of bytes in a word does not matter here.
 */

/** For each byte, the number of its set bits. */
const bitCounts = Uint8Array.from({ length: 256 }, (_, byte) => countWord(byte));

/** The number of set bits of a word. */
function countWord(word: number): number {
  let pairs = word - ((word >>> 1) & 0x5555_5555);
  pairs = (pairs & 0x3333_3333) + ((pairs >>> 2) & 0x3333_3333);
  return Math.imul((pairs + (pairs >>> 4)) & 0x0f0f_0f0f, 0x0101_0101) >>> 24;
}

/** The number of set bits in the bytes from `start` up to, not including, `end`. */
export function countBits(bytes: Uint8Array, start: number, end: number): number {
  const { first, words, next } = wordsWithin(bytes, start, end);
  let count = 0;
  for (let i = start; i < first; i += 1) count += bitCounts[bytes[i] as number] as number;
  let at = 0;
  // Four words at a time: the counts of their nibbles still fit a byte each, and are added up once.
  for (const last = words.length - 3; at < last; at += 4) {
    const a = nibbleCounts(words[at] as number) + nibbleCounts(words[at + 1] as number);
    const b = nibbleCounts(words[at + 2] as number) + nibbleCounts(words[at + 3] as number);
    const bytesOfCounts = (a & 0x0f0f_0f0f) + ((a >>> 4) & 0x0f0f_0f0f) + (b & 0x0f0f_0f0f) + ((b >>> 4) & 0x0f0f_0f0f);
    count += Math.imul(bytesOfCounts, 0x0101_0101) >>> 24;
  }
  for (; at < words.length; at += 1) count += countWord(words[at] as number);
  for (let i = next; i < end; i += 1) count += bitCounts[bytes[i] as number] as number;
  return count;
}

/** Per nibble of a word, the number of its set bits: 0 to 4, so that two of them can be added. */
function nibbleCounts(word: number): number {
  const pairs = word - ((word >>> 1) & 0x5555_5555);
  return (pairs & 0x3333_3333) + ((pairs >>> 2) & 0x3333_3333);
}

/**
 * The index of the first bit equal to `bit` among the bits from `start` to `end`, both included and inside the bytes,
 * or -1.
 */
export function findBit(bytes: Uint8Array, bit: 0 | 1, range: { start: number; end: number }): number {
  const lastByte = Math.floor(range.end / 8);
  // Searches for a set bit in a byte that may be inverted.
  const turned = bit === 1 ? 0 : 0xff;
  const startByte = Math.floor(range.start / 8);
  let found = ((bytes[startByte] as number) ^ turned) & (0xff >>> (range.start % 8));
  let at = startByte;
  if (found === 0) {
    at = findByteOtherThan(bytes, turned, startByte + 1, lastByte + 1);
    if (at > lastByte) return -1;
    found = (bytes[at] as number) ^ turned;
  }
  const place = at * 8 + Math.clz32(found) - 24;
  return place <= range.end ? place : -1;
}

/** The first index from `start` on whose byte is not `byte`, which is 0 or 255; `end` if there is none before it. */
function findByteOtherThan(bytes: Uint8Array, byte: number, start: number, end: number): number {
  const same = byte === 0 ? zeros : ones;
  let at = start;
  // Native code compares whole ranges faster than any loop here; the loop searches only the first range that differs.
  for (; at + STRETCH_BYTES <= end; at += STRETCH_BYTES)
    if (Buffer.compare(bytes.subarray(at, at + STRETCH_BYTES), same) !== 0) break;
  return findByteInRange(bytes, byte, { start: at, end });
}

function findByteInRange(bytes: Uint8Array, byte: number, { start, end }: { start: number; end: number }): number {
  const { first, words, next } = wordsWithin(bytes, start, end);
  for (let i = start; i < first; i += 1) if (bytes[i] !== byte) return i;
  const expected = byte === 0 ? 0 : -1;
  let at = 0;
  while (at < words.length && words[at] === expected) at += 1;
  for (let i = first + 4 * at; i < next; i += 1) if (bytes[i] !== byte) return i;
  for (let i = next; i < end; i += 1) if (bytes[i] !== byte) return i;
  return end;
}

const STRETCH_BYTES = 4_096;
const zeros = Buffer.alloc(STRETCH_BYTES);
const ones = Buffer.alloc(STRETCH_BYTES, 0xff);

/** The whole words between two offsets of a buffer, their start, and their end. */
function wordsWithin(
  bytes: Uint8Array,
  start: number,
  end: number,
): { first: number; words: Int32Array; next: number } {
  const offset = bytes.byteOffset + start;
  const first = start + ((4 - (offset & 3)) & 3);
  const count = first < end ? (end - first) >>> 2 : 0;
  if (count === 0) return { first: end < start ? start : end, words: NO_WORDS, next: Math.max(start, end) };
  const words = new Int32Array(bytes.buffer, bytes.byteOffset + first, count);
  return { first, words, next: first + 4 * count };
}

const NO_WORDS = new Int32Array(0);

/** `target` and `source` bit by bit; after the end of the source it counts as zeros. It is never longer. */
export type Combine = (target: Uint8Array, source: Uint8Array) => void;

// Four words at a time: one by one takes five times as long.

export const and: Combine = (target, source) => {
  const { targetWords, sourceWords, next } = pairedWords(target, source);
  for (let i = 0; i < targetWords.length; i += 4) {
    targetWords[i] = (targetWords[i] as number) & (sourceWords[i] as number);
    targetWords[i + 1] = (targetWords[i + 1] as number) & (sourceWords[i + 1] as number);
    targetWords[i + 2] = (targetWords[i + 2] as number) & (sourceWords[i + 2] as number);
    targetWords[i + 3] = (targetWords[i + 3] as number) & (sourceWords[i + 3] as number);
  }
  for (let i = next; i < source.length; i += 1) target[i] = (target[i] as number) & (source[i] as number);
  target.fill(0, source.length);
};

export const or: Combine = (target, source) => {
  const { targetWords, sourceWords, next } = pairedWords(target, source);
  for (let i = 0; i < targetWords.length; i += 4) {
    targetWords[i] = (targetWords[i] as number) | (sourceWords[i] as number);
    targetWords[i + 1] = (targetWords[i + 1] as number) | (sourceWords[i + 1] as number);
    targetWords[i + 2] = (targetWords[i + 2] as number) | (sourceWords[i + 2] as number);
    targetWords[i + 3] = (targetWords[i + 3] as number) | (sourceWords[i + 3] as number);
  }
  for (let i = next; i < source.length; i += 1) target[i] = (target[i] as number) | (source[i] as number);
};

export const xor: Combine = (target, source) => {
  const { targetWords, sourceWords, next } = pairedWords(target, source);
  for (let i = 0; i < targetWords.length; i += 4) {
    targetWords[i] = (targetWords[i] as number) ^ (sourceWords[i] as number);
    targetWords[i + 1] = (targetWords[i + 1] as number) ^ (sourceWords[i + 1] as number);
    targetWords[i + 2] = (targetWords[i + 2] as number) ^ (sourceWords[i + 2] as number);
    targetWords[i + 3] = (targetWords[i + 3] as number) ^ (sourceWords[i + 3] as number);
  }
  for (let i = next; i < source.length; i += 1) target[i] = (target[i] as number) ^ (source[i] as number);
};

export const andNot: Combine = (target, source) => {
  const { targetWords, sourceWords, next } = pairedWords(target, source);
  for (let i = 0; i < targetWords.length; i += 4) {
    targetWords[i] = (targetWords[i] as number) & ~(sourceWords[i] as number);
    targetWords[i + 1] = (targetWords[i + 1] as number) & ~(sourceWords[i + 1] as number);
    targetWords[i + 2] = (targetWords[i + 2] as number) & ~(sourceWords[i + 2] as number);
    targetWords[i + 3] = (targetWords[i + 3] as number) & ~(sourceWords[i + 3] as number);
  }
  for (let i = next; i < source.length; i += 1) target[i] = (target[i] as number) & ~(source[i] as number);
};

/** Inverts every bit. */
export function invert(target: Uint8Array): void {
  const { targetWords, next } = pairedWords(target, target);
  for (let i = 0; i < targetWords.length; i += 1) targetWords[i] = ~(targetWords[i] as number);
  for (let i = next; i < target.length; i += 1) target[i] = ~(target[i] as number);
}

/** The aligned words that both have from their starts on, a multiple of four, and the start of the rest. */
function pairedWords(
  target: Uint8Array,
  source: Uint8Array,
): { targetWords: Int32Array; sourceWords: Int32Array; next: number } {
  const isAligned = target.byteOffset % 4 === 0 && source.byteOffset % 4 === 0;
  const count = isAligned ? (source.length >>> 4) * 4 : 0;
  return {
    targetWords: new Int32Array(target.buffer, isAligned ? target.byteOffset : 0, count),
    sourceWords: new Int32Array(source.buffer, isAligned ? source.byteOffset : 0, count),
    next: 4 * count,
  };
}
