/**
 * What a session has begun with WATCH and MULTI.
 *
 * (1) A watched key is observed from WATCH until the session unwatches, begins
 *     to execute, or leaves; a change of it in between makes EXEC answer
 *     nothing. A key that was past its time at WATCH counts as absent there, and
 *     one whose time has come since as changed, removed or not.
 * (2) A command that was refused instead of queued makes EXEC refuse the whole.
 * (3) The queue and the set of watched keys are bounded.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import type { CommandFacts, CommandRequest } from "../command-facts.ts";
import { type CommandError, transactionTooLarge, transactionTooLong, watchesTooMany } from "../errors.ts";
import type { KeyObserver } from "../observe/key-observers.ts";
import type { SessionHost } from "./host.ts";

/** What the commands of a transaction may take, in bytes, and how many they may be: it is one unit of work. */
const QUEUE_BYTES_MAX = 256 * 1024 * 1024;
const QUEUE_COUNT_MAX = 100_000;
/** About what a queued command takes beside its bytes, and about what each of its words does. */
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

/** What these words take while they are queued. */
function bytesOf(words: CommandRequest): number {
  let bytes = COMMAND_BYTES;
  for (const word of words) bytes += WORD_BYTES + word.length;
  return bytes;
}

/** Why so many commands, or such long ones, may not be one transaction; undefined: they may. */
export function sizeRefusalOf(requests: readonly CommandRequest[]): CommandError | undefined {
  if (requests.length > QUEUE_COUNT_MAX) return transactionTooLong(QUEUE_COUNT_MAX);
  let bytes = 0;
  for (const words of requests) bytes += bytesOf(words);
  return bytes > QUEUE_BYTES_MAX ? transactionTooLarge : undefined;
}

/** A command that waits for EXEC. It was checked when it came. */
export interface QueuedCommand {
  readonly command: CommandFacts;
  readonly words: CommandRequest;
}

/** What a transaction asks of the database whose keys it watches. */
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

  /** How many keys are watched. */
  get watchedCount(): number {
    return this.#watched.size;
  }

  /** @throws {CommandError} when the queue is full. */
  queue(command: QueuedCommand): void {
    const bytes = bytesOf(command.words);
    // keeps (3)
    if (this.#queuedBytes + bytes > this.#limits.queueBytesMax) throw transactionTooLarge;
    if (this.#queued.length >= this.#limits.queueCountMax) throw transactionTooLong(this.#limits.queueCountMax);
    this.#queuedBytes += bytes;
    this.#queued.push(command);
  }

  /** Ends it, whatever came of it; nothing is queued or watched any more. */
  end(): void {
    this.isOpen = false;
    this.isRefused = false;
    this.#queued = [];
    this.#queuedBytes = 0;
    this.unwatch();
  }

  /** Within a unit of work. @throws {CommandError} when so many keys cannot be watched. */
  watch(database: WatchedDatabase, keys: readonly Bytes[]): void {
    // It answers nothing anyway.
    if (this.hasChanged) return;
    this.#database = database;
    for (const key of keys) {
      if (this.#watched.has(key)) continue;
      if (this.#watched.size >= this.#limits.watchedKeysMax) throw watchesTooMany; // keeps (3)
      // Removes it if it is past its time, before it is observed: keeps (1).
      this.#watched.set(key, database.keyspace.peek(key) !== undefined);
      database.observers.add(key, this);
    }
  }

  unwatch(): void {
    for (const key of this.#watched.keys()) this.#database?.observers.remove(key, this);
    this.#watched.clear();
    this.hasChanged = false;
  }

  /** Looks for watched keys whose time has come, within the unit of work of EXEC: (1). */
  noteExpired(): void {
    for (const [key, existed] of this.#watched) {
      if (this.hasChanged) return;
      // Where nothing may be removed, nobody is told.
      if (existed && this.#database?.keyspace.peek(key) === undefined) this.hasChanged = true;
    }
  }

  keyChanges(): void {
    this.hasChanged = true;
  }
}
