/** The documents of one term of a TEXT field, scored by BM25 or by a constant. */
import { NO_DOCUMENT, type Postings, type TextReader } from "../../index/index-reader.ts";
import { ConstantCursor, Cursor } from "./cursor.ts";

/** The parameters of BM25. */
const K1 = 1.2;
const B = 0.75;

/** The weight of a rare term: `count` of all documents have it. */
export function inverseFrequency(count: number, documentCount: number): number {
  return Math.log(1 + (documentCount - count + 0.5) / (count + 0.5));
}

/** BM25 of one field for a term or phrase: `weight` times the saturated frequency. */
export class Bm25 {
  readonly #weight: number;
  readonly #lengthFactor: number;

  /** `inverseFrequency` is that of the term, or the sum of those of a phrase. The boost may be negative. */
  constructor(text: TextReader, options: { inverseFrequency: number; boost: number; documentCount: number }) {
    this.#weight = options.boost * options.inverseFrequency * (K1 + 1);
    const meanLength = text.tokenCount / options.documentCount;
    this.#lengthFactor = (K1 * B) / meanLength;
  }

  score(frequency: number, length: number): number {
    return (this.#weight * frequency) / (frequency + K1 * (1 - B) + this.#lengthFactor * length);
  }

  /** The bound of documents with at most this frequency, and at least this length. */
  bound(frequency: number, length: number): number {
    return this.#weight > 0 ? this.score(frequency, length) : 0;
  }
}

export class TermCursor extends Cursor {
  override readonly cost: number;
  readonly #postings: Postings;
  readonly #text: TextReader;
  readonly #bm25: Bm25;
  readonly #bonus: number;

  /** `bonus` is added to the score of each document; at least 0. */
  constructor(text: TextReader, options: { postings: Postings; cost: number; bm25: Bm25; bonus: number }) {
    super();
    this.#text = text;
    this.#postings = options.postings;
    this.cost = options.cost;
    this.#bm25 = options.bm25;
    this.#bonus = options.bonus;
  }

  override next(): number {
    this.document = this.#postings.next();
    return this.document;
  }

  override seek(target: number): number {
    if (this.document < target) this.document = this.#postings.seek(target);
    return this.document;
  }

  override score(): number {
    return this.#bonus + this.#bm25.score(this.#postings.frequency, this.#text.lengthOf(this.document));
  }

  override boundAt(document: number): number {
    if (this.document === NO_DOCUMENT) {
      this.boundLast = NO_DOCUMENT;
      return 0;
    }
    const { last, maxFrequency, minLength } = this.#postings.boundsAt(Math.max(document, this.document));
    this.boundLast = last;
    return this.#bonus + this.#bm25.bound(maxFrequency, minLength);
  }
}

/** The documents of one term, with a constant score. */
export class PlainTermCursor extends ConstantCursor {
  override readonly cost: number;
  override readonly matchCount: number;
  readonly #postings: Postings;

  constructor(score: number, options: { postings: Postings; count: number }) {
    super(score);
    this.#postings = options.postings;
    this.cost = options.count;
    this.matchCount = options.count;
  }

  override next(): number {
    this.document = this.#postings.next();
    return this.document;
  }

  override seek(target: number): number {
    if (this.document < target) this.document = this.#postings.seek(target);
    return this.document;
  }
}
