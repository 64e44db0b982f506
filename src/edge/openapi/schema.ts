/**
 * The part of JSON Schema that the OpenAPI documents use, and short ways to
 * write it. A schema has the types of a value; other rules are in its
 * description.
 *
 * Schemas of answers name every field but allow others, because a later version
 * may add some.
 */

export type SchemaType = "object" | "array" | "string" | "integer" | "number" | "boolean" | "null";

export interface Schema {
  readonly $ref?: string;
  readonly type?: SchemaType | readonly SchemaType[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  /** The schema of fields that `properties` does not name. */
  readonly additionalProperties?: Schema;
  readonly items?: Schema;
  readonly minItems?: number;
  readonly anyOf?: readonly Schema[];
  readonly enum?: readonly (string | number | boolean)[];
  readonly pattern?: string;
  readonly minLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly format?: string;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
}

export const text: Schema = { type: "string" };
export const integer: Schema = { type: "integer" };
export const count: Schema = { type: "integer", minimum: 0 };
export const number: Schema = { type: "number" };
export const flag: Schema = { type: "boolean" };
/** Any JSON. */
export const anything: Schema = {};
/** Any object. */
export const anyObject: Schema = { type: "object", additionalProperties: anything };

/** An object with its required and its optional fields. */
export function object(
  required: Readonly<Record<string, Schema>>,
  optional: Readonly<Record<string, Schema>> = {},
): Schema {
  const names = Object.keys(required);
  return { type: "object", properties: { ...required, ...optional }, ...(names.length > 0 && { required: names }) };
}

export function list(items: Schema, facts: Pick<Schema, "minItems" | "description"> = {}): Schema {
  return { type: "array", items, ...facts };
}

/** An object with any names, whose values have one schema. */
export function mapOf(values: Schema): Schema {
  return { type: "object", additionalProperties: values };
}

export function words(...all: readonly string[]): Schema {
  return { type: "string", enum: all };
}

export function either(...shapes: readonly Schema[]): Schema {
  return { anyOf: shapes };
}

export function orNull(shape: Schema): Schema {
  return { anyOf: [shape, { type: "null" }] };
}

export function described(shape: Schema, description: string): Schema {
  return { ...shape, description };
}

/** A schema that the document has once, under a name. */
export function named(name: string): Schema {
  return { $ref: `${SCHEMAS}${name}` };
}

export const SCHEMAS = "#/components/schemas/";
