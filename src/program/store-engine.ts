/**
 * The store behind its port: the engine, its tokens, and the part of the data
 * directory that it is recovered from and writes to. All in one thread.
 */
import { TokenTable } from "../edge/auth.ts";
import { RateLimiter } from "../edge/rate-limit.ts";
import { REPLY_BYTES_MAX, StoreArea } from "../edge/store-routes.ts";
import { SyncTokens } from "../edge/sync-token.ts";
import { systemClock } from "../kernel/clock.ts";
import { pauseThread } from "../kernel/pause.ts";
import { secretBytes, systemRandom } from "../kernel/random.ts";
import type { Area as KeptArea } from "../persistence/area.ts";
import { type ProcessFigures, RedisCompat, Store } from "../store/mod.ts";
import type { AreaTenant } from "./area.ts";
import type { EngineContext } from "./area-thread.ts";
import type { AreaEngine } from "./listening-area.ts";
import { directoryRefusal } from "./refusal.ts";
import { LateJournal } from "./store-journal.ts";
import { measureStore } from "./store-metrics.ts";

/** Of this thread and of the process, for INFO. */
function readFigures(): ProcessFigures {
  const { heapUsed, external, rss } = process.memoryUsage();
  return { usedBytes: heapUsed + external, residentBytes: rss };
}

const HASH_SEED_BYTES = 8;
const TOKEN_KEY_BYTES = 32;
const BOOT_BYTES = 6;

/** How often is looked whether the disk has become full or has space again. */
const TROUBLE_CHECK_MS = 1_000;

/** Progress of a replay is told at most this often. */
const PROGRESS_MS = 250;

export class StoreEngine implements AreaEngine {
  readonly edge: StoreArea;
  readonly #context: EngineContext;
  readonly #journal = new LateJournal();
  readonly #store: Store;
  readonly #tokens = new TokenTable(secretBytes(TOKEN_KEY_BYTES));
  #kept: KeptArea | undefined;
  #trouble: string | undefined;
  #stops: (() => void)[] = [];

  constructor(context: EngineContext) {
    const { limits, version } = context.plan;
    const perSecond = limits.requestsPerSecondMax;
    this.#context = context;
    this.#store = new Store({
      journal: this.#journal,
      clock: context.clock,
      random: systemRandom,
      hashSeed: secretBytes(HASH_SEED_BYTES),
      dailyRequestsMax: limits.requestsPerDayMax ?? 0,
      memory: limits.memory,
      ...(limits.redisCompat && { compat: new RedisCompat(pauseThread) }),
      version,
      readFigures,
    });
    this.edge = new StoreArea({
      store: this.#store,
      tokens: this.#tokens,
      syncTokens: new SyncTokens(secretBytes(BOOT_BYTES).toString("hex")),
      ...(perSecond !== undefined && { limiter: new RateLimiter(systemClock, { perSecond, burst: perSecond }) }),
      cors: limits.cors,
      queryToken: limits.queryToken,
      requestBytesMax: limits.requestBytesMax,
      replyBytesMax: REPLY_BYTES_MAX,
    });
    measureStore(context.metrics, this.#store);
  }

  async open(): Promise<void> {
    const { plan, events } = this.#context;
    if (plan.directory !== undefined) await this.#recover(plan.directory);
    for (const tenant of plan.tenants) await this.setTokens(tenant);
    this.#stops.push(this.#store.startExpiryCycle());
    if (this.#kept?.isSnapshotDue() === true) events.snapshotDue();
  }

  async close(): Promise<void> {
    for (const stop of this.#stops) stop();
    this.#journal.close();
    const lostCount = await this.#kept?.close();
    if (lostCount !== undefined && lostCount > 0) {
      this.#context.log.error("writes that were not acknowledged are lost: no space is left", { frames: lostCount });
    }
  }

  async reset(): Promise<void> {
    this.#store.reset();
    await this.#store.whenSafe();
  }

  tenantNames(): readonly string[] {
    return this.#store.databaseNames;
  }

  async setTokens({ name, tokens }: AreaTenant): Promise<void> {
    this.#store.database(name);
    await this.#store.whenSafe();
    this.#tokens.replaceTenant(name, tokens);
  }

  async dropTenant(name: string): Promise<void> {
    this.#tokens.removeTenant(name);
    this.#store.dropDatabase(name);
    await this.#store.whenSafe();
  }

  async prepareSnapshot(): Promise<void> {
    await this.#kept?.closeSegment();
  }

  async finishSnapshot(isWritten: boolean): Promise<boolean> {
    if (isWritten) await this.#kept?.adoptSnapshot();
    return this.#kept?.isSnapshotDue() ?? false;
  }

  async #recover(directory: string): Promise<void> {
    const { plan, metrics, log, events, onFatal } = this.#context;
    // Loaded here, because a store that keeps nothing needs none of it.
    const { openArea } = await import("../persistence/area.ts");
    const { fileDisk } = await import("../persistence/file-disk.ts");
    const { measureJournal } = await import("../persistence/journal-metrics.ts");
    const startMs = systemClock.monotonicMs();
    let toldMs = startMs;
    let frames = 0;
    try {
      this.#kept = await openArea({
        disk: fileDisk,
        directory,
        area: plan.area,
        mode: plan.fsync,
        // Disks live by the real clock, also where engines travel in time.
        clock: systemClock,
        random: systemRandom,
        log,
        onFatal,
        apply: (frame) => {
          frames += 1;
          this.#store.replay(frame);
        },
        onProgress: (doneBytes, totalBytes) => {
          const nowMs = systemClock.monotonicMs();
          if (nowMs - toldMs < PROGRESS_MS) return;
          toldMs = nowMs;
          events.replayed(doneBytes / totalBytes);
        },
        onSnapshotDue: () => events.snapshotDue(),
      });
    } catch (fault) {
      throw directoryRefusal(fault, directory, "--data-dir");
    }
    const seconds = Math.round(systemClock.monotonicMs() - startMs) / 1_000;
    const { journal } = this.#kept;
    this.#journal.open(journal);
    measureJournal(metrics, journal);
    metrics.gauge("larder_replay_seconds", "How long the recovery at the start took").with().set(seconds);
    log.info("recovered", { frames, position: journal.end, seconds });
    this.#watchTrouble();
  }

  /** Tells main when writes are refused and when they are accepted again. */
  #watchTrouble(): void {
    let cancel = (): void => {};
    const look = (): void => {
      const { refusal } = this.#journal;
      if (refusal !== this.#trouble) {
        this.#trouble = refusal;
        this.#context.events.trouble(refusal);
      }
      cancel = systemClock.after(TROUBLE_CHECK_MS, look);
    };
    look();
    this.#stops.push(() => cancel());
  }
}
