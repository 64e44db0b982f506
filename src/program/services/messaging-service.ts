/**
 * The service of messaging: the engine, the client that calls destinations, and
 * the history, which follows the journal in its own threads.
 */

import { lookup } from "node:dns/promises";
import { MessagingArea } from "../../edge/messaging/area.ts";
import { OutboundClient } from "../../edge/outbound/client.ts";
import { parseDestinations } from "../../edge/outbound/destination-policy.ts";
import { Resolver } from "../../edge/outbound/resolver.ts";
import { TracedOutbound } from "../../edge/outbound/traced.ts";
import { systemClock } from "../../kernel/clock.ts";
import { OWNER_MOVES } from "../../kernel/journal.ts";
import { faultFields } from "../../kernel/log.ts";
import { systemRandom } from "../../kernel/random.ts";
import { Messaging, moveBodies } from "../../messaging/mod.ts";
import type { AreaStorage } from "../../persistence/area-storage.ts";
import type { TenantMemory } from "../areas/area.ts";
import type { StorageHooks } from "../areas/area-persistence.ts";
import { type AreaTenant, NO_TENANTS, type TenantsAtOpen } from "../areas/area-tenant.ts";
import { messagingWatcher } from "../events/watchers.ts";
import { copyHistoryFile } from "../history/copy.ts";
import { type HistoryOptions, type HistoryStore, openHistory } from "../history/history-store.ts";
import { messageLog } from "../history/message-log.ts";
import { awaitedCalls, awaitedReads } from "../journey.ts";
import { measureMessaging } from "../metrics/messaging.ts";
import { measureTenants } from "../metrics/tenants.ts";
import { userIdOf } from "../tenants/tokens.ts";
import { PeriodicTask } from "./periodic-task.ts";
import { ReadSegments } from "./read-segments.ts";
import type { AreaService, ServiceContext } from "./service.ts";
import { bodySource, StoredBodiesCheck } from "./stored-bodies-check.ts";

/** How often old segments are cleaned. */
const CLEAN_PERIOD_MS = 10_000;
/**
 * How long calls under way may last when their user moves to another shard. The command that moves it waits for 10 s for
 * all nodes (`cluster/tenants/reach.ts`), and a node needs up to two of them to see the move.
 */
const FREEZE_MS = 5_000;

export class MessagingService implements AreaService {
  readonly http: MessagingArea;
  readonly #context: ServiceContext;
  readonly #messaging: Messaging;
  readonly #outbound: OutboundClient;
  /** The `UserID` in the tokens of each user. */
  readonly #userIds = new Map<string, ReadonlySet<string>>();
  readonly #segments = new ReadSegments();
  #history: HistoryStore | undefined;
  #check: StoredBodiesCheck | undefined;
  readonly #cleaning: PeriodicTask;

