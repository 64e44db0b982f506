/**
 * The configuration file: JSON with comments, with settings at its top (the `fileKey`s of the
 * settings table) and the databases, indexes and messaging users that exist.
 *
 * The rows of its fields define how it is read, its JSON Schema and the reference
 * (fields.ts).
 *
 * Unknown and invalid fields are errors that name the path, such as
 * `store.databases[0].token`, and their line; nothing is ignored silently. An error
 * never contains the value of a token.
 */

import { evictionPolicies, type MemorySettings } from "../../store/memory/mod.ts";
import { DIMENSION_MAX } from "../../vector/mod.ts";
import { type Position, type Problem, readConfigText } from "./config-text.ts";
import { type Models, modelMap, type ProviderEnvironment, readModels } from "./embedding-settings.ts";
import { ENTRIES_MAX, FieldReader, type Fields, isPlainObject } from "./field-reader.ts";
import {
  choiceField,
  type Field,
  type FieldRows,
  fieldsAt,
  rawField,
  settingField,
  textField,
  type ValuesOf,
} from "./fields.ts";
import { type IndexPlan, type IndexRules, indexFields, readIndexPlan } from "./index-settings.ts";
import {
  BadValue,
  type Parser,
  parseMemory,
  parseMessagingToken,
  parseSigningKey,
  parseText,
  parseToken,
} from "./values.ts";

/** The name of a database, an index or a user; the admin API checks it too. */
export const TENANT_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

export const TENANT_NAME_RULE =
  "1 to 64 letters, digits, hyphens, underscores or periods, and starts with a letter or digit";

const nameField: Field<string> = {
  meaning: `Its name: ${TENANT_NAME_RULE}`,
  missing: "is missing",
  values: { type: "string", pattern: TENANT_NAME.source, examples: ["main", "sessions"] },
  read: (reader, value, path) => {
    if (typeof value === "string" && TENANT_NAME.test(value)) return value;
    reader.problem(path, `is not a name of ${TENANT_NAME_RULE}`);
    return undefined;
  },
};

const GENERATED = "generated, and stored in the data directory";

/** `parse` parses the tokens. */
function tenantFieldsWith(parse: Parser<string>) {
  return {
    name: nameField,
    token: textField(parse, { meaning: "Its token", default: GENERATED }),
    readOnlyToken: textField(parse, { meaning: "Its read-only token", default: GENERATED }),
  };
}

const tenantFields = tenantFieldsWith(parseToken);
const userTenantFields = tenantFieldsWith(parseMessagingToken);

const memoryFields = {
  maxmemoryPolicy: choiceField(
    evictionPolicies.map(({ name }) => name),
    { meaning: "The setting maxmemoryPolicy of this database", default: "the setting" },
  ),
  maxmemory: settingField(parseMemory, {
    meaning: "The setting maxmemory of this database, such as 100mb; 0 is no limit",
    default: "the setting",
  }),
};

const signingKeyFields = {
  currentSigningKey: textField(parseSigningKey, { meaning: "Key that signs deliveries: sig_…", default: GENERATED }),
  nextSigningKey: textField(parseSigningKey, {
    meaning: "Key that signs after the next rotation: sig_…",
    default: GENERATED,
  }),
};

const databaseFields = { ...tenantFields, ...memoryFields };
const listedIndexFields = { ...tenantFields, ...indexFields };
const userFields = { ...userTenantFields, ...signingKeyFields };

const storeFields = { databases: listField(databaseFields, "The databases of the store") };
const vectorFields = {
  indexes: listField(listedIndexFields, "The indexes of the vector index"),
  models: rawField(modelMap, {
    meaning: "Providers of the models that indexes name, by the name of the model",
    default: "none",
  }),
};
const messagingFields = { users: listField(userFields, "The users of messaging") };
const adminFields = { token: textField(parseToken, { meaning: "Token of the admin port", default: GENERATED }) };

/** The fields of the file, except the settings. */
export const configurationFields = {
  $schema: textField(parseText, {
    meaning: "Address of the JSON Schema of this file, for editors; larder ignores it",
    default: "none",
  }),
  store: sectionField(storeFields, "The store"),
  vector: sectionField(vectorFields, "The vector index"),
  messaging: sectionField(messagingFields, "Messaging"),
  admin: sectionField(adminFields, "The admin port"),
};

function listField(rows: FieldRows, meaning: string): Field<unknown> {
  return rawField(
    { container: "list", entriesMax: ENTRIES_MAX, forms: [{ rows }] },
    { meaning, default: "one named main" },
  );
}

function sectionField(rows: FieldRows, meaning: string): Field<unknown> {
  return rawField({ container: "object", forms: [{ rows }] }, { meaning });
}

/** Missing tokens are generated and stored in the data directory. */
export interface ListedTenant extends ValuesOf<typeof tenantFields> {
  readonly name: string;
  /** Its path in the file, such as `store.databases[0]`. */
  readonly path: string;
}

export interface ListedDatabase extends ListedTenant {
  /** Values that override the settings. */
  readonly memory?: Partial<Pick<MemorySettings, "bytesMax" | "policy">>;
}

export interface ListedIndex extends ListedTenant {
  readonly plan: IndexPlan;
}

export interface ListedUser extends ListedTenant, ValuesOf<typeof signingKeyFields> {}

export interface Configuration {
  /** Settings by their file key, as text for the parser of the row. */
  readonly settings: ReadonlyMap<string, string>;
  readonly databases: readonly ListedDatabase[];
  readonly indexes: readonly ListedIndex[];
  /** The providers of the models that indexes may name. */
  readonly models: Models;
  readonly users: readonly ListedUser[];
  readonly adminToken: string | undefined;
  /** Where the file has the value of a path such as `store.databases[0].token`; undefined: there is no file. */
  readonly positionOf: ((path: string) => Position) | undefined;
}

