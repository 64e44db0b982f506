/**
 * Messaging behind its port: the engine, its tokens, what calls destinations,
 * and the part of the data directory that it is recovered from and writes to.
 * The history has threads of its own and follows the journal.
 */

import { lookup } from "node:dns/promises";
import { TokenTable } from "../../edge/auth.ts";
import { RateLimiter } from "../../edge/limits/rate-limit.ts";
import { MessagingArea } from "../../edge/messaging/area.ts";
import { OutboundClient } from "../../edge/outbound/client.ts";
import { parseDestinations } from "../../edge/outbound/destination-policy.ts";
import { Resolver } from "../../edge/outbound/resolver.ts";
import { TracedOutbound } from "../../edge/outbound/traced.ts";
import { systemClock } from "../../kernel/clock.ts";
import { faultFields } from "../../kernel/log.ts";
import { secretBytes, systemRandom } from "../../kernel/random.ts";
import { Messaging, moveBodies } from "../../messaging/mod.ts";
import type { AreaStorage } from "../../persistence/area-storage.ts";
import { copyHistoryFile } from "../history/copy.ts";
import { type HistoryDoor, type HistoryDoorOptions, openHistory } from "../history/history-door.ts";
import { messageLog } from "../history/message-log.ts";
import { awaitedCalls, awaitedReads } from "../journey.ts";
import { measureMessaging } from "../metrics/messaging.ts";
import { measureTenants } from "../metrics/tenants.ts";
import { userIdOf } from "../tenants/tokens.ts";
import type { AreaTenant } from "./area.ts";
import type { ServiceContext } from "./area-thread.ts";
import { DeferredJournal } from "./deferred-journal.ts";
import { bodySource, KeptBodiesCheck } from "./kept-bodies-check.ts";
import { KeptSegments } from "./kept-segments.ts";
import type { AreaService } from "./listening-area.ts";
import { getKept, recoverArea, watchTrouble } from "./recover-area.ts";

const TOKEN_KEY_BYTES = 32;

/** How often old segments are looked at. */
const CLEAN_EVERY_MS = 10_000;

export class MessagingService implements AreaService {
  readonly edge: MessagingArea;
  readonly #context: ServiceContext;
  readonly #journal = new DeferredJournal();
  readonly #messaging: Messaging;
  readonly #outbound: OutboundClient;
  readonly #tokens = new TokenTable(secretBytes(TOKEN_KEY_BYTES));
  /** What the tokens of each user say in their `UserID`. */
  readonly #userIds = new Map<string, ReadonlySet<string>>();
  readonly #segments = new KeptSegments();
  #history: HistoryDoor | undefined;
  #kept: AreaStorage | undefined;
  #check: KeptBodiesCheck | undefined;
  #stops: (() => void)[] = [];
  #cleaning: Promise<void> = Promise.resolve();

