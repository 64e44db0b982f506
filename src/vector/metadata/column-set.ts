/**
 * The columns of one namespace: for each field that filters asked for lately,
 * one. A new one reads all records once; after that it follows the log.
 *
 * (1) A column that is complete and whose `position` is the end of the log holds
 *     every record as it is now.
 * (2) The columns of one request are built together, and all complete ones
 *     follow together: each text is parsed once for all of them.
 * (3) Whoever acquired a column may use it to the end, also when it is no longer
 *     kept here: then it stands still, as of its position, unless it is followed
 *     for by its holder.
 */
import type { FieldPath } from "../filter/field-path.ts";
import type { Json } from "../filter/json.ts";
import { Column } from "./column.ts";
import type { MetadataStore } from "./metadata-store.ts";
import { parsingCost, type Slice } from "./slice.ts";

/** Columns of one namespace. */
export const COLUMNS_MAX = 64;
/** Columns together may take this much, and more in a namespace with much metadata. */
const BYTES_FREE = 64 * 1024 * 1024;
const BYTES_PER_TEXT_BYTE = 2;
/** Fields without a column of which is known what going without one has cost. */
const DEBTS_MAX = 256;

const NO_METADATA: Json = Object.freeze(Object.create(null));

export class ColumnSet {
  readonly #store: MetadataStore;
  /** By the text of the path, in the order of last use. */
  readonly #columns = new Map<string, Column>();
  /** What was spent on parsing single records for want of a column, by the text of its path. */
  readonly #debts = new Map<string, number>();

  constructor(store: MetadataStore) {
    this.#store = store;
  }

  /** About. */
  get byteCount(): number {
    let bytes = 0;
    for (const column of this.#columns.values()) bytes += column.byteCount;
    return bytes;
  }

  /** Whether the field has a complete column, which at most must follow the log. */
  isReady({ text }: FieldPath): boolean {
    const column = this.#columns.get(text);
    return column?.isComplete === true && this.#canFollow(column);
  }

  /** A column for each path, made now where there is none. At most COLUMNS_MAX. */
  acquire(paths: readonly FieldPath[]): readonly Column[] {
    const columns = paths.map((path) => {
      const known = this.#columns.get(path.text);
      const column = known !== undefined && this.#canFollow(known) ? known : this.#newColumn(path);
      this.#columns.delete(path.text);
      this.#columns.set(path.text, column);
      return column;
    });
    this.#evict(new Set(columns));
    return columns;
  }

  /** Reads the records that these columns have not read yet. True: they are complete. */
  build(columns: readonly Column[], slice: Slice): boolean {
    const building = columns.filter(({ isComplete }) => !isComplete);
    let record = Math.min(...building.map(({ readLimit }) => readLimit));
    // keeps (2)
    for (; record < this.#store.limit; record += 1) {
      if (slice.left <= 0) return false;
      this.#read(
        record,
        building.filter(({ readLimit }) => readLimit === record),
        slice,
      );
      for (const column of building) if (column.readLimit === record) column.readLimit = record + 1;
    }
    for (const column of building) {
      column.readLimit = Number.POSITIVE_INFINITY;
      this.#debts.delete(column.path.text);
    }
    return true;
  }

  /** Lets these complete columns, and all others here, follow the log to its end. True: they are there. */
  follow(columns: readonly Column[], slice: Slice): boolean {
    const { log } = this.#store;
    if (columns.every(({ position }) => position === log.end)) return true;
    const followers = [...new Set([...columns, ...this.#columns.values()])].filter(
      (column) => column.isComplete && this.#canFollow(column),
    );
    for (let done = 0; ; ) {
      const from = Math.min(...followers.map(({ position }) => position));
      if (from === log.end) return true;
      // keeps (2)
      const last = followers.filter(({ position }) => position === from);
      const to = Math.min(log.end, ...followers.map(({ position }) => position).filter((position) => position > from));
      for (let position = from; position < to; position += 1) {
        if (slice.left <= 0 && done >= slice.owedCount) return false;
        this.#read(log.at(position), last, slice);
        for (const column of last) column.position = position + 1;
        done += 1;
      }
    }
  }

  /**
   * Whether to parse single records at this cost instead of building these columns. Yes until that has cost as much as
   * building them: so whatever is asked, it costs at most twice what the better of the two would have.
   */
  mayGoWithout(paths: readonly FieldPath[], cost: number): boolean {
    const building = parsingCost(this.#store.limit, this.#store.byteCount);
    if (paths.some(({ text }) => (this.#debts.get(text) ?? 0) + cost > building)) return false;
    for (const { text } of paths) {
      const debt = this.#debts.get(text) ?? 0;
      this.#debts.delete(text);
      this.#debts.set(text, debt + cost);
    }
    for (const text of this.#debts.keys()) {
      if (this.#debts.size <= DEBTS_MAX) break;
      this.#debts.delete(text);
    }
    return true;
  }

  #read(record: number, columns: readonly Column[], slice: Slice): void {
    const text = this.#store.text(record);
    slice.takeParsing(text);
    slice.left -= COLUMN_COST * columns.length;
    if (!this.#store.has(record)) {
      for (const column of columns) column.remove(record);
      return;
    }
    const metadata = this.#store.parsed(record) ?? NO_METADATA;
    for (const column of columns) column.put(record, metadata);
  }

  #newColumn(path: FieldPath): Column {
    const column = new Column(path);
    column.position = this.#store.log.end;
    column.reserve(this.#store.limit);
    return column;
  }

  #canFollow({ position }: Column): boolean {
    return position >= this.#store.log.start;
  }

  #evict(wanted: ReadonlySet<Column>): void {
    const bytesMax = BYTES_FREE + BYTES_PER_TEXT_BYTE * this.#store.byteCount;
    let bytes = this.byteCount;
    for (const [text, column] of this.#columns) {
      if (this.#columns.size <= COLUMNS_MAX && bytes <= bytesMax) return;
      if (wanted.has(column)) continue;
      bytes -= column.byteCount;
      this.#columns.delete(text);
    }
  }
}

/** Reading one field of a parsed record into its column. */
const COLUMN_COST = 60;
