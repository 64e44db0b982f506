/**
 * Memory for the bodies of answers that are being read, for all calls of a client
 * together. The start of each body is free. A longer body takes its bytes step by
 * step, and its socket is not read while it waits for a step.
 *
 * (1) All leases together hold at most `bytesMax`, those of one user half of it.
 * (2) In each pool, the free bytes and the bytes of the largest lease are together
 *     at least the longest body. So the largest lease never waits for another one,
 *     and leases cannot deadlock.
 * (3) A waiting step is granted as soon as (1) and (2) allow it, the oldest first.
 */
import { assert } from "../../kernel/assert.ts";

export class ResponseBudget {
  readonly #bodyBytesMax: number;
  readonly #all: Pool;
  readonly #users = new Map<string, Pool>();
  readonly #waiting = new Set<ResponseLease>();

  constructor({ bytesMax, bodyBytesMax }: { readonly bytesMax: number; readonly bodyBytesMax: number }) {
    assert(bytesMax >= 2 * bodyBytesMax, "one user's half holds the longest body");
    this.#bodyBytesMax = bodyBytesMax;
    this.#all = new Pool(bytesMax, bodyBytesMax);
  }

  /** Bytes of all leases. */
  get usedBytes(): number {
    return this.#all.usedBytes;
  }

  /** Leases that wait for a step. */
  get waitingCount(): number {
    return this.#waiting.size;
  }

  lease(user: string): ResponseLease {
    return new ResponseLease(this, user);
  }

  /** False if the lease must wait; its `granted` is called later. For leases only. */
  take(lease: ResponseLease): boolean {
    const isTaken = this.#tryStep(lease);
    if (!isTaken) this.#waiting.add(lease);
    return isTaken;
  }

  /** For leases only. */
  giveBack(lease: ResponseLease): void {
    this.#waiting.delete(lease);
    if (lease.bytes === 0) return;
    const pool = this.#poolOf(lease.user);
    this.#all.remove(lease);
    pool.remove(lease);
    if (pool.usedBytes === 0) this.#users.delete(lease.user);
    for (const waiting of this.#waiting) {
      if (!this.#tryStep(waiting)) continue;
      this.#waiting.delete(waiting);
      waiting.granted();
    }
  }

  /** keeps (1), (2) and (3) */
  #tryStep(lease: ResponseLease): boolean {
    assert(lease.wantedBytes <= this.#bodyBytesMax, "no body is longer than the longest");
    const pool = this.#poolOf(lease.user);
    if (!this.#all.mayHold(lease) || !pool.mayHold(lease)) return false;
    this.#all.raise(lease);
    pool.raise(lease);
    lease.bytes = lease.wantedBytes;
    return true;
  }

  #poolOf(user: string): Pool {
    let pool = this.#users.get(user);
    if (pool === undefined) {
      pool = new Pool(this.#all.bytesMax / 2, this.#bodyBytesMax);
      this.#users.set(user, pool);
    }
    return pool;
  }
}

/** The bytes of one body. */
export class ResponseLease {
  readonly user: string;
  readonly #budget: ResponseBudget;
  bytes = 0;
  wantedBytes = 0;
  #onGranted: (() => void) | undefined;

  constructor(budget: ResponseBudget, user: string) {
    this.#budget = budget;
    this.user = user;
  }

  get isWaiting(): boolean {
    return this.#onGranted !== undefined;
  }

  /** Raises the lease to `bytes`. False without room; then `onGranted` is called when there is room. */
  raise(bytes: number, onGranted: () => void): boolean {
    if (bytes <= this.wantedBytes) return !this.isWaiting;
    this.wantedBytes = bytes;
    if (this.isWaiting) return false;
    if (this.#budget.take(this)) return true;
    this.#onGranted = onGranted;
    return false;
  }

  /** Releases all bytes; a waiting step is never granted. */
  release(): void {
    this.#onGranted = undefined;
    this.wantedBytes = 0;
    this.#budget.giveBack(this);
    this.bytes = 0;
  }

  granted(): void {
    const onGranted = this.#onGranted;
    this.#onGranted = undefined;
    onGranted?.();
  }
}

/** The leases of all users, or of one. */
class Pool {
  readonly bytesMax: number;
  readonly #bodyBytesMax: number;
  readonly #leases = new Set<ResponseLease>();
  #largest: ResponseLease | undefined;
  usedBytes = 0;

  constructor(bytesMax: number, bodyBytesMax: number) {
    this.bytesMax = bytesMax;
    this.#bodyBytesMax = bodyBytesMax;
  }

  /** Whether (1) and (2) still hold when the lease gets its `wantedBytes`. */
  mayHold({ bytes, wantedBytes }: ResponseLease): boolean {
    const free = this.bytesMax - this.usedBytes - (wantedBytes - bytes);
    return free >= 0 && free + Math.max(this.#largest?.bytes ?? 0, wantedBytes) >= this.#bodyBytesMax;
  }

  raise(lease: ResponseLease): void {
    this.usedBytes += lease.wantedBytes - lease.bytes;
    this.#leases.add(lease);
    if (lease.wantedBytes > (this.#largest?.bytes ?? 0)) this.#largest = lease;
  }

  remove(lease: ResponseLease): void {
    this.usedBytes -= lease.bytes;
    this.#leases.delete(lease);
    if (this.#largest !== lease) return;
    this.#largest = undefined;
    for (const other of this.#leases) if (other.bytes > (this.#largest?.bytes ?? 0)) this.#largest = other;
  }
}
