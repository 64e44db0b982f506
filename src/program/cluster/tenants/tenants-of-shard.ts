/**
 * The changes of tenants at run time, on the side of one shard and its engine.
 *
 *     standby    nothing is kept: the claim of the shard brings its tenants
 *     opening    changes wait for the engine, and are made before it serves
 *     serving    changes are made at once, one after the other
 */

import { systemClock } from "../../../kernel/clock.ts";
import type { AreaPersistence } from "../../areas/area-persistence.ts";
import type { PlacedTenant, TenantChanges } from "../../areas/area-tenant.ts";
import type { AreaService } from "../../services/service.ts";

/** How often to look whether the journal has committed a removal. */
const COMMIT_LOOK_MS = 20;

export interface ShardEngine {
  readonly service: Pick<AreaService, "setTokens" | "forgetTokens" | "dropTenant">;
  readonly persistence: { readonly journal: Pick<AreaPersistence["journal"], "end" | "synced"> };
}

export class TenantsOfShard {
  readonly #shard: number;
  /** While it serves. */
  #engine: ShardEngine | undefined;
  /** While the engine is opening. */
  #waiting: TenantChanges[] | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(shard: number) {
    this.#shard = shard;
  }

  /** The engine recovers from now on, with the tenants of its claim. */
  opening(): void {
    this.#waiting = [];
  }

  /** Makes the changes that came meanwhile. The engine may serve when this resolves. */
  async opened(engine: ShardEngine): Promise<void> {
    for (let next = this.#waiting?.shift(); next !== undefined; next = this.#waiting?.shift())
      await this.#make(next, engine);
    this.#waiting = undefined;
    this.#engine = engine;
  }

  /** The shard is not served any more: no request uses its tokens. The engine may close when this resolves. */
  async closed(): Promise<void> {
    this.#waiting = undefined;
    this.#engine = undefined;
    await this.#last;
  }

  /**
   * Changes of all shards of the area. Resolves with the tenants that were removed or have left, of which the shard, if it is
   * served, has no data any more, durably. What was accepted of a tenant that moves is committed then.
   */
  change(changes: TenantChanges): Promise<readonly PlacedTenant[]> {
    this.#waiting?.push(changes);
    const engine = this.#engine;
    if (this.#waiting !== undefined || engine === undefined) return Promise.resolve([]);
    const made = this.#last.then(() => this.#make(changes, engine));
    this.#last = made.catch(() => {});
    return made;
  }

  async #make(changes: TenantChanges, { service, persistence }: ShardEngine): Promise<readonly PlacedTenant[]> {
    const isOwn = ({ shard }: { readonly shard: number }): boolean => shard === this.#shard;
    const gone = [...changes.removed, ...changes.left].filter(isOwn);
    const put = changes.put.filter(isOwn);
    for (const { name } of gone) await service.dropTenant(name);
    for (const { name } of changes.closed.filter(isOwn)) service.forgetTokens(name);
    for (const { shard: _, ...tenant } of put) await service.setTokens(tenant);
    if (gone.length > 0 || put.some(({ isMoving }) => isMoving === true)) await untilCommitted(persistence.journal);
    return gone;
  }
}

/**
 * With `everysec` a removal is answered before it is committed, and must not be forgotten with a node that is gone. What a
 * tenant has written before it moves is read from the log.
 */
async function untilCommitted(journal: ShardEngine["persistence"]["journal"]): Promise<void> {
  const { end } = journal;
  while ((journal.synced ?? end) < end)
    await new Promise<void>((resolve) => systemClock.after(COMMIT_LOOK_MS, resolve));
}
