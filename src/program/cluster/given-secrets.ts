/**
 * In a cluster each node needs the same tokens and keys, or clients would be
 * refused after a takeover. A generated secret is in the data directory of one
 * node only, so every one of a tenant has to be given.
 */
import type { Secret, Tenants } from "../tenants/tokens.ts";

type SecretField = "token" | "readOnlyToken" | "currentSigningKey" | "nextSigningKey";

const FIELDS: readonly SecretField[] = ["token", "readOnlyToken", "currentSigningKey", "nextSigningKey"];

const KINDS = [
  { list: "databases", noun: "database", prefix: "LARDER_STORE_" },
  { list: "indexes", noun: "index", prefix: "LARDER_VECTOR_" },
  { list: "users", noun: "messaging user", prefix: "LARDER_MESSAGING_" },
] as const;

/** The variables of the secrets of `main`; the prefix of tokens is that of their kind. */
const VARIABLES: Readonly<Record<SecretField, string>> = {
  token: "TOKEN",
  readOnlyToken: "READ_ONLY_TOKEN",
  currentSigningKey: "LARDER_CURRENT_SIGNING_KEY",
  nextSigningKey: "LARDER_NEXT_SIGNING_KEY",
};

/** One sentence for each tenant with secrets that were generated. The admin token is of a node, and may be. */
export function ungivenSecrets(tenants: Tenants): readonly string[] {
  return KINDS.flatMap(({ list, noun, prefix }) =>
    tenants[list].flatMap((tenant) => {
      const secrets: Partial<Record<SecretField, Secret>> = tenant;
      const missing = FIELDS.filter((field) => secrets[field]?.from.kind === "stored");
      if (missing.length === 0) return [];
      const variableOf = (field: SecretField): string =>
        VARIABLES[field].startsWith("LARDER_") ? VARIABLES[field] : `${prefix}${VARIABLES[field]}`;
      const remedy =
        tenant.name === "main"
          ? `set ${missing.map(variableOf).join(" and ")} on every node, or list it with its secrets in the configuration file`
          : `give ${missing.join(" and ")} in the configuration file of every node`;
      return [`The ${noun} ${tenant.name} has secrets that only this node would know: ${remedy}`];
    }),
  );
}
