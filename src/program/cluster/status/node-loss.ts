/**
 * Whether the other nodes have the memory for the shards of a node that is lost.
 *
 * (1) Each shard goes where the nodes would claim it (`cluster/node/placement.ts`).
 * (2) A node has room while its largest tenants may still grow
 *     (`kernel/memory-guard.ts`): up to SOFT_SHARE of its limit. Above it, it serves
 *     what it took over, and refuses writes.
 */
import type { ClusterView, NodeView } from "../../../cluster/log-store/log-store.ts";
import { claimOrder } from "../../../cluster/node/placement.ts";
import { SOFT_SHARE } from "../../../kernel/memory-guard.ts";
import type { AreaName } from "../../areas/area.ts";
import { printMegabytes } from "../../cli/progress.ts";
import type { MemoryPool, NodeMemory } from "./node-memory.ts";

export interface NodeLoss {
  /** The name of the node that is lost. */
  readonly node: string;
  /** Null: it is not known. */
  readonly fits: boolean | null;
  /** Why not, or why it is not known; null: it fits. */
  readonly reason: string | null;
}

/** For each living node of a view that serves shards. `memory` has the reports by the lives of the nodes. */
export function lossesOf(view: ClusterView, memory: ReadonlyMap<string, NodeMemory>): readonly NodeLoss[] {
  const owners = new Set(view.shards.map(({ owner }) => owner));
  return view.nodes
    .filter(({ life, isDead }) => !isDead && owners.has(life))
    .map((node) => ({ node: node.name, ...lossOf(node, view, memory) }));
}

function lossOf(
  lost: NodeView,
  { nodes, shards }: ClusterView,
  memory: ReadonlyMap<string, NodeMemory>,
): Omit<NodeLoss, "node"> {
  const rest = nodes.map((node) => (node === lost ? { ...node, isDead: true } : node));
  const unreported = (name: string) => ({ fits: null, reason: `node ${name} has not reported its memory` });
  const own = memory.get(lost.life);
  if (own === undefined) return unreported(lost.name);
  /** What each pool would have to hold. */
  const needed = new Map<MemoryPool, { readonly node: string; bytes: number }>();
  for (const shard of shards.filter(({ owner }) => owner === lost.life)) {
    const bytes = own.shards[shard.shard];
    if (bytes === undefined) return { fits: null, reason: `node ${lost.name} has not reported shard ${shard.shard}` };
    const [name] = claimOrder(shard, rest); // keeps (1)
    if (name === undefined) return { fits: false, reason: `no other node lives that could serve shard ${shard.shard}` };
    const taker = memory.get(nodes.find((node) => node.name === name)?.life ?? "");
    const pool = taker?.pools.find(({ areas }) => areas.includes(shard.area as AreaName));
    if (pool === undefined) return unreported(name);
    const before = needed.get(pool) ?? { node: name, bytes: pool.usedBytes };
    needed.set(pool, { ...before, bytes: before.bytes + bytes });
  }
  const full = [...needed].filter(([{ limitBytes }, { bytes }]) => bytes > limitBytes * SOFT_SHARE); // keeps (2)
  if (full.length === 0) return { fits: true, reason: null };
  const texts = full.map(
    ([{ areas, limitBytes }, { node, bytes }]) =>
      `node ${node} would use ${printMegabytes(bytes)} of ${printMegabytes(limitBytes)} for ${areas.join(", ")}`,
  );
  return { fits: false, reason: texts.join("; ") };
}

/** A line for people. */
export function printLoss({ node, fits, reason }: NodeLoss): string {
  const outcome = fits === null ? "unknown" : fits ? "fits" : "does not fit";
  return `loss of node ${node}: ${outcome}${reason === null ? "" : `, because ${reason}`}`;
}
