/**
 * Decides which tenants may still take memory in a thread, before it runs out.
 *
 * Each tenant has an account: the memory of its data, as its engine counts it. The
 * memory of the thread (the heap, and memory outside of it) is measured from time
 * to time. It includes an unknown amount of garbage, so memory in use outside the
 * accounts is measured right after the last full collections.
 *
 *     0 ─────────────── SOFT ──────── HARD ──────── END ──────────── limit
 *       all may grow      the largest   only small      none may grow
 *                         may not       tenants may     (garbage, bodies, replay)
 *
 * (1) `usedBytes` is the sum of the accounts and the last known memory in use
 *     outside them, but never more than the memory of the thread. Requests under
 *     way are left out: they have their own limit and end soon.
 * (2) Up to SOFT of the limit all tenants may grow. Above it tenants with at least
 *     `thresholdBytes` may not: at SOFT that is only the largest, and the threshold
 *     falls to the size of a small tenant at HARD. So the largest is stopped first.
 * (3) A small tenant may grow up to END. Small is below SMALL_SHARE of the limit
 *     and below a quarter of the largest: many tenants of one size are stopped
 *     between SOFT and HARD.
 * (4) Memory between END and the limit is for reads, for garbage, and for a start
 *     that replays data that was accepted before.
 * (5) An account may change by a step before the thread is measured again.
 */
import type { Clock } from "./clock.ts";

export const SOFT_SHARE = 0.7;
export const HARD_SHARE = 0.8;
export const END_SHARE = 0.9;
/** A tenant below this share of the limit is small, unless the largest is small as well. */
const SMALL_SHARE = 1 / 64;
/** A small tenant has less than this share of the largest one's memory. */
const SMALL_SHARE_OF_LARGEST = 1 / 4;
/** The memory of a body under way, in multiples of its bytes: the body itself, and the words that were read from it. */
const UNDER_WAY_FACTOR = 2;
/** How much accounts may change before the thread is measured again, as a share of the limit. */
const STEP_SHARE = 1 / 128;
const LOOK_EVERY_MS = 1_000;
/** The least of this many full collections counts: at most of them, requests have just been read. */
const COLLECTIONS_KEPT = 8;
/**
 * The same for the limit of small tenants. Between a collection and its measurement new garbage arrives, tens of MB
 * with large bodies, so a few collections in a row may show too much. When memory really runs out, collections follow
 * each other within a second.
 */
const COLLECTIONS_KEPT_FOR_END = 64;

export interface MemoryGuardOptions {
  /** The limit of the thread: its heap and memory outside of it. */
  readonly bytesMax: number;
  /** The memory of the thread, including garbage. */
  readonly readBytes: () => number;
  /** The memory of requests under way: bodies and replies that wait. Absent: 0. */
  readonly readUnderWayBytes?: () => number;
}

/** The memory of one tenant. Without a guard it has no limit. */
export class MemoryAccount {
  readonly name: string;
  readonly #guard: MemoryGuard | undefined;
  #bytes = 0;
  #isClosed = false;

