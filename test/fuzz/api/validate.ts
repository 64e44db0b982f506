/**
 * Checks a value against the schema of a document, for the part of JSON
 * Schema that our documents use. An object may have no field that the shape
 * does not name: the documents allow further ones for later versions, but this
 * version returns only described fields.
 */
import type { Schema, SchemaType } from "../../../src/edge/openapi/schema.ts";

export type Resolve = (schema: Schema) => Schema;

/** The fault with its position, or undefined. */
export function faultOf(value: unknown, given: Schema, resolve: Resolve, where = "the body"): string | undefined {
  const schema = resolve(given);
  const { type, anyOf } = schema;
  if (anyOf !== undefined) {
    const faults = anyOf.map((shape) => faultOf(value, shape, resolve, where));
    return faults.includes(undefined) ? undefined : faults.join(", or ");
  }
  if (schema.enum !== undefined && !schema.enum.some((word) => word === value))
    return `${where} is ${shown(value)} and none of ${schema.enum.join(", ")}`;
  if (type === undefined) return undefined;
  const types = typeof type === "string" ? [type] : type;
  if (!types.some((name: SchemaType) => isOf(value, name)))
    return `${where} is ${shown(value)} and no ${types.join(" or ")}`;
  if (typeof value === "number") return numberFault(value, schema, where);
  if (Array.isArray(value)) return listFault(value, schema, resolve, where);
  if (typeof value === "object" && value !== null) return objectFault({ ...value }, schema, resolve, where);
  return undefined;
}

function isOf(value: unknown, type: SchemaType): boolean {
  switch (type) {
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value);
    case "integer":
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

function numberFault(value: number, { minimum, maximum }: Schema, where: string): string | undefined {
  if (minimum !== undefined && value < minimum) return `${where} is ${value}, below ${minimum}`;
  if (maximum !== undefined && value > maximum) return `${where} is ${value}, above ${maximum}`;
  return undefined;
}

function listFault(value: readonly unknown[], { items, minItems = 0 }: Schema, resolve: Resolve, where: string) {
  if (value.length < minItems) return `${where} has ${value.length} elements, fewer than ${minItems}`;
  if (items === undefined) return undefined;
  for (const [index, item] of value.entries()) {
    const fault = faultOf(item, items, resolve, `${where}[${index}]`);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function objectFault(value: Record<string, unknown>, schema: Schema, resolve: Resolve, where: string) {
  const { properties = {}, required = [], additionalProperties } = schema;
  const missing = required.find((name) => !Object.hasOwn(value, name));
  if (missing !== undefined) return `${where}.${missing} is missing`;
  for (const [name, member] of Object.entries(value)) {
    const shape = Object.hasOwn(properties, name) ? properties[name] : additionalProperties;
    if (shape === undefined) return `${where}.${name} is not in the document`;
    const fault = faultOf(member, shape, resolve, `${where}.${name}`);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function shown(value: unknown): string {
  return (JSON.stringify(value) ?? String(value)).slice(0, 60);
}
