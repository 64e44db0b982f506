/**
 * The addresses of clients as owners of bytes, for requests whose tenant only
 * another node knows: so one client cannot take the room of all others.
 */
import type { Owner } from "../limits/byte-budget.ts";

/**
 * Addresses that are remembered since the last change of generations. One that returns after twice as many others gets a
 * second account, which it can only use alone.
 */
const ADDRESSES_MAX = 5_000;

export class CallerAccounts {
  #recent = new Map<string, Owner>();
  /** Those of the generation before. A map in the order of the last requests would change with each request. */
  #former = new Map<string, Owner>();

  /** The same owner for each request of an address. */
  of(address: string): Owner {
    const known = this.#recent.get(address);
    if (known !== undefined) return known;
    const owner = this.#former.get(address) ?? { name: address };
    if (this.#recent.size >= ADDRESSES_MAX) {
      this.#former = this.#recent;
      this.#recent = new Map();
    }
    this.#recent.set(address, owner);
    return owner;
  }
}
