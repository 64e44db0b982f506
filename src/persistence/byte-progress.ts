/** How far long reading and writing is, for whoever tells people. */

/**
 * Told after each piece, of a megabyte or so: what the bytes are of (`files`, or an area), how many are done, of how
 * many.
 */
export type OnBytes = (subject: string, doneBytes: number, totalBytes: number) => void;

/** Counts the pieces of one subject. */
export class ByteProgress {
  readonly #subject: string;
  readonly #totalBytes: number;
  readonly #onBytes: OnBytes | undefined;
  #doneBytes = 0;

  constructor(subject: string, totalBytes: number, onBytes: OnBytes | undefined) {
    this.#subject = subject;
    this.#totalBytes = totalBytes;
    this.#onBytes = onBytes;
  }

  add(bytes: number): void {
    this.#doneBytes += bytes;
    this.#onBytes?.(this.#subject, this.#doneBytes, this.#totalBytes);
  }
}
