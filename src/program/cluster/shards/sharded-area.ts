/**
 * An area of a node whose cluster has several shards of it: one port, and for
 * each shard that the node has claimed an engine with a journal of its own. The
 * engines of an area are in one thread, or spread over several (`threads/`): then
 * each of these has such an area with its shards, and one of them the port.
 *
 * (1) An engine has the tenants of its shard only, and the router finds the shard of
 *     a request before an engine sees it. So no engine answers for the tenant of
 *     another one.
 * (2) The area is `serving` while it serves a shard: requests of others are
 *     forwarded or refused as by a node that serves nothing.
 */

import type { NamespacesPage } from "../../../edge/admin/namespaces.ts";
import { areaNotServing, backupOfCluster, type RequestFailure } from "../../../edge/errors.ts";
import { PROBE } from "../../../edge/forward/forwarded-head.ts";
import type { Front } from "../../../edge/forward/front.ts";
import type { HttpService, RequestHead } from "../../../edge/handler.ts";
import type { Listener } from "../../../edge/http/listener.ts";
import { withOpenApi } from "../../../edge/openapi/area.ts";
import { assert } from "../../../kernel/assert.ts";
import { type Clock, systemClock } from "../../../kernel/clock.ts";
import type { FamilySnapshot, Metrics } from "../../../kernel/metrics.ts";
import type { Turns } from "../../../kernel/turns.ts";
import type {
  AreaApi,
  AreaControl,
  AreaData,
  AreaEvents,
  AreaPlan,
  AreaPlans,
  AreaSnapshots,
  AreaState,
  FollowedShard,
  OpenPorts,
  TenantMemory,
  WantedNamespaces,
} from "../../areas/area.ts";
import { clientsOfAll } from "../../areas/area-clients.ts";
import type { AreaTenant, PlacedTenant, TenantChanges } from "../../areas/area-tenant.ts";
import type { EventReporter } from "../../events/reporter.ts";
import { type ListenerEnvironment, openListener } from "../../listeners/listener.ts";
import type { AreaService } from "../../services/service.ts";
import type { AreaForwarding, ForwardedHead, SeveralShards } from "../forwarding/area-forwarding.ts";
import type { ForwardingKeys, ShardClaim } from "../shard-plan.ts";
import { HostedShard, type HostedState, type ShardParts } from "./hosted-shard.ts";
import { NodeResp } from "./node-resp.ts";
import { mergeShardFamilies } from "./shard-figures.ts";
import { type RoutedShard, ShardRouter } from "./shard-router.ts";
import type { ShardMap } from "./store-shards.ts";
import { ThreadClient } from "./threads/thread-client.ts";
import type { OtherThread, ThreadLinks } from "./threads/thread-plan.ts";
import { ThreadServer } from "./threads/thread-server.ts";
import { ThreadShard } from "./threads/thread-shard.ts";

/** The limits and forms of errors of the area. */
type AreaForms = Pick<HttpService, "bodyBytesMax" | "refusal">;

export interface ShardedAreaOptions {
  readonly plans: AreaPlans;
  readonly events: AreaEvents;
  /** Of the thread, the listeners and the tenants. */
  readonly metrics: Metrics;
  readonly environment: ListenerEnvironment;
  /** The clock of the engines. */
  readonly clock: Clock;
  readonly turns: Turns;
  readonly reporter: EventReporter | undefined;
  /** Makes an engine, not opened. */
  make(plan: AreaPlan, events: AreaEvents): Promise<ShardParts>;
  /** The other threads with shards of the area; undefined: none. */
  readonly links: ThreadLinks | undefined;
  /** Undefined: this node does not take part in forwarding. */
  forward(service: AreaForms, several: SeveralShards): Promise<AreaForwarding | undefined>;
  /** The area, whose answers name this node if the settings want it. */
  named(area: HttpService): HttpService;
}

export class ShardedArea implements AreaApi, AreaControl, AreaData, AreaSnapshots {
  readonly #options: ShardedAreaOptions;
  readonly #shards: ReadonlyMap<number, HostedShard>;
  /** Those that other threads host. */
  readonly #others: ReadonlyMap<number, ThreadShard>;
  /** Of a thread that is not the front. */
  readonly #server: ThreadServer | undefined;
  readonly #router: ShardRouter;
  readonly #forwarding: AreaForwarding | undefined;
  /** Does nothing for other areas than the store. */
  readonly #resp: NodeResp;
  /** Why shards refuse writes. */
  readonly #troubles: Map<number, string>;
  #listener: Listener | undefined;
  /** The shard whose snapshot was prepared last, with its engine. */
  #prepared: ShardParts | undefined;
  #isClosing = false;
  #state: AreaState | undefined;

