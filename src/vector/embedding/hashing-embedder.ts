/**
 * A dense model for tests and demonstrations without a network: it knows
 * spelling, not meaning. Texts with the same words, or words that are spelled
 * alike, get similar vectors; "car" and "automobile" do not.
 *
 * Each word adds itself and its groups of letters to one dimension each, with a
 * sign, both drawn from a hash; the sum is brought to length 1. So every text has
 * the same vector always and everywhere, and its words may come in any order.
 */
import { assert } from "../../kernel/assert.ts";
import { DIMENSION_MAX } from "../index/definition.ts";
import type { DenseEmbedder } from "./embedder.ts";
import { stopWords } from "./stop-words.ts";
import { tokenOf, wordsOf } from "./tokens.ts";

/** Letters of a group. A word is marked at both ends first, so its beginning and end are groups of their own. */
const GROUP_LENGTH = 3;
const STOP_WORD_WEIGHT = 0.1;
/** How long all groups of a word are together as a vector; the word itself has length 1. */
const GROUPS_WEIGHT = 1.5;

export class HashingEmbedder implements DenseEmbedder {
  readonly #dimension: number;

  constructor(dimension: number) {
    assert(Number.isInteger(dimension) && dimension > 0 && dimension <= DIMENSION_MAX, "a dimension is within bounds");
    this.#dimension = dimension;
  }

  embed(texts: readonly string[]): Promise<readonly Float32Array[]> {
    return Promise.resolve(texts.map((text) => this.#embedText(text)));
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #embedText(text: string): Float32Array {
    const sums = new Float64Array(this.#dimension);
    for (const word of wordsOf(text)) {
      const weight = stopWords.has(word) ? STOP_WORD_WEIGHT : 1;
      const marked = `<${word}>`;
      this.#add(sums, marked, weight);
      const groupCount = marked.length - GROUP_LENGTH + 1;
      const groupWeight = (weight * GROUPS_WEIGHT) / Math.sqrt(groupCount);
      for (let at = 0; at < groupCount; at += 1) this.#add(sums, marked.slice(at, at + GROUP_LENGTH), groupWeight);
    }
    const length = Math.sqrt(sums.reduce((total, sum) => total + sum * sum, 0));
    if (length > 0) return Float32Array.from(sums, (sum) => sum / length);
    // No word, or words that cancel each other: still a direction, so that cosines exist.
    const unit = new Float32Array(this.#dimension);
    unit[0] = 1;
    return unit;
  }

  #add(sums: Float64Array, feature: string, weight: number): void {
    const hash = spread(tokenOf(feature));
    const place = (hash >>> 1) % this.#dimension;
    sums[place] = (sums[place] as number) + (hash & 1 ? -weight : weight);
  }
}

/** Every bit of the result depends on every bit of the hash (the last steps of MurmurHash3). */
function spread(hash: number): number {
  let mixed = Math.imul(hash ^ (hash >>> 16), 0x85eb_ca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2_ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
