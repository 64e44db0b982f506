/**
 * The nodes and shards of the cluster, from what each poll says has changed.
 *
 * (1) A row that did not change is the same object as before, also after a read of
 *     everything, so that the work of a node follows from what changed.
 * (2) After a poll that failed everything is read and counts as changed. Now and
 *     then everything is read too: no change is missed, but nothing else would
 *     correct it if one were, because a trigger was switched off, for example.
 */
import type { ClusterChanges, ClusterView, NodeView, NumberedNode, ShardView } from "../log-store/log-store.ts";
import { WHOLE_MS_MAX, WHOLE_MS_MIN } from "./bounds.ts";

/** What a poll has changed. */
export interface SeenChanges {
  readonly view: ClusterView;
  /** The rows of the shards that changed. */
  readonly shards: readonly ShardView[];
  /** Whether anything but beats changed in the rows of the nodes. */
  readonly haveNodesChanged: boolean;
}

export class WatchedCluster {
  /** From 0 to 1: nodes that begin at the same time read everything at different times. */
  readonly #share: number;
  #position: string | undefined;
  #wholeAtMs = 0;
  /** By their numbers, with the beats of the last poll that brought them. */
  #nodes = new Map<number, NumberedNode>();
  /** Their numbers in the order of their names. */
  #order: readonly number[] = [];
  #shards: readonly ShardView[] = [];
  /** By their numbers: where they are in the list. */
  #indexOf: ReadonlyMap<number, number> = new Map();

  constructor(share: number) {
    this.#share = share;
  }

  /** The position to ask for changes since; undefined: everything is to be read. `nowMs` by the monotonic clock. */
  positionAt(nowMs: number): string | undefined {
    return nowMs < this.#wholeAtMs ? this.#position : undefined;
  }

  /** keeps (2) */
  forget(): void {
    this.#position = undefined;
    this.#nodes = new Map();
    this.#order = [];
    this.#shards = [];
    this.#indexOf = new Map();
  }

  /** The answer to a poll, which came at `nowMs`. */
  apply(changes: ClusterChanges, nowMs: number): SeenChanges {
    const { isWhole, keyNumber, tenants } = changes;
    this.#position = changes.position;
    if (isWhole) this.#wholeAtMs = nowMs + WHOLE_MS_MIN + this.#share * (WHOLE_MS_MAX - WHOLE_MS_MIN);
    const haveNodesChanged = this.#applyNodes(changes);
    const shards = this.#applyShards(changes);
    return {
      view: { keyNumber, tenants, nodes: this.#nodeViews(changes), shards: this.#shards },
      shards,
      haveNodesChanged,
    };
  }

  /** keeps (1) */
  #applyNodes({ isWhole, nodes }: ClusterChanges): boolean {
    const changed = nodes.filter((node) => !isSame(withoutBeat(node), withoutBeat(this.#nodes.get(node.number))));
    const isFewer = isWhole && nodes.length < this.#nodes.size;
    if (changed.length === 0 && !isFewer) return false;
    if (isFewer) this.#nodes = new Map();
    for (const node of nodes) this.#nodes.set(node.number, node);
    const byName = [...this.#nodes.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
    this.#order = byName.map(({ number }) => number);
    return true;
  }

  #nodeViews({ beats }: ClusterChanges): readonly NodeView[] {
    const beatOf = new Map(beats);
    return this.#order.flatMap((number) => {
      const node = this.#nodes.get(number);
      if (node === undefined) return [];
      const { number: _, beat, ...facts } = node;
      return [{ ...facts, beat: beatOf.get(number) ?? beat }];
    });
  }

  /** keeps (1). Shards are never removed. */
  #applyShards({ shards: read }: ClusterChanges): readonly ShardView[] {
    const before = this.#shards;
    const changed = read.filter((row) => !isSame(row, before[this.#indexOf.get(row.shard) ?? -1]));
    if (changed.length === 0) return changed;
    const all = [...before];
    for (const row of changed) all[this.#indexOf.get(row.shard) ?? all.length] = row;
    this.#shards = all;
    if (all.length === before.length) return changed;
    all.sort((a, b) => a.shard - b.shard);
    this.#indexOf = new Map(all.map(({ shard }, index) => [shard, index]));
    return changed;
  }
}

function withoutBeat(node: NumberedNode | undefined): object | undefined {
  return node && { ...node, beat: 0 };
}

/** Whether two rows have the same values. */
function isSame(row: object | undefined, before: object | undefined): boolean {
  if (row === undefined || before === undefined) return false;
  const values: Readonly<Record<string, unknown>> = { ...before };
  return Object.entries(row).every(([name, value]) => values[name] === value);
}
