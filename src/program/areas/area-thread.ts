/**
 * The areas of one thread: their shared parts, and how an area is built from its
 * plan. The modules of an area are loaded when it is built, so that a thread
 * loads only the modules that it runs.
 */
import { getHeapStatistics } from "node:v8";
import { TokenTable } from "../../edge/auth.ts";
import type { HttpService } from "../../edge/handler.ts";
import { ByteBudget } from "../../edge/limits/byte-budget.ts";
import { RateLimiter } from "../../edge/limits/rate-limit.ts";
import type { Tracer } from "../../edge/tracing.ts";
import { assert } from "../../kernel/assert.ts";
import { type Clock, systemClock } from "../../kernel/clock.ts";
import type { Log } from "../../kernel/log.ts";
import { MemoryGuard } from "../../kernel/memory-guard.ts";
import { Metrics } from "../../kernel/metrics.ts";
import { secretBytes } from "../../kernel/random.ts";
import { type TurnObserver, Turns } from "../../kernel/turns.ts";
import type { AreaShard } from "../cluster/area-shard.ts";
import type { AreaForwarding, AreaForwardingOptions } from "../cluster/forwarding/area-forwarding.ts";
import type { ShardReport } from "../cluster/shard-plan.ts";
import type { NodeResp } from "../cluster/shards/node-resp.ts";
import type { ThreadLinks } from "../cluster/shards/threads/thread-plan.ts";
import type { EventReporter } from "../events/reporter.ts";
import { type ListenerEnvironment, measureListeners } from "../listeners/listener.ts";
import { measureMemory } from "../metrics/tenants.ts";
import { measureTurns } from "../metrics/turns.ts";
import { openTracer } from "../services/open-telemetry.ts";
import type { AreaService, ServiceContext } from "../services/service.ts";
import { readThreadBytes, watchThreadMemory } from "../workers/thread-memory.ts";
import type { AreaApi, AreaEvents, AreaName, AreaPlan, AreaPlans } from "./area.ts";
import { underWayBytesMax } from "./area-memory.ts";
import { AreaPersistence } from "./area-persistence.ts";
import { ListeningArea, type ShardParts } from "./listening-area.ts";

const TOKEN_KEY_BYTES = 32;

export interface ThreadOptions {
  readonly log: Log;
  /** Absent: nobody watches. */
  readonly events?: EventReporter | undefined;
  /** The clock of the engines; sockets and disks always use the system's. */
  readonly clock: Clock;
  /** Memory is ahead of the disk and must not be served: the thread and the process must end. */
  readonly onFatal: (fault: unknown) => void;
  /** The memory limit of all areas of the thread together. */
  readonly memoryBytesMax: number;
  /** The largest request that the areas accept. */
  readonly requestBytesMax: number;
  /** Notified that the thread makes progress. */
  readonly observer?: TurnObserver;
}

const serviceLoaders: Readonly<Record<AreaName, (context: ServiceContext) => Promise<AreaService>>> = {
  store: async (context) => new (await import("../services/store-service.ts")).StoreService(context),
  messaging: async (context) => new (await import("../services/messaging-service.ts")).MessagingService(context),
  vector: async (context) => new (await import("../services/vector-service.ts")).VectorService(context),
};

export class AreaThread {
  readonly #options: ThreadOptions;
  /** Of every listener whose requests the areas of the thread answer. */
  readonly budget: ByteBudget;
  readonly #guard: MemoryGuard;
  readonly #stopWatching: () => void;
  /** Turns use the real thread's time, with any clock of the engines. */
  readonly #turns: Turns;

