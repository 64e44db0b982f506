/** The row of a setting: what the table in settings.ts says about each. */
import type { Parser } from "./values.ts";

/** As what a server is started; other commands read the settings of `serve`. */
export type Command = "serve" | "dev";

export type Group =
  | "Data"
  | "Addresses"
  | "Destinations"
  | "Limits"
  | "Messaging"
  | "Vector index"
  | "Logs"
  | "Tokens and keys";

export interface Setting<Value> {
  readonly group: Group;
  /** The flag's whole name; its value is the next argument or stands after `=`. */
  readonly flag?: `--${string}`;
  /** Environment variables, the first that is set wins. */
  readonly environment: readonly string[];
  /** The key at the top of the configuration file. */
  readonly fileKey?: string;
  /** How the help names the value. */
  readonly argument: string;
  /** One sentence without a full stop. */
  readonly meaning: string;
  /** What the setting is when nobody says, as text that `parse` reads; undefined: it has no value. */
  readonly default: string | undefined;
  /** The same for `larder dev` where it differs. */
  readonly devDefault?: string | undefined;
  /** What the help prints for a default that is not a fixed text. */
  readonly defaultMeaning?: string;
  readonly secret?: boolean;
  readonly parse: Parser<Value>;
}
