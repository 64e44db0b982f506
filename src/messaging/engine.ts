/**
 * The messaging engine handles requests, timers and answers of destinations.
 * It decides every event at once and writes one frame per user; it waits only
 * for the disk and for bodies that are read from it.
 *
 * (1) A message is called when its acceptance is on the disk, not before.
 * (2) The start of an attempt is appended and not awaited: a crash may repeat
 *     the calls that were under way, and nothing else.
 * (3) Large answers are recorded one after the other, each when the previous
 *     one is on the disk: the record, its callbacks in base64 and the copies in
 *     the journal take several times the memory of the answer.
 * (4) When `freeze` has resolved, nothing of its user is called or recorded until
 *     `thaw`. A call that was under way is repeated, unless it succeeded in time.
 */
import type { Clock } from "../kernel/clock.ts";
import type { Journal } from "../kernel/journal.ts";
import type { Log } from "../kernel/log.ts";
import type { MemoryGuard } from "../kernel/memory-guard.ts";
import type { Random } from "../kernel/random.ts";
import type { AcceptedMessages } from "./api.ts";
import { BODY_DAMAGED, BodyDamaged } from "./bodies/body.ts";
import { LARGE_CALL_BYTES, LargeCalls } from "./bodies/large-calls.ts";
import { callbackOf } from "./delivery/callbacks.ts";
import {
  type CallBody,
  type DeliveryResult,
  type DeliverySettings,
  deliveryRequest,
  type Outbound,
} from "./delivery/delivery.ts";
import { buryMessage, recordOutcome, responseOf } from "./delivery/outcome.ts";
import { PublishBackpressure } from "./delivery/publish-backpressure.ts";
import { ScheduleTimer } from "./delivery/schedule-timer.ts";
import { type Arrival, Scheduler } from "./delivery/scheduler.ts";
import { endOf, type MessagingWatcher } from "./delivery/watcher.ts";
import { MessagingFailure } from "./failure.ts";
import type { MessagingLimits } from "./limits.ts";
import type { PublishRequest } from "./options/publish-request.ts";
import { publish } from "./publish.ts";
import { Recorder } from "./records/recorder.ts";
import { drawId } from "./state/drawn-ids.ts";
import type { Message } from "./state/message.ts";
import { MessagingState } from "./state/messaging-state.ts";
import { Clocks, driftOf, type Moment } from "./state/moment.ts";
import { messageState } from "./state/states.ts";
import type { SigningKeys, User } from "./state/user.ts";
import { type EngineCounts, type RunTotals, UnitOfWork } from "./unit-of-work.ts";
import { Workflows } from "./workflow/workflows.ts";

export interface EngineOptions {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly random: Random;
  readonly limits: MessagingLimits;
  readonly outbound: Outbound;
  readonly settings: DeliverySettings;
  readonly log: Log;
  /** Absent: nobody watches. */
  readonly watcher?: MessagingWatcher | undefined;
  /** Decides which users may still take memory in this thread; absent: all may. */
  readonly guard?: MemoryGuard | undefined;
  /** No destination is called and no schedule fires; due messages stay due. */
  readonly deliveriesDisabled?: boolean;
  /** How often the engine removes expired state and checks whether the clock was set back. */
  readonly heartbeatMs?: number;
}

const HEARTBEAT_MS = 1_000;
/** Between two heartbeats the wall clock and the passed time differ by less than this, unless the clock is set. */
const CLOCK_STEP_MS_MIN = 1_000;
/** Longer answers are large: see (3). */
const LARGE_ANSWER_BYTES = 1024 * 1024;

export class Engine {
  readonly state: MessagingState;
  readonly recorder: Recorder;
  readonly scheduler: Scheduler;
  readonly schedules: ScheduleTimer;
  readonly workflows: Workflows;
  readonly backpressure: PublishBackpressure;
  readonly #options: EngineOptions;
  readonly #clocks: Clocks;
  readonly #unit: UnitOfWork;
  /** Accepted messages that are not on the disk yet. */
  #fresh: (Arrival & { readonly position: number })[] = [];
  #isWatching = false;
  /** At the last heartbeat. */
  #driftMs = 0;
  #isRunning = false;
  readonly #timers: readonly DueTimer[];
  #cancelHeartbeat: (() => void) | undefined;
  readonly #largeCalls: LargeCalls;
  /** Resolves when the large answers that were received so far are recorded: see (3). */
  #largeAnswers: Promise<void> = Promise.resolve();
  /** Set while the engine drains. */
  #drained: PromiseWithResolvers<void> | undefined;
  /** Frozen users whose calls may still end. */
  readonly #freezing = new Map<User, PromiseWithResolvers<void>>();

