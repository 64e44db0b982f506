/**
 * Callers whose command waits until a key holds something: BLPOP, XREAD BLOCK.
 *
 * (1) Those who wait for a key are served in the order in which they came.
 * (2) They are served within the unit of work that made it possible, behind all
 *     its commands: what is pushed and what is popped are in one frame, and
 *     whoever pushed has counted before that.
 * (3) A waiter observes its keys until it has its reply or its caller leaves.
 * (4) A caller waits for one thing at a time.
 */
import { assert } from "../kernel/assert.ts";
import type { Bytes } from "../kernel/bytes.ts";
import type { Clock } from "../kernel/clock.ts";
import type { ReplyTaker } from "./caller.ts";
import { CommandError } from "./errors.ts";
import type { KeyObserver, KeyObservers } from "./key-observers.ts";
import type { Keyspace } from "./keyspace.ts";
import { errorReply, type Reply } from "./reply.ts";

/** What somebody waits for. */
export interface Wait {
  /** Each of them once. */
  readonly keys: readonly Bytes[];
  /** For how long, in ms; 0 is for ever. */
  readonly timeoutMs: number;
  /** The reply when the time is over, and to who cannot wait. */
  readonly timedOut: Reply;
  /**
   * Looks at one key that has changed, and changes the keyspace as the command would have. Undefined: there is nothing for
   * this caller, which waits on. Throws CommandError.
   */
  serve(key: Bytes): Reply | undefined;
}

class Waiter implements KeyObserver {
  readonly wait: Wait;
  readonly taker: ReplyTaker;
  readonly #ready: Set<Bytes>;
  cancelTimeout: () => void = () => {};

  constructor(wait: Wait, options: { taker: ReplyTaker; ready: Set<Bytes> }) {
    this.wait = wait;
    this.taker = options.taker;
    this.#ready = options.ready;
  }

  keyChanges(key: Bytes): void {
    this.#ready.add(key);
  }
}

export class Waiters {
  readonly #keyspace: Keyspace;
  readonly #observers: KeyObservers;
  readonly #clock: Clock;
  readonly #byTaker = new Map<ReplyTaker, Waiter>();
  /** Keys that somebody waits for and that have changed in the running unit, in the order of their first change. */
  readonly #ready = new Set<Bytes>();

  constructor(options: { keyspace: Keyspace; observers: KeyObservers; clock: Clock }) {
    this.#keyspace = options.keyspace;
    this.#observers = options.observers;
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
    assert(!this.#byTaker.has(taker), "a caller waits for one thing at a time"); // keeps (4)
    const waiter = new Waiter(wait, { taker, ready: this.#ready });
    this.#byTaker.set(taker, waiter);
    for (const key of wait.keys) this.#observers.add(key, waiter);
    if (wait.timeoutMs > 0)
      waiter.cancelTimeout = this.#clock.after(wait.timeoutMs, () => this.end(taker, wait.timedOut));
  }

  /** Serves whom the running unit of work has made it possible to serve, before its frame is closed. keeps (2) */
  serve(): void {
    for (const key of this.#ready) {
      this.#ready.delete(key);
      this.#serveKey(key);
    }
  }

  /** Its caller waits no more and gets this reply: time is over, or somebody unblocks it. False if it did not wait. */
  end(taker: ReplyTaker, reply: Reply): boolean {
    const waiter = this.#byTaker.get(taker);
    if (waiter === undefined) return false;
    this.leave(taker);
    taker.take(reply);
    return true;
  }

  /** The caller has gone, and gets no reply. */
  leave(taker: ReplyTaker): void {
    const waiter = this.#byTaker.get(taker);
    if (waiter === undefined) return;
    this.#byTaker.delete(taker);
    waiter.cancelTimeout();
    for (const key of waiter.wait.keys) this.#observers.remove(key, waiter); // keeps (3)
  }

  /** Nobody can be served any more. */
  endAll(reply: Reply): void {
    for (const taker of [...this.#byTaker.keys()]) this.end(taker, reply);
  }

  #serveKey(key: Bytes): void {
    for (const observer of this.#observers.of(key)) {
      if (!(observer instanceof Waiter)) continue;
      const reply = serveOne(observer.wait, key);
      if (reply !== undefined) this.end(observer.taker, reply);
      // What one has taken whole is not there for the next: with thousands that wait, nobody asks them all.
      if (!this.#keyspace.entries.has(key)) return;
    }
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
