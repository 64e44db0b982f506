/**
 * The configuration file: JSON with settings at its top (the `fileKey`s of the
 * settings table) and the databases, indexes and messaging users that exist.
 *
 * Whatever does not belong is refused by its path, such as
 * `store.databases[0].token`; nothing is skipped in silence. Values of tokens
 * never stand in an error.
 */
import { BadValue, parseMemory, parseMessagingToken, parseSigningKey, parseToken } from "./program/values.ts";
import { evictionPolicies, type MemorySettings } from "./store/memory-settings.ts";

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

export const indexTypes = ["DENSE", "SPARSE", "HYBRID"] as const;
export const similarities = ["COSINE", "EUCLIDEAN", "DOT_PRODUCT"] as const;

export interface ListedIndex extends ListedTenant {
  readonly type: (typeof indexTypes)[number];
  /** Left out: fixed by the first upsert. */
  readonly dimension?: number;
  readonly similarity: (typeof similarities)[number];
  readonly embedding?: Readonly<Record<string, unknown>>;
  readonly sparseEmbedding?: string;
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
  readonly users: readonly ListedUser[];
  readonly adminToken: string | undefined;
}

export const emptyConfiguration: Configuration = {
  settings: new Map(),
  databases: [],
  indexes: [],
  users: [],
  adminToken: undefined,
};

/** Most databases, indexes or users that one file may list. */
export const TENANTS_MAX = 1_000;

const DIMENSION_MAX = 65_536;

/** What may name a database, an index or a user; also asked by the admin API. */
export const TENANT_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

export const TENANT_NAME_RULE =
  "1 to 64 letters, digits, hyphens, underscores or periods, and starts with a letter or digit";

/**
 * Reads the text of a configuration file. `fileKeys` are the settings it may hold. Every fault is one sentence in
 * `problems`; the configuration holds what was right.
 */
export function parseConfiguration(
  text: string,
  fileKeys: ReadonlySet<string>,
): { configuration: Configuration; problems: readonly string[] } {
  const reader = new Reader();
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
  const configuration: Configuration = {
    settings,
    databases: readTenants(reader, top, { area: "store", list: "databases", read: readDatabase }),
    indexes: readTenants(reader, top, { area: "vector", list: "indexes", read: readIndex }),
    users: readTenants(reader, top, { area: "messaging", list: "users", read: readUser }),
    adminToken: reader.secret(reader.object(top.get("admin"), "admin", ["token"]), "admin", {
      key: "token",
      parse: parseToken,
    }),
  };
  return { configuration, problems: reader.problems };
}

interface TenantList<Tenant> {
  area: string;
  list: string;
  read: (reader: Reader, value: unknown, path: string) => Tenant | undefined;
}

