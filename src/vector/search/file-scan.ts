/**
 * An exact scan of rows of which most are in files. The state is that of its
 * first step: it holds all files and has the rows in memory; records that change
 * later are in the change log of the search. Files are scanned one after the other
 * by another thread, or block by block by the thread pool if no thread reads.
 */
import { assert } from "../../kernel/assert.ts";
import type { FileRows, RankedQuery } from "../row-files/file-rows.ts";
import { entryBytesOf, HEAD_BYTES, NO_RECORD, RowEntries, type VersionedRow } from "../row-files/row-entries.ts";
import type { HeldFiles } from "../row-files/row-files.ts";
import { similarityRows } from "../rows/similarity.ts";
import { scannedTogether } from "../threads/file-ranker.ts";
import type { TaskTaker } from "../threads/search-task.ts";
import { hasBit } from "./bits.ts";
import { type Hit, TopHits } from "./top-hits.ts";

/** Rows in memory of a step. */
const STEP_ROWS = 1_024;
/** Read together by the thread pool, and ranked in one step. */
const BLOCK_BYTES = 1_048_576;
/** The expected time of a row. bench/row-files.bench.ts */
const MS_PER_ROW = 0.001_3;

export interface FileScanOptions {
  readonly rows: FileRows;
  readonly by: RankedQuery;
  /** The number of hits. */
  readonly count: number;
  /** A record's place in insertion order. */
  order(record: number): number;
  /** Records that may be hits, as bits; all if undefined. */
  readonly matches: Uint32Array | undefined;
  readonly excluded: ReadonlySet<number>;
}

interface BufferedRow {
  readonly record: number;
  readonly row: VersionedRow;
}

interface ScannedFile {
  readonly held: HeldFiles["files"][number];
  /** By entry; `NO_RECORD` for those that are not scanned. */
  readonly records: Uint32Array;
}

interface ReadBlock {
  readonly file: ScannedFile;
  readonly first: number;
  readonly entries: RowEntries;
}

export class FileScan {
  readonly #options: FileScanOptions;
  readonly #hits: TopHits;
  #held: HeldFiles | undefined;
  #buffered: BufferedRow[] = [];
  #files: ScannedFile[] = [];
  /** The first entry of the first file that the thread pool has not read. */
  #nextEntry = 0;
  #usesPool = false;
  #arrived: (() => void) | undefined;
  #isWaiting = false;
  #isAbandoned = false;

  constructor(options: FileScanOptions) {
    this.#options = options;
    this.#hits = new TopHits(options.count, (record) => options.order(record));
  }

