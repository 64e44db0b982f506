/**
 * Rows like embeddings: clustered around centres, with noise. And a brute-force
 * search for the most similar ones.
 */
import type { Random } from "../../src/kernel/random.ts";
import type { Similarity } from "../../src/vector/index/definition.ts";

export interface ClusteredOptions {
  readonly count: number;
  readonly dimension: number;
  readonly clusters: number;
  /** The distance of rows from their centre, as a fraction of the distance between centres. */
  readonly noise: number;
  /** Added to each value: rows that are all in one direction. */
  readonly offset?: number;
}

/** Rows one after another. The same random numbers make the same rows. */
export function clusteredRows(
  random: Random,
  { count, dimension, clusters, noise, offset = 0 }: ClusteredOptions,
): Float32Array {
  const normal = normals(random);
  const centres = Float32Array.from({ length: clusters * dimension }, normal);
  const rows = new Float32Array(count * dimension);
  for (let row = 0; row < count; row += 1) {
    const centre = random.below(clusters) * dimension;
    for (let i = 0; i < dimension; i += 1) {
      rows[row * dimension + i] = (centres[centre + i] as number) + noise * normal() + offset;
    }
  }
  return rows;
}

/** Numbers of the normal distribution (Box and Muller). */
function normals(random: Random): () => number {
  let spare: number | undefined;
  return () => {
    if (spare !== undefined) {
      const number = spare;
      spare = undefined;
      return number;
    }
    const radius = Math.sqrt(-2 * Math.log(1 - random.unit()));
    const angle = 2 * Math.PI * random.unit();
    spare = radius * Math.sin(angle);
    return radius * Math.cos(angle);
  };
}

/** Smaller is more similar. In float64. */
export function distanceOf(similarity: Similarity, one: Float32Array, other: Float32Array): number {
  let dot = 0;
  let oneSquare = 0;
  let otherSquare = 0;
  for (let i = 0; i < one.length; i += 1) {
    const a = one[i] as number;
    const b = other[i] as number;
    dot += a * b;
    oneSquare += a * a;
    otherSquare += b * b;
  }
  switch (similarity) {
    case "COSINE":
      return -dot / Math.sqrt(oneSquare * otherSquare);
    case "EUCLIDEAN":
      return oneSquare + otherSquare - 2 * dot;
    case "DOT_PRODUCT":
      return -dot;
    default: {
      const never: never = similarity;
      throw new Error(`Unknown similarity: ${String(never)}`);
    }
  }
}

export interface NearestOptions {
  readonly similarity: Similarity;
  readonly count: number;
  /** Numbers of rows to choose from. */
  readonly among: Iterable<number>;
  rowOf(number: number): Float32Array;
}

/** The numbers of the most similar rows, best first; of equal ones those that come first. */
export function nearestRows(query: Float32Array, { similarity, count, among, rowOf }: NearestOptions): number[] {
  const numbers: number[] = [];
  const distances: number[] = [];
  for (const number of among) {
    const distance = distanceOf(similarity, query, rowOf(number));
    if (numbers.length === count && !(distance < (distances[count - 1] as number))) continue;
    let at = Math.min(numbers.length, count - 1);
    for (; at > 0 && (distances[at - 1] as number) > distance; at -= 1) {
      numbers[at] = numbers[at - 1] as number;
      distances[at] = distances[at - 1] as number;
    }
    numbers[at] = number;
    distances[at] = distance;
  }
  return numbers;
}
