/** `larder --help`, generated from the tables of commands and settings. */
import type { Group, Setting } from "../settings/setting.ts";
import { settingList } from "../settings/settings.ts";
import { type CommandOption, type CommandRow, commandForm } from "./command-row.ts";
import { commandRows } from "./commands.ts";

/** The form and the meaning of each command. */
export const USAGE: readonly (readonly [form: string, meaning: string])[] = [
  ...commandRows.map((row) => [commandForm(row), row.meaning] as const),
  ["larder --version", "prints the version"],
];

export function helpText(version: string): string {
  const lines = [`larder ${version}: a Redis-command store, a vector index and messaging over HTTP`, ""];
  for (const [form, meaning] of USAGE) {
    const isLong = form.length > FORM_LENGTH_MAX;
    if (isLong) lines.push(`  ${form}`);
    const [first = "", ...rest] = wrap(meaning, FORM_LENGTH_MAX + 3);
    lines.push(isLong ? first : `  ${form.padEnd(FORM_LENGTH_MAX)} ${first.trimStart()}`, ...rest);
  }
  for (const row of commandRows) lines.push(...optionLines(row));
  lines.push(
    "",
    "A setting is a flag (--name value), an environment variable or a key of the configuration file;",
    "a flag overrides the environment, the environment overrides the file. Secrets have no flag; a",
    "secret may be in a file: set the variable with _FILE appended to its name to the file's path.",
  );
  for (const [group, rows] of settingGroups()) {
    lines.push("", `${group}:`);
    for (const row of rows) {
      const names = [...(row.flag === undefined ? [] : [`${row.flag} ${row.argument}`]), row.environment.join(", ")];
      lines.push(`  ${names.join("   ")}`, ...wrap(`${row.meaning} (${defaultMeaning(row)})`, 6));
    }
  }
  return `${lines.join("\n")}\n`;
}

function optionLines({ words, options }: CommandRow): readonly string[] {
  if (options.length === 0) return [];
  const lines = ["", `Options of larder ${words}:`];
  for (const option of options) lines.push(`  ${optionForm(option)}`, ...wrap(option.meaning, 6));
  return lines;
}

/** `--database <name>   LARDER_DATABASE`. */
export function optionForm({ flag, argument, environment }: CommandOption): string {
  const call = flag === undefined ? [] : [argument === undefined ? flag : `${flag} ${argument}`];
  return [...call, ...(environment === undefined ? [] : [environment])].join("   ");
}

/** The rows by group, in the order of the table. */
export function settingGroups(): ReadonlyMap<Group, readonly Setting<unknown>[]> {
  const groups = new Map<Group, Setting<unknown>[]>();
  for (const [, row] of settingList) {
    const rows = groups.get(row.group);
    if (rows === undefined) groups.set(row.group, [row]);
    else rows.push(row);
  }
  return groups;
}

export function defaultMeaning(row: Setting<unknown>): string {
  return row.defaultMeaning ?? row.default ?? "none";
}

const LINE_LENGTH_MAX = 100;
/** After a longer form, the meaning begins on the next line. */
const FORM_LENGTH_MAX = 18;

function wrap(text: string, indent: number): readonly string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && indent + line.length + 1 + word.length > LINE_LENGTH_MAX) {
      lines.push(line);
      line = word;
    } else {
      line = line === "" ? word : `${line} ${word}`;
    }
  }
  return [...lines, line].map((each) => " ".repeat(indent) + each);
}
