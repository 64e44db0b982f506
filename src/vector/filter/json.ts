/**
 * Metadata as filters see it: the result of `JSON.parse`, but whole numbers
 * beyond 2^53 are bigints, so that they compare exactly. Each value has one form:
 * a whole number is a bigint if and only if it is not a safe integer. Objects may
 * have a prototype or not; all access is through `ownMember`, so a filter finds
 * only names in the record's own JSON (threats B-08).
 */
import { parseJsonText, parsePlainText } from "../../kernel/json/parse.ts";
import { parseWithLarge } from "../../kernel/json/spelling.ts";

export type Scalar = string | number | bigint | boolean;
export type Json = Scalar | null | readonly Json[] | { readonly [name: string]: Json };

/** A number in compact JSON with sixteen digits or more, or with an exponent. */
const MAY_BE_LARGE = /[:,[]-?(?:\d{16}|\d[\d.]*[eE]\+?\d)/;
const WHOLE = /^[+-]?\d+$/;

/** Parses the compact JSON of metadata. */
export function parseMetadata(text: string): Json {
  return parsed(text, parseJsonText);
}

/** Like `parseMetadata`, for a text that is known to have no name with an escape. */
export function parsePlainMetadata(text: string): Json {
  return parsed(text, parsePlainText);
}

function parsed(text: string, parse: (text: string) => unknown): Json {
  // Most metadata has no such number, and is parsed in a fifth of the time.
  return (MAY_BE_LARGE.test(text) ? parseWithLarge(text, numberOf) : parse(text)) as Json;
}

/** The number of a spelling, within the range of float64. Spellings with a point or an exponent give a float64. */
export function numberOf(spelling: string): number | bigint {
  const value = exact(Number(spelling));
  return typeof value === "bigint" && WHOLE.test(spelling) ? BigInt(spelling) : value;
}

/** The canonical form of a number from JSON.parse. */
export function exact(value: number): number | bigint {
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? BigInt(value) : value;
}

export function isNumeric(value: Json): value is number | bigint {
  return typeof value === "number" || typeof value === "bigint";
}

/** The own member of that name, or undefined if `value` is not an object or has no such member. */
export function ownMember(value: Json, name: string): Json | undefined {
  if (typeof value !== "object" || value === null || isArray(value)) return undefined;
  return Object.hasOwn(value, name) ? value[name] : undefined;
}

/** The element, counted from the end if `index` is negative, or undefined if it does not exist. */
export function elementAt(value: Json, index: number): Json | undefined {
  if (!isArray(value)) return undefined;
  return value[index < 0 ? value.length + index : index];
}

/** `Array.isArray`, which does not narrow a readonly array. */
export function isArray(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}

export function isScalar(value: Json): value is Scalar {
  return typeof value === "string" || isNumeric(value) || typeof value === "boolean";
}
