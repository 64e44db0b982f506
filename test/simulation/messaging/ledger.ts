/**
 * What happened to every message according to the frames of the journal, the
 * calls and the answers, and the rules for it. Knows nothing of how the engine
 * makes its decisions.
 *
 * A crash takes back the frames after the recovered position, and the ledger
 * with them. Acknowledged or called messages must not be among them.
 */
import { FrameReader } from "../../../src/kernel/frame.ts";
import type { DeliveryResult } from "../../../src/messaging/delivery/delivery.ts";
import { historyEventsOf, loggedMessage } from "../../../src/messaging/history.ts";
import type { EnvelopeFields } from "../../../src/messaging/options/envelope.ts";
import { type MessageState, messageState, messageStateName } from "../../../src/messaging/state/states.ts";
import type { Call } from "./destinations.ts";
import { expectedOutcome } from "./expected-outcome.ts";
import type { Freezes } from "./freezes.ts";
import { check } from "./violation.ts";

export interface Entry {
  readonly state: MessageState;
  readonly atMs: number;
  readonly position: number;
  /** RETRY: when the next attempt is due. */
  readonly nextMs: number;
  readonly life: number;
  /** How far the monotonic clock is ahead of the wall clock. */
  readonly driftMs: number;
}

export interface Tracked {
  readonly id: string;
  readonly sequence: number;
  readonly user: number;
  readonly fields: EnvelopeFields;
  readonly origin: string;
  readonly body: Buffer;
  readonly createdAtMs: number;
  readonly notBeforeMs: number;
  readonly position: number;
  entries: Entry[];
  /** Acknowledged to its publisher. */
  isAcked: boolean;
  /** Calls that were made. */
  callCount: number;
  /** The call of the current attempt was made. */
  isCalled: boolean;
  /** Its destination has answered its last call with 2xx. */
  isAnswered: boolean;
  /** A crash or a move of its user has hidden how its last call ended, if it ended at all. */
  isInDoubt: boolean;
  /** Its call was given up, because its user moves, and is made again in this life. */
  isGivenUp: boolean;
  /** The last one, unless it was given up. */
  call: Call | undefined;
  /** The position at which its queue was deleted. */
  detachedAt: number | undefined;
  /** Positions from which it was due because a user retried it early. */
  retriedNowAt: number[];
  /** A failed callback that a user retried: it blocks nothing any more. */
  isAgain: boolean;
}

export interface LedgerCounts {
  accepted: number;
  calls: number;
  delivered: number;
  failed: number;
  cancelled: number;
  /** Calls repeated because a crash or a move hid how they ended. */
  repeated: number;
  crashes: number;
}

/** The moves of C.states, and those that a crash or a move adds: a call under way is repeated, or cancelled. */
const legal: ReadonlyMap<MessageState | undefined, readonly MessageState[]> = new Map<
  MessageState | undefined,
  readonly MessageState[]
>([
  [undefined, [messageState.created]],
  [messageState.created, [messageState.active, messageState.cancelRequested]],
  [messageState.active, [messageState.delivered, messageState.error, messageState.cancelRequested]],
  [messageState.error, [messageState.retry, messageState.failed]],
  [messageState.retry, [messageState.active, messageState.cancelRequested]],
  [messageState.cancelRequested, [messageState.cancelled]],
]);
const finished: ReadonlySet<MessageState> = new Set([
  messageState.delivered,
  messageState.failed,
  messageState.cancelled,
]);

export class Ledger {
  readonly messages = new Map<number, Tracked>();
  readonly byId = new Map<string, Tracked>();
  /** Attempts under way in this life, by sequence number. */
  readonly inFlight = new Map<number, Tracked>();
  readonly counts: LedgerCounts = {
    ...{ accepted: 0, calls: 0, delivered: 0, failed: 0, cancelled: 0, repeated: 0, crashes: 0 },
  };
  /** Called for each accepted message. */
  onAccepted: (message: Tracked) => void = () => {};
  /** Called for each attempt that starts, before it counts as under way. */
  onStart: (message: Tracked, entry: Entry) => void = () => {};
  life = 0;
  /** Time of the clock of this life. */
  driftMs: () => number = () => 0;
  /** The same when this life began. */
  startDriftMs = 0;
  /** The latest wall time seen. */
  wallMaxMs = 0;
  readonly #retentionMs: number;
  readonly #freezes: Freezes;
  /** Messages whose dead letters a user asked to retry or delete. */
  readonly #taken = new Set<number>();
  readonly #frames: Buffer[] = [];
  /** Positions at which users were dropped, by their numbers. */
  readonly #droppedAt = new Map<number, number>();
  #promised = 0;
  /** The answer being delivered to the engine. */
  #answer: { readonly message: Tracked; readonly result: DeliveryResult; isTaken: boolean } | undefined;

