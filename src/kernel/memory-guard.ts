/**
 * Who may still take memory in a thread, before there is none left for anybody.
 *
 * Each tenant has an account: what its data takes, as its engine counts it. What
 * the thread really has (the heap, and what lies outside of it) is looked at now
 * and then. Its garbage is unknown, so what is used beside the accounts is
 * learned from the figures right behind the last full collections.
 *
 *     0 ─────────────── SOFT ──────── HARD ──────────── limit
 *       everybody grows   the largest   nobody grows      replay and garbage
 *                         do not
 *
 * (1) `usedBytes` is what the accounts say together and what was last known to
 *     be used beside them, but never more than the thread really has.
 * (2) Up to SOFT of the limit everybody may grow. From there on tenants with at
 *     least `thresholdBytes` may not: at SOFT that is the largest alone, and the
 *     threshold falls to nothing at HARD. So the largest is stopped first, and a
 *     small tenant goes on as long as there is anything left.
 * (3) What is between HARD and the limit is for reading, for garbage, and for a
 *     start that replays what was allowed before.
 * (4) An account may change by a step before the thread is looked at again.
 */
import type { Clock } from "./clock.ts";

export const SOFT_SHARE = 0.7;
export const HARD_SHARE = 0.8;
/** How much accounts may change before the thread is looked at again, as a share of the limit. */
const STEP_SHARE = 1 / 128;
const LOOK_EVERY_MS = 1_000;
/** Of so many full collections the one counts that has left least. */
const COLLECTIONS_KEPT = 3;

export interface MemoryGuardOptions {
  /** What the thread may have: its heap and what lies outside of it. */
  readonly bytesMax: number;
  /** What it has, garbage included. */
  readonly readBytes: () => number;
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

  /** True when nobody may grow any more, however little it has. */
  get isAtEnd(): boolean {
    return this.#guard !== undefined && this.#guard.thresholdBytes === 0;
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
  readonly #outside: (() => number)[] = [];
  readonly #accounts = new Set<MemoryAccount>();
  #accountedBytes = 0;
  /** Used beside the accounts, as the last full collections have shown. What requests under way had then is among it. */
  readonly #besideBytes: number[] = [];
  #usedBytes = 0;
  #thresholdBytes = Number.POSITIVE_INFINITY;
  /** Accounts below or above this: it is time to look. */
  #lookBelowBytes = 0;
  #lookAboveBytes = 0;

  constructor({ bytesMax, readBytes }: MemoryGuardOptions) {
    this.bytesMax = bytesMax;
    this.#readBytes = readBytes;
  }

  /** Who has so much or more may not grow; Infinity: everybody may. keeps (2) */
  get thresholdBytes(): number {
    return this.#thresholdBytes;
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

  /** The accounts have changed together by so much. keeps (4) */
  count(bytes: number): void {
    this.#accountedBytes += bytes;
    if (this.#accountedBytes > this.#lookAboveBytes || this.#accountedBytes < this.#lookBelowBytes) this.look();
  }

  /** A full collection has ended: what is there is in use. */
  collected(): void {
    this.#besideBytes.push(Math.max(0, this.#readAll() - this.#accountedBytes));
    if (this.#besideBytes.length > COLLECTIONS_KEPT) this.#besideBytes.shift();
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
    const beside = Math.min(...this.#besideBytes, Math.max(0, really - accounted));
    const used = Math.min(accounted + beside, really); // keeps (1)
    this.#usedBytes = used;
    const soft = bytesMax * SOFT_SHARE;
    const hard = bytesMax * HARD_SHARE;
    const step = bytesMax * STEP_SHARE;
    this.#lookAboveBytes = accounted + Math.max(step, (soft - used) / 4);
    if (used < soft) {
      this.#thresholdBytes = Number.POSITIVE_INFINITY;
      this.#lookBelowBytes = Number.NEGATIVE_INFINITY;
      return;
    }
    this.#lookBelowBytes = accounted - step;
    let largest = 0;
    for (const { bytes } of this.#accounts) largest = Math.max(largest, bytes);
    // keeps (2)
    this.#thresholdBytes = Math.max(0, largest * Math.min(1, (hard - used) / (hard - soft)));
  }

  #readAll(): number {
    let bytes = this.#readBytes();
    for (const read of this.#outside) bytes += read();
    return bytes;
  }
}
