/** What waits for its turn to send pieces over a link: each one piece at a time. */

/** It has bytes that wait for its peer, or for the link. */
export interface Pumped {
  /** Whether `sendPiece` has something to send now. */
  readonly canSend: boolean;
  sendPiece(): void;
}

export class Pumping {
  /** In the order of their turns. */
  readonly #waiting = new Set<Pumped>();

  get size(): number {
    return this.#waiting.size;
  }

  add(pumped: Pumped): void {
    this.#waiting.add(pumped);
  }

  delete(pumped: Pumped): void {
    this.#waiting.delete(pumped);
  }

  clear(): void {
    this.#waiting.clear();
  }

  /** Sends until nothing can be sent, or the link is congested. */
  run(link: { readonly isCongested: boolean }): void {
    for (const pumped of this.#waiting) {
      if (link.isCongested) return;
      // It goes to the end of the set, which this loop reaches later.
      this.#waiting.delete(pumped);
      pumped.sendPiece();
      if (pumped.canSend) this.#waiting.add(pumped);
    }
  }
}
