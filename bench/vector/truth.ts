/**
 * The nearest rows, by a full scan in float64, and the share of
 * those that a subject found. Written only for this: it shares no code with the
 * subjects.
 *
 * A hit counts if it is as near as the last of the true ones, within the
 * precision of float32: any of several equally near rows counts.
 */
import { type DataSet, readQueries, readRows } from "./data-set.ts";

export const HIT_COUNT = 10;

/** One row in this many passes: those whose number has the same remainder as the number of the query. 1: all. */
export const FILTERED_MODULI = [2, 10, 100, 1_000] as const;
export const MODULI = [1, ...FILTERED_MODULI] as const;

/** Queries that are looked up in one pass over the rows. */
const BLOCK = 4;
const TOLERANCE = 1e-6;

export interface TruthOptions {
  /** The number of nearest rows. */
  readonly hitCount?: number;
  readonly moduli?: readonly number[];
}

export class Truth {
  readonly #hitCount: number;
  readonly #moduli: readonly number[];
  readonly #rows: Float32Array;
  readonly #queries: readonly Float32Array[];
  readonly #isCosine: boolean;
  readonly #dimension: number;
  /** For each row, the factor of its dot product, and the addend after that. */
  readonly #factors: Float64Array;
  readonly #offsets: Float64Array;
  /** By modulus and query: the scores of the best, best first. */
  readonly #best = new Map<number, Float64Array[]>();

  constructor(set: DataSet, { hitCount = HIT_COUNT, moduli = MODULI }: TruthOptions = {}) {
    this.#hitCount = hitCount;
    this.#moduli = moduli;
    this.#rows = readRows(set);
    this.#queries = readQueries(set);
    this.#isCosine = set.similarity === "COSINE";
    this.#dimension = set.dimension;
    this.#factors = new Float64Array(set.rowCount);
    this.#offsets = new Float64Array(set.rowCount);
    for (let row = 0; row < set.rowCount; row += 1) this.#measureRow(row);
    for (const modulus of moduli)
      this.#best.set(
        modulus,
        this.#queries.map(() => new Float64Array(hitCount).fill(Number.NEGATIVE_INFINITY)),
      );
    for (let first = 0; first < this.#queries.length; first += BLOCK) this.#lookUp(first);
  }

  /** The mean share of the true best, `wantedCount` of them at most, among the hits, for the first queries. */
  recallOf(hits: readonly (readonly number[])[], modulus: number, wantedCount = this.#hitCount): number {
    let found = 0;
    let wanted = 0;
    for (const [number, records] of hits.entries()) {
      const best = this.#best.get(modulus)?.[number] ?? new Float64Array(0);
      const there = best.subarray(0, wantedCount).filter((score) => score !== Number.NEGATIVE_INFINITY);
      const last = there.at(-1) ?? 0;
      const least = last - Math.max(1, Math.abs(last)) * TOLERANCE;
      const right = new Set(
        records.filter(
          (row) =>
            row % modulus === number % modulus && this.#score(row, this.#queries[number] as Float32Array) >= least,
        ),
      );
      found += Math.min(right.size, there.length);
      wanted += there.length;
    }
    return found / wanted;
  }

  #measureRow(row: number): void {
    let squared = 0;
    for (let i = row * this.#dimension; i < (row + 1) * this.#dimension; i += 1)
      squared += (this.#rows[i] as number) ** 2;
    // Nearer means a larger 2 q·r - |r|²: the rest of |q - r|² is the same for all rows.
    this.#factors[row] = this.#isCosine ? 1 / Math.sqrt(squared) : 2;
    this.#offsets[row] = this.#isCosine ? 0 : -squared;
  }

  #score(row: number, query: Float32Array): number {
    let dot = 0;
    for (let i = 0; i < query.length; i += 1)
      dot += (query[i] as number) * (this.#rows[row * this.#dimension + i] as number);
    const length = this.#isCosine ? Math.hypot(...query) : 1;
    return (dot * (this.#factors[row] as number) + (this.#offsets[row] as number)) / length;
  }

  #lookUp(first: number): void {
    const dimension = this.#dimension;
    const block = Array.from({ length: BLOCK }, (_, i) => this.#queries[first + i] ?? new Float32Array(dimension));
    const [a, b, c, d] = block as [Float32Array, Float32Array, Float32Array, Float32Array];
    const lengths = block.map((query) => (this.#isCosine ? Math.hypot(...query) : 1));
    const rows = this.#rows;
    const scores = new Float64Array(BLOCK);
    for (let row = 0, at = 0; at < rows.length; row += 1) {
      let dotA = 0;
      let dotB = 0;
      let dotC = 0;
      let dotD = 0;
      for (let i = 0; i < dimension; i += 1, at += 1) {
        const value = rows[at] as number;
        dotA += (a[i] as number) * value;
        dotB += (b[i] as number) * value;
        dotC += (c[i] as number) * value;
        dotD += (d[i] as number) * value;
      }
      scores[0] = dotA;
      scores[1] = dotB;
      scores[2] = dotC;
      scores[3] = dotD;
      for (let i = 0; i < BLOCK && first + i < this.#queries.length; i += 1) {
        const raw = (scores[i] as number) * (this.#factors[row] as number) + (this.#offsets[row] as number);
        this.#offer(row, first + i, raw / (lengths[i] as number));
      }
    }
  }

  #offer(row: number, number: number, score: number): void {
    for (const modulus of this.#moduli) {
      if (row % modulus !== number % modulus) continue;
      const best = this.#best.get(modulus)?.[number] as Float64Array;
      let place = this.#hitCount - 1;
      if (score <= (best[place] as number)) continue;
      for (; place > 0 && (best[place - 1] as number) < score; place -= 1) best[place] = best[place - 1] as number;
      best[place] = score;
    }
  }
}
