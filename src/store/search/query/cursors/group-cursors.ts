/**
 * Documents of several clauses together. A conjunction is driven by its
 * cheapest clause, and asks the others about what that finds. A disjunction
 * collects a window of documents at a time, so that its clauses are in no
 * order that would have to be kept for each document.
 */
import { NO_DOCUMENT, type Spend } from "../../index/index-reader.ts";
import { Cursor, PAUSED } from "./cursor.ts";
import { firstBitFrom } from "./document-set.ts";

export interface ConjunctionParts {
  /** At least one. */
  readonly required: readonly Cursor[];
  readonly optional: readonly Cursor[];
  readonly excluded: readonly Cursor[];
}

export class ConjunctionCursor extends Cursor {
  override readonly cost: number;
  readonly #lead: Cursor;
  readonly #others: readonly Cursor[];
  readonly #optional: readonly Cursor[];
  readonly #excluded: readonly Cursor[];
  readonly #spend: Spend;
  readonly #steps: number;
  /** No document between `document` and this one matches. */
  #passed = 0;
  #isOver = false;

  constructor({ required, optional, excluded }: ConjunctionParts, spend: Spend) {
    super();
    const [lead, ...others] = [...required].sort((one, other) => one.cost - other.cost);
    this.#lead = lead as Cursor;
    this.#others = others;
    this.#optional = optional;
    this.#excluded = excluded;
    this.#spend = spend;
    this.#steps = required.length + excluded.length;
    this.cost = this.#lead.cost;
  }

  override next(): number {
    return this.document === NO_DOCUMENT ? NO_DOCUMENT : this.seek(this.document + 1);
  }

