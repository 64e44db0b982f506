/**
 * The shard of an area, on the side of its engine: the disk that PostgreSQL makes
 * durable, and the fence of its journal.
 *
 * (1) The directory is a cache of this node alone. What cannot be compared with
 *     PostgreSQL is removed before a recovery (standby/derived-files.ts).
 * (2) A cached file that is damaged is fetched again, and then the process ends:
 *     the engine has read a part of it, and the next start recovers an empty one.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { flooredClock } from "../../cluster/node/engine-clock.ts";
import { Lease } from "../../cluster/node/lease.ts";
import { Suspension } from "../../cluster/node/suspension.ts";
import { PgSession } from "../../cluster/postgres/pg-session.ts";
import { PostgresLogStore } from "../../cluster/postgres/postgres-log-store.ts";
import { DamagedLog } from "../../cluster/shipped/errors.ts";
import { openShard, recoverShard } from "../../cluster/shipped/open-shard.ts";
import type { ShippedDisk } from "../../cluster/shipped/shipped-disk.ts";
import { type Clock, machineClock, systemClock } from "../../kernel/clock.ts";
import { faultFields, type Log } from "../../kernel/log.ts";
import type { Histogram, Metrics } from "../../kernel/metrics.ts";
import { fileDisk } from "../../persistence/disk/file-disk.ts";
import { NewerFormat } from "../../persistence/errors.ts";
import type { AreaPersistence } from "../areas/area-persistence.ts";
import type { JournalFence } from "../areas/deferred-journal.ts";
import { HISTORY_FILE } from "../history/history-store.ts";
import { StartRefusal } from "../refusal.ts";
import { ClusterObjects } from "../services/objects/cluster-objects.ts";
import { Connector } from "./connector.ts";
import { measureShipping } from "./shard-figures.ts";
import type { ShardClaim, ShardPlan, ShardReport } from "./shard-plan.ts";
import { sparseLog } from "./sparse-log.ts";
import { removeDerived } from "./standby/derived-files.ts";
import { readStandbyHistory } from "./standby/standby-report.ts";
import { StandbyRetention } from "./standby/standby-retention.ts";

export interface AreaShardOptions {
  readonly plan: ShardPlan;
  /** The directory of the shard, and its name in the headers of its files. */
  readonly directory: string;
  readonly nameInFiles: string;
  readonly mode: "always" | "everysec" | "no";
  /** The clock of the engines. */
  readonly clock: Clock;
  readonly log: Log;
  /** Of the area. */
  readonly metrics: Metrics;
  report(event: ShardReport): void;
}

/** An append that is not answered. It waits for a standby, so this is longer than a commit should ever take. */
const APPEND_PATIENCE_MS = 10_000;
/** For parts of snapshots and whole segments. */
const FILE_PATIENCE_MS = 60_000;
/** How often a reader that waits for the lease looks whether it was extended. */
const LEASE_LOOK_MS = 50;
/** The name of this refusal in the journal. */
const REFUSED_BY = "cluster";
/** Of segments that only a log of messages reads, before a takeover without one. */
const COVERED_BYTES_MAX = 128 * 1024 * 1024;

export class AreaShard implements JournalFence {
  readonly isProvenByCommits: boolean;
  /** The clock of the engine, which never runs before the floor of a claim. */
  readonly clock: Clock;
  readonly #options: AreaShardOptions;
  readonly #lease: Lease;
  readonly #suspension: Suspension;
  readonly #sessions: readonly [append: PgSession, files: PgSession];
  readonly #objects = new ClusterObjects("write");
  #floorMs = 0;
  #disk: ShippedDisk | undefined;
  readonly #commits: Histogram;
  #isLooking = false;
  /** Of `confirm`: what waits for each number. */
  readonly #confirming = new Map<number, () => void>();
  #confirmCount = 0;
  /** The wait that the readers of this turn share. */
  #confirmation: Promise<void> | undefined;

