/**
 * Finds candidates by a dense vector with rows in files, in the cheaper of two
 * ways, as `dense.ts` does:
 *
 *     exact     ranks every row that passes: those that few match alone, otherwise
 *               all of the files
 *     graph     ranks the graph's candidates, until more hits among them are
 *               unlikely, and all rows that are not in the graph yet
 *
 * Both wait for the disk. What changes meanwhile is in the change log, and is
 * scored again at the end: from its row in memory, from a rank of the same version,
 * or from its row in a file, which is another wait.
 */
import { assert } from "../../kernel/assert.ts";
import type { PartedGraph } from "../graph-parts/parted-graph.ts";
import type { Namespace } from "../index/namespace.ts";
import type { FileRows, RankedQuery } from "../row-files/file-rows.ts";
import { similarityRows } from "../rows/similarity.ts";
import type { TaskTaker } from "../threads/search-task.ts";
import { hasBit } from "./bits.ts";
import { FileScan } from "./file-scan.ts";
import { GraphWalk, type Matches, type Walked } from "./graph-walk.ts";
import { LateHits } from "./late-hits.ts";
import type { CandidateRequest } from "./namespace-search.ts";
import { type RankedWalk, type RankOfRow, RowRanks } from "./row-ranks.ts";
import type { CandidateSearch, RankedRecord } from "./scored.ts";
import { TopHits } from "./top-hits.ts";

/** Costs in rows of a whole scan of memory: of a row of a file that is scanned, and of one that is read alone. bench/row-files.bench.ts */
const ROWS_PER_FILE_SCAN = 13;
const ROWS_PER_READ = 50;
/** Candidates that are read of one walk in addition to the wanted ones, about. bench/row-files.bench.ts */
const READ_BEYOND_HITS = 6;

export class FileDenseSearch implements CandidateSearch {
  readonly #namespace: Namespace;
  readonly #rows: FileRows;
  readonly #by: RankedQuery;
  readonly #request: CandidateRequest;
  readonly #walk: GraphWalk;
  readonly #passCount: number;
  /** The hits of a walk, or of the ranks of few records. */
  #top: TopHits;
  /** Ranks by record, for those that change without another row. */
  readonly #known = new Map<number, RankOfRow>();
  #hasScan = false;
  #scan: FileScan | undefined;
  /** The reads that are under way: candidates, then pending records; or all records that pass. */
  #ranks: RowRanks[] | undefined;
  #isWalkComplete = true;
  /** The reads for `readScores`. */
  #scoring: RowRanks | undefined;

