/**
 * Changes of databases, indexes and users at run time, for the admin API. One
 * change at a time.
 *
 * (1) A response is sent when the change is durable and in effect in the area.
 * (2) A new token is durable before it is valid; a tenant is emptied and closed
 *     before its tokens are removed. So a crash in between leaves either the old
 *     state or a tenant that was never reported to a caller.
 * (3) Tenants and secrets of the configuration or the environment can only be
 *     changed there.
 */

import {
  type Administration,
  type ChangeReach,
  type TenantFacts,
  type TenantKind,
  type TenantTokens,
  tenantKinds,
} from "../../edge/admin/routes.ts";
import {
  shardNeedsCluster,
  tenantDescriptionRefused,
  tenantExists,
  tenantHasOldData,
  tenantMissing,
  tenantNameMalformed,
  tenantNotOurs,
  tooManyTenants,
} from "../../edge/errors.ts";
import type { AreaData, AreaName } from "../areas/area.ts";
import type { AreaTenant } from "../areas/area-tenant.ts";
import { TENANT_NAME, TENANT_NAME_RULE, TENANTS_MAX } from "../settings/config.ts";
import { FieldReader } from "../settings/field-reader.ts";
import {
  describeIndex,
  INDEX_KEYS,
  type IndexPlan,
  type IndexRules,
  readIndexPlan,
} from "../settings/index-settings.ts";
import type { StoredIndex, StoredTenant, StoredTokens } from "./stored-tokens.ts";
import { type IndexTenant, type Secret, secretsOfNew, type Tenant, type Tenants, type UserTenant } from "./tokens.ts";

type AreaTenants = Pick<AreaData, "setTokens" | "dropTenant" | "tenantNames" | "tenantMemory">;

export interface TenantAdministrationOptions {
  readonly tenants: Readonly<Record<TenantKind, readonly AnyTenant[]>>;
  readonly stored: StoredTokens;
  /** Replaces tokens.json durably. */
  readonly store: (stored: StoredTokens) => Promise<void>;
  /** The areas of the tenants. */
  readonly areas: Readonly<Record<TenantKind, AreaTenants>>;
  /** The rules for a new index. */
  readonly indexRules: IndexRules;
}

type TenantCalls = Pick<
  Administration,
  "listTenants" | "knownTenants" | "createTenant" | "deleteTenant" | "resetPassword"
>;

/** The noun of each kind, for texts. */
export const tenantNouns = {
  databases: "database",
  indexes: "index",
  users: "user",
} as const satisfies Readonly<Record<TenantKind, string>>;

/** The area of each kind. */
export const areaOfKind = {
  databases: "store",
  indexes: "vector",
  users: "messaging",
} as const satisfies Readonly<Record<TenantKind, AreaName>>;

export const kindOfArea: Readonly<Record<AreaName, TenantKind>> = {
  store: "databases",
  vector: "indexes",
  messaging: "users",
};

type AnyTenant = Tenant | IndexTenant | UserTenant;

/** The description of a new tenant beyond its name, for the tenant and for tokens.json. */
export interface Description {
  readonly tenant: { readonly index?: IndexPlan };
  readonly stored: Pick<StoredIndex, "definition">;
}

