/**
 * SQLite as far as the history needs it. The only file that imports
 * `node:sqlite`, so that another binding would be a change to one file.
 *
 * What SQLite reports is sorted here into what can be done about it; the
 * numbers are those of sqlite.org/rescode.html.
 */
import { DatabaseSync, type SQLInputValue, type SQLOutputValue, type StatementSync } from "node:sqlite";
import { assert } from "../../kernel/assert.ts";

/** `?` and `$name` parameters; rows are objects. */
export type Statement = StatementSync;
export type Row = Record<string, SQLOutputValue>;
export type Parameters = Record<string, SQLInputValue>;

/** `damaged`: the file is not what was written. `no space`: nothing is lost, later it may succeed. */
export type DatabaseFailure = "damaged" | "no space" | "other";

const SQLITE_CORRUPT = 11;
const SQLITE_FULL = 13;
const SQLITE_NOTADB = 26;
/** The file that connections share has no room to grow: what a full disk says when a database is opened. */
const SQLITE_IOERR_SHMSIZE = 4_874;
/** Extended codes keep the primary one in their low byte. */
const PRIMARY_CODE = 0xff;

/** The other connection holds a lock for moments only. */
const BUSY_MS_MAX = 5_000;

export class Database {
  readonly #database: DatabaseSync;

  /** `path` is a file or `:memory:`. Throws what `failureOf` sorts. */
  constructor(path: string, { readOnly }: { readOnly: boolean }) {
    this.#database = new DatabaseSync(path, { readOnly, timeout: BUSY_MS_MAX });
  }

  execute(sql: string): void {
    this.#database.exec(sql);
  }

  prepare(sql: string): Statement {
    return this.#database.prepare(sql);
  }

  /** One number of a pragma, such as `page_count`. */
  pragma(name: string): number {
    return numberOf(Object.values(this.#database.prepare(`PRAGMA ${name}`).get() ?? {})[0]);
  }

  /** All of `work` or none of it. */
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

  /** Everything that `work` reads is of one moment. */
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

/** What kind of failure SQLite reported; undefined for an error that is not SQLite's. */
export function failureOf(fault: unknown): DatabaseFailure | undefined {
  if (!(fault instanceof Error && "errcode" in fault && typeof fault.errcode === "number")) return undefined;
  const code = fault.errcode & PRIMARY_CODE;
  if (code === SQLITE_CORRUPT || code === SQLITE_NOTADB) return "damaged";
  return code === SQLITE_FULL || fault.errcode === SQLITE_IOERR_SHMSIZE ? "no space" : "other";
}

/** A column that holds a number. */
export function numberOf(value: SQLOutputValue | undefined): number {
  assert(typeof value === "number", "the column holds a number");
  return value;
}

/** A column that holds text. */
export function textOf(value: SQLOutputValue | undefined): string {
  assert(typeof value === "string", "the column holds text");
  return value;
}

/** A column that holds bytes. */
export function bytesOf(value: SQLOutputValue | undefined): Uint8Array {
  assert(value instanceof Uint8Array, "the column holds bytes");
  return value;
}
