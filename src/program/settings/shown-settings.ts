/**
 * The settings of a run as they may be shown: on the command line, over the admin
 * port and in the console.
 *
 * (1) A secret is never shown, only whether it is set.
 */
import type { SettingFacts } from "../../edge/admin/settings.ts";
import type { RunSettings } from "./run-settings.ts";
import type { Setting } from "./setting.ts";
import { type SettingName, settingList } from "./settings.ts";
import { type FileValue, fileValue } from "./values.ts";

/** In the order of the table. */
export function shownSettings(run: RunSettings): readonly SettingFacts[] {
  return settingList.map(([name, row]): SettingFacts => {
    const { group, flag, environment, fileKey, argument, meaning, defaultMeaning } = row;
    const { source, place } = run.origins[name];
    const value = shownValue(run, name, row);
    return {
      name: fileKey ?? flag ?? environment[0] ?? name,
      value,
      source,
      ...(source !== "default" && { place: source === "file" ? place.slice(place.indexOf(" in ") + 4) : place }),
      default: source === "default" ? value : defaultOf(run, row),
      ...(defaultMeaning !== undefined && { defaultMeaning }),
      ...{ group, form: argument, meaning, isSecret: row.secret === true },
      ...(flag !== undefined && { flag }),
      environment,
      ...(fileKey !== undefined && { fileKey }),
    };
  });
}

function shownValue({ settings, texts }: RunSettings, name: SettingName, row: Setting<unknown>): FileValue | null {
  // keeps (1)
  if (row.secret === true) return settings[name] === undefined ? "not set" : "set";
  return printedValue(texts.get(name), row);
}

function defaultOf({ command }: RunSettings, row: Setting<unknown>): FileValue | null {
  if (row.secret === true) return "not set";
  return printedValue(command === "dev" && "devDefault" in row ? row.devDefault : row.default, row);
}

/** As the configuration file has it; null: no value. */
function printedValue(text: string | undefined, { parse }: Setting<unknown>): FileValue | null {
  return text === undefined ? null : (fileValue(parse.schema, text) ?? text);
}
