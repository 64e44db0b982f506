/** The models that an index may name for its texts, one row each (B.index, B.models). */
import { bm25 } from "./bm25.ts";
import type { SparseEmbedder } from "./embedder.ts";

export interface DenseModel {
  readonly name: string;
  readonly dimension: number;
  /** The model ignores the rest of a longer text. No text is refused. */
  readonly tokensMax: number;
}

export interface SparseModel {
  readonly name: string;
  /** Undefined if it is not served. */
  readonly embedder: SparseEmbedder | undefined;
  /** A description, or the reason why it is not served. */
  readonly summary: string;
}

export const denseModels: readonly DenseModel[] = [
  { name: "BGE_SMALL_EN_V1_5", dimension: 384, tokensMax: 512 },
  { name: "BGE_BASE_EN_V1_5", dimension: 768, tokensMax: 512 },
  { name: "BGE_LARGE_EN_V1_5", dimension: 1_024, tokensMax: 512 },
  { name: "BGE_M3", dimension: 1_024, tokensMax: 8_192 },
];

export const sparseModels: readonly SparseModel[] = [
  { name: "BM25", embedder: bm25, summary: "words of English texts, weighted by BM25; built in" },
  {
    name: "BGE_M3",
    embedder: undefined,
    summary: "needs a neural network, and embedding endpoints of the OpenAI form have no sparse vectors; use BM25",
  },
];

export function findDenseModel(name: string): DenseModel | undefined {
  return denseModels.find((model) => model.name === name);
}

export function findSparseModel(name: string): SparseModel | undefined {
  return sparseModels.find((model) => model.name === name);
}
