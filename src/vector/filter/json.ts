/**
 * Metadata as filters see it: what `JSON.parse` makes, but whole numbers beyond
 * 2^53 are bigints, so that two of them are equal only if they are the same.
 * Each value has one form: a whole number is a bigint if and only if it is not a
 * safe integer. Objects may have a prototype or none; `ownMember` is the only
 * way in, so a name in a filter never finds anything but what the record's own
 * JSON said (threats B-08).
 */
import { parseWithLarge } from "../../kernel/json/spelling.ts";

export type Scalar = string | number | bigint | boolean;
export type Json = Scalar | null | readonly Json[] | { readonly [name: string]: Json };

/** In compact JSON: a number of sixteen digits and more, or one with an exponent. */
const MAY_BE_LARGE = /[:,[]-?(?:\d{16}|\d[\d.]*[eE]\+?\d)/;
const WHOLE = /^[+-]?\d+$/;

/** Compact JSON of metadata. */
export function parseMetadata(text: string): Json {
  // Most metadata has no such number, and is parsed in a fifth of the time.
  return MAY_BE_LARGE.test(text) ? (parseWithLarge(text, numberOf) as Json) : JSON.parse(text);
}

/** The number that is spelled so, within the range of float64. What has a point or an exponent is a float64. */
export function numberOf(spelling: string): number | bigint {
  const value = exact(Number(spelling));
  return typeof value === "bigint" && WHOLE.test(spelling) ? BigInt(spelling) : value;
}

/** The one form of a number that JSON.parse made. */
export function exact(value: number): number | bigint {
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? BigInt(value) : value;
}

export function isNumeric(value: Json): value is number | bigint {
  return typeof value === "number" || typeof value === "bigint";
}

/** The member of that name, or undefined when `value` is no object or its own members do not include it. */
export function ownMember(value: Json, name: string): Json | undefined {
  if (typeof value !== "object" || value === null || isArray(value)) return undefined;
  return Object.hasOwn(value, name) ? value[name] : undefined;
}

/** The element, counted from the end when `index` is negative, or undefined when there is none. */
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
