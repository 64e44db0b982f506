/** A process of a simulated cluster: a node with its engines, which can be paused, killed and started again. */
import type { ClusterChanges, LogStore } from "../../../../src/cluster/log-store/log-store.ts";
import { ClusterNode, type ClusterNodeOptions, type NodeStores } from "../../../../src/cluster/node/cluster-node.ts";
import type { Random } from "../../../../src/kernel/random.ts";
import { type NodeDirectory, nodeOptions } from "../node-options.ts";
import type { Believer, ClusterRules } from "./cluster-rules.ts";
import { SimulatedHost, type SimulatedHostOptions } from "./simulated-host.ts";
import { MachineClock, type SimulatedTime } from "./simulated-time.ts";
import { type LinkFaults, openLink, type StoreServer } from "./store-server.ts";

/** A mistake that is built into each node. */
export interface ClusterBug {
  /** Changes the options of a node before it starts. */
  readonly options?: (options: ClusterNodeOptions) => ClusterNodeOptions;
  /** Changes a node that has started. */
  readonly started?: (node: ClusterNode, options: ClusterNodeOptions) => void;
  readonly engineClock?: SimulatedHostOptions["engineClock"];
  readonly mayCall?: SimulatedHostOptions["mayCall"];
}

export interface ProcessOptions {
  readonly time: SimulatedTime;
  readonly server: StoreServer;
  readonly rules: ClusterRules;
  readonly random: Random;
  readonly name: string;
  readonly format: number;
  readonly reads: "lease" | "confirm";
  /** What the data directory has; changed by the process. */
  readonly directory: NodeDirectory;
  readonly clock: { readonly rate: number; readonly wallMs: number };
  readonly latencyMs: number;
  readonly doubtful: number;
  drawLife(): string;
  isPoisoned(shard: number): boolean;
  readonly bug: ClusterBug | undefined;
}

export class SimulatedProcess implements Believer {
  readonly name: string;
  readonly format: number;
  readonly clock: MachineClock;
  readonly faults: LinkFaults;
  readonly host: SimulatedHost;
  node: ClusterNode | undefined;
  /** Whether its name was taken. */
  isRefused = false;
  isPaused = false;
  hasEnded = false;
  isDraining = false;
  hasLeft = false;
  #waiting: (() => void)[] = [];
  readonly #options: ProcessOptions;

  constructor(options: ProcessOptions) {
    const { time, rules, random, name, format, latencyMs, doubtful, isPoisoned, bug } = options;
    this.#options = options;
    this.name = name;
    this.format = format;
    this.clock = new MachineClock(time, options.clock, this.#deliver);
    this.faults = { isCut: false, isRenewalCut: false, frozen: undefined, doubtful, latencyMs };
    const { engineClock, mayCall } = bug ?? {};
    this.host = new SimulatedHost({
      name,
      format,
      store: this.#link(),
      clock: this.clock,
      random,
      rules,
      isPoisoned,
      ...(engineClock && { engineClock }),
      ...(mayCall && { mayCall }),
    });
    void this.#start();
  }

  get life(): string | undefined {
    return this.node?.life;
  }

  get isRunning(): boolean {
    return !this.isPaused && !this.hasEnded;
  }

  readonly answered = (): readonly { shard: number; epoch: number }[] => {
    const { node, host } = this;
    if (node === undefined || this.#options.reads === "confirm" || !node.lease.isFresh()) return [];
    return node.shards.held().filter(({ shard }) => host.serves(shard));
  };

  serves(shard: number): boolean {
    return this.isRunning && this.host.lostReason === undefined && this.host.serves(shard);
  }

  kill(): void {
    this.hasEnded = true;
    this.node?.stop();
  }

  resume(): void {
    this.isPaused = false;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const task of waiting) this.#deliver(task);
  }

  drain(): void {
    const { node } = this;
    if (node === undefined || this.isDraining) return;
    this.isDraining = true;
    this.#options.rules.leaving.add(node.life);
    void node.drain().then(() => {
      this.hasLeft = true;
    });
  }

  /** Runs a task of the process when it runs. */
  readonly #deliver = (task: () => void): void => {
    if (this.hasEnded) return;
    if (this.isPaused) this.#waiting.push(task);
    else task();
  };

  #link(isForRenewals = false): LogStore {
    const { server, random } = this.#options;
    return openLink({ server, random, faults: this.faults, isForRenewals, deliver: this.#deliver });
  }

  /** Compares what the node knows after each poll with what the store had. */
  #polls(): NodeStores["polls"] {
    const { server, rules, name } = this.#options;
    const link = this.#link();
    let last: ClusterChanges | undefined;
    this.host.saw = ({ view }) => {
      if (last !== undefined) rules.saw(name, view, server.whatItHad(last));
    };
    return {
      watch: () => link.watch(),
      watchChanges: async (position) => {
        last = await link.watchChanges(position);
        return last;
      },
    };
  }

  async #start(): Promise<void> {
    const { name, format, reads, directory, drawLife, bug, rules } = this.#options;
    const { clock, host } = this;
    const stores = { renewals: this.#link(true), polls: this.#polls(), changes: this.#link() };
    const options = nodeOptions({ stores, clock, host, name, format, reads, directory, drawLife });
    try {
      const changed = bug?.options?.(options) ?? options;
      const node = await ClusterNode.start(changed);
      if (this.hasEnded) return;
      this.node = node;
      this.isRefused = node === undefined;
      if (node === undefined) return;
      bug?.started?.(node, changed);
      host.reads = node.reads;
      host.deposed = (shard) => node.lose(`an append to shard ${shard} was refused`);
    } catch (error) {
      rules.fault ??= error instanceof Error ? error : new Error(String(error));
    }
  }
}
