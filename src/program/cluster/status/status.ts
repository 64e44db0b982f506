/** `larder cluster status`: the nodes and shards, as PostgreSQL has them, and what a person has to do. */

import type { ClusterView, NodeView, ShardView } from "../../../cluster/log-store/log-store.ts";
import { RECOVERY_TRIES_MAX, RENEWAL_PERIOD_MS } from "../../../cluster/node/bounds.ts";
import { canRead, isFree, isFront } from "../../../cluster/node/placement.ts";
import { PostgresLogStore } from "../../../cluster/postgres/postgres-log-store.ts";
import type { SqlSession, Statement } from "../../../cluster/postgres/session.ts";
import { systemClock } from "../../../kernel/clock.ts";
import { printMegabytes } from "../../cli/progress.ts";
import { findShard } from "../administer/find-shard.ts";
import { type ClusterFacts, readFacts, readIdentity, withSession } from "../cluster-facts.ts";
import type { ConnectionPlan } from "../connection-plan.ts";
import { ownerNameOf } from "../forwarding/forwarding-keys.ts";
import { parseNodeAddress, printClusterAddress } from "../node-address.ts";
import type { StandbyReport } from "../standby/standby-report.ts";
import { type MadeTenants, readMadeTenants, type TenantsState, tenantsStateOf } from "./made-tenants.ts";
import { lossesOf, type NodeLoss, printLoss } from "./node-loss.ts";
import { type NodeMemory, readMemory } from "./node-memory.ts";

/** `silent`: it has not renewed its lease between two looks, and is not declared dead yet. */
export type NodeState = "alive" | "silent" | "dead";

/**
 * `free`: no living node owns it, and one may claim it. `broken`: nobody claims it until `larder cluster retry`.
 * `unreadable`: no living node owns it, and none reads the format that it was written in.
 */
export type ShardState = "owned" | "claimed" | "free" | "broken" | "unreadable";

export interface ClusterStatus {
  readonly cluster: string;
  /** Databases, indexes and users that were made at run time. */
  readonly madeTenants: number;
  /** The address of the object store that snapshots go to; null: they go into PostgreSQL. */
  readonly files: string | null;
  readonly nodes: readonly {
    readonly name: string;
    readonly state: NodeState;
    /** Whether `larder cluster drain` keeps shards away from it. */
    readonly isDrained: boolean;
    /** What it has of them: all, an earlier state, or nothing because it has no key of the cluster. */
    readonly tenants: TenantsState;
    /** The URL of its store, as clients on its machine reach it. */
    readonly address: string;
    /** Where other nodes forward requests to: its host, and the ports of the areas; null: nowhere. */
    readonly clusterAddress: string | null;
    /** What the header Larder-Owner of its answers calls it, where `--owner-header` is on. */
    readonly ownerName: string;
    /** Whether it serves no shard (`--front on`). */
    readonly isFront: boolean;
    /** The newest format of journals that it reads and writes; 0 for a front. */
    readonly format: number;
  }[];
  readonly shards: readonly {
    readonly shard: number;
    readonly area: string;
    readonly state: ShardState;
    /** The name of the last owner; null before the first. */
    readonly owner: string | null;
    readonly epoch: number;
    /** Claims without a recovery. */
    readonly tries: number;
    /** The living nodes that follow it: usually one. */
    readonly standbys: readonly {
      readonly node: string;
      /** What a takeover by it would have to read from PostgreSQL, and how long something has been missing. */
      readonly missingBytes: number;
      readonly missingSeconds: number;
    }[];
    /** Why its owner cannot read its snapshot from the object store, or write the next one; null: it can, or has no need to. */
    readonly objectTrouble: string | null;
    /** The newest format of its owners: only nodes that read it may claim the shard. */
    readonly format: number;
  }[];
  /** Of each living node that serves shards: whether the others have the memory for them. */
  readonly losses: readonly NodeLoss[];
}

/** A node that lives renews between two looks. */
const LOOK_AGAIN_MS = 2 * RENEWAL_PERIOD_MS;

