/** A query vector in the kernel's form. Made by `RowMemory.prepare`; valid for every store of its dimension. */

export interface PreparedQuery {
  readonly dimension: number;
  /** The values, with zeros up to a multiple of four. Never changed. */
  readonly padded: Float32Array;
  /** A float32 by the same sums as those of rows; Infinity or NaN if the values are too large. */
  readonly squaredLength: number;
}