  constructor(context: ServiceContext) {
    const { plan, clock, log, metrics, turns, tokens, limiter, persistence, onFatal } = context;
    const { messaging: options, limits } = plan;
    this.#context = context;
    const policy = parseDestinations(options.destinations, options.allowedDestinations);
    this.#outbound = new OutboundClient({
      resolver: new Resolver({ lookup: (name) => lookup(name, { all: true }), clock: systemClock }),
      // Sockets use the real clock, even if engines travel in time.
      clock: systemClock,
      policy,
      map: options.outboundMap,
      responseBytesMax: options.limits.responseBytesMax,
      socketsPerOrigin: options.limits.originParallelism,
      log,
    });
    this.#messaging = new Messaging({
      journal: persistence.journal,
      clock,
      random: systemRandom,
      limits: options.limits,
      outbound: awaitedCalls(
        clock,
        context.tracer === undefined ? this.#outbound : new TracedOutbound(this.#outbound, context.tracer),
      ),
      settings: { spelling: options.headerNames, region: options.region },
      deliveriesDisabled: options.deliveriesDisabled,
      log,
      watcher: context.events && messagingWatcher(context.events, clock),
      guard: context.guard,
      logReader: messageLog(
        (query, position) => this.#openHistory.list(query, position),
        () => persistence.journal.end,
      ),
    });
    this.http = new MessagingArea({
      messaging: this.#messaging,
      tokens,
      ...(limiter !== undefined && { limiter }),
      queryToken: limits.queryToken,
      limits: options.limits,
      clock,
      turns,
      destinations: (url) => this.#outbound.refusalOf(url),
      acceptBackpressure: () => this.#messaging.engine.backpressure.wait(),
      usersNamed: (id) => [...this.#userIds].filter(([, ids]) => ids.has(id)).map(([name]) => name),
    });
    this.#cleaning = new PeriodicTask({
      clock: systemClock,
      periodMs: CLEAN_PERIOD_MS,
      run: () => this.#clean(),
      onFault: onFatal,
    });
    measureMessaging(metrics, this.#messaging.engine);
    measureTenants(metrics, () => this.#messaging.engine.state.users);
  }

  async open({ made, removed, elsewhere }: TenantsAtOpen = NO_TENANTS): Promise<void> {
    const { plan, persistence } = this.#context;
    const storage = await persistence.recover(this.#storageHooks);
    if (storage === undefined || plan.directory === undefined) await this.#openInMemory();
    else await this.#openStored(storage, plan.directory);
    for (const name of removed) await this.dropTenant(name);
    const listed = plan.tenants.filter(({ name }) => !elsewhere.includes(name));
    for (const tenant of [...listed, ...made]) await this.setTokens(tenant);
    this.#messaging.engine.start();
    this.#check?.start();
  }

  async close(graceMs: number): Promise<void> {
    const { persistence } = this.#context;
    await this.#cleaning.stop();
    await this.#check?.stop();
    // If nothing is stored, waiting for the results of calls has no use.
    await this.#messaging.engine.drain(persistence.storage === undefined ? 0 : graceMs);
    this.#messaging.engine.stop();
    await this.#outbound.close();
    await persistence.close();
    await this.#history?.close();
    // The thread may go on, with other shards.
    for (const { memory } of this.#messaging.engine.state.users) memory.close();
  }

  reset(): Promise<void> {
    return this.#messaging.reset();
  }

  async tenantNames(): Promise<readonly string[]> {
    return this.#messaging.userNames;
  }

  async tenantMemory(): Promise<readonly TenantMemory[]> {
    return [...this.#messaging.engine.state.users].map(({ name, memory }) => ({ name, memoryBytes: memory.bytes }));
  }

  async setTokens({ name, tokens, signingKeys, isMoving }: AreaTenant): Promise<void> {
    await this.#messaging.createUser(name, signingKeys);
    if (isMoving === true) await this.#freeze(name);
    else this.#thaw(name);
    this.#context.tokens.replaceTenant(name, tokens);
    this.#userIds.set(name, new Set(tokens.map(({ token }) => userIdOf(token))));
  }

  /** Resolves when nothing of the user can be called or changed here. */
  async #freeze(name: string): Promise<void> {
    const { engine } = this.#messaging;
    const user = engine.state.findUser(name);
    if (user === undefined) return;
    this.#context.persistence.journal.hold(user, OWNER_MOVES);
    const calls = await engine.freeze(user, FREEZE_MS);
    if (calls > 0)
      this.#context.log.warn("calls of a user that moves to another shard were given up: they are made again there", {
        ...{ user: name, calls },
      });
  }

  #thaw(name: string): void {
    const { engine } = this.#messaging;
    const user = engine.state.findUser(name);
    if (user === undefined) return;
    this.#context.persistence.journal.hold(user, undefined);
    engine.thaw(user);
  }

  forgetTokens(name: string): void {
    this.#context.tokens.removeTenant(name);
    this.#userIds.delete(name);
  }

  async dropTenant(name: string): Promise<void> {
    this.forgetTokens(name);
    await this.#messaging.dropUser(name);
  }

  backUp(target: string): Promise<number> {
    const { plan, log, persistence } = this.#context;
    const { directory } = plan;
    return persistence.backUp(target, async () => {
      if (directory !== undefined) await copyHistoryFile(directory, target, log);
    });
  }

  get #historyOptions(): HistoryOptions {
    const { plan, log, clock, onFatal } = this.#context;
    return { retentionMs: plan.messaging.logRetentionMs, log, clock, onFatal };
  }

  get #openHistory(): HistoryStore {
    if (this.#history === undefined) throw new Error("Messaging is not open yet");
    return this.#history;
  }

  async #openInMemory(): Promise<void> {
    const history = await openHistory(this.#historyOptions);
    this.#context.persistence.journal.onFrame = (frame, position) => history.append(frame, position);
    this.#history = history;
  }

  /** Opens the parts that follow the journal on disk: bodies, the history, and the cleaning of old segments. */
  async #openStored(storage: AreaStorage, directory: string): Promise<void> {
    const { engine } = this.#messaging;
    const { clock, log, plan } = this.#context;
    engine.state.bodies.open(awaitedReads(clock, bodySource(storage)));
    this.#check = new StoredBodiesCheck({ engine, storage, log });
    await this.#check.checkEnds();
    this.#segments.recovered(storage.journal.syncedLocation);
    this.#history = await openHistory({ ...this.#historyOptions, directory, area: plan.nameInFiles });
    this.#history.durableTo(storage.journal.syncedLocation);
    this.#cleaning.start();
  }

  get #storageHooks(): StorageHooks {
    const { bodies } = this.#messaging.engine.state;
    return {
      apply: (frame, place) => this.#messaging.replay(frame, place),
      onBatchWritten: (batch) => bodies.written(batch),
      onSyncedLocation: (place) => {
        this.#segments.synced(place);
        this.#history?.durableTo(place);
      },
      mayRemove: (segment) =>
        !bodies.liveBytes.has(segment) && this.#segments.isRead(segment, this.#history?.position ?? 0),
    };
  }

  /** Removes segments that a snapshot covers, and moves bodies out of segments with few of them. */
  async #clean(): Promise<void> {
    const { log, persistence } = this.#context;
    const { storage, journal } = persistence;
    if (storage === undefined || journal.refusal !== undefined) return;
    const covered = storage.segments.filter(({ isCovered }) => isCovered);
    if (covered.length === 0) return;
    try {
      await moveBodies(this.#messaging.engine, covered);
      await storage.removeUnneeded();
    } catch (fault) {
      // It is retried, and until then the files only take space.
      log.warn("old journal files cannot be removed", faultFields(fault));
    }
  }
}
