/**
 * How many bytes of bodies and large replies the listeners of a thread may hold
 * at once, all connections together (threats A-13). No connection uses it up
 * for long: bodies must arrive, and replies be taken, in time.
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

  release(bytes: number): void {
    this.#used -= bytes;
  }
}