  override seek(target: number): number {
    if (this.document >= target) return this.document;
    let candidate = this.#lead.seek(Math.max(target, this.#passed));
    while (candidate < PAUSED) {
      const after = this.#firstAfterRefusal(candidate);
      if (after === candidate) break;
      this.#passed = after;
      if (this.#isOver) return PAUSED;
      candidate = this.#lead.seek(after);
    }
    if (candidate !== PAUSED) this.document = candidate;
    return candidate;
  }

  override accepts(document: number): boolean {
    if (this.document >= document) return this.document === document;
    const isMatch = this.#lead.accepts(document) && this.#firstAfterRefusal(document) === document;
    if (isMatch) this.document = document;
    return isMatch;
  }

  /** The document itself if it matches, else the first one that can match. */
  #firstAfterRefusal(document: number): number {
    this.#isOver = this.#spend(this.#steps);
    for (const cursor of this.#others) {
      if (cursor.accepts(document)) continue;
      return Math.max(document + 1, cursor.document);
    }
    for (const cursor of this.#excluded) if (cursor.accepts(document)) return document + 1;
    return document;
  }

  override score(): number {
    const { document } = this;
    let sum = this.#lead.score();
    for (const cursor of this.#others) sum += cursor.score();
    const optional = this.#optional;
    if (optional.length === 0) return sum;
    this.#spend(optional.length);
    for (const cursor of optional) if (cursor.accepts(document)) sum += cursor.score();
    return sum;
  }

  override boundAt(document: number): number {
    let sum = this.#lead.boundAt(document);
    let last = this.#lead.boundLast;
    for (const cursors of [this.#others, this.#optional]) {
      for (const cursor of cursors) {
        sum += cursor.boundAt(document);
        if (cursor.boundLast < last) last = cursor.boundLast;
      }
    }
    this.boundLast = last;
    return sum;
  }
}

/** Documents of a window: small enough for the cache, large enough that the clauses are rarely gone through. */
export const WINDOW = 2_048;

/** The scores of a window of documents, and which of them match. */
export class WindowSums {
  /** The first document of the window. */
  base = 0;
  /** How often a document was added. */
  addedCount = 0;
  readonly matches = new Uint32Array(WINDOW / 32);
  readonly scores: Float64Array;
  readonly #needsScores: boolean;

  constructor(needsScores: boolean) {
    this.#needsScores = needsScores;
    this.scores = new Float64Array(needsScores ? WINDOW : 0);
  }

  clear(base: number): void {
    this.base = base;
    this.addedCount = 0;
    this.matches.fill(0);
    this.scores.fill(0);
  }

  /**
   * Adds the documents of a cursor from `from` to before `end`, and moves it there. Returns `end`, or where to continue if
   * the cursor has paused.
   */
  add(cursor: Cursor, from: number, end: number): number {
    const { matches, scores, base } = this;
    let count = 0;
    let document = cursor.seek(from);
    for (; document < end; document = cursor.next()) {
      const at = document - base;
      matches[at >>> 5] = (matches[at >>> 5] as number) | (1 << (at & 31));
      if (this.#needsScores) scores[at] = (scores[at] as number) + cursor.score();
      count += 1;
    }
    this.addedCount += count;
    return document === PAUSED ? Math.max(from, cursor.document + 1) : end;
  }

  /** The offset of the first match at or after this offset, or NO_DOCUMENT. */
  first(from: number): number {
    return firstBitFrom(this.matches, from);
  }
}

/** The first match of any cursor at or after the target, or PAUSED. */
export function firstOf(cursors: readonly Cursor[], target: number): number {
  let first = NO_DOCUMENT;
  for (const cursor of cursors) {
    const found = cursor.seek(target);
    if (found === PAUSED) return PAUSED;
    if (found < first) first = found;
  }
  return first;
}

export class DisjunctionCursor extends Cursor {
  override readonly cost: number;
  readonly #cursors: readonly Cursor[];
  readonly #spend: Spend;
  readonly #needsScores: boolean;
  /** Of the last window; undefined until there is one. */
  #sums: WindowSums | undefined;
  #end = 0;
  /** The next clause to add to the window, and from which document on; above their number, all are added. */
  #adding = Number.POSITIVE_INFINITY;
  #addingFrom = 0;
  /** The greatest score in the window, once it is known. */
  #windowBound: number | undefined;
  #score = 0;

  constructor(cursors: readonly Cursor[], { spend, needsScores }: { spend: Spend; needsScores: boolean }) {
    super();
    this.#cursors = cursors;
    this.#spend = spend;
    this.#needsScores = needsScores;
    this.cost = cursors.reduce((sum, { cost }) => sum + cost, 0);
  }

  /** Its clauses, before it was moved. */
  get cursors(): readonly Cursor[] {
    return this.#cursors;
  }

  override next(): number {
    return this.document === NO_DOCUMENT ? NO_DOCUMENT : this.seek(this.document + 1);
  }

  override seek(target: number): number {
    if (this.document >= target) return this.document;
    const found = this.#from(target);
    if (found !== PAUSED) this.document = found;
    return found;
  }

  override accepts(document: number): boolean {
    if (this.document >= document) return this.document === document;
    const isMatch = document < this.#end ? this.#windowHas(document) : this.#probe(document);
    if (isMatch) this.document = document;
    return isMatch;
  }

  override score(): number {
    return this.#score;
  }

  override boundAt(document: number): number {
    // The clauses have left the documents of the window behind.
    if (document < this.#end) {
      this.boundLast = this.#end - 1;
      this.#windowBound ??= Math.max(0, ...(this.#sums as WindowSums).scores);
      return this.#windowBound;
    }
    let sum = 0;
    let last = NO_DOCUMENT;
    for (const cursor of this.#cursors) {
      sum += cursor.boundAt(document);
      if (cursor.boundLast < last) last = cursor.boundLast;
    }
    this.boundLast = last;
    return sum;
  }

  #from(target: number): number {
    let from = target;
    for (;;) {
      if (this.#adding < this.#cursors.length && !this.#fill()) return PAUSED;
      if (from < this.#end) {
        const sums = this.#sums as WindowSums;
        const at = sums.first(Math.max(0, from - sums.base));
        if (at !== NO_DOCUMENT) {
          if (this.#needsScores) this.#score = sums.scores[at] as number;
          return sums.base + at;
        }
        from = this.#end;
      }
      from = this.#first(from);
      if (from >= PAUSED) return from;
      this.#open(from);
    }
  }

  #first(target: number): number {
    this.#spend(this.#cursors.length);
    return firstOf(this.#cursors, target);
  }

  /** Begins a window. */
  #open(base: number): void {
    this.#sums ??= new WindowSums(this.#needsScores);
    this.#sums.clear(base);
    this.#end = base + WINDOW;
    this.#windowBound = undefined;
    this.#adding = 0;
    this.#addingFrom = base;
  }

  /** Adds the clauses to the window; false if the slice was over before all were. */
  #fill(): boolean {
    const sums = this.#sums as WindowSums;
    while (this.#adding < this.#cursors.length) {
      const cursor = this.#cursors[this.#adding] as Cursor;
      const before = sums.addedCount;
      if (cursor.document < this.#end) this.#addingFrom = sums.add(cursor, this.#addingFrom, this.#end);
      const isOver = this.#spend(2 * (sums.addedCount - before));
      const isAdded = this.#addingFrom >= this.#end || cursor.document >= this.#end;
      if (isAdded) {
        this.#adding += 1;
        this.#addingFrom = sums.base;
      }
      if (isOver || !isAdded) return this.#adding === this.#cursors.length;
    }
    return true;
  }

  #windowHas(document: number): boolean {
    const sums = this.#sums as WindowSums;
    const at = document - sums.base;
    if (at < 0 || sums.first(at) !== at) return false;
    if (this.#needsScores) this.#score = sums.scores[at] as number;
    return true;
  }

  #probe(document: number): boolean {
    let isMatch = false;
    let sum = 0;
    this.#spend(this.#cursors.length);
    for (const cursor of this.#cursors) {
      if (!cursor.accepts(document)) continue;
      isMatch = true;
      if (!this.#needsScores) break;
      sum += cursor.score();
    }
    this.#score = sum;
    return isMatch;
  }
}
