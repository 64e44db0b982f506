/**
 * How the history lies in its file.
 *
 *     progress   one row: the journal's position, the number of the next entry
 *     message    by number: user, id, attributes as JSON, detail
 *     entry      by (user, state, time, number): message; and an index by message
 *     detail     by entry number: the bytes that some entries carry
 *     span       a stretch of time that holds some PARTITION_ENTRIES entries
 *     posting    by (span, value, message): the message has the value, and an entry in that span
 *     dropped    users that were deleted and whose rows are being removed
 *
 * (1) Everything is written where time is now: entries at the ends of their
 *     user's and state's stretch, postings among those of the newest span. So a
 *     batch changes few pages, however many values there are and whatever they
 *     are. An index by value alone would change a page for each value.
 * (2) `entry` by state needs no other index: a listing of one state reads one
 *     stretch, a listing of all merges at most sixteen.
 * (3) A message has postings in each span in which it has an entry. So a
 *     listing by value asks each span once, and within a span it is free to
 *     begin with the postings or with the entries, whichever are fewer.
 * (4) An entry's message is there, and is of the entry's user.
 */
import type { Database } from "./database.ts";

/** Another layout is another number: the history is then derived anew. */
export const LAYOUT = 1;

/** A span of this many entries costs a listing 2 ms at most, and 5 million entries are 150 spans. bench/history.bench.ts */
export const PARTITION_ENTRIES = 32_768;

/** The end of the newest span. */
export const TIME_MS_END = Number.MAX_SAFE_INTEGER;

export const PAGE_BYTES = 4_096;
/** What the log of changes may grow to before it is copied into the file, in pages. */
const CHECKPOINT_PAGES = 4_096;
const LOG_BYTES_KEPT = 16 * 1024 * 1024;
const WRITER_CACHE_KIB = 16 * 1024;
const READER_CACHE_KIB = 8 * 1024;

const TABLES = `
  CREATE TABLE progress (
    only INTEGER PRIMARY KEY CHECK (only = 0), position INTEGER NOT NULL, next_entry INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE message (
    number INTEGER PRIMARY KEY, user INTEGER NOT NULL, id TEXT NOT NULL, attributes TEXT NOT NULL, detail BLOB NOT NULL
  ) STRICT;
  CREATE TABLE entry (
    user INTEGER NOT NULL, state INTEGER NOT NULL, time_ms INTEGER NOT NULL, number INTEGER NOT NULL,
    message INTEGER NOT NULL, PRIMARY KEY (user, state, time_ms, number)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX entry_of_message ON entry (message);
  CREATE TABLE detail (entry INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT;
  CREATE TABLE span (
    number INTEGER PRIMARY KEY, start_ms INTEGER NOT NULL, end_ms INTEGER NOT NULL, last_ms INTEGER NOT NULL,
    entry_count INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE posting (
    span INTEGER NOT NULL, value INTEGER NOT NULL, message INTEGER NOT NULL, PRIMARY KEY (span, value, message)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE dropped (
    user INTEGER PRIMARY KEY, last_message INTEGER NOT NULL, swept_message INTEGER NOT NULL
  ) STRICT;
  INSERT INTO progress VALUES (0, 0, 1);
  INSERT INTO span VALUES (0, 0, ${TIME_MS_END}, 0, 0);
  PRAGMA user_version = ${LAYOUT};
`;

/** Settles how a connection works, and lays out an empty file. Returns false if the file has another layout. */
export function prepareForWriting(database: Database): boolean {
  database.execute(`PRAGMA page_size = ${PAGE_BYTES}`);
  // Before anything is in the file: what is removed can then leave it in steps (free-space.ts).
  if (database.pragma("schema_version") === 0) database.execute("PRAGMA auto_vacuum = INCREMENTAL");
  database.execute("PRAGMA journal_mode = WAL");
  // What the last moments before a power cut lose is read from the journal again.
  database.execute("PRAGMA synchronous = NORMAL");
  database.execute(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
  database.execute(`PRAGMA journal_size_limit = ${LOG_BYTES_KEPT}`);
  database.execute(`PRAGMA cache_size = -${WRITER_CACHE_KIB}`);
  database.execute("PRAGMA temp_store = MEMORY");
  const layout = database.pragma("user_version");
  if (layout === 0 && database.pragma("schema_version") === 0) {
    database.inTransaction(() => database.execute(TABLES));
    return true;
  }
  return layout === LAYOUT;
}

export function prepareForListing(database: Database): void {
  database.execute(`PRAGMA cache_size = -${READER_CACHE_KIB}`);
  database.execute("PRAGMA temp_store = MEMORY");
}
