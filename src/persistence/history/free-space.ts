/**
 * Space that removed entries leave in the history's file goes back to the file
 * system.
 *
 * (1) Some free pages are kept, because what comes next takes them: the file
 *     would otherwise shrink and grow again all the time.
 * (2) A file that was made before knows no steps. It is written once more as a
 *     whole when most of it is free: then that costs less than what it saves.
 * (3) The log of changes is emptied when nobody reads it, so that it takes no
 *     more than the last minutes need. Nobody is waited for.
 */
import { type Database, failureOf } from "./database.ts";
import { PAGE_BYTES } from "./layout.ts";

/** Pages that one step gives back: some 10 ms. */
const STEP_PAGES = 2_000;
/** keeps (1) */
const FREE_PAGES_KEPT = (4 * 1024 * 1024) / PAGE_BYTES;
const FREE_SHARE_KEPT = 0.25;
/** Files with less free space are left as they are: (2). */
const REWRITTEN_FREE_PAGES_MIN = (16 * 1024 * 1024) / PAGE_BYTES;
/** What `PRAGMA auto_vacuum` says of a file that can shrink in steps. */
const INCREMENTAL = 2;

export interface Rewrite {
  readonly bytesBefore: number;
  readonly bytesAfter: number;
}

export class FreeSpace {
  readonly #database: Database;
  /** A file that could not be written once more is left as it is until the next start. */
  #mayRewrite = true;
  readonly #onRewritten: (rewrite: Rewrite) => void;

  constructor(database: Database, onRewritten: (rewrite: Rewrite) => void) {
    this.#database = database;
    this.#onRewritten = onRewritten;
  }

  /** Gives some pages back. True while there is more to give. Throws SQLite's errors. */
  giveBackSome(): boolean {
    const database = this.#database;
    const free = database.pragma("freelist_count");
    const used = database.pragma("page_count") - free;
    if (database.pragma("auto_vacuum") !== INCREMENTAL) {
      if (this.#mayRewrite && free > used && free >= REWRITTEN_FREE_PAGES_MIN) this.#rewrite(); // keeps (2)
      return false;
    }
    const kept = Math.max(FREE_PAGES_KEPT, Math.floor(used * FREE_SHARE_KEPT)); // keeps (1)
    if (free <= kept) return false;
    // One row for each page, so that it is `all` that does it.
    database.prepare(`PRAGMA incremental_vacuum(${Math.min(STEP_PAGES, free - kept)})`).all();
    return free - kept > STEP_PAGES;
  }

  /** keeps (3). Throws SQLite's errors. */
  emptyLog(): void {
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
    // As a file: what remains may be more than fits into memory.
    database.execute("PRAGMA temp_store = FILE");
    try {
      database.execute(`PRAGMA auto_vacuum = ${INCREMENTAL}`);
      database.execute("VACUUM");
    } catch (fault) {
      // Nothing has changed, and without room for it the file stays as long as it is.
      if (failureOf(fault) === "no space") return;
      throw fault;
    } finally {
      database.execute("PRAGMA temp_store = MEMORY");
    }
    this.#onRewritten({ bytesBefore, bytesAfter: database.pragma("page_count") * PAGE_BYTES });
  }
}
