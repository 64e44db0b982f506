/** Many nodes with many shards over the model of the log store, in virtual time and without faults. */
import { ClusterNode, type NodeStores } from "../../../../src/cluster/node/cluster-node.ts";
import { Weights } from "../../../../src/cluster/node/placement.ts";
import type { ShardHost, TakenShard } from "../../../../src/cluster/node/shard-host.ts";
import { VirtualClock } from "../../../../src/kernel/clock.virtual.ts";
import { ModelDatabase, ModelLogStore } from "../model-log-store.ts";
import { emptyDirectory, nodeOptions } from "../node-options.ts";
import { Traffic } from "./traffic.ts";

/** So short that the first node in the order of each shard claims it before it is the turn of the second. */
const LOAD_MS = 10;

class EmptyHost implements ShardHost {
  readonly #clock: VirtualClock;
  readonly lostFor: string[] = [];

  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  async load(_: TakenShard): Promise<void> {
    await new Promise<void>((resolve) => this.#clock.after(LOAD_MS, resolve));
  }

  async unload(): Promise<void> {}

  mayMove(): boolean {
    return true;
  }

  lost(reason: string): void {
    this.lostFor.push(reason);
  }
}

export interface LargeNode {
  readonly name: string;
  readonly node: ClusterNode;
  readonly host: EmptyHost;
}

/** The work of nodes for placement since the last look. */
export interface Work {
  readonly looks: number;
  readonly placings: number;
  readonly hashes: number;
}

export class LargeCluster {
  readonly clock = new VirtualClock();
  readonly database = new ModelDatabase(() => this.clock.nowMs());
  readonly traffic = new Traffic();
  readonly nodes: LargeNode[] = [];
  readonly #store = new ModelLogStore({ database: this.database, mayCommit: () => Promise.resolve(true) });
  readonly #weights = new Weights();
  #lives = 0;
  #worked = { looks: 0, placings: 0, hashes: 0 };

  static async create(shards: number): Promise<LargeCluster> {
    const cluster = new LargeCluster();
    const hashSeed = Buffer.alloc(4);
    await cluster.#store.addShards(
      Array.from({ length: shards }, (_, i) => ({ shard: i + 1, area: "store", hashSeed })),
    );
    return cluster;
  }

  async start(name: string): Promise<LargeNode> {
    const host = new EmptyHost(this.clock);
    const { clock } = this;
    const counted = this.traffic.counted(this.#store);
    const stores: NodeStores = { renewals: counted, polls: counted, changes: counted };
    this.#lives += 1;
    const life = `00000000-0000-4000-8000-${`${this.#lives}`.padStart(12, "0")}`;
    const options = nodeOptions({ stores, clock, host, name, directory: emptyDirectory(), drawLife: () => life });
    const node = await ClusterNode.start({ ...options, weights: this.#weights });
    if (node === undefined) throw new Error(`${name} was refused`);
    const started = { name, node, host };
    this.nodes.push(started);
    return started;
  }

  async advance(ms: number): Promise<void> {
    await this.clock.advanceAsync(ms);
  }

  /** How many shards each node has recovered and owns, by its name; "nobody" for the others. */
  async owners(): Promise<ReadonlyMap<string, number>> {
    const { nodes, shards } = await this.#store.watch();
    const nameOf = new Map(nodes.filter(({ isDead }) => !isDead).map(({ life, name }) => [life, name]));
    const counts = new Map<string, number>();
    for (const { owner, tries } of shards) {
      const name = (tries === 0 ? nameOf.get(owner ?? "") : undefined) ?? "nobody";
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    return counts;
  }

  /** What all nodes have worked out since the last call. */
  takeWork(): Work {
    const sum = (part: "looks" | "placings"): number =>
      this.nodes.reduce((total, { node }) => total + node.work[part], 0);
    const before = this.#worked;
    this.#worked = { looks: sum("looks"), placings: sum("placings"), hashes: this.#weights.hashes };
    return {
      looks: this.#worked.looks - before.looks,
      placings: this.#worked.placings - before.placings,
      hashes: this.#worked.hashes - before.hashes,
    };
  }
}
