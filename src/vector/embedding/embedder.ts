/**
 * Text to vectors, in the engine's words. Start-up gives an index its embedders;
 * those that call out live in `edge/embedding/`.
 */
import type { SparseVector } from "../index/record.ts";

/** Some models embed what is stored and what is asked differently. */
export type TextRole = "document" | "query";

export interface DenseEmbedder {
  /** One vector of the model's dimension for each text, in order. Rejects with a `VectorFailure` that says what is wrong. */
  embed(texts: readonly string[], role: TextRole): Promise<readonly Float32Array[]>;
  close(): Promise<void>;
}

export interface SparseEmbedder {
  /** Never fails; a text without words gives an empty vector. */
  embed(text: string, role: TextRole): SparseVector;
}
