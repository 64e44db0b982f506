/**
 * `larder config example`: a configuration file that has every setting, from
 * the rows of the settings and of the other fields.
 *
 * (1) The file changes nothing: all its lines but `$schema` are comments, so
 *     that `serve` and `dev` keep their own defaults.
 * (2) Without the first slashes of its lines, a setting or a section is valid.
 */
import { configurationFields } from "../../settings/config.ts";
import type { Field, Nested } from "../../settings/fields.ts";
import type { Setting } from "../../settings/setting.ts";
import { fileValue } from "../../settings/values.ts";
import { defaultMeaning, settingGroups, wrap } from "../help/help-text.ts";

/** The path of the schema below a folder in which the package is installed. */
const SCHEMA_PATH = "./node_modules/larderd/config.schema.json";

/** The text of the file. */
export function configExample(version: string): string {
  const lines = [
    `// Configuration file of larder ${version}: larder serve --config <path>`,
    "//",
    "// Each setting has its default. Remove the slashes before a setting to change it.",
    "// A flag or an environment variable overrides the file.",
    "{",
    `  "$schema": ${JSON.stringify(SCHEMA_PATH)},`,
  ];
  for (const [group, rows] of settingGroups()) {
    const settings = rows.flatMap((row) => (row.fileKey === undefined ? [] : settingLines(row.fileKey, row)));
    if (settings.length > 0) lines.push("", `  // ${group}`, ...settings);
  }
  lines.push("", "  // Databases, indexes, users and their tokens");
  for (const [name, field] of Object.entries(configurationFields)) {
    if (!("container" in field.values)) continue;
    lines.push("", ...commented(sectionLines(name, field)));
  }
  return `${[...lines, "}"].join("\n")}\n`;
}

function settingLines(key: string, row: Setting<unknown>): readonly string[] {
  const names = [...(row.flag === undefined ? [] : [row.flag]), ...row.environment];
  const meaning = `${row.meaning}. Default: ${defaultMeaning(row)}. (${names.join(", ")})`;
  const value = row.default === undefined ? undefined : fileValue(row.parse.schema, row.default);
  return [
    "",
    ...commented(wrap(meaning, 0)),
    ...commented([`${JSON.stringify(key)}: ${JSON.stringify(value ?? "…")},`]),
  ];
}

/** A section with an entry in each of its lists; its fields are explained in comments. */
function sectionLines(name: string, { values }: Field<unknown>): readonly string[] {
  const fields = "container" in values ? Object.entries(values.forms[0]?.rows ?? {}) : [];
  const lines = fields.flatMap(([key, field]) => {
    const { values: own } = field;
    if (!("container" in own)) return explanation(key, field);
    const shown = own.forms.filter(({ isShownElsewhere }) => isShownElsewhere !== true);
    const explained = shown.flatMap(({ title, rows }) => [
      ...(title === undefined ? [] : [`// Each${title}:`]),
      ...Object.entries(rows).flatMap(([inner, each]) => explanation(inner, each)),
    ]);
    return [...explanation(key, field), ...explained, `${JSON.stringify(key)}: ${sampleOf(own)},`];
  });
  return [`${JSON.stringify(name)}: {`, ...lines.map((line) => `  ${line}`), "},"];
}

function explanation(key: string, { meaning, default: absent, missing }: Field<unknown>): readonly string[] {
  const state = missing === undefined ? `Default: ${absent ?? "none"}` : "Required";
  return wrap(`${key}: ${meaning}. ${state}.`, 0).map((line) => `// ${line}`);
}

function sampleOf({ container }: Nested): string {
  return container === "list" ? '[{ "name": "main" }]' : "{}";
}

function commented(lines: readonly string[]): readonly string[] {
  return lines.map((line) => `  // ${line}`);
}
