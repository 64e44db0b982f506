/**
 * The changes that one decision may make. `Engine.change`, `grow` and `#perform`
 * pass it to the decision, then commit, dispatch and wait: a caller cannot forget
 * these, and state cannot be changed without a unit of work.
 */

import type { Random } from "../kernel/random.ts";
import { Body } from "./bodies/body.ts";
import type { Scheduler } from "./delivery/scheduler.ts";
import { type MessagingWatcher, reportStep } from "./delivery/watcher.ts";
import type { MessagingLimits } from "./limits.ts";
import type { EnvelopeFields, EnvelopeSource } from "./options/envelope.ts";
import type { NewMessageFields } from "./records/message-records.ts";
import type { Recorder } from "./records/recorder.ts";
import type { UserFields, UserKind, UserResult } from "./records/table.ts";
import { newFacts } from "./state/drawn-ids.ts";
import type { FlowKey } from "./state/flow-key.ts";
import type { Message, MessageFacts } from "./state/message.ts";
import type { MessagingState } from "./state/messaging-state.ts";
import type { Clocks, Moment } from "./state/moment.ts";
import { newQueue, type Queue } from "./state/queue.ts";
import { type Run, type RunRecord, type RunState, runState } from "./state/run.ts";
import { messageState } from "./state/states.ts";
import type { User } from "./state/user.ts";

/** Counts since the start. */
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

/** Counts of workflow runs since the start. */
export interface RunTotals {
  started: number;
  /** By final state. */
  readonly ended: Record<RunState, number>;
  /** Deliveries of entries and of call results that their endpoints accepted. */
  deliveredSteps: number;
}

export interface NewMessage {
  readonly fields: EnvelopeFields;
  /** The source of these fields, if other messages have it too. */
  readonly source?: EnvelopeSource | undefined;
  readonly bytes: Buffer;
  readonly isNeededSoon: boolean;
  /** Empty: no deduplication. */
  readonly deduplicationKey: string;
}

export interface UnitOptions {
  readonly recorder: Recorder;
  readonly scheduler: Scheduler;
  readonly state: MessagingState;
  readonly limits: MessagingLimits;
  readonly random: Random;
  readonly clocks: Clocks;
  readonly watcher?: MessagingWatcher | undefined;
  /** See `UnitOfWork.assertFits`. */
  readonly assertFits: (bytes: number) => void;
}

export class UnitOfWork {
  readonly state: MessagingState;
  readonly limits: MessagingLimits;
  readonly random: Random;
  /** Undefined: nobody watches. */
  readonly watcher: MessagingWatcher | undefined;
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
  readonly runTotals: RunTotals = { started: 0, ended: { 0: 0, 1: 0, 2: 0, 3: 0 }, deliveredSteps: 0 };
  /** Throws a `MessagingFailure` if the disk has no room for so many bytes. Call it before anything changes. */
  readonly assertFits: (bytes: number) => void;
  readonly #recorder: Recorder;
  readonly #scheduler: Scheduler;
  readonly #clocks: Clocks;
  /** Messages accepted in this unit. */
  #accepted: Message[] = [];

  constructor({ recorder, scheduler, state, limits, random, clocks, watcher, assertFits }: UnitOptions) {
    this.assertFits = assertFits;
    this.watcher = watcher;
    this.state = state;
    this.limits = limits;
    this.random = random;
    this.#recorder = recorder;
    this.#scheduler = scheduler;
    this.#clocks = clocks;
  }

  get now(): Moment {
    return this.#clocks.now;
  }

  /** Records a change and applies it. */
  apply<Kind extends UserKind>(user: User, kind: Kind, fields: UserFields<Kind>): UserResult<Kind> {
    return this.#recorder.apply(user, kind, fields);
  }

  /** Accepts a message. It is called when the frame is on the disk. */
  accept(user: User, facts: MessageFacts, message: NewMessage): Message {
    const accepted = this.#recorder.apply(user, "messageAccepted", this.#fieldsOf(facts, message));
    this.#accepted.push(accepted);
    if (this.watcher !== undefined) reportStep(this.watcher, message);
    return accepted;
  }

  /** Accepts a message of the server's own, which is due now. */
  send(
    user: User,
    { fields, bytes }: Pick<NewMessage, "fields" | "bytes">,
    { nowMs, slotOwner = 0 }: { readonly nowMs: number; readonly slotOwner?: number },
  ): Message {
    const facts = newFacts(this, { nowMs, notBeforeMs: nowMs, slotOwner });
    if (fields.queueName !== undefined) this.ensureQueue(user, fields.queueName);
    return this.accept(user, facts, { fields, bytes, isNeededSoon: true, deduplicationKey: "" });
  }

