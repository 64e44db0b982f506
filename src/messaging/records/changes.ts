/**
 * Everything that can happen to messaging, each written into the frame and then
 * done, so that nothing can be done without a record. A frame is what one
 * decision did to one user; `commit` appends it.
 */
import { assert } from "../../kernel/assert.ts";
import { FrameWriter } from "../../kernel/frame.ts";
import type { Journal } from "../../kernel/journal.ts";
import { Body } from "../bodies/body.ts";
import type { SigningKeys } from "../door.ts";
import type { EnvelopeFields } from "../options/envelope.ts";
import type { DeadLetter, ResponseFacts } from "../state/dead-letters.ts";
import type { FlowKey, FlowKeyRecord } from "../state/flow-key.ts";
import type { Message, MessageFacts } from "../state/message.ts";
import { letterKey, type Realm } from "../state/messaging-state.ts";
import type { Moment } from "../state/moment.ts";
import type { Queue, QueueRecord } from "../state/queue.ts";
import type { Schedule, ScheduleRecord } from "../state/schedule.ts";
import type { UrlGroup } from "../state/url-group.ts";
import type { User } from "../state/user.ts";
import type { FailureFunction, Run, RunConfig, RunRecord, RunState } from "../workflow/run.ts";
import type { Waiter, WaiterRecord } from "../workflow/waiter.ts";
import {
  AREA,
  bodyOwner,
  code,
  writeBody,
  writeJson,
  writeLetterId,
  writeMessageFacts,
  writeResponse,
  writeText,
} from "./records.ts";

export interface NewMessage {
  readonly fields: EnvelopeFields;
  readonly bytes: Buffer;
  readonly isNeededSoon: boolean;
  /** Empty: nothing is compared with it. */
  readonly deduplicationKey: string;
}

/** What has happened to workflow runs since the start. */
export interface RunTotals {
  started: number;
  /** By how they ended. */
  readonly ended: Record<RunState, number>;
  /** Deliveries of entries, and of what came of calls, that their endpoints took. */
  deliveredSteps: number;
}

export class Changes {
  readonly runTotals: RunTotals = { started: 0, ended: { 0: 0, 1: 0, 2: 0, 3: 0 }, deliveredSteps: 0 };
  readonly #frame = new FrameWriter();
  readonly #realm: Realm;
  readonly #journal: Journal;

  constructor(realm: Realm, journal: Journal) {
    this.#realm = realm;
    this.#journal = journal;
  }

  get isEmpty(): boolean {
    return this.#frame.isEmpty;
  }