  constructor(options: AreaShardOptions) {
    const { plan, clock, mode } = options;
    this.#options = options;
    this.isProvenByCommits = mode === "always";
    this.clock = flooredClock(() => this.#floorMs, clock);
    this.#lease = new Lease(machineClock, plan.leaseMemory);
    this.#suspension = new Suspension(this.#lease, machineClock);
    this.#commits = measureShipping(options.metrics, plan.shard, () => ({
      unshippedBytes: this.#disk?.unshippedBytes ?? 0,
      lagMs: this.#suspension.lagMs,
      healCount: this.#disk?.healCount ?? 0,
    }));
    const session = (patienceMs: number): PgSession =>
      new PgSession(new Connector({ plan: plan.connection, clock: systemClock, patienceMs }).connect);
    this.#sessions = [session(APPEND_PATIENCE_MS), session(FILE_PATIENCE_MS)];
  }

  get hashSeed(): Uint8Array {
    return this.#options.plan.hashSeed;
  }

  isFresh(): boolean {
    return this.#options.plan.reads === "lease" && this.#lease.isFresh();
  }

  whenFresh(): Promise<void> {
    if (this.#options.plan.reads === "lease") {
      const fresh = this.#lease.whenFresh();
      if (!this.#lease.isFresh()) this.#look();
      return fresh;
    }
    this.#confirmation ??= this.#confirm();
    return this.#confirmation;
  }

  /** Also without a lease, calls and writes do not start: the shard is suspended. */
  get reason(): string | undefined {
    return this.#suspension.reason;
  }

  get mayCall(): boolean {
    return this.#suspension.mayCall;
  }

  /** A renewal has returned that was sent after the event with this number. */
  confirmed(id: number): void {
    this.#confirming.get(id)?.();
    this.#confirming.delete(id);
  }

  /**
   * Makes the directory equal to PostgreSQL, and opens the engine on it with `open`. Rejects with a `StartRefusal` if the
   * operator has to fix something, or if the next start will succeed (2).
   */
  async open(claim: ShardClaim, persistence: AreaPersistence, open: () => Promise<void>): Promise<void> {
    const { plan, directory, nameInFiles, log: everyLog } = this.#options;
    const log = sparseLog(everyLog, systemClock);
    this.#floorMs = claim.floorMs;
    await removeDerived(directory, plan.branch); // keeps (1)
    const owner = { shard: plan.shard, epoch: claim.epoch };
    const [appends, files] = this.#sessions;
    let refusal: string | undefined;
    let refuse = (reason: string | undefined): void => {
      refusal = reason;
    };
    try {
      const disk = await openShard({
        ...{ local: fileDisk, directory, area: nameInFiles, owner, log, branch: plan.branch },
        store: new PostgresLogStore(appends),
        fileStore: new PostgresLogStore(files),
        // The log of messages that this node has goes on, and reads files. A new one begins with what takes no time.
        coveredBytesMax: existsSync(join(directory, HISTORY_FILE)) ? Number.POSITIVE_INFINITY : COVERED_BYTES_MAX,
        snapshot: claim.snapshot,
        objects: {
          ...{ stores: this.#objects, cluster: plan.cluster },
          trouble: (reason) => this.#options.report({ kind: "objects", reason }),
        },
        clock: systemClock,
        refuse: (reason) => {
          this.#options.report({ kind: "refusing", reason });
          refuse(reason);
        },
        onCommitted: (tookMs) => this.#commits.observe(tookMs / 1_000),
        onWritten: () => this.#suspension.written(),
        deposed: ({ message }) => this.#options.report({ kind: "lost", reason: message }),
      });
      this.#disk = disk;
      const retention = new StandbyRetention({
        clock: systemClock,
        ask: () => readStandbyHistory(files, plan.shard),
        onFault: (fault) => log.warn("the standby of a shard is not known", faultFields(fault)),
      });
      persistence.standOn({
        disk,
        mayRemove: (segment) => retention.mayRemove(segment),
        opened: (journal) => {
          refuse = (reason) => {
            if (reason !== undefined) log.warn("writes are refused", { reason });
            else log.info("accepting writes again");
            journal.refuse(reason, REFUSED_BY);
          };
          if (refusal !== undefined) refuse(refusal);
        },
      });
      let hasRun = false;
      await recoverShard(disk, { owner, log }, () => {
        // keeps (2)
        if (hasRun)
          throw new StartRefusal(
            `Shard ${plan.shard} had a damaged file in ${directory}, which was fetched again: the next start recovers it`,
          );
        hasRun = true;
        return open();
      });
    } catch (fault) {
      const isForOperator = fault instanceof DamagedLog || fault instanceof NewerFormat;
      throw isForOperator ? new StartRefusal(fault.message, 1, { cause: fault }) : fault;
    }
  }

  /** Closes the connections. The journal is closed. */
  async close(): Promise<void> {
    await this.#disk?.settled();
    this.#disk?.end(new Error("The area is closed"));
    await Promise.all([...this.#sessions.map((session) => session.close()), this.#objects.close()]);
  }

  /** The main thread extends the lease, and does not say so to each thread. */
  #look(): void {
    if (this.#isLooking) return;
    this.#isLooking = true;
    systemClock.after(LEASE_LOOK_MS, () => {
      this.#isLooking = false;
      this.#lease.wake();
      if (!this.#lease.isFresh()) this.#look();
    });
  }

  /** Asks at the end of the turn, so that all reads of the turn share the renewal. */
  async #confirm(): Promise<void> {
    await new Promise<void>((resolve) => setImmediate(resolve));
    this.#confirmation = undefined;
    this.#confirmCount += 1;
    const id = this.#confirmCount;
    await new Promise<void>((resolve) => {
      this.#confirming.set(id, resolve);
      this.#options.report({ kind: "confirm", id });
    });
  }
}
