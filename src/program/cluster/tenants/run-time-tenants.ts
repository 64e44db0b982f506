/**
 * What a node has of the tenants that were made at run time. It reads them when a
 * poll shows another version, gives each change to the areas, and reports the
 * version to the other nodes.
 *
 * (1) A version is reported when every change up to it is in effect here: after
 *     the report this node accepts no token that was replaced before.
 * (2) A shard is opened with its tenants as they are after its claim: a node that has
 *     seen nothing since the claim of the former owner serves no older tokens.
 * (3) Tenants of the configuration stay as they are: a row of the same name is left
 *     alone by the nodes that list it.
 * (4) A change that cannot be made here is logged and tried again, and the tokens of
 *     a tenant whose secrets cannot be opened are not accepted.
 */

import { RETRY_MS } from "../../../cluster/node/bounds.ts";
import type { Clock } from "../../../kernel/clock.ts";
import { faultFields, type Log } from "../../../kernel/log.ts";
import { type AreaName, areaNames } from "../../areas/area.ts";
import type { AreaTenant, TenantChanges, TenantsAtOpen } from "../../areas/area-tenant.ts";
import type { IndexPlan } from "../../settings/index-settings.ts";
import type { ClusterKey } from "./cluster-key.ts";
import type { TenantNames } from "./tenant-shards.ts";
import type { TenantContent, TenantRow, TenantsRead } from "./tenant-table.ts";

/** What it needs of the tables. */
export interface TenantSource {
  read(since: number): Promise<TenantsRead>;
  report(version: number): Promise<void>;
  forget(row: Pick<TenantRow, "area" | "name" | "version">): Promise<void>;
}

export interface RunTimeTenantsOptions {
  readonly source: TenantSource;
  /** Undefined: this node can open nothing. */
  readonly key: ClusterKey | undefined;
  /** The tenants of the configuration. */
  readonly listed: TenantNames;
  /** Reads the definition of an index. Throws an `Error` that says why this node cannot serve it. */
  readIndex(definition: string): IndexPlan;
  /** Whether this node can serve a shard: it may have been added after the node started. */
  knows(shard: number): boolean;
  readonly clock: Pick<Clock, "after">;
  readonly log: Log;
  /** The node has no key, and a tenant was made: it must end. */
  lost(reason: string): void;
}

/** `AreaControl.changeTenants`. */
export type ChangeTenants = (area: AreaName, changes: TenantChanges) => Promise<readonly string[]>;

export interface KnownTenant extends Omit<TenantRow, "content"> {
  /** Undefined: it is removed, or this node cannot serve it and accepts none of its tokens. */
  readonly tenant: AreaTenant | undefined;
}

export const KEY_IS_MISSING =
  "Databases, indexes or users were made at run time, and this node cannot open their tokens: set LARDER_CLUSTER_KEY to the key of the other nodes";

const EVERYTHING = -1;
const NOTHING: TenantChanges = { put: [], closed: [], removed: [] };

export class RunTimeTenants {
  readonly #options: RunTimeTenantsOptions;
  /** By area and name. */
  #known = new Map<string, KnownTenant>();
  /** Of `#known`. */
  #version = EVERYTHING;
  /** Not in effect yet. */
  #pending = new Map<string, KnownTenant>();
  #settledVersion = EVERYTHING;
  #reportedVersion = EVERYTHING;
  #change: ChangeTenants | undefined;
  #isRegistered = false;
  #isStopped = false;
  #lastRead: Promise<unknown> = Promise.resolve();
  #lastRefresh: Promise<unknown> = Promise.resolve();
  #nextRefresh: Promise<void> | undefined;
  /** What was logged, so that it is logged once. */
  readonly #told = new Set<string>();

  constructor(options: RunTimeTenantsOptions) {
    this.#options = options;
  }

  /** Every change up to it is in effect. */
  get settledVersion(): number {
    return this.#settledVersion;
  }

  /** Reads them for the first time. */
  load(): Promise<void> {
    return this.#read();
  }

  /** Gives them to the areas, which serve nothing yet. */
  async introduce(change: ChangeTenants): Promise<void> {
    this.#change = change;
    await this.#settle();
  }

  /** The version was reported with the registration of the node. */
  registered(version: number | undefined): void {
    this.#isRegistered = true;
    this.#reportedVersion = version ?? EVERYTHING;
  }

