/** The row of a command: its words, operands, options, and the function that runs it. */
import type { RunSettings } from "../settings/run-settings.ts";
import type { Command } from "../settings/setting.ts";
import type { SettingName } from "../settings/settings.ts";

/** The groups of the help, in its order. */
export const commandGroups = [
  "Servers",
  "Configuration",
  "Databases, indexes and users",
  "Messaging",
  "Backups",
  "Cluster",
  "Moving data",
  "Help",
] as const;

export type CommandGroup = (typeof commandGroups)[number];

export interface CommandRow {
  /** The words that name it, such as `token reset`. */
  readonly words: string;
  readonly group: CommandGroup;
  /** The operands after the words, in order: `<database>`; optional ones are in brackets, `[<file>]`, and come last. */
  readonly operands: readonly string[];
  readonly options: readonly CommandOption[];
  /** What follows `--`, for the help: `<command>`; absent: the command takes no `--`. */
  readonly trailing?: string;
  /** One sentence without a full stop. */
  readonly meaning: string;
  /** A whole command that works, for the help and the reference. */
  readonly example: string;
  /** What completions offer for the operands; absent: nothing. */
  readonly operandValues?: "files" | "commands" | readonly string[];
  /** The settings that its own help describes; absent: the data directory and the configuration file. */
  readonly mainSettings?: readonly SettingName[];
  /** True: it reads no setting, so no invalid setting can prevent it. */
  readonly ignoresSettings?: boolean;
  /** The command whose defaults the settings have. */
  readonly defaults: Command;
  /**
   * Runs the command. Resolves with the exit code: 0, 1 (the machine), 2 (the settings); undefined: the process goes on.
   * Output for people goes to stdout through `print`. The caller writes a `StartRefusal` to stderr.
   */
  readonly run: (call: CommandCall) => Promise<0 | 1 | 2 | undefined>;
  /** Called instead of `run` if arguments or settings are invalid; absent: they go to stderr, and the exit code is 2. */
  readonly refused?: (problems: readonly string[], print: (line: string) => void) => 0 | 1 | 2;
}

/** An option of one command. */
export interface CommandOption {
  /** The key by which `run` finds it. */
  readonly name: string;
  /** A secret has no flag, because arguments are visible to every user of the machine. */
  readonly flag?: `--${string}`;
  /** A variable; its value may also be in a file whose path is in the variable with `_FILE` appended to its name. */
  readonly environment?: `LARDER_${string}`;
  /** The name of the value in the help; undefined: a switch, which is `on` if present. */
  readonly argument?: string;
  readonly meaning: string;
  /** With this option, the settings have the defaults of this command. */
  readonly defaults?: Command;
}

/** Of commands that call a server: selects the development server, which usually has no data directory. */
export const devOption: CommandOption = {
  name: "dev",
  flag: "--dev",
  meaning: "the server of larder dev: its ports and tokens, and no data directory unless --data-dir is set",
  defaults: "dev",
};

/** Of commands whose output is a table. */
export const jsonOption: CommandOption = { name: "json", flag: "--json", meaning: "prints JSON" };

export interface CommandCall {
  readonly run: RunSettings;
  readonly version: string;
  /** All rows of the table, for the commands that describe them. */
  readonly commands: readonly CommandRow[];
  readonly operands: readonly string[];
  /** The words after `--`; absent: there was none. */
  readonly trailing?: readonly string[] | undefined;
  /** By the name of the option; options that were not given are absent. */
  readonly options: ReadonlyMap<string, string>;
  /** Writes a line to stdout. */
  readonly print: (line: string) => void;
}

/** The form of a command for people: `larder token reset <database>`. */
export function commandForm({ words, operands, trailing }: CommandRow): string {
  return ["larder", words, ...operands, ...(trailing === undefined ? [] : [`[-- ${trailing}]`])].join(" ");
}
