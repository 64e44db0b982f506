/**
 * An exact search over the dense rows of a namespace, in slices. Rows may come,
 * change and go between slices: the search sees each as it is when it comes by.
 *
 * Where few records match, they are scored alone (gather). Otherwise blocks are
 * scored whole, and whether a row may be a hit is asked only when its rank is
 * high enough. Both ways find the same bits.
 *
 * Where rows have codes, those that a code proves to rank below the worst hit so
 * far are left out first (`assembly/row-codes.ts`): a code is a quarter of a row.
 */
import { assert } from "../../kernel/assert.ts";
import type { Similarity } from "../index/definition.ts";
import { countBits, hasBit } from "../search/bits.ts";
import { type Hit, TopHits } from "../search/top-hits.ts";
import { type Arena, BATCH_ROWS, CODED_QUERY_ADDRESS, LIST_ADDRESS, OUT_ADDRESS, QUERY_ADDRESS } from "./arena.ts";
import { type CodedQuery, codeQuery } from "./coded-query.ts";
import type { PreparedQuery } from "./prepared-query.ts";
import type { RowBlock, RowStore } from "./row-store.ts";
import { type SimilarityRow, similarityRows } from "./similarity.ts";

/** Work of a row besides its multiplications. */
const ROW_WORK = 16;
/** Rows that are scored in the time of one that lies alone. bench/row-kernel.bench.ts: 2 in the cache, 4 beyond it. */
const GATHER_FACTOR = 4;
/**
 * The same for their codes, and what a code costs of a row that is scored with its neighbours, or alone.
 * bench/row-kernel.bench.ts
 */
const PREFILTER_GATHER_FACTOR = 3;
const PREFILTER_SHARE = 0.4;
const GATHERED_PREFILTER_SHARE = 0.25;
/** Codes of so many rows at a time at least: then what they are compared with has grown. */
const PREFILTER_ROWS_MIN = 128;

export interface ExactScanOptions {
  readonly query: Float32Array;
  readonly similarity: Similarity;
  /** How many hits are wanted. */
  readonly count: number;
  /** A record's place in insertion order. */
  readonly order: (record: number) => number;
  /** Bit r set: record r may be a hit. Records beyond its end may not. */
  readonly matches?: Uint32Array | undefined;
  /** How many bits of `matches` are set; counted when it is not told. */
  readonly matchCount?: number | undefined;
  /** Records that may not be hits. */
  readonly excluded?: ReadonlySet<number> | undefined;
}

export class ExactScan {
  readonly #store: RowStore;
  readonly #query: PreparedQuery;
  readonly #similarity: SimilarityRow;
  readonly #hits: TopHits;
  readonly #matches: Uint32Array | undefined;
  readonly #excluded: ReadonlySet<number> | undefined;
  readonly #gathers: boolean;
  readonly #rowWork: number;
  /** Made when it is needed; null: codes are of no use to this query. */
  #codedQuery: CodedQuery | null | undefined;
  /** The first record that was not looked at. */
  #next = 0;
  /** Rows that were looked at. */
  #seenCount = 0;
  /** Codes are asked when so many were: what is below the worst hit is few before. */
  #prefilterFrom: number;

  constructor(store: RowStore, options: ExactScanOptions) {
    const { query, similarity, count, order, matches, excluded } = options;
    assert(query.length === store.dimension, "a query has the dimension of the rows");
    this.#store = store;
    this.#query = store.memory.prepare(query);
    this.#similarity = similarityRows[similarity];
    this.#hits = new TopHits(count, order);
    this.#matches = matches;
    this.#excluded = excluded;
    this.#rowWork = store.rowBytes / Float32Array.BYTES_PER_ELEMENT + ROW_WORK;
    const factor = store.codeBytes > 0 ? PREFILTER_GATHER_FACTOR : GATHER_FACTOR;
    this.#gathers = matches !== undefined && (options.matchCount ?? countBits(matches)) * factor < store.capacity;
    this.#prefilterFrom = 2 * count;
  }

