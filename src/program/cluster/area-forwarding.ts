/**
 * The part of an area that takes part in forwarding between nodes: it sends
 * requests to the node that serves the area, and accepts those of other nodes on a
 * port of its own.
 */
import { type AreaOwner, Front } from "../../edge/forward/front.ts";
import { innerService } from "../../edge/forward/inner-service.ts";
import { PoolSender } from "../../edge/forward/pool-sender.ts";
import type { HttpService } from "../../edge/handler.ts";
import type { Listener } from "../../edge/http/listener.ts";
import { systemClock } from "../../kernel/clock.ts";
import type { Log } from "../../kernel/log.ts";
import type { AreaLimits, AreaName } from "../areas/area.ts";
import { type ListenerEnvironment, openListener } from "../listeners/listener.ts";
import type { ForwardingPlan } from "./shard-plan.ts";
import { sparseLog } from "./sparse-log.ts";

export interface AreaForwardingOptions {
  readonly area: AreaName;
  readonly plan: ForwardingPlan;
  readonly limits: Pick<AreaLimits, "headerBytesMax">;
  /** Its limits and forms of errors, which need no recovered data. */
  readonly service: Pick<HttpService, "bodyBytesMax" | "refusal">;
  readonly log: Log;
}

/** How long the port stays open after a withdrawal: longer than a request is on its way, or in the queue of the system. */
const WITHDRAWAL_MS = 500;
const LOOK_MS = 5;
/** For the header of a forwarded request. */
const SIGNATURE_BYTES_MAX = 1_024;

export class AreaForwarding {
  readonly front: Front;
  readonly #options: AreaForwardingOptions;
  #serving: HttpService | undefined;
  #listener: Listener | undefined;
  #closed: Promise<void> | undefined;

  constructor(options: AreaForwardingOptions) {
    const { area, plan, service } = options;
    this.#options = options;
    const sender = new PoolSender({ key: plan.key, clock: systemClock });
    this.front = new Front({ area, service, sender, clock: systemClock, waitMs: plan.waitMs });
  }

  /** Begins to accept requests of other nodes. Resolves with the real port. Rejects with a `StartRefusal`. */
  async bind(environment: ListenerEnvironment): Promise<number> {
    const { area, plan, limits, service, log: everyLog } = this.#options;
    const log = sparseLog(everyLog, systemClock);
    const inner = innerService({
      ...{ area, key: plan.key, clock: systemClock, service },
      serving: () => this.#serving,
      onUnsigned: ({ remoteAddress }) => log.warn("a request to the cluster address is not signed", { remoteAddress }),
    });
    this.#listener = await openListener(
      inner,
      {
        listen: { host: plan.host, port: plan.port, portPlace: plan.place, hostPlace: plan.place },
        headerBytesMax: limits.headerBytesMax + SIGNATURE_BYTES_MAX,
        // The clients of a node come from one address, and it has applied the limits of clients.
        peers: { trustedProxies: [], connectionsPerAddressMax: undefined, bodyBytesPerSecondMin: undefined },
        name: `${area}-cluster`,
      },
      environment,
    );
    return this.#listener.port;
  }

  follow(owner: AreaOwner): void {
    this.front.follow(owner);
  }

  /** This node serves the area from now on. */
  serve(area: HttpService): void {
    this.#serving = area;
    this.front.serve(area);
  }

  /**
   * From now on this node does not serve the area, and says so to other nodes for a while, so that no request is on its way to
   * it when its port is closed. Resolves when requests under way are answered, or after `graceMs`.
   */
  async withdraw(graceMs: number): Promise<void> {
    this.#serving = undefined;
    if (this.#listener === undefined) return;
    const listener = this.#listener;
    this.#closed ??= new Promise((resolve) => systemClock.after(WITHDRAWAL_MS, () => resolve(listener.close(graceMs))));
    const endMs = systemClock.monotonicMs() + graceMs;
    while (listener.openRequestCount > 0 && systemClock.monotonicMs() < endMs)
      await new Promise<void>((resolve) => systemClock.after(LOOK_MS, resolve));
  }

  /** Ends the connections as well, those to other nodes too; what is under way has `graceMs`. */
  async close(graceMs: number): Promise<void> {
    await Promise.all([this.front.close(graceMs), this.withdraw(graceMs)]);
    await this.#closed;
  }
}
