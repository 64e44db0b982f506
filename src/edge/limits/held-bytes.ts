/**
 * The bytes of one request, its body and its reply, counted for its connection,
 * for its tenant and in the budget of the thread.
 *
 * (1) Counted bytes are released once, for the owner they are counted for.
 */

import { busy, type RequestFailure } from "../errors.ts";
import { type ByteBudget, NOBODY, type Owner } from "./byte-budget.ts";

/** Replies of at least this size need room in the budget. Smaller ones count if they wait. */
export const BUDGETED_REPLY_BYTES_MIN = 64 * 1024;

/** The bytes of all requests of a connection. */
export interface ConnectionBytes {
  /** Bodies and waiting replies. */
  heldBytes: number;
  /** Waiting replies only. */
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

  /** Bytes of the other requests of the connection. */
  get bytesOfOthers(): number {
    return this.#connection.heldBytes - this.#bytes;
  }

  get bodyBytes(): number {
    return this.#bytes - this.#unsentBytes;
  }

  /** Bytes of the reply. */
  get unsentBytes(): number {
    return this.#unsentBytes;
  }

  /** Counts the request for this tenant from now on. Returns a refusal if the tenant holds too many bytes. */
  claim(owner: Owner): RequestFailure | undefined {
    if (owner === this.#owner) return undefined;
    const hasRoom = this.#budget.hasRoom(owner);
    this.#budget.move(this.#bytes, this.#owner, owner);
    this.#owner = owner;
    return hasRoom ? undefined : busy;
  }

  /** False without room for this part of the body. */
  takeBody(bytes: number): boolean {
    if (!this.#budget.take(bytes, this.#owner)) return false;
    this.#count(bytes);
    return true;
  }

  /** False without room for the reply. */
  takeReply(bytes: number): boolean {
    if (!this.#budget.take(bytes, this.#owner, this.#bytes)) return false;
    this.#count(bytes);
    this.#countUnsent(bytes);
    return true;
  }

  /** A longer reply never has room. */
  get replyBytesMax(): number {
    return this.#budget.ownBytesMax - this.bodyBytes;
  }

  /** Counts a reply that exists already. */
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
