/**
 * Which node should own a shard. Every node works it out alone from what it read,
 * and it decides nothing: only a claim does.
 */
import { hash } from "node:crypto";
import type { NodeView, ShardView } from "../log-store/log-store.ts";

/** The hashes of shards with larger numbers are computed each time. */
const CACHED_SHARDS_MAX = 100_000;

/** Weights, of which each is hashed once: with 100 nodes and 10,000 shards they are 1,000,000 hashes and 8 MB. */
export class Weights {
  readonly #ofNames = new Map<string, Float64Array>();
  #hashes = 0;

  /** How many were hashed. */
  get hashes(): number {
    return this.#hashes;
  }

  /** The right of a node to a shard: the larger, the better. */
  weight(shard: number, name: string): number {
    if (shard < 0 || shard >= CACHED_SHARDS_MAX) return this.#hash(shard, name);
    const known = this.#cacheOf(name, shard);
    const weight = known[shard] as number;
    if (!Number.isNaN(weight)) return weight;
    known[shard] = this.#hash(shard, name);
    return known[shard];
  }

  /** Whether `a` comes before `b` in the order of a shard. */
  isBefore(shard: number, a: string, b: string): boolean {
    const difference = this.weight(shard, a) - this.weight(shard, b);
    return difference > 0 || (difference === 0 && a < b);
  }

  /** The first of the order of a shard; undefined without names. */
  first(shard: number, names: readonly string[]): string | undefined {
    let first: string | undefined;
    for (const name of names) if (first === undefined || this.isBefore(shard, name, first)) first = name;
    return first;
  }

  #hash(shard: number, name: string): number {
    this.#hashes += 1;
    return weightOf(shard, name);
  }

  #cacheOf(name: string, shard: number): Float64Array {
    const known = this.#ofNames.get(name);
    if (known !== undefined && shard < known.length) return known;
    const longer = new Float64Array(Math.min(CACHED_SHARDS_MAX, Math.max(64, 2 * shard))).fill(Number.NaN);
    longer.set(known ?? []);
    this.#ofNames.set(name, longer);
    return longer;
  }
}

/**
 * The names of nodes in the order of their right to a shard (rendezvous hashing: Thaler and Ravishankar, 1998). A node
 * that comes or goes changes only the shards that it is the first for.
 */
export function rendezvousOrder(shard: number, names: readonly string[]): readonly string[] {
  const weights = new Map(names.map((name) => [name, weightOf(shard, name)]));
  const weight = (name: string): number => weights.get(name) ?? 0;
  return names.toSorted((a, b) => weight(b) - weight(a) || (a < b ? -1 : 1));
}

/** The first digits of a hash that are read: 48 bits. */
const WEIGHT_DIGITS = 12;

function weightOf(shard: number, name: string): number {
  return Number.parseInt(hash("sha256", `${shard} ${name}`, "hex").slice(0, WEIGHT_DIGITS), 16);
}

/** A number from 0 to before 1 that differs between the lives of nodes. */
export function shareOf(life: string): number {
  return weightOf(0, life) / 16 ** WEIGHT_DIGITS;
}

/** Whether no living node owns a shard. */
export function isFree({ owner }: ShardView, nodes: readonly NodeView[]): boolean {
  return owner === undefined || !nodes.some(({ life, isDead }) => life === owner && !isDead);
}

/** The place of a node among the candidates for a free shard, counted from 0, and their number. */
export interface Rank {
  readonly index: number;
  readonly candidates: number;
}

/** The place of a node in `claimOrder`, in a time that grows with the nodes; undefined: it may not claim the shard. */
export function claimRank(
  shard: ShardView,
  name: string,
  { nodes, weights }: { readonly nodes: readonly NodeView[]; readonly weights: Weights },
): Rank | undefined {
  const able = nodes.filter((node) => !node.isDead && canRead(node, shard));
  const own = able.find((node) => node.name === name);
  if (own === undefined) return undefined;
  const staying = able.filter(({ isDrained }) => !isDrained);
  const isStaying = (each: string | undefined): boolean => staying.some((node) => node.name === each);
  const first = [...new Set(preferred(shard))].filter(isStaying);
  const candidates = able.length;
  if (first.includes(name)) return { index: first.indexOf(name), candidates };
  const ahead = (own.isDrained ? able.filter(({ isDrained }) => isDrained) : staying).filter(
    (node) => node.name !== name && !first.includes(node.name) && weights.isBefore(shard.shard, node.name, name),
  );
  return { index: (own.isDrained ? staying.length : first.length) + ahead.length, candidates };
}

/** The names that come before the order of a shard, if they are those of candidates. */
function preferred({ pin, heir, owner, ownerName }: ShardView): readonly (string | undefined)[] {
  const restarted = owner === undefined ? undefined : ownerName;
  return [pin, heir, restarted];
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
  const first = preferred(shard).filter((name) => name !== undefined && names.includes(name));
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
  { settled, weights }: { readonly settled: readonly NodeView[]; readonly weights: Weights },
): string {
  const names = settled.filter((node) => !node.isDrained && canRead(node, shard)).map(({ name }) => name);
  if (!owner.isDrained) names.push(owner.name);
  if (shard.pin !== undefined && names.includes(shard.pin)) return shard.pin;
  return weights.first(shard.shard, names) ?? owner.name;
}

function canRead({ format }: NodeView, { writerFormat }: ShardView): boolean {
  return format >= writerFormat;
}
