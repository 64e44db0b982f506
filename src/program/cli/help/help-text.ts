/** `larder help`, `larder <command> --help` and `larder help settings`, generated from the tables of commands and settings. */
import { styleText } from "node:util";
import type { Group, Setting } from "../../settings/setting.ts";
import { type SettingName, settingList, settingRows } from "../../settings/settings.ts";
import { type CommandOption, type CommandRow, commandForm, commandGroups } from "../command-row.ts";

/** The topic of the help that is no command. */
export const SETTINGS_TOPIC = "settings";

export interface HelpOptions {
  readonly version: string;
  readonly isColoured: boolean;
}

/** The help on a topic: nothing, the words of a command or of its first part, or `settings`. Undefined: unknown topic. */
export function helpOn(
  commands: readonly CommandRow[],
  topic: readonly string[],
  { version, isColoured }: HelpOptions,
): string | undefined {
  const paint: Paint = (style, text) =>
    isColoured ? styleText(style === "heading" ? "bold" : "cyan", text, { validateStream: false }) : text;
  const lines = linesOn(commands, topic.join(" "), { version, paint });
  return lines && `${lines.join("\n")}\n`;
}

/** Colours a text of a kind. */
type Paint = (style: "heading" | "name", text: string) => string;

function linesOn(
  commands: readonly CommandRow[],
  topic: string,
  { version, paint }: { version: string; paint: Paint },
): readonly string[] | undefined {
  if (topic === "") return overview(commands, version, paint);
  if (topic === SETTINGS_TOPIC) return allSettings(paint);
  const row = commands.find(({ words }) => words === topic);
  const parts = commands.filter(({ words }) => words.startsWith(`${topic} `));
  if (row === undefined && parts.length === 0) return undefined;
  const list = parts.length === 0 ? [] : ["", paint("heading", "Commands:"), ...commandLines(parts, paint)];
  return [...(row === undefined ? [] : aboutCommand(row, paint)), ...list].slice(row === undefined ? 1 : 0);
}

function overview(commands: readonly CommandRow[], version: string, paint: Paint): readonly string[] {
  const lines = [`larder ${version}: a Redis-command store, a vector index and messaging over HTTP`];
  for (const group of commandGroups) {
    const rows = commands.filter((row) => row.group === group);
    lines.push("", paint("heading", `${group}:`), ...commandLines(rows, paint));
  }
  lines.push(
    "",
    "larder help <command> describes a command with its options and an example.",
    "larder help settings lists the settings, which every command takes.",
  );
  return lines;
}

function commandLines(rows: readonly CommandRow[], paint: Paint): readonly string[] {
  return rows.flatMap((row) => {
    const form = commandForm(row);
    const isLong = form.length > FORM_LENGTH_MAX;
    const [first = "", ...rest] = wrap(row.meaning, FORM_LENGTH_MAX + 3);
    if (isLong) return [`  ${paint("name", form)}`, first, ...rest];
    const gap = " ".repeat(FORM_LENGTH_MAX - form.length);
    return [`  ${paint("name", form)}${gap} ${first.trimStart()}`, ...rest];
  });
}

const usualSettings: readonly SettingName[] = ["dataDirectory", "config"];

/** Its form, meaning, options, main settings and example. */
function aboutCommand(row: CommandRow, paint: Paint): readonly string[] {
  const { words, options, example, meaning, ignoresSettings = false, mainSettings = usualSettings } = row;
  const lines = [paint("name", commandForm(row)), "", ...wrap(`${capitalized(meaning)}.`, 0)];
  if (options.length > 0) {
    lines.push("", paint("heading", "Options:"));
    for (const option of options) lines.push(`  ${paint("name", optionForm(option))}`, ...wrap(option.meaning, 6));
  }
  if (!ignoresSettings) {
    lines.push("", paint("heading", "Main settings:"));
    for (const name of mainSettings) lines.push(...settingLines(settingRows[name], paint));
  }
  lines.push("", paint("heading", "Example:"), `  ${example}`);
  if (!ignoresSettings) lines.push("", `larder ${words} takes every setting: larder help settings lists them.`);
  return lines;
}

function allSettings(paint: Paint): readonly string[] {
  const lines = [
    "A setting is a flag (--name value), an environment variable or a key of the configuration file;",
    "a flag overrides the environment, the environment overrides the file. Secrets have no flag; a",
    "secret may be in a file: set the variable with _FILE appended to its name to the file's path.",
  ];
  for (const [group, rows] of settingGroups()) {
    lines.push("", paint("heading", `${group}:`));
    for (const row of rows) lines.push(...settingLines(row, paint));
  }
  return lines;
}

function settingLines(row: Setting<unknown>, paint: Paint): readonly string[] {
  const names = [...(row.flag === undefined ? [] : [`${row.flag} ${row.argument}`]), row.environment.join(", ")];
  return [`  ${paint("name", names.join("   "))}`, ...wrap(`${row.meaning} (${defaultMeaning(row)})`, 6)];
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

function capitalized(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

const LINE_LENGTH_MAX = 100;
/** After a longer form, the meaning begins on the next line. */
const FORM_LENGTH_MAX = 18;

/** The lines of a text of words, after an indent. */
export function wrap(text: string, indent: number): readonly string[] {
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
