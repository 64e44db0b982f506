/**
 * The innermost loops of a filter: they find the records whose value passes, 32 at
 * a time, from a mark for each value.
 */
import { bitCount, lowestBit } from "../search/bits.ts";

/** The words from `start` to before `end`, the values of their records, and a mark for each value that passes. */
export interface Marked {
  readonly ids: Uint32Array;
  readonly marks: Uint8Array;
  readonly start: number;
  readonly end: number;
}

/** Sets the bits of the records whose value is marked. */
export function addMarked(words: Uint32Array, { ids, marks, start, end }: Marked): void {
  for (let at = start; at < end; at += 1) {
    const first = at << 5;
    let word = 0;
    for (let bit = 0; bit < 32; bit += 1) word |= (marks[ids[first + bit] as number] as number) << bit;
    words[at] = (words[at] as number) | word;
  }
}

/** Clears the bits of the records whose value is not marked. Returns the work done. */
export function keepMarked(words: Uint32Array, { ids, marks, start, end }: Marked): number {
  let looked = 0;
  for (let at = start; at < end; at += 1) {
    const before = words[at] as number;
    if (before === 0) continue;
    const first = at << 5;
    let passing = 0;
    if (bitCount(before) > FEW_BITS) {
      for (let bit = 0; bit < 32; bit += 1) passing |= (marks[ids[first + bit] as number] as number) << bit;
      looked += 32;
    } else {
      for (let word = before; word !== 0; word &= word - 1) {
        const bit = lowestBit(word);
        passing |= (marks[ids[first + bit] as number] as number) << bit;
        looked += 3;
      }
    }
    words[at] = before & passing;
  }
  return end - start + looked;
}

/** Up to this many bits of a word are faster one by one than all 32 in order. */
const FEW_BITS = 8;
