/**
 * Vectors of ones and minus ones, each made from a number, so that clients need
 * not store them. They are gathered around centres, as embeddings are. Every sum
 * over them is a whole number, so a score is the same float32 in whatever order
 * it is added up, and a vector has score 1 with itself and with no other.
 */
import { seededRandom } from "../../../../src/kernel/random.ts";

export const DIMENSION = 1_024;
const BYTES = DIMENSION / 8;
const CENTRES = 40;
/** Centres are drawn with numbers that no vector has. */
const CENTRE_SEED = 2 ** 31;

/** One bit for each value: 1 is a minus one. */
export type Signs = Uint8Array;

const centres = Array.from({ length: CENTRES }, (_, centre) => {
  const random = seededRandom(CENTRE_SEED + centre);
  return Uint8Array.from({ length: BYTES }, () => random.below(256));
});
/** Eight values as JSON, by their bits. */
const texts = Array.from({ length: 256 }, (_, byte) => {
  return Array.from({ length: 8 }, (_, bit) => ((byte >> bit) & 1 ? "-1" : "1")).join();
});
const bitCounts = Uint8Array.from({ length: 256 }, (_, byte) => byte.toString(2).replaceAll("0", "").length);

/** About an eighth of the values differ from those of the centre. */
export function signsOf(seed: number): Signs {
  const random = seededRandom(seed);
  const centre = centres[seed % CENTRES] as Signs;
  return centre.map((byte) => byte ^ (random.below(256) & random.below(256) & random.below(256)));
}

export function jsonOf(signs: Signs): string {
  return `[${Array.from(signs, (byte) => texts[byte]).join()}]`;
}

/** Whether an answered vector has these signs. */
export function isVectorOf(list: readonly number[], signs: Signs): boolean {
  if (list.length !== DIMENSION) return false;
  for (let i = 0; i < DIMENSION; i += 1) {
    if (list[i] !== ((((signs[i >> 3] as number) >> (i & 7)) & 1) === 1 ? -1 : 1)) return false;
  }
  return true;
}

/** The score of two vectors in an index with COSINE. */
export function scoreOf(one: Signs, other: Signs): number {
  return (1 + (DIMENSION - 2 * differenceOf(one, other)) / DIMENSION) / 2;
}

function differenceOf(one: Signs, other: Signs): number {
  let count = 0;
  for (let i = 0; i < BYTES; i += 1) count += bitCounts[(one[i] as number) ^ (other[i] as number)] as number;
  return count;
}
