/**
 * JSON Schema as far as our OpenAPI documents use it, and short ways to write
 * it. A shape is what a value must look like; what a text says beyond that
 * stands in its description.
 *
 * Shapes of answers name every field that there is, but do not forbid others:
 * a later version may add some.
 */

export type SchemaType = "object" | "array" | "string" | "integer" | "number" | "boolean" | "null";

export interface Schema {
  readonly $ref?: string;
  readonly type?: SchemaType | readonly SchemaType[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  /** What fields may hold that `properties` does not name. */
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
/** An object of whatever its sender likes. */
export const anyObject: Schema = { type: "object", additionalProperties: anything };

/** An object: the fields that are always there, and those that may be. */
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

/** Names of somebody's choice, each with a value of one shape. */
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

/** A shape that the document describes once, under a name. */
export function named(name: string): Schema {
  return { $ref: `${SCHEMAS}${name}` };
}

export const SCHEMAS = "#/components/schemas/";
