/**
 * One thread's areas: what areas in the same thread share, and how an area is
 * put together from its plan. The parts of an area are loaded when it is made,
 * so that a thread loads only what it runs.
 */
import { ByteBudget } from "../edge/byte-budget.ts";
import { IN_FLIGHT_BYTES_MAX } from "../edge/node-http.ts";
import type { Tracer } from "../edge/tracing.ts";
import { type Clock, systemClock } from "../kernel/clock.ts";
import type { Log } from "../kernel/log.ts";
import { Metrics } from "../kernel/metrics.ts";
import type { AreaEvents, AreaName, AreaPlan } from "./area.ts";
import { type AreaEngine, ListeningArea } from "./listening-area.ts";
import { openTracer } from "./open-telemetry.ts";

export interface ThreadOptions {
  readonly log: Log;
  /** The clock that engines live by; sockets and disks always live by the system's. */
  readonly clock: Clock;
  /** Memory is ahead of the disk and must not be served: the thread, and the process with it, has to end. */
  readonly onFatal: (fault: unknown) => void;
}

/** What the engine of an area is given. */
export interface EngineContext {
  readonly plan: AreaPlan;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly events: AreaEvents;
  readonly onFatal: (fault: unknown) => void;
  /** Absent: no spans are made. */
  readonly tracer: Tracer | undefined;
}

const engineLoaders: Readonly<Record<AreaName, (context: EngineContext) => Promise<AreaEngine>>> = {
  store: async (context) => new (await import("./store-engine.ts")).StoreEngine(context),
  messaging: async (context) => new (await import("./messaging-engine.ts")).MessagingEngine(context),
  vector: async (context) => new (await import("./vector-engine.ts")).VectorEngine(context),
};

export class AreaThread {
  readonly #options: ThreadOptions;
  readonly #budget = new ByteBudget(IN_FLIGHT_BYTES_MAX);

  constructor(options: ThreadOptions) {
    this.#options = options;
  }

  /** Puts an area together; it does nothing until it is opened. `metrics` takes its figures. */
  async make(plan: AreaPlan, events: AreaEvents, metrics = new Metrics()): Promise<ListeningArea> {
    const log = this.#options.log.with({ area: plan.area });
    const { clock, onFatal } = this.#options;
    const tracer = await openTracer({ version: plan.version, log });
    const engine = await engineLoaders[plan.area]({ plan, clock, log, metrics, events, onFatal, tracer });
    return new ListeningArea({
      plan,
      engine,
      events,
      metrics,
      surroundings: { clock: systemClock, log, budget: this.#budget, tracer },
    });
  }
}
