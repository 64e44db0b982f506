/**
 * `larder config print`: each setting, and where it comes from.
 *
 * (1) A secret is never printed, only whether it is set.
 */
import type { SettingFacts, SettingValue } from "../../../edge/admin/settings.ts";
import { printable } from "../../../kernel/log.ts";
import { type ListedTenant, type ListedUser, placeIn } from "../../settings/config.ts";
import type { RunSettings } from "../../settings/run-settings.ts";
import { shownSettings } from "../../settings/shown-settings.ts";

interface ShownTenant {
  readonly name: string;
  readonly secrets: Readonly<Record<string, "set" | "not set">>;
  readonly place: string;
}

/** A table for people: name, value and source. */
export function configLines(run: RunSettings): readonly string[] {
  const tenants = Object.entries(shownTenants(run)).flatMap(([list, rows]) =>
    rows.map(({ name, secrets, place }) => {
      const states = Object.entries(secrets).map(([secret, state]) => `${secret} ${state}`);
      return [`${list}: ${name}`, states.join(", "), `file ${place}`];
    }),
  );
  return table([HEADING, ...settingRows(shownSettings(run)), ...tenants]);
}

/** The same for the settings of a running server, without its tenants. */
export function settingLines(settings: readonly SettingFacts[]): readonly string[] {
  return table([HEADING, ...settingRows(settings)]);
}

const HEADING = ["setting", "value", "from"];

function settingRows(settings: readonly SettingFacts[]): readonly (readonly string[])[] {
  return settings.map(({ name, value, source, place }) => [
    name,
    textOf(value),
    place === undefined ? source : `${source} ${place}`,
  ]);
}

/** The same as one line of JSON. */
export function configJson(run: RunSettings): string {
  const settings = shownSettings(run).map(({ name, value, source, place }) => [
    name,
    { value, source, ...(place !== undefined && { place }) },
  ]);
  return JSON.stringify({ settings: Object.fromEntries(settings), ...shownTenants(run) });
}

function textOf(value: SettingValue): string {
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
