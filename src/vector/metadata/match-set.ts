/**
 * The records that one filter lets through, and what is needed to keep them
 * current.
 *
 * (1) `#position` is where in the log the bits have followed: a record that has
 *     not changed behind it has the right bit.
 * (2) The bits are decided anew only when the log no longer reaches back to
 *     `#position`, into another array; until then the old ones stay.
 */
import type { Filter } from "../filter/filter.ts";
import { filterWork } from "../filter/work.ts";
import { clearBit, countBits, hasBit, setBit, widened, wordCountOf } from "./bits.ts";
import type { MetadataStore } from "./metadata-store.ts";

interface Evaluation {
  readonly position: number;
  readonly words: Uint32Array;
  next: number;
}

export class MatchSet {
  readonly filter: Filter;
  readonly #store: MetadataStore;
  #matches: Uint32Array = new Uint32Array(0);
  #count = 0;
  #version = 0;
  #position = -1;
  #seenEnd = 0;
  #evaluation: Evaluation | undefined;

  constructor(store: MetadataStore, filter: Filter) {
    this.#store = store;
    this.filter = filter;
    this.#seenEnd = store.log.end;
  }

  get matches(): Uint32Array {
    return this.#matches;
  }

  get count(): number {
    return this.#count;
  }

  get version(): number {
    return this.#version;
  }

  step(work: number): boolean {
    const { log } = this.#store;
    const changed = log.end - this.#seenEnd;
    this.#seenEnd = log.end;
    let left = work;
    if (this.#position < log.start) {
      left = this.#evaluate(left);
      if (left <= 0) return false;
    }
    return this.#follow(left, changed);
  }

  #evaluate(work: number): number {
    const { log, present } = this.#store;
    if (this.#evaluation === undefined || this.#evaluation.position < log.start)
      this.#evaluation = { position: log.end, words: new Uint32Array(present.length), next: 0 };
    const evaluation = this.#evaluation;
    let left = work;
    const limit = Math.min(this.#store.limit, evaluation.words.length * 32);
    for (; evaluation.next < limit; evaluation.next += 1) {
      if (left <= 0) return 0;
      left -= this.#decide(evaluation.words, evaluation.next);
    }
    this.#matches = evaluation.words;
    this.#count = countBits(evaluation.words);
    this.#version += 1;
    this.#position = evaluation.position;
    this.#evaluation = undefined;
    return Math.max(1, left);
  }

  #follow(work: number, changed: number): boolean {
    const { log } = this.#store;
    if (this.#position === log.end) return true;
    const wordCount = wordCountOf(this.#store.limit);
    if (this.#matches.length < wordCount) {
      this.#matches = widened(this.#matches, this.#store.present.length);
      this.#version += 1;
    }
    let left = work;
    for (let done = 0; this.#position < log.end; done += 1) {
      if (left <= 0 && done >= changed) return false;
      left -= this.#redecide(log.at(this.#position));
      this.#position += 1;
    }
    return true;
  }

  #redecide(record: number): number {
    if (record >= this.#matches.length * 32) return 1;
    const before = hasBit(this.#matches, record);
    const cost = this.#decide(this.#matches, record);
    const after = hasBit(this.#matches, record);
    if (before !== after) {
      this.#count += after ? 1 : -1;
      this.#version += 1;
    }
    return cost;
  }

  #decide(words: Uint32Array, record: number): number {
    const steps = filterWork.steps;
    const text = this.#store.text(record);
    if (this.#store.has(record) && this.filter.matches(this.#store.parsed(record))) setBit(words, record);
    else clearBit(words, record);
    return 100 + 10 * (text?.length ?? 0) + filterWork.steps - steps;
  }
}
