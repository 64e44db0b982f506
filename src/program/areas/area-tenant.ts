/** A tenant as its area has it, and the changes of tenants of a cluster at run time: plain data. */
import type { TokenFor } from "../../edge/auth.ts";
import type { IndexPlan } from "../settings/index-settings.ts";

export interface AreaTenant {
  readonly name: string;
  readonly tokens: readonly TokenFor[];
  /** For a messaging user. */
  readonly signingKeys?: { readonly current: string; readonly next: string };
  /** For an index: its definition and its embedding provider. */
  readonly index?: IndexPlan;
  /** It moves to another shard: its writes are refused until it is there, and a user of messaging is frozen. */
  readonly isMoving?: true;
}

/** A tenant on the shard that a change concerns. */
export interface PlacedTenant {
  readonly name: string;
  readonly shard: number;
}

/** Tenants of shards of a cluster that were made, changed or removed at run time. */
export interface TenantChanges {
  /** With everything that they have from now on. */
  readonly put: readonly (AreaTenant & { readonly shard: number })[];
  /** Nobody can reach them from now on. Their data stays. */
  readonly closed: readonly PlacedTenant[];
  /** Their data must go. */
  readonly removed: readonly PlacedTenant[];
  /** They are on another shard now. The data that they had on this one must go. */
  readonly left: readonly PlacedTenant[];
}

/** Tenants of a shard that were made or removed at run time, when it is opened. */
export interface TenantsAtOpen {
  /** Besides those of the plan. */
  readonly made: readonly AreaTenant[];
  /** Names whose data must go before anything of it is used. */
  readonly removed: readonly string[];
  /** Names of the plan that are on other shards since then. */
  readonly elsewhere: readonly string[];
}

/** On a single server, and in a cluster without any. */
export const NO_TENANTS: TenantsAtOpen = { made: [], removed: [], elsewhere: [] };
