/**
 * The sparse vectors of one namespace by record number, and the inverted lists
 * that searches read. Both agree: a record's vector has a posting for each of its
 * values, and there are no other postings.
 */
import type { SparseVector } from "../index/record.ts";
import { Postings } from "./postings.ts";
import { VectorPages } from "./vector-pages.ts";

export class SparseIndex {
  /** For searches, which must not change the lists. */
  readonly postings = new Postings();
  readonly #vectors = new VectorPages();

  /** The number of records with a sparse vector. */
  get count(): number {
    return this.#vectors.count;
  }

  /** One above the highest record number with a sparse vector. */
  get recordEnd(): number {
    return this.#vectors.end;
  }

  /** The allocated bytes. */
  get byteCount(): number {
    return this.postings.byteCount + this.#vectors.byteCount;
  }

  has(record: number): boolean {
    return this.#vectors.has(record);
  }

  /** A copy of the vector as it was sent, with repeated or unordered indices. */
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

  /** Removes the record's vector, if it has one. */
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
