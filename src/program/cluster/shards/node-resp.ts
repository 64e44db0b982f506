/**
 * The RESP port of a node of a cluster, for every shard of the store that the node
 * serves, with the connections that other nodes pass on.
 *
 * (1) If nodes forward, the port is open from the start: a login for a database of
 *     another node goes on to that. A node without the port takes connections of
 *     others all the same.
 * (2) Otherwise it is open while the node serves a shard, because RESP has no word
 *     for another node.
 * (3) The connections of a shard that the node stops serving end, and their blocked
 *     commands with an error.
 */
import type { ByteStream } from "../../../edge/forward/byte-stream.ts";
import type { Caller } from "../../../edge/forward/forwarded-head.ts";
import type { RespListener } from "../../../edge/resp/listener.ts";
import type { Clock } from "../../../kernel/clock.ts";
import type { Metrics } from "../../../kernel/metrics.ts";
import type { AreaPlan } from "../../areas/area.ts";
import type { EventReporter } from "../../events/reporter.ts";
import type { ListenerEnvironment } from "../../listeners/listener.ts";
import { measureResp } from "../../metrics/store.ts";
import { openRespPort, type RespPortOptions } from "../../services/resp-port.ts";
import type { StoreShard } from "../../services/service.ts";
import { StoreShards, type StoreShardsOptions } from "./store-shards.ts";

export interface NodeRespOptions extends StoreShardsOptions {
  readonly plan: Pick<RespPortOptions["plan"], "limits"> & Pick<AreaPlan, "resp">;
  /** The clock of the sessions. */
  readonly clock: Clock;
  /** Undefined: nobody watches. */
  readonly reporter: EventReporter | undefined;
  readonly metrics: Metrics;
}

/** The connections that other nodes pass on. */
export interface PassedConnections {
  readonly connectionsMax: number;
  /** What takes the connection of a client, if this node serves the shard. */
  accept(shard: number, caller: Caller): ((stream: ByteStream) => void) | undefined;
}

export class NodeResp {
  readonly #options: NodeRespOptions;
  readonly #stores: StoreShards;
  #opening: Promise<void> | undefined;
  #listener: RespListener | undefined;
  #stop: () => void = () => {};
  #isClosing = false;

  constructor(options: NodeRespOptions) {
    this.#options = options;
    this.#stores = new StoreShards(options);
  }

  /**
   * Opens the port, if there is one and it is not open yet. Resolves with the real one. Rejects with a `StartRefusal`. keeps (1)
   * and (2)
   */
  async open(environment: ListenerEnvironment): Promise<number | undefined> {
    this.#opening ??= this.#open(environment);
    await this.#opening;
    return this.#options.plan.resp?.listen && this.#listener?.port;
  }

  /** Undefined if nodes do not forward. */
  get passed(): PassedConnections | undefined {
    const { plan, map } = this.#options;
    if (map === undefined || plan.resp === undefined) return undefined;
    return {
      connectionsMax: plan.resp.connectionsMax,
      accept: (shard, caller) => {
        const listener = this.#listener;
        return listener && this.#stores.isServed(shard) ? (stream) => listener.accept(stream, caller) : undefined;
      },
    };
  }

  /** A shard is served from now on. */
  add(number: number, shard: StoreShard): void {
    this.#stores.add(number, shard);
  }

  /** A shard is served no longer. Resolves when its connections have ended, at the latest after `graceMs`. keeps (3) */
  remove(number: number, graceMs: number): Promise<void> {
    return this.#stores.remove(number, graceMs);
  }

  /** Ends all connections within `graceMs`, and closes the port. keeps (3) */
  async close(graceMs: number): Promise<void> {
    const { real } = this.#options.clock;
    const endMs = real.monotonicMs() + graceMs;
    this.#isClosing = true;
    this.#stop();
    this.#listener?.stopAccepting();
    await this.#stores.removeAll(graceMs);
    await this.#listener?.close(Math.max(0, endMs - real.monotonicMs()));
  }

  async #open(environment: ListenerEnvironment): Promise<void> {
    const { plan, clock: storeClock, reporter: events, metrics } = this.#options;
    if (plan.resp === undefined || this.#isClosing) return;
    const { store, tokens, routes } = this.#stores;
    const isServing = (): boolean => this.#stores.isServing;
    const { listener, stop } = await openRespPort(
      { plan, resp: plan.resp, store, tokens, routes, storeClock, events, isServing },
      environment,
    );
    this.#listener = listener;
    this.#stop = stop;
    measureResp(metrics, listener);
    this.#stores.listening(listener);
  }
}