  /** `retentionMs` is that of dead letters. */
  constructor(retentionMs: number, freezes: Freezes) {
    this.#retentionMs = retentionMs;
    this.#freezes = freezes;
  }

  /** All frames; the position of the first one is 1. */
  get frames(): readonly Buffer[] {
    return this.#frames;
  }

  /** Everything up to here was promised to a client. */
  get promised(): number {
    return this.#promised;
  }

  // Events.

  appended(frame: Buffer, position: number): void {
    this.#frames.push(frame);
    check(position === this.#frames.length, () => `Frame ${this.#frames.length} has position ${position}`);
    const { messages, entries, droppedUsers } = historyEventsOf(frame);
    this.#freezes.appended(new FrameReader(frame).number(), position);
    for (const event of messages) {
      const { id, envelope, body, createdAtMs, notBeforeMs } = loggedMessage(event.detail);
      check(!this.messages.has(event.message), () => `Message ${event.message} is accepted twice`);
      const tracked: Tracked = {
        ...{ id, sequence: event.message, user: event.user, fields: envelope, createdAtMs, notBeforeMs, position },
        origin: new URL(envelope.url).origin,
        body: Buffer.from(body),
        entries: [],
        ...{
          isAcked: false,
          callCount: 0,
          isCalled: false,
          isAnswered: false,
          isInDoubt: false,
          isGivenUp: false,
          call: undefined,
          isAgain: false,
          detachedAt: undefined,
          retriedNowAt: [],
        },
      };
      this.messages.set(event.message, tracked);
      this.byId.set(id, tracked);
      this.counts.accepted += 1;
    }
    for (const { message, timeMs, state: to, detail } of entries) {
      const nextMs = to === messageState.retry ? Number(Buffer.from(detail ?? []).toString("latin1")) : 0;
      this.#enter(this.#get(message), {
        state: to,
        atMs: timeMs,
        position,
        nextMs,
        life: this.life,
        driftMs: this.driftMs(),
      });
    }
    for (const user of droppedUsers) this.#dropUser(user, position);
    this.#checkCallbacks(frame, position);
    for (const { message } of messages) this.onAccepted(this.#get(message));
  }

  called(call: Call): void {
    const { request, messageId, retried } = call;
    const message = this.byId.get(messageId);
    check(message !== undefined, () => `${messageId} is called, but was never accepted`);
    if (message === undefined) return;
    const { body, fields, sequence } = message;
    const text = `Message ${sequence} (${this.history(message)})`;
    check(this.inFlight.get(sequence) === message, () => `${text} is called without an attempt`);
    check(!message.isCalled, () => `${text} is called twice in one attempt`);
    check(retried === errorCount(message), () => `${text} is called with retried ${retried}`);
    check(Buffer.isBuffer(request.body) && body.equals(request.body), () => `${text} is called with another body`);
    check(request.url === fields.url && request.method === fields.method, () => `${text} has another URL or method`);
    check(!message.isAnswered || message.isInDoubt, () => `${text} is called again after 2xx`);
    if (message.isInDoubt && message.callCount > 0) this.counts.repeated += 1;
    message.isAnswered = false;
    message.isInDoubt = false;
    message.call = call;
    message.isCalled = true;
    message.callCount += 1;
    this.counts.calls += 1;
  }

  ended(call: Call, result: DeliveryResult, tell: () => void): void {
    const message = this.byId.get(call.messageId);
    if (message === undefined) return;
    const wasGivenUp = message.call !== call;
    if (isSuccess(result) && !wasGivenUp) message.isAnswered = true;
    this.#answer = { message, result, isTaken: false };
    tell();
    const { isTaken } = this.#answer;
    this.#answer = undefined;
    check(!isTaken || !wasGivenUp, () => `The answer of a call that was given up changed ${message.sequence}`);
    const hasEffect = isTaken || wasGivenUp || message.isGivenUp || this.isDropped(message);
    check(hasEffect, () => `The answer for ${message.sequence} changed nothing`);
  }