function readTenants<Tenant extends ListedTenant>(
  reader: Reader,
  top: Fields,
  { area, list, read }: TenantList<Tenant>,
): readonly Tenant[] {
  const section = reader.object(top.get(area), area, [list]);
  const path = `${area}.${list}`;
  const tenants: Tenant[] = [];
  const names = new Map<string, string>();
  const tokens = new Map<string, string>();
  for (const [index, value] of reader.array(section.get(list), path).entries()) {
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

function readTenant(reader: Reader, fields: Fields, path: string, parse = parseToken): ListedTenant | undefined {
  const name = fields.get("name");
  if (typeof name !== "string" || !TENANT_NAME.test(name)) {
    reader.problem(`${path}.name`, name === undefined ? "is missing" : `is not a name of ${TENANT_NAME_RULE}`);
    return undefined;
  }
  const token = reader.secret(fields, path, { key: "token", parse });
  const readOnlyToken = reader.secret(fields, path, { key: "readOnlyToken", parse });
  return { name, path, ...(token && { token }), ...(readOnlyToken && { readOnlyToken }) };
}

function readDatabase(reader: Reader, value: unknown, path: string): ListedDatabase | undefined {
  const fields = reader.object(value, path, [...TENANT_KEYS, "maxmemory", "maxmemoryPolicy"]);
  const tenant = readTenant(reader, fields, path);
  if (tenant === undefined) return undefined;
  const policyNames = evictionPolicies.map(({ name }) => name);
  const policy = reader.choice(fields.get("maxmemoryPolicy"), `${path}.maxmemoryPolicy`, policyNames);
  const bytesMax = reader.memory(fields.get("maxmemory"), `${path}.maxmemory`);
  const memory = { ...(policy && { policy }), ...(bytesMax !== undefined && { bytesMax }) };
  return Object.keys(memory).length === 0 ? tenant : { ...tenant, memory };
}

function readIndex(reader: Reader, value: unknown, path: string): ListedIndex | undefined {
  const own = ["type", "dimension", "similarity", "embedding", "sparseEmbedding"];
  const fields = reader.object(value, path, [...TENANT_KEYS, ...own]);
  const tenant = readTenant(reader, fields, path);
  if (tenant === undefined) return undefined;
  const type = reader.choice(fields.get("type"), `${path}.type`, indexTypes) ?? "DENSE";
  const similarity = reader.choice(fields.get("similarity"), `${path}.similarity`, similarities) ?? "COSINE";
  const dimension = fields.get("dimension");
  if (dimension !== undefined && !isDimension(dimension)) {
    reader.problem(`${path}.dimension`, `is not a whole number from 1 to ${DIMENSION_MAX}`);
  }
  const embedding = fields.get("embedding");
  if (embedding !== undefined && !isPlainObject(embedding)) reader.problem(`${path}.embedding`, "is not an object");
  const sparseEmbedding = fields.get("sparseEmbedding");
  if (sparseEmbedding !== undefined && typeof sparseEmbedding !== "string") {
    reader.problem(`${path}.sparseEmbedding`, "is not a text");
  }
  return {
    ...tenant,
    type,
    similarity,
    ...(isDimension(dimension) && { dimension }),
    ...(isPlainObject(embedding) && { embedding }),
    ...(typeof sparseEmbedding === "string" && { sparseEmbedding }),
  };
}

function readUser(reader: Reader, value: unknown, path: string): ListedUser | undefined {
  const fields = reader.object(value, path, [...TENANT_KEYS, "currentSigningKey", "nextSigningKey"]);
  const tenant = readTenant(reader, fields, path, parseMessagingToken);
  if (tenant === undefined) return undefined;
  const currentSigningKey = reader.secret(fields, path, { key: "currentSigningKey", parse: parseSigningKey });
  const nextSigningKey = reader.secret(fields, path, { key: "nextSigningKey", parse: parseSigningKey });
  return { ...tenant, ...(currentSigningKey && { currentSigningKey }), ...(nextSigningKey && { nextSigningKey }) };
}

/** The line and column of a syntax error. V8's whole text quotes what stands there, which may be a token. */
function faultPlace(fault: unknown): string {
  const [, line, column] = /line (\d+) column (\d+)/.exec(fault instanceof Error ? fault.message : "") ?? [];
  return line === undefined ? "" : `: line ${line}, column ${column}`;
}

type Fields = ReadonlyMap<string, unknown>;

/** Takes values apart and notes what is wrong with them, by path. */
class Reader {
  readonly problems: string[] = [];

  problem(path: string, text: string): void {
    this.problems.push(`${path} ${text}`);
  }

  /** The fields of an object; one that is not in `keys` is refused. A value that is missing has no fields. */
  object(value: unknown, path: string, keys: readonly string[]): Fields {
    if (value === undefined) return new Map();
    if (!isPlainObject(value)) {
      this.problem(path === "" ? "the file" : path, "is not an object");
      return new Map();
    }
    const fields = new Map(Object.entries(value));
    for (const key of fields.keys()) {
      if (!keys.includes(key)) this.problem(path === "" ? key : `${path}.${key}`, "is not a known key");
    }
    return fields;
  }

  array(value: unknown, path: string): readonly unknown[] {
    if (value === undefined) return [];
    if (!Array.isArray(value)) {
      this.problem(path, "is not a list");
      return [];
    }
    if (value.length > TENANTS_MAX) this.problem(path, `has more than ${TENANTS_MAX} entries`);
    return value.slice(0, TENANTS_MAX);
  }

  choice<Choice extends string>(value: unknown, path: string, choices: readonly Choice[]): Choice | undefined {
    const found = choices.find((choice) => choice === value);
    if (value !== undefined && found === undefined) this.problem(path, `is not one of ${choices.join(", ")}`);
    return found;
  }

  secret(fields: Fields, path: string, { key, parse }: { key: string; parse: (text: string) => string }) {
    const value = fields.get(key);
    if (value === undefined) return undefined;
    try {
      if (typeof value !== "string") throw new BadValue("it is not a text");
      return parse(value);
    } catch (fault) {
      if (!(fault instanceof BadValue)) throw fault;
      this.problem(`${path}.${key}`, `is refused: ${fault.message}`);
      return undefined;
    }
  }

  /** A size as the setting of the same name has it. */
  memory(value: unknown, path: string): number | undefined {
    if (value === undefined) return undefined;
    const text = this.settingText(value, path);
    try {
      return text === undefined ? undefined : parseMemory(text);
    } catch (fault) {
      if (!(fault instanceof BadValue)) throw fault;
      this.problem(path, `is refused: ${fault.message}`);
      return undefined;
    }
  }

  unique(seen: Map<string, string>, value: string | undefined, path: string): void {
    if (value === undefined) return;
    const earlier = seen.get(value);
    if (earlier !== undefined) this.problem(path, `is the same as ${earlier}`);
    else seen.set(value, path);
  }

  /** A setting's value as the text that its row parses: `true` is `on`, a list is joined by commas. */
  settingText(value: unknown, path: string): string | undefined {
    if (typeof value === "string") return value;
    if (typeof value === "number") return String(value);
    if (typeof value === "boolean") return value ? "on" : "off";
    if (Array.isArray(value) && value.every((item) => typeof item === "string")) return value.join(",");
    this.problem(path, "is not a text, a number, true, false or a list of texts");
    return undefined;
  }
}

function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isDimension(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= DIMENSION_MAX;
}
