/**
 * The part of an area that takes part in forwarding between nodes: it sends
 * requests to the node that serves a shard, and accepts those of other nodes on a
 * port of its own.
 */
import { Front } from "../../../edge/forward/front.ts";
import { type InnerServiceOptions, innerService, innerTunnels } from "../../../edge/forward/inner-service.ts";
import { LinkSender } from "../../../edge/forward/link/sender.ts";
import { withLinks } from "../../../edge/forward/link/transport.ts";
import type { HttpService, RequestHead } from "../../../edge/handler.ts";
import type { Listener } from "../../../edge/http/listener.ts";
import { SharedKeys } from "../../../edge/http/shared-key.ts";
import { assert } from "../../../kernel/assert.ts";
import { systemClock } from "../../../kernel/clock.ts";
import type { Log } from "../../../kernel/log.ts";
import type { AreaLimits, AreaName } from "../../areas/area.ts";
import { type ListenerEnvironment, openListener } from "../../listeners/listener.ts";
import type { ForwardingKeys, ForwardingPlan } from "../shard-plan.ts";
import type { PassedConnections } from "../shards/node-resp.ts";
import { sparseLog } from "../sparse-log.ts";

export interface AreaForwardingOptions {
  readonly area: AreaName;
  readonly plan: ForwardingPlan;
  readonly limits: Pick<AreaLimits, "headerBytesMax">;
  /** Its limits and forms of errors, which need no recovered data. */
  readonly service: Pick<HttpService, "bodyBytesMax" | "refusal">;
  readonly log: Log;
  /** Its only shard, as far as this node knows. */
  readonly shard: number;
  /** The shards of the area, if it has several. */
  readonly several?: SeveralShards;
}

export interface SeveralShards {
  readonly shards: readonly number[];
  /** The service of a shard that this node serves, for a forwarded request; without one, of any shard. */
  serving(asked?: ForwardedHead): HttpService | undefined;
  /** Where a request for a shard belongs now; undefined: to that shard, as far as this node knows. */
  elsewhere?(shard: number, head: RequestHead): HttpService | undefined;
}

export type ForwardedHead = NonNullable<Parameters<InnerServiceOptions["serving"]>[0]>;

/** By this number the only shard of an area has its front. */
const ONLY_SHARD = 0;

/** How long the port stays open after a withdrawal: longer than a request is on its way, or in the queue of the system. */
const WITHDRAWAL_MS = 500;
const LOOK_MS = 5;
/** For the header of a forwarded request. */
const FORWARDED_BYTES_MAX = 1_024;

export class AreaForwarding {
  /** By shard; an area with one shard has it under 0. */
  readonly #fronts: ReadonlyMap<number, Front>;
  readonly #senders: readonly LinkSender[];
  /** Of the nodes that may connect to this one. */
  readonly #keys: SharedKeys;
  readonly #options: AreaForwardingOptions;
  #serving: HttpService | undefined;
  #listener: Listener | undefined;
  #closed: Promise<void> | undefined;

  constructor(options: AreaForwardingOptions) {
    const { area, plan, service, several } = options;
    const log = sparseLog(options.log, systemClock);
    this.#options = options;
    this.#keys = new SharedKeys(plan.keys.accepted);
    const held = { count: 0 };
    const senders: LinkSender[] = [];
    const frontOf = (shard: number): Front => {
      // Other nodes may know of further shards already, so they are told the real number.
      const number = several === undefined ? options.shard : shard;
      const sender = new LinkSender({ key: plan.keys.offered, clock: systemClock, shard: number, log });
      senders.push(sender);
      return new Front({
        ...{ area, service, sender, clock: systemClock, waitMs: plan.waitMs, held },
        elsewhere: (head) => several?.elsewhere?.(shard, head),
      });
    };
    this.#fronts = new Map((several?.shards ?? [ONLY_SHARD]).map((shard) => [shard, frontOf(shard)]));
    this.#senders = senders;
  }

  /** The front of a shard; without its number, of the only one. */
  frontOf(shard = ONLY_SHARD): Front {
    const front = this.#fronts.get(shard);
    assert(front !== undefined, "a shard has a front");
    return front;
  }

  /** The keys of the cluster have changed. Connections with a key that is no longer accepted end. */
  replaceKeys({ offered, accepted }: ForwardingKeys): void {
    this.#keys.replace(accepted);
    for (const sender of this.#senders) sender.offer(offered);
  }

  /**
   * Begins to accept requests of other nodes, and connections of RESP clients. Resolves with the real port. Rejects with a
   * `StartRefusal`.
   */
  async bind(environment: ListenerEnvironment, passed?: PassedConnections): Promise<number> {
    const { area, plan, limits, service, several, log: everyLog } = this.#options;
    const log = sparseLog(everyLog, systemClock);
    const inner = innerService({
      ...{ area, service },
      serving: (asked) => (several === undefined ? this.#serving : several.serving(asked)),
    });
    this.#listener = await openListener(
      inner,
      {
        listen: {
          ...{ host: plan.host, port: plan.port, portPlace: plan.place, hostPlace: plan.place },
          transport: plan.transport,
        },
        keys: this.#keys,
        besideHttp1: withLinks(log, passed?.accept),
        onHandshakeFailed: (remoteAddress) =>
          log.warn("a connection to the cluster address has not shown the key of this cluster", { remoteAddress }),
        headerBytesMax: limits.headerBytesMax + FORWARDED_BYTES_MAX,
        // The clients of a node come from one address, and it has applied the limits of clients.
        peers: { trustedProxies: [], connectionsPerAddressMax: undefined, bodyBytesPerSecondMin: undefined },
        name: `${area}-cluster`,
        ...(passed !== undefined && {
          onTunnel: innerTunnels({ area, accept: passed.accept }),
          tunnelsMax: passed.connectionsMax,
        }),
      },
      environment,
    );
    return this.#listener.port;
  }

  /** This node serves the only shard from now on. */
  serve(area: HttpService): void {
    this.#serving = area;
    this.frontOf().serve(area);
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
    const fronts = [...this.#fronts.values()].map((front) => front.close(graceMs));
    await Promise.all([...fronts, this.withdraw(graceMs)]);
    await this.#closed;
  }
}
