/**
 * Measures the recall of one class of queries of a namespace, in steps of about a
 * millisecond. A sample is answered exactly, and then by walks of one level after
 * the other, from the one below the current level on, until a walk finds
 * everything: higher levels find no less. So one round shows which level reaches
 * the target.
 *
 * (1) The sample has RECORDS queries made of stored records, each drawn from all
 *     of them, old and new, and the recent queries of the class. A stored record
 *     is not a hit of its own vector: every walk would find it.
 * (2) Searches are those that clients get, with the same filter and topK.
 * (3) If a record changed between the searches of one query and is a hit of
 *     either, the query does not count. Nor does it if so many changed that
 *     scoring them again, in one step, would take long. Other records are drawn
 *     then; a round with too few queries that count is not a measurement.
 */
import { assert } from "../../kernel/assert.ts";
import type { Random } from "../../kernel/random.ts";
import { compileFilter } from "../filter/filter.ts";
import type { Namespace } from "../index/namespace.ts";
import { LateRows } from "../row-files/late-rows.ts";
import { NamespaceSearch } from "../search/namespace-search.ts";
import type { SearchJob } from "../search/queue.ts";
import type { TaskTaker } from "../threads/search-task.ts";
import { effortAt, topLevelOf } from "./effort.ts";
import type { LevelTally, Measurement, NamespaceRecall } from "./namespace-recall.ts";
import type { SampledQuery } from "./query-sample.ts";
import { RecallTally } from "./recall-tally.ts";

/** Queries made of stored records in one round. */
const RECORDS = 200;
/** One query in this many is a recent one, while there are any. */
const QUERY_EVERY = 4;
/** Hits that are counted at least: a search for fewer finds no smaller share of them. */
const COUNT_MIN = 10;
/** After each of these many queries, a level that is certainly too low is raised. */
const LOOK_EVERY = 25;
/** Changes during the searches of one query. */
const CHANGES_MAX = 1_000;
/** Records that are drawn at most, for RECORDS that count: without those a round is not a measurement. */
const DRAWN_MAX = 4 * RECORDS;
/** Numbers that are drawn to find a record: at most half of them and GAPS_MIN are free (record-table.ts). */
const DRAWS_MAX = 64;

const noFilter = compileFilter("");
const NO_IDS: ReadonlySet<string> = new Set();

interface Draw extends SampledQuery {
  readonly excludedIds: ReadonlySet<string>;
  readonly isRecord: boolean;
}

interface MutableTally extends LevelTally {
  walkCount: number;
  scanCount: number;
}

export interface RecallRoundOptions {
  readonly namespace: Namespace;
  readonly recall: NamespaceRecall;
  /** The number of the class. */
  readonly number: number;
  readonly random: Random;
}

export class RecallRound implements SearchJob, Measurement {
  readonly #options: RecallRoundOptions;
  readonly #queries: readonly SampledQuery[];
  readonly firstLevel: number;
  readonly levels: readonly MutableTally[];
  countMax = COUNT_MIN;
  /** Records that were drawn, those of them that count, and recent queries taken. */
  #drawnCount = 0;
  #recordCount = 0;
  #queryCount = 0;
  /** The next query, while its vector is read from a file. */
  #drawn: Draw | undefined;
  #run: SampleRun | undefined;

  constructor(options: RecallRoundOptions) {
    const { recall, number } = options;
    const topLevel = topLevelOf(recall.settings.effortMax);
    this.#options = options;
    this.#queries = [...recall.queriesOf(number)];
    this.firstLevel = Math.max(0, Math.min(topLevel, recall.levelOf(number)) - 1);
    this.levels = Array.from({ length: topLevel - this.firstLevel + 1 }, () => ({
      records: new RecallTally(),
      queries: new RecallTally(),
      walkCount: 0,
      scanCount: 0,
    }));
  }

  /** True if enough queries counted, when all steps are done. keeps (3) */
  get isEnough(): boolean {
    return this.#recordCount >= RECORDS;
  }

  get sampledCount(): number {
    return this.#queries.length;
  }

  /** Returns true when the whole sample is measured. */
  step(taker?: TaskTaker): boolean {
    if (this.#run === undefined) {
      const late = new LateRows();
      const draw = this.#drawn ?? this.#draw(late);
      this.#drawn = undefined;
      if (draw === undefined) return true;
      const reading = late.read();
      if (reading !== undefined) {
        assert(taker !== undefined, "a round over rows in files can wait");
        this.#drawn = draw;
        taker.waitFor(reading);
        return false;
      }
      this.countMax = Math.max(this.countMax, draw.count);
      const { namespace, recall } = this.#options;
      this.#run = new SampleRun(namespace, draw, this.#effortsOf(draw, recall.settings.effortMax));
    }
    if (!this.#run.step(taker)) return false;
    this.#count(this.#run);
    this.#run = undefined;
    return false;
  }

  /** Ends a round that is no longer needed. Not stepped after that. */
  abandon(): void {
    this.#run?.abandon();
    this.#run = undefined;
  }

  #effortsOf({ count, excludedIds }: Draw, effortMax: number): readonly number[] {
    const wanted = count + excludedIds.size;
    return this.levels.map((_, i) => effortAt(this.firstLevel + i, wanted, effortMax));
  }

