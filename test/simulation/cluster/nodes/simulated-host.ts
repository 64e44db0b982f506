/**
 * The engines of a simulated node: each shard appends numbered rows and serves
 * reads, as far as its lease and its suspension allow, and checks what it finds
 * in its log and on its clock.
 */
import type { LogStore, ShardEpoch } from "../../../../src/cluster/log-store/log-store.ts";
import { clockFrom } from "../../../../src/cluster/node/engine-clock.ts";
import type { ReadGuard } from "../../../../src/cluster/node/lease.ts";
import type { ShardHost, TakenShard } from "../../../../src/cluster/node/shard-host.ts";
import type { Suspension } from "../../../../src/cluster/node/suspension.ts";
import type { SeenChanges } from "../../../../src/cluster/node/watched-cluster.ts";
import type { Clock } from "../../../../src/kernel/clock.ts";
import type { Random } from "../../../../src/kernel/random.ts";
import type { ClusterRules } from "./cluster-rules.ts";

const RETRY_MS = 200;
/** From one row to the next, and from one read to the next. */
const WORK_MS_MAX = 1_500;

export interface SimulatedHostOptions {
  readonly name: string;
  /** The format in which it writes rows, and the newest that it reads. */
  readonly format: number;
  readonly store: Pick<LogStore, "append" | "read" | "removeSegments">;
  readonly clock: Clock;
  readonly random: Random;
  readonly rules: ClusterRules;
  /** The first row that a shard cannot replay, if there is one. */
  isPoisoned(shard: number): boolean;
  /** The clock of the engines of a shard. */
  engineClock?(taken: TakenShard, clock: Clock): Clock;
  /** Whether a call of a destination may start. */
  mayCall?(suspension: Suspension): boolean;
}

interface Served {
  readonly taken: TakenShard;
  readonly segment: number;
  /** All rows that it recovered. */
  readonly recovered: readonly string[];
  before: number;
  start: number;
  isEnding: boolean;
  work: Promise<void>;
}

export class SimulatedHost implements ShardHost {
  readonly #options: SimulatedHostOptions;
  readonly #served = new Map<number, Served>();
  /** Set by the process when its node has started. */
  reads: ReadGuard | undefined;
  deposed: (shard: number) => void = () => {};
  saw: (seen: SeenChanges) => void = () => {};
  lostReason: string | undefined;
  mayMoveShards = true;

  constructor(options: SimulatedHostOptions) {
    this.#options = options;
  }

  serves(shard: number): boolean {
    return this.#served.get(shard)?.isEnding === false;
  }

  async load(taken: TakenShard): Promise<void> {
    const { clock, random, rules, isPoisoned, engineClock, name, format } = this.#options;
    const startMs = clock.nowMs();
    const rows: string[] = [];
    let writtenFormat = 0;
    for (const { segment, bytes } of taken.segments) {
      const found = await this.#repeat(() => this.#options.store.read(taken.shard, segment, 0, bytes));
      // What was appended since the list of segments was read is not there for this recovery.
      for (const row of found) {
        if (row.start >= bytes) continue;
        const [written, ...others] = row.bytes.toString("latin1").split(" ");
        writtenFormat = Math.max(writtenFormat, Number(written));
        rows.push(...others);
      }
    }
    await this.#sleep(20 + random.below(400));
    if (isPoisoned(taken.shard)) throw new Error("This frame cannot be replayed");
    // A recovery that took too long is of no interest: the node will see that another has claimed the shard.
    if (rules.isEpoch(taken.shard, taken.epoch)) {
      const engine = engineClock?.(taken, clock) ?? clockFrom(taken.floorMs, clock);
      rules.read({ name, shard: taken.shard, format, writtenFormat });
      rules.recovered(taken, rows);
      rules.engineTime(taken, engine.nowMs(), startMs);
    }
    const segment = (taken.segments.at(-1)?.segment ?? 0) + 1;
    const work = Promise.resolve();
    const served: Served = { taken, segment, recovered: rows, before: 0, start: 0, isEnding: false, work };
    this.#served.set(taken.shard, served);
    served.work = this.#write(served);
    void this.#read(served);
  }

  async unload({ shard }: ShardEpoch): Promise<void> {
    const served = this.#served.get(shard);
    if (served === undefined) return;
    served.isEnding = true;
    await served.work;
    this.#served.delete(shard);
  }

  mayMove(): boolean {
    return this.mayMoveShards;
  }

  lost(reason: string): void {
    this.lostReason = reason;
  }

  async #write(served: Served): Promise<void> {
    const { random, rules, store } = this.#options;
    const { shard, epoch, suspension, segments } = served.taken;
    // All that was recovered goes to the new segment, as into a snapshot, so that the old ones can leave.
    if (!(await this.#append(served, served.recovered))) return;
    const old = segments.map(({ segment }) => segment);
    await this.#repeat(() => store.removeSegments({ shard, epoch }, old));
    for (let number = 1; ; number += 1) {
      await this.#sleep(random.below(WORK_MS_MAX));
      if (suspension.reason !== undefined) await suspension.whenResumed();
      if (served.isEnding) return;
      const row = `${epoch}:${number}`;
      if (!(await this.#append(served, [row]))) return;
      rules.acknowledged({ shard, epoch }, row);
    }
  }

  async #append(served: Served, rows: readonly string[]): Promise<boolean> {
    if (rows.length === 0) return true;
    const { shard, epoch, suspension } = served.taken;
    const { segment, before, start } = served;
    const bytes = Buffer.from([this.#options.format, ...rows].join(" "), "latin1");
    const committed = [suspension.commitBegins(), suspension.written()];
    this.#options.rules.wrote(this, shard);
    const append = { shard, epoch, segment, start, before, bytes };
    const outcome = await this.#repeat(() => this.#options.store.append(append));
    this.#options.rules.committed(this, shard);
    for (const end of committed) end();
    served.before = start;
    served.start = start + bytes.length;
    if (outcome !== "committed") this.deposed(shard);
    return outcome === "committed";
  }

  async #read(served: Served): Promise<void> {
    const { random, rules, name } = this.#options;
    const { shard, epoch } = served.taken;
    for (;;) {
      await this.#sleep(random.below(WORK_MS_MAX));
      if (served.isEnding) return;
      this.#call(served);
      // The reply is made now and may leave later.
      const isCurrent = rules.isEpoch(shard, epoch);
      const guard = this.reads;
      if (guard === undefined) continue;
      if (!guard.isFresh()) await guard.whenFresh();
      rules.replied({ name, shard, isCurrent });
    }
  }

  /** Starts a call of a destination, if it may. */
  #call({ taken: { shard, suspension } }: Served): void {
    const { mayCall = (asked: Suspension) => asked.mayCall, rules, name } = this.#options;
    if (mayCall(suspension)) rules.called({ host: this, name, shard });
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.#options.clock.after(ms, resolve));
  }

  async #repeat<Result>(call: () => Promise<Result>): Promise<Result> {
    for (;;) {
      try {
        return await call();
      } catch {
        await this.#sleep(RETRY_MS);
      }
    }
  }
}
