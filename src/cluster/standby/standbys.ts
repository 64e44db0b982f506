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
 */
import type { Clock } from "../../kernel/clock.ts";
import { faultFields, type Log } from "../../kernel/log.ts";
import type { ClusterView, LogStore, ShardHead } from "../log-store/log-store.ts";
import { isFree, standbyOf } from "../node/placement.ts";
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
  readonly #forgotten = new Set<number>();
  #cancel: () => void = () => {};
  #isPolling = false;
  #isStopped = false;

  constructor(options: StandbysOptions) {
    this.#options = options;
  }

  /** What is known of each shard that is followed. */
  get states(): ReadonlyMap<number, Pick<Followed, "missing" | "history">> {
    return this.#open;
  }

  /** The nodes and shards, as the store had them a moment ago. */
  saw({ nodes, shards }: ClusterView): void {
    if (this.#isStopped) return;
    const { node, knows, isOwned } = this.#options;
    for (const shard of shards) {
      const { shard: number } = shard;
      if (!knows(number)) continue;
      if (isOwned(number)) void this.release(number);
      else if (isFree(shard, nodes))
        continue; // keeps (3)
      else if (standbyOf(shard, nodes) === node) this.#follow(number);
      else this.#leave(number);
    }
    if (!this.#isPolling && shards.some(({ shard, heir }) => heir === node && this.#followed.has(shard)))
      this.#pollAfter(0);
  }

  /** Resolves when the directory of a shard is free. keeps (2) */
  release(shard: number): Promise<void> {
    this.#idleMs.delete(shard);
    this.#forgotten.delete(shard);
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
    this.#idleMs.delete(shard);
    this.#forgotten.delete(shard);
    if (this.#followed.has(shard) || this.#leaving.has(shard)) return;
    this.#followed.set(shard, undefined);
    this.#options.log.info("following a shard", { shard });
    if (!this.#isPolling) this.#pollAfter(0);
  }

  #leave(shard: number): void {
    const { clock } = this.#options;
    this.#unfollow(shard);
    const nowMs = clock.monotonicMs();
    const sinceMs = this.#idleMs.get(shard) ?? nowMs;
    this.#idleMs.set(shard, sinceMs);
    if (nowMs - sinceMs < GRACE_MS || this.#forgotten.has(shard) || this.#leaving.has(shard)) return;
    this.#forgotten.add(shard);
    this.#until(shard, this.#options.forget(shard)); // keeps (4)
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