  /** The next query; undefined at the end. keeps (1) */
  #draw(late: LateRows): Draw | undefined {
    const drawn = this.#drawnCount + this.#queryCount;
    const query = this.#queries[this.#queryCount];
    const hasRecords = this.#recordCount < RECORDS && this.#drawnCount < DRAWN_MAX;
    const isQueryNext = drawn % QUERY_EVERY === QUERY_EVERY - 1 || !hasRecords;
    if (query !== undefined && isQueryNext) {
      this.#queryCount += 1;
      return { ...query, count: Math.max(COUNT_MIN, query.count), excludedIds: NO_IDS, isRecord: false };
    }
    if (!hasRecords) return undefined;
    this.#drawnCount += 1;
    return this.#drawRecord(late);
  }

  #drawRecord(late: LateRows): Draw | undefined {
    const { namespace, random } = this.#options;
    const { table } = namespace;
    const like = this.#queries[random.below(this.#queries.length)];
    for (let i = 0; i < DRAWS_MAX && table.end > 0; i += 1) {
      const record = random.below(table.end);
      const id = table.idOf(record);
      if (id === undefined) continue;
      const vector = namespace.vectorOf(record, late);
      if (vector === undefined) continue;
      return {
        vector,
        filter: like?.filter ?? noFilter,
        count: Math.max(COUNT_MIN, like?.count ?? 0),
        excludedIds: new Set([id]),
        isRecord: true,
      };
    }
    return undefined;
  }

  #count({ draw, wanted, found, scannedFrom }: SampleRun): void {
    if (wanted === 0) return;
    if (draw.isRecord) this.#recordCount += 1;
    for (const [i, tally] of this.levels.entries()) {
      (draw.isRecord ? tally.records : tally.queries).add(found[i] ?? wanted, wanted);
      if (i < found.length) tally.walkCount += 1;
      else if (i >= scannedFrom) tally.scanCount += 1;
    }
    const { recall, number } = this.#options;
    if ((this.#drawnCount + this.#queryCount) % LOOK_EVERY === 0) recall.raise(number, this);
  }
}

/** One query: the exact search, then the walks. */
class SampleRun implements SearchJob {
  readonly draw: Draw;
  /** The number of nearest records; 0 if the query does not count. */
  wanted = 0;
  /** How many of them the walks of each level found, up to the first that found all. */
  readonly found: number[] = [];
  /** The index of the first level that is a scan. */
  scannedFrom = Number.POSITIVE_INFINITY;
  readonly #namespace: Namespace;
  readonly #efforts: readonly number[];
  readonly #mark: number;
  readonly #seen = new Set<number>();
  #search: NamespaceSearch;
  /** The rank of the last of the nearest records, when they are known. */
  #leastRank: number | undefined;

  constructor(namespace: Namespace, draw: Draw, efforts: readonly number[]) {
    this.#namespace = namespace;
    this.draw = draw;
    this.#efforts = efforts;
    this.#mark = namespace.changes.begin();
    this.#search = this.#newSearch("exact");
  }

  step(taker?: TaskTaker): boolean {
    if (this.#namespace.changes.countSince(this.#mark) > CHANGES_MAX) {
      this.abandon();
      this.wanted = 0;
      return true;
    }
    const isOver = this.#step(taker);
    if (isOver) this.#end();
    return isOver;
  }

  abandon(): void {
    this.#search.abandon();
    this.#namespace.changes.end();
  }

  #step(taker: TaskTaker | undefined): boolean {
    const isDone = this.#search.step(taker);
    if (this.#leastRank !== undefined && this.#search.isScan) {
      // Its result is known.
      this.scannedFrom = this.found.length;
      if (!isDone) this.#search.abandon();
      return true;
    }
    if (!isDone) return false;
    const { hits } = this.#search;
    for (const { record } of hits) this.#seen.add(record);
    if (this.#leastRank === undefined) {
      const last = hits.at(-1);
      if (last === undefined) return true;
      this.wanted = hits.length;
      this.#leastRank = last.rank;
    } else {
      // Any of several equally near records counts.
      const least = this.#leastRank;
      const count = hits.filter(({ rank }) => rank >= least).length;
      this.found.push(Math.min(count, this.wanted));
      if (count >= this.wanted) return true;
    }
    const effort = this.#efforts[this.found.length];
    if (effort === undefined) return true;
    this.#search = this.#newSearch(effort);
    return false;
  }

  /** keeps (3) */
  #end(): void {
    for (const record of this.#namespace.changes.since(this.#mark)) if (this.#seen.has(record)) this.wanted = 0;
    this.#namespace.changes.end();
  }

  /** keeps (2) */
  #newSearch(effort: number | "exact"): NamespaceSearch {
    const { vector, filter, count, excludedIds } = this.draw;
    return new NamespaceSearch(this.#namespace, {
      vector,
      sparseVector: undefined,
      count,
      fusionDepth: count,
      filter,
      weighting: undefined,
      fusion: "RRF",
      excludedIds,
      effort,
    });
  }
}
