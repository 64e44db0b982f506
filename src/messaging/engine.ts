/**
 * Messaging as it happens: what is asked of it, what comes due, what comes back
 * from destinations. Every event is decided at once and leaves one frame per
 * user; nothing here awaits but the disk and the bodies that lie there.
 *
 * (1) A message is called when its acceptance is on the disk, not before.
 * (2) The start of an attempt is appended and not awaited: a crash may repeat
 *     the calls that were under way, and nothing else.
 */
import type { Clock } from "../kernel/clock.ts";
import type { Log } from "../kernel/log.ts";
import type { Random } from "../kernel/random.ts";
import { Brake } from "./brake.ts";
import { callbackOf } from "./callbacks.ts";
import { Changes } from "./changes.ts";
import {
  type CallBody,
  type DeliveryResult,
  type DeliverySettings,
  deliveryRequest,
  type Outbound,
} from "./delivery.ts";
import { drawId } from "./drawn-ids.ts";
import { MessagingFailure } from "./failure.ts";
import type { MessagingJournal } from "./journal.ts";
import type { MessagingLimits } from "./limits.ts";
import type { Message } from "./message.ts";
import { type Outcome, outcomeOf, responseOf } from "./outcome.ts";
import { carryOut, newFacts, newQueue, planPublish } from "./publish.ts";
import type { PublishOutcome, PublishRequest } from "./publish-request.ts";
import { Realm } from "./realm.ts";
import { ScheduleTimer } from "./schedule-timer.ts";
import { Scheduler } from "./scheduler.ts";
import { state } from "./states.ts";
import type { User } from "./user.ts";
import { Workflows } from "./workflow/workflows.ts";

export interface EngineOptions {
  readonly journal: MessagingJournal;
  readonly clock: Clock;
  readonly random: Random;
  readonly limits: MessagingLimits;
  readonly outbound: Outbound;
  readonly settings: DeliverySettings;
  readonly log: Log;
  /** Nothing is called and no schedule fires; what is due stays due. */
  readonly isStill?: boolean;
  /** How often is looked for what is past its time, and whether the clock was set back. */
  readonly heartbeatMs?: number;
}

/** What has happened since the start. */
export interface EngineCounts {
  accepted: number;
  deduplicated: number;
  attempts: number;
  delivered: number;
  retried: number;
  failed: number;
  cancelled: number;
  /** Calls made again because a crash hid how they ended. */
  repeated: number;
}

const HEARTBEAT_MS = 1_000;

export class Engine {
  readonly realm: Realm;
  readonly changes: Changes;
  readonly scheduler: Scheduler;
  readonly schedules: ScheduleTimer;
  readonly workflows: Workflows;
  readonly brake: Brake;
  readonly counts: EngineCounts = {
    accepted: 0,
    deduplicated: 0,
    attempts: 0,
    delivered: 0,
    retried: 0,
    failed: 0,
    cancelled: 0,
    repeated: 0,
  };
  readonly #options: EngineOptions;
  /** Accepted in the frame that is being made. */
  #unpositioned: Message[] = [];
  /** Accepted and not yet on the disk. */
  #fresh: { readonly message: Message; readonly position: number }[] = [];
  #isWatching = false;
  #isRunning = false;
  #cancelTimer: (() => void) | undefined;
  #timerMs: number | undefined;
  #cancelHeartbeat: (() => void) | undefined;
  /** While it drains. */
  #drained: PromiseWithResolvers<void> | undefined;

  constructor(options: EngineOptions) {
    const { journal, limits } = options;
    this.#options = options;
    this.realm = new Realm(limits);
    this.changes = new Changes(this.realm, journal);
    this.scheduler = new Scheduler({
      realm: this.realm,
      changes: this.changes,
      limits,
      // Where nothing can be recorded, nothing is called either.
      mayStart: () => journal.refusal === undefined && this.#drained === undefined && options.isStill !== true,
      start: (message) => this.#start(message),
    });
    this.schedules = new ScheduleTimer(this, options.isStill === true);
    this.workflows = new Workflows(this, options.clock);
    this.brake = new Brake(this.scheduler, options.clock);
  }

