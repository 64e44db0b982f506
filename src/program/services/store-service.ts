/**
 * The service of the store: the engine, its HTTP routes and its RESP port, all in
 * one thread.
 */

import { getHeapStatistics } from "node:v8";
import { KEEP_ALIVE_MS } from "../../edge/forward/byte-stream.ts";
import { defaultConnectionLimits } from "../../edge/resp/connection.ts";
import type { RespListener } from "../../edge/resp/listener.ts";
import { REPLY_BYTES_MAX, StoreArea } from "../../edge/store/routes.ts";
import { SyncTokens } from "../../edge/store/sync-token.ts";
import { followUsers } from "../../edge/store/user-tokens.ts";
import { systemClock } from "../../kernel/clock.ts";
import { OWNER_MOVES } from "../../kernel/journal.ts";
import { secretBytes, systemRandom } from "../../kernel/random.ts";
import { openSnapshotCheck, RedisCompat, type RespFigures, SNAPSHOT_CHECK_SEED_BYTES, Store } from "../../store/mod.ts";
import type { AreaClients, TenantMemory } from "../areas/area.ts";
import { type AreaTenant, NO_TENANTS, type TenantsAtOpen } from "../areas/area-tenant.ts";
import type { ListenerEnvironment } from "../listeners/listener.ts";
import { measureSearch } from "../metrics/search.ts";
import { measureResp, measureStore, measureStreams } from "../metrics/store.ts";
import { measureTenants } from "../metrics/tenants.ts";
import { readLuaCode } from "../package-files.ts";
import { processFigures } from "./process-figures.ts";
import { openRespPort } from "./resp-port.ts";
import type { AreaService, ServiceContext, StoreShard } from "./service.ts";
import { storeClients } from "./store-clients.ts";

const HASH_SEED_BYTES = 8;
const BOOT_BYTES = 6;
const RUN_ID_BYTES = 20;

export class StoreService implements AreaService {
  readonly http: StoreArea;
  readonly resp: StoreShard;
  readonly clients: AreaClients;
  readonly #context: ServiceContext;
  readonly #store: Store;
  #resp: RespListener | undefined;
  #isServing = false;
  #stops: (() => void)[] = [];

