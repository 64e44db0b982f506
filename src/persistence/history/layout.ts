/**
 * The layout of the history's file.
 *
 *     progress   one row: the journal's position, the number of the next entry
 *     message    by number: user, id, attributes as JSON, detail
 *     entry      by (user, state, time, number): message; and an index by message
 *     detail     by entry number: the bytes that some entries carry
 *     span       time partitions of some PARTITION_ENTRIES entries each
 *     posting    by (span, value, message): the message has the value, and an entry in that partition
 *     dropped    users that were deleted and whose rows are being removed
 *
 * (1) Rows are written near the current time: entries at the ends of the ranges
 *     of their user and state, postings in the newest partition. So a batch
 *     changes few pages, whatever values it has and however many. An index by
 *     value alone would change a page for each value.
 * (2) `entry` needs no other index by state: a listing of one state reads one
 *     range, and a listing of all states merges at most sixteen.
 * (3) A message has postings in each partition in which it has an entry. So a
 *     listing by value asks each partition once, and within a partition it can
 *     begin with the postings or with the entries, whichever are fewer.
 * (4) An entry's message exists and belongs to the entry's user.
 */
import type { Database } from "./database.ts";

/** The number of this layout. A history with another number is rebuilt. */
export const LAYOUT = 1;

/** Such a partition costs a listing at most 2 ms, and 5 million entries need 150 of them. bench/history.bench.ts */
export const PARTITION_ENTRIES = 32_768;

/** The end of the newest partition. */
export const TIME_MS_END = Number.MAX_SAFE_INTEGER;

export const PAGE_BYTES = 4_096;
/** The size in pages at which the WAL is copied into the file. */
const CHECKPOINT_PAGES = 4_096;
const WAL_BYTES_MAX = 16 * 1024 * 1024;
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

/** Configures a connection and creates the tables in an empty file. Returns false if the file has another layout. */
export function prepareForWriting(database: Database): boolean {
  database.execute(`PRAGMA page_size = ${PAGE_BYTES}`);
  // Set while the file is empty, so that the file can shrink in steps (free-space.ts).
  if (database.pragma("schema_version") === 0) database.execute("PRAGMA auto_vacuum = INCREMENTAL");
  database.execute("PRAGMA journal_mode = WAL");
  // Entries lost in a power cut are read from the journal again.
  database.execute("PRAGMA synchronous = NORMAL");
  database.execute(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
  database.execute(`PRAGMA journal_size_limit = ${WAL_BYTES_MAX}`);
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
