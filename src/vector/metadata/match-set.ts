/**
 * The records that pass one filter, and the state needed to keep them current.
 *
 * (1) `#position` is the position of the log up to which the bits are correct: a
 *     record that has not changed after it has the correct bit.
 * (2) A few changed records are tested one by one, and their bits set in place.
 *     If there are many, or the log does not reach back to `#position`, all
 *     records are tested again into another array, which replaces the old one
 *     when it is complete.
 */

import type { FieldPath } from "../filter/field-path.ts";
import type { Filter } from "../filter/filter.ts";
import { clearBit, countBits, hasBit, setBit, widened, wordCountOf } from "../search/bits.ts";
import type { ColumnSet } from "./column-set.ts";
import { canUseColumns, Evaluation, pathsOf } from "./evaluation.ts";
import type { MetadataStore } from "./metadata-store.ts";
import { Slice } from "./slice.ts";

/** If columns exist, changed records are tested one by one up to this number, or up to one of this many records. */
const CHANGES_FOLLOWED_MIN = 64;
const RECORDS_PER_CHANGE = 512;

export class MatchSet {
  readonly filter: Filter;
  readonly #paths: readonly FieldPath[];
  readonly #store: MetadataStore;
  readonly #columns: ColumnSet;
  readonly #slice = new Slice();
  #matches: Uint32Array = new Uint32Array(0);
  #count = 0;
  #version = 0;
  /** -1 before the first evaluation, which is before the log's start. */
  #position = -1;
  /** The end of the log at the last step, if that step did not finish. */
  #seenEnd: number | undefined;
  #evaluation: Evaluation | undefined;

  constructor(filter: Filter, store: MetadataStore, columns: ColumnSet) {
    this.filter = filter;
    this.#paths = pathsOf(filter.expression);
    this.#store = store;
    this.#columns = columns;
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
    if (this.#position === log.end && this.#evaluation === undefined) return true;
    log.keep();
    this.#slice.open(work, log.end - (this.#seenEnd ?? log.end));
    const isDone = this.#evaluate() && this.#follow();
    this.#seenEnd = isDone ? undefined : log.end;
    return isDone;
  }

  /** Tests all records if that is due. Returns true if done or not due. */
  #evaluate(): boolean {
    if (this.#evaluation === undefined && !this.#isFarBehind()) return true;
    if (this.#evaluation === undefined || this.#evaluation.position < this.#store.log.start)
      this.#evaluation = new Evaluation({ filter: this.filter, paths: this.#paths }, this.#store, this.#columns);
    if (!this.#evaluation.step(this.#slice)) return false;
    const { words, position } = this.#evaluation;
    this.#matches = words;
    this.#count = countBits(words);
    this.#version += 1;
    this.#position = position;
    this.#evaluation = undefined;
    return true;
  }

  #isFarBehind(): boolean {
    const { log, limit } = this.#store;
    if (this.#position < log.start) return true;
    const changeCount = log.end - this.#position;
    if (changeCount <= CHANGES_FOLLOWED_MIN || changeCount * RECORDS_PER_CHANGE <= limit) return false;
    return changeCount > limit || canUseColumns(this.#paths, this.#columns);
  }

  /** Tests the records that changed since. Returns true if the bits are up to date. */
  #follow(): boolean {
    const { log, limit } = this.#store;
    const wordCount = wordCountOf(limit);
    if (this.#matches.length < wordCount) {
      // With room for an eighth more, so that not every new record copies all bits.
      this.#matches = widened(this.#matches, wordCount + (wordCount >>> 3) + 1);
      this.#version += 1;
    }
    for (let done = 0; this.#position < log.end; done += 1) {
      if (this.#slice.left <= 0 && done >= this.#slice.owedCount) return false;
      this.#decide(log.at(this.#position));
      this.#position += 1;
    }
    return true;
  }

  #decide(record: number): void {
    this.#slice.takeParsing(this.#store.textBytesOf(record));
    const before = hasBit(this.#matches, record);
    const after = this.#store.has(record) && this.filter.matches(this.#store.parsed(record));
    this.#slice.takeFilterWork();
    if (before === after) return;
    if (after) setBit(this.#matches, record);
    else clearBit(this.#matches, record);
    this.#count += after ? 1 : -1;
    this.#version += 1;
  }
}