  constructor(options: EngineOptions) {
    const { journal, limits, clock, random, log, watcher, deliveriesDisabled = false } = options;
    this.#options = options;
    this.#clocks = new Clocks(clock);
    this.state = new MessagingState(limits, options.guard);
    this.#largeCalls = new LargeCalls(limits.largeCallsBytesMax);
    this.recorder = new Recorder(this.state, journal);
    const { state, recorder } = this;
    const perform = (work: (unit: UnitOfWork) => void): void => this.#perform(work);
    this.scheduler = new Scheduler({
      state,
      recorder,
      limits,
      // While nothing can be recorded, or perhaps not soon, nothing is called either.
      mayStart: () =>
        journal.refusal === undefined && journal.isLate !== true && this.#drained === undefined && !deliveriesDisabled,
      start: (message) => this.#start(message),
    });
    this.#unit = new UnitOfWork({
      ...{ recorder, scheduler: this.scheduler, state, limits, random, watcher },
      clocks: this.#clocks,
      assertFits: (bytes) => {
        const lack = journal.lackFor?.(bytes);
        if (lack !== undefined) throw notAcceptedNow(lack);
      },
    });
    this.schedules = new ScheduleTimer({
      state,
      recorder,
      perform,
      assertMayGrow: (user) => this.assertMayGrow(user),
      deliveriesDisabled,
      log,
      watcher,
    });
    const arrive = (messages: readonly Message[]): void => this.#arrive(messages);
    this.workflows = new Workflows({ state, limits, clock: clock.real, perform, arrive });
    this.backpressure = new PublishBackpressure(this.scheduler, clock.real);
    this.#timers = [
      new DueTimer({
        nextDueMs: () => earlier(this.scheduler.nextDueMs, this.#whilePublishing(this.workflows.nextDueMs)),
        arm: (dueMs, task) => clock.after(Math.max(0, dueMs - this.now.passedMs), task),
        tick: () => this.tick(),
      }),
      new DueTimer({
        nextDueMs: () => earlier(this.scheduler.nextWallDueMs, this.#whilePublishing(this.schedules.nextDueMs)),
        arm: (dueMs, task) => clock.at(dueMs, task),
        tick: () => this.tick(),
      }),
    ];
  }

  get counts(): EngineCounts {
    return this.#unit.counts;
  }

  get runTotals(): RunTotals {
    return this.#unit.runTotals;
  }

  get limits(): MessagingLimits {
    return this.#options.limits;
  }

  get random(): Random {
    return this.#options.random;
  }

  /** How late the calls are, in ms. */
  lagMs(): number {
    return this.scheduler.lagMs(this.#options.clock.real.monotonicMs());
  }

  /** By the wall clock. */
  nowMs(): number {
    return this.#options.clock.nowMs();
  }

  get now(): Moment {
    return this.#clocks.now;
  }

  // Start and stop.

  /** Continues everything that was recovered. Calls are made from now on. */
  start(): void {
    this.#isRunning = true;
    this.#clocks.begin();
    this.#driftMs = driftOf(this.now);
    const { now } = this;
    // Before the schedules: messages that they publish now were not recovered.
    this.counts.repeated += this.scheduler.resume(now);
    this.schedules.resume(now.wallMs);
    this.workflows.resume(now);
    this.#setTimer();
    this.#beat();
  }

  /**
   * Makes no more calls. Resolves when the calls under way have ended and are recorded, or after `graceMs`: the next
   * start repeats calls that have not ended by then.
   */
  async drain(graceMs: number): Promise<void> {
    this.#drained = Promise.withResolvers();
    if (this.scheduler.inFlightCount === 0) return;
    const cancel = this.#options.clock.real.after(graceMs, () => this.#drained?.resolve());
    await this.#drained.promise;
    cancel();
  }

  /** Makes no more calls. Calls under way may still end, and are not recorded. */
  stop(): void {
    this.#isRunning = false;
    for (const timer of this.#timers) timer.stop();
    this.#cancelHeartbeat?.();
  }

  /** Throws if no change is accepted now, or none from this user, which may have been removed during the request. */
  assertWritable(user: User): void {
    if (user.isDropped) throw new MessagingFailure("not found", `user ${user.name} not found`);
    const { journal } = this.#options;
    const refusal = journal.refusalOf?.(user) ?? journal.refusal;
    if (refusal !== undefined) throw notAcceptedNow(refusal);
  }

  /** Throws if the user may not add data: because of `assertWritable`, or because it takes too much memory. */
  assertMayGrow(user: User): void {
    this.assertWritable(user);
    if (user.memory.mayGrow) return;
    throw new MessagingFailure(
      "unavailable",
      "The memory of messaging is nearly used up, and this user has much of it: wait for deliveries, delete messages, or raise --messaging-memory",
    );
  }

  /** Resolves when all changes so far are on the disk; undefined if they are. */
  whenSafe(): Promise<void> | undefined {
    const { journal } = this.#options;
    return journal.safe >= journal.end ? undefined : journal.whenSafe(journal.end);
  }

  // Decisions.

  /**
   * Makes a decision about a user: checks that it may be recorded, applies and appends it, and starts the calls that it
   * allows. Resolves with the result of `work` when the decision is on the disk. Throws a `MessagingFailure` if nothing
   * may be recorded; `work` throws its own before anything has changed.
   */
  async change<Result>(user: User, work: (unit: UnitOfWork) => Result): Promise<Result> {
    this.assertWritable(user);
    return this.#decide(work);
  }

  /** Like `change`, for a decision that needs more memory: refused if the user may not have more. */
  async grow<Result>(user: User, work: (unit: UnitOfWork) => Result): Promise<Result> {
    this.assertMayGrow(user);
    return this.#decide(work);
  }

  async #decide<Result>(work: (unit: UnitOfWork) => Result): Promise<Result> {
    const result = work(this.#unit);
    const position = this.#commit();
    this.#dispatch();
    await this.#options.journal.whenSafe(position);
    return result;
  }

  /** Publishes all or none. Throws a `MessagingFailure` before anything has changed. */
  publish(user: User, requests: readonly PublishRequest[]): AcceptedMessages {
    this.assertMayGrow(user);
    const { journal } = this.#options;
    // Unlike `grow`, this need not dispatch: a published message cannot start before it is on the disk.
    const { now } = this;
    const outcomes = publish(this.#unit, user, { requests, now });
    const position = this.#commit(now);
    return { outcomes, safe: journal.safe >= position ? undefined : journal.whenSafe(position) };
  }

  async createUser(name: string, keys: SigningKeys): Promise<void> {
    this.recorder.appendToArea("userCreated", { number: this.state.userNumberMax + 1, name, keys });
    await this.whenSafe();
  }

  /** The keys that the operator configured replace the user's own. */
  async giveSigningKeys(user: User, given: SigningKeys): Promise<void> {
    this.recorder.append(user, "signingKeysPut", { keys: given, given });
    await this.whenSafe();
  }

  /** Removes a user with everything it has; calls under way end without a record. */
  async dropUser(user: User): Promise<void> {
    this.scheduler.dropUser(user);
    this.#freezing.get(user)?.resolve();
    this.#fresh = this.#fresh.filter(({ message }) => message.user !== user);
    this.recorder.appendToArea("userDropped", { number: user.number });
    this.#dispatch();
    await this.whenSafe();
  }

  /**
   * Nothing of the user changes from now on, because its data is moving to another shard: no call starts, no schedule
   * fires, no wait times out, and nothing expires. The caller refuses its requests. Resolves with the number of calls that
   * were given up: those that have not ended after `graceMs`, and those that failed, perhaps because the requests are
   * refused. keeps (4)
   */
  async freeze(user: User, graceMs: number): Promise<number> {
    user.isFrozen = true;
    if (user.inFlight.size > 0) {
      const calm = this.#freezing.get(user) ?? Promise.withResolvers<void>();
      this.#freezing.set(user, calm);
      const cancel = this.#options.clock.real.after(graceMs, () => calm.resolve());
      await calm.promise;
      cancel();
      this.#freezing.delete(user);
    }
    // It may have been thawed or removed meanwhile.
    if (!user.isFrozen || user.isDropped) return 0;
    user.callEpoch += 1;
    const { now } = this;
    for (const sequence of [...user.inFlight]) {
      const message = this.state.messages.get(sequence);
      if (message !== undefined) this.#suspend(message, now);
    }
    return user.suspended.size;
  }

  /** Everything of the user goes on as after a start. Does nothing if it is not frozen. */
  thaw(user: User): void {
    if (!user.isFrozen) return;
    user.isFrozen = false;
    this.#freezing.get(user)?.resolve();
    if (!this.#isRunning) return;
    const { now } = this;
    this.counts.repeated += this.scheduler.thaw(user, now);
    this.schedules.thaw(user, now.wallMs);
    this.workflows.thaw(user, now);
    this.tick();
  }

  /** Gives up a call of a frozen user. */
  #suspend(message: Message, now: Moment): void {
    const { user } = message;
    this.scheduler.suspend(message, now);
    this.workflows.ended(message);
    this.#dispatch(now);
    this.#callEnded(user);
  }

  #callEnded(user: User): void {
    this.backpressure.release();
    if (this.scheduler.inFlightCount === 0) this.#drained?.resolve();
    if (user.inFlight.size === 0) this.#freezing.get(user)?.resolve();
  }

  /** Makes a decision of the engine's own, which no caller waits for. */
  #perform(work: (unit: UnitOfWork) => void): void {
    work(this.#unit);
    this.#commit();
    this.#dispatch();
  }

  #dispatch(now = this.now): void {
    this.scheduler.dispatch(now);
    this.#setTimer();
  }

  /** Passes messages that were held back to the scheduler. */
  #arrive(messages: readonly Message[]): void {
    if (!this.#isRunning) return;
    const { now } = this;
    const driftMs = driftOf(now);
    const known = messages.filter((message) => this.state.messages.get(message.sequence) === message);
    this.scheduler.arrived(
      known.map((message) => ({ message, driftMs })),
      now,
    );
    this.#setTimer();
  }

  /** Handles everything that is due now. */
  tick(): void {
    if (!this.#isRunning) return;
    const { now } = this;
    if (this.#options.journal.refusal === undefined) {
      this.schedules.tick(now.wallMs);
      this.workflows.tick(now);
    }
    this.scheduler.tick(now);
    this.#setTimer();
  }

  // Attempts.

  #start(message: Message): void {
    this.counts.attempts += 1;
    this.workflows.started(message);
    const bytes = this.#sentBytes(message);
    const { user } = message;
    const { callEpoch: epoch } = user;
    if (bytes < LARGE_CALL_BYTES) this.#load({ message, epoch, roomBytes: 0 });
    else this.#largeCalls.enter(user, bytes, () => this.#startLarge({ message, epoch, roomBytes: bytes }));
  }

  /** Makes a large call, which may have waited, unless the message was cancelled or its run has ended meanwhile. */
  #startLarge(attempt: Attempt): void {
    const { message, roomBytes } = attempt;
    if (message.state !== messageState.cancelRequested && message.run?.ignoresOutcomeOf(message) !== true) {
      this.#load(attempt);
      return;
    }
    this.#largeCalls.leave(message.user, roomBytes);
    this.#fail(attempt, "The message was cancelled before it was sent");
  }

  #load(attempt: Attempt): void {
    if (this.#isGivenUp(attempt)) {
      this.#leaveRoom(attempt);
      return;
    }
    const body = this.#bodyOf(attempt.message);
    if (body instanceof Promise) void this.#callLater(attempt, body);
    else this.#call(attempt, body);
  }

  /** True if its outcome is ignored: the engine has stopped, or the user was removed or frozen meanwhile. */
  #isGivenUp({ message: { user }, epoch }: Attempt): boolean {
    return !this.#isRunning || user.isDropped || user.callEpoch !== epoch;
  }

  #leaveRoom({ message, roomBytes }: Attempt): void {
    if (roomBytes > 0) this.#largeCalls.leave(message.user, roomBytes);
  }

  #sentBytes(message: Message): number {
    return message.run === undefined ? message.body.length : this.workflows.sentBytes(message, message.run);
  }

  /** The body to send, and the body that callbacks show. */
  #bodyOf(message: Message): CallBody | Promise<CallBody> {
    const { run } = message;
    if (run !== undefined) return this.workflows.bodyOf(message, run);
    const bytes = this.state.bodies.load(message.body);
    return bytes instanceof Promise ? bytes.then(plainBody) : plainBody(bytes);
  }

  async #callLater(attempt: Attempt, loading: Promise<CallBody>): Promise<void> {
    const { message } = attempt;
    let body: CallBody;
    try {
      body = await loading;
    } catch (fault) {
      this.#options.log.error("the body of a message cannot be read", { message: message.id, fault: String(fault) });
      this.#leaveRoom(attempt);
      if (fault instanceof BodyDamaged) this.#fail(attempt, BODY_DAMAGED, { isFinal: true });
      else this.#fail(attempt, "The body of the message cannot be read from the disk");
      return;
    }
    this.#call(attempt, body);
  }

  /** Ends an attempt that was not made. */
  #fail(attempt: Attempt, text: string, how: { readonly isFinal?: true } = {}): void {
    const startMs = this.now.realMs;
    this.#ended(attempt, { body: plainBody(NO_BYTES), result: { kind: "failure", text, ...how }, startMs });
  }

  #call(attempt: Attempt, body: CallBody): void {
    const { message } = attempt;
    // While the body was read.
    if (this.#isGivenUp(attempt)) {
      this.#leaveRoom(attempt);
      return;
    }
    const { outbound, settings } = this.#options;
    const { timeoutMsMax } = this.limits;
    const timeoutMs = Math.min(message.envelope.fields.timeoutMs ?? timeoutMsMax, timeoutMsMax);
    const { wallMs: nowMs, realMs: startMs } = this.now;
    const facts = { settings, nowMs, tokenId: drawId("jwt_", this.random), timeoutMs };
    outbound.send(deliveryRequest(message, body, facts), (result) => {
      const ended = { body, result, startMs };
      const recorded =
        result.kind === "answer" && result.body.length > LARGE_ANSWER_BYTES
          ? this.#endLarge(attempt, ended)
          : this.#ended(attempt, ended);
      // The sent body stays in memory as long as its answer.
      if (recorded instanceof Promise) void recorded.then(() => this.#leaveRoom(attempt));
      else this.#leaveRoom(attempt);
      return recorded;
    });
  }

  /** keeps (3) */
  #endLarge(attempt: Attempt, ended: { body: CallBody; result: DeliveryResult; startMs: number }): Promise<void> {
    this.#largeAnswers = this.#largeAnswers.then(() => {
      this.#ended(attempt, ended);
      return this.whenSafe();
    });
    return this.#largeAnswers;
  }

  /** `startMs` is read from the real clock. */
  #ended(
    attempt: Attempt,
    { body, result, startMs }: { body: CallBody; result: DeliveryResult; startMs: number },
  ): void {
    if (this.#isGivenUp(attempt)) return;
    const { message } = attempt;
    const { user } = message;
    const { now } = this;
    if (user.isFrozen && message.state !== messageState.cancelRequested && !isSuccess(result)) {
      this.#suspend(message, now); // keeps (4)
      return;
    }
    const queue = this.state.queueOf(message);
    const held = this.state.heldQueueOf(message);
    const { watcher } = this.#options;
    if (watcher !== undefined) {
      const { url, method } = message.envelope.fields;
      watcher.called({ message: message.id, url, method, ...endOf(result), durationMs: now.realMs - startMs });
    }
    this.#settle(message, body, this.#fitting(message, body, result), now.wallMs);
    this.#commit();
    if (watcher !== undefined && message.state === messageState.retry) {
      const { id, retried: retry, dueMs, envelope } = message;
      const { url, retriesMax } = envelope.fields;
      watcher.retryPlanned({ message: id, url, retry, retriesMax, dueMs });
    }
    this.scheduler.release(message, now, now.realMs - startMs);
    if (message.state === messageState.retry) this.scheduler.retryAt(message, now);
    this.workflows.ended(message);
    if (queue !== undefined) this.scheduler.advance(queue, now);
    if (held !== undefined) this.scheduler.advance(held, now);
    this.#dispatch(now);
    this.#callEnded(user);
  }

  /** The result, or a failure if the disk has no room for what would be recorded of an answer: the call is repeated. */
  #fitting({ envelope, run }: Message, { initial }: CallBody, result: DeliveryResult): DeliveryResult {
    if (result.kind !== "answer") return result;
    const { callback, failureCallback } = envelope.fields;
    const callbacks = Number(callback !== undefined) + Number(failureCallback !== undefined);
    const isKept = run !== undefined || !isSuccess(result);
    const bytes = Number(isKept) * result.body.length + callbacks * (result.body.length + initial.length);
    // Callbacks carry bodies as Base64 in JSON.
    const lack = bytes === 0 ? undefined : this.#options.journal.lackFor?.(2 * bytes);
    return lack === undefined ? result : { kind: "failure", text: `The answer cannot be stored: ${lack}` };
  }

  /** Records the outcome of an attempt, with the callbacks that report it. */
  #settle(message: Message, body: CallBody, result: DeliveryResult, nowMs: number): void {
    const unit = this.#unit;
    if (message.state === messageState.cancelRequested) {
      unit.endCancelled(message, nowMs);
      return;
    }
    const { user, retried, run } = message;
    if (run !== undefined) {
      this.workflows.settle(unit, message, { run, body, result, nowMs });
      return;
    }
    const { response, bytes } = responseOf(result);
    const { callback, failureCallback } = message.envelope.fields;
    // Before the outcome is recorded, because the message then leaves its queue.
    const holdsQueue = this.#heldBy(message);
    const kind = recordOutcome(unit, message, { result, response, bytes, nowMs });
    const deadLetter = kind === "failed" ? buryMessage(unit, message, { response, bytes, nowMs }) : undefined;
    if (callback === undefined && failureCallback === undefined) return;
    const report = { message, bytes: body.initial, response, responseBytes: bytes, retried };
    const slot = { nowMs, slotOwner: holdsQueue === undefined ? 0 : message.sequence };
    if (callback !== undefined) unit.send(user, callbackOf(callback, report, holdsQueue), slot);
    if (deadLetter !== undefined && failureCallback !== undefined) {
      unit.send(user, callbackOf(failureCallback, { ...report, deadLetter }, holdsQueue), slot);
    }
  }

  /** The queue that callbacks hold up: with parallelism 1 the next message starts after the callbacks of this one. */
  #heldBy(message: Message): string | undefined {
    const queue = this.state.queueOf(message);
    return queue?.record.parallelism === 1 ? queue.record.name : undefined;
  }

  // Waiting for the disk.

  /** Appends the frame; its messages are called when it is on the disk. Returns the end of the journal. keeps (1) */
  #commit(now?: Moment): number {
    const position = this.recorder.commit();
    const accepted = this.#unit.takeAccepted();
    if (accepted.length === 0) return position;
    const driftMs = driftOf(now ?? this.now);
    for (const message of accepted) this.#fresh.push({ message, driftMs, position });
    if (!this.#isWatching) void this.#watch();
    return position;
  }

  async #watch(): Promise<void> {
    const { journal } = this.#options;
    this.#isWatching = true;
    for (let next = this.#fresh[0]; next !== undefined; next = this.#fresh[0]) {
      if (next.position > journal.safe) await journal.whenSafe(next.position);
      // In a cluster only the end of the wait says that this position is safe.
      const safe = Math.max(journal.safe, next.position);
      let count = 0;
      while (count < this.#fresh.length && (this.#fresh[count]?.position ?? 0) <= safe) count += 1;
      const arrived = this.#fresh.slice(0, count);
      this.#fresh = this.#fresh.slice(count);
      if (!this.#isRunning) continue;
      const { now } = this;
      this.scheduler.arrived(this.workflows.holdBack(arrived, now.wallMs), now);
      this.#setTimer();
    }
    this.#isWatching = false;
  }

  // Time.

  /** Sets the timers to the next due times. */
  #setTimer(): void {
    if (!this.#isRunning) return;
    for (const timer of this.#timers) timer.set();
  }

  /** While nothing can be recorded, timers that publish wait for the next heartbeat. */
  #whilePublishing(dueMs: number | undefined): number | undefined {
    return this.#options.journal.refusal === undefined ? dueMs : undefined;
  }

  #beat(): void {
    this.#cancelHeartbeat = this.#options.clock.housekeep(this.#options.heartbeatMs ?? HEARTBEAT_MS, () => {
      if (this.#options.journal.refusal === undefined) {
        this.#expire();
        this.#noticeClock();
      }
      this.tick();
      this.#beat();
    });
  }

  /** Corrects schedules when the clock was set back, because it was ahead before. */
  #noticeClock(): void {
    const { now } = this;
    const driftMs = driftOf(now);
    if (driftMs > this.#driftMs + CLOCK_STEP_MS_MIN) this.schedules.correct(now.wallMs);
    this.#driftMs = driftMs;
  }

  /** Removes expired dead letters, deduplication entries, unused flow-control keys and ended runs. */
  #expire(): void {
    const { now, recorder } = this;
    for (const user of this.state.users) {
      if (user.isFrozen) continue;
      user.deduplication.forget(now.wallMs);
      const oldestMs = now.wallMs - this.limits.deadLetterRetentionMs;
      for (
        let deadLetter = user.deadLetters.oldest;
        deadLetter !== undefined && deadLetter.id.ms < oldestMs;
        deadLetter = user.deadLetters.oldest
      ) {
        recorder.apply(user, "deadLetterRemoved", { id: deadLetter.id });
      }
      this.#forgetRuns(user, now.wallMs - this.limits.runRetentionMs);
      for (const keyed of user.flowKeys.values()) {
        if (keyed.isForgettable(now)) recorder.apply(user, "flowKeyRemoved", { key: keyed.key });
      }
      recorder.commit();
    }
  }

  /** Visits ended runs only. */
  #forgetRuns(user: User, endedBeforeMs: number): void {
    for (const { id: runId, endedAtMs, messages, deadLetterId } of user.endedRuns) {
      if (endedAtMs >= endedBeforeMs) return;
      if (messages.size === 0 && deadLetterId === undefined) this.recorder.apply(user, "runForgotten", { runId });
    }
  }
}