  /** Appends what was done since the last commit, if anything was. Returns the end of the journal. */
  commit(): number {
    if (this.#frame.isEmpty) return this.#journal.end;
    const owner = this.#realm.findUserByNumber(this.#frame.tenantNumber);
    const position = this.#journal.append(this.#frame.take(), owner);
    this.#realm.bodies.appended(position, this.#journal.appendedOffset);
    return position;
  }

  createUser(name: string, keys: SigningKeys): User {
    const number = this.#realm.userNumberMax + 1;
    this.#frame.record(AREA, code.userCreated).number(number);
    writeText(this.#frame, name);
    writeJson(this.#frame, keys);
    return this.#realm.createUser(number, name, keys);
  }

  dropUser(user: User): void {
    this.#frame.record(AREA, code.userDropped).number(user.number);
    this.#realm.dropUser(user);
  }

  // Messages.

  accept(user: User, facts: MessageFacts, { fields, bytes, isNeededSoon, deduplicationKey }: NewMessage): Message {
    assert(!user.isDropped, "nothing is accepted from a dropped user");
    const envelope = this.#realm.envelopes.share(fields);
    const body = Body.of(bytes, isNeededSoon);
    const frame = this.#frame.record(user.number, code.messageAccepted);
    writeMessageFacts(frame, facts);
    writeText(frame, envelope.text);
    writeText(frame, deduplicationKey);
    this.#realm.bodies.note(body, writeBody(frame, body, bytes), user.memory);
    return this.#realm.addMessage(user, envelope, body, facts, deduplicationKey);
  }

  startAttempt(message: Message, now: Moment): void {
    this.#record(message, code.attemptStarted, now.wallMs);
    this.#realm.startAttempt(message, now);
  }

  deliver(message: Message, atMs: number, status: number): void {
    this.#record(message, code.delivered, atMs).number(status);
    const callType = message.envelope.fields.workflow?.callType;
    if (callType === "step" || callType === "fromCallback") this.runTotals.deliveredSteps += 1;
    this.#realm.deliver(message);
  }

  retry(message: Message, atMs: number, dueMs: number, response: ResponseFacts, responseBytes: Buffer): void {
    const frame = this.#record(message, code.retryPlanned, atMs).time(dueMs);
    writeResponse(frame, response);
    frame.buffer(responseBytes);
    this.#realm.retry(message, dueMs);
  }

  fail(message: Message, atMs: number, response: ResponseFacts, responseBytes: Buffer): DeadLetter {
    const id = message.user.deadLetters.nextId(atMs);
    const frame = this.#record(message, code.failed, atMs);
    writeLetterId(frame, id);
    writeResponse(frame, response);
    const body = Body.of(responseBytes, false);
    this.#realm.bodies.note(body, writeBody(frame, body, responseBytes), message.user.memory);
    return this.#realm.fail(message, id, response, body);
  }

  requestCancel(message: Message, atMs: number): void {
    this.#record(message, code.cancelRequested, atMs);
    this.#realm.requestCancel(message);
  }

  cancel(message: Message, atMs: number): void {
    this.#record(message, code.cancelled, atMs);
    this.#realm.cancel(message);
  }

  removeDeadLetter(user: User, letter: DeadLetter): void {
    writeLetterId(this.#frame.record(user.number, code.deadLetterRemoved), letter.id);
    this.#realm.removeDeadLetter(user, letterKey(letter));
  }

  /** Writes the body of a message once more, so that the segment in which it lies can go. */
  moveMessageBody({ user, sequence, body }: Message, bytes: Buffer): void {
    const frame = this.#frame.record(user.number, code.bodyMoved).number(bodyOwner.message).number(sequence);
    this.#realm.bodies.note(body, writeBody(frame, body, bytes));
  }

  moveLetterBody(
    user: User,
    letter: DeadLetter,
    { owner, bytes }: { owner: "deadLetter" | "response"; bytes: Buffer },
  ): void {
    const frame = this.#frame.record(user.number, code.bodyMoved).number(bodyOwner[owner]);
    writeLetterId(frame, letter.id);
    const body = owner === "deadLetter" ? letter.body : letter.responseBody;
    this.#realm.bodies.note(body, writeBody(frame, body, bytes));
  }

  // Workflow runs. The entries of a run come with its messages: `accept` is also what puts one at the end.

  createRun(user: User, record: RunRecord): Run {
    writeJson(this.#frame.record(user.number, code.runCreated), record);
    this.runTotals.started += 1;
    return this.#realm.createRun(user, record);
  }

  /** Its entries make room for those of another start. */
  restartRun(run: Run, config: RunConfig): void {
    writeJson(this.#frame.record(run.user.number, code.runRestarted), { id: run.id, config });
    this.#realm.restartRun(run, config);
  }

  /** `result` is what its function returned; undefined if it did not. */
  endRun(run: Run, { state, atMs, result }: { state: RunState; atMs: number; result: Buffer | undefined }): void {
    const frame = this.#frame.record(run.user.number, code.runEnded);
    writeText(frame, run.id);
    frame
      .number(state)
      .time(atMs)
      .number(result === undefined ? 0 : 1);
    let body: Body | undefined;
    if (result !== undefined) {
      body = Body.of(result, false);
      this.#realm.bodies.note(body, writeBody(frame, body, result), run.user.memory);
    }
    this.runTotals.ended[state] += 1;
    this.#realm.endRun(run, { state, atMs, result: body });
  }

  forgetRun(run: Run): void {
    writeText(this.#frame.record(run.user.number, code.runForgotten), run.id);
    this.#realm.forgetRun(run);
  }

  /** An entry that counts as delivered. */
  copyEntry(user: User, facts: MessageFacts, { fields, bytes, isNeededSoon }: NewMessage): void {
    const envelope = this.#realm.envelopes.share(fields);
    const body = Body.of(bytes, isNeededSoon);
    const frame = this.#frame.record(user.number, code.entryCopied);
    writeMessageFacts(frame, facts);
    writeText(frame, envelope.text);
    writeText(frame, "");
    this.#realm.bodies.note(body, writeBody(frame, body, bytes), user.memory);
    this.#realm.copyEntry(user, envelope, body, facts);
  }

  /** The message ends, and leaves no dead letter. */
  failInRun(message: Message, atMs: number, response: ResponseFacts, responseBytes: Buffer): void {
    const frame = this.#record(message, code.failedInRun, atMs).time(0);
    writeResponse(frame, response);
    frame.buffer(responseBytes);
    this.#realm.failInRun(message);
  }

  addWaiter(user: User, record: WaiterRecord): Waiter {
    writeJson(this.#frame.record(user.number, code.waiterAdded), record);
    return this.#realm.addWaiter(user, record);
  }

  removeWaiter(user: User, { number }: Waiter): void {
    this.#frame.record(user.number, code.waiterRemoved).number(number);
    this.#realm.removeWaiter(user, number);
  }

  saveEvent(run: Run, eventId: string, data: Buffer): void {
    const frame = this.#frame.record(run.user.number, code.eventSaved);
    writeText(frame, run.id);
    writeText(frame, eventId);
    frame.buffer(data);
    this.#realm.saveEvent(run, eventId, data);
  }

  takeEvent(run: Run, eventId: string): void {
    const frame = this.#frame.record(run.user.number, code.eventTaken);
    writeText(frame, run.id);
    writeText(frame, eventId);
    this.#realm.takeEvent(run, eventId);
  }

  /** Undefined: the endpoint has none. */
  putFailureFunction(run: Run, failureFunction: FailureFunction | undefined): void {
    writeJson(this.#frame.record(run.user.number, code.failureFunctionPut), { id: run.id, failureFunction });
    this.#realm.putFailureFunction(run, failureFunction);
  }

  /** The same with a long answer, which lies in the journal. */
  putFailureAnswer(run: Run, failureFunction: FailureFunction, bytes: Buffer): void {
    const frame = this.#frame.record(run.user.number, code.failureFunctionAnswered);
    writeJson(frame, { id: run.id, failureFunction });
    const body = Body.of(bytes, false);
    this.#realm.bodies.note(body, writeBody(frame, body, bytes));
    this.#realm.putFailureFunction(run, failureFunction, body);
  }

  /** `owner` is an entry by its index, or another body of the run. */
  moveRunBody(
    run: Run,
    owner: number | "runResult" | "failureAnswer",
    { body, bytes }: { body: Body; bytes: Buffer },
  ): void {
    const isEntry = typeof owner === "number";
    const frame = this.#frame.record(run.user.number, code.bodyMoved);
    frame.number(isEntry ? bodyOwner.entry : bodyOwner[owner]);
    writeText(frame, run.id);
    frame.number(isEntry ? owner : 0);
    this.#realm.bodies.note(body, writeBody(frame, body, bytes));
  }

  // What a user has.

  putQueue(user: User, record: QueueRecord): Queue {
    writeJson(this.#frame.record(user.number, code.queuePut), record);
    return this.#realm.putQueue(user, record);
  }

  removeQueue(user: User, name: string): void {
    writeText(this.#frame.record(user.number, code.queueRemoved), name);
    this.#realm.removeQueue(user, name);
  }

  putSchedule(user: User, record: ScheduleRecord, body: Buffer): Schedule {
    const frame = this.#frame.record(user.number, code.schedulePut);
    writeJson(frame, record);
    frame.buffer(body);
    return this.#realm.putSchedule(user, record, body);
  }

  changeSchedule(user: User, id: string, change: Partial<ScheduleRecord>): void {
    const frame = this.#frame.record(user.number, code.scheduleChanged);
    writeText(frame, id);
    writeJson(frame, change);
    this.#realm.changeSchedule(user, id, change);
  }

  removeSchedule(user: User, id: string): void {
    writeText(this.#frame.record(user.number, code.scheduleRemoved), id);
    this.#realm.removeSchedule(user, id);
  }

  putGroup(user: User, group: UrlGroup): void {
    writeJson(this.#frame.record(user.number, code.groupPut), group);
    this.#realm.putGroup(user, group);
  }

  removeGroup(user: User, name: string): void {
    writeText(this.#frame.record(user.number, code.groupRemoved), name);
    this.#realm.removeGroup(user, name);
  }

  putFlowKey(user: User, record: FlowKeyRecord): FlowKey {
    writeJson(this.#frame.record(user.number, code.flowKeyPut), record);
    return this.#realm.putFlowKey(user, record);
  }

  /** A key without messages is forgotten. */
  removeFlowKey(user: User, key: FlowKey): void {
    writeText(this.#frame.record(user.number, code.flowKeyRemoved), key.key);
    this.#realm.removeFlowKey(user, key);
  }

  putSigningKeys(user: User, keys: SigningKeys, given: SigningKeys): void {
    writeJson(this.#frame.record(user.number, code.signingKeysPut), { keys, given });
    this.#realm.putSigningKeys(user, keys, given);
  }

  #record({ user, sequence }: Message, recordCode: number, atMs: number): FrameWriter {
    assert(!user.isDropped, "nothing happens to messages of a dropped user");
    return this.#frame.record(user.number, recordCode).number(sequence).time(atMs);
  }
}
