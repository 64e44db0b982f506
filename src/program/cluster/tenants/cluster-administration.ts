/**
 * Changes of databases, indexes and users of a cluster at run time, for the admin
 * API of each node.
 *
 * (1) A change is a transaction in PostgreSQL. It is answered when every node that
 *     is not dead has reported it, or after a time, and the answer says which nodes
 *     have not.
 * (2) Tenants of the configuration, and their data, are changed as on a single
 *     server; a name that is in the tables for one of them is taken.
 */
import type { Administration, ChangeReach, TenantFacts, TenantKind, TenantTokens } from "../../../edge/admin/routes.ts";
import {
  clusterDoesNotChange,
  clusterHasOtherKey,
  clusterKeyMissing,
  nodesWithoutClusterKey,
  RequestFailure,
  shardMalformed,
  shardNotOfArea,
  tenantElsewhere,
  tenantExists,
  tenantIsGoing,
  tenantIsMoving,
  tenantMissing,
  tenantNameMalformed,
  tenantNameTaken,
  tenantsNotKnown,
  tooManyTenants,
} from "../../../edge/errors.ts";
import type { AreaName } from "../../areas/area.ts";
import { StartRefusal } from "../../refusal.ts";
import { TENANT_NAME, TENANT_NAME_RULE, TENANTS_MAX } from "../../settings/config.ts";
import { describeIndex } from "../../settings/index-settings.ts";
import { areaOfKind, describeNewTenant, type TenantAdministration, tenantNouns } from "../../tenants/administration.ts";
import { secretsOfNew } from "../../tenants/tokens.ts";
import { type ClusterPlace, changeAtOnce, type Transaction } from "../administer/transaction.ts";
import type { ClusterKey, ClusterKeys } from "./cluster-key.ts";
import { type ReachOptions, whenReached } from "./reach.ts";
import type { KnownTenant, RunTimeTenants } from "./run-time-tenants.ts";
import { findShardForTenant, type TenantNames } from "./tenant-shards.ts";
import { TenantChange } from "./tenant-table.ts";

type TenantCalls = Pick<
  Administration,
  "listTenants" | "knownTenants" | "createTenant" | "deleteTenant" | "resetPassword"
>;

export interface ClusterAdministrationOptions extends ReachOptions {
  readonly place: ClusterPlace;
  readonly keys: ClusterKeys | undefined;
  readonly tenants: RunTimeTenants;
  /** Of the configuration, with the rules for new indexes. */
  readonly configured: Pick<
    TenantAdministration,
    "knownTenants" | "listTenants" | "deleteTenant" | "resetPassword" | "indexRules"
  >;
  readonly listed: TenantNames;
  /** Whether the tables have a tenant, of whatever origin. Rejects if PostgreSQL does not answer. */
  hasRow(area: AreaName, name: string): Promise<boolean>;
  /** The shards of an area that this node can serve. */
  shardsOf(area: AreaName): readonly number[];
}

interface ChangeParts {
  /** With which secrets are sealed. */
  readonly key: ClusterKey;
  readonly transaction: Transaction;
}

export class ClusterAdministration implements TenantCalls {
  readonly #options: ClusterAdministrationOptions;

  constructor(options: ClusterAdministrationOptions) {
    this.#options = options;
  }

  async listTenants(kind: TenantKind): Promise<readonly TenantFacts[]> {
    return this.#withMade(kind, await this.#configured(kind));
  }

  knownTenants(kind: TenantKind): readonly TenantFacts[] {
    return this.#withMade(kind, this.#options.configured.knownTenants(kind));
  }