  readonly control = this;
  readonly data = this;
  readonly snapshots = this;
  readonly clients = clientsOfAll(() => this.#served.flatMap(({ parts }) => parts.service.clients ?? []));
  /** For an area that main mounts under a prefix. */
  readonly http: HttpService;

  private constructor(options: ShardedAreaOptions, parts: MadeParts) {
    const [{ area, limits, version }] = options.plans;
    this.#options = options;
    this.#forwarding = parts.forwarding;
    this.#troubles = parts.troubles;
    const frontOf = (number: number): Front | undefined => parts.forwarding?.frontOf(number);
    this.#shards = new Map(
      parts.made.map(({ number, plan, parts: own, make }) => {
        const { named } = options;
        const changed = (): void => this.#changed(number);
        const opened = ({ resp }: AreaService): void => {
          if (resp !== undefined) this.#resp.add(number, resp);
        };
        const hooks = { named, opened, changed };
        return [number, new HostedShard({ number, plan, parts: own, make, front: frontOf(number), ...hooks })];
      }),
    );
    this.#others = othersOf(options, this.#shards, frontOf);
    this.#router = new ShardRouter(
      options.plans.map(numberOf).map((number) => this.#shards.get(number) ?? this.#otherOf(number)),
    );
    this.#server = this.#serverOf();
    const { turns, clock, reporter, metrics } = options;
    const { tokens } = this.#router;
    this.#resp = new NodeResp({ plan: options.plans[0], turns, clock, reporter, metrics, tokens, map: this.#map() });
    this.http = withOpenApi(this.#router, {
      cors: limits.cors,
      async print() {
        const { areaDocument } = await import("../../../edge/openapi/area-documents.ts");
        return areaDocument(area, version);
      },
    });
  }

  static async make(options: ShardedAreaOptions): Promise<ShardedArea> {
    const troubles = new Map<number, string>();
    const made: MadeShard[] = [];
    const elsewhere = otherThreadsOf(options).flatMap(({ shards }) => shards);
    for (const plan of options.plans) {
      const number = numberOf(plan);
      if (elsewhere.includes(number)) continue;
      const events = eventsOfShard(options.events, number, troubles);
      const make = (): Promise<ShardParts> => options.make(plan, events);
      made.push({ number, plan, make, parts: await make() });
    }
    let area: ShardedArea | undefined;
    const routerOf = (): ShardRouter => {
      assert(area !== undefined, "requests come after the start");
      return area.#router;
    };
    const forms = {
      bodyBytesMax: (target: string) => routerOf().bodyBytesMax(target),
      refusal: (failure: RequestFailure, target: string) => routerOf().refusal(failure, target),
    };
    const shards = options.plans.map(numberOf);
    const forwarding = await options.forward(forms, {
      shards,
      serving: (asked) => area?.servingFor(asked),
      elsewhere: (shard, head) => (area === undefined ? undefined : area.#router.elsewhere(shard, head)),
    });
    area = new ShardedArea(options, { made, forwarding, troubles });
    return area;
  }

  /** What this node serves: for a probe, or a request that was forwarded; without either, of anything. */
  servingFor(asked: ForwardedHead | undefined): HttpService | undefined {
    if (this.#isClosing) return undefined;
    const all = new Map<number, RoutedShard>([...this.#shards, ...this.#others]);
    if (asked === undefined) return [...all.values()].find(({ serving }) => serving !== undefined)?.serving;
    const { head, caller } = asked;
    if (caller.address === PROBE.address) return all.get(caller.port)?.serving;
    return this.#router.servingFor(head);
  }

  async bind(): Promise<OpenPorts> {
    const { plans, environment } = this.#options;
    const [{ area, listen, limits }] = plans;
    this.#report();
    if (listen !== undefined) {
      const { headerBytesMax, peers } = limits;
      this.#listener = await openListener(this.http, { listen, headerBytesMax, peers, name: area }, environment);
    }
    const respPort = this.#forwarding && (await this.#resp.open(environment));
    const clusterPort = await this.#forwarding?.bind(environment, this.#resp.passed);
    return { port: this.#listener?.port, respPort, clusterPort };
  }

  async open(claim?: ShardClaim): Promise<void> {
    assert(claim !== undefined, "a shard is opened by a claim");
    const shard = this.#get(claim.shard);
    await shard.open(claim);
    if (shard.parts.persistence.isSnapshotDue) this.#options.events.snapshotDue(shard.number);
    if (shard.serving !== undefined) await this.#resp.open(this.#options.environment);
  }

  async confirmed({ shard, id }: { readonly shard: number; readonly id: number }): Promise<void> {
    this.#get(shard).parts.shard.confirmed(id);
  }

  async follow({ shard, owner }: FollowedShard): Promise<void> {
    (this.#others.get(shard) ?? this.#get(shard)).follow(owner);
  }

  async replaceKeys(keys: ForwardingKeys): Promise<void> {
    this.#forwarding?.replaceKeys(keys);
  }

  /** The router first: it must not find the shard of a token that its engine refuses. */
  async changeTenants(changes: TenantChanges): Promise<readonly PlacedTenant[]> {
    for (const { shard: number, ...tenant } of changes.put) {
      const shard = this.#shards.get(number) ?? this.#others.get(number);
      if (shard !== undefined) this.#router.setTenant(shard, tenant);
    }
    for (const { name } of [...changes.closed, ...changes.removed]) this.#router.removeTenant(name);
    return (await Promise.all([...this.#shards.values()].map((shard) => shard.changeTenants(changes)))).flat();
  }

  prepareRelease(shard: number): Promise<void> {
    return this.#get(shard).parts.persistence.endSegment();
  }

  async release({ shard, graceMs }: { readonly shard: number; readonly graceMs: number }): Promise<void> {
    const hosted = this.#get(shard);
    await hosted.release(graceMs, this.#resp.remove(shard, graceMs));
    reportTrouble(this.#options.events, this.#troubles, { shard, reason: undefined });
  }

  async close(graceMs: number): Promise<void> {
    if (this.#isClosing) return;
    this.#isClosing = true;
    this.#report();
    const { environment } = this.#options;
    await Promise.all([this.#listener?.close(graceMs), this.#forwarding?.close(graceMs), this.#resp.close(graceMs)]);
    await Promise.all([...this.#shards.values()].map((shard) => shard.close(graceMs)));
    await environment.tracer?.flush();
    this.#options.events.state("closed");
  }

  async figures(): Promise<readonly FamilySnapshot[]> {
    const shards = [...this.#shards.values()].map(({ number, parts }) => ({
      shard: number,
      families: parts.metrics.snapshot(),
    }));
    return [...this.#options.metrics.snapshot(), ...mergeShardFamilies(shards)];
  }

  async reset(): Promise<void> {
    await Promise.all(this.#served.map(({ parts }) => parts.service.reset()));
  }

  async tenantNames(shard?: number): Promise<readonly string[]> {
    const shards = shard === undefined ? this.#served : [this.#get(shard)];
    return (await Promise.all(shards.map(({ parts }) => parts.service.tenantNames()))).flat();
  }

  async tenantMemory(): Promise<readonly TenantMemory[]> {
    return (await Promise.all(this.#served.map(({ parts }) => parts.service.tenantMemory()))).flat();
  }

  async namespaces(wanted: WantedNamespaces): Promise<NamespacesPage | undefined> {
    const pages = await Promise.all(this.#served.map(({ parts }) => parts.service.namespaces?.(wanted)));
    return pages.find((page) => page !== undefined);
  }

  async setTokens(tenant: AreaTenant): Promise<void> {
    const other = this.#findOther(tenant.name);
    if (other !== undefined) return this.#router.setTenant(other, tenant);
    const shard = await this.#shardOf(tenant.name);
    await shard.parts.service.setTokens(tenant);
    this.#router.setTenant(shard, tenant);
  }

  async dropTenant(name: string): Promise<void> {
    if (this.#findOther(name) !== undefined) {
      this.#router.tokens.removeTenant(name);
      return;
    }
    const shard = await this.#shardOf(name);
    this.#router.tokens.removeTenant(name);
    await shard.parts.service.dropTenant(name);
  }

  /** PostgreSQL has the data. */
  async backUp(): Promise<number> {
    throw backupOfCluster;
  }

  async prepareSnapshot(shard?: number): Promise<void> {
    const { parts } = this.#get(shard ?? 0);
    this.#prepared = parts;
    await parts.persistence.prepareSnapshot();
  }

  async finishSnapshot(isWritten: boolean): Promise<boolean> {
    const prepared = this.#prepared;
    this.#prepared = undefined;
    // A shard that was released meanwhile has another engine.
    const isHere = this.#served.some(({ parts }) => parts === prepared);
    return prepared !== undefined && isHere ? prepared.persistence.finishSnapshot(isWritten) : false;
  }

  get #served(): readonly HostedShard[] {
    return [...this.#shards.values()].filter(({ state }) => state === "serving");
  }

  #get(number: number): HostedShard {
    const shard = this.#shards.get(number);
    assert(shard !== undefined, "the area has the shard");
    return shard;
  }

  #otherOf(number: number): ThreadShard {
    const other = this.#others.get(number);
    assert(other !== undefined, "another thread has the shard");
    return other;
  }

  /** The shard of a listed tenant, if another thread hosts it: that thread has its data. */
  #findOther(name: string): ThreadShard | undefined {
    return this.#others.get(this.#router.findShard(name)?.number ?? 0);
  }

  /** The served shard of a tenant; throws a RequestFailure if another node serves it. */
  async #shardOf(name: string): Promise<HostedShard> {
    const listed = this.#router.findShard(name);
    for (const shard of this.#served)
      if (shard === listed || (await shard.parts.service.tenantNames()).includes(name)) return shard;
    throw areaNotServing(this.#options.plans[0].area);
  }

  /** Where databases are, for logins over RESP. */
  #map(): ShardMap | undefined {
    const forwarding = this.#forwarding;
    if (forwarding === undefined) return undefined;
    const router = this.#router;
    return {
      get databaseNames() {
        return router.tenantNames;
      },
      shards: [...this.#shards.keys()],
      shardOf: (database) => router.findShard(database)?.number,
      routeTo: (shard) => forwarding.frontOf(shard),
    };
  }

  #serverOf(): ThreadServer | undefined {
    const { links, environment } = this.#options;
    if (links?.kind !== "engines") return undefined;
    const serving = (head: RequestHead): HttpService | undefined =>
      this.#isClosing ? undefined : this.#router.servingFor(head);
    return new ThreadServer({ ...environment, port: links.port, forms: this.#router, serving });
  }

  #changed(number: number): void {
    this.#server?.became(number, this.#get(number).state);
    this.#report();
  }

  /** keeps (2) */
  #report(): void {
    const states = [...this.#shards.values()].map(({ state }) => state);
    const first = (["serving", "opening", "standby"] as const).find((each) => states.includes(each));
    const state = this.#isClosing || first === undefined ? "draining" : first;
    if (state === this.#state) return;
    this.#state = state;
    this.#options.events.state(state);
  }
}

interface MadeShard {
  readonly number: number;
  readonly plan: AreaPlan;
  readonly parts: ShardParts;
  make(): Promise<ShardParts>;
}

interface MadeParts {
  readonly made: readonly MadeShard[];
  readonly forwarding: AreaForwarding | undefined;
  readonly troubles: Map<number, string>;
}

function otherThreadsOf({ links }: Pick<ShardedAreaOptions, "links">): readonly OtherThread[] {
  return links?.kind === "front" ? links.others : [];
}

/** The shards of the other threads. Those of this thread have the forms of the area. */
function othersOf(
  options: ShardedAreaOptions,
  own: ReadonlyMap<number, HostedShard>,
  frontOf: (number: number) => Front | undefined,
): ReadonlyMap<number, ThreadShard> {
  const others = new Map<number, ThreadShard>();
  const [first] = own.values();
  assert(first !== undefined, "each thread has a shard");
  const { http } = first.parts.service;
  for (const { thread, shards, port } of otherThreadsOf(options)) {
    const onShard = (number: number, state: HostedState): void => others.get(number)?.became(state);
    const client = new ThreadClient({ port, clock: systemClock, onShard });
    for (const plan of options.plans.filter((each) => shards.includes(numberOf(each)))) {
      const number = numberOf(plan);
      others.set(number, new ThreadShard({ number, plan, thread, client, front: frontOf(number), http }));
    }
  }
  return others;
}

function numberOf({ shard }: AreaPlan): number {
  assert(shard !== undefined, "a plan of several is that of a shard");
  return shard.shard;
}

/** An area has the trouble of one of its shards, until none of those that it serves has any. */
function reportTrouble(
  events: Pick<AreaEvents, "trouble">,
  troubles: Map<number, string>,
  { shard, reason }: { readonly shard: number; readonly reason: string | undefined },
): void {
  if (reason === undefined) troubles.delete(shard);
  else troubles.set(shard, reason);
  const [first] = troubles.values();
  events.trouble(first);
}

/** The events of an engine, of which the area reports those that are not of itself. */
function eventsOfShard(events: AreaEvents, shard: number, troubles: Map<number, string>): AreaEvents {
  return {
    state: () => {},
    replayed: (progress) => events.replayed(progress),
    trouble: (reason) => reportTrouble(events, troubles, { shard, reason }),
    snapshotDue: () => events.snapshotDue(shard),
    snapshotRequested: () => events.snapshotRequested(shard),
    problem: (problem) => events.problem(problem),
    shard: (event) => events.shard(event),
  };
}