const FILES: Statement = {
  name: "larder-files-status",
  text: "SELECT to_jsonb(c) ->> 'files' AS files FROM larder.cluster c",
};

async function readFiles(session: SqlSession): Promise<string | undefined> {
  const [row] = (await session.run<{ files: string | null }>(FILES, [])).rows;
  return row?.files ?? undefined;
}

/** Looks twice. Throws a `StartRefusal`. */
export async function readClusterStatus(plan: ConnectionPlan, place: string): Promise<ClusterStatus> {
  return withSession(plan, place, async (session) => {
    const facts = await readFacts(session);
    const store = new PostgresLogStore(session);
    const first = await store.watch();
    await new Promise<void>((resolve) => systemClock.after(LOOK_AGAIN_MS, resolve));
    const last = await store.watch();
    const made = await readMadeTenants(session, facts.version);
    return statusOf(facts, { first, last, memory: await readMemory(session), made, files: await readFiles(session) });
  });
}

export interface Looks {
  readonly first: ClusterView;
  readonly last: ClusterView;
  /** The reports of the nodes by their lives. */
  readonly memory: ReadonlyMap<string, NodeMemory>;
  readonly made: MadeTenants;
  readonly files?: string | undefined;
}

/** The status by two looks at the cluster, LOOK_AGAIN_MS apart. */
export function statusOf(
  facts: Pick<ClusterFacts, "id" | "shards">,
  { first, last, memory, made, files }: Looks,
): ClusterStatus {
  const beats = new Map(first.nodes.map(({ life, beat }) => [life, beat]));
  const stateOf = ({ life, beat, isDead }: NodeView): NodeState => {
    if (isDead) return "dead";
    return beats.get(life) === beat ? "silent" : "alive";
  };
  return {
    cluster: facts.id,
    madeTenants: made.count,
    files: files ?? null,
    nodes: last.nodes.map((node) => {
      const { url, cluster } = parseNodeAddress(node.address);
      const clusterAddress = cluster === undefined ? null : printClusterAddress(cluster);
      const { name, isDrained, format } = node;
      const ownerName = ownerNameOf(facts, name);
      const tenants = tenantsStateOf(made, node.life, last.tenants);
      const kind = { state: stateOf(node), isDrained, isFront: isFront(node) };
      return { name, ...kind, tenants, address: url, clusterAddress, ownerName, format };
    }),
    shards: last.shards.map((shard) => ({
      shard: shard.shard,
      area: shard.area,
      state: shardStateOf(shard, last.nodes),
      owner: shard.ownerName ?? null,
      epoch: shard.epoch,
      tries: shard.tries,
      standbys: last.nodes.flatMap((node) => {
        const report: StandbyReport | undefined = memory.get(node.life)?.standbys?.[shard.shard];
        const missingBytes = report?.bytes ?? null;
        if (report === undefined || missingBytes === null) return [];
        if (stateOf(node) !== "alive" || node.life === shard.owner) return [];
        return [{ node: node.name, missingBytes, missingSeconds: report.seconds }];
      }),
      objectTrouble: memory.get(shard.owner ?? "")?.objects?.[shard.shard] ?? null,
      format: shard.writerFormat,
    })),
    // A silent node takes over nothing.
    losses: lossesOf(
      { ...last, nodes: last.nodes.map((node) => ({ ...node, isDead: stateOf(node) !== "alive" })) },
      memory,
    ),
  };
}

function shardStateOf(shard: ShardView, nodes: readonly NodeView[]): ShardState {
  if (!isFree(shard, nodes)) return shard.tries === 0 ? "owned" : "claimed";
  if (shard.tries >= RECOVERY_TRIES_MAX) return "broken";
  const living = nodes.filter((node) => !node.isDead && !isFront(node));
  // Without nodes nobody knows which version starts first.
  return living.length === 0 || living.some((node) => canRead(node, shard)) ? "free" : "unreadable";
}

