/**
 * Sets of record numbers: record r is bit `r & 31` of word `r >>> 5`. Numbers
 * beyond the last word are not in the set.
 */

export function wordCountOf(recordCount: number): number {
  return (recordCount + 31) >>> 5;
}

export function hasBit(words: Uint32Array, record: number): boolean {
  // A word beyond the end is undefined, which shifts as 0.
  return (((words[record >>> 5] as number) >>> (record & 31)) & 1) === 1;
}

export function setBit(words: Uint32Array, record: number): void {
  const at = record >>> 5;
  words[at] = (words[at] as number) | (1 << (record & 31));
}

export function clearBit(words: Uint32Array, record: number): void {
  const at = record >>> 5;
  words[at] = (words[at] as number) & ~(1 << (record & 31));
}

/** The number of set bits of a word. */
export function bitCount(word: number): number {
  let sums = word - ((word >>> 1) & 0x5555_5555);
  sums = (sums & 0x3333_3333) + ((sums >>> 2) & 0x3333_3333);
  return Math.imul((sums + (sums >>> 4)) & 0x0f0f_0f0f, 0x0101_0101) >>> 24;
}

export function countBits(words: Uint32Array): number {
  let count = 0;
  for (let at = 0; at < words.length; at += 1) count += bitCount(words[at] as number);
  return count;
}

/** The number of the lowest set bit; the word must not be 0. */
export function lowestBit(word: number): number {
  return 31 - Math.clz32(word & -word);
}

/** The same set with room for `wordCount` words, or `words` itself if it has the room. */
export function widened(words: Uint32Array, wordCount: number): Uint32Array {
  if (words.length >= wordCount) return words;
  const wider = new Uint32Array(wordCount);
  wider.set(words);
  return wider;
}
