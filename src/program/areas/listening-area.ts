/**
 * An area with its port: the life cycle that all areas share.
 *
 *     standby    bound, and forwarding or answering 421: a shard that another node owns, or none
 *     opening    bound, and holding requests or answering 503, while the service recovers
 *     serving    the service answers
 *     draining   no new connections; pending requests are finished
 *     closed     everything is on disk
 *
 * The port is bound before the recovery, so that a port in use is reported at
 * once and not after a minute of replay. Requests are forwarded and held in a
 * cluster whose nodes have addresses for it, and so are connections of the RESP
 * port. Without addresses the RESP port of a shard is bound when the node serves
 * it, because that protocol has no word for another node.
 */

import { areaNotServing, notOwner, type RequestFailure } from "../../edge/errors.ts";
import type { HttpService } from "../../edge/handler.ts";
import type { Listener } from "../../edge/http/listener.ts";
import { withOpenApi } from "../../edge/openapi/area.ts";
import { refusalOf } from "../../edge/respond.ts";
import { assert } from "../../kernel/assert.ts";
import type { FamilySnapshot, Metrics } from "../../kernel/metrics.ts";
import type { AreaShard } from "../cluster/area-shard.ts";
import type { AreaForwarding } from "../cluster/forwarding/area-forwarding.ts";
import type { ForwardingKeys, ShardClaim } from "../cluster/shard-plan.ts";
import type { NodeResp } from "../cluster/shards/node-resp.ts";
import type { TenantsOfShard } from "../cluster/tenants/tenants-of-shard.ts";
import { type ListenerEnvironment, openListener } from "../listeners/listener.ts";
import type { AreaService } from "../services/service.ts";
import type {
  AreaApi,
  AreaClients,
  AreaControl,
  AreaData,
  AreaEvents,
  AreaPlan,
  AreaSnapshots,
  FollowedShard,
  OpenPorts,
} from "./area.ts";
import { noClients } from "./area-clients.ts";
import type { AreaPersistence } from "./area-persistence.ts";
import type { PlacedTenant, TenantChanges } from "./area-tenant.ts";
import { refusingService } from "./refusing-service.ts";

export interface ListeningAreaOptions {
  readonly plan: AreaPlan;
  readonly service: AreaService;
  readonly persistence: AreaPersistence;
  /** Undefined for an area of a single server. */
  readonly shard?: ShardParts | undefined;
  readonly events: AreaEvents;
  readonly metrics: Metrics;
  readonly environment: ListenerEnvironment;
}

/** What the area of a shard has besides. */
export interface ShardParts {
  readonly shard: AreaShard;
  readonly tenants: TenantsOfShard;
  /** Undefined: this node does not take part in forwarding. */
  readonly forwarding: AreaForwarding | undefined;
  /** Of the store, if this node takes part in forwarding. */
  readonly resp: NodeResp | undefined;
  /** The area, whose answers name this node if the settings want it. */
  named(area: HttpService): HttpService;
}

export class ListeningArea implements AreaApi, AreaControl {
  readonly #options: ListeningAreaOptions;
  #listener: Listener | undefined;
  #current: HttpService;
  #isClosing = false;
  #hasServed = false;

  readonly control = this;
  readonly data: AreaData;
  readonly snapshots: AreaSnapshots;
  readonly clients: AreaClients;

  /** The current handler; for an area that main mounts under a prefix. */
  readonly http: HttpService;