  stop(): void {
    this.#isStopped = true;
  }

  /** Those of an area, also the removed ones whose data may be there. */
  of(area: AreaName): readonly KnownTenant[] {
    return [...this.#known.values()].filter((known) => known.area === area);
  }

  find(area: AreaName, name: string): KnownTenant | undefined {
    return this.#known.get(keyOf({ area, name }));
  }

  /** A poll has read this version. */
  saw(version: number): void {
    const isSettled = version === this.#version && version === this.#settledVersion;
    if (isSettled && (version === this.#reportedVersion || this.#options.key === undefined)) return;
    if (this.#nextRefresh !== undefined) return;
    this.refresh().catch((fault: unknown) => {
      this.#options.log.warn("tenants not read", faultFields(fault));
    });
  }

  /** Reads what has changed, and gives it to the areas. Rejects if it cannot be read or reported. */
  refresh(): Promise<void> {
    this.#nextRefresh ??= this.#lastRefresh.then(() => {
      this.#nextRefresh = undefined;
      return this.#refresh();
    });
    this.#lastRefresh = this.#nextRefresh.catch(() => {});
    return this.#nextRefresh;
  }

  /** The tenants of a shard, read after this call: keeps (2). Waits for PostgreSQL. */
  async atOpen(area: AreaName, shard: number): Promise<TenantsAtOpen> {
    for (;;) {
      try {
        await this.#read();
        break;
      } catch (fault) {
        if (this.#isStopped) throw fault;
        this.#options.log.warn("tenants not read", faultFields(fault));
        await new Promise<void>((resolve) => this.#options.clock.after(RETRY_MS, resolve));
      }
    }
    const own = this.of(area).filter((known) => known.shard === shard);
    return {
      made: own.map(({ tenant }) => tenant).filter((tenant) => tenant !== undefined),
      removed: own.filter(({ isRemoved }) => isRemoved).map(({ name }) => name),
    };
  }

  /** A shard is open, without the data of the tenants that were removed before its claim. */
  async opened(area: AreaName, shard: number): Promise<void> {
    const removed = this.of(area).filter((known) => known.shard === shard && known.isRemoved);
    if (removed.length === 0) return;
    const gone = (await this.#change?.(area, { ...NOTHING, removed: removed.map(placeOf) })) ?? [];
    await this.#forget(removed.filter(({ name }) => gone.includes(name)));
  }

  async #refresh(): Promise<void> {
    await this.#read();
    await this.#settle();
    const version = this.#settledVersion;
    const { source, key } = this.#options;
    if (!this.#isRegistered || key === undefined || version === this.#reportedVersion) return;
    await source.report(version); // keeps (1)
    this.#reportedVersion = version;
  }

  /** One at a time, so that no older answer follows a newer one. */
  #read(): Promise<void> {
    const read = this.#lastRead.then(() => this.#readNow());
    this.#lastRead = read.catch(() => {});
    return read;
  }

  async #readNow(): Promise<void> {
    const { source } = this.#options;
    let found = await source.read(this.#version);
    // PostgreSQL has lost a change that this node has seen: an older version of the row is the newest again.
    const isLacking = (row: TenantRow): boolean =>
      row.content === undefined && !row.isRemoved && this.#known.get(keyOf(row))?.version !== row.version;
    if (found.rows.some(isLacking)) found = await source.read(EVERYTHING);
    this.#take(found);
  }

  #take({ version, rows }: TenantsRead): void {
    const { listed, key } = this.#options;
    const known = new Map<string, KnownTenant>();
    for (const row of rows) {
      if (listed[row.area].includes(row.name)) {
        this.#tell(`${keyOf(row)} is listed`, () => this.#warnOfListed(row)); // keeps (3)
        continue;
      }
      const before = this.#known.get(keyOf(row));
      const isSame = before?.version === row.version && before.isRemoved === row.isRemoved;
      const now = isSame ? before : this.#knownOf(row);
      known.set(keyOf(row), now);
      if (!isSame) this.#pending.set(keyOf(row), now);
    }
    for (const [id, before] of this.#known) {
      // Its row is gone, so another node has removed its data, or PostgreSQL has lost it.
      if (!known.has(id) && !before.isRemoved) this.#pending.set(id, { ...before, tenant: undefined });
    }
    this.#known = known;
    this.#version = version;
    if (key === undefined && rows.some(({ isRemoved }) => !isRemoved)) this.#options.lost(KEY_IS_MISSING);
  }

  #knownOf({ content, ...row }: TenantRow): KnownTenant {
    return { ...row, tenant: row.isRemoved || content === undefined ? undefined : this.#tenantOf(row, content) };
  }

  /** Undefined if this node cannot serve it: keeps (4). */
  #tenantOf(row: Omit<TenantRow, "content">, content: TenantContent): AreaTenant | undefined {
    const { key, log } = this.#options;
    const { area, name } = row;
    if (key === undefined) return undefined;
    const secrets = key.open(content.sealed, row);
    if (secrets === undefined) {
      log.error("the secrets of a tenant cannot be opened: replace its tokens at the admin port", { area, name });
      return undefined;
    }
    try {
      const { token, readOnlyToken, currentSigningKey: current, nextSigningKey: next } = secrets;
      return {
        name,
        tokens: [
          { token, access: "standard" },
          { token: readOnlyToken, access: "read-only" },
        ],
        ...(current !== undefined && next !== undefined && { signingKeys: { current, next } }),
        ...(content.definition !== undefined && { index: this.#options.readIndex(content.definition) }),
      };
    } catch (fault) {
      log.error("this node cannot serve an index", { name, ...faultFields(fault) });
      return undefined;
    }
  }

  /** Gives the areas what they lack. What an area does not take stays pending. */
  async #settle(): Promise<void> {
    if (this.#change === undefined) return;
    const version = this.#version;
    const pending = this.#pending;
    this.#pending = new Map();
    const failed = new Map<string, KnownTenant>();
    for (const area of areaNames) {
      const changed = [...pending.values()].filter((known) => known.area === area);
      if (changed.length > 0 && !(await this.#give(area, changed)))
        for (const known of changed) failed.set(keyOf(known), known);
    }
    // A newer change of the same tenant may have come meanwhile.
    this.#pending = new Map([...failed, ...this.#pending]);
    if (failed.size === 0 && !this.#isShort()) this.#settledVersion = version;
  }

  async #give(area: AreaName, changed: readonly KnownTenant[]): Promise<boolean> {
    const put = changed
      .map(({ tenant, shard }) => tenant && { ...tenant, shard })
      .filter((tenant) => tenant !== undefined);
    const removed = changed.filter(({ isRemoved }) => isRemoved);
    const closed = changed.filter(({ isRemoved, tenant }) => !isRemoved && tenant === undefined);
    try {
      const changes = { put, closed: closed.map(placeOf), removed: removed.map(placeOf) };
      const gone = (await this.#change?.(area, changes)) ?? [];
      await this.#forget(removed.filter(({ name }) => gone.includes(name)));
      return true;
    } catch (fault) {
      this.#options.log.warn("tenants not changed", { area, ...faultFields(fault) });
      return false;
    }
  }

  /** Whether this node lacks a tenant: keeps (1). */
  #isShort(): boolean {
    let isShort = false;
    for (const { area, name, shard, isRemoved, tenant } of this.#known.values()) {
      if (isRemoved) continue;
      const isKnown = this.#options.knows(shard);
      if (isKnown && tenant !== undefined) continue;
      isShort = true;
      if (!isKnown)
        this.#tell(`${keyOf({ area, name })} on ${shard}`, () =>
          this.#options.log.error("a tenant is on a shard that was added later: start this node again", {
            ...{ area, name, shard },
          }),
        );
    }
    return isShort;
  }

  async #forget(gone: readonly KnownTenant[]): Promise<void> {
    for (const known of gone) await this.#options.source.forget(known);
  }

  #warnOfListed({ area, name }: TenantRow): void {
    this.#options.log.warn("a tenant that was made at run time is also in the configuration, which wins here", {
      ...{ area, name },
      remedy: "give it another name in the configuration",
    });
  }

  #tell(fact: string, log: () => void): void {
    if (this.#told.has(fact)) return;
    this.#told.add(fact);
    log();
  }
}

function keyOf({ area, name }: Pick<TenantRow, "area" | "name">): string {
  return `${area} ${name}`;
}

function placeOf({ name, shard }: KnownTenant): { readonly name: string; readonly shard: number } {
  return { name, shard };
}