export class TenantAdministration implements TenantCalls {
  readonly #options: TenantAdministrationOptions;
  readonly #tenants: Readonly<Record<TenantKind, Map<string, AnyTenant>>>;
  #stored: StoredTokens;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: TenantAdministrationOptions) {
    const byName = (kind: TenantKind) => new Map(options.tenants[kind].map((tenant) => [tenant.name, tenant]));
    this.#options = options;
    this.#tenants = Object.fromEntries(tenantKinds.map((kind) => [kind, byName(kind)])) as Record<
      TenantKind,
      Map<string, AnyTenant>
    >;
    this.#stored = options.stored;
  }

  listTenants(kind: TenantKind): Promise<readonly TenantFacts[]> {
    return this.#inTurn(async () => {
      const tenants = this.#tenants[kind];
      const stored = await this.#options.areas[kind].tenantMemory();
      const memoryOf = new Map(stored.map(({ name, memoryBytes }) => [name, { memoryBytes }]));
      const listed = this.knownTenants(kind).map((facts) => ({ ...facts, ...memoryOf.get(facts.name) }));
      const unlisted = stored.filter(({ name }) => !tenants.has(name));
      return [...listed, ...unlisted.map((facts) => ({ ...facts, source: "unlisted" }))];
    });
  }

  /** Without the tenants that only have data. */
  knownTenants(kind: TenantKind): readonly TenantFacts[] {
    return [...this.#tenants[kind].values()].map((tenant) => ({
      name: tenant.name,
      source: sourceOf(tenant),
      ...("index" in tenant && describeIndex(tenant.index)),
    }));
  }

  /** A tenant with its tokens. */
  tenantOf(kind: TenantKind, name: string): AreaTenant | undefined {
    const tenant = this.#tenants[kind].get(name);
    return tenant && areaTenantOf(tenant);
  }

  /** The tenants with this name: at most one of each kind. */
  tenantsNamed(name: string): Pick<Tenants, TenantKind> {
    const { databases, indexes, users } = this.#tenants;
    return {
      databases: [databases.get(name)].filter((tenant) => tenant !== undefined),
      indexes: [indexes.get(name)].filter((tenant) => tenant !== undefined && "index" in tenant),
      users: [users.get(name)].filter((tenant) => tenant !== undefined && "currentSigningKey" in tenant),
    };
  }

  get indexRules(): IndexRules {
    return this.#options.indexRules;
  }

  createTenant(kind: TenantKind, name: string, description = {}): Promise<TenantTokens> {
    return this.#inTurn(async () => {
      const tenants = this.#tenants[kind];
      if (!TENANT_NAME.test(name)) throw tenantNameMalformed(TENANT_NAME_RULE);
      if ("shard" in description) throw shardNeedsCluster;
      const { tenant, stored } = describeNewTenant(kind, description, this.indexRules);
      if (tenants.has(name)) throw tenantExists(tenantNouns[kind], name);
      if (tenants.size >= TENANTS_MAX) throw tooManyTenants(kind, TENANTS_MAX);
      if ((await this.#options.areas[kind].tenantNames()).includes(name))
        throw tenantHasOldData(tenantNouns[kind], name);
      return this.#giveTokens(kind, { name, madeBy: "admin", ...stored }, { made: tenant });
    });
  }

  resetPassword(kind: TenantKind, name: string): Promise<TenantTokens> {
    return this.#inTurn(async () => {
      const tenant = this.#tenants[kind].get(name);
      if (tenant === undefined) throw tenantMissing(tenantNouns[kind], name);
      const place = givenAt(tenant.token) ?? givenAt(tenant.readOnlyToken);
      if (place !== undefined) throw tenantNotOurs(tenantNouns[kind], name, place); // keeps (3)
      // An area that does not serve yet would fail below, when tokens.json no longer has the old tokens.
      await this.#options.areas[kind].tenantNames();
      const entry = this.#stored[kind]?.find((each) => each.name === name);
      return this.#giveTokens(kind, { madeBy: "admin", ...entry, name }, { before: tenant });
    });
  }

  deleteTenant(kind: TenantKind, name: string): Promise<ChangeReach> {
    return this.#inTurn(async () => {
      const tenant = this.#tenants[kind].get(name);
      const place = tenant?.listedAt ?? (tenant && (givenAt(tenant.token) ?? givenAt(tenant.readOnlyToken)));
      if (place !== undefined) throw tenantNotOurs(tenantNouns[kind], name, place); // keeps (3)
      const hasData = (await this.#options.areas[kind].tenantNames()).includes(name);
      if (tenant === undefined && !hasData) throw tenantMissing(tenantNouns[kind], name);
      await this.#options.areas[kind].dropTenant(name); // keeps (2)
      this.#tenants[kind].delete(name);
      await this.#keep(
        kind,
        (this.#stored[kind] ?? []).filter((entry) => entry.name !== name),
      );
      return {};
    });
  }

  /** Runs `work` with the stored tokens; no tenant changes meanwhile. */
  whileUnchanged<Result>(work: (stored: StoredTokens) => Promise<Result>): Promise<Result> {
    return this.#inTurn(() => work(this.#stored));
  }

  /** `before`: the tenant whose tokens are replaced; `made`: the description of a new tenant. */
  async #giveTokens(
    kind: TenantKind,
    entry: StoredTenant,
    { before, made = {} }: { before?: AnyTenant; made?: Description["tenant"] },
  ): Promise<TenantTokens> {
    const { name } = entry;
    const { token, readOnlyToken, ...others } = secretsOfNew(kind, name);
    // A user keeps its signing keys.
    const stored = { ...entry, token, readOnlyToken, ...(before === undefined && others) };
    await this.#keep(kind, [...(this.#stored[kind] ?? []).filter((each) => each.name !== name), stored]); // keeps (2)
    const tenant: AnyTenant = {
      ...(before ?? { ...secretsOf(others), ...made }),
      name,
      token: { value: token, from: { kind: "stored" } },
      readOnlyToken: { value: readOnlyToken, from: { kind: "stored" } },
      listedAt: before?.listedAt,
    };
    await this.#options.areas[kind].setTokens(areaTenantOf(tenant));
    this.#tenants[kind].set(name, tenant);
    return { name, token, readOnlyToken };
  }

  async #keep(kind: TenantKind, entries: readonly StoredTenant[]): Promise<void> {
    const stored = { ...this.#stored, [kind]: entries };
    await this.#options.store(stored);
    this.#stored = stored;
  }

  /** Runs one call after the other, even if the previous one failed. */
  #inTurn<Result>(call: () => Promise<Result>): Promise<Result> {
    const result = this.#last.then(call);
    this.#last = result.catch(() => {});
    return result;
  }
}

