/**
 * Metadata as filters see it: what `JSON.parse` makes. Objects may have a
 * prototype or none; `ownMember` is the only way in, so a name in a filter
 * never finds anything but what the record's own JSON said (threats B-08).
 */

export type Scalar = string | number | boolean;
export type Json = Scalar | null | readonly Json[] | { readonly [name: string]: Json };

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
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}