/** A call that is to be made, or under way. */
interface Attempt {
  readonly message: Message;
  /** `User.callEpoch` at its start. */
  readonly epoch: number;
  /** How much of the room of large calls it takes. */
  readonly roomBytes: number;
}

interface DueTimerOptions {
  /** Undefined: nothing will be due. */
  nextDueMs(): number | undefined;
  /** Runs `task` at that time; the returned function cancels it. */
  arm(dueMs: number, task: () => void): () => void;
  tick(): void;
}

/** Wakes the engine at the next due time of one of its clocks. */
class DueTimer {
  readonly #options: DueTimerOptions;
  #dueMs: number | undefined;
  #cancel: (() => void) | undefined;

  constructor(options: DueTimerOptions) {
    this.#options = options;
  }

  /** Call when the next due time may have changed. */
  set(): void {
    const { nextDueMs, arm, tick } = this.#options;
    const dueMs = nextDueMs();
    if (dueMs === this.#dueMs) return;
    this.#cancel?.();
    this.#dueMs = dueMs;
    this.#cancel =
      dueMs === undefined
        ? undefined
        : arm(dueMs, () => {
            this.#dueMs = undefined;
            tick();
          });
  }

  stop(): void {
    this.#cancel?.();
  }
}

const NO_BYTES = Buffer.alloc(0);

function isSuccess(result: DeliveryResult): boolean {
  return result.kind === "answer" && result.status >= 200 && result.status < 300;
}

function plainBody(bytes: Buffer): CallBody {
  return { sent: bytes, initial: bytes };
}

function earlier(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined) return b;
  return b === undefined ? a : Math.min(a, b);
}

function notAcceptedNow(reason: string): MessagingFailure {
  return new MessagingFailure("unavailable", `Requests cannot be accepted now: ${reason}`);
}
