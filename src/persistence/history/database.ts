/**
 * The part of SQLite that the history needs. No other file of the history
 * imports `node:sqlite`, so that another binding would change only this file.
 *
 * SQLite's errors are classified by what can be done about them; the numbers are
 * those of sqlite.org/rescode.html.
 */
import { DatabaseSync, type SQLInputValue, type SQLOutputValue, type StatementSync } from "node:sqlite";
import { assert } from "../../kernel/assert.ts";

/** `?` and `$name` parameters; rows are objects. */
export type Statement = StatementSync;
export type Row = Record<string, SQLOutputValue>;
export type Parameters = Record<string, SQLInputValue>;

/** `damaged`: the file differs from what was written. `no space`: nothing is lost, and a later try may succeed. */
export type DatabaseFailure = "damaged" | "no space" | "other";

const SQLITE_CORRUPT = 11;
const SQLITE_FULL = 13;
const SQLITE_NOTADB = 26;
/** The shared-memory file of the connections cannot grow: the error of opening a database on a full disk. */
const SQLITE_IOERR_SHMSIZE = 4_874;
/** Extended codes keep the primary one in their low byte. */
const PRIMARY_CODE = 0xff;

/** The other connection holds its locks only briefly. */
const BUSY_MS_MAX = 5_000;

export class Database {
  readonly #database: DatabaseSync;

  /** `path` is a file or `:memory:`. Throws errors that `failureOf` classifies. */
  constructor(path: string, { readOnly }: { readOnly: boolean }) {
    this.#database = new DatabaseSync(path, { readOnly, timeout: BUSY_MS_MAX });
  }

  execute(sql: string): void {
    this.#database.exec(sql);
  }

  prepare(sql: string): Statement {
    return this.#database.prepare(sql);
  }

  /** The number of a pragma such as `page_count`. */
  pragma(name: string): number {
    return numberOf(Object.values(this.#database.prepare(`PRAGMA ${name}`).get() ?? {})[0]);
  }

  /** Commits all changes of `work`, or none if it throws. */
  inTransaction<Result>(work: () => Result): Result {
    this.#database.exec("BEGIN IMMEDIATE");
    try {
      const result = work();
      this.#database.exec("COMMIT");
      return result;
    } catch (fault) {
      // A failure such as a full disk may have ended the transaction already.
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      throw fault;
    }
  }

  /** `work` reads from one consistent snapshot. */
  inSnapshot<Result>(work: () => Result): Result {
    this.#database.exec("BEGIN");
    try {
      return work();
    } finally {
      if (this.#database.isTransaction) this.#database.exec("COMMIT");
    }
  }

  close(): void {
    this.#database.close();
  }
}

/** The kind of an error from SQLite; undefined for any other error. */
export function failureOf(fault: unknown): DatabaseFailure | undefined {
  if (!(fault instanceof Error && "errcode" in fault && typeof fault.errcode === "number")) return undefined;
  const code = fault.errcode & PRIMARY_CODE;
  if (code === SQLITE_CORRUPT || code === SQLITE_NOTADB) return "damaged";
  return code === SQLITE_FULL || fault.errcode === SQLITE_IOERR_SHMSIZE ? "no space" : "other";
}

export function numberOf(value: SQLOutputValue | undefined): number {
  assert(typeof value === "number", "the column holds a number");
  return value;
}

export function textOf(value: SQLOutputValue | undefined): string {
  assert(typeof value === "string", "the column holds text");
  return value;
}

export function bytesOf(value: SQLOutputValue | undefined): Uint8Array {
  assert(value instanceof Uint8Array, "the column holds bytes");
  return value;
}
