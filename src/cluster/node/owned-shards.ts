/**
 * The shards of a node, from the claim to the release.
 *
 *     claiming -> loading -> serving -> (announced) -> draining -> released
 *
 * (1) The log is read after the claim was committed: former owners can add
 *     nothing any more, and what is in the log is as safe as the claim.
 * (2) The end of a claim or a release may be unknown. What the node owns is what
 *     the store says: a claim that was committed late is found by a poll, and is
 *     repeated, which changes nothing and returns what the first one would have.
 * (3) A shard that could not be recovered is released, and this node is the last
 *     candidate for it: another may have the memory or the disk for it.
 * (4) A release for an heir is announced, and the shard is served until all nodes
 *     have seen that: then the heir claims it, and the others find it there, within a
 *     short poll. An announcement that fails costs its time, and nothing else.
 */
import type { Clock } from "../../kernel/clock.ts";
import { faultFields, type Log } from "../../kernel/log.ts";
import type { ClaimedShard, LogStore, ShardEpoch, ShardView } from "../log-store/log-store.ts";
import { ANNOUNCED_MS, AVOIDED_MS, LOADS_MAX, RETRY_MS } from "./bounds.ts";
import { usableFloorMs } from "./engine-clock.ts";
import type { Lease } from "./lease.ts";
import type { ShardHost } from "./shard-host.ts";
import { Suspension } from "./suspension.ts";

export type ShardState = "claiming" | "loading" | "serving" | "draining";

export interface OwnedShard extends ShardEpoch {
  readonly state: ShardState;
  readonly suspension: Suspension;
}

export interface OwnedShardsOptions {
  readonly store: Pick<LogStore, "claim" | "segments" | "recovered" | "announce" | "release">;
  readonly host: ShardHost;
  readonly life: string;
  readonly format: number;
  readonly clock: Clock;
  readonly log: Log;
  readonly lease: Lease;
  /** Another shard may be claimed. */
  onRoom(): void;
  onLost(reason: string): void;
}

class Owned implements OwnedShard {
  readonly shard: number;
  readonly suspension: Suspension;
  /** That of the claim. */
  epoch: number;
  state: ShardState = "claiming";
  floorMs = 0;
  /** Its release is announced, and it is still served. */
  isLeaving = false;

  constructor(claimed: ShardEpoch, suspension: Suspension) {
    this.shard = claimed.shard;
    this.epoch = claimed.epoch;
    this.suspension = suspension;
  }
}

export class OwnedShards {
  readonly #options: OwnedShardsOptions;
  readonly #owned = new Map<number, Owned>();
  /** By the monotonic clock: when this node failed to recover a shard. */
  readonly #failedMs = new Map<number, number>();
  #isStopped = false;

  constructor(options: OwnedShardsOptions) {
    this.#options = options;
  }

  get(shard: number): OwnedShard | undefined {
    return this.#owned.get(shard);
  }

