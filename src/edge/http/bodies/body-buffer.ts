/**
 * Assembles a body from its chunks. Most bodies are one chunk and are not
 * copied. Others are copied into one buffer that grows, never stored as a list: a
 * client may send one byte in each chunk, and a Buffer costs a hundred.
 */

const GROWN_BYTES_MIN = 4_096;
const NO_BYTES = Buffer.alloc(0);

export class BodyBuffer {
  #bytes: Buffer = NO_BYTES;
  #length = 0;
  /** Content-Length, or 0 if it is unknown. */
  readonly #expected: number;

  constructor(expectedBytes: number) {
    this.#expected = expectedBytes;
  }

  get length(): number {
    return this.#length;
  }

  add(chunk: Buffer): void {
    const length = this.#length + chunk.length;
    if (this.#length === 0) this.#bytes = chunk;
    else {
      if (length > this.#bytes.length) this.#grow(length);
      chunk.copy(this.#bytes, this.#length);
    }
    this.#length = length;
  }

  /** The body so far. Do not call `add` afterwards. */
  take(): Buffer {
    return this.#bytes.length === this.#length ? this.#bytes : this.#bytes.subarray(0, this.#length);
  }

  /** Doubles, up to the announced length: memory follows the bytes that have arrived, not the announced ones. */
  #grow(length: number): void {
    const doubled = Math.max(GROWN_BYTES_MIN, 2 * length);
    const capacity = this.#expected >= length ? Math.min(this.#expected, doubled) : doubled;
    const grown = Buffer.allocUnsafeSlow(capacity);
    this.#bytes.copy(grown, 0, 0, this.#length);
    this.#bytes = grown;
  }
}
