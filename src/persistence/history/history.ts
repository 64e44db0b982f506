/**
 * The history records when each message entered which state, for listings. It
 * is derived from the journal, and no delivery waits for it: lost entries are
 * read from the journal again.
 *
 * (1) A batch is written atomically, together with the position after it. So
 *     the history holds exactly the journal's entries up to `position`.
 * (2) `syncedPosition` survives a power cut, `position` the end of the process.
 *     A segment of the journal may be removed when `syncedPosition` has passed
 *     it.
 */
import { assert } from "../../kernel/assert.ts";
import { Database, numberOf, type Statement, textOf } from "./database.ts";
import { FreeSpace, type Rewrite } from "./free-space.ts";
import { prepareForWriting } from "./layout.ts";
import { HistoryListing } from "./listing.ts";
import type { HistoryPage, HistoryQuery } from "./query.ts";
import { type HistoryBatch, type HistoryEntry, type HistoryMessage, parseAttributes, STATE_MAX } from "./record.ts";
import { Removal } from "./removal.ts";
import { TimePartitions } from "./time-partitions.ts";
import { ID_NAME, valueHash } from "./value-hash.ts";

export interface HistoryOptions {
  /** Final states. Only messages in a final state are removed with their entries; others may get more entries. */
  readonly lastStates: readonly number[];
  /** Entries of a time partition: tests use many short ones. */
  readonly partitionEntries?: number;
  /** Called after the rewrite of an earlier version's file that was mostly free. */
  onRewritten?(rewrite: Rewrite): void;
}

/** The file has another layout, so the history must be rebuilt. */
export class OtherLayout extends Error {
  override name = "OtherLayout";
}

/** The facts about a message that its later entries need. */
interface KnownMessage {
  readonly user: number;
  /** The hashes of its values. */
  readonly hashes: readonly number[];
  /** The last partition in which it got postings; -1 if unknown. */
  partition: number;
}

/** The messages of each of the two generations in memory. */
const KNOWN_MESSAGES = 30_000;

export class History {
  readonly #database: Database;
  readonly #statements: ReturnType<typeof prepareStatements>;
  readonly #partitions: TimePartitions;
  readonly #removal: Removal;
  readonly #freeSpace: FreeSpace;
  readonly #listing: HistoryListing;
  #position = 0;
  #syncedPosition = 0;
  #nextEntry = 1;
  /** Two generations: a full young one replaces the old one. */
  #young = new Map<number, KnownMessage>();
  #old = new Map<number, KnownMessage>();

  /**
   * Opens the history at `path` (or `:memory:`), and creates it if it does not exist. Throws SQLite's errors
   * (`failureOf`) and `OtherLayout`.
   */
  static open(path: string, options: HistoryOptions): History {
    const database = new Database(path, { readOnly: false });
    try {
      if (!prepareForWriting(database)) throw new OtherLayout(`${path} has another layout`);
      return new History(database, options);
    } catch (fault) {
      database.close();
      throw fault;
    }
  }