  get limits(): MessagingLimits {
    return this.#options.limits;
  }

  get random(): Random {
    return this.#options.random;
  }

  /** How long calling lags behind, in ms. */
  lagMs(): number {
    const { clock } = this.#options;
    return this.scheduler.lagMs(clock.nowMs(), clock.monotonicMs());
  }

  nowMs(): number {
    return this.#options.clock.nowMs();
  }

  // Its life.

  /** Lets everything go on that was recovered. Calls are made from here on. */
  start(): void {
    this.#isRunning = true;
    const nowMs = this.nowMs();
    // Schedules that fire now publish messages of their own, which are not among those that were recovered.
    this.counts.repeated += this.scheduler.resume(nowMs);
    this.schedules.resume(nowMs);
    this.workflows.resume(nowMs);
    this.#setTimer();
    this.#beat();
  }

  /**
   * No call is made any more. Resolves when those under way have ended and are recorded, or after `graceMs`: what has not
   * ended by then is called again by the next start.
   */
  async drain(graceMs: number): Promise<void> {
    this.#drained = Promise.withResolvers();
    if (this.scheduler.inFlightCount === 0) return;
    const cancel = this.#options.clock.after(graceMs, () => this.#drained?.resolve());
    await this.#drained.promise;
    cancel();
  }

  /** No call is made any more. Those under way may still end, and are not recorded. */
  stop(): void {
    this.#isRunning = false;
    this.#cancelTimer?.();
    this.#cancelHeartbeat?.();
  }

  /** Throws if nothing may be accepted now, or not from this user: it may have been removed while a request arrived. */
  assertWritable(user: User): void {
    if (user.isDropped) throw new MessagingFailure("not found", `user ${user.name} not found`);
    const { refusal } = this.#options.journal;
    if (refusal !== undefined) throw new MessagingFailure("unavailable", `Nothing can be accepted now: ${refusal}`);
  }

  /** Undefined if everything that happened so far is on the disk, otherwise when it is. */
  whenSafe(): Promise<void> | undefined {
    const { journal } = this.#options;
    return journal.safe >= journal.end ? undefined : journal.whenSafe(journal.end);
  }

  /** Appends what was changed, lets go on what can, and resolves when it is on the disk. */
  finish(): Promise<void> {
    const { journal } = this.#options;
    const position = this.commitFresh();
    this.scheduler.dispatch(this.nowMs());
    this.#setTimer();
    return journal.whenSafe(position);
  }

  // Events.

  /** Publishes all or none. Throws a `MessagingFailure` before anything has changed. */
  publish(
    user: User,
    requests: readonly PublishRequest[],
  ): Promise<readonly PublishOutcome[]> | readonly PublishOutcome[] {
    this.assertWritable(user);
    const { journal } = this.#options;
    const outcomes = this.publishNow(user, requests);
    const position = this.changes.commit();
    this.#watchFresh(position);
    if (journal.safe >= position) return outcomes;
    return journal.whenSafe(position).then(() => outcomes);
  }

  /** Publishes into the frame that is being made: `commitFresh` has to follow. */
  publishNow(user: User, requests: readonly PublishRequest[], scheduleId?: string): PublishOutcome[] {
    const nowMs = this.nowMs();
    const context = { realm: this.realm, limits: this.limits, user, nowMs, random: this.random };
    const plan = planPublish(context, requests, scheduleId);
    const outcomes = carryOut(this.changes, context, plan, (message) => {
      this.counts.accepted += 1;
      this.addFresh(message);
    });
    this.counts.deduplicated += plan.duplicateCount;
    return outcomes;
  }

