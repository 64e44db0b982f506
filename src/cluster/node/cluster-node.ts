/**
 * A node from its registration to its end: it renews its lease, watches the
 * others, declares silent ones dead, claims free shards and moves its own.
 *
 *     registered -> living -> draining -> left
 *                      any state -> lost: the process ends
 *
 * (1) It declares dead and claims only while its own lease is fresh: only a node
 *     whose commits get through may judge others.
 * (2) Nothing that it reads decides anything. A view may be old: the store
 *     compares beats, epochs and lives again when it changes something.
 * (3) One shard moves at a time, and only while every shard has an owner that
 *     has recovered it.
 * (4) A poll in which nothing changed looks at the shards of this node and at free
 *     ones, not at all shards, and works out no place again.
 */
import type { Clock } from "../../kernel/clock.ts";
import { faultFields, type Log } from "../../kernel/log.ts";
import type { ClusterView, LogStore, NodeView, ShardView } from "../log-store/log-store.ts";
import { BeatWatch } from "./beat-watch.ts";
import {
  AVOIDED_MS,
  LOADS_MAX,
  MOVE_POLL_PERIOD_MS,
  MOVE_POLLERS_MAX,
  MOVE_WATCH_MS_MAX,
  PACED_MS_MAX,
  POLL_PERIOD_MS,
  RANK_DELAY_MS,
  RECOVERY_TRIES_MAX,
  SKEW_MS_MAX,
} from "./bounds.ts";
import { ConfirmedReads } from "./confirmed-reads.ts";
import { Lease, type LeaseClock, type ReadGuard } from "./lease.ts";
import { OwnedShards } from "./owned-shards.ts";
import { canRead, isFront, shareOf, Weights } from "./placement.ts";
import { PlacementCache } from "./placement-cache.ts";
import { type RegistrationOptions, registerNode } from "./registration.ts";
import { Renewals } from "./renewals.ts";
import type { ShardHost } from "./shard-host.ts";
import { WatchedCluster } from "./watched-cluster.ts";
import { WatchedShards } from "./watched-shards.ts";

/** Each on a connection of its own, because a call may wait long for a lock or a standby. */
export interface NodeStores {
  readonly renewals: Pick<LogStore, "renew">;
  readonly polls: Pick<LogStore, "watch" | "watchChanges">;
  readonly changes: Pick<
    LogStore,
    "register" | "declareDead" | "claim" | "segments" | "recovered" | "announce" | "release"
  >;
}

export interface ClusterNodeOptions extends Omit<RegistrationOptions, "stores"> {
  readonly stores: NodeStores;
  readonly host: ShardHost;
  readonly clock: Clock;
  readonly leaseClock: LeaseClock;
  readonly log: Log;
  /** A lease that has not begun, if its memory is shared with other threads. */
  readonly lease?: Lease;
  /** How reads are kept from being answered by a former owner: by clocks, or by a renewal after each turn of reads. */
  readonly reads: "lease" | "confirm";
  /** Those that others use too: standbys, and in a simulation the other nodes. */
  readonly weights?: Weights;
}

export class ClusterNode {
  readonly life: string;
  readonly lease: Lease;
  /** Asked by replies that wait for no commit. */
  readonly reads: ReadGuard;
  readonly shards: OwnedShards;
  readonly beats = new BeatWatch();
  readonly #options: ClusterNodeOptions;
  readonly #renewals: Renewals;
  #cancelPoll: () => void = () => {};
  #isPolling = false;
  /** Whether a poll was wanted while one was under way. */
  #wantsPoll = false;
  #isStopped = false;
  #drained: (() => void) | undefined;
  /** By the monotonic clock: when it began to leave. */
  #drainingMs = 0;
  #view: ClusterView | undefined;
  readonly #watched: WatchedCluster;
  readonly #all: WatchedShards;
  readonly #placement: PlacementCache;
  /** Of the last poll, those that were not tried yet. */
  #claimable: ShardView[] = [];
  /** By the monotonic clock: when a node did not take a shard that was released for it. */
  readonly #untakenMs = new Map<string, number>();
  /** Broken shards that were logged, with their epochs. */
  readonly #broken = new Map<number, number>();
  /** The free shards of a newer format that were logged, as text. */
  #unreadable = "";
  /** Nodes that are being declared dead. */
  readonly #accused = new Set<string>();

