/**
 * JSON of values that may hold very long strings.
 *
 * `JSON.stringify` ends the process, without an exception, when a string in the
 * value has about 2^28 characters, or half as many if some are above U+00FF.
 * With a replacer it is slower, takes strings of any length, and throws.
 */

/** Strings up to this length are always quoted at full speed. */
const PLAIN_LENGTH_MAX = 2 ** 26;
/** Containers below this depth are not checked: the long strings of our answers are above it. */
const DEPTH_MAX = 8;

/** The JSON of a value exceeds the maximum length of a string. */
export class JsonTooLong extends Error {
  override name = "JsonTooLong";
}

/** Like `JSON.stringify`. Throws `JsonTooLong` if the text would exceed the maximum length of a string. */
export function jsonText(value: unknown): string {
  try {
    return hasLongText(value, 0) ? JSON.stringify(value, asItIs) : JSON.stringify(value);
  } catch (error) {
    if (error instanceof RangeError && error.message === "Invalid string length")
      throw new JsonTooLong("the text would be longer than a string may be", { cause: error });
    throw error;
  }
}

function asItIs(_name: string, value: unknown): unknown {
  return value;
}

function hasLongText(value: unknown, depth: number): boolean {
  if (typeof value === "string") return value.length > PLAIN_LENGTH_MAX;
  if (typeof value !== "object" || value === null || depth === DEPTH_MAX) return false;
  if (Array.isArray(value)) return value.some((item) => hasLongText(item, depth + 1));
  for (const name in value) if (hasLongText((value as Readonly<Record<string, unknown>>)[name], depth + 1)) return true;
  return false;
}
