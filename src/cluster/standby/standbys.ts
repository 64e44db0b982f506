/**
 * The shards that this node follows as their standby: which they are, and when it
 * asks the log store for news of them.
 *
 * (1) One statement asks for all of them, each POLL_PERIOD_MS while there are any;
 *     others are sent only for a shard that has changed. One shard is fetched at a
 *     time. When a shard will be released for this node, it asks at once.
 * (2) A shard that this node has claimed is followed no more: `release` resolves
 *     when its directory is free.
 * (3) While nobody owns a shard, nothing changes: this node is about to claim it, or
 *     another one is.
 * (4) The files of a shard that this node neither owns nor follows are removed after
 *     GRACE_MS, so that a node which comes back soon finds them.
 * (5) A poll looks at the shards that changed, at those of this node, and at those
 *     that it follows or whose files wait to be removed: at all only when nodes changed.
 */
import type { Clock } from "../../kernel/clock.ts";
import { faultFields, type Log } from "../../kernel/log.ts";
import type { LogStore, NodeView, ShardHead, ShardView } from "../log-store/log-store.ts";
import { isFree, standbyOf, type Weights } from "../node/placement.ts";
import type { SeenChanges } from "../node/watched-cluster.ts";
import type { Missing } from "./shard-follower.ts";

/** A shard that is followed. */
export interface Followed {
  /** See `ShardFollower.follow`. */
  follow(head: ShardHead): Promise<void>;
  readonly missing: Missing;
  /** The first segment that its log of messages lacks; undefined: it has no such log, or this is not known yet. */
  readonly history: number | undefined;
  close(): Promise<void>;
}

export interface StandbysOptions {
  readonly store: Pick<LogStore, "heads">;
  readonly clock: Pick<Clock, "after" | "monotonicMs">;
  readonly log: Log;
  /** The name of this node. */
  readonly node: string;
  readonly weights: Weights;
  /** Whether this node can serve the shard. */
  knows(shard: number): boolean;
  /** Whether this node has claimed the shard, or is about to. */
  isOwned(shard: number): boolean;
  /** Begins to follow a shard. Its directory is free. */
  open(shard: number): Promise<Followed>;
  /** Removes the files of a shard. Its directory is free. */
  forget(shard: number): Promise<void>;
}

export const POLL_PERIOD_MS = 2_000;
export const GRACE_MS = 600_000;

export class Standbys {
  readonly #options: StandbysOptions;
  /** Undefined: not opened yet. */
  readonly #followed = new Map<number, Promise<Followed> | undefined>();
  /** The opened ones. */
  readonly #open = new Map<number, Followed>();
  /** Directories that will be free. */
  readonly #leaving = new Map<number, Promise<void>>();
  /** By the monotonic clock: since when a shard has been neither owned nor followed. */
  readonly #idleMs = new Map<number, number>();
  /** Those that this node should follow. */
  readonly #wanted = new Set<number>();
  /** Those of them that will be released for this node. */
  readonly #coming = new Set<number>();
  /** Those that this node owned at the last look. */
  readonly #owned = new Map<number, ShardView>();
  /** The first time may come after a poll that had all of them. */
  #hasSeen = false;
  #cancel: () => void = () => {};
  #isPolling = false;
  #isStopped = false;

  constructor(options: StandbysOptions) {
    this.#options = options;
  }

  /** The shards that are followed, also those that are not looked at yet. */
  get followed(): Iterable<number> {
    return this.#followed.keys();
  }

  /** What is known of each of them that was looked at. */
  get states(): ReadonlyMap<number, Pick<Followed, "missing" | "history">> {
    return this.#open;
  }

  /** Whether it was told of the shards. */
  get hasSeen(): boolean {
    return this.#hasSeen;
  }

