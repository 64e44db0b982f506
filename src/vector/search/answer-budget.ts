/**
 * Bounds the size of one answer (threats B-05): a thousand hits with a megabyte
 * of data each would fill the heap. The size is counted while the answer is made,
 * and approximates that of its JSON.
 */
import { unprocessable, type VectorFailure } from "../failure.ts";
import type { RecordView } from "../index/record.ts";

/** The size of a record without its parts. */
const RECORD_BYTES = 64;
/** The most characters of a float32 or an int32 and a comma. */
const NUMBER_BYTES = 12;

export class AnswerBudget {
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Returns true and counts the record if there is room for it. There is always room for the first one. */
  take(view: RecordView): boolean {
    const isFirst = this.#bytes === 0;
    this.#bytes += sizeOf(view);
    return isFirst || this.#bytes <= this.#bytesMax;
  }

  /** Counts a record of an answer that cannot be shortened. Throws a `VectorFailure` if there is no room. */
  spend(view: RecordView): void {
    if (!this.take(view)) throw this.#failure();
  }

  #failure(): VectorFailure {
    return unprocessable(
      `The answer would be larger than ${this.#bytesMax} bytes: ask for fewer records, or for fewer parts of them`,
    );
  }
}

function sizeOf({ id, vector, sparseVector, metadata, data }: RecordView): number {
  const numbers = (vector?.length ?? 0) + 2 * (sparseVector?.indices.length ?? 0);
  return RECORD_BYTES + id.length + numbers * NUMBER_BYTES + (metadata?.length ?? 0) + (data?.length ?? 0);
}