  constructor(name: string, guard?: MemoryGuard) {
    this.name = name;
    this.#guard = guard;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** False while the tenant may not grow. keeps (2) */
  get mayGrow(): boolean {
    return this.#guard === undefined || this.#bytes < this.#guard.thresholdBytes;
  }

  /** True if the tenant must stop even within an operation: it may not grow, and only small tenants may. */
  get isAtEnd(): boolean {
    return this.#guard?.isHard === true && !this.mayGrow;
  }

  add(bytes: number): void {
    if (this.#isClosed) return;
    this.#bytes += bytes;
    this.#guard?.count(bytes);
  }

  set(bytes: number): void {
    if (bytes !== this.#bytes) this.add(bytes - this.#bytes);
  }

  /** The tenant was dropped; later changes do not count. */
  close(): void {
    this.set(0);
    this.#isClosed = true;
    this.#guard?.forget(this);
  }
}

export class MemoryGuard {
  readonly bytesMax: number;
  readonly #readBytes: () => number;
  readonly #readUnderWayBytes: () => number;
  readonly #outside = new Set<() => number>();
  readonly #accounts = new Set<MemoryAccount>();
  #accountedBytes = 0;
  /** Memory in use outside the accounts and requests under way, after each of the last full collections. */
  readonly #besideBytes: number[] = [];
  #usedBytes = 0;
  #thresholdBytes = Number.POSITIVE_INFINITY;
  #isHard = false;
  /** The thread is measured again when the accounts are outside this range. */
  #lookBelowBytes = 0;
  #lookAboveBytes = 0;

  constructor({ bytesMax, readBytes, readUnderWayBytes = () => 0 }: MemoryGuardOptions) {
    this.bytesMax = bytesMax;
    this.#readBytes = readBytes;
    this.#readUnderWayBytes = readUnderWayBytes;
  }

  /** Tenants with this much or more may not grow; Infinity: all may. keeps (2) */
  get thresholdBytes(): number {
    return this.#thresholdBytes;
  }

  /** True if at most small tenants may grow. keeps (3) */
  get isHard(): boolean {
    return this.#isHard;
  }

  /** keeps (1) */
  get usedBytes(): number {
    return this.#usedBytes;
  }

  open(name: string): MemoryAccount {
    const account = new MemoryAccount(name, this);
    this.#accounts.add(account);
    return account;
  }

  forget(account: MemoryAccount): void {
    this.#accounts.delete(account);
  }

  /** Memory of the thread that `readBytes` does not see, such as that of WebAssembly, until the returned function is called. */
  watchOutside(readBytes: () => number): () => void {
    this.#outside.add(readBytes);
    return () => void this.#outside.delete(readBytes);
  }

  /** Adds a change of an account. keeps (5) */
  count(bytes: number): void {
    this.#accountedBytes += bytes;
    if (this.#accountedBytes > this.#lookAboveBytes || this.#accountedBytes < this.#lookBelowBytes) this.look();
  }

  /** Call after a full collection: the remaining memory is in use. */
  collected(): void {
    this.#besideBytes.push(this.#besideOf(this.#readAll()));
    if (this.#besideBytes.length > COLLECTIONS_KEPT_FOR_END) this.#besideBytes.shift();
    this.look();
  }

  /** Measures each second. The returned function stops it. */
  watch(clock: Clock): () => void {
    let cancel = (): void => {};
    const lookOn = (): void => {
      this.look();
      cancel = clock.after(LOOK_EVERY_MS, lookOn);
    };
    cancel = clock.after(LOOK_EVERY_MS, lookOn);
    return () => cancel();
  }

  look(): void {
    const { bytesMax } = this;
    const accounted = this.#accountedBytes;
    const really = this.#readAll();
    const beside = this.#besideOf(really);
    const usedSince = (collections: readonly number[]): number =>
      Math.min(accounted + Math.min(...collections, beside), really);
    const used = usedSince(this.#besideBytes.slice(-COLLECTIONS_KEPT)); // keeps (1)
    this.#usedBytes = used;
    const soft = bytesMax * SOFT_SHARE;
    const step = bytesMax * STEP_SHARE;
    this.#lookAboveBytes = accounted + Math.max(step, (soft - used) / 4);
    this.#isHard = used >= bytesMax * HARD_SHARE;
    if (used < soft) {
      this.#thresholdBytes = Number.POSITIVE_INFINITY;
      this.#lookBelowBytes = Number.NEGATIVE_INFINITY;
      return;
    }
    this.#lookBelowBytes = accounted - step;
    const isBeforeEnd = usedSince(this.#besideBytes) < bytesMax * END_SHARE; // keeps (3)
    this.#thresholdBytes = isBeforeEnd ? this.#thresholdAt(used) : 0;
  }

  /** Between SOFT and END. keeps (2) and (3) */
  #thresholdAt(used: number): number {
    const { bytesMax } = this;
    let largest = 0;
    for (const { bytes } of this.#accounts) largest = Math.max(largest, bytes);
    const small = Math.min(bytesMax * SMALL_SHARE, largest * SMALL_SHARE_OF_LARGEST);
    const leftShare = (bytesMax * HARD_SHARE - used) / (bytesMax * (HARD_SHARE - SOFT_SHARE));
    return Math.max(small, largest * Math.min(1, leftShare));
  }

  /** From the memory of the thread, including garbage. */
  #besideOf(bytes: number): number {
    return Math.max(0, bytes - this.#accountedBytes - UNDER_WAY_FACTOR * this.#readUnderWayBytes());
  }

  #readAll(): number {
    let bytes = this.#readBytes();
    for (const read of this.#outside) bytes += read();
    return bytes;
  }
}
