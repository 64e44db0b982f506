/**
 * The sparse model BM25 (B.bm25). A document's value for a token that occurs f
 * times in |D| tokens is
 *
 *     f · (k1 + 1) / (f + k1 · (1 − b + b · |D| / 32))
 *
 * with a fixed mean length of 32, so that a document's vector depends only on
 * its text. The rarity of a token counts only in queries with IDF. In a query
 * each token has the value 1, however often it occurs.
 *
 * Stop words are neither tokens nor part of |D|.
 */
import type { SparseVector } from "../index/record.ts";
import type { SparseEmbedder, TextRole } from "./embedder.ts";
import { countTokens } from "./tokens.ts";

const K1 = 1.2;
const B = 0.75;
const LENGTH_MEAN = 32;

/**
 * The most values of a vector: as many as a client may send, so that a fetched
 * vector can be stored again, and a text of a megabyte costs no more than such a
 * vector. A text with more tokens keeps the heaviest, and the first of equal
 * ones; some 5,000 words of English have this many.
 */
export const BM25_VALUES_MAX = 1_000;

export const bm25: SparseEmbedder = { embed };

function embed(text: string, role: TextRole): SparseVector {
  const { counts, length } = countTokens(text);
  const norm = K1 * (1 - B + (B * length) / LENGTH_MEAN);
  let entries = [...counts].map(([token, count]) => ({
    token,
    value: role === "query" ? 1 : (count * (K1 + 1)) / (count + norm),
  }));
  // Sorting is stable, so the first of equal values stay.
  if (entries.length > BM25_VALUES_MAX) entries = entries.sort((a, b) => b.value - a.value).slice(0, BM25_VALUES_MAX);
  entries.sort((a, b) => a.token - b.token);
  return {
    indices: Int32Array.from(entries, ({ token }) => token),
    values: Float32Array.from(entries, ({ value }) => value),
  };
}
