/**
 * `larder config print`: each setting, and where it comes from.
 *
 * (1) A secret is never printed, only whether it is set.
 */
import { printable } from "../../../kernel/log.ts";
import { type ListedTenant, type ListedUser, placeIn } from "../../settings/config.ts";
import { type FileValue, fileValue } from "../../settings/file-value.ts";
import type { RunSettings, Source } from "../../settings/run-settings.ts";
import type { Setting } from "../../settings/setting.ts";
import { type SettingName, settingList } from "../../settings/settings.ts";

interface Shown {
  readonly name: string;
  /** As the configuration file has it; null: no value. */
  readonly value: FileValue | null;
  readonly source: Source;
  /** The flag, the variable, or the line of the file; absent for a default. */
  readonly place?: string;
}

interface ShownTenant {
  readonly name: string;
  readonly secrets: Readonly<Record<string, "set" | "not set">>;
  readonly place: string;
}

/** A table for people: name, value and source. */
export function configLines(run: RunSettings): readonly string[] {
  const settings = shownSettings(run).map(({ name, value, source, place }) => [
    name,
    textOf(value),
    place === undefined ? source : `${source} ${place}`,
  ]);
  const tenants = Object.entries(shownTenants(run)).flatMap(([list, rows]) =>
    rows.map(({ name, secrets, place }) => {
      const states = Object.entries(secrets).map(([secret, state]) => `${secret} ${state}`);
      return [`${list}: ${name}`, states.join(", "), `file ${place}`];
    }),
  );
  return table([["setting", "value", "from"], ...settings, ...tenants]);
}

/** The same as one line of JSON. */
export function configJson(run: RunSettings): string {
  const settings = shownSettings(run).map(({ name, ...facts }) => [name, facts]);
  return JSON.stringify({ settings: Object.fromEntries(settings), ...shownTenants(run) });
}

function shownSettings(run: RunSettings): readonly Shown[] {
  return settingList.map(([name, row]): Shown => {
    const { source, place } = run.origins[name];
    return {
      name: row.fileKey ?? row.flag ?? row.environment[0] ?? name,
      value: shownValue(run, name, row),
      source,
      ...(source !== "default" && { place: source === "file" ? place.slice(place.indexOf(" in ") + 4) : place }),
    };
  });
}

function shownValue({ settings, texts }: RunSettings, name: SettingName, row: Setting<unknown>): FileValue | null {
  // keeps (1)
  if (row.secret === true) return settings[name] === undefined ? "not set" : "set";
  const text = texts.get(name);
  return text === undefined ? null : (fileValue(row.parse.schema, text) ?? text);
}

function textOf(value: FileValue | null): string {
  if (value === null) return "–";
  return Array.isArray(value) ? value.join(",") || "–" : String(value);
}

const secretNames = {
  databases: ["token", "readOnlyToken"],
  indexes: ["token", "readOnlyToken"],
  users: ["token", "readOnlyToken", "currentSigningKey", "nextSigningKey"],
} as const;

/** The tenants that the file lists. */
function shownTenants({ settings, configuration }: RunSettings): Readonly<Record<string, readonly ShownTenant[]>> {
  const shown = (tenants: readonly (ListedTenant & Partial<ListedUser>)[], list: keyof typeof secretNames) =>
    tenants.map((tenant): ShownTenant => {
      // keeps (1)
      const states = secretNames[list].map((secret) => [secret, tenant[secret] === undefined ? "not set" : "set"]);
      const place = placeIn(settings.config ?? "", configuration, tenant.path);
      return { name: tenant.name, secrets: Object.fromEntries(states), place: place.slice(place.indexOf(" in ") + 4) };
    });
  return {
    databases: shown(configuration.databases, "databases"),
    indexes: shown(configuration.indexes, "indexes"),
    users: shown(configuration.users, "users"),
  };
}

/** Rows in columns; no text of a user moves the cursor. */
function table(rows: readonly (readonly string[])[]): readonly string[] {
  const cells = rows.map((row) => row.map(printable));
  const widths = [0, 1].map((column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  return cells.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}