  /** Appends the frame; its messages are called when it is on the disk. Returns the position behind it. */
  commitFresh(): number {
    const position = this.changes.commit();
    this.#watchFresh(position);
    return position;
  }

  /** False if the message cannot be cancelled any more. `finish` has to follow. */
  cancel(message: Message): boolean {
    const nowMs = this.nowMs();
    if (message.state === state.cancelRequested) return false;
    this.changes.requestCancel(message, nowMs);
    // The call of an active message goes on, and its outcome is dropped.
    if (this.#isCalled(message)) return true;
    const queue = this.realm.queueOf(message);
    const held = this.realm.heldQueueOf(message);
    this.scheduler.leave(message, nowMs);
    this.changes.cancel(message, nowMs);
    this.counts.cancelled += 1;
    if (queue !== undefined) this.scheduler.advance(queue, nowMs);
    if (held !== undefined) this.scheduler.advance(held, nowMs);
    return true;
  }

  /** Cancels a message whose run ends, unless it is called: then it is left to end. `finish` has to follow. */
  cancelWaiting(message: Message): void {
    if (!this.#isCalled(message)) this.cancel(message);
  }

  /** Messages that were held back go on. */
  arrive(messages: readonly Message[]): void {
    if (!this.#isRunning) return;
    const known = messages.filter((message) => this.realm.messages.get(message.sequence) === message);
    this.scheduler.arrived(known, this.nowMs());
    this.#setTimer();
  }

  /** Time has passed. */
  tick(): void {
    if (!this.#isRunning) return;
    const nowMs = this.nowMs();
    if (this.#options.journal.refusal === undefined) {
      this.schedules.tick(nowMs);
      this.workflows.tick(nowMs);
    }
    this.scheduler.tick(nowMs);
    this.#setTimer();
  }

  /** Removes a user with everything it has; calls under way end without a record. `finish` has to follow. */
  dropUser(user: User): void {
    this.scheduler.dropUser(user);
    this.#fresh = this.#fresh.filter(({ message }) => message.user !== user);
    this.changes.dropUser(user);
  }

  /** The queue of this name, created if there is none. */
  queueFor(user: User, name: string): void {
    if (!user.queues.has(name)) this.changes.putQueue(user, newQueue(name, this.nowMs()));
  }

  /** True while a message's call is under way. */
  #isCalled({ user, sequence }: Message): boolean {
    return user.inFlight.has(sequence);
  }

  // Attempts.

  #start(message: Message): void {
    this.counts.attempts += 1;
    this.workflows.started(message);
    const bytes = this.#bodyOf(message);
    if (bytes instanceof Promise) void this.#startLater(message, bytes);
    else this.#call(message, bytes);
  }

  /** What is sent, and what callbacks say was sent. */
  #bodyOf(message: Message): CallBody | Promise<CallBody> {
    const { run } = message;
    if (run !== undefined) return this.workflows.bodyOf(message, run);
    const bytes = this.realm.bodies.load(message.body);
    return bytes instanceof Promise ? bytes.then(plainBody) : plainBody(bytes);
  }

  async #startLater(message: Message, loading: Promise<CallBody>): Promise<void> {
    try {
      this.#call(message, await loading);
    } catch (fault) {
      this.#options.log.error("the body of a message cannot be read", { message: message.id, fault: String(fault) });
      const result = { kind: "failure", text: "The body of the message cannot be read from the disk" } as const;
      this.#ended(message, { body: plainBody(NO_BYTES), result, startMs: this.#options.clock.monotonicMs() });
    }
  }

  #call(message: Message, body: CallBody): void {
    // The body may have been read for so long that the user is gone.
    if (!this.#isRunning || message.user.isDropped) return;
    const { outbound, settings } = this.#options;
    const { timeoutMsMax } = this.limits;
    const timeoutMs = Math.min(message.envelope.fields.timeoutMs ?? timeoutMsMax, timeoutMsMax);
    const facts = { settings, nowMs: this.nowMs(), tokenId: drawId("jwt_", this.random), timeoutMs };
    const startMs = this.#options.clock.monotonicMs();
    const ended = (result: DeliveryResult): void => this.#ended(message, { body, result, startMs });
    outbound.send(deliveryRequest(message, body, facts), ended);
  }

