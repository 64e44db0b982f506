/**
 * A dense model for tests and demonstrations without a network. It compares
 * spelling, not meaning: texts with the same words, or words that are spelled
 * alike, get similar vectors; "car" and "automobile" do not.
 *
 * Each word, and each of its groups of letters, is added to one dimension with a
 * sign; a hash gives both. The sum is scaled to length 1. So a text has the same
 * vector on every machine, and the order of its words does not matter.
 */
import { assert } from "../../kernel/assert.ts";
import { DIMENSION_MAX } from "../index/definition.ts";
import type { DenseEmbedder } from "./embedder.ts";
import { stopWords } from "./stop-words.ts";
import { tokenOf, wordsOf } from "./tokens.ts";

/** Letters of a group. Both ends of a word are marked first, so that they form their own groups. */
const GROUP_LENGTH = 3;
const STOP_WORD_WEIGHT = 0.1;
/** The length of the vector of all groups of a word; the word itself has length 1. */
const GROUPS_WEIGHT = 1.5;

export class HashingEmbedder implements DenseEmbedder {
  readonly #dimensionNow: () => number;

  /** A function returns the dimension of an index that has none yet, as it is at each call. */
  constructor(dimension: number | (() => number)) {
    this.#dimensionNow = typeof dimension === "number" ? () => dimension : dimension;
    checkDimension(this.#dimensionNow());
  }

  embed(texts: readonly string[]): Promise<readonly Float32Array[]> {
    const dimension = this.#dimensionNow();
    checkDimension(dimension);
    return Promise.resolve(texts.map((text) => embedText(text, dimension)));
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

function checkDimension(dimension: number): void {
  assert(Number.isInteger(dimension) && dimension > 0 && dimension <= DIMENSION_MAX, "a dimension is within bounds");
}

function embedText(text: string, dimension: number): Float32Array {
  const sums = new Float64Array(dimension);
  for (const word of wordsOf(text)) {
    const weight = stopWords.has(word) ? STOP_WORD_WEIGHT : 1;
    const marked = `<${word}>`;
    add(sums, marked, weight);
    const groupCount = marked.length - GROUP_LENGTH + 1;
    const groupWeight = (weight * GROUPS_WEIGHT) / Math.sqrt(groupCount);
    for (let at = 0; at < groupCount; at += 1) add(sums, marked.slice(at, at + GROUP_LENGTH), groupWeight);
  }
  const length = Math.sqrt(sums.reduce((total, sum) => total + sum * sum, 0));
  if (length > 0) return Float32Array.from(sums, (sum) => sum / length);
  // Without words, or if they cancel each other out, it still gets a direction, so that cosines exist.
  const unit = new Float32Array(dimension);
  unit[0] = 1;
  return unit;
}

function add(sums: Float64Array, feature: string, weight: number): void {
  const hash = spread(tokenOf(feature));
  const place = (hash >>> 1) % sums.length;
  sums[place] = (sums[place] as number) + (hash & 1 ? -weight : weight);
}

/** Every bit of the result depends on every bit of the hash (the last steps of MurmurHash3). */
function spread(hash: number): number {
  let mixed = Math.imul(hash ^ (hash >>> 16), 0x85eb_ca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2_ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