  all(): readonly OwnedShard[] {
    return [...this.#owned.values()];
  }

  /** Those that the store must list as owned: claimed, and not being released. */
  held(): readonly ShardEpoch[] {
    return this.all()
      .filter(({ state }) => state === "loading" || state === "serving")
      .map(({ shard, epoch }) => ({ shard, epoch }));
  }

  /** The latest floor of its shards: the time of the engines of this node is not before it. */
  get floorMs(): number {
    let floorMs = 0;
    for (const owned of this.#owned.values()) floorMs = Math.max(floorMs, owned.floorMs);
    return floorMs;
  }

  get hasRoom(): boolean {
    return this.all().filter(({ state }) => state === "claiming" || state === "loading").length < LOADS_MAX;
  }

  /** Whether a shard is being released: announced, or served no more. */
  isLeaving(shard: number): boolean {
    const owned = this.#owned.get(shard);
    return owned !== undefined && (owned.isLeaving || owned.state === "draining");
  }

  get isMoving(): boolean {
    return [...this.#owned.values()].some(({ state, isLeaving }) => state === "draining" || isLeaving);
  }

  /** keeps (3) */
  hasFailed(shard: number): boolean {
    const failedMs = this.#failedMs.get(shard);
    return failedMs !== undefined && this.#options.clock.monotonicMs() - failedMs < AVOIDED_MS;
  }

  /** Claims a shard after the epoch that was seen, and loads it. Without effect if the node has it in some state. */
  claim({ shard, epoch }: ShardEpoch): void {
    if (this.#owned.has(shard) || this.#isStopped) return;
    const { lease, clock } = this.#options;
    const owned = new Owned({ shard, epoch: epoch + 1 }, new Suspension(lease, clock));
    this.#owned.set(shard, owned);
    void this.#takeOver(owned).then(() => this.#options.onRoom());
  }

  /** Continues a claim that was committed after its end had become unknown: keeps (2). */
  adopt({ shard, epoch }: ShardView): void {
    this.claim({ shard, epoch: epoch - 1 });
  }

  /** Releases a shard that the node serves. */
  async release(shard: number, heir: string | undefined): Promise<void> {
    const owned = this.#owned.get(shard);
    if (owned?.state !== "serving" || owned.isLeaving) return;
    owned.isLeaving = true;
    if (heir !== undefined) await this.#announce(owned, heir);
    if (this.#isStopped) return;
    owned.state = "draining";
    await this.#options.host.unload({ shard, epoch: owned.epoch });
    await this.#giveUp(owned, heir);
  }

  /** Releases a shard that the store lists as owned by this node, but that it neither has nor wants. */
  async disown({ shard, epoch }: ShardEpoch): Promise<void> {
    if (this.#owned.has(shard)) return;
    const owned = new Owned({ shard, epoch }, new Suspension(this.#options.lease, this.#options.clock));
    owned.state = "draining";
    this.#owned.set(shard, owned);
    await this.#giveUp(owned, undefined);
  }

  /** Nothing is called any more. */
  stop(): void {
    this.#isStopped = true;
  }

  async #takeOver(owned: Owned): Promise<void> {
    const { host, log, clock } = this.#options;
    const { shard, epoch } = owned;
    const claimed = await this.#claim(owned);
    if (claimed === undefined || this.#isStopped) {
      this.#owned.delete(shard);
      return;
    }
    owned.state = "loading";
    owned.floorMs = usableFloorMs(claimed.floorMs, { nowMs: clock.nowMs(), log: log.with({ shard }) });
    // keeps (1)
    const segments = await this.#repeat(() => this.#options.store.segments(shard));
    const { hashSeed, snapshot } = claimed;
    const { floorMs, suspension } = owned;
    log.info("shard claimed", { shard, epoch });
    try {
      await host.load({ shard, epoch, hashSeed, snapshot, segments, floorMs, suspension });
    } catch (error) {
      log.error("shard not recovered", { shard, epoch, ...faultFields(error) });
      this.#failedMs.set(shard, clock.monotonicMs());
      owned.state = "draining";
      await this.#giveUp(owned, undefined);
      return;
    }
    owned.state = "serving";
    this.#options.onRoom();
    const outcome = await this.#repeat(() => this.#options.store.recovered({ shard, epoch }));
    // One that was released meanwhile has an heir.
    if (outcome === "deposed" && this.#owned.get(shard) === owned && owned.state === "serving")
      this.#options.onLost(`Shard ${shard} has another owner`);
  }

  async #claim({ shard, epoch }: Owned): Promise<ClaimedShard | undefined> {
    const { store, life, format, log } = this.#options;
    try {
      return await store.claim({ shard, epoch: epoch - 1, life, format });
    } catch (error) {
      // keeps (2): if it was committed, a poll will say so.
      log.warn("claim failed", { shard, epoch, ...faultFields(error) });
      return undefined;
    }
  }

  /** keeps (4) */
  async #announce({ shard, epoch }: Owned, heir: string): Promise<void> {
    const { store, clock, log, host } = this.#options;
    host.announced?.({ shard, epoch });
    try {
      await store.announce({ shard, epoch }, heir);
      await new Promise<void>((resolve) => clock.after(ANNOUNCED_MS, resolve));
    } catch (error) {
      log.warn("release not announced", { shard, epoch, ...faultFields(error) });
    }
  }

  /** `deposed` means that an earlier attempt was committed and the heir has claimed the shard. */
  async #giveUp(owned: Owned, heir: string | undefined): Promise<void> {
    const { shard, epoch } = owned;
    await this.#repeat(() => this.#options.store.release({ shard, epoch }, heir));
    this.#owned.delete(shard);
    this.#options.log.info("shard released", { shard, epoch, heir });
  }

  /** Calls until the end of a call is known. Never resolves after a stop. */
  async #repeat<Result>(call: () => Promise<Result>): Promise<Result> {
    for (;;) {
      try {
        const result = await call();
        if (!this.#isStopped) return result;
      } catch (error) {
        this.#options.log.warn("call of the cluster failed", faultFields(error));
      }
      if (this.#isStopped) return new Promise(() => {});
      await new Promise<void>((resolve) => this.#options.clock.after(RETRY_MS, resolve));
    }
  }
}
