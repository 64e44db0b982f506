/**
 * Callers whose command waits until a key holds something: BLPOP, XREAD BLOCK.
 *
 * (1) Those who wait for a key in one line are served in the order in which they
 *     came. In a line stand those who would take the same from the key, so that
 *     where the first has to wait on, all do: nobody asks thousands for nothing.
 * (2) They are served within the unit of work that made it possible, behind all
 *     its commands: what is pushed and what is popped are in one frame, and
 *     whoever pushed has counted before that.
 * (3) Keys come in the order in which they became ready, a key that serving
 *     itself made ready (BLMOVE) behind them, as in Redis.
 * (4) A waiter stands in a line of each of its keys until it has its reply or
 *     its caller leaves, and the keyspace says what becomes ready as long as
 *     somebody waits.
 * (5) A caller waits for one thing at a time.
 */
import { assert } from "../../kernel/assert.ts";
import type { Bytes } from "../../kernel/bytes.ts";
import type { Clock } from "../../kernel/clock.ts";
import { CommandError } from "../errors.ts";
import type { Keyspace } from "../keyspace.ts";
import { errorReply, type Reply } from "../reply/reply.ts";
import { StreamValue } from "../values/stream.ts";

/** The caller that waits, or one that could. */
export interface ReplyTaker {
  /**
   * The reply of the command that had to wait, within the unit of work that made it: it may leave when the journal is
   * safe up to the end of that unit. Must not call the engine.
   */
  take(reply: Reply): void;
}

/** What somebody waits for. */
export interface Wait {
  /** Each of them once. */
  readonly keys: readonly Bytes[];
  /** For how long, in ms; 0 is for ever. */
  readonly timeoutMs: number;
  /** The reply when the time is over. */
  readonly timedOut: Reply;
  /** The reply to who cannot wait, where it is another one than when the time is over. */
  readonly cannotWait?: Reply;
  /** The line: what it takes from a key. */
  readonly line: Bytes;
  /** True where the first of a line may have to wait on while others can be served: they wait for different things. */
  readonly isAlone?: boolean;
  /**
   * Looks at one key that has become ready, and changes the keyspace as the command would have. Undefined: there is nothing
   * for this caller, which waits on. Throws CommandError.
   */
  serve(key: Bytes): Reply | undefined;
}

interface Waiter {
  readonly wait: Wait;
  readonly taker: ReplyTaker;
  readonly cancelTimeout: () => void;
}

/** Those who wait for a key, by their line, in the order in which they came. */
type Lines = Map<Bytes, Set<Waiter>>;

export class Waiters {
  readonly #keyspace: Keyspace;
  readonly #clock: Clock;
  readonly #byTaker = new Map<ReplyTaker, Waiter>();
  readonly #byKey = new Map<Bytes, Lines>();
  /** Keys that somebody waits for and that became ready in the running unit of work: (3). */
  readonly #ready = new Set<Bytes>();

  constructor(options: { keyspace: Keyspace; clock: Clock }) {
    this.#keyspace = options.keyspace;
    this.#clock = options.clock;
  }

  /** How many wait. */
  get count(): number {
    return this.#byTaker.size;
  }

  isWaiting(taker: ReplyTaker): boolean {
    return this.#byTaker.has(taker);
  }

  add(taker: ReplyTaker, wait: Wait): void {
    assert(!this.#byTaker.has(taker), "a caller waits for one thing at a time"); // keeps (5)
    const { timeoutMs, timedOut, keys, line } = wait;
    const cancelTimeout = timeoutMs > 0 ? this.#clock.after(timeoutMs, () => this.end(taker, timedOut)) : () => {};
    const waiter: Waiter = { wait, taker, cancelTimeout };
    this.#byTaker.set(taker, waiter);
    for (const key of keys) {
      const lines: Lines = this.#byKey.get(key) ?? new Map();
      const others = lines.get(line) ?? new Set();
      this.#byKey.set(key, lines.set(line, others.add(waiter)));
    }
    this.#keyspace.onReady = this.#note; // keeps (4)
  }

  /** Serves whom the running unit of work has made it possible to serve, before its frame is closed. keeps (2) */
  serve(): void {
    if (this.#ready.size === 0) return;
    this.#keyspace.notifiesMisses = false;
    for (const key of this.#ready) {
      this.#ready.delete(key);
      for (const line of this.#byKey.get(key)?.values() ?? []) this.#serveLine(key, line);
    }
  }

  /** Its caller waits no more and gets this reply: time is over, or somebody unblocks it. False if it did not wait. */
  end(taker: ReplyTaker, reply: Reply): boolean {
    if (!this.#byTaker.has(taker)) return false;
    this.leave(taker);
    taker.take(reply);
    return true;
  }

  /** As if its time were over: CLIENT UNBLOCK. False if it did not wait. */
  timeOut(taker: ReplyTaker): boolean {
    const waiter = this.#byTaker.get(taker);
    return waiter !== undefined && this.end(taker, waiter.wait.timedOut);
  }

  /** The caller has gone, and gets no reply. */
  leave(taker: ReplyTaker): void {
    const waiter = this.#byTaker.get(taker);
    if (waiter === undefined) return;
    this.#byTaker.delete(taker);
    waiter.cancelTimeout();
    for (const key of waiter.wait.keys) this.#leaveLine(key, waiter);
    if (this.#byTaker.size > 0) return;
    this.#keyspace.onReady = undefined;
    this.#ready.clear();
  }

  /** Nobody can be served any more. */
  endAll(reply: Reply): void {
    for (const taker of [...this.#byTaker.keys()]) this.end(taker, reply);
  }

  /** Notes one key, or all keys before they are removed: `undefined`. Of those, only a stream has readers to notify. */
  readonly #note = (key: Bytes | undefined): void => {
    if (key !== undefined) {
      if (this.#byKey.has(key)) this.#ready.add(key);
      return;
    }
    for (const each of this.#byKey.keys()) {
      if (this.#keyspace.entries.get(each) instanceof StreamValue) this.#ready.add(each);
    }
  };

  /** keeps (1) */
  #serveLine(key: Bytes, line: ReadonlySet<Waiter>): void {
    for (const { wait, taker } of line) {
      const reply = serveOne(wait, key);
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
