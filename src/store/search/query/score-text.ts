/** How scores are rounded and printed. */
import type { Bytes } from "../../../kernel/bytes.ts";
import { float32Text } from "../../../kernel/float32/text.ts";

/** The largest finite float32. */
const FLOAT32_MAX = 2 ** 128 - 2 ** 104;

/** The float32 that is nearest to a score; one beyond all of them becomes the largest, and -0 becomes 0. */
export function roundedScore(score: number): number {
  return Math.fround(Math.min(FLOAT32_MAX, Math.max(-FLOAT32_MAX, score))) + 0;
}

/** The shortest decimal that reads back as the same float32, as JavaScript spells it: no `.0`. */
export function roundedScoreText(score: number): Bytes {
  // Whole numbers have the same text as doubles while a float32 has them exactly; most scores of constants are such.
  if (Number.isInteger(score) && Math.abs(score) <= EXACT_MAX) return `${score}`;
  const place = placeOf(score);
  if (lastScores[place] !== score) {
    lastTexts[place] = float32Text(score).replace(/\.0$/, "");
    lastScores[place] = score;
  }
  return lastTexts[place] as Bytes;
}

/** Texts that were made last: the hits of a filter that is asked for again have the same scores. */
const PLACES = 512;
const lastScores = new Float64Array(PLACES).fill(Number.NaN);
const lastTexts: Bytes[] = new Array<Bytes>(PLACES).fill("");
const bits = new Float32Array(1);
const bitsAsNumber = new Uint32Array(bits.buffer);

function placeOf(score: number): number {
  bits[0] = score;
  return Math.imul(bitsAsNumber[0] as number, 0x9e37_79b1) >>> 23;
}

const EXACT_MAX = 2 ** 24;

/** A double in the same form. */
export function doubleText(value: number): Bytes {
  return `${value + 0}`;
}
