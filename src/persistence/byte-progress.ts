/** The progress of long reads and writes, for progress messages. */

/**
 * Called after each piece of about a megabyte: the subject of the bytes (`files`, or an area), how many are done, and
 * how many there are.
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
