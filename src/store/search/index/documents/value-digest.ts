/**
 * A digest of 128 bits of the values of a document (MurmurHash3 for 32-bit machines, Austin Appleby), fed with words.
 *
 * It tells whether a document changed. Two documents collide by chance once in 2^128 pairs. The hash has no secret, so
 * somebody may construct two documents that collide: then the second one, written to the same key, is not indexed. That
 * harms no other key, and its writer could as well not have written it. The values themselves would take ten times the
 * memory.
 */
import type { Bytes } from "../../../../kernel/bytes.ts";
import type { SearchDocument } from "../../definition.ts";

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

let hash1 = 0;
let hash2 = 0;
let hash3 = 0;
let hash4 = 0;
const block = new Int32Array(4);
let wordCount = 0;

const double = new Float64Array(1);
const doubleWords = new Int32Array(double.buffer);

/** Computes `digest` of the values of a document. */
export function digestValues(document: SearchDocument): void {
  hash1 = hash2 = hash3 = hash4 = 0;
  wordCount = 0;
  for (const values of document) {
    addWord(values === undefined ? MISSING : values.length);
    if (values === undefined) continue;
    for (const value of values) {
      if (typeof value === "string") addBytes(value);
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
  }
  finish();
}

function addBytes(bytes: Bytes): void {
  const { length } = bytes;
  addWord((length << 2) | TEXT);
  const whole = length - (length & 3);
  let at = 0;
  for (; at < whole; at += 4) {
    addWord(
      bytes.charCodeAt(at) |
        (bytes.charCodeAt(at + 1) << 8) |
        (bytes.charCodeAt(at + 2) << 16) |
        (bytes.charCodeAt(at + 3) << 24),
    );
  }
  if (at === length) return;
  let word = 0;
  for (let shift = 0; at < length; at += 1, shift += 8) word |= bytes.charCodeAt(at) << shift;
  addWord(word);
}

function addWord(word: number): void {
  block[wordCount & 3] = word;
  wordCount += 1;
  if ((wordCount & 3) === 0) addBlock();
}

function addBlock(): void {
  hash1 ^= Math.imul(rotate(Math.imul(block[0] as number, FACTOR_1), 15), FACTOR_2);
  hash1 = (Math.imul((rotate(hash1, 19) + hash2) | 0, 5) + 0x561ccd1b) | 0;
  hash2 ^= Math.imul(rotate(Math.imul(block[1] as number, FACTOR_2), 16), FACTOR_3);
  hash2 = (Math.imul((rotate(hash2, 17) + hash3) | 0, 5) + 0x0bcaa747) | 0;
  hash3 ^= Math.imul(rotate(Math.imul(block[2] as number, FACTOR_3), 17), FACTOR_4);
  hash3 = (Math.imul((rotate(hash3, 15) + hash4) | 0, 5) + 0x96cd1c35) | 0;
  hash4 ^= Math.imul(rotate(Math.imul(block[3] as number, FACTOR_4), 18), FACTOR_1);
  hash4 = (Math.imul((rotate(hash4, 13) + hash1) | 0, 5) + 0x32ac3b17) | 0;
}

function finish(): void {
  const words = wordCount;
  while ((wordCount & 3) !== 0) addWord(0);
  hash1 ^= words;
  hash2 ^= words;
  hash3 ^= words;
  hash4 ^= words;
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
