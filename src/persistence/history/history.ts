/**
 * The history: which message came into which state when, for listings. It is
 * derived from the journal and never on the way of a message: whatever is lost
 * here is read from the journal again.
 *
 * (1) A batch is written whole, together with the position after it. So what
 *     is in the history is what the journal says up to `position`, no more and
 *     no less.
 * (2) `syncedPosition` survives a power cut, `position` the end of the process.
 *     A segment of the journal may go when `syncedPosition` has passed it.
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
  /** States after which nothing comes. Only then is a message forgotten with its entries; others may get new ones. */
  readonly lastStates: readonly number[];
  /** Entries of a partition: tests want many short ones. */
  readonly partitionEntries?: number;
  /** Told when a file of an earlier version, most of which was free, was written once more. */
  onRewritten?(rewrite: Rewrite): void;
}

/** The file has another layout. It is derived anew. */
export class OtherLayout extends Error {
  override name = "OtherLayout";
}

/** What later entries of a message need of it. */
interface KnownMessage {
  readonly user: number;
  /** Of its values. */
  readonly hashes: readonly number[];
  /** The last partition in which it was given postings; -1: unknown. */
  partition: number;
}

/** So many messages are kept in memory, and at most so many more. */
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
  /** Two generations: when the young one is full, the old one is forgotten and the young one is the old one. */
  #young = new Map<number, KnownMessage>();
  #old = new Map<number, KnownMessage>();

  /**
   * Opens the history at `path` (`:memory:` keeps nothing), and makes it if there is none. Throws SQLite's errors
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
    this.#removal = new Removal(database, options.lastStates, (message) => this.#forget(message));
    this.#freeSpace = new FreeSpace(database, options.onRewritten ?? (() => {}));
    this.#listing = new HistoryListing(database, options.partitionEntries);
    this.#readProgress();
  }

  /** Everything that the journal says up to here is in the history. */
  get position(): number {
    return this.#position;
  }

  /** As `position`, after a power cut (2). Nothing is known to be, until `sync` was called. */
  get syncedPosition(): number {
    return this.#syncedPosition;
  }

  /** What the rows take, in bytes; the file may be longer. */
  get usedBytes(): number {
    const pages = this.#database.pragma("page_count") - this.#database.pragma("freelist_count");
    return pages * this.#database.pragma("page_size");
  }

  /**
   * Writes a batch: all of it or, when this throws, nothing. A batch that is in already changes nothing. Throws SQLite's
   * errors; after `no space` the same batch may be written later.
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

  /** Makes what was written durable: `syncedPosition` becomes `position`. */
  sync(): void {
    // A commit under FULL syncs the log of changes to its end, all earlier commits with it.
    this.#database.execute("PRAGMA synchronous = FULL");
    try {
      this.#database.inTransaction(() => this.#statements.keepProgress.run(this.#position, this.#nextEntry));
    } finally {
      this.#database.execute("PRAGMA synchronous = NORMAL");
    }
    this.#syncedPosition = this.#position;
  }

  /**
   * Removes entries older than `timeMs`, messages whose last state is older with all their entries, and what deleted
   * users left behind. One call takes some milliseconds; true while there is more.
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

  /** Removes the oldest entries, some thousand at most: for a history that is full. False if there are none. */
  removeOldest(): boolean {
    const timeMs = this.#removal.findOldMs();
    if (timeMs !== undefined) this.removeBefore(timeMs + 1);
    return timeMs !== undefined;
  }

  /**
   * Gives some of the file's free space back to the file system, and at the end the log of changes. One call takes some
   * milliseconds, but for a file of an earlier version that is mostly free: that is written once more. True while there
   * is more.
   */
  shrinkSome(): boolean {
    const isMore = this.#freeSpace.giveBackSome();
    if (!isMore) this.#freeSpace.emptyLog();
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
    this.#statements.keepProgress.run(batch.position, this.#nextEntry);
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
    // Of a message that nobody can list any more, or from before the history that is derived anew begins.
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

  #readProgress(): void {
    const row = this.#statements.progress.get();
    this.#position = numberOf(row?.["position"]);
    this.#nextEntry = numberOf(row?.["next_entry"]);
  }

  /** A transaction was undone: memory goes by the file again. */
  #reread(): void {
    this.#young.clear();
    this.#old.clear();
    this.#partitions.read();
    this.#readProgress();
  }
}

/** The id is found like a value. */
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
    // A user that is dropped twice: what it has now goes as well.
    dropUser: prepare(
      `INSERT INTO dropped VALUES (?, (SELECT ifnull(max(number), -1) FROM message), -1)
       ON CONFLICT (user) DO UPDATE SET last_message = excluded.last_message, swept_message = -1`,
    ),
    progress: prepare("SELECT position, next_entry FROM progress"),
    keepProgress: prepare("UPDATE progress SET position = ?, next_entry = ?"),
  };
}
