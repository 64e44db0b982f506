/**
 * Which node should own a shard. Every node works it out alone from what it read,
 * and it decides nothing: only a claim does.
 */
import { hash } from "node:crypto";
import type { NodeView, ShardView } from "../log-store/log-store.ts";

/** Shards with larger numbers are hashed each time. */
const CACHED_SHARDS_MAX = 100_000;
/** Of names that a row has room for at first. */
const NAMES_MIN = 8;

/** Some nodes whose weights are compared for many shards. */
export interface NameGroup {
  readonly names: readonly string[];
  /** Where their weights are in the row of a shard. */
  readonly columns: Int32Array;
}

/** The rights of nodes to shards, of which each is hashed once: 100 nodes and 10,000 shards have 1,000,000, in 10 MB. */
export class Weights {
  readonly #columns = new Map<string, number>();
  readonly #names: string[] = [];
  /** By the number of the shard: the weights of the names, as far as they are known. */
  readonly #rows: Float64Array[] = [];
  #hashes = 0;

  /** How many were hashed. */
  get hashes(): number {
    return this.#hashes;
  }

  group(names: readonly string[]): NameGroup {
    return { names, columns: Int32Array.from(names, (name) => this.#columnOf(name)) };
  }

  /** The larger, the better. */
  weight(shard: number, name: string): number {
    const column = this.#columnOf(name);
    return this.#at(this.#rowOf(shard), shard, column);
  }

  /** How many of a group, without those of `except`, come before a node in the order of a shard. */
  countBefore(shard: number, name: string, { group, except }: { group: NameGroup; except: readonly string[] }): number {
    const { names, columns } = group;
    const own = this.weight(shard, name);
    const row = this.#rowOf(shard);
    let count = 0;
    for (let i = 0; i < columns.length; i += 1) {
      const weight = this.#at(row, shard, columns[i] as number);
      if (weight < own) continue;
      const other = names[i] as string;
      if ((weight > own || other < name) && !except.includes(other)) count += 1;
    }
    return count;
  }

  /** The first of the order of a shard; undefined without names. */
  first(shard: number, names: readonly string[]): string | undefined {
    let first: string | undefined;
    let most = Number.NEGATIVE_INFINITY;
    for (const name of names) {
      const weight = this.weight(shard, name);
      if (weight < most || (weight === most && first !== undefined && first < name)) continue;
      first = name;
      most = weight;
    }
    return first;
  }

  #at(row: Float64Array, shard: number, column: number): number {
    const weight = row[column] as number;
    if (!Number.isNaN(weight)) return weight;
    this.#hashes += 1;
    row[column] = weightOf(shard, this.#names[column] as string);
    return row[column] as number;
  }

  #columnOf(name: string): number {
    const known = this.#columns.get(name);
    if (known !== undefined) return known;
    this.#columns.set(name, this.#names.length);
    return this.#names.push(name) - 1;
  }

  #rowOf(shard: number): Float64Array {
    const known = this.#rows[shard];
    if (known !== undefined && this.#names.length <= known.length) return known;
    const row = new Float64Array(Math.max(NAMES_MIN, 1.25 * this.#names.length)).fill(Number.NaN);
    row.set(known ?? []);
    if (shard >= 0 && shard < CACHED_SHARDS_MAX) this.#rows[shard] = row;
    return row;
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

/** The living nodes that may claim shards which were written in a format, for many shards of it. */
export class Candidates {
  /** All of them that are not drained. */
  readonly staying: NameGroup;
  readonly drained: NameGroup;
  readonly #weights: Weights;

  constructor(nodes: readonly NodeView[], writerFormat: number, weights: Weights) {
    const able = nodes.filter((node) => !node.isDead && canRead(node, { writerFormat }));
    const namesOf = (some: readonly NodeView[]): NameGroup => weights.group(some.map(({ name }) => name));
    this.staying = namesOf(able.filter(({ isDrained }) => !isDrained));
    this.drained = namesOf(able.filter(({ isDrained }) => isDrained));
    this.#weights = weights;
  }

  /** The place of a node in `claimOrder`, in a time that grows with the nodes; undefined: it may not claim the shard. */
  rankOf(shard: ShardView, name: string): Rank | undefined {
    const { staying, drained } = this;
    const isDrained = drained.names.includes(name);
    if (!isDrained && !staying.names.includes(name)) return undefined;
    const candidates = staying.names.length + drained.names.length;
    const first = [...new Set(preferred(shard))].filter((each) => each !== undefined && staying.names.includes(each));
    if (first.includes(name)) return { index: first.indexOf(name), candidates };
    const group = isDrained ? drained : staying;
    const before = this.#weights.countBefore(shard.shard, name, { group, except: first as string[] });
    return { index: (isDrained ? staying.names.length : first.length) + before, candidates };
  }
}

/** The names that come before the order of a shard, if they are those of candidates. */
function preferred({ pin, heir, owner, ownerName }: ShardView): readonly (string | undefined)[] {
  const restarted = owner === undefined ? undefined : ownerName;
  const isGivenUp = heir !== undefined && owner === undefined && ownerName === pin;
  return [isGivenUp ? undefined : pin, heir, restarted];
}

/**
 * The names of the living nodes that may claim a free shard, in the order in which they do: the node that it is pinned
 * to unless that one has released it for another, the heir, the former owner if it has started again, and then the
 * rendezvous order. Drained nodes come after all
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

/**
 * The name of the node that follows an owned shard, so that it takes over without reading all of it: the first that would
 * claim it if its owner were gone, or that the shard will move to. Undefined if no living node owns it, or no other lives.
 */
export function standbyOf(
  shard: ShardView,
  { nodes, weights }: { readonly nodes: readonly NodeView[]; readonly weights: Weights },
): string | undefined {
  if (isFree(shard, nodes)) return undefined;
  const able = nodes.filter((node) => !node.isDead && node.life !== shard.owner && canRead(node, shard));
  const staying = able.filter(({ isDrained }) => !isDrained).map(({ name }) => name);
  const first = preferred(shard).find((name) => name !== undefined && staying.includes(name));
  if (first !== undefined || staying.length > 0) return first ?? weights.first(shard.shard, staying);
  return weights.first(
    shard.shard,
    able.map(({ name }) => name),
  );
}

/** The format of a front, a node that serves no shard: no shard has an older one. So nodes that know no fronts leave it out too. */
export const FRONT_FORMAT = 0;

export function isFront({ format }: Pick<NodeView, "format">): boolean {
  return format === FRONT_FORMAT;
}

/** Whether a node reads all that the owners of a shard may have written. */
export function canRead(
  { format }: Pick<NodeView, "format">,
  { writerFormat }: Pick<ShardView, "writerFormat">,
): boolean {
  return format >= writerFormat;
}
