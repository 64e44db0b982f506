/**
 * The store: all databases of a server. They share only the journal and the
 * clock.
 */
import { assert } from "../kernel/assert.ts";
import type { Clock } from "../kernel/clock.ts";
import { FrameReader, FrameWriter } from "../kernel/frame.ts";
import { type Journal, NullJournal } from "../kernel/journal.ts";
import { MemoryAccount, type MemoryGuard } from "../kernel/memory-guard.ts";
import type { Random } from "../kernel/random.ts";
import { TURN_MS, Turns } from "../kernel/turns.ts";
import type { CommandRequest } from "./command-facts.ts";
import type { ProcessFigures, ServerSettings, SnapshotFacts } from "./command-host.ts";
import { answerBeforeLogin } from "./commands/before-login.ts";
import { restoreSettings } from "./commands/config.ts";
import type { RedisCompat } from "./commands/redis-compat.ts";
import { Database } from "./database.ts";
import { SWEEP_EVERY_MS } from "./memory/expiry-sweep.ts";
import { defaultMemorySettings, type MemorySettings } from "./memory/memory-settings.ts";
import { framesOfDatabase } from "./mutations/database-frames.ts";
import { readDatabaseChanges, STORE_ITSELF, writeDatabaseChange } from "./mutations/state/databases.ts";
import { applyRecords } from "./mutations/table.ts";
import type { Reply } from "./reply/reply.ts";
import { Interpreter, type LuaOptions } from "./scripting/scripts.ts";
import { atOnce, type InSlices } from "./search/slices.ts";
import { ORDER_SLICE } from "./search/upkeep/document-order.ts";
import { Session, type SessionOptions } from "./session/session.ts";
import type { StoreContext } from "./session/store-context.ts";

export interface StoreOptions {
  /** Absent: nothing is stored. */
  readonly journal?: Journal;
  readonly clock: Clock;
  readonly random: Random;
  /** The turns of the thread, which other engines share; absent: the store has the thread for itself. */
  readonly turns?: Turns;
  /** Secret seed of the hash tables: 8 bytes. */
  readonly hashSeed: Uint8Array;
  /** Commands a day per database; 0 or absent: no limit. */
  readonly dailyRequestsMax?: number;
  /** Entries that XREADGROUP leaves pending for one consumer of a group; 0 or absent: no limit. */
  readonly pendingEntriesMax?: number;
  /** The memory limit of each database, and what is evicted above it; absent settings have Redis' defaults. */
  readonly memory?: Partial<MemorySettings>;
  /** Decides which tenants may still take memory in this thread; absent: all. */
  readonly guard?: MemoryGuard | undefined;
  /** Settings that differ for the database of this name. */
  readonly memoryOf?: (name: string) => Partial<MemorySettings> | undefined;
  /** Additions for the tests of Redis; absent: not available. */
  readonly compat?: RedisCompat;
  /** Options of the Lua runtime; absent: scripts are refused. */
  readonly lua?: LuaOptions | undefined;
  /** Memory that undoing one script or transaction may take; absent: 128 MB. */
  readonly undoBytesMax?: number;
  /** Version of the program, for INFO. */
  readonly version?: string;
  /** Identifies this run for INFO: 40 hexadecimal digits; absent: zeros. */
  readonly runId?: string;
  /** The process, for INFO; absent: INFO omits those lines. */
  readonly process?: ProcessFigures;
  /** For CONFIG GET; absent: it omits them. */
  readonly settings?: ServerSettings;
  /** Whether what CONFIG SET chooses is stored; absent: it applies until the next start. */
  readonly keepsSettings?: boolean;
  /** Snapshots of the data directory; absent if nothing is stored. */
  readonly snapshots?: SnapshotFacts | undefined;
}

const UNDO_BYTES_MAX = 128 * 1024 * 1024;

/** Period of the cycle while there is more to evict: half of the time is for that, half for commands. */
const EVICT_EVERY_MS = 10;

