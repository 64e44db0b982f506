/**
 * The ranks of the rows of chosen records, of which some are in files: read by
 * another thread, or by the thread pool if no thread reads. Each rank is that of
 * the row that the record had when it was read, and comes with its version.
 */
import { assert } from "../../kernel/assert.ts";
import type { FileRows, RankedQuery } from "../row-files/file-rows.ts";
import { entryBytesOf, type VersionedRow } from "../row-files/row-entries.ts";
import type { TaskTaker } from "../threads/search-task.ts";
import type { LateHits } from "./late-hits.ts";
import type { TopHits } from "./top-hits.ts";

/** Records of a step, of a task, and of a read by the thread pool. */
const STEP_RECORDS = 1_024;
const TASK_RECORDS = 512;
/** Of the first task for the hits of a walk, and for each of them: further hits are usually unlikely after 16 for 12. */
const FIRST_RECORDS = 24;
const FIRST_RECORDS_PER_HIT = 2;
const POOL_RECORDS = 64;
/** The expected time of a row in the page cache. bench/row-files.bench.ts */
const MS_PER_ROW = 0.005;

export interface RankOfRow {
  readonly record: number;
  readonly version: number;
  readonly rank: number;
}

/** The order of candidates. */
export interface RankedWalk {
  /** By record, the distances by code. */
  readonly distances: ReadonlyMap<number, number>;
  /** The number of wanted hits. */
  readonly hitCount: number;
  readonly lateHits: LateHits;
  /** The hits so far. */
  readonly top: Pick<TopHits, "threshold">;
}

export interface RowRanksOptions {
  readonly rows: FileRows;
  readonly by: RankedQuery;
  /** Records may be missing by now; those are omitted. */
  readonly records: readonly number[];
  /** If the records are the candidates of a walk: the ranking ends when further hits are unlikely. */
  readonly walk?: RankedWalk | undefined;
  /** Called for each rank, rows in memory first. */
  offer(rank: RankOfRow): void;
}

export class RowRanks {
  readonly #options: RowRanksOptions;
  /** Records that were not looked at yet begin here. */
  #next = 0;
  /** Records whose rows are in files, and those of them that were ranked or have no row now. */
  readonly #inFiles: number[] = [];
  #doneCount = 0;
  /** What another thread or the thread pool has read, for the next step. */
  #arrived: (() => void) | undefined;
  #isWaiting = false;
  /** A thread has lost a task, and may lose the next one too. */
  #usesPool = false;

  constructor(options: RowRanksOptions) {
    this.#options = options;
  }

  /** Returns true when done. Otherwise the next step is when what it waits for is there. */
  step(taker: TaskTaker | undefined): boolean {
    // It was called too early, by a turn that was queued before.
    if (this.#isWaiting) return false;
    const arrived = this.#arrived;
    this.#arrived = undefined;
    arrived?.();
    this.#rankBuffered();
    if (this.#next < this.#options.records.length) return false;
    if (this.#isOver()) return true;
    assert(taker !== undefined, "a search of rows in files can wait");
    this.#read(taker);
    return false;
  }

  /** Whether no record is left, or further hits are unlikely among those that are. */
  #isOver(): boolean {
    const next = this.#inFiles[this.#doneCount];
    if (next === undefined) return true;
    const { walk } = this.#options;
    if (walk === undefined) return false;
    return walk.lateHits.isUnlikely(walk.distances.get(next) ?? 0, walk.top.threshold);
  }

  #rankBuffered(): void {
    const { rows, by, records } = this.#options;
    const end = Math.min(records.length, this.#next + STEP_RECORDS);
    for (; this.#next < end; this.#next += 1) {
      const record = records[this.#next] as number;
      const row = rows.buffered(record);
      if (row !== undefined) this.#options.offer({ record, version: row.version, rank: rows.rank(by, row) });
      else if (rows.has(record)) this.#inFiles.push(record);
    }
  }

  #offer(ranked: RankOfRow): void {
    const { walk, offer } = this.#options;
    if (walk !== undefined) {
      const { record, rank } = ranked;
      walk.lateHits.note(walk.distances.get(record) ?? 0, { rank, isHit: rank >= walk.top.threshold });
    }
    offer(ranked);
  }

  #read(taker: TaskTaker): void {
    const { rows, by, walk } = this.#options;
    const isFirst = walk !== undefined && this.#doneCount === 0;
    const countMax = isFirst ? FIRST_RECORDS + FIRST_RECORDS_PER_HIT * walk.hitCount : TASK_RECORDS;
    const records = this.#inFiles.slice(this.#doneCount, this.#doneCount + countMax);
    if (this.#usesPool) {
      this.#readByPool(taker, records.slice(0, POOL_RECORDS));
      return;
    }
    const held = rows.hold(records);
    // A row that is gone, or in memory now, is of a record that changed: it is scored again at the end of the search.
    const found = records.flatMap((record, i) => {
      const place = held.places[i];
      return place === undefined ? [] : [{ record, place }];
    });
    if (found.length === 0) {
      held.release();
      this.#doneCount += records.length;
      return;
    }
    const taken = taker.takeRead({
      kind: "rank",
      costMs: found.length * MS_PER_ROW,
      ...by,
      places: found.map(({ place }) => place),
      hitCount: walk?.hitCount ?? 0,
      distances: walk === undefined ? [] : found.map(({ record }) => walk.distances.get(record) ?? 0),
      done: (result) => {
        held.release();
        this.#isWaiting = false;
        this.#arrived = () => {
          if (result === undefined) {
            this.#usesPool = true;
            return;
          }
          const readCount = result.ranks.length + (result.isDamaged ? 1 : 0);
          rows.noteReads({ count: readCount, bytes: readCount * entryBytesOf(rows.dimension) });
          for (const [i, rank] of result.ranks.entries()) {
            const { record, place } = found[i] as (typeof found)[number];
            this.#offer({ record, version: place.version, rank });
          }
          if (result.isDamaged) throw rows.damaged();
          // A task that ended earlier has found that further hits are unlikely.
          this.#doneCount =
            result.ranks.length < found.length ? this.#inFiles.length : this.#doneCount + records.length;
        };
      },
    });
    if (taken === "taken") this.#isWaiting = true;
    else held.release();
    if (taken === "never") this.#readByPool(taker, records.slice(0, POOL_RECORDS));
  }

  #readByPool(taker: TaskTaker, records: readonly number[]): void {
    const { rows } = this.#options;
    this.#isWaiting = true;
    const reading = rows.readRows(records).then(
      (read) => {
        this.#isWaiting = false;
        this.#arrived = () => this.#rankRead(records, read);
      },
      (failure: unknown) => {
        this.#isWaiting = false;
        this.#arrived = () => {
          throw failure;
        };
      },
    );
    taker.waitFor(reading);
  }

  #rankRead(records: readonly number[], read: readonly (VersionedRow | undefined)[]): void {
    const { rows, by } = this.#options;
    for (const [i, record] of records.entries()) {
      this.#doneCount += 1;
      const row = read[i];
      if (row === undefined) continue;
      this.#offer({ record, version: row.version, rank: rows.rank(by, row) });
      if (this.#isOver()) return;
    }
  }
}
