/** The settings of a command: the value of each setting, where it came from, and the configuration file. */
import type { Configuration } from "./config.ts";
import type { Command } from "./setting.ts";
import type { SettingName, Settings } from "./settings.ts";

export type Source = "flag" | "environment" | "file" | "default";

export interface Origin {
  readonly source: Source;
  /** Where to change it: `--host`, `LARDER_HOST`, `host in larder.json:3`; for a default, the flag or the variable. */
  readonly place: string;
}

export interface RunSettings {
  readonly command: Command;
  readonly settings: Settings;
  readonly origins: Readonly<Record<SettingName, Origin>>;
  /** The settings as text, without the secrets; a setting without a value is absent. */
  readonly texts: ReadonlyMap<SettingName, string>;
  readonly configuration: Configuration;
}

/** The run with the directory of an operand; undefined: that of the settings. */
export function runIn(run: RunSettings, dataDirectory: string | undefined): RunSettings {
  return dataDirectory === undefined ? run : { ...run, settings: { ...run.settings, dataDirectory } };
}