  constructor(context: ServiceContext) {
    const { tokens, limiter, persistence } = context;
    const { limits, version } = context.plan;
    this.#context = context;
    this.#store = new Store({
      journal: persistence.journal,
      clock: context.clock,
      random: systemRandom,
      turns: context.turns,
      hashSeed: context.plan.shard?.hashSeed ?? secretBytes(HASH_SEED_BYTES),
      dailyRequestsMax: limits.requestsPerDayMax ?? 0,
      pendingEntriesMax: limits.pendingEntriesMax ?? 0,
      guard: context.guard,
      memory: limits.memory,
      memoryOf: (name) => limits.memoryByDatabase.get(name),
      ...(limits.redisCompat && { compat: new RedisCompat() }),
      lua: { code: readLuaCode(), limits: limits.scripts },
      undoBytesMax: limits.undoBytesMax,
      version,
      runId: secretBytes(RUN_ID_BYTES).toString("hex"),
      settings: { fsync: context.plan.fsync, requestBytesMax: limits.requestBytesMax },
      keepsSettings: context.plan.shard !== undefined,
      snapshots: context.plan.directory === undefined ? undefined : persistence.snapshots,
      process: processFigures(() => this.#respFigures()),
    });
    this.http = new StoreArea({
      store: this.#store,
      tokens,
      syncTokens: new SyncTokens(secretBytes(BOOT_BYTES).toString("hex")),
      ...(limiter !== undefined && { limiter }),
      cors: limits.cors,
      queryToken: limits.queryToken,
      requestBytesMax: limits.requestBytesMax,
      replyBytesMax: REPLY_BYTES_MAX,
      clock: context.clock,
      streams: { streamsPerTokenMax: limits.streamsPerTokenMax },
    });
    this.resp = {
      store: this.#store,
      tokens,
      listening: (listener) => {
        this.#resp = listener;
      },
    };
    this.clients = storeClients(this.#store, context.clock);
    persistence.snapshots.follow({
      began: () => this.#store.snapshotBegan(),
      ended: (isWritten) => this.#store.snapshotEnded(isWritten),
    });
    measureStore(context.metrics, this.#store);
    measureSearch(context.metrics, this.#store);
    measureStreams(context.metrics, this.http.streams);
    measureTenants(context.metrics, () => this.#store.databases);
  }

  async open({ made, removed, elsewhere }: TenantsAtOpen = NO_TENANTS): Promise<void> {
    const { plan, persistence } = this.#context;
    const listed = plan.tenants.filter(({ name }) => !elsewhere.includes(name));
    this.#store.beginRecovery();
    await persistence.recover({
      apply: (frame, place) => this.#store.replay(frame, place),
      endSnapshot: () => this.#store.endSnapshot(),
      openSnapshotCheck: () =>
        openSnapshotCheck({ clock: systemClock, random: systemRandom, seed: secretBytes(SNAPSHOT_CHECK_SEED_BYTES) }),
      applied: () => this.#store.endRecovery(),
    });
    for (const name of removed) await this.dropTenant(name);
    for (const tenant of [...listed, ...made]) await this.setTokens(tenant);
    this.#checkHeap();
    this.#stops.push(this.#store.startExpiryCycle());
    this.#isServing = true;
  }

  /** The RESP port, if there is one. */
  async openOwnPort(environment: ListenerEnvironment): Promise<number | undefined> {
    const { plan, metrics, events, clock: storeClock, tokens } = this.#context;
    if (plan.resp?.listen === undefined) return undefined;
    const store = this.#store;
    const { listener, stop } = await openRespPort(
      {
        ...{ plan, resp: plan.resp, store, tokens, storeClock, events },
        isServing: () => this.#isServing,
      },
      environment,
    );
    this.#resp = listener;
    this.#stops.push(stop);
    measureResp(metrics, listener);
    return listener.port;
  }

  async closeOwnPort(graceMs: number): Promise<void> {
    await this.#resp?.close(graceMs);
  }

  #respFigures(): RespFigures | undefined {
    const { resp } = this.#context.plan;
    if (resp?.listen === undefined || this.#resp === undefined) return undefined;
    const { port, rejectedCount } = this.#resp;
    return {
      port,
      isEncrypted: resp.tls !== undefined,
      connectionsMax: resp.connectionsMax,
      keepAliveMs: KEEP_ALIVE_MS,
      output: defaultConnectionLimits,
      rejectedCount,
    };
  }

  /** Warns if the databases may outgrow the heap: the thread would then end before it refuses writes. */
  #checkHeap(): void {
    const { log } = this.#context;
    const databaseBytesMax = this.#store.databases.reduce((sum, { keyspace }) => sum + keyspace.memory.bytesMax, 0);
    const heapBytesMax = getHeapStatistics().heap_size_limit;
    if (databaseBytesMax <= heapBytesMax) return;
    log.warn(
      "the databases may use more memory than the JavaScript heap has: lower --maxmemory or raise --heap-limit",
      {
        databaseBytesMax,
        heapBytesMax,
      },
    );
  }

  async close(): Promise<void> {
    for (const stop of this.#stops) stop();
    if (this.#isServing) this.#store.recordSearchOrders();
    await this.#context.persistence.close();
    // The thread may go on, with other shards.
    for (const { memory } of this.#store.databases) memory.close();
  }

  async reset(): Promise<void> {
    this.#store.reset();
    await this.#store.whenSafe();
  }

  async tenantNames(): Promise<readonly string[]> {
    return this.#store.databaseNames;
  }

  async tenantMemory(): Promise<readonly TenantMemory[]> {
    return this.#store.databases.map(({ name, memory }) => ({ name, memoryBytes: memory.bytes }));
  }

  async setTokens({ name, tokens, isMoving }: AreaTenant): Promise<void> {
    const database = this.#store.database(name);
    this.#context.persistence.journal.hold(database, isMoving === true ? OWNER_MOVES : undefined);
    await this.#store.whenSafe();
    this.#context.tokens.replaceTenant(name, tokens);
    followUsers(database, { tokens: this.#context.tokens, streams: this.http.streams });
  }

  forgetTokens(name: string): void {
    this.#context.tokens.removeTenant(name);
  }

  async dropTenant(name: string): Promise<void> {
    this.forgetTokens(name);
    this.#store.dropDatabase(name);
    await this.#store.whenSafe();
  }

  backUp(target: string): Promise<number> {
    return this.#context.persistence.backUp(target);
  }
}
