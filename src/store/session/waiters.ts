/**
 * Clients whose command waits until a key has something: BLPOP, XREAD BLOCK.
 *
 * (1) Clients in one line of a key are served in the order in which they
 *     blocked. A line has the clients that would take the same from the key: if
 *     the first must keep waiting, all must, so thousands are not tried in vain.
 * (2) They are served within the unit of work that made it possible, after all
 *     its commands: a push and the pop that it serves are in one frame, and the
 *     reply to the push counts the elements before the pop.
 * (3) Keys are served in the order in which they became ready. A key that became
 *     ready by serving (BLMOVE) comes after them, as in Redis. A key becomes ready
 *     by a value of a type that some client waits for, at any key: as in Redis, a
 *     sorted set at a key counts while another client waits for a sorted set.
 * (4) A waiter is in one line of each of its keys until it gets its reply or
 *     disconnects. The keyspace reports ready keys while any client waits.
 * (5) A client waits for one command at a time.
 */
import { assert } from "../../kernel/assert.ts";
import type { Bytes } from "../../kernel/bytes.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { CommandFacts } from "../command-facts.ts";
import { CommandError } from "../errors.ts";
import type { Keyspace } from "../keyspace.ts";
import type { Runner } from "../observe/slow-runs.ts";
import { errorReply, type Reply } from "../reply/reply.ts";
import { StreamValue } from "../values/stream.ts";
import { isString } from "../values/string.ts";
import type { Value } from "../values/table.ts";

/** The client that waits, or could wait. */
export interface ReplyTaker {
  /**
   * Takes the reply of the blocked command, within the unit of work that made it: it may leave when the journal is safe
   * up to the end of that unit. Must not call the engine.
   */
  take(reply: Reply): void;
}

/** A type that a client can wait for, as in TYPE; or a snapshot, which no key makes ready. */
type AwaitedType = "list" | "zset" | "stream" | "snapshot";

/** What a client waits for. */
export interface Wait {
  readonly type: AwaitedType;
  /** Distinct keys. */
  readonly keys: readonly Bytes[];
  /** In ms; 0 means no timeout. */
  readonly timeoutMs: number;
  /** The reply at the timeout. */
  readonly timedOut: Reply;
  /** The reply to a client that cannot wait, if it differs from `timedOut`. */
  readonly cannotWait?: Reply;
  /** The line: identifies what the client takes from a key. */
  readonly line: Bytes;
  /** True if others of the line may be served although the first may not: they wait for different things. */
  readonly isAlone?: boolean;
  /** In how many ms the keys may be ready by time alone; absent: never. */
  readonly readyInMs?: () => number;
  /**
   * Tries one key that became ready, and changes the keyspace as the command would have. Undefined if it has nothing
   * for this client, which keeps waiting. Throws CommandError.
   */
  serve(key: Bytes): Reply | undefined;
}

/** The blocked command, for its counters and the slow log. */
export interface BlockedRun {
  readonly command: CommandFacts;
  readonly words: readonly Bytes[];
  readonly caller: Runner;
}

interface Waiter {
  readonly wait: Wait;
  readonly taker: ReplyTaker;
  readonly run: BlockedRun;
  readonly cancelTimeout: () => void;
  cancelRetry: () => void;
  readonly time: { untilBlockedMs: number; servingMs: number };
}

/** How long a blocked command computed, before it blocked and when it was served. */
export type BlockedTime = Readonly<Waiter["time"]>;

export interface WaitersOptions {
  readonly keyspace: Keyspace;
  readonly clock: Clock;
  /** Runs a unit of work that calls this first, unless nothing may be written now. */
  readonly runUnit: (work: () => void) => void;
  /** Called when a blocked command gets its reply. */
  readonly ended: (run: BlockedRun, reply: Reply, time: BlockedTime) => void;
}

/** The clients that wait for a key, by line, in the order in which they blocked. */
type Lines = Map<Bytes, Set<Waiter>>;

export class Waiters {
  readonly #keyspace: Keyspace;
  readonly #clock: Clock;
  readonly #runUnit: WaitersOptions["runUnit"];
  readonly #ended: WaitersOptions["ended"];
  readonly #byTaker = new Map<ReplyTaker, Waiter>();
  readonly #byKey = new Map<Bytes, Lines>();
  readonly #countByType = new Map<string, number>();
  /** Awaited keys that became ready in the running unit of work: (3). */
  readonly #ready = new Set<Bytes>();

  constructor(options: WaitersOptions) {
    this.#keyspace = options.keyspace;
    this.#clock = options.clock;
    this.#runUnit = options.runUnit;
    this.#ended = options.ended;
  }

  /** The number of waiting clients. */
  get count(): number {
    return this.#byTaker.size;
  }

