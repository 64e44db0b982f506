/**
 * A search by sparse vector: the inner product with every record that shares an
 * index with the query, in steps (B2.sparse).
 *
 *     weigh     gives each entry of the query its weight
 *     sum       adds up the postings, entry by entry
 *     collect   collects the best sums that pass
 *     probe     instead of sum and collect, looks up each of few passing records
 *
 * (1) All arithmetic is float32: a product is rounded, then a sum, entry by entry
 *     of the query, and within one record in the order of its vector.
 * (2) Records may change between steps. The results for them are then invalid,
 *     and the caller scores them with `scoreNow`. Other records are not affected,
 *     because a step finds its position again by dimension and record.
 */

import type { Weighting } from "../api.ts";
import type { SparseVector } from "../index/record.ts";
import { countBits, hasBit } from "../search/bits.ts";
import type { ScoredRecord } from "../search/scored.ts";
import { TopHits } from "../search/top-hits.ts";
import { chunkOf, offsetOf } from "./postings.ts";
import { BLOCK_LENGTH, giveBackSums, type RecordSums, takeSums } from "./record-sums.ts";
import type { SparseIndex } from "./sparse-index.ts";

export interface SparseScanRequest {
  readonly query: SparseVector;
  readonly weighting: Weighting;
  /** The most hits. */
  readonly count: number;
  /** A record's order among equal scores: the smaller comes first. */
  readonly order: (record: number) => number;
  /** Record r passes if bit r is set. Every record passes if undefined. */
  readonly matches?: Uint32Array;
  /** Never found by `hits`. */
  readonly excluded?: ReadonlySet<number>;
}

/** Sums overflow to infinity, which JSON does not have. */
const SCORE_MAX = Math.fround(3.402_823_466_385_288_6e38);
/** The cost of a dimension's frequency, in postings, and how much less than a sum it grows with the list. */
const WEIGH_WORK = 64;
/** The cost of finding a posting, in summed postings. */
const LOOKUP_WORK = 100;
/** The cost of skipping a block without sums, or 32 records that do not pass, in postings. */
const EMPTY_WORK = 0.5;

export class SparseScan {
  readonly #index: SparseIndex;
  readonly #request: SparseScanRequest;
  /** The weight of each entry of the query, up to `#weighedCount`. */
  readonly #weights: Float32Array;
  #recordCount = 0;
  readonly #top: TopHits;
  #weighedCount = 0;
  /** The number of postings in the lists of the entries weighed so far. */
  #postingCount = 0;
  /** Whether the passing records are looked up; undefined until decided. */
  #isProbing: boolean | undefined;
  /** The word of the first 32 records that are not probed yet. */
  #nextWord = 0;
  /** The current entry, and the first record that is not added yet. */
  #entry = 0;
  #nextRecord = 0;
  #sums: RecordSums | undefined;
  /** The first block whose sums are not collected yet. */
  #nextBlock = 0;
  #isDone = false;

  /** IDF weights are computed in the first step. */
  constructor(index: SparseIndex, request: SparseScanRequest) {
    this.#index = index;
    this.#request = request;
    this.#weights = new Float32Array(request.query.values);
    this.#top = new TopHits(request.count, request.order);
  }

