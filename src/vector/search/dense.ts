/**
 * Finds candidates by a dense vector, with rows in memory (`file-dense.ts` has
 * rows in files), in the cheaper of two ways:
 *
 *     exact     scores every row that passes: for small namespaces, few matches,
 *               a graph that lacks many records, and an effort that costs more
 *     graph     scores the graph's candidates exactly, until more hits among them
 *               are unlikely (`late-hits.ts`), and all rows that are not in the
 *               graph yet
 *
 * If the graph finds too few (a filter may cut all its paths to them), every row
 * that passes is scored: a search never returns fewer hits than exist.
 */
import { assert } from "../../kernel/assert.ts";
import type { PartedGraph } from "../graph-parts/parted-graph.ts";
import type { Namespace } from "../index/namespace.ts";
import type { PreparedQuery } from "../rows/prepared-query.ts";
import type { RowStore } from "../rows/row-store.ts";
import { similarityRows } from "../rows/similarity.ts";
import type { TaskTaker } from "../threads/search-task.ts";
import { hasBit } from "./bits.ts";
import { GraphWalk, type Matches, type Walked } from "./graph-walk.ts";
import { LateHits } from "./late-hits.ts";
import type { CandidateRequest } from "./namespace-search.ts";
import { RowScan } from "./row-scan.ts";
import type { CandidateSearch, RankedRecord } from "./scored.ts";
import { TopHits } from "./top-hits.ts";

/** Rows of a whole scan in a millisecond, in multiplications. bench/row-kernel.bench.ts */
const SCANNED_PER_MS = 4_000_000;
/** A scan of one step. */
const SHORT_SCAN_MS = 1;
/**
 * The cost of a row scored alone, in rows of a whole scan; then of a row scored with the others, or alone, if codes skip
 * most rows. bench/row-kernel.bench.ts
 */
const ROWS_PER_GATHER = 4;
const ROWS_PER_CODED_SCAN = 0.5;
const ROWS_PER_CODED_GATHER = 1;

export class DenseSearch implements CandidateSearch {
  readonly #namespace: Namespace;
  readonly #rows: RowStore;
  readonly #vector: Float32Array;
  readonly #query: PreparedQuery;
  readonly #request: CandidateRequest;
  readonly #top: TopHits;
  readonly #lateHits: LateHits;
  /** The number of rows that pass. */
  readonly #passCount: number;
  readonly #walk: GraphWalk;
  /** Undefined while the graph is used. */
  #scan: RowScan | undefined;
  #hasWalked = false;
  /** Scans the rows that were not in the graph at its search; undefined if all were. */
  #pendingScan: RowScan | undefined;
  #isWalkComplete = true;