  /** `startMs` is monotonic. */
  #ended(
    message: Message,
    { body, result, startMs }: { body: CallBody; result: DeliveryResult; startMs: number },
  ): void {
    if (!this.#isRunning || message.user.isDropped) return;
    const nowMs = this.nowMs();
    const queue = this.realm.queueOf(message);
    const held = this.realm.heldQueueOf(message);
    this.#settle(message, body, result, nowMs);
    this.commitFresh();
    const elapsedMs = this.#options.clock.monotonicMs();
    this.scheduler.release(message, nowMs, { elapsedMs, tookMs: elapsedMs - startMs });
    if (message.state === state.retry) this.scheduler.retryAt(message, nowMs);
    this.workflows.ended(message);
    if (queue !== undefined) this.scheduler.advance(queue, nowMs);
    if (held !== undefined) this.scheduler.advance(held, nowMs);
    this.scheduler.dispatch(nowMs);
    this.#setTimer();
    this.brake.release();
    if (this.scheduler.inFlightCount === 0) this.#drained?.resolve();
  }

  /** Records what came of an attempt, with the callbacks that tell of it. */
  #settle(message: Message, body: CallBody, result: DeliveryResult, nowMs: number): void {
    const { changes, counts } = this;
    if (message.state === state.cancelRequested) {
      changes.cancel(message, nowMs);
      counts.cancelled += 1;
      return;
    }
    const { retried, run } = message;
    if (run !== undefined) {
      this.workflows.settle(message, run, { body, result, nowMs });
      return;
    }
    const { response, bytes: responseBytes } = responseOf(result);
    const { callback, failureCallback } = message.envelope.fields;
    // The message leaves its queue here, so whether callbacks hold it up is asked before.
    const holdsQueue = this.#heldBy(message);
    const kind = this.recordOutcome(message, result, nowMs);
    const deadLetter = kind === "failed" ? changes.fail(message, nowMs, response, responseBytes) : undefined;
    const report = { message, bytes: body.initial, response, responseBytes, retried };
    if (callback !== undefined) this.#tell(callbackOf(callback, report, holdsQueue), message, nowMs);
    if (deadLetter !== undefined && failureCallback !== undefined) {
      this.#tell(callbackOf(failureCallback, { ...report, deadLetter }, holdsQueue), message, nowMs);
    }
  }

  /** Records a delivery, or that there will be another attempt. What has failed is counted, and the caller's to record. */
  recordOutcome(message: Message, result: DeliveryResult, nowMs: number): Outcome["kind"] {
    const { changes, counts } = this;
    const outcome = outcomeOf(message, result, nowMs);
    const { response, bytes } = responseOf(result);
    switch (outcome.kind) {
      case "delivered":
        changes.deliver(message, nowMs, response.status);
        counts.delivered += 1;
        break;
      case "retry":
        changes.retry(message, nowMs, nowMs + outcome.delayMs, response, bytes);
        counts.retried += 1;
        break;
      case "failed":
        counts.failed += 1;
        break;
    }
    return outcome.kind;
  }

  /** With parallelism 1 the next message of a queue starts when the callbacks of this one are done too. */
  #heldBy(message: Message): string | undefined {
    const queue = this.realm.queueOf(message);
    return queue?.record.parallelism === 1 ? queue.record.name : undefined;
  }

  #tell({ fields, bytes }: ReturnType<typeof callbackOf>, source: Message, nowMs: number): void {
    const { holdsQueue } = fields;
    const slotOwner = holdsQueue === undefined ? 0 : source.sequence;
    const facts = newFacts(this, { nowMs, notBeforeMs: nowMs, slotOwner });
    if (fields.queueName !== undefined) this.queueFor(source.user, fields.queueName);
    this.addFresh(this.changes.accept(source.user, facts, { fields, bytes, isNeededSoon: true, deduplicationKey: "" }));
  }

  // Waiting for the disk.

  /** A message of the frame that is being made is called when the frame is on the disk. */
  addFresh(message: Message): void {
    this.#unpositioned.push(message);
  }

  /** keeps (1) */
  #watchFresh(position: number): void {
    if (this.#unpositioned.length === 0) return;
    for (const message of this.#unpositioned) this.#fresh.push({ message, position });
    this.#unpositioned = [];
    if (!this.#isWatching) void this.#watch();
  }

  async #watch(): Promise<void> {
    const { journal } = this.#options;
    this.#isWatching = true;
    for (let next = this.#fresh[0]; next !== undefined; next = this.#fresh[0]) {
      if (next.position > journal.safe) await journal.whenSafe(next.position);
      const { safe } = journal;
      let count = 0;
      while (count < this.#fresh.length && (this.#fresh[count]?.position ?? 0) <= safe) count += 1;
      const arrived = this.#fresh.slice(0, count);
      this.#fresh = this.#fresh.slice(count);
      if (!this.#isRunning) continue;
      const nowMs = this.nowMs();
      const messages = arrived.map(({ message }) => message);
      this.scheduler.arrived(this.workflows.holdBack(messages, nowMs), nowMs);
      this.#setTimer();
    }
    this.#isWatching = false;
  }

  // Time.

  /** Sleeps to the next moment that something is due. */
  #setTimer(): void {
    if (!this.#isRunning) return;
    const { refusal } = this.#options.journal;
    // While nothing can be recorded, schedules wait for the next beat.
    const published = earlier(this.schedules.nextDueMs, this.workflows.nextDueMs);
    const dueMs = earlier(this.scheduler.nextDueMs, refusal === undefined ? published : undefined);
    if (dueMs === this.#timerMs) return;
    this.#cancelTimer?.();
    this.#timerMs = dueMs;
    this.#cancelTimer =
      dueMs === undefined
        ? undefined
        : this.#options.clock.at(dueMs, () => {
            this.#timerMs = undefined;
            this.tick();
          });
  }

  #beat(): void {
    this.#cancelHeartbeat = this.#options.clock.after(this.#options.heartbeatMs ?? HEARTBEAT_MS, () => {
      if (this.#options.journal.refusal === undefined) this.#expire();
      this.tick();
      this.#beat();
    });
  }

  /** Forgets what is past its time: dead letters, duplicates, keys that nobody uses. */
  #expire(): void {
    const nowMs = this.nowMs();
    for (const user of this.realm.users) {
      user.deduplication.forget(nowMs);
      const oldestMs = nowMs - this.limits.deadLetterRetentionMs;
      for (
        let letter = user.deadLetters.oldest;
        letter !== undefined && letter.id.ms < oldestMs;
        letter = user.deadLetters.oldest
      ) {
        this.changes.removeDeadLetter(user, letter);
      }
      this.#forgetRuns(user, nowMs - this.limits.runRetentionMs);
      for (const key of user.flowKeys.values()) if (key.isForgettable(nowMs)) this.changes.removeFlowKey(user, key);
      this.changes.commit();
    }
  }

  /** Runs that go on are not looked at, however many there are. */
  #forgetRuns(user: User, endedBeforeMs: number): void {
    for (const run of user.endedRuns) {
      if (run.endedAtMs >= endedBeforeMs) return;
      if (run.messages.size === 0 && run.letterId === undefined) this.changes.forgetRun(run);
    }
  }
}

const NO_BYTES = Buffer.alloc(0);

function plainBody(bytes: Buffer): CallBody {
  return { sent: bytes, initial: bytes };
}

function earlier(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined) return b;
  return b === undefined ? a : Math.min(a, b);
}
