/**
 * What a node has of the tenants that were made at run time. It reads them when a
 * poll shows another version, gives each change to the areas, and reports the
 * version to the other nodes.
 *
 * (1) A version is reported when every change up to it is in effect here: after
 *     the report this node accepts no token that was replaced before.
 * (2) A shard is opened with its tenants as they are after its claim: a node that has
 *     seen nothing since the claim of the former owner serves no older tokens.
 * (3) Tenants of the configuration keep their tokens: those of a row of the same name
 *     are left alone by the nodes that list it.
 * (4) A change that cannot be made here is logged and tried again, and the tokens of
 *     a tenant whose secrets cannot be opened are not accepted.
 * (5) A tenant that moves has a row of its move, also one of the configuration: the
 *     nodes that list it follow its shard, with the tokens of their configuration.
 * (6) While a poll has shown a version that cannot be read, tokens that it replaced may
 *     be accepted here. So this is reported, and the lease for replies is not extended.
 */

import { RETRY_MS } from "../../../cluster/node/bounds.ts";
import type { Clock } from "../../../kernel/clock.ts";
import { faultFields, type Log } from "../../../kernel/log.ts";
import { type AreaName, areaNames } from "../../areas/area.ts";
import type { AreaTenant, PlacedTenant, TenantChanges, TenantsAtOpen } from "../../areas/area-tenant.ts";
import type { IndexPlan } from "../../settings/index-settings.ts";
import type { ClusterKey } from "./cluster-key.ts";
import type { TenantNames } from "./tenant-shards.ts";
import type { TenantContent, TenantRow, TenantsRead } from "./tenant-table.ts";

/** What it needs of the tables. */
export interface TenantSource {
  read(since: number): Promise<TenantsRead>;
  report(version: number): Promise<void>;
  forget(row: Pick<TenantRow, "area" | "name" | "version">): Promise<void>;
  forgetLeft(row: Pick<TenantRow, "area" | "name"> & { readonly leftOn: number }): Promise<void>;
}

export interface RunTimeTenantsOptions {
  readonly source: TenantSource;
  /** Undefined: this node can open nothing. */
  readonly key: Pick<ClusterKey, "open"> | undefined;
  /** The tenants of the configuration. */
  readonly listed: TenantNames;
  /** One of them. */
  listedTenant(area: AreaName, name: string): AreaTenant | undefined;
  /** Reads the definition of an index. Throws an `Error` that says why this node cannot serve it. */
  readIndex(definition: string): IndexPlan;
  /** Whether this node can serve a shard: it may have been added after the node started. */
  knows(shard: number): boolean;
  readonly clock: Pick<Clock, "after">;
  readonly log: Log;
  /** The node has no key, and a tenant was made: it must end. */
  lost(reason: string): void;
  /** A poll has shown a version that is not read yet. */
  onUnread?(): void;
  /** What polls have shown is read, and the areas were given it. */
  onRead?(): void;
}

/** `AreaControl.changeTenants`. */
export type ChangeTenants = (area: AreaName, changes: TenantChanges) => Promise<readonly PlacedTenant[]>;

export interface KnownTenant extends Omit<TenantRow, "content"> {
  /** Undefined: it is removed, or this node cannot serve it and accepts none of its tokens. */
  readonly tenant: AreaTenant | undefined;
  /** Whether the configuration of this node has it. */
  readonly isListed: boolean;
}

export const KEY_IS_MISSING =
  "Databases, indexes or users were made at run time, and this node cannot open their tokens: set LARDER_CLUSTER_KEY to the key of the other nodes";

const EVERYTHING = -1;
const NOTHING: TenantChanges = { put: [], closed: [], removed: [], left: [] };

export class RunTimeTenants {
  readonly #options: RunTimeTenantsOptions;
  /** By area and name. */
  #known = new Map<string, KnownTenant>();
  /** Of `#known`. */
  #version = EVERYTHING;
  /** Those whose secrets cannot be opened. */
  readonly #sealed = new Set<string>();
  /** Not in effect yet. */
  #pending = new Map<string, KnownTenant>();
  #settledVersion = EVERYTHING;
  /** Of the last poll. */
  #seenVersion = EVERYTHING;
  #isUnread = false;
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

