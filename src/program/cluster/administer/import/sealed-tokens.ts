/**
 * The tenants of `tokens.json` that were made at run time, as an import takes them
 * into the table of tenants: with their tokens, sealed by the key of the cluster.
 *
 * (1) They are written in the transaction of the data. A repetition adds those that an
 *     import without a key has left out, and changes none that the table has.
 * (2) Tenants that the nodes have by their configuration are not among them: their
 *     secrets are those of the configuration.
 */
import type { TenantKind } from "../../../../edge/admin/routes.ts";
import { StartRefusal } from "../../../refusal.ts";
import type { RunSettings } from "../../../settings/run-settings.ts";
import { areaOfKind, tenantNouns } from "../../../tenants/administration.ts";
import type { StoredIndex, StoredTokens, StoredUser } from "../../../tenants/stored-tokens.ts";
import { resolveTenants, type Tenants } from "../../../tenants/tokens.ts";
import type { ClusterFacts } from "../../cluster-facts.ts";
import type { ClusterKeys, TenantSecrets } from "../../tenants/cluster-key.ts";
import { findShardForTenant } from "../../tenants/tenant-shards.ts";
import { TenantChange } from "../../tenants/tenant-table.ts";
import type { Transaction } from "../transaction.ts";

export interface MadeTenant {
  readonly kind: TenantKind;
  readonly name: string;
  readonly secrets: TenantSecrets;
  readonly definition: object | undefined;
}

const KINDS = ["databases", "indexes", "users"] as const satisfies readonly TenantKind[];

/** Those whose tokens can be sealed: keeps (2). */
export function madeTenants(run: RunSettings, stored: StoredTokens): readonly MadeTenant[] {
  const configured = resolveTenants(run, {}).tenants;
  return KINDS.flatMap((kind) =>
    (stored[kind] ?? []).flatMap((entry): readonly MadeTenant[] => {
      const { name, madeBy, definition } = entry as StoredIndex;
      const secrets = secretsIn(kind, entry);
      if (madeBy !== "admin" || secrets === undefined) return [];
      return configured[kind].some((tenant) => tenant.name === name) ? [] : [{ kind, name, secrets, definition }];
    }),
  );
}

/** Without these, as far as it is said what else has to be done. */
export function withoutMade(tenants: Tenants, made: readonly MadeTenant[]): Tenants {
  const isOther =
    (kind: TenantKind) =>
    ({ name }: { readonly name: string }): boolean =>
      !made.some((each) => each.kind === kind && each.name === name);
  return {
    ...tenants,
    databases: tenants.databases.filter(isOther("databases")),
    indexes: tenants.indexes.filter(isOther("indexes")),
    users: tenants.users.filter(isOther("users")),
  };
}

function secretsIn(kind: TenantKind, entry: StoredUser): TenantSecrets | undefined {
  const { token, readOnlyToken, currentSigningKey, nextSigningKey } = entry;
  if (token === undefined || readOnlyToken === undefined) return undefined;
  if (kind !== "users") return { token, readOnlyToken };
  if (currentSigningKey === undefined || nextSigningKey === undefined) return undefined;
  return { token, readOnlyToken, currentSigningKey, nextSigningKey };
}

export interface Sealing {
  readonly tenants: readonly MadeTenant[];
  readonly keys: ClusterKeys;
  /** Where the key was set. */
  readonly place: string;
  readonly shards: ClusterFacts["shards"];
  /** The data is there already: keeps (1). */
  readonly isRepeated: boolean;
}

/** The change of an import that seals tokens. Its transaction locks the row of the cluster first, as others do. */
export class SealedTokens {
  readonly #transaction: Transaction;
  readonly #change: TenantChange;
  readonly #sealing: Sealing;

  private constructor(transaction: Transaction, change: TenantChange, sealing: Sealing) {
    this.#transaction = transaction;
    this.#change = change;
    this.#sealing = sealing;
  }

  static async begin(transaction: Transaction, sealing: Sealing): Promise<SealedTokens> {
    const change = await TenantChange.begin(transaction, sealing.keys.newest.check);
    return new SealedTokens(transaction, change, sealing);
  }

  /** When the data is there, and the tenants that have any have rows. Resolves with the tenants that it has sealed. */
  async write(): Promise<readonly MadeTenant[]> {
    const { tenants, keys, place, isRepeated } = this.#sealing;
    const key = keys.find(this.#change.check);
    if (key === undefined)
      throw new StartRefusal(`${place} is not the key of the cluster: set it to that, or leave it out`);
    const sealed: MadeTenant[] = [];
    for (const tenant of tenants) {
      const { kind, name, secrets, definition } = tenant;
      const area = areaOfKind[kind];
      const found = await this.#change.find(area, name);
      if (found?.sealed !== undefined || found?.isRemoved === true) {
        if (isRepeated) continue; // keeps (1)
        throw new StartRefusal(
          `The cluster has the ${tenantNouns[kind]} ${name} already, which was made at run time: import into a new cluster`,
        );
      }
      const content = { definition, sealed: key.seal(secrets, { area, name, version: this.#change.version }) };
      if (found === undefined) {
        const numbers = this.#sealing.shards[area].map(({ shard }) => shard);
        const shard = await findShardForTenant(this.#transaction, area, numbers);
        await this.#change.insert({ area, name, shard }, content);
      } else await this.#change.putContent(area, name, content);
      sealed.push(tenant);
    }
    return sealed;
  }
}
