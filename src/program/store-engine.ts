/**
 * The store behind its port: the engine, its tokens, and the journal that it
 * writes and was recovered from. Everything here runs in one thread.
 */
import { TokenTable } from "../edge/auth.ts";
import { RateLimiter } from "../edge/rate-limit.ts";
import { REPLY_BYTES_MAX, StoreArea } from "../edge/store-routes.ts";
import { SyncTokens } from "../edge/sync-token.ts";
import { systemClock } from "../kernel/clock.ts";
import type { Metrics, SeriesSnapshot } from "../kernel/metrics.ts";
import { secretBytes, systemRandom } from "../kernel/random.ts";
import type { Command } from "../store/command.ts";
import { commands } from "../store/commands.ts";
import { NullJournal } from "../store/journal.ts";
import { Store } from "../store/mod.ts";
import type { AreaTenant } from "./area.ts";
import type { EngineContext } from "./area-thread.ts";
import type { AreaEngine } from "./listening-area.ts";

const HASH_SEED_BYTES = 8;
const TOKEN_KEY_BYTES = 32;
const BOOT_BYTES = 6;

export class StoreEngine implements AreaEngine {
  readonly edge: StoreArea;
  readonly #context: EngineContext;
  readonly #store: Store;
  readonly #tokens = new TokenTable(secretBytes(TOKEN_KEY_BYTES));
  #stopExpiry: () => void = () => {};

  constructor(context: EngineContext) {
    const { plan, clock, metrics } = context;
    const { limits } = plan;
    this.#context = context;
    this.#store = new Store({
      journal: new NullJournal(),
      clock,
      random: systemRandom,
      hashSeed: secretBytes(HASH_SEED_BYTES),
      dailyRequestsMax: limits.requestsPerDayMax ?? 0,
      version: plan.version,
    });
    const perSecond = limits.requestsPerSecondMax;
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
    measureStore(metrics, this.#store);
  }

  async open(): Promise<void> {
    for (const tenant of this.#context.plan.tenants) await this.setTokens(tenant);
    this.#stopExpiry = this.#store.startExpiryCycle();
  }

  async close(): Promise<void> {
    this.#stopExpiry();
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

  async prepareSnapshot(): Promise<void> {}

  async finishSnapshot(): Promise<void> {}
}

const outcomes = ["ok", "failed", "rejected"] as const;

/** Commands by name and outcome over all databases, and keys by database. */
function measureStore(metrics: Metrics, store: Store): void {
  metrics.readings(
    {
      name: "larder_store_commands_total",
      help: "Commands run or rejected, by name and outcome",
      kind: "counter",
      labelNames: ["command", "outcome"],
    },
    () => allCommands().flatMap((command) => commandSeries(store, command)),
  );
  metrics.readings(
    { name: "larder_store_keys", help: "Keys, by database", kind: "gauge", labelNames: ["database"] },
    () =>
      store.databases.map((database) => ({ labelValues: [database.name], values: [database.keyspace.entries.size] })),
  );
}

function allCommands(): readonly Command[] {
  return commands.flatMap((command) => [command, ...(command.subcommandByName?.values() ?? [])]);
}

function commandSeries(store: Store, command: Command): readonly SeriesSnapshot[] {
  const sums = { ok: 0, failed: 0, rejected: 0 };
  for (const database of store.databases) {
    const { calls, failed, rejected } = database.countsOf(command);
    sums.ok += calls - failed;
    sums.failed += failed;
    sums.rejected += rejected;
  }
  return outcomes
    .filter((outcome) => sums[outcome] > 0)
    .map((outcome) => ({ labelValues: [command.fullName, outcome], values: [sums[outcome]] }));
}