  /** The nodes and shards, as the store had them a moment ago. keeps (5) */
  saw({ view, shards, haveNodesChanged }: SeenChanges): void {
    if (this.#isStopped) return;
    const owned = [...this.#owned.values()];
    this.#owned.clear();
    // The changed rows come last, because they may be those of shards of this node.
    for (const row of owned) this.#place(row, view.nodes);
    for (const row of haveNodesChanged || !this.#hasSeen ? view.shards : shards) this.#place(row, view.nodes);
    this.#hasSeen = true;
    for (const shard of this.#wanted) this.#follow(shard);
    this.#forgetIdle();
    if (this.#coming.size > 0 && !this.#isPolling) this.#pollAfter(0);
  }

  #place(row: ShardView, nodes: readonly NodeView[]): void {
    const { node, weights, knows, isOwned } = this.#options;
    const { shard } = row;
    if (!knows(shard)) return;
    if (isOwned(shard)) {
      this.#owned.set(shard, row);
      void this.release(shard);
      return;
    }
    this.#owned.delete(shard);
    this.#coming.delete(shard);
    if (isFree(row, nodes)) {
      this.#idleMs.delete(shard); // keeps (3)
      return;
    }
    if (standbyOf(row, { nodes, weights }) === node) {
      this.#idleMs.delete(shard);
      this.#wanted.add(shard);
      if (row.heir === node) this.#coming.add(shard);
    } else {
      this.#wanted.delete(shard);
      this.#unfollow(shard);
      if (!this.#idleMs.has(shard)) this.#idleMs.set(shard, this.#options.clock.monotonicMs());
    }
  }

  /** Resolves when the directory of a shard is free. keeps (2) */
  release(shard: number): Promise<void> {
    this.#idleMs.delete(shard);
    this.#wanted.delete(shard);
    this.#coming.delete(shard);
    this.#unfollow(shard);
    return this.#leaving.get(shard) ?? Promise.resolve();
  }

  /** Resolves when all directories are free. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel();
    for (const shard of [...this.#followed.keys()]) this.#unfollow(shard);
    await Promise.all(this.#leaving.values());
  }

  #follow(shard: number): void {
    if (this.#followed.has(shard) || this.#leaving.has(shard)) return;
    this.#followed.set(shard, undefined);
    this.#options.log.info("following a shard", { shard });
    if (!this.#isPolling) this.#pollAfter(0);
  }

  /** keeps (4) */
  #forgetIdle(): void {
    const sinceMs = this.#options.clock.monotonicMs() - GRACE_MS;
    for (const [shard, idleMs] of this.#idleMs) {
      if (idleMs > sinceMs || this.#leaving.has(shard)) continue;
      this.#idleMs.delete(shard);
      this.#until(shard, this.#options.forget(shard));
    }
  }

  #unfollow(shard: number): void {
    if (!this.#followed.has(shard)) return;
    const opening = this.#followed.get(shard);
    this.#followed.delete(shard);
    this.#open.delete(shard);
    this.#until(shard, this.#close(opening));
  }

  async #close(opening: Promise<Followed> | undefined): Promise<void> {
    const followed = await opening?.catch(() => undefined); // Logged by the poll that has opened it.
    await followed?.close();
  }

  /** The directory of a shard is not free before this has ended. */
  #until(shard: number, work: Promise<void>): void {
    const ended = work
      .catch((fault: unknown) =>
        this.#options.log.warn("a followed shard is not left", { shard, ...faultFields(fault) }),
      )
      .finally(() => this.#leaving.delete(shard));
    this.#leaving.set(shard, ended);
  }

  #pollAfter(delayMs: number): void {
    this.#cancel();
    this.#cancel = this.#options.clock.after(delayMs, () => void this.#poll());
  }

  /** keeps (1) */
  async #poll(): Promise<void> {
    const { store, clock, log } = this.#options;
    if (this.#isStopped || this.#followed.size === 0) return;
    const startMs = clock.monotonicMs();
    this.#isPolling = true;
    try {
      for (const head of await store.heads([...this.#followed.keys()])) await this.#followOne(head);
    } catch (fault) {
      log.warn("followed shards are not read", faultFields(fault));
    }
    this.#isPolling = false;
    if (!this.#isStopped) this.#pollAfter(Math.max(0, POLL_PERIOD_MS - (clock.monotonicMs() - startMs)));
  }

  async #followOne(head: ShardHead): Promise<void> {
    const { shard } = head;
    if (!this.#followed.has(shard)) return;
    const opening = this.#followed.get(shard) ?? this.#options.open(shard);
    this.#followed.set(shard, opening);
    try {
      const followed = await opening;
      if (this.#followed.get(shard) !== opening) return;
      this.#open.set(shard, followed);
      await followed.follow(head);
    } catch (fault) {
      // An opening that failed is made again.
      if (this.#followed.get(shard) === opening && !this.#open.has(shard)) this.#followed.set(shard, undefined);
      this.#options.log.warn("a shard is not followed now", { shard, ...faultFields(fault) });
    }
  }
}
