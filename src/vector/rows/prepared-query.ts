/** A query vector as the kernel wants it. Made by `RowMemory.prepare`; it holds for every store of its dimension. */

export interface PreparedQuery {
  readonly dimension: number;
  /** The values, and zeros up to a multiple of four. Nobody changes them. */
  readonly padded: Float32Array;
  /** A float32, of the same sums as those of rows; Infinity or NaN when the values are too large. */
  readonly squaredLength: number;
}
