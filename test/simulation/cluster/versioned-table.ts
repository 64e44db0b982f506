/**
 * Rows in versions, as PostgreSQL keeps them under READ COMMITTED: a statement
 * sees what was committed when it began, and a row that it locks or changes is
 * read again after a wait. Transactions have numbers, which a snapshot names as
 * `txid_current_snapshot()` of PostgreSQL does.
 */

/** Undefined while the transaction runs; the number of its commit, or "aborted". */
export class Transaction {
  /** 0: it only reads. */
  readonly number: number;
  #end: number | "aborted" | undefined;
  readonly #atEnd: (() => void)[] = [];

  constructor(number = 0) {
    this.number = number;
  }

  get isRunning(): boolean {
    return this.#end === undefined;
  }

  /** Whether its changes are visible to a statement that began after that many commits. */
  isVisibleTo(reader: Transaction, commits: number): boolean {
    return this === reader || (typeof this.#end === "number" && this.#end <= commits);
  }

  get isCommitted(): boolean {
    return typeof this.#end === "number";
  }

  end(how: number | "aborted"): void {
    this.#end = how;
    for (const call of this.#atEnd) call();
  }

  /** Undoes a commit that a failover has lost. */
  lose(): void {
    this.#end = "aborted";
  }

  atEnd(call: () => void): void {
    this.#atEnd.push(call);
  }
}

/** The transactions that a statement sees the ends of. */
export class Snapshot {
  /** The lowest number of those that run. */
  readonly min: number;
  /** The next number. */
  readonly max: number;
  readonly #running: ReadonlySet<number>;

  constructor(max: number, running: Iterable<number>) {
    this.max = max;
    this.#running = new Set(running);
    this.min = Math.min(max, ...this.#running);
  }

  /** From `12:15:12,13`. */
  static parse(text: string): Snapshot {
    const [, max = "", running = ""] = text.split(":");
    return new Snapshot(Number(max), running === "" ? [] : running.split(",").map(Number));
  }

  toString(): string {
    return `${this.min}:${this.max}:${[...this.#running].toSorted((a, b) => a - b).join(",")}`;
  }

  sees(number: number): boolean {
    return number < this.max && !this.#running.has(number);
  }
}

interface Version<Row> {
  readonly row: Row;
  readonly madeBy: Transaction;
  removedBy: Transaction | undefined;
}

interface Slot<Row> {
  readonly versions: Version<Row>[];
  lockedBy: Transaction | undefined;
  /** Those who wait for the row, first come first. */
  readonly queue: { readonly transaction: Transaction; readonly goOn: () => void }[];
}

/** A statement: its transaction, and the number of commits before it began. */
export interface Statement {
  readonly transaction: Transaction;
  readonly commits: number;
}

export interface TableOptions<Row> {
  /** Changes a row before a transaction writes it instead of another one, as a trigger does. */
  readonly stamp?: (row: Row, before: Row | undefined, transaction: number) => Row;
  /** An index: the rows with the same value are found without the others. */
  readonly indexed?: (row: Row) => string | undefined;
}

export class VersionedTable<Row> {
  readonly #slots = new Map<string, Slot<Row>>();
  readonly #options: TableOptions<Row>;
  /** The keys that each transaction has written. */
  readonly #written = new Map<number, Set<string>>();
  /** The keys that have ever had an indexed value. */
  readonly #index = new Map<string, Set<string>>();

  constructor(options: TableOptions<Row> = {}) {
    this.#options = options;
  }

  /** The row as the statement sees it. */
  find(key: string, { transaction, commits }: Statement): Row | undefined {
    return this.#slots
      .get(key)
      ?.versions.findLast(
        ({ madeBy, removedBy }) =>
          madeBy.isVisibleTo(transaction, commits) && removedBy?.isVisibleTo(transaction, commits) !== true,
      )?.row;
  }

  /** All rows as the statement sees them, with their keys. */
  rows(statement: Statement): [string, Row][] {
    const rows: [string, Row][] = [];
    for (const key of this.#slots.keys()) {
      const row = this.find(key, statement);
      if (row !== undefined) rows.push([key, row]);
    }
    return rows;
  }

  /** The rows with an indexed value as the statement sees them. */
  rowsWith(value: string, statement: Statement): Row[] {
    const rows = [...(this.#index.get(value) ?? [])].map((key) => this.find(key, statement));
    return rows.filter((row) => row !== undefined && this.#options.indexed?.(row) === value) as Row[];
  }

  /** The rows that transactions with numbers from `min` to before `max` have written, as the statement sees them. */
  rowsWritten({ min, max }: { readonly min: number; readonly max: number }, statement: Statement): Row[] {
    const keys = new Set<string>();
    for (let number = min; number < max; number += 1) for (const key of this.#written.get(number) ?? []) keys.add(key);
    return [...keys].map((key) => this.find(key, statement)).filter((row) => row !== undefined) as Row[];
  }

  /**
   * Locks a row that the statement sees, after others that hold it have ended. Returns the latest row, or undefined if
   * it does not pass: before a wait or after it.
   */
  async lock(key: string, statement: Statement, passes: (row: Row) => boolean): Promise<Row | undefined> {
    const seen = this.find(key, statement);
    if (seen === undefined || !passes(seen)) return undefined;
    const slot = this.#slot(key);
    await this.#take(slot, statement.transaction);
    // PostgreSQL locks the latest version before it checks it, and keeps the lock.
    const latest = currentOf(slot);
    return latest !== undefined && passes(latest.row) ? latest.row : undefined;
  }

  /** Replaces a locked row. */
  update(key: string, { transaction }: Statement, row: Row): void {
    const slot = this.#slot(key);
    const version = currentOf(slot, transaction);
    if (version !== undefined) version.removedBy = transaction;
    this.#write(key, transaction, { row, before: version?.row });
  }

  remove(key: string, { transaction }: Statement): void {
    const version = currentOf(this.#slot(key), transaction);
    if (version !== undefined) version.removedBy = transaction;
  }

  /** Inserts a row unless the key is taken, also by a row that the statement does not see. Returns the taken row. */
  async insert(key: string, statement: Statement, row: Row): Promise<Row | undefined> {
    const slot = this.#slot(key);
    await this.#take(slot, statement.transaction);
    const taken = currentOf(slot, statement.transaction);
    if (taken !== undefined) return taken.row;
    this.#write(key, statement.transaction, { row, before: undefined });
    return undefined;
  }

  #write(key: string, transaction: Transaction, { row, before }: { row: Row; before: Row | undefined }): void {
    const { stamp, indexed } = this.#options;
    const stamped = stamp?.(row, before, transaction.number) ?? row;
    this.#slot(key).versions.push({ row: stamped, madeBy: transaction, removedBy: undefined });
    if (stamp !== undefined) addTo(this.#written, transaction.number, key);
    const value = indexed?.(stamped);
    if (value !== undefined) addTo(this.#index, value, key);
  }

  #slot(key: string): Slot<Row> {
    let slot = this.#slots.get(key);
    if (slot === undefined) {
      slot = { versions: [], lockedBy: undefined, queue: [] };
      this.#slots.set(key, slot);
    }
    return slot;
  }

  /** Waits until no other running transaction holds the row, and holds it. */
  async #take(slot: Slot<Row>, transaction: Transaction): Promise<void> {
    if (slot.lockedBy === transaction) return;
    if (slot.lockedBy !== undefined) await new Promise<void>((goOn) => slot.queue.push({ transaction, goOn }));
    slot.lockedBy = transaction;
    transaction.atEnd(() => {
      if (slot.lockedBy === transaction) release(slot);
    });
  }
}

/** Gives a row to the first who waits for it. */
function release<Row>(slot: Slot<Row>): void {
  const next = slot.queue.shift();
  slot.lockedBy = next?.transaction;
  next?.goOn();
}

/** The version that is committed, or made by this transaction, and not removed. */
function currentOf<Row>({ versions }: Slot<Row>, by?: Transaction): Version<Row> | undefined {
  const counts = (transaction: Transaction | undefined): boolean =>
    transaction !== undefined && (transaction === by || transaction.isCommitted);
  return versions.findLast(({ madeBy, removedBy }) => counts(madeBy) && !counts(removedBy));
}

function addTo<Key>(sets: Map<Key, Set<string>>, key: Key, item: string): void {
  const set = sets.get(key) ?? new Set();
  sets.set(key, set.add(item));
}