  /** Adds an entry to a run that counts as delivered. */
  copyEntry(user: User, facts: MessageFacts, message: NewMessage): void {
    this.#recorder.apply(user, "entryCopied", this.#fieldsOf(facts, message));
  }

  /** Records that the last attempt of a message succeeded. */
  deliver({ user, sequence, envelope }: Message, atMs: number, status: number): void {
    const callType = envelope.fields.workflow?.callType;
    if (callType === "step" || callType === "fromCallback") this.runTotals.deliveredSteps += 1;
    this.#recorder.apply(user, "delivered", { sequence, atMs, status });
  }

  /** Cancels a message. False if it is too late. */
  cancel(message: Message): boolean {
    if (message.state === messageState.cancelRequested) return false;
    const { now } = this;
    const { user, sequence } = message;
    this.#recorder.apply(user, "cancelRequested", { sequence, atMs: now.wallMs });
    // The call of an active message continues, and its outcome is dropped.
    if (isCalled(message)) return true;
    const queue = this.state.queueOf(message);
    const held = this.state.heldQueueOf(message);
    this.#scheduler.leave(message, now);
    this.endCancelled(message, now.wallMs);
    if (queue !== undefined) this.#scheduler.advance(queue, now);
    if (held !== undefined) this.#scheduler.advance(held, now);
    return true;
  }

  /** The next attempt of a message is due now. False if its call is under way; nothing changes if it is due already. */
  advanceAttempt(message: Message): boolean {
    if (message.state === messageState.cancelRequested || isCalled(message)) return false;
    if (message.list !== undefined) return true;
    const { now } = this;
    const { user, sequence } = message;
    this.#recorder.apply(user, "attemptAdvanced", { sequence, atMs: now.wallMs });
    this.#scheduler.advanceAttempt(message, now);
    return true;
  }

  /** Cancels a message whose run ends, unless its call is under way: the call continues, and its outcome is dropped. */
  cancelWaiting(message: Message): void {
    if (!isCalled(message)) this.cancel(message);
  }

  /** Ends a message whose cancellation was requested. */
  endCancelled({ user, sequence }: Message, atMs: number): void {
    this.#recorder.apply(user, "cancelled", { sequence, atMs });
    this.counts.cancelled += 1;
  }

  createRun(user: User, record: RunRecord): Run {
    this.runTotals.started += 1;
    return this.#recorder.apply(user, "runCreated", { record });
  }

  /** `result` is the return value of the run's function; undefined if it did not return. */
  endRun(run: Run, { state, atMs, result }: { state: RunState; atMs: number; result: Buffer | undefined }): void {
    this.runTotals.ended[state] += 1;
    const body = result && Body.of(result, false);
    this.#recorder.apply(run.user, "runEnded", { runId: run.id, state, atMs, result: body });
    if (this.watcher === undefined || state === runState.started) return;
    const { url, createdAtMs } = run.record;
    this.watcher.runEnded({ run: run.id, url, state: endNames[state], durationMs: atMs - createdAtMs });
  }

  /** Creates the queue of this name if it does not exist. */
  ensureQueue(user: User, name: string): void {
    if (user.queues.has(name)) return;
    this.#recorder.apply(user, "queuePut", { record: newQueue(name, this.now.wallMs) });
  }

  /** A queue has changed: its messages may continue. */
  advance(queue: Queue): void {
    this.#scheduler.advance(queue, this.now);
  }

  /** A queue was removed: its remaining messages continue without it. */
  leaveQueue(queue: Queue): void {
    this.#scheduler.leaveQueue(queue, this.now);
  }

  /** A flow-control key has changed: its messages may continue. */
  wakeKey(key: FlowKey): void {
    this.#scheduler.wakeKey(key, this.now);
  }

  /** The messages that were accepted since the last call; the engine takes them when it appends the frame. */
  takeAccepted(): readonly Message[] {
    if (this.#accepted.length === 0) return NO_MESSAGES;
    const accepted = this.#accepted;
    this.#accepted = [];
    return accepted;
  }

  #fieldsOf(facts: MessageFacts, message: NewMessage): NewMessageFields {
    const { fields, source, bytes, isNeededSoon, deduplicationKey } = message;
    const { envelopes } = this.state;
    const envelope = source === undefined ? envelopes.share(fields) : envelopes.shareFrom(source);
    return { facts, envelope, deduplicationKey, body: Body.of(bytes, isNeededSoon) };
  }
}

const NO_MESSAGES: readonly Message[] = [];

const endNames = { 1: "success", 2: "failed", 3: "canceled" } as const;

/** True while a call of the message is under way. */
function isCalled({ user, sequence }: Message): boolean {
  return user.inFlight.has(sequence);
}
