/**
 * How many bytes of bodies the listeners may hold at once, all connections
 * together (threats A-13). One connection cannot use it up for long: a body
 * has a limit of its own and must arrive in time.
 */
export class ByteBudget {
  readonly #max: number;
  #used = 0;

  constructor(bytesMax: number) {
    this.#max = bytesMax;
  }

  get usedBytes(): number {
    return this.#used;
  }

  /** False when there is no room; then nothing was taken. */
  take(bytes: number): boolean {
    if (this.#used + bytes > this.#max) return false;
    this.#used += bytes;
    return true;
  }

  /** Counts bytes that are there already (a reply), so that less is let in meanwhile. */
  takeAnyway(bytes: number): void {
    this.#used += bytes;
  }

  release(bytes: number): void {
    this.#used -= bytes;
  }
}
