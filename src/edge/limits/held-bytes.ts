/**
 * What one request holds in memory, its body and its reply: counted for its
 * connection, for its tenant and in the budget of the thread.
 *
 * (1) What was counted is released once, under the name that it was counted for.
 */

import { busy, type RequestFailure } from "../errors.ts";
import { type ByteBudget, NOBODY, type Owner } from "./byte-budget.ts";

/** What the requests of a connection hold together. */
export interface ConnectionBytes {
  /** Bytes of its bodies and of its replies that wait. */
  heldBytes: number;
  /** Those of its replies alone. */
  unsentBytes: number;
}

export class HeldBytes {
  readonly #budget: ByteBudget;
  readonly #connection: ConnectionBytes;
  #owner: Owner = NOBODY;
  #bytes = 0;
  #unsentBytes = 0;

  constructor(budget: ByteBudget, connection: ConnectionBytes) {
    this.#budget = budget;
    this.#connection = connection;
  }

  /** What the other requests of the connection hold. */
  get bytesOfOthers(): number {
    return this.#connection.heldBytes - this.#bytes;
  }

  get bodyBytes(): number {
    return this.#bytes - this.#unsentBytes;
  }

  /** Of the reply. */
  get unsentBytes(): number {
    return this.#unsentBytes;
  }

  /** From here on it counts for this tenant. A refusal while the tenant has too much already. */
  claim(owner: Owner): RequestFailure | undefined {
    if (owner === this.#owner) return undefined;
    const hasRoom = this.#budget.hasRoom(owner);
    this.#budget.move(this.#bytes, this.#owner, owner);
    this.#owner = owner;
    return hasRoom ? undefined : busy;
  }

  /** False when there is no room for so many bytes more of the body. */
  takeBody(bytes: number): boolean {
    if (!this.#budget.take(bytes, this.#owner)) return false;
    this.#count(bytes);
    return true;
  }

  /** False when there is no room for the reply. */
  takeReply(bytes: number): boolean {
    if (!this.#budget.take(bytes, this.#owner, this.#bytes)) return false;
    this.#count(bytes);
    this.#countUnsent(bytes);
    return true;
  }

  /** A reply that is there already. */
  addReply(bytes: number): void {
    this.#budget.add(bytes, this.#owner);
    this.#count(bytes);
    this.#countUnsent(bytes);
  }

  releaseReply(): void {
    const bytes = this.#unsentBytes;
    if (bytes === 0) return;
    this.#countUnsent(-bytes);
    this.#count(-bytes);
    this.#budget.release(bytes, this.#owner); // keeps (1)
  }

  release(): void {
    this.releaseReply();
    const bytes = this.#bytes;
    if (bytes === 0) return;
    this.#count(-bytes);
    this.#budget.release(bytes, this.#owner); // keeps (1)
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    this.#connection.heldBytes += bytes;
  }

  #countUnsent(bytes: number): void {
    this.#unsentBytes += bytes;
    this.#connection.unsentBytes += bytes;
  }
}