  private constructor(database: Database, options: HistoryOptions) {
    this.#database = database;
    this.#statements = prepareStatements(database);
    this.#partitions = new TimePartitions(database, options.partitionEntries);
    this.#removal = new Removal(database, options.lastStates, {
      onMessageRemoved: (message) => this.#forget(message),
      onPostingsRemoved: (partition) => this.#forgetPostings(partition),
    });
    this.#freeSpace = new FreeSpace(database, options.onRewritten ?? (() => {}));
    this.#listing = new HistoryListing(database, options.partitionEntries);
    this.#readProgress();
  }

  /** The position of the journal up to which the history is complete. */
  get position(): number {
    return this.#position;
  }

  /** As `position`, but durable (2). 0 until `sync` was called. */
  get syncedPosition(): number {
    return this.#syncedPosition;
  }

  /** Bytes in use; the file may be longer. */
  get usedBytes(): number {
    const pages = this.#database.pragma("page_count") - this.#database.pragma("freelist_count");
    return pages * this.#database.pragma("page_size");
  }

  /**
   * Writes a batch: all of it or, if this throws, nothing. A batch that was written before changes nothing. Throws
   * SQLite's errors; after `no space` the same batch may be written later.
   */
  write(batch: HistoryBatch): void {
    if (batch.position <= this.#position) return;
    try {
      this.#database.inTransaction(() => this.#writeBatch(batch));
      this.#position = batch.position;
    } catch (fault) {
      this.#reread();
      throw fault;
    }
  }

  list(query: HistoryQuery): HistoryPage {
    return this.#listing.list(query);
  }

  /** Makes everything written durable: `syncedPosition` becomes `position`. */
  sync(): void {
    // A commit under FULL syncs the WAL to its end, including all earlier commits.
    this.#database.execute("PRAGMA synchronous = FULL");
    try {
      this.#database.inTransaction(() => this.#statements.writeProgress.run(this.#position, this.#nextEntry));
    } finally {
      this.#database.execute("PRAGMA synchronous = NORMAL");
    }
    this.#syncedPosition = this.#position;
  }

  /**
   * Removes entries older than `timeMs`, messages with an older final state together with all their entries, and all
   * data of deleted users. One call takes some milliseconds; true while there is more.
   */
  removeBefore(timeMs: number): boolean {
    try {
      const isMore = this.#database.inTransaction(() => this.#removal.removeSome(timeMs));
      this.#partitions.read();
      return isMore;
    } catch (fault) {
      this.#reread();
      throw fault;
    }
  }

  /** Removes the oldest entries, at most some thousand, from a full history. Returns false if it has no entries. */
  removeOldest(): boolean {
    const timeMs = this.#removal.findOldMs();
    if (timeMs !== undefined) this.removeBefore(timeMs + 1);
    return timeMs !== undefined;
  }

  /**
   * Returns some of the file's free space to the file system, and truncates the WAL at the end. One call takes some
   * milliseconds, except for the rewrite of an earlier version's file that is mostly free. True while there is more.
   */
  shrinkSome(): boolean {
    const isMore = this.#freeSpace.shrinkSome();
    if (!isMore) this.#freeSpace.truncateWal();
    return isMore;
  }

  close(): void {
    this.#database.close();
  }

  #writeBatch(batch: HistoryBatch): void {
    for (const message of batch.messages) this.#addMessage(message);
    for (const entry of batch.entries) this.#addEntry(entry);
    for (const user of batch.droppedUsers ?? []) this.#dropUser(user);
    this.#partitions.write();
    this.#statements.writeProgress.run(batch.position, this.#nextEntry);
  }

  #addMessage({ message, user, id, attributes, detail }: HistoryMessage): void {
    assert(Number.isSafeInteger(message) && message >= 0, "a message is numbered from 0 to 2^53 - 1");
    this.#statements.addMessage.run(message, user, id, JSON.stringify(attributes), detail);
    this.#know(message, { user, hashes: hashesOf(user, id, attributes), partition: -1 });
  }

  #addEntry({ message, timeMs, state, detail }: HistoryEntry): void {
    assert(Number.isSafeInteger(timeMs) && timeMs >= 0, "an entry has a time in ms");
    assert(Number.isInteger(state) && state >= 0 && state <= STATE_MAX, "a state is a number from 0 to 15");
    const known = this.#young.get(message) ?? this.#findMessage(message);
    // The message can no longer be listed, or is older than the first frame of a rebuilt history.
    if (known === undefined) return;
    const partition = this.#partitions.take(timeMs);
    if (partition !== known.partition) {
      const { addPosting } = this.#statements;
      for (const hash of known.hashes) addPosting.run(partition, hash, message);
      known.partition = partition;
    }
    const number = this.#nextEntry;
    this.#nextEntry += 1;
    this.#statements.addEntry.run(known.user, state, timeMs, number, message);
    if (detail !== undefined) this.#statements.addDetail.run(number, detail);
  }

  #dropUser(user: number): void {
    this.#statements.dropUser.run(user);
    this.#young.clear();
    this.#old.clear();
  }

  #findMessage(message: number): KnownMessage | undefined {
    const old = this.#old.get(message);
    if (old !== undefined) return this.#know(message, old);
    const row = this.#statements.findMessage.get(message);
    if (row === undefined) return undefined;
    const user = numberOf(row["user"]);
    const attributes = parseAttributes(textOf(row["attributes"]));
    return this.#know(message, { user, hashes: hashesOf(user, textOf(row["id"]), attributes), partition: -1 });
  }

  #know(message: number, known: KnownMessage): KnownMessage {
    if (this.#young.size >= KNOWN_MESSAGES) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(message, known);
    return known;
  }

  #forget(message: number): void {
    this.#young.delete(message);
    this.#old.delete(message);
  }

  /** The next entries of all messages get postings in this partition again. */
  #forgetPostings(partition: number): void {
    for (const messages of [this.#young, this.#old])
      for (const known of messages.values()) if (known.partition === partition) known.partition = -1;
  }

  #readProgress(): void {
    const row = this.#statements.progress.get();
    this.#position = numberOf(row?.["position"]);
    this.#nextEntry = numberOf(row?.["next_entry"]);
  }

  /** Restores the state in memory from the file after a rollback. */
  #reread(): void {
    this.#young.clear();
    this.#old.clear();
    this.#partitions.read();
    this.#readProgress();
  }
}

/** The id is indexed like a value. */
function hashesOf(user: number, id: string, attributes: HistoryMessage["attributes"]): readonly number[] {
  return [valueHash(user, ID_NAME, id), ...attributes.map(([name, value]) => valueHash(user, name, value))];
}

function prepareStatements(database: Database) {
  const prepare = (sql: string): Statement => database.prepare(sql);
  return {
    addMessage: prepare("INSERT OR IGNORE INTO message VALUES (?, ?, ?, ?, ?)"),
    addEntry: prepare("INSERT INTO entry VALUES (?, ?, ?, ?, ?)"),
    addDetail: prepare("INSERT INTO detail VALUES (?, ?)"),
    addPosting: prepare("INSERT OR IGNORE INTO posting VALUES (?, ?, ?)"),
    findMessage: prepare(
      `SELECT user, id, attributes FROM message WHERE number = ?
       AND number > ifnull((SELECT last_message FROM dropped WHERE dropped.user = message.user), -1)`,
    ),
    // If a user is dropped twice, its newer messages are removed too.
    dropUser: prepare(
      `INSERT INTO dropped VALUES (?, (SELECT ifnull(max(number), -1) FROM message), -1)
       ON CONFLICT (user) DO UPDATE SET last_message = excluded.last_message, swept_message = -1`,
    ),
    progress: prepare("SELECT position, next_entry FROM progress"),
    writeProgress: prepare("UPDATE progress SET position = ?, next_entry = ?"),
  };
}
