/**
 * How many bytes the listeners of a thread may hold at once, all connections
 * together: bodies of requests, and what waits to be sent (threats A-13). Each
 * byte belongs to an owner, mostly a tenant, and no owner can use up what the
 * others need.
 *
 * (1) An owner that holds something may take more as long as it then has no
 *     more than is left. So one alone gets half, two get a third each, and
 *     there is always room for one more.
 * (2) An owner that holds nothing may take what is free at once, but for an
 *     eighth of the whole. So may one for a reply that holds nothing but its
 *     request.
 * (3) What exists already is counted even when there is no room for it (`add`).
 */

/** Whose bytes they are, by identity. */
export interface Owner {
  readonly name: string;
}

/** Requests before it is known whose they are. */
export const NOBODY: Owner = { name: "" };

const RESERVE_SHARE = 1 / 8;
/** So many accounts are listed before those without bytes are taken off the list. */
const LISTED_COUNT_MIN = 64;

/** What one owner holds. An owner has the same account as long as the owner exists. */
class Account {
  readonly owner: Owner;
  bytes = 0;
  isListed = false;

  constructor(owner: Owner) {
    this.owner = owner;
  }
}

export class ByteBudget {
  readonly #max: number;
  readonly #nobody = new Account(NOBODY);
  readonly #accounts = new WeakMap<Owner, Account>();
  /** The account that was used last: light traffic finds its account without a look-up. */
  #last = this.#nobody;
  /** All accounts with bytes, and some that had bytes. A request costs no change of this set. */
  readonly #listed = new Set<Account>();
  #listedCountMax = LISTED_COUNT_MIN;
  readonly #waiting = new Map<Owner, Set<() => void>>();
  #used = 0;

  constructor(bytesMax: number) {
    this.#max = bytesMax;
  }

  get usedBytes(): number {
    return this.#used;
  }

  /** Those that hold something, with their bytes. */
  get owners(): ReadonlyMap<Owner, number> {
    this.#unlistEmpty();
    return new Map([...this.#listed].map(({ owner, bytes }) => [owner, bytes]));
  }

  /** True when little enough is held that nobody is refused anything small. */
  get isQuiet(): boolean {
    return this.#used <= this.#max / 4;
  }

  /** Whether an owner may begin something whose size is not known yet. Who holds nothing always may. */
  hasRoom(owner: Owner): boolean {
    if (this.isQuiet) return true;
    const { bytes } = this.#accountOf(owner);
    return bytes === 0 || bytes <= this.#max - this.#used;
  }

  /** False when there is no room; then nothing was taken. `requestBytes`: of the request, when the bytes are its reply. */
  take(bytes: number, owner: Owner = NOBODY, requestBytes = 0): boolean {
    const held = this.#accountOf(owner).bytes - requestBytes;
    const left = this.#max - this.#used - bytes;
    const leftMin = held === 0 ? this.#max * RESERVE_SHARE : held + bytes;
    if (left < leftMin) return false; // keeps (1) and (2)
    this.add(bytes, owner);
    return true;
  }

  /** Counts what is there already. keeps (3) */
  add(bytes: number, owner: Owner = NOBODY): void {
    if (bytes === 0) return;
    const account = this.#accountOf(owner);
    this.#used += bytes;
    account.bytes += bytes;
    if (!account.isListed) this.#list(account);
  }

  release(bytes: number, owner: Owner = NOBODY): void {
    if (bytes === 0) return;
    this.#used -= bytes;
    this.#accountOf(owner).bytes -= bytes;
    if (this.#waiting.size > 0) this.#wake();
  }

  /** The bytes turn out to be another's. */
  move(bytes: number, from: Owner, to: Owner): void {
    if (bytes === 0 || from === to) return;
    this.add(bytes, to);
    this.release(bytes, from);
  }

  /** Calls back once, when the owner has room; its bytes being released is what makes it. The returned function forgets it. */
  whenRoom(owner: Owner, callback: () => void): () => void {
    const waiting = this.#waiting.get(owner) ?? new Set();
    this.#waiting.set(owner, waiting.add(callback));
    return () => {
      waiting.delete(callback);
      if (waiting.size === 0 && this.#waiting.get(owner) === waiting) this.#waiting.delete(owner);
    };
  }

  #accountOf(owner: Owner): Account {
    if (owner === NOBODY) return this.#nobody;
    if (owner === this.#last.owner) return this.#last;
    let account = this.#accounts.get(owner);
    if (account === undefined) {
      account = new Account(owner);
      this.#accounts.set(owner, account);
    }
    this.#last = account;
    return account;
  }

  #list(account: Account): void {
    if (this.#listed.size >= this.#listedCountMax) {
      this.#unlistEmpty();
      this.#listedCountMax = Math.max(LISTED_COUNT_MIN, 2 * this.#listed.size);
    }
    account.isListed = true;
    this.#listed.add(account);
  }

  #unlistEmpty(): void {
    for (const account of this.#listed) {
      if (account.bytes > 0) continue;
      account.isListed = false;
      this.#listed.delete(account);
    }
  }

  #wake(): void {
    for (const [owner, callbacks] of [...this.#waiting]) {
      if (!this.hasRoom(owner)) continue;
      this.#waiting.delete(owner);
      for (const callback of callbacks) callback();
    }
  }
}
