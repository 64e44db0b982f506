/**
 * `JSON.parse` for texts of others. V8 of Node 24 and 26 reads some names of
 * members wrongly (nodejs/node issue 63785): where an earlier object of the same
 * shape had the name `\`, the name `"` becomes `\`. V8 expects the earlier name, and
 * compares as many code units as the name has with its spelling `\"`, not with the
 * name itself.
 *
 * (1) A spelling without an escape is the name itself, so V8 reads it rightly,
 *     whatever it expects. A text whose names have no escape goes to `JSON.parse`.
 * (2) Other texts go to the reader in `reader.ts`.
 *
 * Only names are affected: values, and what is valid JSON, are right.
 */
import { type NumberOf, readText, skipSpace } from "./reader.ts";

/** The third argument of a reviver (ECMA-262, "JSON.parse"), which TypeScript does not know yet. */
interface ReviverContext {
  /** The spelling of a number, a string, true, false or null. */
  readonly source?: string;
}

/** Like `JSON.parse`, with the right names. Throws its SyntaxError. */
export function parseJsonText(text: string): unknown {
  return hasEscapedName(text) ? readText(text) : JSON.parse(text);
}

/** Like `parseJsonText`, for a text that is known to have no name with an escape. */
export function parsePlainText(text: string): unknown {
  return JSON.parse(text);
}

/** Like `parseJsonText`, with the result of `numberOf` in place of each number. */
export function parseWithNumbers(text: string, numberOf: NumberOf): unknown {
  if (hasEscapedName(text)) return readText(text, numberOf);
  return JSON.parse(text, (_name, value: unknown, ...[context]: [ReviverContext?]) =>
    typeof value === "number" && context?.source !== undefined ? numberOf(value, context.source) : value,
  );
}

/** The string of a JSON string literal, which has no names. Throws a SyntaxError. */
export function parseJsonString(literal: string): string {
  const value: unknown = JSON.parse(literal);
  if (typeof value !== "string") throw new SyntaxError("not a JSON string");
  return value;
}

const COLON = 0x3a;
const BACKSLASH = 0x5c;

/** Whether a name in the text has an escape. For texts that are not JSON, any answer is right. */
export function hasEscapedName(text: string): boolean {
  // Outside of strings JSON has no backslash, so the next one is in the next string with an escape.
  for (let at = text.indexOf("\\"); at >= 0; at = text.indexOf("\\", at)) {
    at = skipSpace(text, stringEnd(text, at) + 1);
    if (text.charCodeAt(at) === COLON) return true;
  }
  return false;
}

/** The closing quote of a string, from the start of an escape in it; or the end of the text. */
function stringEnd(text: string, start: number): number {
  for (let at = start; ; ) {
    // Native searches take half the time of a loop over the code units, or less, unless quotes are dense.
    const end = text.indexOf('"', at);
    if (end < 0) return text.length;
    let backslashCount = 0;
    while (end - backslashCount > at && text.charCodeAt(end - backslashCount - 1) === BACKSLASH) backslashCount += 1;
    if (backslashCount % 2 === 0) return end;
    at = end + 1;
  }
}
