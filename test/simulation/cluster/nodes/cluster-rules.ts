/**
 * What must hold in a cluster after each event, whatever happens to nodes, clocks
 * and the store.
 *
 * (1) A node that believes that it may answer reads of a shard owns it.
 * (2) A reply that waited for no commit was made by the owner.
 * (3) Epochs only grow, and with each one the format of the writer does not fall.
 * (4) Nobody is declared dead who has renewed within a lease, outages of the
 *     store not counted, and nobody loses its name while its process runs.
 * (5) What was acknowledged is found by each later recovery.
 * (6) The time of a shard never begins before one that a former owner reported,
 *     unless that one was too far ahead.
 * (7) Nobody claims a broken shard.
 * (8) No call of a destination starts at a node whose oldest uncommitted row is
 *     older than 1 s: its result would perhaps never be committed.
 * (9) After the faults each shard has an owner that serves it within the bound.
 * (10) What a node knows of nodes and shards after a poll is all that the store had
 *     when it answered.
 * (11) No owner recovers rows of a newer format than its node reads.
 */
import { isDeepStrictEqual } from "node:util";
import { type ClusterView, SET_BACK_MS_MAX, type ShardEpoch } from "../../../../src/cluster/log-store/log-store.ts";
import type { TakenShard } from "../../../../src/cluster/node/shard-host.ts";
import type { SimulatedTime } from "./simulated-time.ts";
import type { StoreServer } from "./store-server.ts";

export class ClusterViolation extends Error {
  override name = "ClusterViolation";
}

/** A lease as the fastest watcher counts it: its clock is 5 % fast. */
const SHORTEST_LEASE_MS = 6_000 / 1.05;
/** The age of an uncommitted row that ends calls, as the slowest clock counts it. */
const CALL_LAG_MS_MAX = 1_000 / 0.95;
/** A floor that is less ahead when a recovery begins was certainly not too far ahead at the claim before it. */
const FLOOR_AHEAD_MS_MAX = 2_500;
const TRIES_MAX = 3;

/** A process whose node believes something. */
export interface Believer {
  readonly name: string;
  readonly life: string | undefined;
  /** Whether it can answer anything now: neither paused nor ended. */
  readonly isRunning: boolean;
  /** The shards whose reads it would answer now, by its lease. */
  answered(): readonly { readonly shard: number; readonly epoch: number }[];
}

type Shards = ReturnType<StoreServer["database"]["shards"]["rows"]>[number][1];
type Nodes = ReturnType<StoreServer["database"]["nodes"]["rows"]>[number][1];

export class ClusterRules {
  readonly #time: SimulatedTime;
  readonly #server: StoreServer;
  #commits = -1;
  #shards = new Map<number, Shards>();
  #nodes = new Map<string, Nodes>();
  /** When the beat of each life last changed. */
  readonly #beatMs = new Map<string, number>();
  /** The latest time that an owner of a shard reported. */
  readonly #shardClockMs = new Map<number, number>();
  /** The same when it was last claimed. */
  readonly #claimClockMs = new Map<number, number>();
  readonly #acknowledged = new Map<number, string[]>();
  /** The last recovery of each shard. */
  readonly #recovered = new Map<number, { readonly epoch: number; readonly rows: ReadonlySet<string> }>();
  /** When each node wrote the row that is not committed, by shard. */
  readonly #uncommittedMs = new WeakMap<object, Map<number, number>>();
  fault: Error | undefined;
  /** Lives that were asked to leave. */
  readonly leaving = new Set<string>();
  /** Whether wall clocks step and stand still. */
  hasDisturbedClocks = false;
  /** Whether the process of a life has ended. */
  hasEnded: (life: string) => boolean = () => false;
  readonly seen = { claims: 0, deaths: 0, moves: 0, replies: 0, rows: 0, broken: 0, calls: 0 };