  constructor(namespace: Namespace, vector: Float32Array, request: CandidateRequest) {
    const { fileRows, similarity } = namespace;
    assert(fileRows !== undefined, "a search of files is for a namespace with rows in files");
    this.#namespace = namespace;
    this.#rows = fileRows;
    this.#by = { query: fileRows.memory.prepare(vector), similarity };
    this.#request = request;
    this.#walk = new GraphWalk({ namespace, vector, request, rowsPerGather: ROWS_PER_READ });
    this.#passCount = request.match?.count ?? fileRows.count;
    this.#top = this.#newTop(request.certainCount);
    const { graph } = namespace;
    if (graph === undefined || request.effort === "exact" || this.#isExactCheaper(graph)) this.#beginScan();
  }

  get isScan(): boolean {
    return this.#hasScan;
  }

  step(taker?: TaskTaker): boolean {
    if (this.#hasScan) return this.#stepScan(taker);
    const { graph } = this.#namespace;
    if (this.#ranks === undefined) {
      // A graph is removed when its namespace has become small.
      const walked = graph === undefined ? "lost" : this.#walk.step(graph, taker);
      if (walked === "unfinished") return false;
      if (walked === "lost") {
        this.#beginScan();
        return this.#stepScan(taker);
      }
      this.#ranks = this.#ranksOf(walked);
    }
    if (!this.#stepRanks(this.#ranks, taker)) return false;
    const wanted = Math.min(this.#request.count, this.#passCount - this.#request.excluded.size);
    if (this.#isWalkComplete && this.#top.size >= wanted) return true;
    this.#beginScan();
    return this.#stepScan(taker);
  }

  hits(): readonly RankedRecord[] {
    return this.#scan?.hits() ?? this.#top.sorted();
  }

  readScores(records: readonly number[], taker?: TaskTaker): boolean {
    for (;;) {
      if (this.#scoring === undefined) {
        const wanted = records.filter((record) => this.#isUnknown(record));
        if (wanted.length === 0) return true;
        this.#scoring = this.#newRanks(wanted, { offer: () => {} });
      }
      if (!this.#scoring.step(taker)) return false;
      this.#scoring = undefined;
    }
  }

  scoreNow(record: number): RankedRecord | undefined {
    if (!this.#rows.has(record)) return undefined;
    const row = this.#rows.buffered(record);
    if (row !== undefined) return this.#scored(record, this.#rows.rank(this.#by, row));
    const known = this.#known.get(record);
    assert(known?.version === this.#rows.versionOf(record), "the row of a changed record was read");
    return this.#scored(record, known.rank);
  }

  abandon(): void {
    this.#scan?.abandon();
  }

  /** Whether the rank of a record needs its row from a file. */
  #isUnknown(record: number): boolean {
    const rows = this.#rows;
    if (!rows.has(record) || rows.buffered(record) !== undefined) return false;
    return this.#known.get(record)?.version !== rows.versionOf(record);
  }

  #scored(record: number, rank: number): RankedRecord {
    return { record, rank, score: similarityRows[this.#by.similarity].score(rank) };
  }

  #newTop(count: number): TopHits {
    const { order } = this.#namespace.table;
    return new TopHits(count, (record) => order.placeOf(record));
  }

  #isExactCheaper(graph: PartedGraph): boolean {
    const read = Math.min(this.#request.certainCount + READ_BEYOND_HITS, this.#walk.effort) + graph.pendingCount;
    return this.#scannedRows <= this.#walk.costRows + read * ROWS_PER_READ;
  }

  /** The cost of a scan, in rows of a whole scan of memory. */
  get #scannedRows(): number {
    return Math.min(this.#rows.count * ROWS_PER_FILE_SCAN, this.#passCount * ROWS_PER_READ);
  }

  get #readsAlone(): boolean {
    return this.#passCount * ROWS_PER_READ < this.#rows.count * ROWS_PER_FILE_SCAN;
  }

  #beginScan(): void {
    this.#hasScan = true;
    const { match, count, spareCount, excluded } = this.#request;
    const { order } = this.#namespace.table;
    if (match !== undefined && this.#readsAlone) {
      this.#top = this.#newTop(count + spareCount);
      this.#ranks = [this.#newRanks(recordsOf(match.matches, excluded))];
      return;
    }
    this.#scan = new FileScan({
      rows: this.#rows,
      by: this.#by,
      count: count + spareCount,
      order: (record) => order.placeOf(record),
      matches: match?.matches,
      excluded,
    });
  }

  #stepScan(taker: TaskTaker | undefined): boolean {
    return this.#scan?.step(taker) ?? this.#stepRanks(this.#ranks ?? [], taker);
  }

  #stepRanks(ranks: readonly RowRanks[], taker: TaskTaker | undefined): boolean {
    return ranks.every((each) => each.step(taker));
  }

  /** The candidates of a walk, and the rows that were not in the graph; both have the same state. */
  #ranksOf({ records, distances, count, isComplete, pending }: Walked): RowRanks[] {
    this.#isWalkComplete = isComplete;
    const { match, excluded } = this.#request;
    const candidates: number[] = [];
    const distanceOf = new Map<number, number>();
    for (let i = 0; i < count; i += 1) {
      const record = records[i] as number;
      // It became a node during the walk, and is ranked with the pending ones.
      if (pending.count > 0 && hasBit(pending.matches, record)) continue;
      if (!this.#rows.has(record) || excluded.has(record)) continue;
      if (match !== undefined && !hasBit(match.matches, record)) continue;
      candidates.push(record);
      distanceOf.set(record, distances[i] as number);
    }
    const { certainCount: hitCount } = this.#request;
    const lateHits = new LateHits(this.#by.similarity, hitCount);
    const walk = { distances: distanceOf, hitCount, lateHits, top: this.#top };
    const ranks = [this.#newRanks(candidates, { walk })];
    if (pending.count > 0) ranks.push(this.#newRanks(this.#pendingRecords(pending)));
    return ranks;
  }

  #pendingRecords({ matches }: Matches): number[] {
    return recordsOf(matches, this.#request.excluded);
  }

  #newRanks(
    records: readonly number[],
    { walk, offer }: { readonly walk?: RankedWalk; readonly offer?: (rank: RankOfRow) => void } = {},
  ): RowRanks {
    const offerHit = ({ record, rank }: RankOfRow): void => {
      this.#top.offer(record, rank, similarityRows[this.#by.similarity].score(rank));
    };
    return new RowRanks({
      rows: this.#rows,
      by: this.#by,
      records,
      walk,
      offer: (rank) => {
        this.#known.set(rank.record, rank);
        (offer ?? offerHit)(rank);
      },
    });
  }
}

/** The records of bits that are not excluded. */
function recordsOf(matches: Uint32Array, excluded: ReadonlySet<number>): number[] {
  const records: number[] = [];
  for (let index = 0; index < matches.length; index += 1)
    for (let word = matches[index] as number; word !== 0; word &= word - 1) {
      const record = index * 32 + 31 - Math.clz32(word & -word);
      if (!excluded.has(record)) records.push(record);
    }
  return records;
}
