/**
 * The bytes of a segment that were written last, so that a sync right after a
 * short write need not read them from the file again: that read waits for the
 * thread pool, which takes longer than to copy them.
 */

/** What is kept at most. More is read from the file, where the read is a small part of the time. */
export const RECENT_BYTES_MAX = 64 * 1024;

export class RecentBytes {
  #start = 0;
  #pieces: Buffer[] = [];
  #bytes = 0;

  /** Bytes that were written at an offset; they are copied. */
  add(bytes: Uint8Array, offset: number): void {
    if (offset !== this.#start + this.#bytes || this.#bytes + bytes.length > RECENT_BYTES_MAX) this.clear();
    if (bytes.length > RECENT_BYTES_MAX) return;
    if (this.#bytes === 0) this.#start = offset;
    this.#pieces.push(Buffer.from(bytes));
    this.#bytes += bytes.length;
  }

  /** The bytes from `start` to `end`, if all of them are kept. Forgets them and those before: they are needed once. */
  take(start: number, end: number): Buffer | undefined {
    if (start < this.#start || end > this.#start + this.#bytes || start >= end) return undefined;
    const [first] = this.#pieces;
    const all = this.#pieces.length === 1 && first !== undefined ? first : Buffer.concat(this.#pieces, this.#bytes);
    const taken = all.subarray(start - this.#start, end - this.#start);
    const rest = all.subarray(end - this.#start);
    this.#pieces = rest.length === 0 ? [] : [rest];
    this.#start = end;
    this.#bytes = rest.length;
    return taken;
  }

  clear(): void {
    this.#pieces = [];
    this.#bytes = 0;
  }
}
