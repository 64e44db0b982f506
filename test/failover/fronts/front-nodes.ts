/**
 * Three nodes of larder as real processes that forward requests to each other, on a
 * PostgreSQL that stays. Every connection between two nodes, and between a node and
 * PostgreSQL, goes through a link that can fail.
 */
import assert from "node:assert/strict";
import { freePort } from "../../harness/free-port.ts";
import { LinkProxy } from "../../harness/link-proxy.ts";
import { type CommandEnd, TestCluster } from "../../program/cluster/cluster-program.ts";
import { configOf, sql } from "../../program/cluster/shard-clients.ts";
import { oneThread, type RunningProgram } from "../../program/program-process.ts";
import { moment } from "../../simulation/kill/endings.ts";
import type { NodeAddress } from "../cluster-requests.ts";
import { urlsOf } from "../larder-nodes.ts";

export const NODE_NAMES = ["a", "b", "c"] as const;
/** The databases of the store, in both of its shards. */
export const DATABASES = ["one", "two"] as const;
/** Of two shards for each area. */
export const SHARDS: readonly number[] = [1, 2, 3, 4, 5, 6];

const LOOK_MS = 100;
/** How long an answer of a node is on its way to another one: a good part of the time of a request. */
const ANSWER_MS = 15;

/** The address of a node in the table of nodes: the URL of its store, and the ports for other nodes. */
const ADDRESS = /^(\S+) 127\.0\.0\.1:(\d+),(\d+),(\d+)$/;

export interface FrontNode extends NodeAddress {
  readonly name: string;
  readonly respPort: number;
  readonly process: RunningProgram;
  /** From other nodes to its areas. */
  readonly inward: readonly LinkProxy[];
  /** From it to PostgreSQL. */
  readonly store: LinkProxy;
}

export class FrontNodes {
  readonly #cluster: TestCluster;
  readonly #config: readonly string[];
  readonly #running = new Map<string, FrontNode>();

  private constructor(cluster: TestCluster) {
    this.#cluster = cluster;
    this.#config = configOf(cluster, DATABASES);
  }

  /** Leaves nothing running if it rejects. */
  static async start(): Promise<FrontNodes> {
    const cluster = await TestCluster.start();
    const nodes = new FrontNodes(cluster);
    try {
      const { code, stderr } = await cluster.larder(["cluster", "init", "--shards", "2"]);
      assert.equal(code, 0, stderr);
      for (const name of NODE_NAMES) await nodes.startNode(name);
    } catch (error) {
      await nodes.stop();
      throw error;
    }
    return nodes;
  }

  /** Those that run. */
  get running(): readonly FrontNode[] {
    return [...this.#running.values()];
  }

  async startNode(name: string): Promise<void> {
    const url = new URL(this.#cluster.url);
    const store = await LinkProxy.start(Number(url.port));
    url.port = String(store.port);
    const respPort = await freePort();
    const args = [
      ...["--cluster-address", "127.0.0.1:0", "--takeover-wait", "30s", "--resp-port", String(respPort)],
      ...["--destinations", "any", "--shutdown-grace", "1s", ...oneThread, ...this.#config],
    ];
    const process_ = await this.#cluster.startNode(name, args, { LARDER_CLUSTER_URL: url.href });
    const inward = await this.#linkInward(name);
    this.#running.set(name, { name, respPort, process: process_, urls: urlsOf(process_), inward, store });
  }

  /** Other nodes find the areas of this one at the ends of links from now on. */
  async #linkInward(name: string): Promise<readonly LinkProxy[]> {
    const [row] = await sql<{ address: string }>(
      this.#cluster,
      `SELECT address FROM larder.node WHERE name = '${name}'`,
    );
    const [, storeUrl, ...ports] = ADDRESS.exec(row?.address ?? "") ?? [];
    assert.equal(ports.length, 3, `node ${name} has a port for each area: ${row?.address}`);
    const links: LinkProxy[] = [];
    for (const port of ports) links.push(await LinkProxy.start(Number(port), { answerMs: ANSWER_MS }));
    const address = `${storeUrl} 127.0.0.1:${links.map(({ port }) => port).join(",")}`;
    await sql(this.#cluster, `UPDATE larder.node SET address = '${address}' WHERE name = '${name}'`);
    return links;
  }

  /** The epochs of the shards of each area together, which grow with each owner. */
  async epochs(): Promise<ReadonlyMap<string, number>> {
    const text = "SELECT area, sum(epoch)::int AS epochs FROM larder.shard GROUP BY area";
    const rows = await sql<{ area: string; epochs: number }>(this.#cluster, text);
    return new Map(rows.map(({ area, epochs }) => [area, epochs]));
  }

  /** `larder cluster move`, past the links. */
  move(shard: number, node: string): Promise<CommandEnd> {
    return this.#cluster.larder(["cluster", "move", String(shard), node]);
  }

  /** SIGKILL. Its links stay until it starts again. */
  async kill(node: FrontNode): Promise<void> {
    this.#running.delete(node.name);
    await node.process.killGroup();
    this.#closeLinks(node);
  }

  /** Resolves when the others have declared a node dead, which takes them a lease. */
  async untilDead({ name }: FrontNode): Promise<void> {
    const text = `SELECT 1 FROM larder.node WHERE name = '${name}' AND is_dead`;
    while ((await sql(this.#cluster, text)).length === 0) await moment(LOOK_MS);
  }

  /** The node must end by itself, because it has lost its life. */
  async ends(node: FrontNode): Promise<void> {
    this.#running.delete(node.name);
    const { code } = await node.process.ended;
    this.#closeLinks(node);
    assert.equal(code, 3, node.process.log.slice(-2_000));
  }

  /** Nodes that have ended by themselves, with the end of their logs. */
  async ended(): Promise<readonly string[]> {
    const texts = await Promise.all(
      this.running.map(async ({ name, process: { ended, log } }) => {
        const end = await Promise.race([ended, undefined]);
        return end === undefined ? "" : `node ${name} ended with ${end.code ?? end.signal}\n${log.slice(-2_000)}`;
      }),
    );
    return texts.filter((text) => text !== "");
  }

  async stop(): Promise<void> {
    await this.#cluster.stop();
    for (const node of this.running) this.#closeLinks(node);
  }

  #closeLinks({ inward, store }: FrontNode): void {
    for (const link of [...inward, store]) link[Symbol.dispose]();
  }
}
