/**
 * The JSON Schema of the configuration file, from the rows of its settings and
 * of its other fields. Editors complete, check and explain a file with it, so
 * every field has a title, a description, and a default or an example.
 */
import type { Schema } from "../../src/edge/openapi/schema.ts";
import { defaultMeaning } from "../../src/program/cli/help/help-text.ts";
import { configurationFields } from "../../src/program/settings/config.ts";
import type { Field, FieldRows, Nested } from "../../src/program/settings/fields.ts";
import type { Setting } from "../../src/program/settings/setting.ts";
import { settingList } from "../../src/program/settings/settings.ts";
import { fileValue } from "../../src/program/settings/values.ts";

/** The schema of a part of the document: the schema of a row, and the keywords for objects and arrays. */
export interface ConfigSchema extends Omit<Schema, "properties" | "additionalProperties" | "items" | "anyOf"> {
  readonly title?: string;
  readonly allowComments?: boolean;
  readonly allowTrailingCommas?: boolean;
  readonly properties?: Readonly<Record<string, ConfigSchema>>;
  readonly additionalProperties?: ConfigSchema | false;
  readonly items?: ConfigSchema;
  readonly anyOf?: readonly ConfigSchema[];
  readonly maxItems?: number;
  readonly maxProperties?: number;
}

/** The text of `config.schema.json`, without spaces: it is in the package, and only programs read it. */
export function configSchemaText(): string {
  return `${JSON.stringify(configSchema())}\n`;
}

export function configSchema(): ConfigSchema & { readonly $schema: string } {
  const settings = settingList.flatMap(([, row]): readonly (readonly [string, ConfigSchema])[] =>
    row.fileKey === undefined ? [] : [[row.fileKey, settingSchema(row.fileKey, row)]],
  );
  const { properties, ...facts } = objectSchema(configurationFields);
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Configuration file of larder",
    description:
      "JSON with comments and trailing commas. larder --config <path> reads it; larder config check checks it.",
    ...facts,
    // Keywords of VS Code.
    allowComments: true,
    allowTrailingCommas: true,
    properties: { ...properties, ...Object.fromEntries(settings) },
  };
}

function settingSchema(key: string, row: Setting<unknown>): ConfigSchema {
  const { schema } = row.parse;
  return {
    title: [key, ...(row.flag === undefined ? [] : [row.flag]), ...row.environment].join(", "),
    description: describe(row.meaning, defaultMeaning(row)),
    ...schema,
    ...defaultOf(schema, row.default),
  };
}

/** The default as the file would have it; nothing where the default is described by a sentence. */
function defaultOf(schema: Schema, text: string | undefined): Pick<ConfigSchema, "default"> {
  const value = text === undefined ? undefined : fileValue(schema, text);
  return value === undefined ? {} : { default: value };
}

function objectSchema(rows: FieldRows): ConfigSchema {
  const names = Object.keys(rows);
  const required = names.filter((name) => rows[name]?.missing !== undefined);
  return {
    type: "object",
    properties: Object.fromEntries(Object.entries(rows).map(([name, row]) => [name, fieldSchema(name, row)])),
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  };
}

function fieldSchema(name: string, { meaning, default: absent, values }: Field<unknown>): ConfigSchema {
  const facts = { title: name, description: describe(meaning, absent) };
  if ("container" in values) return { ...facts, ...nestedSchema(values) };
  // A text without a pattern, or with spaces, is a sentence about the default.
  const isText = [values.type].flat().includes("string") && (values.pattern === undefined || absent?.includes(" "));
  return { ...facts, ...values, ...(isText ? {} : defaultOf(values, absent)) };
}

function nestedSchema({ container, entriesMax, forms }: Nested): ConfigSchema {
  const shapes = forms.map(({ rows }) => objectSchema(rows));
  const [first] = shapes;
  const shape = shapes.length === 1 && first !== undefined ? first : { anyOf: shapes };
  switch (container) {
    case "object":
      return shape;
    case "list":
      return { type: "array", items: shape, ...(entriesMax !== undefined && { maxItems: entriesMax }) };
    case "map":
      return {
        type: "object",
        additionalProperties: shape,
        ...(entriesMax !== undefined && { maxProperties: entriesMax }),
      };
    default: {
      const never: never = container;
      return never;
    }
  }
}

function describe(meaning: string, absent: string | undefined): string {
  return absent === undefined ? meaning : `${meaning}. Default: ${absent}`;
}
