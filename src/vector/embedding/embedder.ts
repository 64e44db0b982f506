/**
 * The interface of models that turn text into vectors. Start-up gives an index
 * its embedders; those that call a server are in `edge/embedding/`.
 */
import type { SparseVector } from "../index/record.ts";

/** Some models embed documents and queries differently. */
export type TextRole = "document" | "query";

export interface DenseEmbedder {
  /** Returns one vector of the model's dimension for each text, in order. Rejects with a `VectorFailure`. */
  embed(texts: readonly string[], role: TextRole): Promise<readonly Float32Array[]>;
  close(): Promise<void>;
}

export interface SparseEmbedder {
  /** Never fails; a text without words gives an empty vector. */
  embed(text: string, role: TextRole): SparseVector;
}