  constructor(options: ListeningAreaOptions) {
    const { area, limits, version } = options.plan;
    this.#options = options;
    this.data = options.service;
    this.snapshots = options.persistence;
    this.clients = options.service.clients ?? noClients;
    const idle = this.#refusing(options.shard === undefined ? areaNotServing(area) : notOwner(area));
    this.#current = options.shard?.forwarding?.frontOf() ?? idle;
    const current: HttpService = {
      handle: (request) => this.#current.handle(request),
      bodyBytesMax: (target) => this.#current.bodyBytesMax(target),
      refuseEarly: (head) => this.#current.refuseEarly?.(head),
      refusal: (failure, target) => refusalOf(this.#current, failure, target),
    };
    this.http = withOpenApi(current, {
      cors: limits.cors,
      // Most servers never need it, and start without its tables.
      async print() {
        const { areaDocument } = await import("../../edge/openapi/area-documents.ts");
        return areaDocument(area, version);
      },
    });
  }

  async bind(): Promise<OpenPorts> {
    const { plan, service, shard, events, environment } = this.#options;
    events.state(shard === undefined ? "opening" : "standby");
    if (plan.listen !== undefined) {
      const options = {
        listen: plan.listen,
        headerBytesMax: plan.limits.headerBytesMax,
        peers: plan.limits.peers,
        name: plan.area,
      };
      this.#listener = await openListener(this.http, options, environment);
    }
    const respPort = await (shard === undefined ? service.openOwnPort?.(environment) : shard.resp?.open(environment));
    const clusterPort = await shard?.forwarding?.bind(environment, shard.resp?.passed);
    return { port: this.#listener?.port, respPort, clusterPort };
  }

  async open(claim?: ShardClaim): Promise<void> {
    const { service, persistence, shard, events } = this.#options;
    if (claim === undefined) await service.open();
    else await this.#openShard(claim);
    if (persistence.isSnapshotDue) events.snapshotDue();
    if (this.#isClosing) return;
    this.#hasServed = true;
    this.#current = shard?.named(service.http) ?? service.http;
    // Before connections that wait for the area are told that it is here.
    if (claim !== undefined && service.resp !== undefined) shard?.resp?.add(claim.shard, service.resp);
    shard?.forwarding?.serve(this.#current);
    events.state("serving");
  }

  async confirmed({ id }: { readonly id: number }): Promise<void> {
    this.#options.shard?.shard.confirmed(id);
  }

  async follow({ owner }: FollowedShard): Promise<void> {
    this.#options.shard?.forwarding?.frontOf().follow(owner);
  }

  async replaceKeys(keys: ForwardingKeys): Promise<void> {
    this.#options.shard?.forwarding?.replaceKeys(keys);
  }

  async changeTenants(changes: TenantChanges): Promise<readonly PlacedTenant[]> {
    return (await this.#options.shard?.tenants.change(changes)) ?? [];
  }

  prepareRelease(): Promise<void> {
    return this.#options.persistence.endSegment();
  }

  /** The only shard of an area is released when its node stops, so its port closes too. */
  release({ graceMs }: { readonly graceMs: number }): Promise<void> {
    return this.close(graceMs);
  }

  async close(graceMs: number): Promise<void> {
    const { service, shard, events, environment } = this.#options;
    const forwarding = shard?.forwarding;
    // A node releases a shard before it ends: meanwhile it tells other nodes that it serves the area no longer.
    if (this.#isClosing) return forwarding?.close(graceMs);
    this.#isClosing = true;
    events.state("draining");
    await Promise.all([
      this.#listener?.close(graceMs),
      this.#hasServed ? forwarding?.withdraw(graceMs) : forwarding?.close(graceMs),
      shard?.resp === undefined ? service.closeOwnPort?.(graceMs) : shard.resp.close(graceMs),
    ]);
    await shard?.tenants.closed();
    await service.close(graceMs);
    await shard?.shard.close();
    await environment.tracer?.flush();
    events.state("closed");
  }

  async figures(): Promise<readonly FamilySnapshot[]> {
    return this.#options.metrics.snapshot();
  }

  async #openShard(claim: ShardClaim): Promise<void> {
    const { plan, service, persistence, shard, events, environment } = this.#options;
    assert(shard !== undefined, "only a shard is claimed");
    if (shard.forwarding === undefined) this.#current = this.#refusing(areaNotServing(plan.area));
    events.state("opening");
    shard.tenants.opening();
    await shard.shard.open(claim, persistence, () => service.open(claim.tenants));
    if (shard.resp === undefined) await service.openOwnPort?.(environment);
    await shard.tenants.opened({ service, persistence });
  }

  #refusing(failure: RequestFailure): HttpService {
    const { plan, service } = this.#options;
    return refusingService(failure, plan.limits.requestBytesMax, service.http);
  }
}