  /** Those that have a timeout. */
  get timedCount(): number {
    let count = 0;
    for (const { wait } of this.#byTaker.values()) if (wait.timeoutMs > 0) count += 1;
    return count;
  }

  /** The number of awaited keys. */
  get keyCount(): number {
    return this.#byKey.size;
  }

  isWaiting(taker: ReplyTaker): boolean {
    return this.#byTaker.has(taker);
  }

  add(taker: ReplyTaker, wait: Wait, run: BlockedRun): void {
    assert(!this.#byTaker.has(taker), "a client waits for one command at a time"); // keeps (5)
    const { timeoutMs, timedOut, keys, line, type } = wait;
    const cancelTimeout = timeoutMs > 0 ? this.#clock.after(timeoutMs, () => this.end(taker, timedOut)) : () => {};
    const time = { untilBlockedMs: 0, servingMs: 0 };
    const waiter: Waiter = { wait, taker, run, cancelTimeout, cancelRetry: () => {}, time };
    this.#byTaker.set(taker, waiter);
    this.#countType(type, 1);
    for (const key of keys) {
      const lines: Lines = this.#byKey.get(key) ?? new Map();
      const others = lines.get(line) ?? new Set();
      this.#byKey.set(key, lines.set(line, others.add(waiter)));
    }
    this.#keyspace.onReady = this.#note; // keeps (4)
    this.#retryLater(waiter);
  }

  /** True if the running unit of work made a key ready. */
  get hasReady(): boolean {
    return this.#ready.size > 0;
  }

  /** Serves clients for which the running unit of work made a key ready, before its frame is closed. keeps (2) */
  serve(): void {
    this.#keyspace.notifiesMisses = false;
    for (const key of this.#ready) {
      this.#ready.delete(key);
      for (const line of this.#byKey.get(key)?.values() ?? []) this.#serveLine(key, line);
    }
  }

  /** Notes how long the command computed before it blocked. */
  noteTime(taker: ReplyTaker, tookMs: number): void {
    const waiter = this.#byTaker.get(taker);
    if (waiter !== undefined) waiter.time.untilBlockedMs = tookMs;
  }

  /** Ends waiting with this reply: at the timeout, or by CLIENT UNBLOCK. False if the client did not wait. */
  end(taker: ReplyTaker, reply: Reply): boolean {
    const waiter = this.#byTaker.get(taker);
    if (waiter === undefined) return false;
    this.leave(taker);
    this.#ended(waiter.run, reply, waiter.time);
    taker.take(reply);
    return true;
  }

  /** As `end`, unless the client has stopped this waiting before. */
  endWait(taker: ReplyTaker, wait: Wait, reply: Reply): void {
    if (this.#byTaker.get(taker)?.wait === wait) this.end(taker, reply);
  }

  /** Ends waiting with the reply of the timeout: CLIENT UNBLOCK. False if the client did not wait. */
  timeOut(taker: ReplyTaker): boolean {
    const waiter = this.#byTaker.get(taker);
    return waiter !== undefined && this.end(taker, waiter.wait.timedOut);
  }

  /** The client disconnected, and gets no reply. */
  leave(taker: ReplyTaker): void {
    const waiter = this.#byTaker.get(taker);
    if (waiter === undefined) return;
    this.#byTaker.delete(taker);
    this.#countType(waiter.wait.type, -1);
    waiter.cancelTimeout();
    waiter.cancelRetry();
    for (const key of waiter.wait.keys) this.#leaveLine(key, waiter);
    if (this.#byTaker.size > 0) return;
    this.#keyspace.onReady = undefined;
    this.#ready.clear();
  }

  /** Ends all waiting with one reply. */
  endAll(reply: Reply): void {
    for (const taker of [...this.#byTaker.keys()]) this.end(taker, reply);
  }

  /** When time alone may have made the keys of a client ready, they are served as if a command had. */
  #retryLater(waiter: Waiter): void {
    const { wait, taker } = waiter;
    if (wait.readyInMs === undefined) return;
    waiter.cancelRetry = this.#clock.after(wait.readyInMs(), () => {
      this.#runUnit(() => {
        for (const key of wait.keys) this.#ready.add(key);
      });
      if (this.#byTaker.get(taker) === waiter) this.#retryLater(waiter);
    });
  }

  /** Adds a key that may have become ready by its value, or with `undefined` each key that loses a stream. keeps (3) */
  readonly #note = (key: Bytes | undefined, value?: Value): void => {
    if (key !== undefined) {
      if (this.#isAwaited(value) && this.#byKey.has(key)) this.#ready.add(key);
      return;
    }
    for (const each of this.#byKey.keys()) {
      const removed = this.#keyspace.entries.get(each);
      if (removed instanceof StreamValue && this.#isAwaited(removed)) this.#ready.add(each);
    }
  };

  /** Whether any client waits for a value of this type. */
  #isAwaited(value: Value | undefined): boolean {
    return value !== undefined && !isString(value) && (this.#countByType.get(value.typeName) ?? 0) > 0;
  }

  #countType(type: AwaitedType, change: 1 | -1): void {
    this.#countByType.set(type, (this.#countByType.get(type) ?? 0) + change);
  }

  /** keeps (1) */
  #serveLine(key: Bytes, line: ReadonlySet<Waiter>): void {
    for (const waiter of line) {
      const { wait, taker, time } = waiter;
      const startMs = this.#clock.real.monotonicMs();
      const reply = serveOne(wait, key);
      time.servingMs += this.#clock.real.monotonicMs() - startMs;
      if (reply !== undefined) this.end(taker, reply);
      else if (wait.isAlone !== true) return;
    }
  }

  #leaveLine(key: Bytes, waiter: Waiter): void {
    const lines = this.#byKey.get(key);
    const line = lines?.get(waiter.wait.line);
    if (lines === undefined || line === undefined) return;
    line.delete(waiter);
    if (line.size === 0) lines.delete(waiter.wait.line);
    if (lines.size === 0) this.#byKey.delete(key);
  }
}

function serveOne(wait: Wait, key: Bytes): Reply | undefined {
  try {
    return wait.serve(key);
  } catch (error) {
    if (error instanceof CommandError) return errorReply(error);
    throw error;
  }
}
