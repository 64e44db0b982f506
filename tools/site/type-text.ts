/** A schema of the OpenAPI documents as a type of TypeScript, which is shorter to read. */
import { SCHEMAS, type Schema, type SchemaType } from "../../src/edge/openapi/schema.ts";

const LINE_LENGTH_MAX = 100;
const INDENT = "  ";

export function typeText(schema: Schema, indent = ""): string {
  const { $ref, anyOf, enum: words, type } = schema;
  if ($ref !== undefined) return $ref.slice(SCHEMAS.length);
  if (anyOf !== undefined) return [...new Set(anyOf.map((each) => typeText(each, indent)))].join(" | ");
  if (words !== undefined) return words.map((word) => JSON.stringify(word)).join(" | ");
  if (type === undefined) return "unknown";
  const types = typeof type === "string" ? [type] : type;
  return types.map((each) => textOfType(each, schema, indent)).join(" | ");
}

function textOfType(type: SchemaType, schema: Schema, indent: string): string {
  switch (type) {
    case "integer":
      return "number";
    case "array": {
      const item = typeText(schema.items ?? {}, indent);
      return item.includes(" | ") ? `(${item})[]` : `${item}[]`;
    }
    case "object":
      return objectText(schema, indent);
    default:
      return type;
  }
}

function objectText({ properties = {}, required = [], additionalProperties }: Schema, indent: string): string {
  const inner = indent + INDENT;
  const fields = [
    ...Object.entries(properties).map(
      ([name, shape]) => `${name}${required.includes(name) ? "" : "?"}: ${typeText(shape, inner)}`,
    ),
    ...(additionalProperties === undefined ? [] : [`[name: string]: ${typeText(additionalProperties, inner)}`]),
  ];
  if (fields.length === 0) return "{}";
  const line = `{ ${fields.join("; ")} }`;
  if (line.length <= LINE_LENGTH_MAX && !line.includes("\n")) return line;
  return `{\n${fields.map((field) => `${inner}${field};\n`).join("")}${indent}}`;
}
