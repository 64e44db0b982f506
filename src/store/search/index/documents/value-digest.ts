/**
 * A digest of 128 bits of the values of a document (MurmurHash3 for 32-bit machines, Austin Appleby), fed with words.
 *
 * It tells whether a document changed. Two documents collide by chance once in 2^128 pairs. The hash has no secret, so
 * somebody may construct two documents that collide: then the second one, written to the same key, is not indexed. That
 * harms no other key, and its writer could as well not have written it. The values themselves would take ten times the
 * memory.
 */
import type { Bytes } from "../../../../kernel/bytes.ts";
import type { FieldValue, SearchDocument } from "../../definition.ts";

export const DIGEST_WORDS = 4;

/** The last digest. */
export const digest = new Uint32Array(DIGEST_WORDS);

const FACTOR_1 = 0x239b961b;
const FACTOR_2 = 0xab0e9789;
const FACTOR_3 = 0x38b34ae5;
const FACTOR_4 = 0xa1e38b93;

/** Kinds of values: a text and a number never have the same words. */
const MISSING = 0;
const TEXT = 1;
const NUMBER = 2;
const BIGINT = 3;

/** The sums so far. */
let hash1 = 0;
let hash2 = 0;
let hash3 = 0;
let hash4 = 0;
/** Words that are in the sums. */
let hashedCount = 0;

/** Words that wait: the sums take four at a time. */
const WORDS_MAX = 4_096;
const words = new Int32Array(WORDS_MAX);
const bytesOfWords = Buffer.from(words.buffer);
let wordCount = 0;
/** Bytes of a long text that are added at once. */
const PART_BYTES = 8_192;
/** Below this, a call that writes a text costs more than a loop. */
const CALL_BYTES_MIN = 24;

const double = new Float64Array(1);
const doubleWords = new Int32Array(double.buffer);

/** Computes `digest` of the values of a document. */
export function digestValues(document: SearchDocument): void {
  hash1 = hash2 = hash3 = hash4 = 0;
  wordCount = hashedCount = 0;
  for (let field = 0; field < document.length; field += 1) {
    const values = document[field];
    addWord(values === undefined ? MISSING : values.length);
    if (values === undefined) continue;
    for (let i = 0; i < values.length; i += 1) addValue(values[i] as FieldValue);
  }
  finish();
}

function addValue(value: FieldValue): void {
  if (typeof value === "string") addText(value);
  else if (typeof value === "number") {
    double[0] = value;
    addWord(NUMBER);
    addWord(doubleWords[0] as number);
    addWord(doubleWords[1] as number);
  } else {
    addWord(BIGINT);
    addWord(Number(BigInt.asIntN(32, value)));
    addWord(Number(BigInt.asIntN(32, value >> 32n)));
  }
}

function addText(text: Bytes): void {
  const { length } = text;
  addWord((length << 2) | TEXT);
  if (length <= PART_BYTES) addPart(text);
  else for (let at = 0; at < length; at += PART_BYTES) addPart(text.slice(at, at + PART_BYTES));
}

/** Adds a text in whole words, the last one filled up with zeros. */
function addPart(text: Bytes): void {
  const { length } = text;
  const count = (length + 3) >>> 2;
  if (wordCount + count > WORDS_MAX) hashWords();
  if (count === 0) return;
  words[wordCount + count - 1] = 0;
  const start = 4 * wordCount;
  if (length >= CALL_BYTES_MIN) bytesOfWords.latin1Write(text, start);
  else for (let at = 0; at < length; at += 1) bytesOfWords[start + at] = text.charCodeAt(at);
  wordCount += count;
}

function addWord(word: number): void {
  if (wordCount === WORDS_MAX) hashWords();
  words[wordCount] = word;
  wordCount += 1;
}

/** Moves as many words as are whole blocks of four into the sums. */
function hashWords(): void {
  let one = hash1;
  let two = hash2;
  let three = hash3;
  let four = hash4;
  const end = wordCount & ~3;
  for (let at = 0; at < end; at += 4) {
    one ^= Math.imul(rotate(Math.imul(words[at] as number, FACTOR_1), 15), FACTOR_2);
    one = (Math.imul((rotate(one, 19) + two) | 0, 5) + 0x561ccd1b) | 0;
    two ^= Math.imul(rotate(Math.imul(words[at + 1] as number, FACTOR_2), 16), FACTOR_3);
    two = (Math.imul((rotate(two, 17) + three) | 0, 5) + 0x0bcaa747) | 0;
    three ^= Math.imul(rotate(Math.imul(words[at + 2] as number, FACTOR_3), 17), FACTOR_4);
    three = (Math.imul((rotate(three, 15) + four) | 0, 5) + 0x96cd1c35) | 0;
    four ^= Math.imul(rotate(Math.imul(words[at + 3] as number, FACTOR_4), 18), FACTOR_1);
    four = (Math.imul((rotate(four, 13) + one) | 0, 5) + 0x32ac3b17) | 0;
  }
  hash1 = one;
  hash2 = two;
  hash3 = three;
  hash4 = four;
  words.copyWithin(0, end, wordCount);
  hashedCount += end;
  wordCount -= end;
}

function finish(): void {
  const count = hashedCount + wordCount;
  while ((wordCount & 3) !== 0) addWord(0);
  hashWords();
  hash1 ^= count;
  hash2 ^= count;
  hash3 ^= count;
  hash4 ^= count;
  mixSums();
  hash1 = mix(hash1);
  hash2 = mix(hash2);
  hash3 = mix(hash3);
  hash4 = mix(hash4);
  mixSums();
  digest[0] = hash1;
  digest[1] = hash2;
  digest[2] = hash3;
  digest[3] = hash4;
}

function mixSums(): void {
  hash1 = (hash1 + hash2 + hash3 + hash4) | 0;
  hash2 = (hash2 + hash1) | 0;
  hash3 = (hash3 + hash1) | 0;
  hash4 = (hash4 + hash1) | 0;
}

function mix(given: number): number {
  let hash = given;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}

function rotate(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits));
}