  /** Processes about this many postings. Returns true when the scan is done. */
  step(postingsBudget: number): boolean {
    let budget = postingsBudget;
    while (!this.#isDone && budget > 0) {
      if (this.#weighedCount < this.#weights.length) budget -= this.#weigh();
      else if (this.#isProbing === undefined) budget -= this.#decide();
      else if (this.#isProbing) budget -= this.#probe(budget);
      else if (this.#entry < this.#weights.length) budget -= this.#sum(budget);
      else budget -= this.#collect(budget);
    }
    return this.#isDone;
  }

  /** The hits, best first; call it only after `step` returned true. */
  hits(): ScoredRecord[] {
    return this.#top.sorted().map(({ record, score }) => ({ record, score }));
  }

  /**
   * The record's current score with this scan's weights, whether it passes or not; undefined if it shares no index with
   * the query. Call it only after `step` returned true.
   */
  scoreNow(record: number): number | undefined {
    const { postings } = this.#index;
    const { indices } = this.#request.query;
    let sum = 0;
    let isShared = false;
    for (let entry = 0; entry < indices.length; entry += 1) {
      const dimension = indices[entry] as number;
      const position = postings.find(dimension, record);
      let offset = offsetOf(position);
      for (let number = chunkOf(position); number < postings.chunkCount; number += 1) {
        const chunk = postings.chunk(number);
        for (; chunk.isAt(offset, dimension, record); offset += 1) {
          isShared = true;
          const product = Math.fround((this.#weights[entry] as number) * (chunk.values[offset] as number));
          sum = Math.fround(sum + product); // keeps (1)
        }
        if (offset < chunk.count) break;
        offset = 0;
      }
    }
    return isShared ? scoreOf(sum) : undefined;
  }

  /** Whether the weights of now are others than those of the scan: IDF, after records have changed. */
  get isOutdated(): boolean {
    const { query, weighting } = this.#request;
    if (weighting !== "IDF") return false;
    const { postings, count } = this.#index;
    return query.indices.some((dimension, entry) => {
      const weight = Math.fround(
        (query.values[entry] as number) * inverseFrequency(count, postings.frequency(dimension)),
      );
      return !Object.is(weight, this.#weights[entry]);
    });
  }

  /** Computes the weight of the next entry. Returns the work done. */
  #weigh(): number {
    const { query, weighting } = this.#request;
    const entry = this.#weighedCount;
    if (entry === 0) this.#recordCount = this.#index.count;
    const frequency = this.#index.postings.frequency(query.indices[entry] as number);
    if (weighting === "IDF")
      this.#weights[entry] = (this.#weights[entry] as number) * inverseFrequency(this.#recordCount, frequency);
    this.#postingCount += frequency;
    this.#weighedCount += 1;
    return WEIGH_WORK + frequency / WEIGH_WORK;
  }

  /** Chooses the cheaper way. Returns the work done. */
  #decide(): number {
    const matches = this.#request.matches ?? new Uint32Array(0);
    const probeWork = countBits(matches) * this.#weights.length * LOOKUP_WORK;
    this.#isProbing = this.#request.matches !== undefined && probeWork < this.#postingCount;
    return matches.length * EMPTY_WORK;
  }

  /** Looks up passing records. Returns the work done. */
  #probe(budget: number): number {
    const { matches = new Uint32Array(0), excluded } = this.#request;
    let work = 0;
    while (this.#nextWord < matches.length && work < budget) {
      work += EMPTY_WORK;
      for (let bits = matches[this.#nextWord] as number; bits !== 0; bits &= bits - 1) {
        const record = this.#nextWord * 32 + 31 - Math.clz32(bits & -bits);
        work += this.#weights.length * LOOKUP_WORK;
        const score = excluded?.has(record) === true ? undefined : this.scoreNow(record);
        if (score !== undefined) this.#top.offer(record, score);
      }
      this.#nextWord += 1;
    }
    this.#isDone = this.#nextWord === matches.length;
    return work;
  }

  /** Adds postings of the current entry. Returns the work done. */
  #sum(budget: number): number {
    const { postings } = this.#index;
    this.#sums ??= takeSums(this.#index.recordEnd);
    const dimension = this.#request.query.indices[this.#entry] as number;
    const range = { start: 0, end: 0, weight: this.#weights[this.#entry] as number };
    let work = LOOKUP_WORK;
    const position = postings.find(dimension, this.#nextRecord);
    range.start = offsetOf(position);
    for (let number = chunkOf(position); number < postings.chunkCount; number += 1) {
      const chunk = postings.chunk(number);
      range.end = chunk.endOf(dimension, range.start);
      this.#sums.add(chunk, range);
      work += range.end - range.start;
      if (range.end < chunk.count) break;
      const lastRecord = chunk.records[range.end - 1] as number;
      const next = number + 1 < postings.chunkCount ? postings.chunk(number + 1) : undefined;
      // A pause never separates the values of one record in a dimension, because the scan resumes by record.
      if (work >= budget && next?.isAt(0, dimension, lastRecord) === false) {
        this.#nextRecord = lastRecord + 1;
        return work;
      }
      range.start = 0;
    }
    this.#entry += 1;
    this.#nextRecord = 0;
    return work;
  }

  /** Offers sums to the hits. Returns the work done. */
  #collect(budget: number): number {
    const sums = this.#sums;
    if (sums === undefined) {
      this.#isDone = true;
      return 0;
    }
    const { blocks } = sums;
    let work = 0;
    while (this.#nextBlock < blocks.length && work < budget) {
      if (blocks[this.#nextBlock] === 0) work += EMPTY_WORK;
      else work += this.#collectBlock(sums, this.#nextBlock * BLOCK_LENGTH);
      this.#nextBlock += 1;
    }
    if (this.#nextBlock === blocks.length) {
      this.#isDone = true;
      this.#sums = undefined;
      giveBackSums(sums);
    }
    return work;
  }

  #collectBlock({ sums, marks }: RecordSums, start: number): number {
    const { matches, excluded } = this.#request;
    const top = this.#top;
    let { threshold } = top;
    for (let record = start; record < start + BLOCK_LENGTH; record += 1) {
      if (marks[record] === 0) continue;
      const score = scoreOf(sums[record] as number);
      if (score < threshold) continue;
      if (matches !== undefined && !hasBit(matches, record)) continue;
      if (excluded?.has(record) === true) continue;
      top.offer(record, score);
      threshold = top.threshold;
    }
    return BLOCK_LENGTH;
  }
}

/** ln((N − n + 0.5) / (n + 0.5) + 1), computed in double and rounded once (B2.idf). */
export function inverseFrequency(recordCount: number, frequency: number): number {
  return Math.fround(Math.log((recordCount - frequency + 0.5) / (frequency + 0.5) + 1));
}

/** A sum beyond the range of float32 becomes the nearest number, and NaN becomes 0. */
function scoreOf(sum: number): number {
  if (Number.isNaN(sum)) return 0;
  return Math.max(-SCORE_MAX, Math.min(SCORE_MAX, sum));
}
