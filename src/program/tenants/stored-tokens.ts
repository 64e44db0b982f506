/**
 * `tokens.json` in the data directory: the generated secrets in plain text,
 * because their owner must be able to read them. Mode 0600, replaced as a whole
 * and durably.
 *
 *     { "format": 1, "adminToken": "…",
 *       "databases": [{ "name": "main", "madeBy": "start", "token": "…", "readOnlyToken": "…" }],
 *       "indexes":   [{ …, "definition": { "type": "DENSE", "dimension": 384, … } }],
 *       "users":     [{ …, "currentSigningKey": "sig_…", "nextSigningKey": "sig_…" }] }
 *
 * `madeBy` says why a tenant exists: tenants of a first start and of the admin
 * API exist because they are in this file; for a tenant of the configuration,
 * the entry only has the secrets that the configuration leaves out. A
 * `definition` has the form of the admin API, and is parsed where the models are
 * known (`tokens.ts`).
 */
import { parseJsonText } from "../../kernel/json/parse.ts";
import { TENANT_NAME } from "../settings/config.ts";

export const TOKENS_FILE = "tokens.json";

/** The newest format. Raised when an older reader could misread the new form: 2 may have definitions. */
export const TOKENS_FORMAT = 2;
const FORMAT_WITHOUT_DEFINITIONS = 1;

export interface StoredTenant {
  readonly name: string;
  readonly madeBy: "start" | "admin" | "configuration";
  /** Absent: set by the environment or the configuration. */
  readonly token?: string;
  readonly readOnlyToken?: string;
}

export interface StoredIndex extends StoredTenant {
  /** The definition of an index that was created at run time. */
  readonly definition?: object;
}

export interface StoredUser extends StoredTenant {
  readonly currentSigningKey?: string;
  readonly nextSigningKey?: string;
}

/** If a list is absent, the next start of `serve` creates its base tenant. */
export interface StoredTokens {
  readonly databases?: readonly StoredTenant[];
  readonly indexes?: readonly StoredIndex[];
  readonly users?: readonly StoredUser[];
  readonly adminToken?: string;
}

export class DamagedTokens extends Error {
  override name = "DamagedTokens";
}

/** Parses the file's text. Throws `DamagedTokens`, whose text describes the problem and never shows a secret. */
export function parseStoredTokens(text: string): StoredTokens {
  let value: unknown;
  try {
    value = parseJsonText(text);
  } catch {
    throw new DamagedTokens("it is not JSON");
  }
  if (!isObject(value)) throw new DamagedTokens("it is not an object");
  const format = value["format"];
  if (typeof format === "number" && format > TOKENS_FORMAT) {
    throw new DamagedTokens(
      `its format ${format} is newer than format ${TOKENS_FORMAT} of this version; use a newer larder`,
    );
  }
  if (format !== FORMAT_WITHOUT_DEFINITIONS && format !== TOKENS_FORMAT)
    throw new DamagedTokens("its format is not stated");
  return {
    ...readList(value, "databases"),
    ...readList(value, "indexes"),
    ...readList(value, "users"),
    ...(value["adminToken"] !== undefined && { adminToken: readText(value, "adminToken") }),
  };
}

export function printStoredTokens(stored: StoredTokens): string {
  const hasDefinitions = stored.indexes?.some(({ definition }) => definition !== undefined) === true;
  const format = hasDefinitions ? TOKENS_FORMAT : FORMAT_WITHOUT_DEFINITIONS;
  return `${JSON.stringify({ format, ...stored }, null, 2)}\n`;
}

const SECRET_FIELDS = ["token", "readOnlyToken", "currentSigningKey", "nextSigningKey"] as const;

function readList(value: Fields, list: string): Record<string, readonly (StoredUser & StoredIndex)[]> {
  const entries = value[list];
  if (entries === undefined) return {};
  if (!Array.isArray(entries)) throw new DamagedTokens(`${list} is not an array`);
  return { [list]: entries.map((entry, index) => readEntry(entry, `${list}[${index}]`)) };
}

function readEntry(entry: unknown, path: string): StoredUser & StoredIndex {
  if (!isObject(entry)) throw new DamagedTokens(`${path} is not an object`);
  const name = readText(entry, "name", path);
  const madeBy = entry["madeBy"];
  if (!TENANT_NAME.test(name)) throw new DamagedTokens(`${path}.name is not a name`);
  if (madeBy !== "start" && madeBy !== "admin" && madeBy !== "configuration") {
    throw new DamagedTokens(`${path}.madeBy is not start, admin or configuration`);
  }
  const secrets = SECRET_FIELDS.filter((field) => entry[field] !== undefined).map((field) => [
    field,
    readText(entry, field, path),
  ]);
  const { definition } = entry;
  if (definition !== undefined && !isObject(definition)) throw new DamagedTokens(`${path}.definition is not an object`);
  return { name, madeBy, ...Object.fromEntries(secrets), ...(definition && { definition }) };
}

type Fields = Readonly<Record<string, unknown>>;

function readText(fields: Fields, key: string, path = ""): string {
  const text = fields[key];
  if (typeof text !== "string" || text === "")
    throw new DamagedTokens(`${path === "" ? key : `${path}.${key}`} is not a string`);
  return text;
}

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
