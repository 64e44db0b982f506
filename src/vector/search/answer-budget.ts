/**
 * How large one answer may become (threats B-05): a thousand hits with a
 * megabyte of data each would fill the heap. Counted while the answer is made,
 * by about what its JSON will take.
 */
import { unprocessable, type VectorFailure } from "../failure.ts";
import type { RecordView } from "../index/record.ts";

/** Of a record besides its parts. */
const RECORD_BYTES = 64;
/** A float32 or an int32 and a comma, at most. */
const NUMBER_BYTES = 12;

export class AnswerBudget {
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Whether a record still has room; it is counted if so. The first always has. */
  take(view: RecordView): boolean {
    const isFirst = this.#bytes === 0;
    this.#bytes += sizeOf(view);
    return isFirst || this.#bytes <= this.#bytesMax;
  }

  /** Counts a record of an answer that is whole or not at all. Throws a `VectorFailure`. */
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
