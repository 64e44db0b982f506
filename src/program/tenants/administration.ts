/**
 * Databases, indexes and users at run time: what the admin API does. One change
 * at a time.
 *
 * (1) An answer is sent when the change is durable and the area obeys it.
 * (2) A new token is durable before it opens anything; a tenant is emptied and
 *     closed before its tokens are forgotten. So a crash in between leaves
 *     either the old state or a tenant that nobody was told of.
 * (3) What the configuration or the environment decides is changed there.
 */

import {
  type Administration,
  type TenantFacts,
  type TenantKind,
  type TenantTokens,
  tenantKinds,
} from "../../edge/admin/routes.ts";
import {
  tenantDescriptionRefused,
  tenantExists,
  tenantHasOldData,
  tenantMissing,
  tenantNameMalformed,
  tenantNotOurs,
  tooManyTenants,
} from "../../edge/errors.ts";
import type { AreaData, AreaTenant } from "../areas/area.ts";
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
import { type IndexTenant, type Secret, secretsOfNew, type Tenant, type UserTenant } from "./tokens.ts";

type AreaTenants = Pick<AreaData, "setTokens" | "dropTenant" | "tenantNames">;

export interface TenantAdministrationOptions {
  readonly tenants: Readonly<Record<TenantKind, readonly AnyTenant[]>>;
  readonly stored: StoredTokens;
  /** Replaces tokens.json durably. */
  readonly store: (kept: StoredTokens) => Promise<void>;
  /** The areas that the tenants are of. */
  readonly areas: Readonly<Record<TenantKind, AreaTenants>>;
  /** What a new index may have. */
  readonly indexRules: IndexRules;
}

type TenantCalls = Pick<Administration, "listTenants" | "createTenant" | "deleteTenant" | "resetPassword">;

/** One of a kind, for texts. */
const nouns: Readonly<Record<TenantKind, string>> = { databases: "database", indexes: "index", users: "user" };

type AnyTenant = Tenant | IndexTenant | UserTenant;

/** What is said of a new tenant besides its name, as its tenant and tokens.json have it. */
interface Description {
  readonly tenant: { readonly index?: IndexPlan };
  readonly kept: Pick<StoredIndex, "definition">;
}

export class TenantAdministration implements TenantCalls {
  readonly #options: TenantAdministrationOptions;
  readonly #tenants: Readonly<Record<TenantKind, Map<string, AnyTenant>>>;
  /** How kinds that are more than a name are read. A `RequestFailure` that is thrown names the field. */
  readonly #describers: Readonly<
    Partial<Record<TenantKind, (given: Readonly<Record<string, unknown>>) => Description>>
  > = { indexes: (given) => this.#describeIndex(given) };
  #kept: StoredTokens;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: TenantAdministrationOptions) {
    const byName = (kind: TenantKind) => new Map(options.tenants[kind].map((tenant) => [tenant.name, tenant]));
    this.#options = options;
    this.#tenants = Object.fromEntries(tenantKinds.map((kind) => [kind, byName(kind)])) as Record<
      TenantKind,
      Map<string, AnyTenant>
    >;
    this.#kept = options.stored;
  }