  constructor(options: ThreadOptions) {
    this.#options = options;
    // A heap that several areas share may be smaller than the sum of their limits.
    const bytesMax = Math.min(options.memoryBytesMax, getHeapStatistics().heap_size_limit);
    const budget = new ByteBudget(underWayBytesMax({ bytesMax, requestBytesMax: options.requestBytesMax }));
    this.budget = budget;
    const readUnderWayBytes = (): number => budget.usedBytes;
    this.#guard = new MemoryGuard({ bytesMax, readBytes: readThreadBytes, readUnderWayBytes });
    this.#stopWatching = watchThreadMemory(this.#guard);
    const { observer } = options;
    this.#turns = new Turns({ clock: systemClock, ...(observer !== undefined && { observer }) });
  }

  /** Stops watching its memory. */
  close(): void {
    this.#stopWatching();
  }

  /** Builds an area with its shards; it does nothing until it is opened. */
  async make(
    plans: AreaPlans,
    events: AreaEvents,
    { metrics = new Metrics(), links }: AreaParts = {},
  ): Promise<LocalArea> {
    const [plan] = plans;
    const log = this.#options.log.with({ area: plan.area });
    const tracer = await openTracer({ version: plan.version, log });
    measureTurns(metrics, this.#turns, plan.area);
    const shared = { log, tracer };
    if (plans.length > 1 || links !== undefined) return this.#makeSharded(plans, { ...shared, events, metrics, links });
    const { service, persistence, areaShard } = await this.#makeParts(plan, { ...shared, events, metrics });
    measureMemory(metrics, { guard: this.#guard, budget: this.budget });
    const shard = areaShard && (await this.#shardParts(plan, { shard: areaShard, service, log, metrics }));
    return new ListeningArea({
      ...{ plan, service, persistence, shard, events, metrics },
      environment: this.#environment({ ...shared, metrics }),
    });
  }

  /** Several shards of an area of a cluster. Their code is loaded only for them. */
  async #makeSharded(
    plans: AreaPlans,
    made: MakeOptions & { readonly links: ThreadLinks | undefined },
  ): Promise<LocalArea> {
    const { log, events, metrics, links } = made;
    const [{ shard: plan }] = plans;
    const { ShardedArea } = await import("../cluster/shards/sharded-area.ts");
    const { namedOwner } = await import("../../edge/forward/named-owner.ts");
    measureMemory(metrics, { guard: this.#guard, budget: this.budget });
    return ShardedArea.make({
      ...{ plans, events, metrics, links },
      environment: this.#environment(made),
      clock: this.#options.clock,
      turns: this.#turns,
      reporter: this.#options.events,
      make: async (each, shardEvents) => {
        const own = {
          ...made,
          log: log.with({ shard: each.shard?.shard }),
          events: shardEvents,
          metrics: new Metrics(),
        };
        const { service, persistence, areaShard } = await this.#makeParts(each, own);
        assert(areaShard !== undefined, "a shard has a directory");
        return { service, persistence, shard: areaShard, metrics: own.metrics };
      },
      forward: (service, several) => openForwarding(plans[0], { service, log, several }),
      named: (area) => namedOwner(area, plan?.ownerName),
    });
  }

  /** An engine with everything that it has for itself. */
  async #makeParts(plan: AreaPlan, { log, tracer, events, metrics }: MakeOptions): Promise<EngineParts> {
    const { clock: engineClock, onFatal, events: reporter } = this.#options;
    const areaShard = await openAreaShard(plan, { clock: engineClock, log, metrics, events });
    const clock = areaShard?.clock ?? engineClock;
    const persistence = new AreaPersistence({ plan, clock, log, metrics, events, onFatal, fence: areaShard });
    const tokens = new TokenTable(secretBytes(TOKEN_KEY_BYTES));
    const perSecond = plan.limits.requestsPerSecondMax;
    const limiter = perSecond === undefined ? undefined : new RateLimiter(systemClock, { perSecond, burst: perSecond });
    const turns = this.#turns;
    const shared = { turns, guard: this.#guard, onFatal, tracer, tokens, limiter, persistence, events: reporter };
    const service = await serviceLoaders[plan.area]({ plan, clock, log, metrics, ...shared });
    return { service, persistence, areaShard };
  }

  /** Of an area of a cluster that has one shard. */
  async #shardParts(plan: AreaPlan, { shard, service, log, metrics }: OnlyShard): Promise<ShardParts> {
    const { namedOwner } = await import("../../edge/forward/named-owner.ts");
    const { TenantsOfShard } = await import("../cluster/tenants/tenants-of-shard.ts");
    const { ownerName, shard: number = 0 } = plan.shard ?? {};
    const named = (each: HttpService): HttpService => namedOwner(each, ownerName);
    const forwarding = await openForwarding(plan, { service: service.http, log });
    const resp = forwarding && (await this.#respOf(plan, { shard, forwarding, metrics }));
    return { shard, tenants: new TenantsOfShard(number), forwarding, resp, named };
  }

  /** The RESP port of the store on a node that takes part in forwarding. */
  async #respOf(
    plan: AreaPlan,
    { shard, forwarding, metrics }: Pick<OnlyShard, "shard" | "metrics"> & { readonly forwarding: AreaForwarding },
  ): Promise<NodeResp | undefined> {
    if (plan.resp === undefined || plan.shard === undefined) return undefined;
    const number = plan.shard.shard;
    const { NodeResp } = await import("../cluster/shards/node-resp.ts");
    return new NodeResp({
      ...{ plan, clock: shard.clock, reporter: this.#options.events, metrics, turns: this.#turns },
      // Its owner knows all tokens, and judges every login.
      tokens: { find: () => undefined },
      map: {
        databaseNames: plan.tenants.map(({ name }) => name),
        shards: [number],
        shardOf: () => number,
        routeTo: () => forwarding.frontOf(),
      },
    });
  }

  #environment({ log, tracer, metrics }: Pick<MakeOptions, "log" | "tracer" | "metrics">): ListenerEnvironment {
    return {
      ...{ clock: systemClock, log, budget: this.budget, tracer },
      figures: measureListeners(metrics),
      events: this.#options.events,
    };
  }
}

export interface AreaParts {
  /** Gets the figures of the area. */
  readonly metrics?: Metrics;
  /** The other threads with shards of the area. */
  readonly links?: ThreadLinks | undefined;
}

interface MakeOptions {
  readonly log: Log;
  readonly tracer: Tracer | undefined;
  readonly events: AreaEvents;
  readonly metrics: Metrics;
}

interface OnlyShard extends Pick<MakeOptions, "log" | "metrics"> {
  readonly shard: AreaShard;
  readonly service: AreaService;
}

interface EngineParts {
  readonly service: AreaService;
  readonly persistence: AreaPersistence;
  /** Undefined on a single server. */
  readonly areaShard: AreaShard | undefined;
}

/** An area in this thread. */
export type LocalArea = AreaApi & { readonly http: HttpService };

/** The client of HTTP is loaded only where requests are forwarded. */
async function openForwarding(
  { area, limits, shard }: AreaPlan,
  options: Pick<AreaForwardingOptions, "service" | "log" | "several">,
): Promise<AreaForwarding | undefined> {
  if (shard?.forwarding === undefined) return undefined;
  const { AreaForwarding } = await import("../cluster/forwarding/area-forwarding.ts");
  return new AreaForwarding({ area, shard: shard.shard, plan: shard.forwarding, limits, ...options });
}

/** Undefined for an area of a single server, which does not load the code of a shard. */
async function openAreaShard(
  { shard: plan, directory, nameInFiles, fsync: mode }: AreaPlan,
  options: { readonly clock: Clock; readonly log: Log; readonly metrics: Metrics; readonly events: AreaEvents },
): Promise<AreaShard | undefined> {
  if (plan === undefined || directory === undefined) return undefined;
  const { AreaShard } = await import("../cluster/area-shard.ts");
  const report = (event: ShardReport): void => options.events.shard({ ...event, shard: plan.shard });
  return new AreaShard({ ...options, plan, directory, nameInFiles, mode, report });
}
