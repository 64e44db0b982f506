/** A setting of the server as the admin port shows it. */
export interface SettingFacts {
  /** The key of the configuration file, or the flag or variable of a setting that is not in it. */
  readonly name: string;
  /** The value now, as the configuration file has it; null: it has none. Of a secret, `set` or `not set`. */
  readonly value: SettingValue;
  readonly source: "flag" | "environment" | "file" | "default";
  /** The flag, the variable, or the line of the file; absent for a default. */
  readonly place?: string;
  readonly default: SettingValue;
  /** Of a default that is not one value. */
  readonly defaultMeaning?: string;
  readonly group: string;
  /** The form of its values, such as `<size>|off`. */
  readonly form: string;
  /** One sentence without a full stop. */
  readonly meaning: string;
  readonly isSecret: boolean;
  readonly flag?: string;
  /** The first one that is set is used. */
  readonly environment: readonly string[];
  /** In the configuration file. */
  readonly fileKey?: string;
}

export type SettingValue = string | number | boolean | readonly string[] | null;
