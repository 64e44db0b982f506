/**
 * The terms of a text in its order, as an index takes them in, and as it keeps them for each document.
 *
 * A removal needs the terms of a document, to correct their counts at once, and a compaction needs their positions too.
 * The texts are not kept, and nobody can be asked for them, because the key has changed or is gone. The sequence takes
 * about 75 bytes for 46 words, since frequent words come early and have small numbers; a sorted list of the distinct
 * terms would take 50, but a compaction would have to find the positions in the postings of each term.
 */
import type { Term } from "./index-reader.ts";
import { reading, readVarint, varintBytes, writeVarint } from "./postings/varint.ts";

/** In place of a term: the next position is passed over, because the next value of an array begins. */
export const GAP = 0xffff_ffff;

/** More than this is not kept after use. */
const KEPT_COUNT_MAX = 65_536;

export class TokenSequence {
  /** The first `length` are terms or `GAP`. */
  terms = new Uint32Array(256);
  length = 0;

  push(term: Term): void {
    if (this.length === this.terms.length) {
      const larger = new Uint32Array(2 * this.length);
      larger.set(this.terms);
      this.terms = larger;
    }
    this.terms[this.length] = term;
    this.length += 1;
  }

  clear(): void {
    this.length = 0;
    if (this.terms.length > KEPT_COUNT_MAX) this.terms = new Uint32Array(256);
  }

  /** The bytes that `write` takes. */
  get codedBytes(): number {
    let byteCount = varintBytes(this.length);
    for (let i = 0; i < this.length; i += 1) byteCount += varintBytes(codeOf(this.terms[i] as number));
    return byteCount;
  }

  /** Writes a length and so many codes; returns the place after them. */
  write(bytes: Uint8Array, start: number): number {
    let at = writeVarint(bytes, start, this.length);
    for (let i = 0; i < this.length; i += 1) at = writeVarint(bytes, at, codeOf(this.terms[i] as number));
    return at;
  }

  /** Takes what `write` wrote in place of its terms; returns the place after it. */
  read(bytes: Uint8Array, start: number): number {
    this.clear();
    const count = readVarint(bytes, start);
    let { at } = reading;
    for (let i = 0; i < count; i += 1) {
      const code = readVarint(bytes, at);
      at = reading.at;
      this.push(code === 0 ? GAP : code - 1);
    }
    return at;
  }
}

/** 0 for a gap, otherwise the term plus 1. */
function codeOf(term: number): number {
  return (term + 1) >>> 0;
}