/** Readers for the kinds with a description. They throw a `RequestFailure` that names the field. */
const describers: Readonly<
  Partial<Record<TenantKind, (given: Readonly<Record<string, unknown>>, rules: IndexRules) => Description>>
> = { indexes: describeNewIndex };

/** Reads the fields of a new tenant besides its name. Throws a `RequestFailure` that names the field. */
export function describeNewTenant(
  kind: TenantKind,
  given: Readonly<Record<string, unknown>>,
  rules: IndexRules,
): Description {
  return describers[kind]?.(given, rules) ?? { tenant: {}, stored: {} };
}

function describeNewIndex(given: Readonly<Record<string, unknown>>, rules: IndexRules): Description {
  if (rules.undescribed !== undefined && Object.keys(given).length === 0)
    return { tenant: { index: rules.undescribed }, stored: {} }; // As a start reads an index without a definition.
  const reader = new FieldReader();
  const fields = reader.object(given, "", INDEX_KEYS);
  const index = readIndexPlan(reader, fields, { path: "", rules });
  if (reader.problems.length > 0) throw tenantDescriptionRefused(tenantNouns.indexes, reader.problems);
  return { tenant: { index }, stored: { definition: describeIndex(index) } };
}

/** Values as secrets that tokens.json stores. */
function secretsOf(values: Readonly<Record<string, string>>): Readonly<Record<string, Secret>> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, { value, from: { kind: "stored" } }]));
}

/** A tenant in the form that its area needs. */
export function areaTenantOf(tenant: AnyTenant): AreaTenant {
  const { name, token, readOnlyToken } = tenant;
  return {
    name,
    ...("currentSigningKey" in tenant && {
      signingKeys: { current: tenant.currentSigningKey.value, next: tenant.nextSigningKey.value },
    }),
    ...("index" in tenant && { index: tenant.index }),
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

/** The place where the operator set this secret, and where it must be changed. */
function givenAt(secret: Secret): string | undefined {
  return secret.from.kind === "given" ? secret.from.place : undefined;
}
