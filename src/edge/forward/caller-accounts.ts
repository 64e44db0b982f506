/**
 * The addresses of clients as owners of bytes, for requests whose tenant only
 * another node knows: so one client cannot take the room of all others.
 */
import type { Owner } from "../limits/byte-budget.ts";

/** Addresses that are remembered. One that returns after so many others gets a second account, which it can only use alone. */
const ADDRESSES_MAX = 10_000;

export class CallerAccounts {
  /** In the order of their last requests. */
  readonly #owners = new Map<string, Owner>();

  /** The same owner for each request of an address. */
  of(address: string): Owner {
    const owner = this.#owners.get(address) ?? { name: address };
    this.#owners.delete(address);
    this.#owners.set(address, owner);
    if (this.#owners.size > ADDRESSES_MAX) {
      const [oldest] = this.#owners.keys();
      if (oldest !== undefined) this.#owners.delete(oldest);
    }
    return owner;
  }
}