  private constructor(options: ClusterNodeOptions, life: string) {
    const { stores, clock, leaseClock, log, host, node } = options;
    this.#options = options;
    this.life = life;
    this.#watched = new WatchedCluster(shareOf(life));
    this.#all = new WatchedShards(life);
    this.#placement = new PlacementCache(node.name, options.weights ?? new Weights());
    this.lease = options.lease ?? new Lease(leaseClock);
    const onLost = (reason: string): void => this.lose(reason);
    const { lease } = this;
    const { format } = node;
    const onRoom = (): void => this.#claimNext();
    this.shards = new OwnedShards({ store: stores.changes, host, life, format, clock, log, lease, onRoom, onLost });
    this.#renewals = new Renewals({
      store: stores.renewals,
      life,
      clock,
      log,
      lease,
      engineMs: () => Math.max(clock.nowMs(), this.shards.floorMs),
      owned: () => this.shards.held(),
      onOutage: () => this.beats.restart(),
      onLost,
    });
    this.reads = options.reads === "lease" ? this.lease : new ConfirmedReads(this.#renewals);
  }

  /** Registers the node and begins its life. Undefined if another process lives under its name. */
  static async start(options: ClusterNodeOptions): Promise<ClusterNode | undefined> {
    const life = await registerNode(options);
    if (life === undefined) return undefined;
    const node = new ClusterNode(options, life);
    node.#renewals.start();
    // What is free can be claimed as soon as the lease is fresh.
    void node.lease.whenFresh().then(() => node.#poll());
    return node;
  }

  /** Of the last poll that was answered. */
  get view(): ClusterView | undefined {
    return this.#view;
  }

  /** Rows of shards that were looked at, places of shards that were worked out, and hashes for that: see (4). */
  get work(): { readonly looks: number; readonly placings: number; readonly hashes: number } {
    const { placings, hashes } = this.#placement;
    return { looks: this.#all.looks, placings, hashes };
  }

  /** See `Renewals.skewMs`. */
  get skewMs(): number {
    return this.#renewals.skewMs;
  }

  /** Releases all shards, each for the next node in its order, and leaves the cluster. Resolves when it has left. */
  drain(): Promise<void> {
    this.#drainingMs = this.#options.clock.monotonicMs();
    if (this.#view !== undefined) this.#pollNow();
    return new Promise((resolve) => {
      this.#drained = resolve;
    });
  }

  /** The node can do nothing more under this life, for example because another node owns one of its shards. */
  lose(reason: string): void {
    if (this.#isStopped) return;
    this.stop();
    this.#options.log.error("node lost", { reason });
    this.#options.host.lost(reason);
  }

  /** Ends its calls, and releases nothing. */
  stop(): void {
    this.#isStopped = true;
    this.#cancelPoll();
    this.#renewals.stop();
    this.shards.stop();
    this.lease.end();
  }

  async #poll(): Promise<void> {
    const { clock, stores, log } = this.#options;
    const sentMs = clock.monotonicMs();
    this.#isPolling = true;
    this.#wantsPoll = false;
    try {
      const changes = await stores.polls.watchChanges(this.#watched.positionAt(sentMs));
      if (this.#isStopped) return;
      const answeredMs = clock.monotonicMs();
      const seen = this.#watched.apply(changes, answeredMs);
      this.#all.apply(seen, answeredMs);
      if (seen.haveNodesChanged) this.#placement.replaceNodes(seen.view.nodes);
      this.beats.saw(seen.view.nodes, { sentMs, answeredMs });
      if (this.#renewals.isSlow) this.beats.restart();
      this.#options.host.saw?.(seen);
      this.#act(seen.view);
    } catch (error) {
      log.warn("nodes and shards not read", faultFields(error));
      this.#watched.forget();
      this.beats.restart();
    }
    this.#isPolling = false;
    if (this.#isStopped) return;
    // A poll in the moment in which a node becomes silent costs one statement, and half a second of a takeover less.
    const periodMs = this.#isMoveAnnounced ? this.#movePollPeriodMs : POLL_PERIOD_MS;
    const dueMs = Math.min(sentMs + periodMs, this.beats.silentFromMs ?? Number.POSITIVE_INFINITY);
    const delayMs = this.#wantsPoll ? 0 : Math.max(0, dueMs - clock.monotonicMs());
    this.#cancelPoll = clock.after(delayMs, () => void this.#poll());
  }

  #pollNow(): void {
    this.#wantsPoll = true;
    if (this.#isPolling || this.#isStopped) return;
    this.#cancelPoll();
    void this.#poll();
  }

  #act(view: ClusterView): void {
    this.#view = view;
    // keeps (1)
    if (!this.lease.isFresh()) return;
    for (const node of this.beats.silent()) if (node.life !== this.life) void this.#declareDead(node);
    if (this.#isDraining) {
      this.#releaseAll(view);
      return;
    }
    for (const shard of this.#all.own)
      if (shard.isHeld === true) this.#letGo(shard);
      else this.shards.adopt(shard);
    this.#claimable = this.#findClaimable();
    this.#claimNext();
    if (this.#mayClaim) this.#moveOne(view);
  }

  async #declareDead({ life, beat, name }: NodeView): Promise<void> {
    if (this.#accused.has(life)) return;
    const { stores, log } = this.#options;
    this.#accused.add(life);
    try {
      // keeps (2): undefined if it has renewed since.
      if ((await stores.changes.declareDead(life, beat)) === undefined) return;
      log.warn("node declared dead", { name, life });
      this.#pollNow(); // Its shards are free.
    } catch (error) {
      log.warn("node not declared dead", { name, life, ...faultFields(error) });
    } finally {
      this.#accused.delete(life);
    }
  }

  /** All nodes together send no more polls than ten nodes would. */
  get #movePollPeriodMs(): number {
    const nodes = this.#view?.nodes.length ?? 1;
    return Math.min(POLL_PERIOD_MS, MOVE_POLL_PERIOD_MS * Math.max(1, nodes / MOVE_POLLERS_MAX));
  }

  /** Whether a shard is about to move, or free and released for a node that has not claimed it yet. */
  get #isMoveAnnounced(): boolean {
    return this.#all.isMoveAnnounced(this.#options.clock.monotonicMs() - MOVE_WATCH_MS_MAX);
  }

  /** The free shards whose turn it is for this node. */
  #findClaimable(): ShardView[] {
    const nowMs = this.#options.clock.monotonicMs();
    this.#noteUnreadable(this.#all.free.map(({ row }) => row));
    const turns = this.#all.free.filter(({ row, sinceMs }) => {
      if (row.isHeld === true || this.#isBroken(row)) return false;
      if (this.#options.host.knows?.(row.shard) === false) return false;
      const rank = this.#placement.rankOf(row);
      if (rank === undefined) return false;
      // One that was recovered since is no reason to wait: its owner may have released it for this node.
      const isLast = row.tries > 0 && this.shards.hasFailed(row.shard);
      const turn = isLast ? rank.index + rank.candidates : rank.index;
      return nowMs - sinceMs >= turn * RANK_DELAY_MS;
    });
    return turns.map(({ row }) => row);
  }

  /** Each shard is tried once for each poll: keeps (1) and (2). */
  #claimNext(): void {
    while (this.#mayClaim && this.shards.hasRoom) {
      const shard = this.#claimable.shift();
      if (shard === undefined) return;
      this.#noteUntaken(shard);
      this.shards.claim(shard);
    }
  }

  /** A shard that its heir did not claim, or released without having recovered it, is no recommendation for that node. */
  #noteUntaken({ owner, ownerName, heir, tries }: ShardView): void {
    const hasGivenUp = owner === undefined && tries > 0;
    const name = heir ?? (hasGivenUp ? ownerName : undefined);
    if (name !== undefined && name !== this.#options.node.name)
      this.#untakenMs.set(name, this.#options.clock.monotonicMs());
  }

  get #mayClaim(): boolean {
    const isSkewed = Math.abs(this.#renewals.skewMs) > SKEW_MS_MAX;
    return !this.#isStopped && !this.#isDraining && !isSkewed && this.lease.isFresh();
  }

  get #isDraining(): boolean {
    return this.#drained !== undefined;
  }

  #isBroken({ shard, epoch, tries }: ShardView): boolean {
    if (tries < RECOVERY_TRIES_MAX) return false;
    if (this.#broken.get(shard) !== epoch)
      this.#options.log.error("shard is broken: nobody claims it", { shard, tries });
    this.#broken.set(shard, epoch);
    return true;
  }

  /** Only nodes of a newer version may claim these. The claim compares the formats again: see (2). */
  #noteUnreadable(free: readonly ShardView[]): void {
    const { node, log } = this.#options;
    if (isFront(node)) return;
    const shards = free.filter((shard) => !canRead(node, shard)).map(({ shard }) => shard);
    const text = shards.join(", ");
    if (text !== "" && text !== this.#unreadable)
      log.warn("free shards have a newer format than this node reads: only a node of a newer version can serve them", {
        shards: text,
        readFormat: node.format,
      });
    this.#unreadable = text;
  }

  /** keeps (3) */
  #moveOne({ nodes }: ClusterView): void {
    // A broken shard waits for a person, and a held one for a command: they must not keep the others from moving.
    const isExcused = (free: ShardView): boolean => free.isHeld === true || this.#isBroken(free);
    const isCalm = this.#all.isCalm(isExcused) && this.#all.own.every((own) => this.#serves(own));
    if (!isCalm || this.shards.isMoving || this.#isMoveAnnounced) return;
    const { node, host, clock } = this.#options;
    const avoidedMs = clock.monotonicMs() - AVOIDED_MS;
    const settled = nodes.filter(
      ({ name, life, isDead }) =>
        !isDead && this.beats.isSettled(life) && !((this.#untakenMs.get(name) ?? Number.NEGATIVE_INFINITY) > avoidedMs),
    );
    const isDrained = nodes.some((each) => each.isDrained && each.life === this.life);
    this.#placement.replaceSettled(settled, isDrained);
    for (const shard of this.#all.own) {
      const heir = this.#placement.heirOf(shard);
      if (heir === node.name || !host.mayMove(shard.shard)) continue;
      void this.shards.release(shard.shard, heir);
      return;
    }
  }

  /** Whether this node serves a shard under the epoch that the view says. */
  #serves({ shard, epoch }: ShardView): boolean {
    const own = this.shards.get(shard);
    return own?.epoch === epoch && own.state === "serving";
  }

  /** A shard that this node owns, and that nobody may own now. */
  #letGo(shard: ShardView): void {
    if (this.shards.get(shard.shard) === undefined) void this.shards.disown(shard);
    else void this.shards.release(shard.shard, undefined);
  }

  #releaseAll({ nodes }: ClusterView): void {
    const all = nodes.filter(({ life, isDead }) => !isDead && life !== this.life);
    const staying = all.filter(({ isDrained }) => !isDrained);
    const others = staying.length > 0 ? staying : all;
    const { own } = this.#all;
    let room = this.#roomToRelease(nodes);
    for (const shard of own) {
      if (this.shards.get(shard.shard) === undefined) void this.shards.disown(shard);
      else if (!this.shards.isLeaving(shard.shard) && room > 0) {
        room -= 1;
        void this.shards.release(shard.shard, this.#heirOfLeaver(shard, others));
      }
    }
    if (own.length === 0 && this.shards.all().length === 0) void this.#leave();
  }

  /**
   * How many shards to release now, so that none waits long for its turn at its heir: no more at a time than one node
   * recovers. Nothing is paced when that has taken long, or when nobody is there to take them.
   */
  #roomToRelease(nodes: readonly NodeView[]): number {
    const isLate = this.#options.clock.monotonicMs() - this.#drainingMs >= PACED_MS_MAX;
    if (isLate || !nodes.some(({ life, isDead }) => !isDead && life !== this.life)) return Number.POSITIVE_INFINITY;
    const { own, free, unrecovered } = this.#all;
    const leaving = own.filter(({ shard }) => this.shards.isLeaving(shard));
    const moving = new Set([...leaving, ...free.map(({ row }) => row), ...unrecovered].map(({ shard }) => shard));
    return Math.max(0, LOADS_MAX - moving.size);
  }

  /** A node that cannot read the shard would not come, and the others would wait for it. */
  #heirOfLeaver(shard: ShardView, others: readonly NodeView[]): string | undefined {
    const able = others.filter((node) => canRead(node, shard));
    const settled = able.filter(({ life }) => this.beats.isSettled(life));
    const heirs = (settled.length > 0 ? settled : able).map(({ name }) => name);
    const isPinned = shard.pin !== undefined && heirs.includes(shard.pin);
    return isPinned ? shard.pin : this.#placement.firstOf(shard.shard, heirs);
  }

  async #leave(): Promise<void> {
    const { life } = this;
    const { beat } = this.#renewals;
    this.stop();
    const { stores, log } = this.#options;
    try {
      // Others need not wait until it is silent, nor for its turn at free shards.
      await stores.changes.declareDead(life, beat);
    } catch (error) {
      log.warn("node left without a word", faultFields(error));
    }
    this.#drained?.();
  }
}
