/**
 * A shard of an area that has several, on one node: an engine with its journal,
 * from the claim to the release.
 *
 *     standby -> opening -> serving -> draining -> standby
 *
 * (1) An engine is opened once: a released shard gets a new, empty one.
 * (2) Requests go to the engine while the shard is served, and otherwise to its
 *     owner, or they are refused.
 */

import { areaNotServing, notOwner } from "../../../edge/errors.ts";
import type { AreaOwner, Front } from "../../../edge/forward/front.ts";
import type { HttpService } from "../../../edge/handler.ts";
import { systemClock } from "../../../kernel/clock.ts";
import type { Metrics } from "../../../kernel/metrics.ts";
import type { AreaPlan } from "../../areas/area.ts";
import type { AreaPersistence } from "../../areas/area-persistence.ts";
import type { PlacedTenant, TenantChanges } from "../../areas/area-tenant.ts";
import { refusingService } from "../../areas/refusing-service.ts";
import type { AreaService } from "../../services/service.ts";
import type { AreaShard } from "../area-shard.ts";
import type { ShardClaim } from "../shard-plan.ts";
import { TenantsOfShard } from "../tenants/tenants-of-shard.ts";
import { ServedRequests } from "./served-requests.ts";

/** An engine with everything that it has for itself. */
export interface ShardParts {
  readonly service: AreaService;
  readonly persistence: AreaPersistence;
  readonly shard: AreaShard;
  readonly metrics: Metrics;
}

export type HostedState = "standby" | "opening" | "serving" | "draining";

export interface HostedShardOptions {
  readonly number: number;
  readonly plan: AreaPlan;
  /** Not opened. */
  readonly parts: ShardParts;
  /** Makes new ones. */
  make(): Promise<ShardParts>;
  /** Undefined: this node does not take part in forwarding. */
  readonly front: Front | undefined;
  /** The area, whose answers name this node if the settings want it. */
  named(area: HttpService): HttpService;
  /** Its engine is open, and requests go to it next. */
  opened(service: AreaService): void;
  /** The state has changed. */
  changed(): void;
}

export class HostedShard {
  readonly number: number;
  readonly plan: AreaPlan;
  /** Where its requests go: (2). */
  http: HttpService;
  /** Who else serves it, as far as this node knows. */
  owner: AreaOwner = { kind: "nobody" };
  readonly #options: HostedShardOptions;
  readonly #tenants: TenantsOfShard;
  #parts: ShardParts;
  #state: HostedState = "standby";
  #served: ServedRequests | undefined;
  #isEnding = false;
  /** While it is draining. */
  #drained: Promise<void> = Promise.resolve();

  constructor(options: HostedShardOptions) {
    this.#options = options;
    this.number = options.number;
    this.plan = options.plan;
    this.#tenants = new TenantsOfShard(options.number);
    this.#parts = options.parts;
    this.http = this.#elsewhere();
  }

  get state(): HostedState {
    return this.#state;
  }

  /** Those of its current engine. */
  get parts(): ShardParts {
    return this.#parts;
  }

  /** Its engine, while it is served. */
  get serving(): HttpService | undefined {
    return this.#state === "serving" ? this.#served : undefined;
  }

  follow(owner: AreaOwner): void {
    this.owner = owner;
    this.#options.front?.follow(owner);
  }

  /** See `AreaControl.changeTenants`. */
  changeTenants(changes: TenantChanges): Promise<readonly PlacedTenant[]> {
    return this.#tenants.change(changes);
  }

  /** Recovers it and serves it. Rejects with a `StartRefusal` if the operator has to fix something. */
  async open(claim: ShardClaim): Promise<void> {
    const { front, plan, named, opened } = this.#options;
    const { shard, persistence, service } = this.#parts;
    if (front === undefined)
      this.http = refusingService(areaNotServing(plan.area), plan.limits.requestBytesMax, service.http);
    this.#become("opening");
    this.#tenants.opening();
    await shard.open(claim, persistence, () => service.open(claim.tenants));
    await this.#tenants.opened({ service, persistence });
    if (this.#isEnding) return;
    this.#served = new ServedRequests(named(service.http), systemClock);
    this.http = this.#served;
    this.#become("serving");
    opened(service);
    front?.serve(this.#served);
  }

  /**
   * Ends its service when `connectionsEnd` has resolved, commits the rest, and is ready for another claim. keeps (1)
   */
  async release(graceMs: number, connectionsEnd?: Promise<void>): Promise<void> {
    await this.#drain(graceMs, connectionsEnd);
    if (this.#isEnding) return;
    this.#parts = await this.#options.make();
    this.http = this.#elsewhere();
    this.#become("standby");
  }

  /** Ends it with its area. */
  async close(graceMs: number): Promise<void> {
    this.#isEnding = true;
    await (this.#state === "draining" ? this.#drained : this.#drain(graceMs));
  }

  #drain(graceMs: number, connectionsEnd?: Promise<void>): Promise<void> {
    this.#drained = this.#end(graceMs, connectionsEnd);
    return this.#drained;
  }

  async #end(graceMs: number, connectionsEnd?: Promise<void>): Promise<void> {
    const { service, shard } = this.#parts;
    this.#become("draining");
    this.#options.front?.serve(undefined);
    this.http = this.#elsewhere();
    await Promise.all([this.#served?.end(graceMs), connectionsEnd]);
    this.#served = undefined;
    await this.#tenants.closed();
    await service.close(graceMs);
    await shard.close();
  }

  #become(state: HostedState): void {
    this.#state = state;
    this.#options.changed();
  }

  #elsewhere(): HttpService {
    const { front, plan } = this.#options;
    return front ?? refusingService(notOwner(plan.area), plan.limits.requestBytesMax, this.#parts.service.http);
  }
}
