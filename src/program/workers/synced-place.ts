/**
 * The newest synced location of a journal, in memory that its thread shares with
 * the thread of the copy: a write takes no message, and a server that is not
 * copied has no such memory.
 *
 * (1) The count is odd while the location is written. A reader that sees it
 *     change reads again.
 */
import type { SyncedLocation } from "../../persistence/journal/file-format.ts";

/** The count, and the three numbers of a location. */
const WORDS = 4;
/** A writer needs nanoseconds, unless its thread has stopped in the middle. */
const TRIES_MAX = 100_000;

export function newSyncedMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(WORDS * BigInt64Array.BYTES_PER_ELEMENT);
}

export class SyncedPlaceWriter {
  readonly #words: BigInt64Array<SharedArrayBuffer>;

  constructor(memory: SharedArrayBuffer) {
    this.#words = new BigInt64Array(memory);
  }

  /** keeps (1) */
  write({ segment, offset, position }: SyncedLocation): void {
    const words = this.#words;
    Atomics.add(words, 0, 1n);
    Atomics.store(words, 1, BigInt(segment));
    Atomics.store(words, 2, BigInt(offset));
    Atomics.store(words, 3, BigInt(position));
    Atomics.add(words, 0, 1n);
  }
}

export class SyncedPlaceReader {
  readonly #words: BigInt64Array<SharedArrayBuffer>;
  #count = 0n;
  #location: SyncedLocation | undefined;

  constructor(memory: SharedArrayBuffer) {
    this.#words = new BigInt64Array(memory);
  }

  /**
   * The newest location, the same object while it has not moved; undefined before the recovery. If the writer has stopped in the middle, the one before: nothing after it
   * was acknowledged. keeps (1)
   */
  read(): SyncedLocation | undefined {
    const words = this.#words;
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      const count = Atomics.load(words, 0);
      if (count === this.#count) break;
      if (count % 2n !== 0n) continue;
      const [segment, offset, position] = [1, 2, 3].map((index) => Number(Atomics.load(words, index)));
      if (Atomics.load(words, 0) !== count) continue;
      this.#count = count;
      this.#location = { segment: segment ?? 0, offset: offset ?? 0, position: position ?? 0 };
      break;
    }
    return this.#location;
  }
}
