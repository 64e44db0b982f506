/** The JSON Schema of the configuration file, from the rows of its settings and of its other fields. */
import type { Schema } from "../../src/edge/openapi/schema.ts";
import { defaultMeaning } from "../../src/program/cli/help.ts";
import { configurationFields } from "../../src/program/settings/config.ts";
import type { Field, FieldRows, Nested } from "../../src/program/settings/fields.ts";
import type { Setting } from "../../src/program/settings/setting.ts";
import { settingList } from "../../src/program/settings/settings.ts";

/** The schema of a part of the document: the schema of a row, and the keywords for objects and arrays. */
interface ConfigSchema extends Omit<Schema, "properties" | "additionalProperties" | "items" | "anyOf"> {
  readonly properties?: Readonly<Record<string, ConfigSchema>>;
  readonly additionalProperties?: ConfigSchema | false;
  readonly items?: ConfigSchema;
  readonly anyOf?: readonly ConfigSchema[];
  readonly maxItems?: number;
  readonly maxProperties?: number;
}

/** The text of `docs/reference/config.schema.json`. */
export function configSchemaText(): string {
  return `${JSON.stringify(configSchema(), undefined, 2)}\n`;
}

export function configSchema(): ConfigSchema & { readonly $schema: string; readonly title: string } {
  const settings = settingList.flatMap(([, row]): readonly (readonly [string, ConfigSchema])[] =>
    row.fileKey === undefined ? [] : [[row.fileKey, settingSchema(row)]],
  );
  const { properties, ...facts } = objectSchema(configurationFields);
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Configuration file of larder",
    ...facts,
    properties: { ...properties, ...Object.fromEntries(settings) },
  };
}

function settingSchema(row: Setting<unknown>): ConfigSchema {
  return { description: describe(row.meaning, defaultMeaning(row)), ...row.parse.schema };
}

function objectSchema(rows: FieldRows): ConfigSchema {
  const names = Object.keys(rows);
  const required = names.filter((name) => rows[name]?.missing !== undefined);
  return {
    type: "object",
    properties: Object.fromEntries(Object.entries(rows).map(([name, row]) => [name, fieldSchema(row)])),
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  };
}

function fieldSchema({ meaning, default: absent, values }: Field<unknown>): ConfigSchema {
  return { description: describe(meaning, absent), ...("container" in values ? nestedSchema(values) : values) };
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
