/**
 * An area with its port: the same life for every area, whatever is behind it.
 *
 *     opening    bound and answering 503, while the engine recovers
 *     serving    the engine answers
 *     draining   no new connection; what is being answered is finished
 *     closed     everything is on disk
 *
 * The port is bound before the recovery, so that a port in use is known at once
 * and not after a minute of replay.
 */
import { areaNotServing, type RequestFailure } from "../../edge/errors.ts";
import type { HttpReply, HttpService } from "../../edge/handler.ts";
import type { Listener } from "../../edge/http/listener.ts";
import { withOpenApi } from "../../edge/openapi/area.ts";
import { failureReply } from "../../edge/respond.ts";
import type { FamilySnapshot, Metrics } from "../../kernel/metrics.ts";
import { type ListenerSurroundings, openListener } from "../listeners/listener.ts";
import type { AreaApi, AreaEvents, AreaPlan, AreaTenant, OpenPorts } from "./area.ts";

/** What is behind the port of an area. */
export interface AreaService {
  readonly edge: HttpService;
  /** Listens where it listens besides: binds there, says that it is opening, and returns the real port. */
  openOwnPort?(surroundings: ListenerSurroundings): Promise<number | undefined>;
  closeOwnPort?(graceMs: number): Promise<void>;
  /** Recovers what is kept and starts what runs by itself. */
  open(): Promise<void>;
  /** Ends what it does by itself within `graceMs`, then writes and syncs the rest. No request comes any more. */
  close(graceMs: number): Promise<void>;
  reset(): Promise<void>;
  tenantNames(): readonly string[];
  setTokens(tenant: AreaTenant): Promise<void>;
  dropTenant(name: string): Promise<void>;
  backUp(target: string): Promise<number>;
  prepareSnapshot(): Promise<void>;
  finishSnapshot(isWritten: boolean): Promise<boolean>;
}

export interface ListeningAreaOptions {
  readonly plan: AreaPlan;
  readonly engine: AreaService;
  readonly events: AreaEvents;
  readonly metrics: Metrics;
  readonly surroundings: ListenerSurroundings;
}

export class ListeningArea implements AreaApi {
  readonly #options: ListeningAreaOptions;
  #listener: Listener | undefined;
  #current: HttpService;
  #isClosing = false;

  /** What answers now; for an area that main mounts below a prefix. */
  readonly edge: HttpService;

  constructor(options: ListeningAreaOptions) {
    const { area, limits, version } = options.plan;
    this.#options = options;
    this.#current = startingArea(area, limits.requestBytesMax, options.engine.edge);
    const current: HttpService = {
      handle: (request) => this.#current.handle(request),
      bodyBytesMax: (target) => this.#current.bodyBytesMax(target),
      refuseEarly: (head) => this.#current.refuseEarly?.(head),
      refusal: (failure, target) => this.#current.refusal?.(failure, target) ?? failureReply(failure),
    };
    this.edge = withOpenApi(current, {
      cors: limits.cors,
      // Most servers are never asked, and start without its tables.
      async print() {
        const { areaDocument } = await import("../../edge/openapi/area-documents.ts");
        return areaDocument(area, version);
      },
    });
  }

  async bind(): Promise<OpenPorts> {
    const { plan, engine, events, surroundings } = this.#options;
    events.state("opening");
    if (plan.listen !== undefined) {
      const wishes = {
        listen: plan.listen,
        headerBytesMax: plan.limits.headerBytesMax,
        peers: plan.limits.peers,
        name: plan.area,
      };
      this.#listener = await openListener(this.edge, wishes, surroundings);
    }
    const respPort = await engine.openOwnPort?.(surroundings);
    return { port: this.#listener?.port, respPort };
  }

  async open(): Promise<void> {
    const { engine, events } = this.#options;
    await engine.open();
    if (this.#isClosing) return;
    this.#current = engine.edge;
    events.state("serving");
  }

  async close(graceMs: number): Promise<void> {
    if (this.#isClosing) return;
    this.#isClosing = true;
    const { engine, events } = this.#options;
    events.state("draining");
    await Promise.all([this.#listener?.close(graceMs), engine.closeOwnPort?.(graceMs)]);
    await engine.close(graceMs);
    await this.#options.surroundings.tracer?.flush();
    events.state("closed");
  }

  async figures(): Promise<readonly FamilySnapshot[]> {
    return this.#options.metrics.snapshot();
  }

  reset(): Promise<void> {
    return this.#options.engine.reset();
  }

  async tenantNames(): Promise<readonly string[]> {
    return this.#options.engine.tenantNames();
  }

  setTokens(tenant: AreaTenant): Promise<void> {
    return this.#options.engine.setTokens(tenant);
  }

  dropTenant(name: string): Promise<void> {
    return this.#options.engine.dropTenant(name);
  }

  backUp(target: string): Promise<number> {
    return this.#options.engine.backUp(target);
  }

  prepareSnapshot(): Promise<void> {
    return this.#options.engine.prepareSnapshot();
  }

  finishSnapshot(isWritten: boolean): Promise<boolean> {
    return this.#options.engine.finishSnapshot(isWritten);
  }
}

/** 503 until the engine serves, in the shape of the area's other failures. */
export function startingArea(area: string, requestBytesMax: number, edge: Pick<HttpService, "refusal">): HttpService {
  const worded = (failure: RequestFailure, target: string): HttpReply =>
    edge.refusal?.(failure, target) ?? failureReply(failure);
  const refusal = { ...worded(areaNotServing(area), ""), route: "starting" };
  return {
    handle: () => refusal,
    bodyBytesMax: () => requestBytesMax,
    refuseEarly: () => refusal,
    refusal: worded,
  };
}
