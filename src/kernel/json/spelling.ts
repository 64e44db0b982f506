/**
 * JSON whose numbers keep their spelling: `12345678901234567890`, `1.0` and `-0`
 * are printed unchanged. JavaScript's numbers cannot do that.
 */

/** The result of `JSON.rawJSON` (ECMA-262, "JSON.rawJSON"), which TypeScript does not know yet. */
interface SpelledJson {
  rawJSON(text: string): object;
  isRawJSON(value: unknown): boolean;
  parse(
    text: string,
    reviver: (name: string, value: unknown, context: { readonly source?: string }) => unknown,
  ): unknown;
}

const json: SpelledJson = JSON as unknown as SpelledJson;

/**
 * Like `JSON.parse`, but a number that JavaScript would print with another spelling is an object, which
 * `JSON.stringify` prints unchanged. Throws a SyntaxError.
 */
export function parseSpelled(text: string): unknown {
  return json.parse(text, spelled);
}

/**
 * Like `JSON.parse`, with `numberOf` for each number that is neither a fraction within the range of float64 nor a safe
 * integer. Throws a SyntaxError.
 */
export function parseWithLarge(text: string, numberOf: (spelling: string) => unknown): unknown {
  return json.parse(text, (_name, value, { source }) =>
    typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value) && source !== undefined
      ? numberOf(source)
      : value,
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

function spelled(_name: string, value: unknown, { source }: { readonly source?: string }): unknown {
  if (typeof value !== "number" || source === undefined || String(value) === source) return value;
  return json.rawJSON(source);
}