  /** Those of an area that were made at run time, also the removed ones whose data may be there. */
  of(area: AreaName): readonly KnownTenant[] {
    return this.#all(area).filter(isMade);
  }

  /** One that was made at run time. */
  find(area: AreaName, name: string): KnownTenant | undefined {
    const known = this.#known.get(keyOf({ area, name }));
    return known !== undefined && isMade(known) ? known : undefined;
  }

  /** The tenants whose secrets this node cannot open, such as `store shop`. */
  get unopened(): readonly string[] {
    return [...this.#sealed];
  }

  #all(area: AreaName): readonly KnownTenant[] {
    return [...this.#known.values()].filter((known) => known.area === area);
  }

  /** A poll has read this version. */
  saw(version: number): void {
    const isSettled = version === this.#version && version === this.#settledVersion;
    this.#seenVersion = version;
    if (isSettled) this.#noteRead();
    else if (version !== this.#version) this.#noteUnread();
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
    const all = this.#all(area);
    const own = all.filter((known) => known.shard === shard);
    const gone = [...own.filter(({ isRemoved }) => isRemoved), ...all.filter(({ leftOn }) => leftOn === shard)];
    return {
      made: own.map(areaTenantOf).filter((tenant) => tenant !== undefined),
      removed: gone.map(({ name }) => name),
      elsewhere: all.filter((known) => known.isListed && known.shard !== shard).map(({ name }) => name), // keeps (5)
    };
  }

  /** A shard is open, without the data of the tenants that were removed or have left it before its claim. */
  async opened(area: AreaName, shard: number): Promise<void> {
    const all = this.#all(area);
    const removed = all.filter((known) => known.shard === shard && known.isRemoved);
    const left = all.filter(({ leftOn }) => leftOn === shard);
    if (removed.length === 0 && left.length === 0) return;
    const changes = { ...NOTHING, removed: removed.map(placeOf), left: left.flatMap(leftPlaceOf) };
    await this.#forget([...removed, ...left], (await this.#change?.(area, changes)) ?? []);
  }

  async #refresh(): Promise<void> {
    await this.#read();
    await this.#settle();
    this.#noteRead();
    // What a poll has shown since this read began is late from now on.
    if (this.#version < this.#seenVersion) this.#noteUnread();
    const version = this.#settledVersion;
    const { source, key } = this.#options;
    if (!this.#isRegistered || key === undefined || version === this.#reportedVersion) return;
    await source.report(version); // keeps (1)
    this.#reportedVersion = version;
  }

  /** keeps (6) */
  #noteUnread(): void {
    if (this.#isUnread) return;
    this.#isUnread = true;
    this.#options.onUnread?.();
  }

  #noteRead(): void {
    if (!this.#isUnread) return;
    this.#isUnread = false;
    this.#options.onRead?.();
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
      row.content === undefined &&
      !row.isRemoved &&
      row.isConfigured !== true &&
      !isSameStep(this.#known.get(keyOf(row)), row);
    if (found.rows.some(isLacking)) found = await source.read(EVERYTHING);
    this.#take(found);
  }

  #take({ version, rows }: TenantsRead): void {
    const { listed, key } = this.#options;
    const known = new Map<string, KnownTenant>();
    for (const row of rows) {
      const isListed = listed[row.area].includes(row.name);
      if (isListed && row.isConfigured !== true) this.#tell(`${keyOf(row)} is listed`, () => this.#warnOfListed(row)); // keeps (3)
      if (isListed && (row.isRemoved || row.moved === undefined)) continue;
      const before = this.#known.get(keyOf(row));
      const isSame = isSameStep(before, row) && before?.isRemoved === row.isRemoved;
      const now = this.#knownOf(row, { isListed, before: isSame ? before : undefined });
      known.set(keyOf(row), now);
      if (!isSame) this.#pending.set(keyOf(row), now);
    }
    for (const [id, before] of this.#known) {
      // Its row is gone, so another node has removed its data, or PostgreSQL has lost it.
      if (known.has(id)) continue;
      this.#sealed.delete(id);
      if (!before.isRemoved) this.#pending.set(id, { ...withoutMove(before), tenant: undefined });
    }
    this.#known = known;
    this.#version = version;
    if (key === undefined && rows.some(({ isRemoved }) => !isRemoved)) this.#options.lost(KEY_IS_MISSING);
  }

  /** `before`: the same step, if it is known already. */
  #knownOf(
    { content, ...row }: TenantRow,
    { isListed, before }: { readonly isListed: boolean; readonly before: KnownTenant | undefined },
  ): KnownTenant {
    if (before !== undefined) return { ...row, isListed, tenant: before.tenant };
    this.#sealed.delete(keyOf(row));
    if (row.isRemoved) return { ...row, isListed, tenant: undefined };
    if (isListed) return { ...row, isListed, tenant: this.#options.listedTenant(row.area, row.name) }; // keeps (5)
    return { ...row, isListed, tenant: content === undefined ? undefined : this.#tenantOf(row, content) };
  }

  /** Undefined if this node cannot serve it: keeps (4). */
  #tenantOf(row: Omit<TenantRow, "content">, content: TenantContent): AreaTenant | undefined {
    const { key, log } = this.#options;
    const { area, name } = row;
    if (key === undefined) return undefined;
    const secrets = key.open(content.sealed, row);
    if (secrets === undefined) {
      this.#sealed.add(keyOf(row));
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
    const put = changed.flatMap((known) => {
      const tenant = areaTenantOf(known);
      return tenant === undefined ? [] : [{ ...tenant, shard: known.shard }];
    });
    const removed = changed.filter(({ isRemoved }) => isRemoved);
    const closed = changed.filter(({ isRemoved, tenant }) => !isRemoved && tenant === undefined);
    const left = changed.flatMap(leftPlaceOf);
    try {
      const changes = { put, closed: closed.map(placeOf), removed: removed.map(placeOf), left };
      await this.#forget(changed, (await this.#change?.(area, changes)) ?? []);
      return true;
    } catch (fault) {
      this.#options.log.warn("tenants not changed", { area, ...faultFields(fault) });
      return false;
    }
  }

  /** Whether this node lacks a tenant: keeps (1). */
  #isShort(): boolean {
    let isShort = false;
    for (const { area, name, shard, movingTo = shard, isRemoved, isConfigured, tenant } of this.#known.values()) {
      // One of the configuration of other nodes has no tokens here.
      if (isRemoved || (isConfigured === true && tenant === undefined)) continue;
      const unknown = [shard, movingTo].find((each) => !this.#options.knows(each));
      if (unknown === undefined && tenant !== undefined) continue;
      isShort = true;
      if (unknown !== undefined)
        this.#tell(`${keyOf({ area, name })} on ${unknown}`, () =>
          this.#options.log.error("a tenant is on a shard that was added later: start this node again", {
            ...{ area, name, shard: unknown },
          }),
        );
    }
    return isShort;
  }

  /** `gone`: of which a served shard has no data any more. */
  async #forget(changed: readonly KnownTenant[], gone: readonly PlacedTenant[]): Promise<void> {
    const { source } = this.#options;
    const isGone = (name: string, on: number): boolean => gone.some((each) => each.name === name && each.shard === on);
    for (const known of changed) {
      const { area, name, shard, leftOn } = known;
      if (known.isRemoved && isGone(name, shard)) await source.forget(known);
      if (leftOn !== undefined && isGone(name, leftOn)) await source.forgetLeft({ area, name, leftOn });
    }
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

function placeOf({ name, shard }: KnownTenant): PlacedTenant {
  return { name, shard };
}

/** The shard that it has left, if that may still have data of it. */
function leftPlaceOf({ name, leftOn }: KnownTenant): readonly PlacedTenant[] {
  return leftOn === undefined ? [] : [{ name, shard: leftOn }];
}

/** As its area needs it; undefined: the area serves nothing of it. */
function areaTenantOf({ tenant, movingTo }: KnownTenant): AreaTenant | undefined {
  return tenant && movingTo !== undefined ? { ...tenant, isMoving: true } : tenant;
}

function isMade({ isListed, isConfigured }: KnownTenant): boolean {
  return !isListed && isConfigured !== true;
}

/** Whether a row is at the step that is known. */
function isSameStep(known: KnownTenant | undefined, row: TenantRow): boolean {
  return known?.version === row.version && known.moved === row.moved;
}

/** Its row is gone, and with it the rest of a move. */
function withoutMove({ leftOn: _, movingTo: __, ...known }: KnownTenant): KnownTenant {
  return known;
}
