/**
 * `larder env`: the variables that the official clients read.
 *
 *     a server uses the data directory    its addresses are in the directory
 *     otherwise                           the addresses follow from the settings
 *
 * The tokens come from the settings, the configuration file and tokens.json, as
 * at a start. Nothing is generated.
 */
import { join, resolve } from "node:path";
import { isUsedDirectory, type Serving } from "../../directory/data-directory.ts";
import { addressOf, authorityOf } from "../../listeners/address.ts";
import { StartRefusal } from "../../refusal.ts";
import { adminListenPlan, listenPlan } from "../../settings/plan.ts";
import type { RunSettings } from "../../settings/run-settings.ts";
import { type StoredTokens, TOKENS_FILE } from "../../tenants/stored-tokens.ts";
import { resolveTenants, type Secret, type Tenant, type Tenants } from "../../tenants/tokens.ts";
import { type Addresses, type EnvironmentBlock, environmentOf, secretsInBlock } from "../env-block.ts";
import { awaitServing, isDirectoryInUse, readStoredTokens } from "../running-server.ts";
import type { EnvironmentForm } from "./row.ts";

/** The names of the wanted tenants; absent: the first of each kind. */
export type TenantNames = Readonly<Partial<Record<keyof typeof nouns, string | undefined>>>;

const nouns = { databases: "database", indexes: "index", users: "messaging user" } as const;

/** The wanted tenants with their secrets, without those of the kinds that do not exist. */
export interface FoundTenants {
  readonly tenants: Pick<Tenants, "databases" | "indexes" | "users">;
  /** The server that uses the data directory; undefined: none does. */
  readonly serving: Serving | undefined;
  /** Throws a `StartRefusal` if only this command generated one of the secrets: it is the token of no server. */
  assertKnown(secrets: readonly Secret[]): void;
}

/** Rejects with a `StartRefusal`. */
export async function readTenants(run: RunSettings, names: TenantNames): Promise<FoundTenants> {
  const { dataDirectory } = run.settings;
  const directory = dataDirectory === undefined ? undefined : resolve(dataDirectory);
  const isRunning = directory !== undefined && isUsedDirectory(directory) && (await isDirectoryInUse(directory));
  const serving = isRunning ? await awaitServing(run, directory) : undefined;
  const stored = directory === undefined ? {} : readStoredTokens(directory);
  const { tenants, problems } = resolveTenants({ ...run, command: serving?.command ?? run.command }, stored);
  if (problems.length > 0) throw new StartRefusal(problems.join("\n"), 2);
  return {
    tenants: {
      databases: pick(tenants.databases, "databases", names),
      indexes: pick(tenants.indexes, "indexes", names),
      users: pick(tenants.users, "users", names),
    },
    serving,
    assertKnown: (secrets) => assertKnown(secrets, { stored, directory }),
  };
}

/** Rejects with a `StartRefusal`. */
export async function readEnvironmentOf(run: RunSettings, names: TenantNames): Promise<EnvironmentBlock> {
  const found = await readTenants(run, names);
  const addresses = found.serving?.addresses ?? configuredAddresses(run);
  found.assertKnown(secretsInBlock(addresses, found.tenants));
  return environmentOf(addresses, found.tenants);
}

function pick<Kind extends Tenant>(
  tenants: readonly Kind[],
  kind: keyof typeof nouns,
  names: TenantNames,
): readonly Kind[] {
  const name = names[kind];
  if (name === undefined) return tenants.slice(0, 1);
  const found = tenants.filter((tenant) => tenant.name === name);
  if (found.length > 0) return found;
  const known = tenants.map((tenant) => tenant.name).join(", ") || "none";
  throw new StartRefusal(`There is no ${nouns[kind]} ${JSON.stringify(name)}: there is ${known}`, 2);
}

/** A secret that only this command generated is the token of no server. */
function assertKnown(
  secrets: readonly Secret[],
  { stored, directory }: { stored: StoredTokens; directory: string | undefined },
): void {
  const known = new Set(textsIn(stored));
  if (secrets.every(({ value, from }) => from.kind !== "stored" || known.has(value))) return;
  throw new StartRefusal(
    directory === undefined
      ? "The server generates a token that it does not store: set --data-dir, or set the token in the environment or the configuration file"
      : `${join(directory, TOKENS_FILE)} does not have all tokens yet: start larder serve, or add --dev for the tokens of larder dev`,
  );
}

function textsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

/** The addresses that a server with these settings has. Throws a `StartRefusal` if a port is any free one. */
export function configuredAddresses(run: RunSettings): Addresses {
  const { settings } = run;
  const portOf = (name: "storePort" | "vectorPort" | "messagingPort" | "port" | "respPort"): string => {
    const plan = listenPlan(run, name);
    if (plan.port !== 0) return addressOf(plan, plan.port);
    throw new StartRefusal(
      `${plan.portPlace} 0 is any free port: name the port, or the data directory of the running server`,
      2,
    );
  };
  const admin = addressOf(adminListenPlan(run), settings.adminPort);
  const base = settings.port === undefined ? undefined : portOf("port");
  const areas =
    base === undefined
      ? { store: portOf("storePort"), vector: portOf("vectorPort"), messaging: portOf("messagingPort") }
      : { store: `${base}/store`, vector: `${base}/vector`, messaging: `${base}/messaging` };
  if (settings.respPort === undefined) return { ...areas, admin };
  portOf("respPort");
  const isEncrypted = settings.respKeyPath !== undefined;
  return { ...areas, admin, resp: { host: authorityOf(settings.host, settings.respPort), isEncrypted } };
}

const printers: Readonly<Record<EnvironmentForm, (environment: EnvironmentBlock) => string>> = {
  shell: (environment) => linesOf(environment, (name, value) => `export ${name}='${value.replaceAll("'", `'\\''`)}'`),
  dotenv: (environment) => linesOf(environment, (name, value) => `${name}=${dotenvValue(value)}`),
  json: (environment) => JSON.stringify(environment, undefined, 2),
};

export function printEnvironment(environment: EnvironmentBlock, form: EnvironmentForm): string {
  return printers[form](environment);
}

function linesOf(environment: EnvironmentBlock, line: (name: string, value: string) => string): string {
  return Object.entries(environment)
    .map(([name, value]) => line(name, value))
    .join("\n");
}

/** Readers of .env files replace variables in double quotes, and know no escape of a quote. */
function dotenvValue(value: string): string {
  const quote = ['"', "'", "`"].find((each) => !value.includes(each) && (each !== '"' || !/[$\\]/.test(value)));
  if (quote === undefined)
    throw new StartRefusal("A token has every kind of quote, which an .env file cannot hold: use --json");
  return `${quote}${value}${quote}`;
}
