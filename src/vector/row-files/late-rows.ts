/**
 * Dense vectors of an answer that are in files. The answer is made at once, with
 * zeros in their place; `read` begins in the same turn, so that all parts of a
 * record have the same state, and writes the vectors when they are there.
 */
import type { FileRows } from "./file-rows.ts";

export class LateRows {
  #rows: FileRows | undefined;
  readonly #records: number[] = [];
  readonly #vectors: Float32Array[] = [];

  /** The vector of a row, which `read` will write. All rows of an answer are of one namespace. */
  add(rows: FileRows, record: number): Float32Array {
    const vector = new Float32Array(rows.dimension);
    this.#rows = rows;
    this.#records.push(record);
    this.#vectors.push(vector);
    return vector;
  }

  /** Called once, in the turn of all `add`. Undefined if there is nothing to read; rejects with a fault of the disk. */
  read(): Promise<void> | undefined {
    if (this.#rows === undefined) return undefined;
    return this.#rows.read(this.#records).then((found) => {
      for (const [i, values] of found.entries()) if (values !== undefined) this.#vectors[i]?.set(values);
    });
  }
}

/** The answer when its rows were read. */
export function withRows<Answer>(answer: Answer, late: LateRows): Answer | Promise<Answer> {
  const reading = late.read();
  return reading === undefined ? answer : reading.then(() => answer);
}
