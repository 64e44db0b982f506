/**
 * The body of an answer while it arrives, up to a number of bytes.
 *
 * Bytes are copied into one buffer that doubles: a server that sends its bytes
 * one by one would make us keep a hundred bytes of bookkeeping for each piece
 * otherwise.
 */

const NO_BYTES = Buffer.alloc(0);

export class AnswerBody {
  readonly #bytesMax: number;
  /** The only piece there was, or the buffer that grows. */
  #bytes: Buffer = NO_BYTES;
  #length = 0;
  #isOwn = false;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Takes what still fits of `piece`; false: it did not fit as a whole. */
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

  /** Memory that it takes. */
  get capacity(): number {
    return this.#bytes.length;
  }

  /** All bytes so far; the body takes no more after that. */
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
