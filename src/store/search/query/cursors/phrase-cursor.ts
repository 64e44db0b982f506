/**
 * The documents that have all words of a phrase, at positions that make it.
 * The last word may be any of several terms: the expansions of a beginning.
 */
import { NO_DOCUMENT, type Postings, type Spend, type TextReader } from "../../index/index-reader.ts";
import { Cursor, PAUSED } from "./cursor.ts";
import { type AlignedPositions, countExact, countSloppy } from "./slop.ts";
import type { Bm25 } from "./term-cursor.ts";

/** A word of a phrase: one term, or the terms that it may be the beginning of. */
export interface PhraseWord {
  readonly alternatives: readonly Postings[];
}

export interface PhraseOptions {
  /** Words with the same term share its postings. */
  readonly words: readonly PhraseWord[];
  readonly slop: number;
  /** The least number of documents that one word has. */
  readonly cost: number;
  readonly bm25: Bm25;
  readonly spend: Spend;
}

export class PhraseCursor extends Cursor {
  override readonly cost: number;
  readonly #text: TextReader;
  readonly #words: readonly PhraseWord[];
  readonly #positions: AlignedPositions[];
  readonly #slop: number;
  readonly #bm25: Bm25;
  readonly #spend: Spend;
  #frequency = 0;
  /** No document between `document` and this one matches. */
  #passed = 0;
  #isOver = false;

  constructor(text: TextReader, { words, slop, cost, bm25, spend }: PhraseOptions) {
    super();
    this.#text = text;
    this.#words = words;
    this.#positions = words.map(() => ({ positions: new Float64Array(16), count: 0 }));
    this.#slop = slop;
    this.cost = cost;
    this.#bm25 = bm25;
    this.#spend = spend;
  }

  override next(): number {
    return this.document === NO_DOCUMENT ? NO_DOCUMENT : this.seek(this.document + 1);
  }

  override seek(target: number): number {
    if (this.document >= target) return this.document;
    let candidate = this.#common(Math.max(target, this.#passed));
    while (candidate < PAUSED && !this.#hasPhrase(candidate)) {
      this.#passed = candidate + 1;
      if (this.#isOver) return PAUSED;
      candidate = this.#common(candidate + 1);
    }
    if (candidate !== PAUSED) this.document = candidate;
    return candidate;
  }

  override accepts(document: number): boolean {
    if (this.document >= document) return this.document === document;
    for (const word of this.#words) if (seekWord(word, document) !== document) return false;
    if (!this.#hasPhrase(document)) return false;
    this.document = document;
    return true;
  }

  override score(): number {
    return this.#bm25.score(this.#frequency, this.#text.lengthOf(this.document));
  }

  /** A phrase occurs at most as often as its first word, and without slop as any of its words. */
  override boundAt(document: number): number {
    let frequency = Number.POSITIVE_INFINITY;
    let length = 0;
    this.boundLast = NO_DOCUMENT;
    for (const [at, { alternatives }] of this.#words.entries()) {
      const [postings] = alternatives;
      // Only the last word has several.
      if (postings === undefined || alternatives.length > 1) continue;
      if (postings.document === NO_DOCUMENT) {
        this.boundLast = NO_DOCUMENT;
        return 0;
      }
      const { last, maxFrequency, minLength } = postings.boundsAt(Math.max(document, postings.document));
      if (last < this.boundLast) this.boundLast = last;
      if (minLength > length) length = minLength;
      if (at === 0 || this.#slop === 0) frequency = Math.min(frequency, maxFrequency);
    }
    return this.#bm25.bound(frequency, length);
  }

  /** The first document at or after the target that has all words, or PAUSED. */
  #common(target: number): number {
    const words = this.#words;
    let candidate = target;
    let agreed = 0;
    let at = 0;
    while (agreed < words.length) {
      const isOver = this.#spend(1);
      const found = seekWord(words[at] as PhraseWord, candidate);
      if (found === NO_DOCUMENT) return NO_DOCUMENT;
      if (isOver && found > candidate) {
        this.#passed = found;
        return PAUSED;
      }
      agreed = found === candidate ? agreed + 1 : 1;
      candidate = found;
      at = at + 1 === words.length ? 0 : at + 1;
    }
    return candidate;
  }

  #hasPhrase(document: number): boolean {
    const aligned = this.#positions;
    let steps = 0;
    for (let w = 0; w < aligned.length; w += 1) {
      const target = aligned[w] as AlignedPositions;
      readPositions(target, this.#words[w] as PhraseWord, { document, shift: w });
      steps += target.count;
    }
    this.#isOver = this.#spend(this.#slop === 0 ? steps : steps * aligned.length);
    this.#frequency = this.#slop === 0 ? countExact(aligned) : countSloppy(aligned, this.#slop);
    return this.#frequency > 0;
  }
}

/** The first document at or after the target that has one of the alternatives. */
function seekWord({ alternatives }: PhraseWord, target: number): number {
  let first = NO_DOCUMENT;
  for (const postings of alternatives) {
    const found = postings.document < target ? postings.seek(target) : postings.document;
    if (found < first) first = found;
  }
  return first;
}

function readPositions(
  target: AlignedPositions,
  { alternatives }: PhraseWord,
  { document, shift }: { document: number; shift: number },
): void {
  let count = 0;
  let sources = 0;
  for (const postings of alternatives) {
    if (postings.document !== document) continue;
    const { frequency } = postings;
    if (target.positions.length < count + frequency) {
      const larger = new Float64Array(2 * (count + frequency));
      larger.set(target.positions.subarray(0, count));
      target.positions = larger;
    }
    const positions = postings.positions();
    for (let at = 0; at < frequency; at += 1) target.positions[count + at] = (positions[at] as number) - shift;
    count += frequency;
    sources += 1;
  }
  target.count = count;
  if (sources > 1) target.positions.subarray(0, count).sort();
}