  /** Its user moves, and its call is made again afterwards: it has lasted too long, or has just failed. */
  gaveUp(sequence: number): void {
    const message = this.#get(sequence);
    const answer = this.#answer?.message === message ? this.#answer.result : undefined;
    const hasFailed = answer !== undefined && !isSuccess(answer);
    check(hasFailed || this.#freezes.isCallTooLong(message.user), () => `The call of ${sequence} is given up`);
    this.inFlight.delete(sequence);
    message.call = undefined;
    message.isCalled = false;
    message.isInDoubt = true;
    message.isGivenUp = true;
  }

  /** A client was told that its request is on the disk. */
  acknowledge(position: number): void {
    this.#promised = Math.max(this.#promised, position);
  }

  acknowledgeMessage(id: string): void {
    const message = this.byId.get(id);
    check(message !== undefined, () => `${id} was acknowledged, but is in no frame`);
    if (message === undefined) return;
    message.isAcked = true;
    this.acknowledge(message.position);
  }

  detach(message: Tracked, position: number): void {
    message.detachedAt ??= position;
  }

  /** Everything stopped, and this position was recovered. */
  recovered(position: number, isCrash: boolean): void {
    check(position <= this.#frames.length, () => `Position ${position} is after the last, ${this.#frames.length}`);
    const lost = [...this.messages.values()].filter((message) => message.position > position);
    for (const message of lost) {
      check(!message.isAcked, () => `Message ${message.sequence} was acknowledged, but a crash took it back`);
      check(message.callCount === 0, () => `Message ${message.sequence} was called, but a crash took it back`);
      this.messages.delete(message.sequence);
      this.byId.delete(message.id);
    }
    check(position >= this.#promised, () => `Position ${position} is recovered, but ${this.#promised} was promised`);
    this.#frames.length = position;
    for (const message of this.messages.values()) {
      const { length } = message.entries;
      message.entries = message.entries.filter((entry) => entry.position <= position);
      const isUndropped = (this.#droppedAt.get(message.user) ?? 0) > position;
      if (message.entries.length < length || this.inFlight.has(message.sequence) || isUndropped)
        message.isInDoubt = true;
      if ((message.detachedAt ?? 0) > position) message.detachedAt = undefined;
      message.retriedNowAt = message.retriedNowAt.filter((at) => at <= position);
      message.isCalled = false;
      message.isGivenUp = false;
    }
    for (const [user, droppedAt] of this.#droppedAt) if (droppedAt > position) this.#droppedAt.delete(user);
    this.inFlight.clear();
    this.life += 1;
    if (isCrash) this.counts.crashes += 1;
  }

  // Queries.

  isFinished(message: Tracked): boolean {
    const last = message.entries.at(-1)?.state;
    return (last !== undefined && finished.has(last)) || this.isDropped(message);
  }

  /** Its user was dropped with all data. */
  isDropped({ user }: Tracked): boolean {
    return this.#droppedAt.has(user);
  }

  /** A user requests that the dead letter of this message be retried or deleted. */
  take(sequence: number): void {
    this.#taken.add(sequence);
  }

  /** The dead letter of this message may be gone. */
  isTaken({ sequence, entries }: Tracked): boolean {
    return this.#taken.has(sequence) || (entries.at(-1)?.atMs ?? 0) < this.wallMaxMs - this.#retentionMs;
  }

  get unfinished(): Tracked[] {
    return [...this.messages.values()].filter((message) => !this.isFinished(message));
  }

  history(message: Tracked): string {
    return message.entries.map((entry) => `${messageStateName(entry.state)}@${entry.position}`).join(" ");
  }

  // The rules.

  #enter(message: Tracked, entry: Entry): void {
    const last = message.entries.at(-1);
    const isRepeated =
      entry.state === messageState.active &&
      last?.state === messageState.active &&
      (last.life < this.life || message.isGivenUp);
    const isLegal = legal.get(last?.state)?.includes(entry.state) === true || isRepeated;
    const text = (): string =>
      `Message ${message.sequence}: ${this.history(message)}, then ${messageStateName(entry.state)}`;
    check(isLegal, text);
    const isUnderWay = this.inFlight.has(message.sequence);
    message.entries.push(entry);
    switch (entry.state) {
      case messageState.active:
        this.#freezes.started(message.user, message.sequence);
        this.onStart(message, entry);
        message.isGivenUp = false;
        message.isCalled = false;
        this.inFlight.set(message.sequence, message);
        return;
      case messageState.delivered:
      case messageState.error:
        this.#checkOutcome(message, entry, text);
        return;
      case messageState.retry:
        this.#checkRetry(message, entry, text);
        return;
      case messageState.failed:
        check(expectedOutcome(message, this.#resultFor(message)).kind === "failed", text);
        this.#end(message);
        this.counts.failed += 1;
        return;
      case messageState.cancelled:
        // A call under way continues, and the message is cancelled when it ends.
        check(!isUnderWay || this.#answer?.message === message, () => `${text()} while it is being called`);
        this.#end(message);
        this.counts.cancelled += 1;
        return;
    }
  }

  #checkOutcome(message: Tracked, { state: to }: Entry, text: () => string): void {
    const result = this.#resultFor(message);
    check(message.isCalled, () => `${text()} without a call`);
    const isDelivered = expectedOutcome(message, result).kind === "delivered";
    check(isDelivered === (to === messageState.delivered), text);
    if (!isDelivered) return;
    this.#end(message);
    this.counts.delivered += 1;
  }

  #checkRetry(message: Tracked, { atMs, nextMs }: Entry, text: () => string): void {
    const expected = expectedOutcome(message, this.#resultFor(message));
    check(expected.kind === "retry", text);
    if (expected.kind === "retry") {
      check(nextMs === atMs + expected.delayMs, () => `${text()} in ${nextMs - atMs} ms, not ${expected.delayMs}`);
    }
    check(
      errorCount(message) <= message.fields.retriesMax,
      () => `${text()} beyond ${message.fields.retriesMax} retries`,
    );
    this.#end(message);
  }

  #resultFor(message: Tracked): DeliveryResult {
    const answer = this.#answer;
    check(answer?.message === message, () => `Message ${message.sequence} ends an attempt without an answer`);
    return answer?.result ?? { kind: "failure", text: "" };
  }

  #end(message: Tracked): void {
    this.inFlight.delete(message.sequence);
    message.isCalled = false;
    if (this.#answer?.message === message) this.#answer.isTaken = true;
  }

  /** Callbacks report every attempt with an outcome, in the frame of the outcome, and nothing else. */
  #checkCallbacks(frame: Buffer, position: number): void {
    const { messages, entries } = historyEventsOf(frame);
    const due: string[] = [];
    for (const { message, state: to } of entries) {
      const { id, fields } = this.#get(message);
      const isEnd = to === messageState.delivered || to === messageState.retry || to === messageState.failed;
      if (isEnd && fields.callback !== undefined) due.push(id);
      if (to === messageState.failed && fields.failureCallback !== undefined) due.push(id);
    }
    const told: string[] = [];
    for (const { message } of messages) {
      const tracked = this.#get(message);
      const { callbackOf } = tracked.fields;
      if (callbackOf === undefined) continue;
      if (due.includes(callbackOf)) told.push(callbackOf);
      else {
        tracked.isAgain = this.#wasTaken(tracked);
        check(tracked.isAgain, () => `Frame ${position} has a callback of ${callbackOf} out of turn`);
      }
    }
    const isEqual = told.length === due.length && told.every((id, index) => id === due[index]);
    check(isEqual, () => `Frame ${position} has callbacks of ${told.join()}, not ${due.join()}`);
  }

  #wasTaken({ fields, user }: Tracked): boolean {
    return [...this.#taken].some((sequence) => {
      const other = this.messages.get(sequence);
      return other?.user === user && other.fields.callbackOf === fields.callbackOf && other.fields.url === fields.url;
    });
  }

  #dropUser(user: number, position: number): void {
    this.#droppedAt.set(user, position);
    for (const message of this.messages.values()) {
      if (message.user === user) this.inFlight.delete(message.sequence);
    }
  }

  #get(sequence: number): Tracked {
    const message = this.messages.get(sequence);
    check(message !== undefined, () => `A record names message ${sequence}, which was never accepted`);
    return message as Tracked;
  }
}

function isSuccess(result: DeliveryResult): boolean {
  return result.kind === "answer" && result.status >= 200 && result.status < 300;
}

export function errorCount(message: Tracked): number {
  return message.entries.filter((entry) => entry.state === messageState.error).length;
}
