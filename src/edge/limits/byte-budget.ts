/**
 * The bytes that the listeners of a thread may hold at once, for all connections
 * together: request bodies and unsent replies (threats A-13). Each byte belongs
 * to an owner, mostly a tenant, and no owner can use up the share of the others.
 *
 * (1) An owner that holds bytes may take more if it then holds no more than is
 *     left. So one owner gets half, two get a third each, and there is always
 *     room for one more.
 * (2) An owner that holds nothing may take all that is free at once, except an
 *     eighth of the whole. The same holds for a reply if its owner holds only the
 *     request.
 * (3) Bytes that exist already are counted even without room for them (`add`).
 */

/** An owner of bytes, compared by identity. */
export interface Owner {
  readonly name: string;
}

/** Owner of requests whose tenant is not known yet. */
export const NOBODY: Owner = { name: "" };

const RESERVE_SHARE = 1 / 8;
/** Accounts on the list before empty ones are removed. */
const LISTED_COUNT_MIN = 64;

/** The bytes of one owner. An owner has the same account while it exists. */
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
  /** The account that was used last: saves the look-up in light traffic. */
  #last = this.#nobody;
  /** All accounts with bytes, and some that had bytes. Most requests do not change this set. */
  readonly #listed = new Set<Account>();
  #listedCountMax = LISTED_COUNT_MIN;
  readonly #waiting = new Map<Owner, Set<() => void>>();
  #used = 0;

  constructor(bytesMax: number) {
    this.#max = bytesMax;
  }

  /** What an owner can take at once, while no other one holds anything. */
  get ownBytesMax(): number {
    return this.#max * (1 - RESERVE_SHARE);
  }

  get usedBytes(): number {
    return this.#used;
  }

  /** Owners that hold bytes, with their number. */
  get owners(): ReadonlyMap<Owner, number> {
    this.#unlistEmpty();
    return new Map([...this.#listed].map(({ owner, bytes }) => [owner, bytes]));
  }

  /** True while so few bytes are held that no small request is refused. */
  get isQuiet(): boolean {
    return this.#used <= this.#max / 4;
  }

  /** Whether an owner may begin a request of unknown size. An owner that holds nothing always may. */
  hasRoom(owner: Owner): boolean {
    if (this.isQuiet) return true;
    const { bytes } = this.#accountOf(owner);
    return bytes === 0 || bytes <= this.#max - this.#used;
  }

  /** False without room; then nothing is taken. `requestBytes`: size of the request, if the bytes are its reply. */
  take(bytes: number, owner: Owner = NOBODY, requestBytes = 0): boolean {
    const held = this.#accountOf(owner).bytes - requestBytes;
    const left = this.#max - this.#used - bytes;
    const leftMin = held === 0 ? this.#max * RESERVE_SHARE : held + bytes;
    if (left < leftMin) return false; // keeps (1) and (2)
    this.add(bytes, owner);
    return true;
  }

  /** Counts bytes that exist already. keeps (3) */
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

  /** Moves bytes to another owner. */
  move(bytes: number, from: Owner, to: Owner): void {
    if (bytes === 0 || from === to) return;
    this.add(bytes, to);
    this.release(bytes, from);
  }

  /** Calls back once, after a release, when the owner has room. The returned function removes the callback. */
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
