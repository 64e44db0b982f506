/**
 * The sparse vectors of one namespace by record number, and the inverted lists
 * that searches read. Both say the same: a record's vector has a posting for
 * each of its values, and there are no others.
 */
import type { SparseVector } from "../index/record.ts";
import { Postings } from "./postings.ts";
import { VectorPages } from "./vector-pages.ts";

export class SparseIndex {
  /** For searches, which must not change it. */
  readonly postings = new Postings();
  readonly #vectors = new VectorPages();

  /** How many records have a sparse vector. */
  get count(): number {
    return this.#vectors.count;
  }

  /** One above the highest record number that has one. */
  get recordEnd(): number {
    return this.#vectors.end;
  }

  /** What is allocated. */
  get byteCount(): number {
    return this.postings.byteCount + this.#vectors.byteCount;
  }

  has(record: number): boolean {
    return this.#vectors.has(record);
  }

  /** A copy, as it was sent: also with indices twice or out of order. */
  read(record: number): SparseVector | undefined {
    const view = this.#vectors.view(record);
    return view === undefined ? undefined : { indices: view.indices.slice(), values: view.values.slice() };
  }

  /** Replaces the record's vector. `vector` is copied. */
  set(record: number, vector: SparseVector): void {
    this.remove(record);
    const { indices, values } = vector;
    this.#vectors.add(record, vector);
    for (let i = 0; i < indices.length; i += 1) this.postings.insert(indices[i] as number, record, values[i] as number);
  }

  /** A record without a vector stays as it is. */
  remove(record: number): void {
    const view = this.#vectors.view(record);
    if (view === undefined) return;
    for (const dimension of view.indices) this.postings.remove(dimension, record);
    this.#vectors.remove(record);
  }

  clear(): void {
    this.postings.clear();
    this.#vectors.clear();
  }
}
