/** Three nodes of larder as real processes on one PostgreSQL that fails over. */
import { assert } from "../../src/kernel/assert.ts";
import { secrets, TestCluster } from "../program/cluster/cluster-program.ts";
import type { RunningProgram } from "../program/program-process.ts";
import type { NodeAddress } from "./cluster-requests.ts";

const NAMES = ["a", "b", "c"] as const;

export interface LarderNode extends NodeAddress {
  readonly name: string;
  readonly process: RunningProgram;
}

/** Where clients find the areas of a node. */
export function urlsOf({ storeUrl: store, environment }: RunningProgram): NodeAddress["urls"] {
  return {
    store,
    messaging: environment["QSTASH_URL"] ?? "",
    vector: environment["UPSTASH_VECTOR_REST_URL"] ?? "",
  };
}

export class LarderNodes {
  readonly #cluster: TestCluster;
  readonly #running = new Map<string, LarderNode>();

  private constructor(url: string) {
    this.#cluster = TestCluster.on(url);
  }

  /** On the members of a URL. Leaves nothing running if it rejects. */
  static async start(url: string): Promise<LarderNodes> {
    const nodes = new LarderNodes(url);
    try {
      const { code, stderr } = await nodes.#cluster.larder(["cluster", "init"]);
      assert(code === 0, `a cluster was made: ${stderr}`);
      for (const name of NAMES) await nodes.startNode(name);
    } catch (error) {
      await nodes.stop();
      throw error;
    }
    return nodes;
  }

  /** Those that run. */
  get running(): readonly LarderNode[] {
    return [...this.#running.values()];
  }

  async startNode(name: string): Promise<void> {
    const process_ = await this.#cluster.startNode(name, ["--destinations", "any"]);
    this.#running.set(name, { name, process: process_, urls: urlsOf(process_) });
  }

  /** The node whose store answers, if one does. */
  async owner(): Promise<LarderNode | undefined> {
    for (const node of this.running) {
      const response = await fetch(`${node.urls.store}/ping`, {
        headers: { authorization: `Bearer ${secrets["LARDER_STORE_TOKEN"]}` },
      }).catch(() => undefined);
      if (response?.status === 200) return node;
    }
    return undefined;
  }

  async kill({ name, process: process_ }: LarderNode): Promise<void> {
    this.#running.delete(name);
    await process_.killGroup();
  }

  /** Lets a node stand still until `untilTaken` resolves, and then resolves when it has ended by itself. */
  async pause({ name, process: process_ }: LarderNode, untilTaken: () => Promise<void>): Promise<void> {
    this.#running.delete(name);
    process.kill(process_.pid, "SIGSTOP");
    try {
      await untilTaken();
    } finally {
      process.kill(process_.pid, "SIGCONT");
    }
    await process_.ended;
  }

  /** Nodes that have ended by themselves, with the end of their logs. */
  get ended(): Promise<readonly string[]> {
    return Promise.all(
      this.running.map(async ({ name, process: { ended, log } }) => {
        const end = await Promise.race([ended, undefined]);
        return end === undefined ? "" : `node ${name} ended with ${end.code ?? end.signal}\n${log.slice(-2_000)}`;
      }),
    ).then((texts) => texts.filter((text) => text !== ""));
  }

  stop(): Promise<void> {
    return this.#cluster.stop();
  }
}
