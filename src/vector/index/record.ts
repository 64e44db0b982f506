/**
 * What goes into an index and what comes out (B.record.id and its
 * siblings). Dense values are float32; metadata travels as the compact JSON text
 * of an object, so that nobody parses what nobody filters by.
 */

export interface SparseVector {
  /** Signed 32-bit, in the order they were sent; one may stand more than once. */
  readonly indices: Int32Array;
  /** As many as indices. */
  readonly values: Float32Array;
}

/** One record of an upsert: the whole of what is kept for its id. */
export interface NewRecord {
  readonly id: string;
  readonly vector?: Float32Array | undefined;
  readonly sparseVector?: SparseVector | undefined;
  readonly metadata?: string | undefined;
  readonly data?: string | undefined;
}

/** One record of an upsert of text, which the index's models turn into vectors. */
export interface NewText {
  readonly id: string;
  readonly data: string;
  readonly metadata?: string | undefined;
}

export interface RecordChange {
  readonly id: string;
  readonly vector?: Float32Array | undefined;
  readonly sparseVector?: SparseVector | undefined;
  readonly metadata?: string | undefined;
  readonly data?: string | undefined;
  /** PATCH: `metadata` is merged into what is there (RFC 7396). */
  readonly metadataUpdateMode: "OVERWRITE" | "PATCH";
}

/** Which parts of a record are wanted. */
export interface Include {
  readonly metadata: boolean;
  /** Dense and sparse. */
  readonly vectors: boolean;
  readonly data: boolean;
}

/** A record as it is answered: a part is absent when it was not wanted or the record has none. Nothing of it is shared. */
export interface RecordView {
  readonly id: string;
  readonly vector?: Float32Array;
  readonly sparseVector?: SparseVector;
  /** Compact JSON of an object. */
  readonly metadata?: string;
  readonly data?: string;
}

export interface ScoredView extends RecordView {
  /** A float32. */
  readonly score: number;
}
