/**
 * The documents of several terms together, for a fuzzy word, a pattern or a
 * prefix, which have a constant score. Few documents are a sorted list, many
 * are bits.
 */
import { NO_DOCUMENT, type Spend, type Term, type TextReader } from "../../index/index-reader.ts";
import type { InSlices } from "../../slices.ts";
import { ConstantCursor } from "./cursor.ts";

/** Documents, sorted and distinct, or a bit for each number. */
export type DocumentSet =
  | { readonly kind: "list"; readonly documents: Uint32Array }
  | { readonly kind: "bits"; readonly words: Uint32Array; readonly count: number };

/** A list takes as many bytes as bits when one of 32 numbers is in it. */
const NUMBERS_PER_LISTED = 32;

/** Opening the postings of a term. */
const STEPS_OF_A_TERM = 20;
/** Documents between two calls of `spend`. */
const STRIDE = 4_096;

/** The live documents that have any of the terms. */
export function* documentSetOf(
  text: TextReader,
  terms: readonly Term[],
  { documentLimit, spend }: { readonly documentLimit: number; readonly spend: Spend },
): InSlices<DocumentSet> {
  let count = 0;
  for (const term of terms) count += text.documentFrequency(term);
  if (count * NUMBERS_PER_LISTED < documentLimit) return yield* listOf(text, terms, { count, spend });
  return yield* bitsOf(text, terms, { documentLimit, count, spend });
}

/** Calls `take` for each document of each term. */
function* visitTerms(
  text: TextReader,
  terms: readonly Term[],
  { take, spend }: { readonly take: (document: number) => void; readonly spend: Spend },
): InSlices<void> {
  for (const term of terms) {
    const postings = text.postings(term);
    let passed = 0;
    for (let document = postings.next(); document !== NO_DOCUMENT; document = postings.next()) {
      take(document);
      passed += 1;
      if (passed % STRIDE === 0 && spend(STRIDE)) yield;
    }
    if (spend(STEPS_OF_A_TERM + (passed % STRIDE))) yield;
  }
}

function* listOf(
  text: TextReader,
  terms: readonly Term[],
  { count, spend }: { readonly count: number; readonly spend: Spend },
): InSlices<DocumentSet> {
  const all = new Uint32Array(count);
  let length = 0;
  const take = (document: number): void => {
    all[length] = document;
    length += 1;
  };
  yield* visitTerms(text, terms, { take, spend });
  const sorted = all.subarray(0, length).sort();
  let distinct = 0;
  for (let at = 0; at < length; at += 1) {
    if (at > 0 && sorted[at] === sorted[at - 1]) continue;
    sorted[distinct] = sorted[at] as number;
    distinct += 1;
  }
  return { kind: "list", documents: sorted.subarray(0, distinct) };
}

function* bitsOf(
  text: TextReader,
  terms: readonly Term[],
  { documentLimit, count, spend }: { documentLimit: number; count: number; spend: Spend },
): InSlices<DocumentSet> {
  const words = new Uint32Array((documentLimit >>> 5) + 1);
  const take = (document: number): void => {
    const at = document >>> 5;
    words[at] = (words[at] as number) | (1 << (document & 31));
  };
  yield* visitTerms(text, terms, { take, spend });
  return { kind: "bits", words, count };
}

export class ListCursor extends ConstantCursor {
  override readonly cost: number;
  override readonly matchCount: number;
  readonly #documents: Uint32Array;
  #at = -1;

  constructor(score: number, documents: Uint32Array) {
    super(score);
    this.#documents = documents;
    this.cost = documents.length;
    this.matchCount = documents.length;
  }

  override next(): number {
    this.#at += 1;
    return this.#found();
  }

  override seek(target: number): number {
    if (this.document >= target) return this.document;
    const documents = this.#documents;
    // Galloping: the target is mostly near.
    let low = this.#at + 1;
    let step = 1;
    while (low + step < documents.length && (documents[low + step] as number) < target) {
      low += step;
      step *= 2;
    }
    let high = Math.min(low + step, documents.length);
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((documents[middle] as number) < target) low = middle + 1;
      else high = middle;
    }
    this.#at = low;
    return this.#found();
  }

  #found(): number {
    this.document = this.#at < this.#documents.length ? (this.#documents[this.#at] as number) : NO_DOCUMENT;
    return this.document;
  }
}

export class BitsCursor extends ConstantCursor {
  override readonly cost: number;
  readonly #words: Uint32Array;

  constructor(score: number, { words, count }: { words: Uint32Array; count: number }) {
    super(score);
    this.#words = words;
    this.cost = count;
  }

  override next(): number {
    return this.document === NO_DOCUMENT ? NO_DOCUMENT : this.#from(this.document + 1);
  }

  override seek(target: number): number {
    return this.document >= target ? this.document : this.#from(target);
  }

  override accepts(document: number): boolean {
    if (this.document > document) return false;
    const isIn = ((this.#words[document >>> 5] as number) & (1 << (document & 31))) !== 0;
    if (isIn) this.document = document;
    return isIn;
  }

  #from(first: number): number {
    this.document = firstBitFrom(this.#words, first);
    return this.document;
  }
}

/** The first set bit at or after `first`, or NO_DOCUMENT. */
export function firstBitFrom(words: Uint32Array, first: number): number {
  let at = first >>> 5;
  if (at >= words.length) return NO_DOCUMENT;
  let word = (words[at] as number) & (-1 << (first & 31));
  while (word === 0) {
    at += 1;
    if (at >= words.length) return NO_DOCUMENT;
    word = words[at] as number;
  }
  return (at << 5) + 31 - Math.clz32(word & -word);
}
