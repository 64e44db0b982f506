/**
 * Field lengths as one byte: exact up to 40 tokens, then eight steps of 2, eight of 4, and so on. Scores use the length
 * that a byte stands for, which is never above the true one.
 */

/** Lengths up to here are exact. */
const EXACT_MAX = 40;
const STEPS_OF_A_GROUP = 8;

/** The length that each byte stands for. */
export const lengthOfCode: Uint32Array = lengths();

/** The byte of a length in tokens: that of the largest length in the table that is not above it. */
export function codeOfLength(length: number): number {
  if (length <= EXACT_MAX) return length;
  if (length >= (lengthOfCode[255] as number)) return 255;
  // Group g begins after 24 + 2^(g + 4), and its steps are 2^(g + 1).
  const offset = length - 24;
  const exponent = 31 - Math.clz32(offset);
  const group = exponent - 4;
  return EXACT_MAX + STEPS_OF_A_GROUP * group + ((offset - 2 ** exponent) >>> (group + 1));
}

function lengths(): Uint32Array {
  const table = new Uint32Array(256);
  for (let code = 0; code <= EXACT_MAX; code += 1) table[code] = code;
  for (let code = EXACT_MAX + 1, step = 2; code < 256; step *= 2) {
    for (let i = 0; i < STEPS_OF_A_GROUP && code < 256; i += 1, code += 1)
      table[code] = (table[code - 1] as number) + step;
  }
  return table;
}
