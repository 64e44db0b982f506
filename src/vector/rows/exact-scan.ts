/**
 * An exact search over the dense rows of a namespace, in slices. Rows may be
 * added, changed and removed between slices: the search sees the current state of
 * each row when it reads it.
 *
 * If few records match, they are scored alone (gather). Otherwise blocks are
 * scored whole, and a row is checked for a match only if its rank is high enough.
 * Both ways give the same bits.
 *
 * If rows have codes, rows that a code proves to rank below the worst hit so far
 * are skipped first (`assembly/row-codes.ts`): a code is a quarter of a row.
 */
import { assert } from "../../kernel/assert.ts";
import type { Similarity } from "../index/definition.ts";
import { countBits, hasBit } from "../search/bits.ts";
import { type Hit, TopHits } from "../search/top-hits.ts";
import { type Arena, BATCH_ROWS } from "./arena.ts";
import { type CodedQuery, codeQuery } from "./coded-query.ts";
import type { PreparedQuery } from "./prepared-query.ts";
import type { RowBlock } from "./row-store.ts";
import { type SimilarityRow, similarityRows } from "./similarity.ts";

/** The work of a row besides its multiplications. */
const ROW_WORK = 16;
/** Consecutive rows that take the time of a single scattered one. bench/row-kernel.bench.ts: 2 in the cache, else 4. */
const GATHER_FACTOR = 4;
/**
 * The same for codes, and the cost of a code relative to a row that is scored with its neighbours, or alone.
 * bench/row-kernel.bench.ts
 */
const PREFILTER_GATHER_FACTOR = 3;
const PREFILTER_SHARE = 0.4;
const GATHERED_PREFILTER_SHARE = 0.25;
/** Rows that are scored alone in the time in which the code of a query is made and used for the first rows. */
const CODED_QUERY_ROWS = 64;
/** The least rows whose codes are compared at a time: after them the threshold has grown. */
const PREFILTER_ROWS_MIN = 128;

/** The rows of a namespace, as a scan reads them. */
export interface ScannedRows {
  readonly dimension: number;
  readonly rowBytes: number;
  /** The bytes of a code without its facts; 0 if rows have no codes. */
  readonly codeBytes: number;
  /** Records below this number have space. */
  readonly capacity: number;
  readonly memory: { prepare(values: Float32Array): PreparedQuery };
  /** The block with space for a record, or undefined. */
  findBlock(record: number): ScannedBlock | undefined;
}

export type ScannedBlock = Pick<RowBlock, "arena" | "start" | "end" | "rows" | "lengths" | "codes" | "isSplit">;

export interface ExactScanOptions {
  readonly query: Float32Array;
  readonly similarity: Similarity;
  /** The number of hits. */
  readonly count: number;
  /** A record's place in insertion order. */
  readonly order: (record: number) => number;
  /** Record r may be a hit if bit r is set. Records beyond its end may not. */
  readonly matches?: Uint32Array | undefined;
  /** The number of set bits of `matches`; counted if absent. */
  readonly matchCount?: number | undefined;
  /** Records that must not be hits. */
  readonly excluded?: ReadonlySet<number> | undefined;
}

export class ExactScan {
  readonly #store: ScannedRows;
  readonly #query: PreparedQuery;
  readonly #similarity: SimilarityRow;
  readonly #hits: TopHits;
  readonly #matches: Uint32Array | undefined;
  readonly #excluded: ReadonlySet<number> | undefined;
  readonly #gathers: boolean;
  readonly #rowWork: number;
  /** Made when it is needed; null if this query cannot use codes. */
  #codedQuery: CodedQuery | null | undefined;
  /** The first record that was not read yet. */
  #next = 0;
  /** The number of rows read. */
  #seenCount = 0;
  /** Codes are used after this many rows: before that, few rows are below the worst hit. */
  #prefilterFrom: number;

  constructor(store: ScannedRows, options: ExactScanOptions) {
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
    const matchCount = matches === undefined ? store.capacity : (options.matchCount ?? countBits(matches));
    this.#gathers = matchCount * factor < store.capacity;
    const prefilterFrom = 2 * count;
    this.#prefilterFrom = matchCount < prefilterFrom + CODED_QUERY_ROWS ? Number.POSITIVE_INFINITY : prefilterFrom;
  }

