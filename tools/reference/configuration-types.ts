/** The TypeScript types of the configuration file, from its JSON Schema, for the options of `start()`. */
import { type ConfigSchema, configSchema } from "./config-schema.ts";

/** The text of `src/program/settings/configuration-keys.generated.ts`. */
export function configurationTypesText(): string {
  const body = typeOf(configSchema(), "");
  return `/** Generated from the tables of settings and fields by \`npm run manual\`. Do not edit. */

/** The keys of a configuration file: settings, and the databases, indexes, models and users. */
export interface ConfigurationKeys ${body}
`;
}

/** A type for the values that a schema accepts; patterns and bounds have none. `indent` is that of its line. */
function typeOf(schema: ConfigSchema, indent: string): string {
  if (schema.anyOf !== undefined) return unionOf(schema.anyOf.map((each) => typeOf(each, indent)));
  if (schema.enum !== undefined) return unionOf(schema.enum.map((value) => JSON.stringify(value)));
  const names = typeof schema.type === "string" ? [schema.type] : (schema.type ?? []);
  return unionOf(names.map((name) => namedType(name, schema, indent)));
}

function namedType(name: string, schema: ConfigSchema, indent: string): string {
  switch (name) {
    case "string":
    case "boolean":
      return name;
    case "integer":
    case "number":
      return "number";
    case "array":
      return `readonly ${elementType(schema.items ?? {}, indent)}[]`;
    case "object":
      return objectType(schema, indent);
    default:
      throw new Error(`No TypeScript type for ${name} in the schema of the configuration file`);
  }
}

function objectType({ properties, required = [], additionalProperties }: ConfigSchema, indent: string): string {
  if (properties === undefined) {
    if (additionalProperties === undefined || additionalProperties === false)
      throw new Error("An object without fields");
    return `Readonly<Record<string, ${typeOf(additionalProperties, indent)}>>`;
  }
  const inner = `${indent}  `;
  const lines = Object.entries(properties).flatMap(([name, field]) => [
    `${inner}/** ${field.description ?? ""}. */`,
    `${inner}readonly ${name}${required.includes(name) ? "" : "?"}: ${typeOf(field, inner)};`,
  ]);
  return ["{", ...lines, `${indent}}`].join("\n");
}

function unionOf(types: readonly string[]): string {
  if (types.length === 0) throw new Error("A schema of the configuration file has no type");
  return [...new Set(types)].join(" | ");
}

function elementType(items: ConfigSchema, indent: string): string {
  const type = typeOf(items, indent);
  const count = items.anyOf?.length ?? items.enum?.length ?? [items.type].flat().length;
  return count > 1 ? `(${type})` : type;
}
