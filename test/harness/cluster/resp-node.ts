/**
 * The part of a node that RESP clients see, over real sockets: its port, the port for connections that other nodes pass
 * on, and the shards that it serves. Who owns a shard is what the test says, without PostgreSQL.
 */
import { TokenTable } from "../../../src/edge/auth.ts";
import type { NamedKey } from "../../../src/edge/http/shared-key.ts";
import { ByteBudget } from "../../../src/edge/limits/byte-budget.ts";
import { type Clock, systemClock } from "../../../src/kernel/clock.ts";
import { createLog } from "../../../src/kernel/log.ts";
import { Metrics } from "../../../src/kernel/metrics.ts";
import { Turns } from "../../../src/kernel/turns.ts";
import type { ListenPlan, RespPlan } from "../../../src/program/areas/area.ts";
import { AreaForwarding } from "../../../src/program/cluster/forwarding/area-forwarding.ts";
import { NodeResp } from "../../../src/program/cluster/shards/node-resp.ts";
import { type ListenerEnvironment, measureListeners } from "../../../src/program/listeners/listener.ts";
import type { Store } from "../../../src/store/mod.ts";
import { RawPeer } from "../raw-peer.ts";
import { type Session, startSession } from "../store-harness.ts";

const KEY = new Uint8Array(32).fill(5);
export const NODE_KEY: NamedKey = { name: "larder-0", secret: KEY };
/** The shard of each database. */
const SHARDS = new Map([
  ["red", 1],
  ["tan", 4],
]);
const LISTEN: ListenPlan = { host: "127.0.0.1", port: 0, portPlace: "--resp-port", hostPlace: "--host" };

export const tokenOf = (name: string): string => `token-of-${name}`;
const log = createLog({ level: "error", format: "json", clock: systemClock, sink: () => {} });

export interface RespNodeOptions {
  readonly resp?: Partial<RespPlan>;
  readonly waitMs?: number;
  readonly redisCompat?: boolean;
  /** The databases of the configuration. */
  readonly names?: readonly string[];
  /** The clock of the sessions. Absent: the real one. */
  readonly clock?: Clock;
}

export class RespNode {
  readonly resp: NodeResp;
  readonly forwarding: AreaForwarding;
  readonly metrics = new Metrics();
  readonly served = new Set<number>();
  respPort: number | undefined = undefined;
  clusterPort = 0;
  readonly #name: string;

  constructor(
    name: string,
    { resp, waitMs = 60_000, redisCompat = false, names = [...SHARDS.keys()], clock = systemClock }: RespNodeOptions,
  ) {
    this.#name = name;
    const shards = [...SHARDS.values()];
    this.forwarding = new AreaForwarding({
      ...{ area: "store", shard: 1, log, limits: { headerBytesMax: 10_000 }, service: { bodyBytesMax: () => 100 } },
      plan: {
        keys: { offered: NODE_KEY, accepted: [NODE_KEY] },
        ...{ host: "127.0.0.1", port: 0, place: "--cluster-address", transport: "larder", waitMs },
      },
      several: {
        shards,
        serving: (asked) => (this.served.has(asked?.caller.port ?? 0) ? serviceOfNothing : undefined),
      },
    });
    const tokens = new TokenTable(KEY);
    for (const name of names) tokens.replaceTenant(name, [{ token: tokenOf(name), access: "standard" }]);
    const peers = { trustedProxies: [], connectionsPerAddressMax: undefined, bodyBytesPerSecondMin: undefined };
    this.resp = new NodeResp({
      plan: {
        limits: { requestBytesMax: 100_000_000, peers, redisCompat },
        resp: { listen: LISTEN, connectionsMax: 100, tls: undefined, ...resp },
      },
      ...{ clock, turns: new Turns({ clock: systemClock }), reporter: undefined, metrics: this.metrics },
      tokens,
      map: {
        ...{ databaseNames: names, shards, shardOf: (name) => SHARDS.get(name) },
        routeTo: (shard) => this.forwarding.frontOf(shard),
      },
    });
  }

  async open(): Promise<void> {
    const environment: ListenerEnvironment = {
      ...{ clock: systemClock, log, budget: new ByteBudget(1e9), figures: measureListeners(new Metrics()) },
    };
    this.respPort = await this.resp.open(environment);
    this.clusterPort = await this.forwarding.bind(environment, this.resp.passed);
  }

  /** This node has the shard of a database from now on; without a store, of a new one whose user `ann` may do anything. */
  serve(name: string, store = newStore(name)): Store {
    const shard = SHARDS.get(name) ?? 0;
    const tokens = new TokenTable(KEY);
    tokens.replaceTenant(name, [{ token: tokenOf(name), access: "standard" }]);
    this.served.add(shard);
    this.resp.add(shard, { store, tokens, listening: () => {} });
    this.forwarding.frontOf(shard).serve(serviceOfNothing);
    return store;
  }

  async release(name: string, graceMs = 60_000): Promise<void> {
    const shard = SHARDS.get(name) ?? 0;
    this.served.delete(shard);
    const removed = this.resp.remove(shard, graceMs);
    this.forwarding.frontOf(shard).serve(undefined);
    await removed;
  }

  /** Another node has the shard of a database. */
  follow(name: string, owner: RespNode): void {
    const at = { node: owner.#name, host: "127.0.0.1", port: owner.clusterPort };
    this.forwarding.frontOf(SHARDS.get(name)).follow({ kind: "node", at });
  }

  client(): Promise<RawPeer> {
    return RawPeer.open(this.respPort ?? 0);
  }

  /** Its open connections, with those that other nodes have passed on. */
  get connectionCount(): number | undefined {
    const family = this.metrics.snapshot().find(({ name }) => name === "larder_resp_connections");
    return family?.series[0]?.values[0];
  }

  async close(graceMs = 0): Promise<void> {
    await Promise.all([this.resp.close(graceMs), this.forwarding.close(graceMs)]);
  }
}

const serviceOfNothing = {
  handle: () => ({ status: 200, headers: [], body: "" }),
  bodyBytesMax: () => 100,
};

function newStore(name: string): Store {
  const { store } = startSession();
  store.database(name).users.set("ann", ["on", ">password", "~*", "&*", "+@all"]);
  return store;
}

/**
 * The port of a node that owns nothing, before a node with this store. Clients need no login, as with `--redis-compat`.
 * The store may have no database yet but `main`.
 */
export async function startFrontPort({
  store,
  clock,
}: Pick<Session, "store" | "clock">): Promise<{ readonly port: number; close(graceMs: number): Promise<void> }> {
  const options = { redisCompat: true, names: ["red"], clock } as const;
  const owner = new RespNode("owner", options);
  const front = new RespNode("front", options);
  await owner.open();
  await front.open();
  store.dropDatabase("main");
  store.database("red");
  owner.serve("red", store);
  front.follow("red", owner);
  return {
    port: front.respPort ?? 0,
    async close(graceMs) {
      await Promise.all([front.close(graceMs), owner.close(graceMs)]);
    },
  };
}