/** Whether each shard is served by a node that lives. */
export function isWhole({ nodes, shards }: ClusterStatus): boolean {
  const alive = new Set(nodes.filter(({ state }) => state === "alive").map(({ name }) => name));
  return shards.every(({ state, owner }) => state === "owned" && owner !== null && alive.has(owner));
}

/** The lines for people. */
export function printStatus({ cluster, madeTenants, files, nodes, shards, losses }: ClusterStatus): readonly string[] {
  // Without a key anywhere, nobody makes tenants at run time.
  const hasKey = madeTenants > 0 || nodes.some(({ state, tenants }) => state === "alive" && tenants !== "without key");
  // Everybody reads everything, except while nodes are upgraded to a version with another format.
  const isMixed =
    new Set([...nodes.filter((node) => node.state === "alive" && !node.isFront), ...shards].map(({ format }) => format))
      .size > 1;
  return [
    `cluster ${cluster}`,
    ...(madeTenants === 0 ? [] : [`databases, indexes and users made at run time: ${madeTenants}`]),
    ...(files === null ? [] : [`snapshots go to ${files}`]),
    ...nodes.map(
      ({ name, state, isDrained, isFront: isOnlyFront, tenants, address, clusterAddress, ownerName, format }) => {
        const facts = [state, ...(isDrained ? ["drained"] : []), ...(isOnlyFront ? ["front"] : []), address];
        if (clusterAddress !== null) facts.push(`cluster address ${clusterAddress}`);
        facts.push(`owner name ${ownerName}`);
        if (isMixed && !isOnlyFront) facts.push(`format ${format}`);
        if (hasKey && state === "alive" && tenants === "without key")
          facts.push("without LARDER_CLUSTER_KEY: start it again with the key of the other nodes");
        if (state === "alive" && tenants === "behind") facts.push("has not seen the last change of tenants");
        return `node ${name}: ${facts.join(", ")}`;
      },
    ),
    ...(nodes.length === 0 ? ["no node has started yet"] : []),
    ...shards.map(({ shard, area, state, owner, epoch, tries, format, standbys, objectTrouble }) => {
      const who =
        owner === null ? "" : state === "owned" || state === "claimed" ? ` by ${owner}` : `, last by ${owner}`;
      const facts = [`epoch ${epoch}`, ...(tries > 0 ? [`${tries} claims without a recovery`] : [])];
      if (isMixed) facts.push(`format ${format}`);
      facts.push(...standbys.map(printStandby));
      if (objectTrouble !== null)
        facts.push(`${tries > 0 ? "waits for its snapshot" : "the next snapshot fails"}: ${objectTrouble}`);
      return `shard ${shard} (${area}): ${state}${who}, ${facts.join(", ")}${remedyOf({ shard, state, owner })}`;
    }),
    ...losses.map(printLoss),
  ];
}

function printStandby({
  node,
  missingBytes,
  missingSeconds,
}: ClusterStatus["shards"][number]["standbys"][number]): string {
  if (missingBytes === 0) return `standby ${node} has all of it`;
  return `standby ${node} lacks ${printMegabytes(missingBytes)} of the last ${missingSeconds} s`;
}

function remedyOf({ shard, state, owner }: Pick<ClusterStatus["shards"][number], "shard" | "state" | "owner">): string {
  switch (state) {
    case "broken":
      return `; see the log of ${owner ?? "its nodes"}, then run larder cluster retry ${shard}`;
    case "unreadable":
      return "; no living node reads that format: start a node of the newer version";
    default:
      return "";
  }
}

/** Lets nodes claim a broken shard again. Returns the lines to print. Throws a `StartRefusal`. */
export async function retryShard(plan: ConnectionPlan, place: string, operand: string): Promise<readonly string[]> {
  return withSession(plan, place, async (session) => {
    await readIdentity(session);
    const store = new PostgresLogStore(session);
    const { shard } = findShard(await store.watch(), operand);
    await store.forgetTries(shard);
    return [`shard ${shard}: nodes may claim it again`];
  });
}
