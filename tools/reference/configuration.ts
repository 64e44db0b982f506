/** The fields of the configuration file that are not settings, from their rows. */

import type { Schema } from "../../src/edge/openapi/schema.ts";
import { configurationFields } from "../../src/program/settings/config.ts";
import { at } from "../../src/program/settings/field-reader.ts";
import type { Field, FieldRows, Nested } from "../../src/program/settings/fields.ts";
import type { Parts } from "../marks.ts";
import { code, header, row } from "./table.ts";

export const configurationParts: Parts = { tables: { fields: () => fieldLines("", "The file", configurationFields) } };

/** The table of an object, followed by the tables of its objects. */
function fieldLines(path: string, title: string, rows: FieldRows): readonly string[] {
  const fields = Object.entries(rows);
  const lines = ["", `## ${title}`, "", ...header("field", "value", "default", "meaning")];
  for (const [name, field] of fields) lines.push(fieldLine(name, field));
  for (const [name, { values }] of fields)
    if ("container" in values) lines.push(...nestedLines(at(path, name), values));
  return lines;
}

const suffixOf: Readonly<Record<Nested["container"], string>> = { object: "", list: "[]", map: ".<name>" };

function nestedLines(path: string, { container, forms }: Nested): readonly string[] {
  const place = `${path}${suffixOf[container]}`;
  const shown = forms.filter(({ isShownElsewhere }) => isShownElsewhere !== true);
  return shown.flatMap(({ title = "", rows }) => fieldLines(place, `${code(place)}${title}`, rows));
}

function fieldLine(name: string, { values, missing, default: absent = "", meaning }: Field<unknown>): string {
  const form = "container" in values ? containerNames[values.container] : valueText(values);
  return row(code(name), form, missing === undefined ? absent : "required", meaning);
}

const containerNames: Readonly<Record<Nested["container"], string>> = {
  object: "object",
  list: "list of objects",
  map: "objects by names",
};

/** A schema, described for people. */
function valueText({ anyOf, enum: words, type, minimum, maximum }: Schema): string {
  if (anyOf !== undefined) return anyOf.map(valueText).join(" or ");
  if (words !== undefined) return words.map((word) => code(String(word))).join(", ");
  const range = minimum === undefined || maximum === undefined ? "" : ` from ${minimum} to ${maximum}`;
  const names: Readonly<Record<string, string>> = { integer: `whole number${range}`, string: "text" };
  return [type ?? []]
    .flat()
    .map((each) => names[each] ?? each)
    .join(" or ");
}