/** The place of a value for people: `store.databases[0].token in larder.json:3`. */
export function placeIn(file: string, { positionOf }: Configuration, path: string): string {
  return positionOf === undefined ? `${path} in ${file}` : `${path} in ${file}:${positionOf(path).line}`;
}

export const emptyConfiguration: Configuration = {
  settings: new Map(),
  databases: [],
  indexes: [],
  models: new Map(),
  users: [],
  adminToken: undefined,
  positionOf: undefined,
};

/** True if a configuration has tokens or signing keys, so that others must not read its file. */
export function hasSecrets({ databases, indexes, users, adminToken }: Configuration): boolean {
  const isSecret = (tenant: ListedTenant & Partial<ListedUser>): boolean =>
    [tenant.token, tenant.readOnlyToken, tenant.currentSigningKey, tenant.nextSigningKey].some(
      (secret) => secret !== undefined,
    );
  return adminToken !== undefined || [...databases, ...indexes, ...users].some(isSecret);
}

/** Most databases, indexes or users that one file may list. */
export const TENANTS_MAX: number = ENTRIES_MAX;

/** Without files, variables and packages, to check a file apart from its machine. */
const emptyEnvironment: ProviderEnvironment = {
  readFile: (path) => {
    throw new BadValue(`there is no file ${path}`);
  },
  findVariable: () => undefined,
  hasPackage: () => false,
};

/**
 * Reads the text of a configuration file. `fileKeys` are the settings that it may contain. The configuration has the
 * valid parts.
 */
export function parseConfiguration(
  text: string,
  fileKeys: ReadonlySet<string>,
  environment: ProviderEnvironment = emptyEnvironment,
): { configuration: Configuration; problems: readonly Problem[] } {
  const { value: root, problems: textProblems, positionOf } = readConfigText(text);
  if (root === undefined) return { configuration: emptyConfiguration, problems: textProblems };
  const reader = new FieldReader();
  const settings = new Map<string, string>();
  const top = reader.object(root, "", [...fileKeys, ...Object.keys(configurationFields)]);
  fieldsAt(reader, configurationFields, { fields: top, path: "" })("$schema");
  for (const [key, value] of top) {
    if (!fileKeys.has(key)) continue;
    const settingText = reader.settingText(value, key);
    if (settingText !== undefined) settings.set(key, settingText);
  }
  const section = (name: string, rows: FieldRows) => reader.object(top.get(name), name, Object.keys(rows));
  const vector = section("vector", vectorFields);
  const models = readModels(reader, vector.get("models"), { path: "vector.models", environment });
  // The setting of the largest dimension is applied later.
  const rules = { models, environment, dimensionMax: DIMENSION_MAX };
  const configuration: Configuration = {
    settings,
    databases: readTenants(reader, section("store", storeFields).get("databases"), {
      path: "store.databases",
      read: readDatabase,
    }),
    indexes: readTenants(reader, vector.get("indexes"), {
      path: "vector.indexes",
      read: (each, value, path) => readIndex(each, value, { path, rules }),
    }),
    models,
    users: readTenants(reader, section("messaging", messagingFields).get("users"), {
      path: "messaging.users",
      read: readUser,
    }),
    adminToken: fieldsAt(reader, adminFields, { fields: section("admin", adminFields), path: "admin" })("token"),
    positionOf,
  };
  const problems = reader.found.map((each) => ({ position: positionOf(each.path), text: each.text }));
  return { configuration, problems: [...textProblems, ...problems] };
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

interface TenantPlace {
  readonly fields: Fields;
  readonly path: string;
  readonly rows?: typeof tenantFields;
}

/** Undefined without a name. Callers read the other fields anyway, so that every mistake in a row is reported. */
function readTenant(reader: FieldReader, { fields, path, rows = tenantFields }: TenantPlace): ListedTenant | undefined {
  const read = fieldsAt(reader, rows, { fields, path });
  const name = read("name");
  const token = read("token");
  const readOnlyToken = read("readOnlyToken");
  if (name === undefined) return undefined;
  return { name, path, ...(token && { token }), ...(readOnlyToken && { readOnlyToken }) };
}

function readDatabase(reader: FieldReader, value: unknown, path: string): ListedDatabase | undefined {
  const fields = reader.object(value, path, Object.keys(databaseFields));
  const tenant = readTenant(reader, { fields, path });
  const read = fieldsAt(reader, memoryFields, { fields, path });
  const policy = read("maxmemoryPolicy");
  const bytesMax = read("maxmemory");
  const memory = { ...(policy && { policy }), ...(bytesMax !== undefined && { bytesMax }) };
  if (tenant === undefined) return undefined;
  return Object.keys(memory).length === 0 ? tenant : { ...tenant, memory };
}

function readIndex(
  reader: FieldReader,
  value: unknown,
  { path, rules }: { path: string; rules: IndexRules },
): ListedIndex | undefined {
  const fields = reader.object(value, path, Object.keys(listedIndexFields));
  const tenant = readTenant(reader, { fields, path });
  const plan = readIndexPlan(reader, fields, { path, rules });
  return tenant && { ...tenant, plan };
}

function readUser(reader: FieldReader, value: unknown, path: string): ListedUser | undefined {
  const fields = reader.object(value, path, Object.keys(userFields));
  const tenant = readTenant(reader, { fields, path, rows: userTenantFields });
  const read = fieldsAt(reader, signingKeyFields, { fields, path });
  const currentSigningKey = read("currentSigningKey");
  const nextSigningKey = read("nextSigningKey");
  if (tenant === undefined) return undefined;
  return { ...tenant, ...(currentSigningKey && { currentSigningKey }), ...(nextSigningKey && { nextSigningKey }) };
}
