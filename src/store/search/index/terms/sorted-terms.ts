/**
 * The terms of a field in the order of their bytes, in blocks of up to 256 terms, each with the number of bytes that it
 * has in common with the one before it. A new term goes to its place at once: that costs about a microsecond per
 * distinct word, and no search has to sort tens of thousands of words first. Walks skip the rest of a prefix by these
 * numbers alone.
 */
import type { Bytes } from "../../../../kernel/bytes.ts";
import type { Term } from "../index-reader.ts";

const BLOCK_TERMS = 256;
/** Common beginnings from here on are this number, and are compared when it matters. */
export const COMMON_MAX = 255;

/** The tokens by term. */
export interface Tokens {
  readonly at: (term: Term) => Bytes | undefined;
}

export interface TermBlock {
  readonly terms: Uint32Array;
  /** By place, the beginning of the term: see `beginningOf`. */
  readonly beginnings: Float64Array;
  /** By place, the bytes in common with the term before it, at most `COMMON_MAX`. */
  readonly commons: Uint8Array;
  count: number;
}

const BLOCK_BYTES = BLOCK_TERMS * 13 + 400;

export class SortedTerms {
  /** None is empty, but for the only one. */
  readonly blocks: TermBlock[] = [newBlock()];
  readonly #tokens: Tokens;

  /** @param tokens the tokens by term; the caller adds to it */
  constructor(tokens: Tokens) {
    this.#tokens = tokens;
  }

  get memoryBytes(): number {
    return this.blocks.length * BLOCK_BYTES;
  }

  /** Adds a term whose token is new. */
  insert(term: Term): void {
    const token = this.#tokens.at(term) as Bytes;
    const beginning = beginningOf(token);
    const blockNumber = this.#blockOf(token, beginning);
    const block = this.blocks[blockNumber] as TermBlock;
    const at = this.#placeIn(block, token, beginning);
    const before = at > 0 ? block.terms[at - 1] : this.#lastOf(blockNumber - 1);
    block.terms.copyWithin(at + 1, at, block.count);
    block.commons.copyWithin(at + 1, at, block.count);
    block.beginnings.copyWithin(at + 1, at, block.count);
    block.terms[at] = term;
    block.beginnings[at] = beginning;
    block.commons[at] = before === undefined ? 0 : commonBytes(this.#tokens.at(before) as Bytes, token);
    block.count += 1;
    if (at + 1 < block.count) this.#compare(block, at + 1, token);
    else {
      const next = this.blocks[blockNumber + 1];
      if (next !== undefined) this.#compare(next, 0, token);
    }
    if (block.count === BLOCK_TERMS) this.#split(blockNumber);
  }

  /** The number of the block and the place in it of the first term that is not before the token. */
  lowerBound(token: Bytes): { readonly block: number; readonly at: number } {
    const beginning = beginningOf(token);
    const block = this.#blockOf(token, beginning);
    return { block, at: this.#placeIn(this.blocks[block] as TermBlock, token, beginning) };
  }

  #compare(block: TermBlock, at: number, before: Bytes): void {
    block.commons[at] = commonBytes(before, this.#tokens.at(block.terms[at] as Term) as Bytes);
  }

  #lastOf(blockNumber: number): Term | undefined {
    const block = this.blocks[blockNumber];
    return block?.terms[block.count - 1];
  }

  /** The last block that does not begin after the token, or the first one. */
  #blockOf(token: Bytes, beginning: number): number {
    let low = 0;
    let high = this.blocks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      const { beginnings, terms } = this.blocks[middle] as TermBlock;
      const first = beginnings[0] as number;
      if (first < beginning || (first === beginning && (this.#tokens.at(terms[0] as Term) as Bytes) <= token))
        low = middle;
      else high = middle - 1;
    }
    return low;
  }

  #placeIn({ beginnings, terms, count }: TermBlock, token: Bytes, beginning: number): number {
    let low = 0;
    let high = count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const other = beginnings[middle] as number;
      if (other < beginning || (other === beginning && (this.#tokens.at(terms[middle] as Term) as Bytes) < token))
        low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #split(blockNumber: number): void {
    const block = this.blocks[blockNumber] as TermBlock;
    const half = block.count >>> 1;
    const second = newBlock();
    second.terms.set(block.terms.subarray(half, block.count));
    second.beginnings.set(block.beginnings.subarray(half, block.count));
    second.commons.set(block.commons.subarray(half, block.count));
    second.count = block.count - half;
    block.count = half;
    this.blocks.splice(blockNumber + 1, 0, second);
  }
}

function newBlock(): TermBlock {
  return {
    terms: new Uint32Array(BLOCK_TERMS),
    beginnings: new Float64Array(BLOCK_TERMS),
    commons: new Uint8Array(BLOCK_TERMS),
    count: 0,
  };
}

const BEGINNING_BYTES = 6;

/** The first bytes as a number: of two tokens, the one with the smaller number is first. So most comparisons read no token. */
function beginningOf(token: Bytes): number {
  let beginning = 0;
  for (let at = 0; at < BEGINNING_BYTES; at += 1)
    beginning = beginning * 256 + (at < token.length ? token.charCodeAt(at) : 0);
  return beginning;
}

function commonBytes(one: Bytes, other: Bytes): number {
  const most = Math.min(one.length, other.length, COMMON_MAX);
  let count = 0;
  while (count < most && one.charCodeAt(count) === other.charCodeAt(count)) count += 1;
  return count;
}
