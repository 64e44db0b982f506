/**
 * The output of `larder serve` and `larder dev` on stdout: the variables that
 * the official clients read, ready to be pasted into a shell or an `.env` file.
 * Every other line is a comment. One of them contains `running at`, from which
 * the official messaging client knows that a development server is up.
 *
 * A generated secret is printed once, at the start that generated it. A secret
 * from the settings is never printed: its owner has it, and logs live long.
 */
import { PACKAGE_NAME } from "../facts.ts";
import type { Secret, Tenants } from "../tenants/tokens.ts";

/** The base addresses, without a slash at the end. */
export interface Addresses {
  readonly store: string;
  readonly vector: string;
  readonly messaging: string;
  readonly admin: string;
  /** Host and port of the RESP port; absent: the store does not speak RESP. */
  readonly resp?: { readonly host: string; readonly isEncrypted: boolean };
}

export type EnvironmentBlock = Readonly<Record<string, string>>;

interface Line {
  readonly name: string;
  readonly value: string;
  /** Absent for addresses. A value may be an address with the secret in it. */
  readonly secret?: Secret;
}

/** The variables of the first tenants, as an object. Variables of an area without a tenant are left out. */
export function environmentOf(addresses: Addresses, tenants: BlockTenants): EnvironmentBlock {
  return Object.fromEntries(linesOf(addresses, tenants).map(({ name, value }) => [name, value]));
}

/** The secrets in the block. */
export function secretsInBlock(addresses: Addresses, tenants: BlockTenants): readonly Secret[] {
  return linesOf(addresses, tenants).flatMap(({ secret }) => (secret === undefined ? [] : [secret]));
}

type BlockTenants = Pick<Tenants, "databases" | "indexes" | "users">;

export interface BlockOptions {
  readonly version: string;
  readonly addresses: Addresses;
  readonly tenants: Tenants;
  /** Whether this start generated the secrets. */
  readonly isFirstStart: boolean;
  /** A development server prints generated secrets at each start, of every tenant. */
  readonly isDev?: boolean;
  /** The file of the stored secrets; undefined: they are only in memory. */
  readonly tokensPath: string | undefined;
  /** The address of the console; absent: the server has no console. */
  readonly consoleUrl?: string | undefined;
  /** Further facts, one per line. */
  readonly remarks: readonly string[];
}

export function printBlock(options: BlockOptions): string {
  const { version, addresses, tenants, tokensPath } = options;
  const { resp } = addresses;
  const respPlace =
    resp === undefined ? "" : `, ${resp.isEncrypted ? "rediss" : "redis"}://${resp.host} (store over RESP)`;
  const lines = [
    `# ${PACKAGE_NAME} ${version} running at ${addresses.store} (store), ${addresses.vector} (vector), ${addresses.messaging} (messaging)${respPlace}`,
    ...options.remarks.map((remark) => `# ${remark}`),
  ];
  const printed = (secret: Secret): string | undefined => {
    if (secret.from.kind === "given") return `set by ${secret.from.place}`;
    const isShown = options.isFirstStart || options.isDev === true || tokensPath === undefined;
    if (secret.from.kind === "well-known" || isShown) return undefined;
    return `in ${tokensPath}`;
  };
  for (const { name, value, secret } of linesOf(addresses, tenants)) {
    const elsewhere = secret === undefined ? undefined : printed(secret);
    lines.push(elsewhere === undefined ? `${name}="${value}"` : `# ${name}: ${elsewhere}`);
  }
  if (options.isDev === true) lines.push(...otherTenantLines(tenants, printed));
  const elsewhere = printed(tenants.adminToken);
  lines.push(`# admin: ${addresses.admin} token ${elsewhere ?? tenants.adminToken.value}`);
  if (options.consoleUrl !== undefined) lines.push(`# console: ${options.consoleUrl}`);
  return `${lines.join("\n")}\n`;
}

const nouns = { databases: "database", indexes: "index", users: "user" } as const;

/** The variables have the first tenant of each kind; a comment has the tokens of each other one. */
function otherTenantLines(tenants: BlockTenants, printed: (secret: Secret) => string | undefined): readonly string[] {
  return (["databases", "indexes", "users"] as const).flatMap((kind) =>
    tenants[kind].slice(1).map(({ name, token, readOnlyToken }) => {
      const [standard, readOnly] = [token, readOnlyToken].map((secret) => printed(secret) ?? secret.value);
      return `# ${nouns[kind]} ${name}: token ${standard}, read-only token ${readOnly}`;
    }),
  );
}

function linesOf(addresses: Addresses, tenants: BlockTenants): readonly Line[] {
  const [database] = tenants.databases;
  const [index] = tenants.indexes;
  const [user] = tenants.users;
  const lines: Line[] = [];
  const add = (name: string, value: Secret | string): void => {
    lines.push(typeof value === "string" ? { name, value } : { name, value: value.value, secret: value });
  };
  if (database !== undefined) {
    add("UPSTASH_REDIS_REST_URL", addresses.store);
    add("UPSTASH_REDIS_REST_TOKEN", database.token);
    add("KV_REST_API_URL", addresses.store);
    add("KV_REST_API_TOKEN", database.token);
    add("KV_REST_API_READ_ONLY_TOKEN", database.readOnlyToken);
    const { resp } = addresses;
    if (resp !== undefined) {
      const scheme = resp.isEncrypted ? "rediss" : "redis";
      const password = encodeURIComponent(database.token.value);
      lines.push({ name: "REDIS_URL", value: `${scheme}://default:${password}@${resp.host}`, secret: database.token });
    }
  }
  if (index !== undefined) {
    add("UPSTASH_VECTOR_REST_URL", addresses.vector);
    add("UPSTASH_VECTOR_REST_TOKEN", index.token);
    add("UPSTASH_VECTOR_REST_READONLY_TOKEN", index.readOnlyToken);
  }
  if (user !== undefined) {
    add("QSTASH_URL", addresses.messaging);
    add("QSTASH_TOKEN", user.token);
    add("QSTASH_CURRENT_SIGNING_KEY", user.currentSigningKey);
    add("QSTASH_NEXT_SIGNING_KEY", user.nextSigningKey);
  }
  return lines;
}
