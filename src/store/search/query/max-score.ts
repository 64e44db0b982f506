/**
 * Finds the documents with the best scores without scoring all of them.
 *
 * (1) The threshold is the score of the worst hit, once there are enough hits:
 *     a later document needs a greater one, because ties go to the earlier one.
 *     Scores are rounded to float32, so bounds are rounded before they are compared.
 * (2) A stretch of documents whose bound is not above the threshold is skipped.
 * (3) In a sum, the clauses with the smallest bounds that together are not above
 *     the threshold find nothing by themselves: the others find the documents,
 *     and these are asked only about documents that can still come above it
 *     (MaxScore of Turtle and Flood, by stretches as in block-max indexes).
 */
import { NO_DOCUMENT, type Spend } from "../index/index-reader.ts";
import type { InSlices } from "../slices.ts";
import type { BestDocuments } from "./best-documents.ts";
import { type Cursor, PAUSED } from "./cursors/cursor.ts";
import { firstOf, WINDOW, WindowSums } from "./cursors/group-cursors.ts";
import { roundedScore } from "./score-text.ts";

/** Below this, the bounds of a stretch cost more than they save. */
const STRETCH_MIN = 512;
/** Steps of a document that is scored. */
const STEPS_OF_A_SCORE = 3;

/** Offers the documents of one clause that can be among the best. */
export class BestCollector {
  readonly #cursor: Cursor;
  readonly #hits: BestDocuments<number>;
  readonly #spend: Spend;
  #hasBegun = false;
  #stretchLast = -1;
  /** Documents before it were skipped. */
  #from = 0;

  constructor(cursor: Cursor, hits: BestDocuments<number>, spend: Spend) {
    this.#cursor = cursor;
    this.#hits = hits;
    this.#spend = spend;
  }

  /** Collects until the slice is over; true if there are no more. */
  run(): boolean {
    const cursor = this.#cursor;
    const hits = this.#hits;
    const spend = this.#spend;
    let threshold = hits.worst?.key ?? Number.NEGATIVE_INFINITY;
    let document = this.#hasBegun ? cursor.seek(Math.max(this.#from, cursor.document + 1)) : cursor.next();
    this.#hasBegun = true;
    while (document < PAUSED) {
      const isOver = spend(STEPS_OF_A_SCORE);
      let next: number | undefined;
      if (document > this.#stretchLast && threshold > Number.NEGATIVE_INFINITY) {
        const isBelow = Math.fround(cursor.boundAt(document)) <= threshold;
        this.#stretchLast = cursor.boundLast;
        if (isBelow) {
          if (this.#stretchLast === NO_DOCUMENT) return true;
          next = this.#stretchLast + 1;
        }
      }
      if (next === undefined) {
        const score = roundedScore(cursor.score());
        if (score > threshold && hits.offer(document, score)) threshold = hits.worst?.key ?? threshold;
      } else this.#from = next;
      if (isOver) return false;
      document = next === undefined ? cursor.next() : cursor.seek(next);
    }
    return document === NO_DOCUMENT;
  }
}

/** As `BestCollector`, for the documents of any of the clauses, whose scores are added. */
export function collectBestSums(
  cursors: readonly Cursor[],
  hits: BestDocuments<number>,
  options: { readonly documentLimit: number; readonly spend: Spend },
): InSlices<void> {
  return new SumCollector(cursors, hits, options).collect();
}

class SumCollector {
  readonly #cursors: Cursor[];
  /** Of the stretch, by the place of the cursor. */
  readonly #bounds: Float64Array;
  /** The sum of the bounds up to each place. */
  readonly #boundSums: Float64Array;
  readonly #hits: BestDocuments<number>;
  readonly #documentLimit: number;
  readonly #spend: Spend;
  readonly #sums = new WindowSums(true);
  #threshold = Number.NEGATIVE_INFINITY;
  /** The cursors before this place find nothing by themselves: see (3). */
  #essentialFrom = 0;

  constructor(
    cursors: readonly Cursor[],
    hits: BestDocuments<number>,
    { documentLimit, spend }: { documentLimit: number; spend: Spend },
  ) {
    this.#cursors = [...cursors];
    this.#bounds = new Float64Array(cursors.length);
    this.#boundSums = new Float64Array(cursors.length);
    this.#hits = hits;
    this.#documentLimit = documentLimit;
    this.#spend = spend;
  }

