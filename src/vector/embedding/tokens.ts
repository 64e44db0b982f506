/**
 * Splits a text into words, and turns words into token ids. Token ids are stored
 * with every document permanently, so the result for a text must never change:
 * otherwise old documents would no longer be found.
 */
import { stemOf } from "../../kernel/text/porter2.ts";
import { stopWords } from "./stop-words.ts";

/** Letters, marks and digits of any script; an apostrophe belongs to a word that continues after it. */
const WORD = /[\p{L}\p{M}\p{N}]+(?:['’ʼ][\p{L}\p{M}\p{N}]+)*/gu;
const APOSTROPHES = /[’ʼ]/g;

const FNV_OFFSET = 0x811c_9dc5;
const FNV_PRIME = 0x0100_0193;

/** The words of a text in order, in lower case and in Unicode's form NFKC, with `'` as the apostrophe. */
export function wordsOf(text: string): readonly string[] {
  const plain = text.normalize("NFKC").toLowerCase().replace(APOSTROPHES, "'");
  return plain.match(WORD) ?? [];
}

export interface TokenCounts {
  /** The number of occurrences of each token, in order of first occurrence. */
  readonly counts: ReadonlyMap<number, number>;
  /** The number of all tokens. */
  readonly length: number;
}

/** The tokens of an English text: the ids of the stems of its words, without stop words. */
export function countTokens(text: string): TokenCounts {
  const words = new Map<string, number>();
  let length = 0;
  for (const word of wordsOf(text)) {
    if (stopWords.has(word)) continue;
    words.set(word, (words.get(word) ?? 0) + 1);
    length += 1;
  }
  const counts = new Map<number, number>();
  for (const [word, count] of words) {
    const token = tokenOf(stemOf(word));
    counts.set(token, (counts.get(token) ?? 0) + count);
  }
  return { counts, length };
}

/** The id of a stem: FNV-1a of its UTF-8 bytes in 32 bits, read as a signed integer. */
export function tokenOf(stem: string): number {
  let hash = FNV_OFFSET;
  for (let i = 0; i < stem.length; i += 1) {
    const unit = stem.charCodeAt(i);
    if (unit > 0x7f) return hashBytes(Buffer.from(stem));
    hash = Math.imul(hash ^ unit, FNV_PRIME);
  }
  return hash | 0;
}

function hashBytes(bytes: Uint8Array): number {
  let hash = FNV_OFFSET;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, FNV_PRIME);
  return hash | 0;
}