  /**
   * Continues until all work or about `macBudget` of it is done: a multiplication with its addition counts one, a row
   * sixteen more, and a row that is scored alone four times that. Returns true when all rows were read.
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

  /** The best rows so far, best first. */
  hits(): Hit[] {
    return this.#hits.sorted();
  }

  /** The number of rows that are read together. */
  #batchRows(block: ScannedBlock): number {
    return this.#prefilters(block)
      ? Math.min(BATCH_ROWS, Math.max(PREFILTER_ROWS_MIN, this.#seenCount >>> 1))
      : BATCH_ROWS;
  }

  #prefilters(block: ScannedBlock): boolean {
    if (block.codes === undefined || this.#seenCount < this.#prefilterFrom || this.#codedQuery === null) return false;
    if (this.#hits.threshold === Number.NEGATIVE_INFINITY) return false;
    this.#codedQuery ??= codeQuery(this.#query) ?? null;
    return this.#codedQuery !== null;
  }

  /** Notes how many of these rows the codes left, and whether codes were worthwhile. */
  #notePrefilter(count: number, left: number, worthShare: number): void {
    // The next try comes after as many rows again.
    if (left > count * worthShare) this.#prefilterFrom = 2 * this.#seenCount;
  }

  /** Scores the next rows of a block and returns the work done. */
  #scan(block: ScannedBlock, rowsMax: number): number {
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
      arena.scratch.query,
      this.#query.squaredLength,
      this.#hits.threshold,
      arena.scratch.out,
      splitCodesOf(block),
      arena.scratch.joined,
    );
    this.#next = end;
    this.#seenCount += end - first;
    this.#offer(arena, start, found);
    return (end - first) * this.#rowWork;
  }

  /** As `#scan`, with the codes of the rows. */
  #scanCodes(block: ScannedBlock, end: number): number {
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
      arena.scratch.codedQuery,
      this.#hits.threshold,
      arena.scratch.list,
    );
    this.#next = end;
    this.#seenCount += count;
    this.#notePrefilter(count, left, (1 - PREFILTER_SHARE) / GATHER_FACTOR);
    return count * this.#rowWork * PREFILTER_SHARE + this.#score(block, left);
  }

  /** Scores the next matching rows of a block and returns the work done. */
  #gather(block: ScannedBlock, matches: Uint32Array, rowsMax: number): number {
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

  /** Removes rows from the list by their codes and returns how many are left. */
  #prefilterList({ arena, codes }: ScannedBlock, count: number): number {
    arena.loadCoded(this.#codedQuery as CodedQuery);
    const left = arena.kernel.sift(
      this.#similarity.code,
      codes as number,
      this.#store.codeBytes,
      arena.scratch.list,
      count,
      arena.scratch.codedQuery,
      this.#hits.threshold,
    );
    this.#notePrefilter(count, left, 1 - GATHERED_PREFILTER_SHARE);
    return left;
  }

  /** Scores the rows of the list and returns the work done. */
  #score(block: ScannedBlock, count: number): number {
    if (count === 0) return 0;
    const { arena, start } = block;
    arena.load(this.#query);
    const found = arena.kernel.gather(
      this.#similarity.code,
      block.rows,
      block.lengths,
      arena.scratch.list,
      count,
      this.#store.rowBytes,
      arena.scratch.query,
      this.#query.squaredLength,
      this.#hits.threshold,
      arena.scratch.out,
      splitCodesOf(block),
      arena.scratch.joined,
    );
    this.#offer(arena, start, found);
    return count * this.#rowWork * GATHER_FACTOR;
  }

  /** Lists up to `rowsMax` matching rows of a block for the kernel, moves past them and returns how many. */
  #listMatches({ arena, start, end }: ScannedBlock, matches: Uint32Array, rowsMax: number): number {
    const { words, scratch } = arena;
    const listAt = scratch.list / 4;
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
      words[listAt + count] = record - start;
      count += 1;
      record += 1;
    }
    this.#next = Math.min(record, end);
    return count;
  }

  /** Offers the rows that the kernel wrote. */
  #offer({ words, floats, scratch }: Arena, start: number, found: number): void {
    const hits = this.#hits;
    const outAt = scratch.out / 4;
    for (let i = outAt; i < outAt + 2 * found; i += 2) {
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

/** The codes that rows are joined with; 0 if rows are whole. */
function splitCodesOf({ isSplit, codes }: ScannedBlock): number {
  return isSplit ? (codes ?? 0) : 0;
}