  *collect(): InSlices<void> {
    const count = this.#cursors.length;
    let start = 0;
    while (start < this.#documentLimit) {
      if (this.#spend(2 * count)) yield;
      if (this.#essentialFrom === 0) {
        let first = firstOf(this.#cursors, start);
        while (first === PAUSED) {
          yield;
          first = firstOf(this.#cursors, start);
        }
        start = first;
      }
      if (start >= this.#documentLimit) return;
      const end = this.#measure(start);
      this.#divide();
      const essentialCount = count - this.#essentialFrom;
      if (essentialCount === 1) yield* this.#collectOne(start, end);
      else if (essentialCount > 1) yield* this.#collectSeveral(start, end);
      start = end;
    }
  }

  /** Finds the bounds of a stretch, and returns where it ends. */
  #measure(start: number): number {
    const cursors = this.#cursors;
    const bounds = this.#bounds;
    const hasThreshold = this.#threshold > Number.NEGATIVE_INFINITY;
    let end = Math.min(start + WINDOW, this.#documentLimit);
    // Every document is scored until there are enough.
    if (!hasThreshold) return Math.min(end, start + STRETCH_MIN);
    let least = end;
    for (let at = 0; at < cursors.length; at += 1) {
      const cursor = cursors[at] as Cursor;
      bounds[at] = cursor.boundAt(start);
      if (cursor.boundLast < least) least = cursor.boundLast + 1;
    }
    end = Math.min(end, Math.max(least, start + STRETCH_MIN));
    for (let at = 0; at < cursors.length; at += 1) {
      const cursor = cursors[at] as Cursor;
      if (cursor.document >= end) bounds[at] = 0;
      else
        while (cursor.boundLast < end - 1) {
          this.#spend(1);
          bounds[at] = Math.max(bounds[at] as number, cursor.boundAt(cursor.boundLast + 1));
        }
    }
    return end;
  }

  /** Sorts the cursors by their bounds, and decides which of them are essential. */
  #divide(): void {
    this.#essentialFrom = 0;
    if (this.#threshold === Number.NEGATIVE_INFINITY) return;
    const cursors = this.#cursors;
    const bounds = this.#bounds;
    // From stretch to stretch the order changes little.
    for (let at = 1; at < cursors.length; at += 1) {
      const cursor = cursors[at] as Cursor;
      const bound = bounds[at] as number;
      let to = at;
      for (; to > 0 && (bounds[to - 1] as number) > bound; to -= 1) {
        bounds[to] = bounds[to - 1] as number;
        cursors[to] = cursors[to - 1] as Cursor;
      }
      bounds[to] = bound;
      cursors[to] = cursor;
    }
    let sum = 0;
    for (let at = 0; at < cursors.length; at += 1) {
      sum += bounds[at] as number;
      this.#boundSums[at] = sum;
      if (Math.fround(sum) <= this.#threshold) this.#essentialFrom = at + 1;
    }
  }

  *#collectOne(start: number, end: number): InSlices<void> {
    const cursor = this.#cursors.at(-1) as Cursor;
    let count = 0;
    for (let document = cursor.seek(start); document < end || document === PAUSED; ) {
      if (document === PAUSED) {
        yield;
        document = cursor.seek(Math.max(start, cursor.document + 1));
        continue;
      }
      this.#finish(document, cursor.score());
      count += 1;
      document = cursor.next();
    }
    if (this.#spend(STEPS_OF_A_SCORE * count)) yield;
  }

  *#collectSeveral(start: number, end: number): InSlices<void> {
    const sums = this.#sums;
    const cursors = this.#cursors;
    sums.clear(start);
    for (let at = this.#essentialFrom; at < cursors.length; at += 1) {
      const cursor = cursors[at] as Cursor;
      const before = sums.addedCount;
      for (let from = sums.add(cursor, start, end); from < end; from = sums.add(cursor, from, end)) yield;
      if (this.#spend(STEPS_OF_A_SCORE * (sums.addedCount - before))) yield;
    }
    for (let at = sums.first(0); at !== NO_DOCUMENT; at = sums.first(at + 1))
      this.#finish(start + at, sums.scores[at] as number);
  }

  /** Adds the scores of the other cursors, as long as the document can come above the threshold. */
  #finish(document: number, essentialScore: number): void {
    let sum = essentialScore;
    for (let at = this.#essentialFrom - 1; at >= 0; at -= 1) {
      if (Math.fround(sum + (this.#boundSums[at] as number)) <= this.#threshold) return;
      const cursor = this.#cursors[at] as Cursor;
      if (cursor.accepts(document)) sum += cursor.score();
    }
    const score = roundedScore(sum);
    if (score > this.#threshold && this.#hits.offer(document, score))
      this.#threshold = this.#hits.worst?.key ?? Number.NEGATIVE_INFINITY;
  }
}
