/**
 * The configuration file: JSON with settings at its top (the `fileKey`s of the
 * settings table) and the databases, indexes and messaging users that exist.
 *
 * Whatever does not belong is refused by its path, such as
 * `store.databases[0].token`; nothing is skipped in silence. Values of tokens
 * never stand in an error.
 */

import { evictionPolicies, type MemorySettings } from "../../store/memory/mod.ts";
import { DIMENSION_MAX } from "../../vector/mod.ts";
import { type Models, type ProviderEnvironment, readModels } from "./embedding-settings.ts";
import { ENTRIES_MAX, FieldReader, type Fields, isPlainObject } from "./field-reader.ts";
import { INDEX_KEYS, type IndexPlan, type IndexRules, readIndexPlan } from "./index-settings.ts";
import { BadValue, parseMemory, parseMessagingToken, parseSigningKey, parseToken } from "./values.ts";

/** Tokens that are left out are generated and kept in the data directory. */
export interface ListedTenant {
  readonly name: string;
  readonly token?: string;
  readonly readOnlyToken?: string;
  /** Where it stands in the file, such as `store.databases[0]`. */
  readonly path: string;
}

export interface ListedDatabase extends ListedTenant {
  /** What is different from the settings for this one. */
  readonly memory?: Partial<Pick<MemorySettings, "bytesMax" | "policy">>;
}

export interface ListedIndex extends ListedTenant {
  readonly plan: IndexPlan;
}

export interface ListedUser extends ListedTenant {
  readonly currentSigningKey?: string;
  readonly nextSigningKey?: string;
}

export interface Configuration {
  /** Settings by their file key, as text for the parser of the row. */
  readonly settings: ReadonlyMap<string, string>;
  readonly databases: readonly ListedDatabase[];
  readonly indexes: readonly ListedIndex[];
  /** Who runs the models that indexes may name. */
  readonly models: Models;
  readonly users: readonly ListedUser[];
  readonly adminToken: string | undefined;
}

export const emptyConfiguration: Configuration = {
  settings: new Map(),
  databases: [],
  indexes: [],
  models: new Map(),
  users: [],
  adminToken: undefined,
};

/** Most databases, indexes or users that one file may list. */
export const TENANTS_MAX: number = ENTRIES_MAX;

/** What may name a database, an index or a user; also asked by the admin API. */
export const TENANT_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

export const TENANT_NAME_RULE =
  "1 to 64 letters, digits, hyphens, underscores or periods, and starts with a letter or digit";

/** Where nothing is to be found: for those who read a file without a machine around it. */
const nowhere: ProviderEnvironment = {
  readFile: (path) => {
    throw new BadValue(`there is no file ${path}`);
  },
  findVariable: () => undefined,
  hasPackage: () => false,
};

/**
 * Reads the text of a configuration file. `fileKeys` are the settings it may hold. Every fault is one sentence in
 * `problems`; the configuration holds what was right.
 */
export function parseConfiguration(
  text: string,
  fileKeys: ReadonlySet<string>,
  environment: ProviderEnvironment = nowhere,
): { configuration: Configuration; problems: readonly string[] } {
  const reader = new FieldReader();
  let root: unknown;
  try {
    root = JSON.parse(text);
  } catch (fault) {
    return { configuration: emptyConfiguration, problems: [`is not JSON${faultPlace(fault)}`] };
  }
  const settings = new Map<string, string>();
  const top = reader.object(root, "", [...fileKeys, "store", "vector", "messaging", "admin"]);
  for (const [key, value] of top) {
    if (!fileKeys.has(key)) continue;
    const settingText = reader.settingText(value, key);
    if (settingText !== undefined) settings.set(key, settingText);
  }
  const vector = reader.object(top.get("vector"), "vector", ["indexes", "models"]);
  const models = readModels(reader, vector.get("models"), { path: "vector.models", environment });
  // What the settings say of dimensions is known later.
  const rules = { models, environment, dimensionMax: DIMENSION_MAX };
  const configuration: Configuration = {
    settings,
    databases: readTenants(reader, sectionOf(reader, top, "store", "databases"), {
      path: "store.databases",
      read: readDatabase,
    }),
    indexes: readTenants(reader, vector.get("indexes"), {
      path: "vector.indexes",
      read: (each, value, path) => readIndex(each, value, { path, rules }),
    }),
    models,
    users: readTenants(reader, sectionOf(reader, top, "messaging", "users"), {
      path: "messaging.users",
      read: readUser,
    }),
    adminToken: reader.text(reader.object(top.get("admin"), "admin", ["token"]), "admin", {
      key: "token",
      parse: parseToken,
    }),
  };
  return { configuration, problems: reader.problems };
}

