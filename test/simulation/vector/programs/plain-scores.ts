/**
 * Scores in the most obvious way, only from the interface (B2.cosine and its
 * siblings): one term after the other, each rounded to float32. The engine's
 * answers are compared with these.
 */
import type { Similarity } from "../../../../src/vector/index/definition.ts";

const round = Math.fround;

/** The two sums over dense vectors. The sum of floats depends on their order, so the order is a choice. */
export interface Sums {
  dot(one: readonly number[], other: readonly number[]): number;
  squaredDistance(one: readonly number[], other: readonly number[]): number;
}

function dotTerms(one: readonly number[], other: readonly number[]): number[] {
  return one.map((value, i) => round(value * (other[i] ?? 0)));
}

function distanceTerms(one: readonly number[], other: readonly number[]): number[] {
  return one.map((value, i) => {
    const difference = round(value - (other[i] ?? 0));
    return round(difference * difference);
  });
}

function sumInOrder(terms: readonly number[]): number {
  return terms.reduce((sum, term) => round(sum + term), 0);
}

/** From the first term to the last. */
export const plainSums: Sums = {
  dot: (one, other) => sumInOrder(dotTerms(one, other)),
  squaredDistance: (one, other) => sumInOrder(distanceTerms(one, other)),
};

const LANES = 4;
const STEP = 4 * LANES;

/**
 * The order that `assembly/row-kernel.ts` states in (1): four accumulators of four lanes take 16 terms at a time; the
 * rest goes into the first one.
 */
function sumInLanes(terms: readonly number[]): number {
  const padded = [...terms, ...new Array<number>((LANES - (terms.length % LANES)) % LANES).fill(0)];
  const accumulators = [0, 1, 2, 3].map(() => [0, 0, 0, 0]);
  const stepsEnd = padded.length - (padded.length % STEP);
  for (const [i, term] of padded.entries()) {
    const accumulator = accumulators[i < stepsEnd ? Math.floor((i % STEP) / LANES) : 0] ?? [];
    accumulator[i % LANES] = round((accumulator[i % LANES] ?? 0) + term);
  }
  const lane = (number: number): number => {
    const [first = 0, second = 0, third = 0, fourth = 0] = accumulators.map((lanes) => lanes[number] ?? 0);
    return round(round(first + second) + round(third + fourth));
  };
  return round(round(lane(0) + lane(1)) + round(lane(2) + lane(3)));
}

/** The order of the engine's SIMD kernel. */
export const laneSums: Sums = {
  dot: (one, other) => sumInLanes(dotTerms(one, other)),
  squaredDistance: (one, other) => sumInLanes(distanceTerms(one, other)),
};

/** Without rounding: right where every sum is a float32 in any order, and fast. */
export const exactSums: Sums = {
  dot(one, other) {
    let sum = 0;
    for (let i = 0; i < one.length; i += 1) sum += (one[i] ?? 0) * (other[i] ?? 0);
    return sum;
  },
  squaredDistance(one, other) {
    let sum = 0;
    for (let i = 0; i < one.length; i += 1) sum += ((one[i] ?? 0) - (other[i] ?? 0)) ** 2;
    return sum;
  },
};

export const sumsOf = { plain: plainSums, lanes: laneSums, exact: exactSums } as const;

/** The key of a dense ranking: the score before it is clamped. Higher is nearer. */
export function denseRank(
  similarity: Similarity,
  sums: Sums,
  { query, vector }: { readonly query: readonly number[]; readonly vector: readonly number[] },
): number {
  switch (similarity) {
    case "COSINE":
      return cosineRank(sums.dot(query, vector), sums.dot(query, query), sums.dot(vector, vector));
    case "EUCLIDEAN":
      return round(1 / round(1 + sums.squaredDistance(vector, query)));
    case "DOT_PRODUCT":
      return sums.dot(vector, query);
    default: {
      const never: never = similarity;
      return never;
    }
  }
}

function cosineRank(dot: number, queryLength: number, length: number): number {
  if (dot === queryLength && dot === length) return 1;
  const scale = round(round(Math.sqrt(queryLength)) * round(Math.sqrt(length)));
  // A vector without a direction is at a right angle to everything.
  if (scale === 0) return 0.5;
  return clamp(round(round(1 + round(dot / scale)) / 2));
}

/** The printed score of a rank. */
export function denseScore(similarity: Similarity, rank: number): number {
  return similarity === "DOT_PRODUCT" ? clamp(round(round(1 + rank) / 2)) : rank;
}

function clamp(score: number): number {
  return Math.max(0, Math.min(1, score));
}

/** The nonzero values of a sparse vector, in the order sent. */
export type SparseList = readonly { readonly index: number; readonly value: number }[];

/** The inner product over the common indices, entry by entry of the query; undefined if they share none. */
export function sparseScore(query: SparseList, vector: SparseList): number | undefined {
  const held = valuesByIndex(vector);
  let sum: number | undefined;
  for (const asked of query) {
    for (const value of held.get(asked.index) ?? []) sum = round((sum ?? 0) + round(asked.value * value));
  }
  return sum;
}

/** The values of a vector at each index, in order. Vectors do not change, so this is computed once for each. */
function valuesByIndex(vector: SparseList): ReadonlyMap<number, readonly number[]> {
  const known = valuesOfVectors.get(vector);
  if (known !== undefined) return known;
  const values = new Map<number, number[]>();
  for (const { index, value } of vector) {
    const list = values.get(index);
    if (list === undefined) values.set(index, [value]);
    else list.push(value);
  }
  valuesOfVectors.set(vector, values);
  return values;
}

const valuesOfVectors = new WeakMap<SparseList, ReadonlyMap<number, readonly number[]>>();

/** The query with each value weighted by how rare its index is among these vectors. */
export function weightByRarity(query: SparseList, vectors: readonly SparseList[]): SparseList {
  return query.map(({ index, value }) => {
    const holding = vectors.filter((vector) => valuesByIndex(vector).has(index)).length;
    const idf = Math.log((vectors.length - holding + 0.5) / (holding + 0.5) + 1);
    return { index, value: round(value * round(idf)) };
  });
}