  listTenants(kind: TenantKind): Promise<readonly TenantFacts[]> {
    return this.#inTurn(async () => {
      const tenants = this.#tenants[kind];
      const listed = [...tenants.values()].map((tenant) => ({
        name: tenant.name,
        source: sourceOf(tenant),
        ...("index" in tenant && describeIndex(tenant.index)),
      }));
      const unlisted = (await this.#options.areas[kind].tenantNames()).filter((name) => !tenants.has(name));
      return [...listed, ...unlisted.map((name) => ({ name, source: "unlisted" }))];
    });
  }

  createTenant(kind: TenantKind, name: string, description = {}): Promise<TenantTokens> {
    return this.#inTurn(async () => {
      const tenants = this.#tenants[kind];
      if (!TENANT_NAME.test(name)) throw tenantNameMalformed(TENANT_NAME_RULE);
      const { tenant, kept } = this.#describers[kind]?.(description) ?? { tenant: {}, kept: {} };
      if (tenants.has(name)) throw tenantExists(nouns[kind], name);
      if (tenants.size >= TENANTS_MAX) throw tooManyTenants(kind, TENANTS_MAX);
      if ((await this.#options.areas[kind].tenantNames()).includes(name)) throw tenantHasOldData(nouns[kind], name);
      return this.#giveTokens(kind, { name, madeBy: "admin", ...kept }, { made: tenant });
    });
  }

  resetPassword(kind: TenantKind, name: string): Promise<TenantTokens> {
    return this.#inTurn(async () => {
      const tenant = this.#tenants[kind].get(name);
      if (tenant === undefined) throw tenantMissing(nouns[kind], name);
      const place = givenAt(tenant.token) ?? givenAt(tenant.readOnlyToken);
      if (place !== undefined) throw tenantNotOurs(nouns[kind], name, place); // keeps (3)
      // An area that does not serve yet would say no below, when the old tokens are not in tokens.json any more.
      await this.#options.areas[kind].tenantNames();
      const entry = this.#kept[kind]?.find((each) => each.name === name);
      return this.#giveTokens(kind, { madeBy: "admin", ...entry, name }, { before: tenant });
    });
  }

  deleteTenant(kind: TenantKind, name: string): Promise<void> {
    return this.#inTurn(async () => {
      const tenant = this.#tenants[kind].get(name);
      const hasData = (await this.#options.areas[kind].tenantNames()).includes(name);
      if (tenant === undefined && !hasData) throw tenantMissing(nouns[kind], name);
      const place = tenant?.listedAt ?? (tenant && (givenAt(tenant.token) ?? givenAt(tenant.readOnlyToken)));
      if (place !== undefined) throw tenantNotOurs(nouns[kind], name, place); // keeps (3)
      await this.#options.areas[kind].dropTenant(name); // keeps (2)
      this.#tenants[kind].delete(name);
      await this.#keep(
        kind,
        (this.#kept[kind] ?? []).filter((entry) => entry.name !== name),
      );
    });
  }

  /** Runs `work` with what is kept of the tenants; none of them changes meanwhile. */
  whileUnchanged<Result>(work: (kept: StoredTokens) => Promise<Result>): Promise<Result> {
    return this.#inTurn(() => work(this.#kept));
  }

  #describeIndex(given: Readonly<Record<string, unknown>>): Description {
    const reader = new FieldReader();
    const fields = reader.object(given, "", INDEX_KEYS);
    const index = readIndexPlan(reader, fields, { path: "", rules: this.#options.indexRules });
    if (reader.problems.length > 0) throw tenantDescriptionRefused(nouns.indexes, reader.problems);
    return { tenant: { index }, kept: { definition: describeIndex(index) } };
  }

  /** `before`: the tenant whose tokens are replaced; else what a new one is `made` of. */
  async #giveTokens(
    kind: TenantKind,
    entry: StoredTenant,
    { before, made = {} }: { before?: AnyTenant; made?: Description["tenant"] },
  ): Promise<TenantTokens> {
    const { name } = entry;
    const { token, readOnlyToken, ...others } = secretsOfNew(kind, name);
    // A user keeps the keys that its deliveries are signed with.
    const kept = { ...entry, token, readOnlyToken, ...(before === undefined && others) };
    await this.#keep(kind, [...(this.#kept[kind] ?? []).filter((each) => each.name !== name), kept]); // keeps (2)
    const tenant: AnyTenant = {
      ...(before ?? { ...secretsOf(others), ...made }),
      name,
      token: { value: token, from: { kind: "kept" } },
      readOnlyToken: { value: readOnlyToken, from: { kind: "kept" } },
      listedAt: before?.listedAt,
    };
    await this.#options.areas[kind].setTokens(areaTenantOf(tenant));
    this.#tenants[kind].set(name, tenant);
    return { name, token, readOnlyToken };
  }

  async #keep(kind: TenantKind, entries: readonly StoredTenant[]): Promise<void> {
    const kept = { ...this.#kept, [kind]: entries };
    await this.#options.store(kept);
    this.#kept = kept;
  }

  /** One call after the other, whatever became of the one before. */
  #inTurn<Result>(call: () => Promise<Result>): Promise<Result> {
    const result = this.#last.then(call);
    this.#last = result.catch(() => {});
    return result;
  }
}

/** Texts as secrets that tokens.json keeps. */
function secretsOf(values: Readonly<Record<string, string>>): Readonly<Record<string, Secret>> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, { value, from: { kind: "kept" } }]));
}

/** A tenant as its area needs it. */
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

/** Where the operator gave this secret, and alone can change it. */
function givenAt(secret: Secret): string | undefined {
  return secret.from.kind === "given" ? secret.from.place : undefined;
}
