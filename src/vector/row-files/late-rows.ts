/**
 * Dense vectors of an answer that are in files. The answer is made at once, with
 * zeros in their place; `read` begins in the same turn, so that all parts of a
 * record have the same state, and writes the vectors when they are there.
 */
import type { FileRows } from "./file-rows.ts";

interface Wanted {
  readonly rows: FileRows;
  readonly records: number[];
  readonly vectors: Float32Array[];
}

export class LateRows {
  #wanted: Wanted | undefined;

  /** The vector of a row, which `read` will write. All rows of an answer are of one namespace. */
  add(rows: FileRows, record: number): Float32Array {
    const vector = new Float32Array(rows.dimension);
    this.#wanted ??= { rows, records: [], vectors: [] };
    this.#wanted.records.push(record);
    this.#wanted.vectors.push(vector);
    return vector;
  }

  /** Called once, in the turn of all `add`. Undefined if there is nothing to read; rejects with a fault of the disk. */
  read(): Promise<void> | undefined {
    if (this.#wanted === undefined) return undefined;
    const { rows, records, vectors } = this.#wanted;
    return rows.read(records).then((found) => {
      for (const [i, values] of found.entries()) if (values !== undefined) vectors[i]?.set(values);
    });
  }
}

/** The answer when its rows were read. */
export function withRows<Answer>(answer: Answer, late: LateRows): Answer | Promise<Answer> {
  const reading = late.read();
  return reading === undefined ? answer : reading.then(() => answer);
}
