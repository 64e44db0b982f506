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
  return float32Text(score).replace(/\.0$/, "");
}

const EXACT_MAX = 2 ** 24;

/** A double in the same form. */
export function doubleText(value: number): Bytes {
  return `${value + 0}`;
}
