/** The type of a row of the table in settings.ts. */
import type { Parser } from "./values.ts";

/** The command that starts a server; other commands read the settings of `serve`. */
export type Command = "serve" | "dev";

export type Group =
  | "Data"
  | "Addresses"
  | "Cluster"
  | "Destinations"
  | "Limits"
  | "Messaging"
  | "Vector index"
  | "Logs"
  | "Tokens and keys";

export interface Setting<Value> {
  readonly group: Group;
  /** The flag's full name; its value is the next argument or follows `=`. */
  readonly flag?: `--${string}`;
  /** Environment variables; the first one that is set is used. */
  readonly environment: readonly string[];
  /** Variables among them that `larder dev` ignores. */
  readonly devIgnores?: readonly string[];
  /** The key at the top of the configuration file. */
  readonly fileKey?: string;
  /** How the help names the value. */
  readonly argument: string;
  /** One sentence without a full stop. */
  readonly meaning: string;
  /** The default, as text that `parse` reads; undefined: it has no value. */
  readonly default: string | undefined;
  /** The default of `larder dev`, where it differs. */
  readonly devDefault?: string | undefined;
  /** What the help prints for a default that is not a fixed text. */
  readonly defaultMeaning?: string;
  readonly secret?: boolean;
  readonly parse: Parser<Value>;
}

/** Half of the memory that all request bodies of one thread may use (edge/http/listener.ts). */
export const REQUEST_BYTES_MAX = 134_217_728;