  /**
   * Goes on until the work is done, or about `macBudget` of it: a multiplication with its addition is one, a row is
   * sixteen more, and a row that is scored alone counts four times. True when all rows were looked at.
   */
  step(macBudget: number): boolean {
    let left = macBudget;
    for (;;) {
      const block = this.#store.findBlock(this.#next);
      if (block === undefined) return true;
      if (left <= 0) return false;
      const rowsMax = Math.min(this.#batchRows(block), Math.max(1, Math.floor(left / this.#rowWork)));
      left -=
        this.#matches !== undefined && this.#gathers
          ? this.#gather(block, this.#matches, rowsMax)
          : this.#scan(block, rowsMax);
    }
  }

  /** The best of what was looked at so far, best first. */
  hits(): Hit[] {
    return this.#hits.sorted();
  }

  /** Rows that are looked at together. */
  #batchRows(block: RowBlock): number {
    return this.#prefilters(block)
      ? Math.min(BATCH_ROWS, Math.max(PREFILTER_ROWS_MIN, this.#seenCount >>> 1))
      : BATCH_ROWS;
  }

  #prefilters(block: RowBlock): boolean {
    if (block.codes === undefined || this.#seenCount < this.#prefilterFrom || this.#codedQuery === null) return false;
    if (this.#hits.threshold === Number.NEGATIVE_INFINITY) return false;
    this.#codedQuery ??= codeQuery(this.#query) ?? null;
    return this.#codedQuery !== null;
  }

  /** Notes what codes left of so many rows, whose share of them would be worth it. */
  #notePrefilter(count: number, left: number, worthShare: number): void {
    // The next try is as far away as the start.
    if (left > count * worthShare) this.#prefilterFrom = 2 * this.#seenCount;
  }

  /** Scores rows of a block from the next on; the work that it was. */
  #scan(block: RowBlock, rowsMax: number): number {
    const first = this.#next;
    const end = Math.min(block.end, first + rowsMax);
    if (this.#prefilters(block)) return this.#scanCodes(block, end);
    const { arena, start } = block;
    arena.load(this.#query);
    const found = arena.kernel.scan(
      this.#similarity.code,
      block.rows,
      block.lengths,
      first - start,
      end - start,
      this.#store.rowBytes,
      QUERY_ADDRESS,
      this.#query.squaredLength,
      this.#hits.threshold,
      OUT_ADDRESS,
    );
    this.#next = end;
    this.#seenCount += end - first;
    this.#offer(arena, start, found);
    return (end - first) * this.#rowWork;
  }

  /** As `#scan`, by the codes of the rows. */
  #scanCodes(block: RowBlock, end: number): number {
    const { arena, start } = block;
    const count = end - this.#next;
    const coded = this.#codedQuery as CodedQuery;
    arena.loadCoded(coded);
    const left = arena.kernel.siftRange(
      this.#similarity.code,
      block.codes as number,
      this.#store.codeBytes,
      this.#next - start,
      end - start,
      CODED_QUERY_ADDRESS,
      this.#hits.threshold,
      LIST_ADDRESS,
    );
    this.#next = end;
    this.#seenCount += count;
    this.#notePrefilter(count, left, (1 - PREFILTER_SHARE) / GATHER_FACTOR);
    return count * this.#rowWork * PREFILTER_SHARE + this.#score(block, left);
  }

  /** Scores the matching rows of a block from the next on; the work that it was. */
  #gather(block: RowBlock, matches: Uint32Array, rowsMax: number): number {
    const first = this.#next;
    const count = this.#listMatches(block, matches, rowsMax);
    const wordWork = ((this.#next - first) >>> 5) + 1;
    if (count === 0) return wordWork;
    const prefilterWork = this.#prefilters(block)
      ? count * this.#rowWork * GATHER_FACTOR * GATHERED_PREFILTER_SHARE
      : 0;
    const left = prefilterWork > 0 ? this.#prefilterList(block, count) : count;
    this.#seenCount += count;
    return wordWork + prefilterWork + this.#score(block, left);
  }

  /** Leaves in the list what codes leave: how many. */
  #prefilterList({ arena, codes }: RowBlock, count: number): number {
    arena.loadCoded(this.#codedQuery as CodedQuery);
    const left = arena.kernel.sift(
      this.#similarity.code,
      codes as number,
      this.#store.codeBytes,
      LIST_ADDRESS,
      count,
      CODED_QUERY_ADDRESS,
      this.#hits.threshold,
    );
    this.#notePrefilter(count, left, 1 - GATHERED_PREFILTER_SHARE);
    return left;
  }

  /** Scores the rows of the list; the work that it was. */
  #score(block: RowBlock, count: number): number {
    if (count === 0) return 0;
    const { arena, start } = block;
    arena.load(this.#query);
    const found = arena.kernel.gather(
      this.#similarity.code,
      block.rows,
      block.lengths,
      LIST_ADDRESS,
      count,
      this.#store.rowBytes,
      QUERY_ADDRESS,
      this.#query.squaredLength,
      this.#hits.threshold,
      OUT_ADDRESS,
    );
    this.#offer(arena, start, found);
    return count * this.#rowWork * GATHER_FACTOR;
  }

  /** Lists up to `rowsMax` matching rows of a block for the kernel and moves on after the last; how many. */
  #listMatches({ arena, start, end }: RowBlock, matches: Uint32Array, rowsMax: number): number {
    const { words } = arena;
    let count = 0;
    let record = this.#next;
    while (record < end && count < rowsMax) {
      const word = (matches[record >>> 5] ?? 0) >>> (record & 31);
      if (word === 0) {
        record = (record | 31) + 1;
        continue;
      }
      record += 31 - Math.clz32(word & -word);
      if (record >= end) break;
      words[LIST_ADDRESS / 4 + count] = record - start;
      count += 1;
      record += 1;
    }
    this.#next = Math.min(record, end);
    return count;
  }

  /** Offers what the kernel wrote. */
  #offer({ words, floats }: Arena, start: number, found: number): void {
    const hits = this.#hits;
    for (let i = OUT_ADDRESS / 4; i < OUT_ADDRESS / 4 + 2 * found; i += 2) {
      const rank = floats[i + 1] as number;
      if (rank < hits.threshold) continue;
      const record = start + (words[i] as number);
      if (this.#passes(record)) hits.offer(record, rank, this.#similarity.score(rank));
    }
  }

  #passes(record: number): boolean {
    if (this.#matches !== undefined && !hasBit(this.#matches, record)) return false;
    return this.#excluded?.has(record) !== true;
  }
}
