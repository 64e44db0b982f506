/**
 * The lease of a node: until when it may answer reads without a commit.
 *
 * (1) A lease is counted from the moment before its renewal was sent. The
 *     renewal was committed later, so those who watch began to count later.
 * (2) The wall clock and the monotonic clock must both say that it has not run
 *     out: either of them may stand still while a machine is suspended.
 * (3) A reader that finds it run out waits for a renewal that returns.
 * (4) Replies may have a lease of their own (`ReplyLease`), which ends earlier while
 *     the node lacks something that they depend on. What a node does with its shards
 *     asks the lease of the node, so that it can still release them.
 *
 * Its two ends are in memory that threads share, so that each reads them with its
 * own clock and no message. A reader between the two writes sees an earlier end
 * of one of them, which is stricter. Stores of 8 aligned bytes are not torn
 * on the 64-bit processors that Node runs on.
 */
import type { Clock } from "../../kernel/clock.ts";
import { HELD_MS } from "./bounds.ts";

/** Clocks that have the same origin in all threads. */
export type LeaseClock = Pick<Clock, "nowMs" | "monotonicMs">;

/** What a reply that waits for no commit asks before it leaves. */
export interface ReadGuard {
  /** Whether it may leave now. */
  isFresh(): boolean;
  /** Resolves when a reply that was made before this call may leave; never if the node has lost its life. */
  whenFresh(): Promise<void>;
}

/** Both clocks before a renewal was sent. */
export interface LeaseStart {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

/** The ends of the lease by the monotonic clock and by the wall clock, in milliseconds. */
const ENDS = 2;

export class Lease implements ReadGuard {
  /** For the leases of other threads. */
  readonly memory: SharedArrayBuffer;
  readonly #clock: LeaseClock;
  readonly #ends: Float64Array;
  #waiting: (() => void)[] = [];
  #replies: ReplyLease | undefined;

  /** Without `memory` a lease that has not begun. */
  constructor(clock: LeaseClock, memory?: SharedArrayBuffer) {
    this.#clock = clock;
    this.memory = memory ?? new SharedArrayBuffer(ENDS * Float64Array.BYTES_PER_ELEMENT);
    this.#ends = new Float64Array(this.memory);
    if (memory === undefined) this.end();
  }

  /** Call it before a renewal is sent: keeps (1). */
  begin(): LeaseStart {
    return { monotonicMs: this.#clock.monotonicMs(), wallMs: this.#clock.nowMs() };
  }

  /** The renewal has returned. */
  extend({ monotonicMs, wallMs }: LeaseStart): void {
    this.#ends[0] = monotonicMs + HELD_MS;
    this.#ends[1] = wallMs + HELD_MS;
    this.#replies?.extend({ monotonicMs, wallMs });
    this.wake();
  }

  /** From now on `replies` is extended and ended with this lease: keeps (4). */
  extendWith(replies: ReplyLease): void {
    this.#replies = replies;
  }

  /** No reply leaves from now on, unless it is extended again. */
  end(): void {
    this.#ends.fill(Number.NEGATIVE_INFINITY);
    this.#replies?.end();
  }

  /** keeps (2) */
  isFresh(): boolean {
    return this.#clock.monotonicMs() < (this.#ends[0] as number) && this.#clock.nowMs() < (this.#ends[1] as number);
  }

  /** How long it is still fresh, in milliseconds; 0 when it has run out. */
  get leftMs(): number {
    const monotonicMs = (this.#ends[0] as number) - this.#clock.monotonicMs();
    return Math.max(0, Math.min(monotonicMs, (this.#ends[1] as number) - this.#clock.nowMs()));
  }

  /** keeps (3) */
  whenFresh(): Promise<void> {
    if (this.isFresh()) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Lets those go who wait. A thread is told to call it when the main thread has extended the lease. */
  wake(): void {
    if (!this.isFresh()) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}

/** The lease of a node as far as replies may use it: keeps (4). */
export class ReplyLease implements ReadGuard {
  readonly #lease: Lease;
  #renewed: LeaseStart | undefined;
  #limit: LeaseStart | undefined;

  constructor(clock: LeaseClock) {
    this.#lease = new Lease(clock);
  }

  /** See `Lease.memory`. */
  get memory(): SharedArrayBuffer {
    return this.#lease.memory;
  }

  get leftMs(): number {
    return this.#lease.leftMs;
  }

  /** Whether renewals extend it no further. */
  get isLimited(): boolean {
    return this.#limit !== undefined;
  }

  isFresh(): boolean {
    return this.#lease.isFresh();
  }

  whenFresh(): Promise<void> {
    return this.#lease.whenFresh();
  }

  extend(start: LeaseStart): void {
    this.#renewed = start;
    this.#apply();
  }

  end(): void {
    this.#renewed = undefined;
    this.#lease.end();
  }

  /** Renewals that are sent after this call count as if they had been sent now. */
  limit(): void {
    this.#limit = this.#lease.begin();
  }

  /** All renewals count again, also those since `limit`. */
  lift(): void {
    this.#limit = undefined;
    this.#apply();
  }

  #apply(): void {
    if (this.#renewed === undefined) return;
    const { monotonicMs, wallMs } = this.#renewed;
    this.#lease.extend({
      monotonicMs: Math.min(monotonicMs, this.#limit?.monotonicMs ?? monotonicMs),
      wallMs: Math.min(wallMs, this.#limit?.wallMs ?? wallMs),
    });
  }
}
