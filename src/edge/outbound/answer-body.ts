/**
 * Collects the body of an answer, up to a limit.
 *
 * Bytes are copied into one buffer that doubles: a list of pieces would cost a
 * hundred bytes for each byte of a server that sends single bytes.
 */

const NO_BYTES = Buffer.alloc(0);

export class AnswerBody {
  readonly #bytesMax: number;
  /** The only piece, or the growing buffer. */
  #bytes: Buffer = NO_BYTES;
  #length = 0;
  #isOwn = false;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Adds the part of `piece` that fits. False if not all of it fits. */
  add(piece: Buffer): boolean {
    const room = this.#bytesMax - this.#length;
    const taken = piece.length > room ? piece.subarray(0, room) : piece;
    if (this.#length === 0) {
      this.#bytes = taken;
      this.#length = taken.length;
    } else if (taken.length > 0) {
      this.#append(taken);
    }
    return taken.length === piece.length;
  }

  /** Bytes of memory. */
  get capacity(): number {
    return this.#bytes.length;
  }

  /** All bytes so far. Do not call `add` afterwards. */
  take(): Buffer {
    return this.#isOwn ? this.#bytes.subarray(0, this.#length) : this.#bytes;
  }

  #append(piece: Buffer): void {
    const length = this.#length + piece.length;
    if (!this.#isOwn || length > this.#bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.min(this.#bytesMax, Math.max(4_096, 2 * length)));
      this.#bytes.copy(larger, 0, 0, this.#length);
      this.#bytes = larger;
      this.#isOwn = true;
    }
    piece.copy(this.#bytes, this.#length);
    this.#length = length;
  }
}
