/**
 * Which node should own a shard. Every node works it out alone from what it read,
 * and it decides nothing: only a claim does.
 */
import { createHash } from "node:crypto";
import type { NodeView, ShardView } from "../log-store/log-store.ts";

/**
 * The names of nodes in the order of their right to a shard (rendezvous hashing: Thaler and Ravishankar, 1998). A node
 * that comes or goes changes only the shards that it is the first for.
 */
export function rendezvousOrder(shard: number, names: readonly string[]): readonly string[] {
  const weights = new Map(names.map((name) => [name, weightOf(shard, name)]));
  const weight = (name: string): number => weights.get(name) ?? 0;
  return names.toSorted((a, b) => weight(b) - weight(a) || (a < b ? -1 : 1));
}

function weightOf(shard: number, name: string): number {
  return createHash("sha256").update(`${shard} ${name}`).digest().readUIntBE(0, 6);
}

/** Whether no living node owns a shard. */
export function isFree({ owner }: ShardView, nodes: readonly NodeView[]): boolean {
  return owner === undefined || !nodes.some(({ life, isDead }) => life === owner && !isDead);
}

/**
 * The names of the living nodes that may claim a free shard, in the order in which they do: the node that it is pinned
 * to, the heir, the former owner if it has started again, and then the rendezvous order. Drained nodes come after all
 * others: a shard that nobody else can serve is served by them.
 */
export function claimOrder(shard: ShardView, nodes: readonly NodeView[]): readonly string[] {
  const able = nodes.filter((node) => !node.isDead && canRead(node, shard));
  const names = able.filter(({ isDrained }) => !isDrained).map(({ name }) => name);
  const drained = able.filter(({ isDrained }) => isDrained).map(({ name }) => name);
  const restarted = shard.owner === undefined ? undefined : shard.ownerName;
  const first = [shard.pin, shard.heir, restarted].filter((name) => name !== undefined && names.includes(name));
  const { shard: number } = shard;
  return [...new Set([...(first as string[]), ...rendezvousOrder(number, names), ...rendezvousOrder(number, drained)])];
}

/**
 * The name of the node that should own a shard of `owner`, which may be `owner` itself. A drained owner keeps only
 * what no settled node can take.
 */
export function heirOf(
  shard: ShardView,
  owner: Pick<NodeView, "name" | "isDrained">,
  settled: readonly NodeView[],
): string {
  const names = settled.filter((node) => !node.isDrained && canRead(node, shard)).map(({ name }) => name);
  if (!owner.isDrained) names.push(owner.name);
  if (shard.pin !== undefined && names.includes(shard.pin)) return shard.pin;
  return rendezvousOrder(shard.shard, [...new Set(names)])[0] ?? owner.name;
}

function canRead({ format }: NodeView, { writerFormat }: ShardView): boolean {
  return format >= writerFormat;
}