/** The tenant that the expiry cycle uses beyond its first slice. No database has this name. */
const HOUSEKEEPING = "(housekeeping)";

/**
 * A session over TCP, before login, that may log in to databases of several stores. `numbers` counts the sessions of all.
 */
export function openSession(options: Omit<SessionOptions, "store">, numbers: { last: number }): Session {
  const takeSessionId = (): number => {
    numbers.last += 1;
    return numbers.last;
  };
  return new Session({ ...options, store: { takeSessionId, answerBeforeLogin } });
}

export class Store {
  readonly #context: StoreContext;
  readonly #byName = new Map<string, Database>();
  readonly #byNumber = new Map<number, Database>();
  #numberMax = STORE_ITSELF;
  /** The one under way; another one takes its place. */
  #orderRecording: object | undefined;
  #isRecovering = false;
  #sessionIdMax = 0;

  constructor(options: StoreOptions) {
    const frame = new FrameWriter();
    let broken: unknown;
    this.#context = {
      journal: options.journal ?? new NullJournal(),
      clock: options.clock,
      random: options.random,
      turns: options.turns ?? new Turns({ clock: options.clock.real }),
      hashSeed: options.hashSeed,
      dailyRequestsMax: options.dailyRequestsMax ?? 0,
      pendingEntriesMax: options.pendingEntriesMax ?? 0,
      memoryOf: (name) => ({ ...defaultMemorySettings, ...options.memory, ...options.memoryOf?.(name) }),
      openAccount: (name) => options.guard?.open(name) ?? new MemoryAccount(name),
      compat: options.compat,
      interpreter: new Interpreter({ lua: options.lua, clock: options.clock.real, random: options.random }),
      undoBytesMax: options.undoBytesMax ?? UNDO_BYTES_MAX,
      version: options.version ?? "0.0.0",
      runId: options.runId ?? "0".repeat(40),
      process: options.process,
      settings: options.settings,
      keepsSettings: options.keepsSettings ?? false,
      snapshots: options.snapshots,
      startedAtMs: options.clock.nowMs(),
      frame,
      reportBug: (error) => {
        if (frame.unitByteCount > 0) broken = error;
      },
      isSound: () => broken === undefined,
      assertSound: () => {
        if (broken !== undefined)
          throw new Error("The store stopped: memory is ahead of the journal", { cause: broken });
      },
    };
  }

  /** The database of this name, created (and journaled) if it does not exist. */
  database(name: string): Database {
    const known = this.#byName.get(name);
    if (known !== undefined) return known;
    const { frame, journal } = this.#context;
    const number = this.#numberMax + 1;
    writeDatabaseChange(frame, { number, name });
    journal.append(frame.take());
    return this.#create(name, number);
  }

  /** Removes a database and all its keys. */
  dropDatabase(name: string): void {
    const database = this.#byName.get(name);
    if (database === undefined) return;
    const { frame, journal } = this.#context;
    writeDatabaseChange(frame, { number: database.number, name: undefined });
    journal.append(frame.take());
    this.#drop(database.number);
  }

  /** A session over TCP, before login. */
  openSession(options: Omit<SessionOptions, "store">): Session {
    return new Session({ ...options, store: this });
  }

  /** The number of a new session: no other has it, and later ones have greater ones. */
  takeSessionId(): number {
    this.#sessionIdMax += 1;
    return this.#sessionIdMax;
  }

  /** The reply to a command over TCP before login. */
  answerBeforeLogin(session: Session, words: CommandRequest): Reply {
    return answerBeforeLogin(session, words);
  }

  /** The turns of the tenants of this thread. */
  get turns(): Turns {
    return this.#context.turns;
  }

  get databaseNames(): readonly string[] {
    return [...this.#byName.keys()];
  }

  get databases(): readonly Database[] {
    return [...this.#byName.values()];
  }

  /** The end of the journal that all databases share: the state that a reply saw is before it. */
  get end(): number {
    return this.#context.journal.end;
  }

  /** The position up to which the journal is as safe as the setting promises. */
  get safe(): number {
    return this.#context.journal.safe;
  }

  /** Resolves when all changes so far, or up to a position, are as safe as the setting promises. */
  whenSafe(position = this.end): Promise<void> {
    return this.#context.journal.whenSafe(position);
  }

  /** Empties every database. */
  reset(): void {
    for (const database of this.#byName.values()) database.reset();
  }

  /** The frames of a start follow, and nothing else until `endRecovery`: tables of keys grow in larger steps. */
  beginRecovery(): void {
    this.#isRecovering = true;
    for (const { keyspace } of this.#byName.values()) keyspace.entries.beginRecovery();
  }

  /** After the last frame of a snapshot. Throws an `AssertionFailure` if it has a string twice. */
  endSnapshot(): void {
    for (const { keyspace } of this.#byName.values()) keyspace.entries.endAppending();
  }

  /** After the last frame of a start: the tables are as if every key had been added by a command. */
  endRecovery(): void {
    this.#isRecovering = false;
    for (const database of this.#byName.values()) {
      database.keyspace.loadsSnapshot = false;
      database.keyspace.entries.endRecovery();
      database.countMemory();
      if (this.#context.keepsSettings) restoreSettings(database);
    }
  }

  /**
   * Applies one frame of a snapshot or a journal. Reads neither the clock nor random numbers. Between `beginRecovery` and
   * `endRecovery`, a frame of a journal has a location, and one without is of a snapshot: it creates each key once.
   */
  replay(frame: Buffer, location?: object): void {
    const reader = new FrameReader(frame);
    const number = reader.number();
    if (number !== STORE_ITSELF) {
      const database = this.#byNumber.get(number);
      assert(database !== undefined, `database ${number} was created before its frames`);
      database.keyspace.loadsSnapshot = this.#isRecovering && location === undefined;
      applyRecords(database, reader);
      database.countMemory();
      return;
    }
    for (const { number: subject, name } of readDatabaseChanges(frame)) {
      if (name === undefined) this.#drop(subject);
      else this.#create(name, subject);
    }
  }

  /** The whole state as frames that rebuild it through `replay`. A frame is valid until the next one is requested. */
  *dump(): Generator<Uint8Array> {
    const frame = new FrameWriter();
    for (const database of this.#byName.values()) {
      writeDatabaseChange(frame, database);
      yield frame.take();
      yield* framesOfDatabase(database, frame);
    }
    if (this.#byNumber.has(this.#numberMax) || this.#numberMax === STORE_ITSELF) return;
    // The highest number belonged to a dropped database: it must not be used again while old frames name it.
    for (const name of ["", undefined]) writeDatabaseChange(frame, { number: this.#numberMax, name });
    yield frame.take();
  }

  /** A snapshot begins, of everything up to the moment when this resolves. */
  async snapshotBegan(): Promise<void> {
    // A snapshot is made of records, and the order of documents is only known here.
    await this.#recordOrdersInSlices();
    for (const { activity } of this.#byName.values()) activity.beginSnapshot();
  }

  /** Records the order of the documents of search indexes at once, so that equal scores keep it: before a stop. */
  recordSearchOrders(): void {
    this.#orderRecording = undefined;
    const slice = { left: Number.POSITIVE_INFINITY };
    if (!this.#context.isSound()) return;
    for (const database of this.#byName.values()) database.runUnit(() => atOnce(database.search.recordOrders(slice)));
  }

  /** Ends when the area closes. The first slice runs at once, the others in turn with all other work of the thread. */
  async #recordOrdersInSlices(): Promise<void> {
    const { turns, clock, isSound } = this.#context;
    const housekeeping = turns.tenant("store", HOUSEKEEPING);
    const recording = {};
    this.#orderRecording = recording;
    const slice = { left: ORDER_SLICE };
    for (const database of this.databases) {
      const work = database.search.recordOrders(slice);
      const isCurrent = (): boolean => this.#orderRecording === recording && isSound() && this.#has(database);
      while (isCurrent() && recordSome(database, work, clock.real)) {
        await new Promise<void>((resolve) => housekeeping.queue(resolve));
        slice.left = ORDER_SLICE;
      }
    }
  }

  #has(database: Database): boolean {
    return this.#byNumber.get(database.number) === database;
  }

  snapshotEnded(isWritten: boolean): void {
    for (const { activity } of this.#byName.values()) activity.endSnapshot(isWritten);
  }

  /** Starts the active expiry cycle, which also continues evictions. The returned function stops it. */
  startExpiryCycle(): () => void {
    const { clock, turns } = this.#context;
    const housekeeping = turns.tenant("store", HOUSEKEEPING);
    let cancel = (): void => {};
    let isStopped = false;
    let isIndexing = false;
    // Each database with a backlog gets a slice, again and again, in turn with all other work of the thread.
    const index = (after = -1): void => {
      const waiting = isIndexing ? [] : this.databases.filter(hasBacklog);
      const next = waiting.find(({ number }) => number > after) ?? waiting[0];
      if (next === undefined) return;
      isIndexing = true;
      housekeeping.queue(() => {
        isIndexing = false;
        if (isStopped) return;
        if (this.#has(next)) indexSome(next, clock.real);
        index(next.number);
      });
    };
    const sweepFrom = (databases: readonly Database[], first: number): void => {
      if (isStopped) return;
      const startMs = clock.real.monotonicMs();
      for (let index = first; index < databases.length; index += 1) {
        const database = databases[index] as Database;
        // It may have been dropped since the cycle began.
        if (this.#has(database)) database.sweepExpired();
        if (clock.real.monotonicMs() - startMs < TURN_MS || index + 1 === databases.length) continue;
        housekeeping.queue(() => sweepFrom(databases, index + 1));
        return;
      }
      const hasBacklog = databases.some(({ isEvicting }) => isEvicting);
      cancel = clock.housekeep(hasBacklog ? EVICT_EVERY_MS : SWEEP_EVERY_MS, sweep);
    };
    const sweep = (): void => {
      index();
      sweepFrom(this.databases, 0);
    };
    cancel = clock.housekeep(SWEEP_EVERY_MS, sweep);
    return () => {
      isStopped = true;
      this.#orderRecording = undefined;
      cancel();
    };
  }

  #create(name: string, number: number): Database {
    const database = new Database({ name, number, context: this.#context });
    if (this.#isRecovering) database.keyspace.entries.beginRecovery();
    this.#byName.set(name, database);
    this.#byNumber.set(number, database);
    this.#numberMax = Math.max(this.#numberMax, number);
    return database;
  }

  #drop(number: number): void {
    const database = this.#byNumber.get(number);
    assert(database !== undefined, `database ${number} exists when it is dropped`);
    database.drop();
    this.#context.turns.drop(database.turn);
    this.#byNumber.delete(number);
    this.#byName.delete(database.name);
  }
}

/** Whether something is left to index. While the database runs a command in slices, its indexes do not change. */
function hasBacklog({ search, sliced }: Database): boolean {
  return !sliced.isUnderWay && search.hasBacklog;
}

/** Indexes what has changed, for a short time. It needs no unit of work, since nothing of it is recorded. */
function indexSome(database: Database, clock: Clock): void {
  if (!hasBacklog(database)) return;
  const startMs = clock.monotonicMs();
  database.search.runSlice();
  database.countMemory();
  database.turn.charge(clock.monotonicMs() - startMs);
}

/** Records a slice of the order of documents. True if more is left. */
function recordSome(database: Database, work: InSlices<void>, clock: Clock): boolean {
  const startMs = clock.monotonicMs();
  let isMore = false;
  database.runUnit(() => {
    isMore = work.next().done !== true;
  });
  database.turn.charge(clock.monotonicMs() - startMs);
  return isMore;
}
