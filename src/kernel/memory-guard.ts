/**
 * Who may still take memory in a thread, before there is none left for anybody.
 *
 * Each tenant has an account: what its data takes, as its engine counts it. What
 * the thread really has (the heap, and what lies outside of it) is looked at now
 * and then. Its garbage is unknown, so what is used beside the accounts is
 * learned from the figures right after the last full collections.
 *
 *     0 ─────────────── SOFT ──────── HARD ──────── END ──────────── limit
 *       everybody grows   the largest   small tenants   nobody grows
 *                         do not        alone grow      (garbage, bodies, replay)
 *
 * (1) `usedBytes` is what the accounts say together and what was last known to
 *     be used beside them, but never more than the thread really has. Requests
 *     under way have a bound of their own and end soon: they are left out.
 * (2) Up to SOFT of the limit everybody may grow. From there on tenants with at
 *     least `thresholdBytes` may not: at SOFT that is the largest alone, and the
 *     threshold falls to the size of a small tenant at HARD. So the largest is
 *     stopped first.
 * (3) A small tenant goes on up to END. Small is below SMALL_SHARE of the limit
 *     and below a quarter of the largest: many tenants of one size are stopped
 *     between SOFT and HARD.
 * (4) What is between END and the limit is for reading, for garbage, and for a
 *     start that replays what was allowed before.
 * (5) An account may change by a step before the thread is looked at again.
 */
import type { Clock } from "./clock.ts";

export const SOFT_SHARE = 0.7;
export const HARD_SHARE = 0.8;
export const END_SHARE = 0.9;
/** A tenant below this share of the limit is small, unless the largest is small as well. */
const SMALL_SHARE = 1 / 64;
/** A small tenant has less than this share of what the largest has. */
const SMALL_SHARE_OF_LARGEST = 1 / 4;
/** A body under way takes so much of its bytes: it is there as it came, and as the words that were read from it. */
const UNDER_WAY_FACTOR = 2;
/** How much accounts may change before the thread is looked at again, as a share of the limit. */
const STEP_SHARE = 1 / 128;
const LOOK_EVERY_MS = 1_000;
/** Of so many full collections the one counts that has left least: in most of them requests have just been read. */
const COLLECTIONS_KEPT = 8;
/**
 * The same for what stops small tenants. Between a collection and the look at it new garbage arrives, tens of MB with large
 * bodies, so a few collections in a row may say too much. When memory really ends they follow each other within a second.
 */
const COLLECTIONS_KEPT_FOR_END = 64;

export interface MemoryGuardOptions {
  /** What the thread may have: its heap and what lies outside of it. */
  readonly bytesMax: number;
  /** What it has, garbage included. */
  readonly readBytes: () => number;
  /** What requests under way hold of it: bodies and replies that wait. Absent: nothing. */
  readonly readUnderWayBytes?: () => number;
}

/** What one tenant takes. Without a guard it may take everything. */
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

  /** False while the tenant has to stop growing. keeps (2) */
  get mayGrow(): boolean {
    return this.#guard === undefined || this.#bytes < this.#guard.thresholdBytes;
  }

  /** True when the tenant must stop even in the middle of what it does: it may not grow, and only small tenants may. */
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

  /** The tenant is gone; what still goes with it counts no more. */
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
  readonly #outside: (() => number)[] = [];
  readonly #accounts = new Set<MemoryAccount>();
  #accountedBytes = 0;
  /** Used beside the accounts and requests under way, as the last full collections have shown. */
  readonly #besideBytes: number[] = [];
  #usedBytes = 0;
  #thresholdBytes = Number.POSITIVE_INFINITY;
  #isHard = false;
  /** Accounts below or above this: it is time to look. */
  #lookBelowBytes = 0;
  #lookAboveBytes = 0;

  constructor({ bytesMax, readBytes, readUnderWayBytes = () => 0 }: MemoryGuardOptions) {
    this.bytesMax = bytesMax;
    this.#readBytes = readBytes;
    this.#readUnderWayBytes = readUnderWayBytes;
  }

  /** Who has so much or more may not grow; Infinity: everybody may. keeps (2) */
  get thresholdBytes(): number {
    return this.#thresholdBytes;
  }

  /** True when only small tenants may grow, if any. keeps (3) */
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

  /** Memory of the thread that `readBytes` does not see, such as that of WebAssembly. */
  watchOutside(readBytes: () => number): void {
    this.#outside.push(readBytes);
  }

  /** The accounts have changed together by so much. keeps (5) */
  count(bytes: number): void {
    this.#accountedBytes += bytes;
    if (this.#accountedBytes > this.#lookAboveBytes || this.#accountedBytes < this.#lookBelowBytes) this.look();
  }

  /** A full collection has ended: what is there is in use. */
  collected(): void {
    this.#besideBytes.push(this.#besideOf(this.#readAll()));
    if (this.#besideBytes.length > COLLECTIONS_KEPT_FOR_END) this.#besideBytes.shift();
    this.look();
  }

  /** Looks each second. The returned function ends that. */
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

  /** Of so many bytes that the thread has, garbage among them. */
  #besideOf(bytes: number): number {
    return Math.max(0, bytes - this.#accountedBytes - UNDER_WAY_FACTOR * this.#readUnderWayBytes());
  }

  #readAll(): number {
    let bytes = this.#readBytes();
    for (const read of this.#outside) bytes += read();
    return bytes;
  }
}
