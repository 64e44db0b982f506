/**
 * JSON whose numbers keep their spelling: `12345678901234567890`, `1.0` and `-0`
 * are printed unchanged. JavaScript's numbers cannot do that.
 */

import { parseWithNumbers } from "./parse.ts";

/** The result of `JSON.rawJSON` (ECMA-262, "JSON.rawJSON"), which TypeScript does not know yet. */
interface SpelledJson {
  rawJSON(text: string): object;
  isRawJSON(value: unknown): boolean;
}

const json: SpelledJson = JSON as unknown as SpelledJson;

/**
 * Like `JSON.parse`, but a number that JavaScript would print with another spelling is an object, which
 * `JSON.stringify` prints unchanged. Throws a SyntaxError.
 */
export function parseSpelled(text: string): unknown {
  return parseWithNumbers(text, spelled);
}

/**
 * Like `JSON.parse`, with `numberOf` for each number that is neither a fraction within the range of float64 nor a safe
 * integer. Throws a SyntaxError.
 */
export function parseWithLarge(text: string, numberOf: (spelling: string) => unknown): unknown {
  return parseWithNumbers(text, (value, spelling) =>
    Number.isInteger(value) && !Number.isSafeInteger(value) ? numberOf(spelling) : value,
  );
}

/** An object that `JSON.stringify` prints as this text, which must be a JSON number. */
export function spelledNumber(text: string): object {
  return json.rawJSON(text);
}

/** True if `parseSpelled` created this object in place of a number. */
export function isSpelledNumber(value: unknown): boolean {
  return json.isRawJSON(value);
}

function spelled(value: number, spelling: string): unknown {
  return String(value) === spelling ? value : json.rawJSON(spelling);
}
