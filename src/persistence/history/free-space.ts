/**
 * Returns the space of removed entries in the history's file to the file system.
 *
 * (1) Some free pages stay for new entries: otherwise the file would shrink and
 *     grow all the time.
 * (2) A file of an earlier version cannot shrink in steps. It is rewritten as a
 *     whole when most of it is free: then the rewrite costs less than it saves.
 * (3) The WAL is truncated when no connection reads it, so that it takes only
 *     the space of the last minutes. The truncation does not wait for readers.
 */
import { type Database, failureOf } from "./database.ts";
import { PAGE_BYTES } from "./layout.ts";

/** Pages that one step returns: some 10 ms. */
const STEP_PAGES = 2_000;
/** keeps (1) */
const FREE_PAGES_MIN = (4 * 1024 * 1024) / PAGE_BYTES;
const FREE_SHARE_MIN = 0.25;
/** Files with less free space are not rewritten (2). */
const REWRITTEN_FREE_PAGES_MIN = (16 * 1024 * 1024) / PAGE_BYTES;
/** The value of `PRAGMA auto_vacuum` for a file that can shrink in steps. */
const INCREMENTAL = 2;

export interface Rewrite {
  readonly bytesBefore: number;
  readonly bytesAfter: number;
}

export class FreeSpace {
  readonly #database: Database;
  /** A file that could not be rewritten stays as it is until the next start. */
  #mayRewrite = true;
  readonly #onRewritten: (rewrite: Rewrite) => void;

  constructor(database: Database, onRewritten: (rewrite: Rewrite) => void) {
    this.#database = database;
    this.#onRewritten = onRewritten;
  }

  /** Returns some pages to the file system. True while there are more. Throws SQLite's errors. */
  shrinkSome(): boolean {
    const database = this.#database;
    const free = database.pragma("freelist_count");
    const used = database.pragma("page_count") - free;
    if (database.pragma("auto_vacuum") !== INCREMENTAL) {
      if (this.#mayRewrite && free > used && free >= REWRITTEN_FREE_PAGES_MIN) this.#rewrite(); // keeps (2)
      return false;
    }
    const freeMin = Math.max(FREE_PAGES_MIN, Math.floor(used * FREE_SHARE_MIN)); // keeps (1)
    if (free <= freeMin) return false;
    // The statement yields a row for each page, so `all` is needed to run it to the end.
    database.prepare(`PRAGMA incremental_vacuum(${Math.min(STEP_PAGES, free - freeMin)})`).all();
    return free - freeMin > STEP_PAGES;
  }

  /** keeps (3). Throws SQLite's errors. */
  truncateWal(): void {
    const database = this.#database;
    const waitMs = database.pragma("busy_timeout");
    database.execute("PRAGMA busy_timeout = 0");
    try {
      database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").all();
    } finally {
      database.execute(`PRAGMA busy_timeout = ${waitMs}`);
    }
  }

  #rewrite(): void {
    const database = this.#database;
    this.#mayRewrite = false;
    const bytesBefore = database.pragma("page_count") * PAGE_BYTES;
    // In a file, because the remaining data may not fit into memory.
    database.execute("PRAGMA temp_store = FILE");
    try {
      database.execute(`PRAGMA auto_vacuum = ${INCREMENTAL}`);
      database.execute("VACUUM");
    } catch (fault) {
      // Nothing has changed: without space for the rewrite the file keeps its size.
      if (failureOf(fault) === "no space") return;
      throw fault;
    } finally {
      database.execute("PRAGMA temp_store = MEMORY");
    }
    this.#onRewritten({ bytesBefore, bytesAfter: database.pragma("page_count") * PAGE_BYTES });
  }
}