  async createTenant(
    kind: TenantKind,
    name: string,
    { shard: asked, ...description }: Readonly<Record<string, unknown>> = {},
  ): Promise<TenantTokens> {
    const { keys, configured, listed } = this.#options;
    const area = areaOfKind[kind];
    const noun = tenantNouns[kind];
    if (!TENANT_NAME.test(name)) throw tenantNameMalformed(TENANT_NAME_RULE);
    const { stored } = describeNewTenant(kind, description, configured.indexRules);
    const shards = this.#shardsFor(area, asked);
    if (listed[area].includes(name)) throw tenantExists(noun, name);
    if (keys === undefined) throw clusterKeyMissing;
    const secrets = secretsOfNew(kind, name);
    const version = await this.#change(keys, kind, async (change, { key, transaction }) => {
      const found = await change.find(area, name);
      if (found?.sealed !== undefined) throw tenantExists(noun, name);
      if (found?.isRemoved === true) throw tenantIsGoing(noun, name);
      if (found !== undefined) throw tenantNameTaken(noun, name); // keeps (2)
      if ((await change.count(area)) + listed[area].length >= TENANTS_MAX) throw tooManyTenants(kind, TENANTS_MAX);
      const keyless = await change.keylessNodes();
      if (keyless.length > 0) throw nodesWithoutClusterKey(keyless.join(", "));
      if ((await change.shardsWithUnknownTenants(area)).length > 0) throw tenantsNotKnown(area);
      const shard = await findShardForTenant(transaction, area, shards);
      const sealed = key.seal(secrets, { area, name, version: change.version });
      await change.insert({ area, name, shard }, { definition: stored.definition, sealed });
    });
    const { token, readOnlyToken } = secrets;
    return { name, token, readOnlyToken, ...(await this.#reach(version)) };
  }

  async resetPassword(kind: TenantKind, name: string): Promise<TenantTokens> {
    const { keys, configured, listed } = this.#options;
    const area = areaOfKind[kind];
    if (listed[area].includes(name)) return configured.resetPassword(kind, name);
    if (keys === undefined) throw clusterKeyMissing;
    const { token, readOnlyToken, ...signingKeys } = secretsOfNew(kind, name);
    const version = await this.#change(keys, kind, async (change, { key }) => {
      const found = await change.find(area, name);
      if (found?.sealed === undefined) throw tenantMissing(tenantNouns[kind], name);
      // A user keeps its signing keys, unless they cannot be opened.
      const before = keys.open(found.sealed, { area, name, version: found.version });
      const secrets = { ...signingKeys, ...before, token, readOnlyToken };
      await change.putSecrets(area, name, key.seal(secrets, { area, name, version: change.version }));
    });
    return { name, token, readOnlyToken, ...(await this.#reach(version)) };
  }

  async deleteTenant(kind: TenantKind, name: string): Promise<ChangeReach> {
    const { keys, listed, tenants } = this.#options;
    const area = areaOfKind[kind];
    // Another node may have made it a moment ago.
    if (!listed[area].includes(name)) await tenants.load().catch(() => {}); // As in #reach.
    const known = tenants.find(area, name);
    if (known?.isRemoved === true) throw tenantIsGoing(tenantNouns[kind], name);
    if (known === undefined) return this.#deleteConfigured(kind, name);
    if (keys === undefined) throw clusterKeyMissing;
    const version = await this.#change(keys, kind, async (change) => {
      if ((await change.find(area, name))?.isMoving === true) throw tenantIsMoving(tenantNouns[kind], name);
      if (!(await change.remove(area, name))) throw tenantMissing(tenantNouns[kind], name);
    });
    return this.#reach(version);
  }

  /** Data of a tenant that no configuration lists any more goes at the node that serves it. */
  async #deleteConfigured(kind: TenantKind, name: string): Promise<ChangeReach> {
    const { configured, listed, hasRow } = this.#options;
    const area = areaOfKind[kind];
    if (!listed[area].includes(name) && !(await hasRow(area, name))) throw tenantMissing(tenantNouns[kind], name);
    try {
      return await configured.deleteTenant(kind, name);
    } catch (fault) {
      if (!(fault instanceof RequestFailure) || fault.kind !== "unavailable") throw fault;
      throw tenantElsewhere(tenantNouns[kind], name);
    }
  }

  /** Resolves with the version of the change. */
  async #change(
    keys: ClusterKeys,
    kind: TenantKind,
    work: (change: TenantChange, parts: ChangeParts) => Promise<void>,
  ): Promise<number> {
    try {
      return await changeAtOnce(this.#options.place, async (transaction) => {
        const change = await TenantChange.begin(transaction, keys.newest.check);
        // While the key is changed, the one that the tables have now.
        const key = keys.find(change.check);
        if (key === undefined) throw clusterHasOtherKey;
        await work(change, { key, transaction });
        return change.version;
      });
    } catch (fault) {
      if (fault instanceof StartRefusal) throw clusterDoesNotChange(kind, fault.message);
      throw fault;
    }
  }

  /** Where a new tenant may be: the shard that was asked for, or any. */
  #shardsFor(area: AreaName, asked: unknown): readonly number[] {
    const shards = this.#options.shardsOf(area);
    if (asked === undefined) return shards;
    if (typeof asked !== "number" || !Number.isInteger(asked)) throw shardMalformed(JSON.stringify(asked));
    if (!shards.includes(asked)) throw shardNotOfArea(String(asked), area, shards.join(", "));
    return [asked];
  }

  /** keeps (1) */
  #reach(version: number): Promise<ChangeReach> {
    // Without a wait: an area of this node may wait for PostgreSQL. The next poll tries again what fails, and logs it.
    this.#options.tenants.refresh().catch(() => {});
    return whenReached(version, this.#options);
  }

  /** Those of the configuration, and names that have data here; without these while the area does not serve. */
  async #configured(kind: TenantKind): Promise<readonly TenantFacts[]> {
    const { configured } = this.#options;
    try {
      return await configured.listTenants(kind);
    } catch (fault) {
      if (!(fault instanceof RequestFailure)) throw fault;
      return configured.knownTenants(kind);
    }
  }

  /** Adds those that were made in the cluster. */
  #withMade(kind: TenantKind, facts: readonly TenantFacts[]): readonly TenantFacts[] {
    const made = this.#madeOf(kind);
    const names = new Set(made.map(({ name }) => name));
    const memoryOf = new Map(facts.map(({ name, memoryBytes }) => [name, memoryBytes]));
    return [
      ...facts.filter(({ name }) => !names.has(name)),
      ...made.map((tenant) => factsOf(tenant, memoryOf.get(tenant.name))),
    ];
  }

  #madeOf(kind: TenantKind): readonly KnownTenant[] {
    return this.#options.tenants.of(areaOfKind[kind]).filter(({ isRemoved }) => !isRemoved);
  }
}

/** `memoryBytes`: undefined if this node has no data of it. */
function factsOf({ name, tenant }: KnownTenant, memoryBytes: number | undefined): TenantFacts {
  return {
    ...{ name, source: "cluster", ...(tenant?.index && describeIndex(tenant.index)) },
    ...(memoryBytes !== undefined && { memoryBytes }),
  };
}
