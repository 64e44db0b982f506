/** The rows that are nearest to some queries by cosine, found while rows come by: a plain scan, which shares no code with larder. */
import { assert } from "../../../src/kernel/assert.ts";

interface Best {
  readonly row: number;
  readonly score: number;
}

export class BestRows {
  readonly #queries: readonly Float32Array[];
  readonly #count: number;
  /** Of each query, best first. */
  readonly #best: Best[][];

  constructor(queries: readonly Float32Array[], count: number) {
    this.#queries = queries.map(normalized);
    this.#count = count;
    this.#best = queries.map(() => []);
  }

  /** `vector` is that of the row. */
  see(row: number, vector: Float32Array): void {
    const factor = 1 / Math.sqrt(dot(vector, vector));
    for (const [i, query] of this.#queries.entries()) {
      const best = this.#best[i];
      assert(best !== undefined, "each query has a list");
      const score = dot(query, vector) * factor;
      const last = best.at(-1);
      if (best.length === this.#count && last !== undefined && last.score >= score) continue;
      if (best.length === this.#count) best.pop();
      const at = best.findIndex((other) => other.score < score);
      best.splice(at < 0 ? best.length : at, 0, { row, score });
    }
  }

  /** The share of the nearest rows among the hits of each query; hits are numbers of rows as text. */
  recallOf(hits: readonly (readonly string[])[]): { readonly mean: number; readonly lowest: number } {
    const shares = this.#best.map((best, i) => {
      const found = new Set(hits[i]);
      return best.filter(({ row }) => found.has(`${row}`)).length / best.length;
    });
    return { mean: shares.reduce((sum, share) => sum + share, 0) / shares.length, lowest: Math.min(...shares) };
  }
}

function normalized(vector: Float32Array): Float32Array {
  const factor = 1 / Math.sqrt(dot(vector, vector));
  return vector.map((value) => value * factor);
}

function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i += 1) sum += (a[i] as number) * (b[i] as number);
  return sum;
}
