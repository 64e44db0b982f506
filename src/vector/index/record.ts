/**
 * The records of requests and answers (B.record.id and its siblings). Dense
 * values are float32. Metadata is passed on as the compact JSON text of an
 * object, so that it is only parsed for filters.
 */

export interface SparseVector {
  /** Signed 32-bit, in the order they were sent; an index may occur more than once. */
  readonly indices: Int32Array;
  /** As many as indices. */
  readonly values: Float32Array;
}

/** One record of an upsert: everything stored for its id. */
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
  /** PATCH: `metadata` is merged into the existing metadata (RFC 7396). */
  readonly metadataUpdateMode: "OVERWRITE" | "PATCH";
}

/** The requested parts of a record. */
export interface Include {
  readonly metadata: boolean;
  /** Dense and sparse. */
  readonly vectors: boolean;
  readonly data: boolean;
}

/** A record in an answer: a part is absent if it was not requested or does not exist. No part is shared. */
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
