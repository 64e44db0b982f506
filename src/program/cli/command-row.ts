/** The row of a command: its words, operands, options, and the function that does it. */
import type { RunSettings } from "../settings/run-settings.ts";
import type { Command } from "../settings/setting.ts";

export interface CommandRow {
  /** How it is called: `token reset`. */
  readonly words: string;
  /** Behind the words, in their order: `<database>`; those in brackets, `[<file>]`, may be left out and come last. */
  readonly operands: readonly string[];
  readonly options: readonly CommandOption[];
  /** One sentence without a full stop. */
  readonly meaning: string;
  /** Whose defaults the settings have. */
  readonly defaults: Command;
  /**
   * Does it. Resolves with the exit code: 0, 1 (the machine), 2 (the settings); undefined: the process lives on. What is
   * for people goes to stdout through `print`. A `StartRefusal` is told on stderr by whoever calls.
   */
  readonly run: (call: CommandCall) => Promise<0 | 1 | 2 | undefined>;
}

/** What only one command takes, besides the settings. */
export interface CommandOption {
  /** How `run` finds it. */
  readonly name: string;
  /** A secret has no flag, because arguments are visible to every user of the machine. */
  readonly flag?: `--${string}`;
  /** A variable; what it holds may also stand in a file whose path is in the variable with `_FILE` after its name. */
  readonly environment?: `LARDER_${string}`;
  /** How the help names the value; undefined: a switch, which is `on` when it is there. */
  readonly argument?: string;
  readonly meaning: string;
}

export interface CommandCall {
  readonly run: RunSettings;
  readonly version: string;
  readonly operands: readonly string[];
  /** By the name of the option; those that nobody gave are not there. */
  readonly options: ReadonlyMap<string, string>;
  /** Writes a line to stdout. */
  readonly print: (line: string) => void;
}

/** How a command is called, for people: `larder token reset <database>`. */
export function commandForm({ words, operands }: CommandRow): string {
  return ["larder", words, ...operands].join(" ");
}