  constructor(namespace: Namespace, vector: Float32Array, request: CandidateRequest) {
    const { rows, table } = namespace;
    assert(rows !== undefined, "a dense search is for a namespace with rows");
    this.#namespace = namespace;
    this.#rows = rows;
    this.#vector = vector;
    this.#query = rows.memory.prepare(vector);
    this.#request = request;
    this.#top = new TopHits(request.certainCount, (record) => table.order.placeOf(record));
    this.#lateHits = new LateHits(namespace.similarity, request.certainCount);
    this.#passCount = request.match?.count ?? rows.count;
    this.#walk = new GraphWalk({ namespace, vector, request, rowsPerGather: this.#rowsPerGather });
    if (namespace.graph === undefined || request.effort === "exact" || this.#isExactCheaper(namespace.graph))
      this.#scan = this.#newScan(request.match);
  }

  get isScan(): boolean {
    return this.#scan !== undefined;
  }

  step(taker?: TaskTaker): boolean {
    if (this.#scan !== undefined) return this.#scan.step(taker);
    const { graph } = this.#namespace;
    // A graph is removed when its namespace has become small.
    if (graph === undefined) return this.#scanAll(taker);
    if (!this.#hasWalked) {
      const walked = this.#walk.step(graph, taker);
      if (walked === "unfinished") return false;
      if (walked === "lost") return this.#scanAll(taker);
      // Offers the graph's candidates, and begins the scan of the rows that are not in it; both have the same state.
      this.#hasWalked = true;
      this.#isWalkComplete = walked.isComplete;
      if (walked.pending.count > 0) this.#pendingScan = this.#newScan(walked.pending);
      this.#offerWalked(walked);
    }
    if (this.#pendingScan !== undefined) {
      if (!this.#pendingScan.step(taker)) return false;
      for (const { record, rank, score } of this.#pendingScan.hits()) this.#top.offer(record, rank, score);
    }
    const wanted = Math.min(this.#request.count, this.#passCount - this.#request.excluded.size);
    return this.#isWalkComplete && this.#top.size >= wanted ? true : this.#scanAll(taker);
  }

  hits(): readonly RankedRecord[] {
    return this.#scan === undefined ? this.#top.sorted() : this.#scan.hits();
  }

  scoreNow(record: number): RankedRecord | undefined {
    if (!this.#rows.has(record)) return undefined;
    const rank = this.#rows.rank(this.#namespace.similarity, this.#query, record);
    return { record, rank, score: similarityRows[this.#namespace.similarity].score(rank) };
  }

  #scanAll(taker?: TaskTaker): boolean {
    this.#scan = this.#newScan(this.#request.match);
    return this.#scan.step(taker);
  }

  #newScan(match: Matches | undefined): RowScan {
    const { similarity, table } = this.#namespace;
    const { count, spareCount, certainCount, excluded } = this.#request;
    const scanMs = this.#scanMs(match?.count ?? this.#rows.count);
    const options = {
      query: this.#vector,
      similarity,
      // Few records change during a short scan. Each further candidate ranks more rows: with filters, most of its time.
      count: scanMs <= SHORT_SCAN_MS ? certainCount : count + spareCount,
      order: (record: number) => table.order.placeOf(record),
      matches: match?.matches,
      matchCount: match?.count,
      excluded,
    };
    return new RowScan(this.#rows, options, scanMs);
  }

  #scanMs(passCount: number): number {
    return (this.#scannedRows(passCount) * this.#rows.dimension) / SCANNED_PER_MS;
  }

  #isExactCheaper(graph: PartedGraph): boolean {
    const walked = this.#walk.costRows + graph.pendingCount * this.#rowsPerGather;
    return this.#scannedRows(this.#passCount) <= walked;
  }

  get #isCoded(): boolean {
    return this.#rows.codeBytes > 0;
  }

  get #rowsPerGather(): number {
    return this.#isCoded ? ROWS_PER_CODED_GATHER : ROWS_PER_GATHER;
  }

  /** The cost of a scan of so many rows, in rows of a whole scan. */
  #scannedRows(passCount: number): number {
    const wholeScan = this.#rows.count * (this.#isCoded ? ROWS_PER_CODED_SCAN : 1);
    return Math.min(wholeScan, passCount * this.#rowsPerGather);
  }

  /** Ranks candidates by their rows, until more hits among them are unlikely. */
  #offerWalked({ records, distances, count, pending }: Walked): void {
    const { similarity } = this.#namespace;
    const { score } = similarityRows[similarity];
    for (let i = 0; i < count; i += 1) {
      const record = records[i] as number;
      const distance = distances[i] as number;
      if (this.#lateHits.isUnlikely(distance, this.#top.threshold)) return;
      if (!this.#isCandidate(record, pending)) continue;
      const rank = this.#rows.rank(similarity, this.#query, record);
      this.#lateHits.note(distance, { rank, isHit: rank >= this.#top.threshold });
      this.#top.offer(record, rank, score(rank));
    }
  }

  #isCandidate(record: number, pending: Matches): boolean {
    const { match, excluded } = this.#request;
    // It became a node during the walk, and is scanned too.
    if (pending.count > 0 && hasBit(pending.matches, record)) return false;
    if (!this.#rows.has(record) || excluded.has(record)) return false;
    return match === undefined || hasBit(match.matches, record);
  }
}
