/**
 * The shards of a cluster by what a node does with them: those without a living
 * owner, its own ones, and those that their owners have not recovered.
 *
 * (1) A poll that changed nothing looks at no shard, and one that changed some, or
 *     the owner of some, looks at those.
 */
import type { NodeView, ShardView } from "../log-store/log-store.ts";
import type { SeenChanges } from "./watched-cluster.ts";

export interface FreeShard {
  readonly row: ShardView;
  /** Since when it has been free, by the monotonic clock. */
  readonly sinceMs: number;
}

const NOBODY: ReadonlySet<number> = new Set();

export class WatchedShards {
  readonly #life: string;
  readonly #rows = new Map<number, ShardView>();
  readonly #ofOwner = new Map<string, Set<number>>();
  readonly #freeSinceMs = new Map<number, number>();
  /** Owned by a living node, and claimed without a recovery since. */
  readonly #unrecovered = new Set<number>();
  /** The releases that are announced, by their shards: under which epoch, and since when by the monotonic clock. */
  readonly #announced = new Map<number, { readonly epoch: number; readonly sinceMs: number }>();
  #alive: ReadonlySet<string> = new Set();
  /** Undefined: to be collected again. */
  #own: readonly ShardView[] | undefined;
  #free: readonly FreeShard[] | undefined;
  #looks = 0;

  /** For the node with this life. */
  constructor(life: string) {
    this.#life = life;
  }

  /** How many rows were looked at. */
  get looks(): number {
    return this.#looks;
  }

  /** What a poll has changed, which was answered at `nowMs`. keeps (1) */
  apply({ view, shards, haveNodesChanged }: SeenChanges, nowMs: number): void {
    const touched = new Set<number>();
    if (haveNodesChanged) for (const life of this.#changeAlive(view.nodes)) this.#addAll(touched, life);
    for (const row of shards) {
      this.#replace(row);
      touched.add(row.shard);
    }
    for (const shard of touched) this.#sort(shard, nowMs);
    if (touched.size === 0) return;
    this.#own = undefined;
    this.#free = undefined;
  }

  /** Those that this node owns, by their numbers. */
  get own(): readonly ShardView[] {
    this.#own ??= [...(this.#ofOwner.get(this.#life) ?? NOBODY)].sort(ascending).flatMap((shard) => this.#find(shard));
    return this.#own;
  }

  /** Those without a living owner, by their numbers. */
  get free(): readonly FreeShard[] {
    this.#free ??= [...this.#freeSinceMs]
      .sort(([a], [b]) => a - b)
      .flatMap(([shard, sinceMs]) => this.#find(shard).map((row) => ({ row, sinceMs })));
    return this.#free;
  }

  /** Those that a living node has claimed and not recovered yet. */
  get unrecovered(): readonly ShardView[] {
    return [...this.#unrecovered].flatMap((shard) => this.#find(shard));
  }

  /** Whether a shard is about to move, or free and released for a node that has not claimed it, since `sinceMs` or later. */
  isMoveAnnounced(sinceMs: number): boolean {
    for (const announced of this.#announced.values()) if (announced.sinceMs > sinceMs) return true;
    return false;
  }

  /** Whether each shard has a living owner that has recovered it, apart from those that `isExcused`. */
  isCalm(isExcused: (free: ShardView) => boolean): boolean {
    if (this.#unrecovered.size > 0) return false;
    return this.free.every(({ row }) => isExcused(row));
  }

  #find(shard: number): ShardView[] {
    const row = this.#rows.get(shard);
    return row === undefined ? [] : [row];
  }

  /** The lives that have begun or ended. */
  #changeAlive(nodes: readonly NodeView[]): readonly string[] {
    const before = this.#alive;
    this.#alive = new Set(nodes.filter(({ isDead }) => !isDead).map(({ life }) => life));
    const begun = [...this.#alive].filter((life) => !before.has(life));
    return [...begun, ...[...before].filter((life) => !this.#alive.has(life))];
  }

  #addAll(touched: Set<number>, life: string): void {
    for (const shard of this.#ofOwner.get(life) ?? NOBODY) touched.add(shard);
  }

  #replace(row: ShardView): void {
    const before = this.#rows.get(row.shard)?.owner;
    if (before !== undefined && before !== row.owner) {
      const rest = this.#ofOwner.get(before);
      rest?.delete(row.shard);
      if (rest?.size === 0) this.#ofOwner.delete(before);
    }
    if (row.owner !== undefined) {
      const shards = this.#ofOwner.get(row.owner) ?? new Set();
      this.#ofOwner.set(row.owner, shards.add(row.shard));
    }
    this.#rows.set(row.shard, row);
  }

  #sort(shard: number, nowMs: number): void {
    this.#looks += 1;
    const row = this.#rows.get(shard);
    const isFree = row?.owner === undefined || !this.#alive.has(row.owner);
    if (!isFree) this.#freeSinceMs.delete(shard);
    else if (!this.#freeSinceMs.has(shard)) this.#freeSinceMs.set(shard, nowMs);
    if (row?.heir === undefined) this.#announced.delete(shard);
    else if (this.#announced.get(shard)?.epoch !== row.epoch)
      this.#announced.set(shard, { epoch: row.epoch, sinceMs: nowMs });
    if (!isFree && row.tries > 0) this.#unrecovered.add(shard);
    else this.#unrecovered.delete(shard);
  }
}

function ascending(a: number, b: number): number {
  return a - b;
}