  /** Returns true when done. Otherwise the next step is when what it waits for is there. */
  step(taker: TaskTaker | undefined): boolean {
    if (this.#held === undefined) this.#begin();
    if (this.#isWaiting) return false;
    const arrived = this.#arrived;
    this.#arrived = undefined;
    arrived?.();
    if (this.#buffered.length > 0) {
      this.#rankBuffered();
      return false;
    }
    const [file] = this.#files;
    if (file === undefined) {
      this.#release();
      return true;
    }
    assert(taker !== undefined, "a scan of rows in files can wait");
    if (this.#usesPool) this.#readBlock(taker, file);
    else this.#giveTo(taker, file);
    return false;
  }

  /** The best rows, best first. */
  hits(): Hit[] {
    return this.#hits.sorted();
  }

  /** Ends a scan that is not done. */
  abandon(): void {
    this.#isAbandoned = true;
    if (!this.#isWaiting) this.#release();
  }

  #begin(): void {
    const { rows } = this.#options;
    for (const record of rows.bufferedRecords) {
      const row = rows.buffered(record);
      if (row !== undefined && this.#passes(record)) this.#buffered.push({ record, row });
    }
    this.#held = rows.holdFiles();
    for (const held of this.#held.files) {
      const records = held.records.slice();
      let count = 0;
      for (let entry = 0; entry < records.length; entry += 1) {
        const record = records[entry] as number;
        if (record === NO_RECORD) continue;
        if (this.#passes(record)) count += 1;
        else records[entry] = NO_RECORD;
      }
      if (count > 0) this.#files.push({ held, records });
    }
  }

  #passes(record: number): boolean {
    const { matches, excluded } = this.#options;
    return (matches === undefined || hasBit(matches, record)) && !excluded.has(record);
  }

  #rankBuffered(): void {
    const { rows, by } = this.#options;
    for (const { record, row } of this.#buffered.splice(0, STEP_ROWS)) this.#offer(record, rows.rank(by, row));
  }

  #offer(record: number, rank: number): void {
    this.#hits.offer(record, rank, similarityRows[this.#options.by.similarity].score(rank));
  }

  #giveTo(taker: TaskTaker, file: ScannedFile): void {
    const { rows, by, count } = this.#options;
    const taken = taker.takeRead({
      kind: "file scan",
      costMs: file.records.length * MS_PER_ROW,
      ...by,
      descriptor: file.held.descriptor,
      records: file.records,
      count,
      done: (result) => {
        this.#returned();
        this.#arrived = () => {
          if (result !== undefined) this.#noteScan(file);
          if (result?.isDamaged === true) throw rows.damaged();
          // A lost task, or so many equal ranks that the thread cannot order them.
          if (result?.isComplete !== true) {
            this.#usesPool = true;
            return;
          }
          for (const [i, record] of result.records.entries()) this.#offer(record, result.ranks[i] as number);
          this.#files.shift();
        };
      },
    });
    if (taken === "taken") this.#isWaiting = true;
    else if (taken === "never") this.#usesPool = true;
  }

  /** Another thread has read a file. */
  #noteScan({ records }: ScannedFile): void {
    const { rows } = this.#options;
    const count = Math.ceil(records.length / scannedTogether(rows.dimension));
    rows.noteReads({ count, bytes: records.length * entryBytesOf(rows.dimension) });
  }

  #readBlock(taker: TaskTaker, file: ScannedFile): void {
    const { dimension } = this.#options.rows;
    const perBlock = Math.max(1, Math.floor(BLOCK_BYTES / entryBytesOf(dimension)));
    const first = this.#nextEntry;
    const entries = RowEntries.ofCount(dimension, Math.min(perBlock, file.records.length - first));
    this.#isWaiting = true;
    const reading = file.held.read(entries.bytes, HEAD_BYTES + first * entryBytesOf(dimension)).then(
      () => {
        this.#returned();
        this.#options.rows.noteReads({ count: 1, bytes: entries.bytes.length });
        this.#arrived = () => this.#rankBlock({ file, first, entries });
      },
      (failure: unknown) => {
        this.#returned();
        this.#arrived = () => {
          throw this.#options.rows.failed(failure);
        };
      },
    );
    taker.waitFor(reading);
  }

  #rankBlock({ file, first, entries }: ReadBlock): void {
    const { rows, by } = this.#options;
    for (let i = 0; i < entries.count; i += 1) {
      const record = file.records[first + i] as number;
      if (record === NO_RECORD) continue;
      if (!entries.isWhole(i)) throw rows.damaged();
      const row = { version: entries.versionOf(i), squaredLength: entries.squaredLengthOf(i) };
      this.#offer(record, rows.rank(by, { ...row, values: entries.valuesOf(i) }));
    }
    this.#nextEntry = first + entries.count;
    if (this.#nextEntry < file.records.length) return;
    this.#files.shift();
    this.#nextEntry = 0;
    this.#usesPool = false;
  }

  /** A reader is done. */
  #returned(): void {
    this.#isWaiting = false;
    if (this.#isAbandoned) this.#release();
  }

  #release(): void {
    this.#held?.release();
    this.#buffered = [];
    this.#files = [];
  }
}
