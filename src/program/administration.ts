/**
 * Databases at run time: what the admin API does. One change at a time.
 *
 * (1) An answer is sent when the change is durable and the store obeys it.
 * (2) A new token is durable before it opens anything; a database is emptied
 *     and closed before its tokens are forgotten. So a crash in between leaves
 *     either the old state or a database that nobody was told of.
 * (3) What the configuration or the environment decides is changed there.
 */

import { TENANT_NAME, TENANT_NAME_RULE, TENANTS_MAX } from "../config.ts";
import type { Administration, DatabaseFacts, DatabaseTokens } from "../edge/admin-routes.ts";
import {
  databaseExists,
  databaseHasOldData,
  databaseMissing,
  databaseNameMalformed,
  databaseNotOurs,
  tooManyDatabases,
} from "../edge/errors.ts";
import type { AreaDoor, AreaTenant } from "./area.ts";
import type { KeptTenant, KeptTokens } from "./kept-tokens.ts";
import { generateToken, type Secret, type Tenant } from "./tokens.ts";

export interface DatabasesOptions {
  readonly tenants: readonly Tenant[];
  readonly kept: KeptTokens;
  /** Replaces tokens.json durably. */
  readonly keep: (kept: KeptTokens) => Promise<void>;
  readonly store: Pick<AreaDoor, "setTokens" | "dropTenant" | "tenantNames">;
}

type DatabaseCalls = Pick<Administration, "listDatabases" | "createDatabase" | "deleteDatabase" | "resetPassword">;

export class Databases implements DatabaseCalls {
  readonly #options: DatabasesOptions;
  readonly #tenants: Map<string, Tenant>;
  #kept: KeptTokens;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: DatabasesOptions) {
    this.#options = options;
    this.#tenants = new Map(options.tenants.map((tenant) => [tenant.name, tenant]));
    this.#kept = options.kept;
  }

  listDatabases(): Promise<readonly DatabaseFacts[]> {
    return this.#inTurn(async () => {
      const listed = [...this.#tenants.values()].map((tenant) => ({ name: tenant.name, source: sourceOf(tenant) }));
      const unlisted = (await this.#options.store.tenantNames()).filter((name) => !this.#tenants.has(name));
      return [...listed, ...unlisted.map((name) => ({ name, source: "unlisted" }))];
    });
  }

  createDatabase(name: string): Promise<DatabaseTokens> {
    return this.#inTurn(async () => {
      if (!TENANT_NAME.test(name)) throw databaseNameMalformed(TENANT_NAME_RULE);
      if (this.#tenants.has(name)) throw databaseExists(name);
      if (this.#tenants.size >= TENANTS_MAX) throw tooManyDatabases(TENANTS_MAX);
      if ((await this.#options.store.tenantNames()).includes(name)) throw databaseHasOldData(name);
      return this.#giveTokens(name, "admin");
    });
  }

  resetPassword(name: string): Promise<DatabaseTokens> {
    return this.#inTurn(async () => {
      const tenant = this.#tenants.get(name);
      if (tenant === undefined) throw databaseMissing(name);
      const place = givenAt(tenant.token) ?? givenAt(tenant.readOnlyToken);
      if (place !== undefined) throw databaseNotOurs(name, place); // keeps (3)
      const entry = this.#kept.databases?.find((each) => each.name === name);
      return this.#giveTokens(name, entry?.madeBy ?? "admin", tenant.listedAt);
    });
  }

  deleteDatabase(name: string): Promise<void> {
    return this.#inTurn(async () => {
      const tenant = this.#tenants.get(name);
      const hasData = (await this.#options.store.tenantNames()).includes(name);
      if (tenant === undefined && !hasData) throw databaseMissing(name);
      const place = tenant?.listedAt ?? (tenant && (givenAt(tenant.token) ?? givenAt(tenant.readOnlyToken)));
      if (place !== undefined) throw databaseNotOurs(name, place); // keeps (3)
      await this.#options.store.dropTenant(name); // keeps (2)
      this.#tenants.delete(name);
      await this.#keep((this.#kept.databases ?? []).filter((entry) => entry.name !== name));
    });
  }

  async #giveTokens(name: string, madeBy: KeptTenant["madeBy"], listedAt?: string): Promise<DatabaseTokens> {
    const tokens = { token: generateToken(), readOnlyToken: generateToken() };
    const others = (this.#kept.databases ?? []).filter((entry) => entry.name !== name);
    await this.#keep([...others, { name, madeBy, ...tokens }]); // keeps (2)
    const tenant: Tenant = {
      name,
      token: { value: tokens.token, from: { kind: "kept" } },
      readOnlyToken: { value: tokens.readOnlyToken, from: { kind: "kept" } },
      listedAt,
    };
    await this.#options.store.setTokens(areaTenantOf(tenant));
    this.#tenants.set(name, tenant);
    return { name, ...tokens };
  }

  async #keep(databases: readonly KeptTenant[]): Promise<void> {
    const kept = { ...this.#kept, databases };
    await this.#options.keep(kept);
    this.#kept = kept;
  }

  /** One call behind the other, whatever became of the one before. */
  #inTurn<Result>(call: () => Promise<Result>): Promise<Result> {
    const result = this.#last.then(call);
    this.#last = result.catch(() => {});
    return result;
  }
}

/** A tenant as its area needs it. */
export function areaTenantOf({ name, token, readOnlyToken }: Tenant): AreaTenant {
  return {
    name,
    tokens: [
      { token: token.value, access: "standard" },
      { token: readOnlyToken.value, access: "read-only" },
    ],
  };
}

function sourceOf(tenant: Tenant): string {
  if (tenant.listedAt !== undefined) return "configuration";
  const { kind } = tenant.token.from;
  if (kind === "well-known") return "larder dev";
  return kind === "given" ? "environment" : "data directory";
}

/** Where the operator gave this secret, and alone can change it. */
function givenAt(secret: Secret): string | undefined {
  return secret.from.kind === "given" ? secret.from.place : undefined;
}