/** The one list that a section holds. */
function sectionOf(reader: FieldReader, top: Fields, section: string, list: string): unknown {
  return reader.object(top.get(section), section, [list]).get(list);
}

interface TenantList<Tenant> {
  path: string;
  read: (reader: FieldReader, value: unknown, path: string) => Tenant | undefined;
}

function readTenants<Tenant extends ListedTenant>(
  reader: FieldReader,
  list: unknown,
  { path, read }: TenantList<Tenant>,
): readonly Tenant[] {
  const tenants: Tenant[] = [];
  const names = new Map<string, string>();
  const tokens = new Map<string, string>();
  for (const [index, value] of reader.array(list, path).entries()) {
    const tenant = isPlainObject(value) ? read(reader, value, `${path}[${index}]`) : undefined;
    if (!isPlainObject(value)) reader.problem(`${path}[${index}]`, "is not an object");
    if (tenant === undefined) continue;
    reader.unique(names, tenant.name, `${tenant.path}.name`);
    reader.unique(tokens, tenant.token, `${tenant.path}.token`);
    reader.unique(tokens, tenant.readOnlyToken, `${tenant.path}.readOnlyToken`);
    tenants.push(tenant);
  }
  return tenants;
}

const TENANT_KEYS = ["name", "token", "readOnlyToken"] as const;

/** Undefined without a name. Whoever calls reads the other fields all the same: every mistake of a row is reported. */
function readTenant(reader: FieldReader, fields: Fields, path: string, parse = parseToken): ListedTenant | undefined {
  const name = fields.get("name");
  const isNamed = typeof name === "string" && TENANT_NAME.test(name);
  if (!isNamed)
    reader.problem(`${path}.name`, name === undefined ? "is missing" : `is not a name of ${TENANT_NAME_RULE}`);
  const token = reader.text(fields, path, { key: "token", parse });
  const readOnlyToken = reader.text(fields, path, { key: "readOnlyToken", parse });
  return isNamed ? { name, path, ...(token && { token }), ...(readOnlyToken && { readOnlyToken }) } : undefined;
}

function readDatabase(reader: FieldReader, value: unknown, path: string): ListedDatabase | undefined {
  const fields = reader.object(value, path, [...TENANT_KEYS, "maxmemory", "maxmemoryPolicy"]);
  const tenant = readTenant(reader, fields, path);
  const policyNames = evictionPolicies.map(({ name }) => name);
  const policy = reader.choice(fields.get("maxmemoryPolicy"), `${path}.maxmemoryPolicy`, policyNames);
  const bytesMax = reader.setting(fields.get("maxmemory"), `${path}.maxmemory`, parseMemory);
  const memory = { ...(policy && { policy }), ...(bytesMax !== undefined && { bytesMax }) };
  if (tenant === undefined) return undefined;
  return Object.keys(memory).length === 0 ? tenant : { ...tenant, memory };
}

function readIndex(
  reader: FieldReader,
  value: unknown,
  { path, rules }: { path: string; rules: IndexRules },
): ListedIndex | undefined {
  const fields = reader.object(value, path, [...TENANT_KEYS, ...INDEX_KEYS]);
  const tenant = readTenant(reader, fields, path);
  const plan = readIndexPlan(reader, fields, { path, rules });
  return tenant && { ...tenant, plan };
}

function readUser(reader: FieldReader, value: unknown, path: string): ListedUser | undefined {
  const fields = reader.object(value, path, [...TENANT_KEYS, "currentSigningKey", "nextSigningKey"]);
  const tenant = readTenant(reader, fields, path, parseMessagingToken);
  const currentSigningKey = reader.text(fields, path, { key: "currentSigningKey", parse: parseSigningKey });
  const nextSigningKey = reader.text(fields, path, { key: "nextSigningKey", parse: parseSigningKey });
  if (tenant === undefined) return undefined;
  return { ...tenant, ...(currentSigningKey && { currentSigningKey }), ...(nextSigningKey && { nextSigningKey }) };
}

/** The line and column of a syntax error. V8's whole text quotes what stands there, which may be a token. */
function faultPlace(fault: unknown): string {
  const [, line, column] = /line (\d+) column (\d+)/.exec(fault instanceof Error ? fault.message : "") ?? [];
  return line === undefined ? "" : `: line ${line}, column ${column}`;
}
