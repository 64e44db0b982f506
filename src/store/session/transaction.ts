/**
 * The transaction of a session: WATCH and MULTI.
 *
 * (1) A watched key is observed from WATCH until the session unwatches, starts
 *     EXEC, or leaves. If it changes in between, EXEC returns null. A key that
 *     had expired at WATCH counts as absent there. A key that expired since then
 *     counts as changed, removed or not.
 * (2) After a command was refused instead of queued, EXEC refuses the whole
 *     transaction.
 * (3) The queue and the set of watched keys are bounded.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import type { CommandFacts, CommandRequest } from "../command-facts.ts";
import { type CommandError, transactionTooLarge, transactionTooLong, watchesTooMany } from "../errors.ts";
import type { KeyObserver } from "../observe/key-observers.ts";
import type { SessionHost } from "./host.ts";

/** Limits of the commands of a transaction, in bytes and in number: it is one unit of work. */
const QUEUE_BYTES_MAX = 256 * 1024 * 1024;
const QUEUE_COUNT_MAX = 100_000;
/** Approximate memory of a queued command beside its bytes, and of each of its words. */
const COMMAND_BYTES = 96;
const WORD_BYTES = 24;
const WATCHED_KEYS_MAX = 1_000_000;

/** (3) */
export interface TransactionLimits {
  readonly queueBytesMax: number;
  readonly queueCountMax: number;
  readonly watchedKeysMax: number;
}

const defaultLimits: TransactionLimits = {
  queueBytesMax: QUEUE_BYTES_MAX,
  queueCountMax: QUEUE_COUNT_MAX,
  watchedKeysMax: WATCHED_KEYS_MAX,
};

/** Memory of these words while they are queued. */
function bytesOf(words: CommandRequest): number {
  let bytes = COMMAND_BYTES;
  for (const word of words) bytes += WORD_BYTES + word.length;
  return bytes;
}

/** Why these commands may not be one transaction: too many, or too long. Undefined if they may. */
export function sizeRefusalOf(requests: readonly CommandRequest[]): CommandError | undefined {
  if (requests.length > QUEUE_COUNT_MAX) return transactionTooLong(QUEUE_COUNT_MAX);
  let bytes = 0;
  for (const words of requests) bytes += bytesOf(words);
  return bytes > QUEUE_BYTES_MAX ? transactionTooLarge : undefined;
}

/** A command that waits for EXEC. It was checked when it was queued. */
export interface QueuedCommand {
  readonly command: CommandFacts;
  readonly words: CommandRequest;
}

/** What a transaction needs of the database of its watched keys. */
export type WatchedDatabase = Pick<SessionHost, "keyspace" | "observers">;

export class Transaction implements KeyObserver {
  /** True between MULTI and its end. */
  isOpen = false;
  /** True once a command was refused instead of queued: (2). */
  isRefused = false;
  /** True once a watched key has changed: (1). */
  hasChanged = false;
  readonly #limits: TransactionLimits;
  #queued: QueuedCommand[] = [];
  #queuedBytes = 0;
  #database: WatchedDatabase | undefined;
  /** Watched keys, with whether they existed then. */
  readonly #watched = new Map<Bytes, boolean>();

  constructor(limits = defaultLimits) {
    this.#limits = limits;
  }

  get queued(): readonly QueuedCommand[] {
    return this.#queued;
  }

  get queuedBytes(): number {
    return this.#queuedBytes;
  }

  get watchedKeys(): Iterable<Bytes> {
    return this.#watched.keys();
  }

  /** The number of watched keys. */
  get watchedCount(): number {
    return this.#watched.size;
  }

  /** @throws {CommandError} if the queue is full. */
  queue(command: QueuedCommand): void {
    const bytes = bytesOf(command.words);
    // keeps (3)
    if (this.#queuedBytes + bytes > this.#limits.queueBytesMax) throw transactionTooLarge;
    if (this.#queued.length >= this.#limits.queueCountMax) throw transactionTooLong(this.#limits.queueCountMax);
    this.#queuedBytes += bytes;
    this.#queued.push(command);
  }

  /** Ends it, with any outcome; afterwards nothing is queued or watched. */
  end(): void {
    this.isOpen = false;
    this.isRefused = false;
    this.#queued = [];
    this.#queuedBytes = 0;
    this.unwatch();
  }

  /** Within a unit of work. @throws {CommandError} if the limit of watched keys would be exceeded. */
  watch(database: WatchedDatabase, keys: readonly Bytes[]): void {
    // EXEC returns null anyway.
    if (this.hasChanged) return;
    this.#database = database;
    for (const key of keys) {
      if (this.#watched.has(key)) continue;
      if (this.#watched.size >= this.#limits.watchedKeysMax) throw watchesTooMany; // keeps (3)
      // Removes an expired key before it is observed: keeps (1).
      this.#watched.set(key, database.keyspace.peek(key) !== undefined);
      database.observers.add(key, this);
    }
  }

  unwatch(): void {
    for (const key of this.#watched.keys()) this.#database?.observers.remove(key, this);
    this.#watched.clear();
    this.hasChanged = false;
  }

  /** Looks for watched keys that expired since, within the unit of work of EXEC: (1). */
  noteExpired(): void {
    for (const [key, existed] of this.#watched) {
      if (this.hasChanged) return;
      // If expired keys may not be removed, no observer is notified.
      if (existed && this.#database?.keyspace.peek(key) === undefined) this.hasChanged = true;
    }
  }

  keyChanges(): void {
    this.hasChanged = true;
  }
}