  constructor(time: SimulatedTime, server: StoreServer) {
    this.#time = time;
    this.#server = server;
  }

  get shards(): readonly Shards[] {
    return [...this.#shards.values()];
  }

  isAlive(life: string | undefined): boolean {
    return [...this.#nodes.values()].some((node) => node.life === life && !node.isDead);
  }

  /** Checks what can be broken by any event. Throws the first violation. */
  check(believers: readonly Believer[]): void {
    if (this.fault !== undefined) throw this.fault;
    const { database } = this.#server;
    if (this.#commits !== database.commits) this.#readStore();
    for (const { name, life, isRunning, answered } of believers) {
      if (!isRunning) continue;
      for (const { shard, epoch } of answered()) {
        const row = this.#shards.get(shard);
        if (row?.owner !== life || row?.epoch !== epoch)
          this.#fail(`${name} answers reads of shard ${shard}, which another node owns`);
      }
    }
  }

  isEpoch(shard: number, epoch: number): boolean {
    if (this.#commits !== this.#server.database.commits) this.#readStore();
    return this.#shards.get(shard)?.epoch === epoch;
  }

  /** keeps (2) */
  replied({ name, shard, isCurrent }: { name: string; shard: number; isCurrent: boolean }): void {
    this.seen.replies += 1;
    if (!isCurrent) this.#note(`${name} replied to a read of shard ${shard} when another node owned it`);
  }

  /** The engine of a node has written a row. */
  wrote(host: object, shard: number): void {
    const rows = this.#uncommittedMs.get(host) ?? new Map<number, number>();
    this.#uncommittedMs.set(host, rows);
    rows.set(shard, this.#time.nowMs);
  }

  committed(host: object, shard: number): void {
    this.#uncommittedMs.get(host)?.delete(shard);
  }

  /** keeps (8). A monotonic clock that stands still cannot know the age. */
  called({ host, name, shard }: { host: object; name: string; shard: number }): void {
    this.seen.calls += 1;
    const writtenMs = this.#uncommittedMs.get(host)?.get(shard) ?? this.#time.nowMs;
    const ageMs = this.#time.nowMs - writtenMs;
    if (!this.hasDisturbedClocks && ageMs > CALL_LAG_MS_MAX)
      this.#note(`${name} started a call of shard ${shard} with a row that was not committed for ${ageMs} ms`);
  }

  /** keeps (5): the answer may come when another has recovered the shard already. */
  acknowledged({ shard, epoch }: ShardEpoch, row: string): void {
    this.seen.rows += 1;
    const rows = this.#acknowledged.get(shard) ?? [];
    this.#acknowledged.set(shard, rows);
    rows.push(row);
    const last = this.#recovered.get(shard);
    if (last !== undefined && last.epoch > epoch && !last.rows.has(row)) this.#noteMissing(shard, row);
  }

  /** keeps (5) */
  recovered({ shard, epoch }: TakenShard, rows: readonly string[]): void {
    const found = new Set(rows);
    this.#recovered.set(shard, { epoch, rows: found });
    const missing = this.#acknowledged.get(shard)?.find((row) => !found.has(row));
    if (missing !== undefined) this.#noteMissing(shard, missing);
  }

  /** keeps (10) */
  saw(name: string, view: ClusterView, had: ClusterView | undefined): void {
    if (!isDeepStrictEqual(view, had)) this.#note(`${name} has missed a change of a node or a shard`);
  }

  /** keeps (11) */
  read(recovery: { name: string; shard: number; format: number; writtenFormat: number }): void {
    const { name, shard, format, writtenFormat } = recovery;
    if (writtenFormat > format)
      this.#note(`${name} reads format ${format} and recovered shard ${shard} with rows of format ${writtenFormat}`);
  }

  #noteMissing(shard: number, row: string): void {
    this.#note(`the acknowledged row ${row} of shard ${shard} was not recovered`);
  }

  /** `systemMs` is the clock of the machine shortly after the claim. keeps (6) */
  engineTime({ shard }: TakenShard, engineMs: number, systemMs: number): void {
    const reportedMs = this.#claimClockMs.get(shard) ?? 0;
    const storedMs = this.#shards.get(shard)?.floorMs ?? 0;
    // Clocks that were set back lower the floor, by more than 5 s at once or in sum.
    const floorMs = this.hasDisturbedClocks ? Math.min(reportedMs, storedMs) : reportedMs;
    if (engineMs < floorMs && Math.max(reportedMs, storedMs) - systemMs <= FLOOR_AHEAD_MS_MAX)
      this.#note(`the time of shard ${shard} ran back by ${floorMs - engineMs} ms`);
  }

  #readStore(): void {
    const { database } = this.#server;
    this.#commits = database.commits;
    const statement = database.begin();
    for (const [name, node] of database.nodes.rows(statement)) this.#sawNode(name, node);
    for (const [, shard] of database.shards.rows(statement)) this.#sawShard(shard);
  }

  #sawNode(name: string, node: Nodes): void {
    const before = this.#nodes.get(name);
    const { nowMs } = this.#time;
    if (before !== undefined && before.life !== node.life && !before.isDead && !this.hasEnded(before.life))
      this.#fail(`${name} was registered by another process although it lives`);
    if (before?.life !== node.life || before.beat !== node.beat) this.#beatMs.set(node.life, nowMs);
    else if (node.isDead && !before.isDead) {
      this.seen.deaths += 1;
      const upMs = this.#server.upMsSince(this.#beatMs.get(node.life) ?? 0);
      // One that leaves declares itself dead.
      if (!this.leaving.has(node.life) && upMs < SHORTEST_LEASE_MS)
        this.#fail(`${name} was declared dead ${Math.round(upMs)} ms after it had renewed`);
    }
    this.#nodes.set(name, node);
    if (before?.life === node.life && before.beat !== node.beat) this.#sawClock(node);
  }

  /** A renewal reports the time of the shards that the node had before. */
  #sawClock(node: Nodes): void {
    for (const { shard, owner, ownerName } of this.#shards.values()) {
      const known = this.#shardClockMs.get(shard) ?? 0;
      const aheadMs = known - node.clockMs;
      if (owner === node.life)
        this.#shardClockMs.set(shard, aheadMs > 0 && aheadMs <= SET_BACK_MS_MAX ? known : node.clockMs);
      // A renewal that comes this late looks as if the clock had been corrected, also after the release of the shard.
      else if (owner === undefined && ownerName === node.name && aheadMs > SET_BACK_MS_MAX)
        this.#shardClockMs.set(shard, node.clockMs);
    }
  }

  #sawShard(row: Shards): void {
    const before = this.#shards.get(row.shard);
    this.#shards.set(row.shard, row);
    if (before === undefined) return;
    if (row.epoch < before.epoch) this.#fail(`the epoch of shard ${row.shard} fell to ${row.epoch}`);
    if (row.writerFormat < before.writerFormat)
      this.#fail(`the format of shard ${row.shard} fell to ${row.writerFormat}`);
    if (row.tries > TRIES_MAX) this.#fail(`shard ${row.shard} was claimed although it is broken`);
    if (row.tries === TRIES_MAX && before.tries < TRIES_MAX) this.seen.broken += 1;
    if (row.epoch > before.epoch) {
      this.seen.claims += 1;
      this.#claimClockMs.set(row.shard, this.#shardClockMs.get(row.shard) ?? 0);
      if (row.epoch !== before.epoch + 1) this.#fail(`the epoch of shard ${row.shard} jumped to ${row.epoch}`);
      if (before.heir !== undefined) this.seen.moves += 1;
    }
  }

  #note(text: string): void {
    this.fault ??= new ClusterViolation(text);
  }

  #fail(text: string): never {
    throw new ClusterViolation(text);
  }
}
