/**
 * A program without an index: a plain loop over one Float32Array, with stored squared lengths, four sums, and a
 * short sorted list of the best.
 */
import type { Hits, OpenSet, OpenSubject, Search } from "./subject.ts";

const FRACTIONS = Float32Array.of(0.3, 0.7, 1.1, 1.9, 2.3);
const WARM_UPS = 1_000;

export function openPlain({ dimension, rowCount, similarity }: OpenSet): OpenSubject {
  // Rows of only whole numbers would make the compiler expect small integers, and take four times as long.
  for (let i = 0; i < WARM_UPS; i += 1) dotAt(FRACTIONS, FRACTIONS, 0);
  const values = new Float32Array(rowCount * dimension);
  const lengths = new Float64Array(rowCount);
  const isCosine = similarity === "COSINE";
  return {
    add: (first, rows) => {
      values.set(rows, first * dimension);
      for (let i = 0; i < rows.length / dimension; i += 1) {
        const row = rows.subarray(i * dimension, (i + 1) * dimension);
        lengths[first + i] = dotAt(row, row, 0);
      }
    },
    finish: async () => {},
    search: ({ query, count, passing }: Search): Hits => {
      const { modulus = 1, remainder = 0 } = passing ?? {};
      const records: number[] = [];
      const scores: number[] = [];
      let least = Number.NEGATIVE_INFINITY;
      for (let row = remainder; row < rowCount; row += modulus) {
        const dot = dotAt(query, values, row * dimension);
        const squared = lengths[row] as number;
        const score = isCosine ? dot / Math.sqrt(squared) : 2 * dot - squared;
        if (score <= least) continue;
        let place = scores.findIndex((other) => other < score);
        if (place < 0) place = scores.length;
        scores.splice(place, 0, score);
        records.splice(place, 0, row);
        if (scores.length > count) {
          scores.pop();
          records.pop();
        }
        if (scores.length === count) least = scores[count - 1] as number;
      }
      return records;
    },
    isAdjustable: false,
    ownBytes: () => values.byteLength + lengths.byteLength,
  };
}

function dotAt(query: Float32Array, values: Float32Array, start: number): number {
  let first = 0;
  let second = 0;
  let third = 0;
  let fourth = 0;
  const whole = query.length & ~3;
  for (let i = 0; i < whole; i += 4) {
    first += (query[i] as number) * (values[start + i] as number);
    second += (query[i + 1] as number) * (values[start + i + 1] as number);
    third += (query[i + 2] as number) * (values[start + i + 2] as number);
    fourth += (query[i + 3] as number) * (values[start + i + 3] as number);
  }
  for (let i = whole; i < query.length; i += 1) first += (query[i] as number) * (values[start + i] as number);
  return first + second + third + fourth;
}
