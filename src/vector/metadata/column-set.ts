/**
 * The columns of one namespace: one for each field that filters used lately. A
 * new column reads all records once; after that it follows the log.
 *
 * (1) A complete column whose `position` is the end of the log holds the current
 *     value of every record.
 * (2) The columns of one request are built together, and all complete ones
 *     follow together: each text is parsed once for all of them.
 * (3) The holder of an acquired column may use it to the end, even after it was
 *     evicted here: then it stays at its position unless its holder updates it.
 */
import type { FieldPath } from "../filter/field-path.ts";
import type { Json } from "../filter/json.ts";
import { Column } from "./column.ts";
import type { MetadataStore } from "./metadata-store.ts";
import type { Slice } from "./slice.ts";

/** The most columns of one namespace. */
export const COLUMNS_MAX = 64;
/** The most bytes of all columns together; more in a namespace with much metadata. */
const BYTES_FREE = 64 * 1024 * 1024;
const BYTES_PER_TEXT_BYTE = 2;
/** The most fields without a column whose cost of parsing is tracked. */
const DEBTS_MAX = 256;

/** The cost of reading one field of a parsed record into its column. */
const COLUMN_COST = 60;

const NO_METADATA: Json = Object.freeze(Object.create(null));

export class ColumnSet {
  readonly #store: MetadataStore;
  /** By the text of the path, in the order of last use. */
  readonly #columns = new Map<string, Column>();
  /** How many records were parsed for lack of a column, by the text of its path. */
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

  /** Whether the field has a complete column, which at most needs to follow the log. */
  isReady({ text }: FieldPath): boolean {
    const column = this.#columns.get(text);
    return column?.isComplete === true && this.#canFollow(column);
  }

  /** Returns a column for each path, and creates missing ones. At most COLUMNS_MAX. */
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

  /** Whether the log has dropped changes that one of these columns has not seen. They are then acquired again. */
  hasLost(columns: readonly Column[]): boolean {
    return columns.some((column) => !this.#canFollow(column));
  }

  /** Reads the records that these columns have not read yet. Returns true if they are complete. */
  build(columns: readonly Column[], slice: Slice): boolean {
    const building = columns.filter(({ isComplete }) => !isComplete);
    if (building.length === 0) return true;
    for (;;) {
      // keeps (2)
      const { from, to, last } = hindmost(building, "readLimit", this.#store.limit);
      for (let record = from; record < to; record += 1) {
        if (slice.left <= 0) return false;
        this.#read(record, last, slice);
        for (const column of last) column.readLimit = record + 1;
      }
      if (to < this.#store.limit) continue;
      for (const column of building) {
        column.readLimit = Number.POSITIVE_INFINITY;
        this.#debts.delete(column.path.text);
      }
      return true;
    }
  }

  /** Lets these complete columns, and all others here, follow the log. Returns true if they have reached its end. */
  follow(columns: readonly Column[], slice: Slice): boolean {
    const { log } = this.#store;
    if (columns.every(({ position }) => position === log.end)) return true;
    const followers = [...new Set([...columns, ...this.#columns.values()])].filter(
      (column) => column.isComplete && this.#canFollow(column),
    );
    for (let done = 0; ; ) {
      // keeps (2)
      const { from, to, last } = hindmost(followers, "position", log.end);
      for (let position = from; position < to; position += 1) {
        if (slice.left <= 0 && done >= slice.owedCount) return false;
        this.#read(log.at(position), last, slice);
        for (const column of last) column.position = position + 1;
        done += 1;
      }
      if (to === log.end) return true;
    }
  }

  /**
   * Whether to parse this many records instead of building these columns. True until the parsing has cost as much as
   * the building would: so the total is at most twice the cost of the better choice.
   */
  mayGoWithout(paths: readonly FieldPath[], recordCount: number): boolean {
    const { limit } = this.#store;
    if (paths.some(({ text }) => (this.#debts.get(text) ?? 0) + recordCount > limit)) return false;
    for (const { text } of paths) {
      const debt = this.#debts.get(text) ?? 0;
      this.#debts.delete(text);
      this.#debts.set(text, debt + recordCount);
    }
    for (const text of this.#debts.keys()) {
      if (this.#debts.size <= DEBTS_MAX) break;
      this.#debts.delete(text);
    }
    return true;
  }

  #read(record: number, columns: readonly Column[], slice: Slice): void {
    slice.takeParsing(this.#store.textBytesOf(record));
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
    const bytesMax = BYTES_FREE + BYTES_PER_TEXT_BYTE * this.#store.textBytes;
    let bytes = this.byteCount;
    for (const [text, column] of this.#columns) {
      if (this.#columns.size <= COLUMNS_MAX && bytes <= bytesMax) return;
      if (wanted.has(column)) continue;
      bytes -= column.byteCount;
      this.#columns.delete(text);
    }
  }
}

/** The columns with the least progress, and how far they may go before they meet the next. */
function hindmost(columns: readonly Column[], progress: "readLimit" | "position", end: number): Hindmost {
  const from = Math.min(end, ...columns.map((column) => column[progress]));
  const others = columns.map((column) => column[progress]).filter((reached) => reached > from);
  return { from, to: Math.min(end, ...others), last: columns.filter((column) => column[progress] === from) };
}

interface Hindmost {
  readonly from: number;
  readonly to: number;
  readonly last: readonly Column[];
}