  constructor(context: ServiceContext) {
    const { plan, clock, log, metrics, turns } = context;
    const { messaging: wishes, limits } = plan;
    const perSecond = limits.requestsPerSecondMax;
    this.#context = context;
    const policy = parseDestinations(wishes.destinations, wishes.allowedDestinations);
    this.#outbound = new OutboundClient({
      resolver: new Resolver({ lookup: (name) => lookup(name, { all: true }), clock: systemClock }),
      // Sockets live by the real clock, also where engines travel in time.
      clock: systemClock,
      policy,
      map: wishes.outboundMap,
      responseBytesMax: wishes.limits.responseBytesMax,
      socketsPerOrigin: wishes.limits.originParallelism,
      log,
    });
    this.#messaging = new Messaging({
      journal: this.#journal,
      clock,
      random: systemRandom,
      limits: wishes.limits,
      outbound: awaitedCalls(
        clock,
        context.tracer === undefined ? this.#outbound : new TracedOutbound(this.#outbound, context.tracer),
      ),
      settings: { spelling: wishes.headerNames, region: wishes.region },
      deliveriesDisabled: wishes.deliveriesDisabled,
      log,
      guard: context.guard,
      logReader: messageLog(
        (query, position) => this.#openHistory.list(query, position),
        () => this.#journal.end,
      ),
    });
    this.edge = new MessagingArea({
      messaging: this.#messaging,
      tokens: this.#tokens,
      ...(perSecond !== undefined && { limiter: new RateLimiter(systemClock, { perSecond, burst: perSecond }) }),
      queryToken: limits.queryToken,
      limits: wishes.limits,
      clock,
      turns,
      destinations: (url) => this.#outbound.refusalOf(url),
      acceptBrake: () => this.#messaging.engine.backpressure.wait(),
      usersNamed: (id) => [...this.#userIds].filter(([, ids]) => ids.has(id)).map(([name]) => name),
    });
    measureMessaging(metrics, this.#messaging.engine);
    measureTenants(metrics, () => this.#messaging.engine.state.users);
  }

  async open(): Promise<void> {
    const { plan, events } = this.#context;
    if (plan.directory === undefined) await this.#openInMemory();
    else await this.#recover(plan.directory);
    for (const tenant of plan.tenants) await this.setTokens(tenant);
    this.#messaging.engine.start();
    this.#check?.start();
    if (this.#kept?.isSnapshotDue() === true) events.snapshotDue();
  }

  async close(graceMs: number): Promise<void> {
    for (const stop of this.#stops) stop();
    await this.#cleaning;
    await this.#check?.stop();
    // Where nothing is kept, nothing is gained by waiting for how calls end.
    await this.#messaging.engine.drain(this.#kept === undefined ? 0 : graceMs);
    this.#messaging.engine.stop();
    await this.#outbound.close();
    this.#journal.close();
    const lostCount = await this.#kept?.close();
    if (lostCount !== undefined && lostCount > 0) {
      this.#context.log.error("changes that were not acknowledged are lost: no space is left", { frames: lostCount });
    }
    await this.#history?.close();
  }

  reset(): Promise<void> {
    return this.#messaging.reset();
  }

  tenantNames(): readonly string[] {
    return this.#messaging.userNames;
  }

  async setTokens({ name, tokens, signingKeys }: AreaTenant): Promise<void> {
    await this.#messaging.createUser(name, signingKeys);
    this.#tokens.replaceTenant(name, tokens);
    this.#userIds.set(name, new Set(tokens.map(({ token }) => userIdOf(token))));
  }

  async dropTenant(name: string): Promise<void> {
    this.#tokens.removeTenant(name);
    this.#userIds.delete(name);
    await this.#messaging.dropUser(name);
  }

  backUp(target: string): Promise<number> {
    const { plan, log } = this.#context;
    const { directory } = plan;
    return getKept(this.#kept).backUp(target, async () => {
      if (directory !== undefined) await copyHistoryFile(directory, target, log);
    });
  }

  async prepareSnapshot(): Promise<void> {
    await this.#kept?.closeSegment();
  }

  async finishSnapshot(isWritten: boolean): Promise<boolean> {
    if (isWritten) await this.#kept?.adoptSnapshot();
    return this.#kept?.isSnapshotDue() ?? false;
  }

  get #historyOptions(): HistoryDoorOptions {
    const { plan, log, clock, onFatal } = this.#context;
    return { retentionMs: plan.messaging.logRetentionMs, log, clock, onFatal };
  }

  get #openHistory(): HistoryDoor {
    if (this.#history === undefined) throw new Error("Messaging is not open yet");
    return this.#history;
  }

  async #openInMemory(): Promise<void> {
    const history = await openHistory(this.#historyOptions);
    this.#journal.onFrame = (frame, position) => history.append(frame, position);
    this.#history = history;
  }

  async #recover(directory: string): Promise<void> {
    const { bodies } = this.#messaging.engine.state;
    const kept = await recoverArea(this.#context, {
      directory,
      journal: this.#journal,
      hooks: {
        apply: (frame, place) => this.#messaging.replay(frame, place),
        onBatchWritten: (batch) => bodies.written(batch),
        onSyncedPlace: (place) => {
          this.#segments.synced(place);
          this.#history?.durableTo(place);
        },
        mayRemove: (segment) =>
          !bodies.liveBytes.has(segment) && this.#segments.isRead(segment, this.#history?.position ?? 0),
      },
    });
    this.#kept = kept;
    bodies.open(awaitedReads(this.#context.clock, bodySource(kept)));
    this.#check = new KeptBodiesCheck({ engine: this.#messaging.engine, kept, log: this.#context.log });
    await this.#check.checkEnds();
    this.#segments.recovered(kept.journal.syncedPlace);
    this.#history = await openHistory({ ...this.#historyOptions, directory, area: this.#context.plan.area });
    this.#history.durableTo(kept.journal.syncedPlace);
    this.#stops.push(watchTrouble(this.#context, this.#journal));
    this.#cleanLater();
  }

  #cleanLater(): void {
    const cancel = systemClock.after(CLEAN_EVERY_MS, () => {
      this.#stops = this.#stops.filter((stop) => stop !== cancel);
      this.#cleaning = this.#clean().then(() => this.#cleanLater(), this.#context.onFatal);
    });
    this.#stops.push(cancel);
  }

  /** Gives up segments that a snapshot covers, and moves the bodies out of those that hold few. */
  async #clean(): Promise<void> {
    const kept = this.#kept;
    if (kept === undefined || this.#journal.refusal !== undefined) return;
    const covered = kept.segments.filter(({ isCovered }) => isCovered);
    if (covered.length === 0) return;
    try {
      await moveBodies(this.#messaging.engine, covered);
      await kept.removeUnneeded();
    } catch (fault) {
      // They are tried again, and until then they only take space.
      this.#context.log.warn("old journal files cannot be removed", faultFields(fault));
    }
  }
}
