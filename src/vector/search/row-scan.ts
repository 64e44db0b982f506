/**
 * An exact scan for a search, in steps on this thread, or as a whole on another
 * one. Both give the same hits: a result of another thread that may not be exact
 * is thrown away (`threads/search-threads.ts`), and the scan is done here.
 */
import { ExactScan, type ExactScanOptions } from "../rows/exact-scan.ts";
import type { RowStore } from "../rows/row-store.ts";
import { similarityRows } from "../rows/similarity.ts";
import type { ScanResult, TaskTaker } from "../threads/search-task.ts";
import { clearBit, wordCountOf } from "./bits.ts";
import { type Hit, TopHits } from "./top-hits.ts";

/** About a millisecond, in multiplications. bench/vector.bench.ts */
const SCAN_WORK = 4_000_000;

export class RowScan {
  readonly #rows: RowStore;
  readonly #options: ExactScanOptions;
  readonly #costMs: number;
  /** The scan on this thread. */
  #here: ExactScan | undefined;
  /** The blocks that the rows had freed when another thread got the scan; undefined if none did. */
  #releasedCount: number | undefined;
  /** The result of the other thread when it is back. */
  #result: ScanResult | undefined;
  #hits: TopHits | undefined;

  /** `costMs` is the expected duration. */
  constructor(rows: RowStore, options: ExactScanOptions, costMs: number) {
    this.#rows = rows;
    this.#options = options;
    this.#costMs = costMs;
  }

  /** Returns true when done. If another thread took the scan, the next step is after its end. */
  step(taker?: TaskTaker): boolean {
    if (this.#hits !== undefined) return true;
    if (this.#here === undefined) {
      if (this.#releasedCount === undefined) {
        if (taker !== undefined && this.#giveTo(taker)) return false;
      } else if (this.#takeBack()) return true;
    }
    this.#here ??= new ExactScan(this.#rows, this.#options);
    return this.#here.step(SCAN_WORK);
  }

  /** The best rows, best first. */
  hits(): Hit[] {
    return this.#hits?.sorted() ?? this.#here?.hits() ?? [];
  }

  #giveTo(taker: TaskTaker): boolean {
    if (!taker.wants(this.#costMs)) return false;
    const { query, similarity, count, matches, matchCount, excluded } = this.#options;
    const hasExcluded = excluded !== undefined && excluded.size > 0;
    const isTaken = taker.take({
      kind: "scan",
      costMs: this.#costMs,
      rows: this.#rows,
      query: this.#rows.memory.prepare(query),
      similarity,
      count,
      matches: hasExcluded ? this.#withoutExcluded(excluded) : matches,
      matchCount,
      done: (result) => {
        this.#result = result;
      },
    });
    if (isTaken) this.#releasedCount = this.#rows.releasedCount;
    return isTaken;
  }

  #withoutExcluded(excluded: ReadonlySet<number>): Uint32Array {
    const { matches } = this.#options;
    const bits = matches?.slice() ?? new Uint32Array(wordCountOf(this.#rows.capacity)).fill(0xffff_ffff);
    for (const record of excluded) if (record >>> 5 < bits.length) clearBit(bits, record);
    return bits;
  }

  /** Takes over the result of the other thread, if it is exact apart from records that changed meanwhile. */
  #takeBack(): boolean {
    const result = this.#result;
    this.#result = undefined;
    // Keeps (3) and (7) of search-threads.ts.
    if (result?.isComplete !== true || this.#rows.releasedCount !== this.#releasedCount) return false;
    const { similarity, count, order } = this.#options;
    const { score } = similarityRows[similarity];
    const hits = new TopHits(count, order);
    for (const [i, record] of result.records.entries()) {
      const rank = result.ranks[i] as number;
      hits.offer(record, rank, score(rank));
    }
    this.#hits = hits;
    return true;
  }
}
