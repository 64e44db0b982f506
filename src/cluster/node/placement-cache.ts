/**
 * The places of shards as one node works them out, each once until something
 * changes that it depends on: the row of the shard, the nodes, or those that are
 * settled. A row that did not change is the same object (`watched-cluster.ts`).
 */
import type { NodeView, ShardView } from "../log-store/log-store.ts";
import { Candidates, heirOf, type Rank, type Weights } from "./placement.ts";

export class PlacementCache {
  readonly #name: string;
  readonly #weights: Weights;
  readonly #hashesBefore: number;
  #nodes: readonly NodeView[] = [];
  #settled: readonly NodeView[] = [];
  #isDrained = false;
  /** By the format of shards. */
  readonly #candidates = new Map<number, Candidates>();
  #ranks = new WeakMap<ShardView, { readonly rank: Rank | undefined }>();
  #heirs = new WeakMap<ShardView, string>();
  #placings = 0;

  /** For the node with this name. */
  constructor(name: string, weights: Weights) {
    this.#name = name;
    this.#weights = weights;
    this.#hashesBefore = weights.hashes;
  }

  /** How often a place was worked out. */
  get placings(): number {
    return this.#placings;
  }

  /** How many hashes were computed since, by all who share the weights. */
  get hashes(): number {
    return this.#weights.hashes - this.#hashesBefore;
  }

  /** The nodes of a poll, in which more than the beats have changed. */
  replaceNodes(nodes: readonly NodeView[]): void {
    this.#nodes = nodes;
    this.#candidates.clear();
    this.#ranks = new WeakMap();
  }

  /** The place of this node among the candidates for a free shard; undefined: it may not claim it. */
  rankOf(shard: ShardView): Rank | undefined {
    const known = this.#ranks.get(shard);
    if (known !== undefined) return known.rank;
    this.#placings += 1;
    const rank = this.#candidatesFor(shard).rankOf(shard, this.#name);
    this.#ranks.set(shard, { rank });
    return rank;
  }

  #candidatesFor({ writerFormat }: ShardView): Candidates {
    const known = this.#candidates.get(writerFormat);
    if (known !== undefined) return known;
    const candidates = new Candidates(this.#nodes, writerFormat, this.#weights);
    this.#candidates.set(writerFormat, candidates);
    return candidates;
  }

  /** The nodes that shards may move to. `isDrained`: this node should own none. */
  replaceSettled(settled: readonly NodeView[], isDrained: boolean): void {
    const before = this.#settled;
    const isKnown =
      isDrained === this.#isDrained &&
      settled.length === before.length &&
      settled.every((node, index) => isEqual(node, before[index]));
    if (isKnown) return;
    this.#settled = settled;
    this.#isDrained = isDrained;
    this.#heirs = new WeakMap();
  }

  /** The name of the node that should own a shard of this node. */
  heirOf(shard: ShardView): string {
    const known = this.#heirs.get(shard);
    if (known !== undefined) return known;
    this.#placings += 1;
    const owner = { name: this.#name, isDrained: this.#isDrained };
    const heir = heirOf(shard, owner, { settled: this.#settled, weights: this.#weights });
    this.#heirs.set(shard, heir);
    return heir;
  }

  /** The first of some nodes in the order of a shard; undefined without names. */
  firstOf(shard: number, names: readonly string[]): string | undefined {
    return this.#weights.first(shard, names);
  }
}

/** Whether two rows are the same for the places of shards. */
function isEqual(node: NodeView, other: NodeView | undefined): boolean {
  return node.name === other?.name && node.format === other.format && node.isDrained === other.isDrained;
}
