/**
 * The state of messaging: all users and all unfinished messages. Its methods
 * make all changes; each is called both by live requests and by replay of the
 * journal, reads no clock, and decides nothing.
 *
 * Timers, slots and lists of waiting messages are not part of it: `scheduler.ts`
 * derives them again after each start.
 */
import { assert } from "../../kernel/assert.ts";
import { MemoryAccount, type MemoryGuard } from "../../kernel/memory-guard.ts";
import { Bodies, type Body } from "../bodies/body.ts";
import type { MessagingLimits } from "../limits.ts";
import { type Envelope, Envelopes } from "../options/envelope.ts";
import type { DeadLetter, DeadLetterId, ResponseFacts } from "./dead-letters.ts";
import { deadLetterIdText } from "./dead-letters.ts";
import { FlowKey, type FlowKeyRecord } from "./flow-key.ts";
import {
  deadLetterBytes,
  FLOW_KEY_BYTES,
  groupBytes,
  MESSAGE_BYTES,
  QUEUE_BYTES,
  savedEventBytes,
  scheduleBytes,
  waiterBytes,
} from "./memory-sizes.ts";
import { Message, type MessageFacts } from "./message.ts";
import { MessageTable } from "./message-table.ts";
import { Queue, type QueueRecord } from "./queue.ts";
import type { Waiter, WaiterRecord } from "./run.ts";
import {
  type Entry,
  type FailureFunction,
  Run,
  type RunConfig,
  type RunFacts,
  type RunRecord,
  type RunState,
  runState,
} from "./run.ts";
import { Schedule, type ScheduleRecord } from "./schedule.ts";
import { messageState } from "./states.ts";
import type { UrlGroup } from "./url-group.ts";
import { type SigningKeys, User } from "./user.ts";

const DAY_MS = 86_400_000;

/** Snapshots store these numbers: they never change. */
export const queueTurn = { none: 0, slot: 1, noQueue: 2 } as const;

export type QueueTurn = (typeof queueTurn)[keyof typeof queueTurn];

export class MessagingState {
  readonly envelopes = new Envelopes();
  readonly bodies = new Bodies();
  readonly messages = new MessageTable();
  readonly flowKeysByNumber = new Map<number, FlowKey>();
  readonly schedulesByNumber = new Map<number, { readonly user: User; readonly schedule: Schedule }>();
  readonly waitersByNumber = new Map<number, { readonly user: User; readonly waiter: Waiter }>();
  readonly #limits: MessagingLimits;
  readonly #guard: MemoryGuard | undefined;
  readonly #usersByName = new Map<string, User>();
  readonly #usersByNumber = new Map<number, User>();
  #userNumberMax = 0;
  #sequenceMax = 0;
  /** Of flow keys and schedules; valid in this process only. */
  #numberMax = 0;
  #waiterNumberMax = 0;

  constructor(limits: MessagingLimits, guard?: MemoryGuard) {
    this.#limits = limits;
    this.#guard = guard;
  }

  get users(): IterableIterator<User> {
    return this.#usersByName.values();
  }

  get userNumberMax(): number {
    return this.#userNumberMax;
  }

  /** The last sequence number in use. */
  get sequenceMax(): number {
    return this.#sequenceMax;
  }

  raiseSequence(sequence: number): void {
    this.#sequenceMax = Math.max(this.#sequenceMax, sequence);
  }

  raiseUserNumber(number: number): void {
    this.#userNumberMax = Math.max(this.#userNumberMax, number);
  }

  findUser(name: string): User | undefined {
    return this.#usersByName.get(name);
  }

  /** Undefined for the number of the area itself, and for a removed user. */
  findUserByNumber(number: number): User | undefined {
    return this.#usersByNumber.get(number);
  }

  /** The user of a record. */
  userOf(number: number): User {
    const user = this.#usersByNumber.get(number);
    assert(user !== undefined, `user ${number} was created before its records`);
    return user;
  }

  messageOf(sequence: number): Message {
    const message = this.messages.get(sequence);
    assert(message !== undefined, `message ${sequence} was created before its records`);
    return message;
  }

  createUser(number: number, name: string, keys: SigningKeys): User {
    const memory = this.#guard?.open(name) ?? new MemoryAccount(name);
    const user = new User(name, number, { keys, windowMs: this.#limits.deduplicationWindowMs, memory });
    this.#usersByName.set(name, user);
    this.#usersByNumber.set(number, user);
    this.raiseUserNumber(number);
    return user;
  }

  dropUser(user: User): void {
    for (const message of this.messages) if (message.user === user) this.#remove(message);
    for (const deadLetter of user.deadLetters.values()) this.#releaseDeadLetter(deadLetter);
    for (const key of user.flowKeys.values()) this.flowKeysByNumber.delete(key.number);
    for (const schedule of user.schedules.values()) this.schedulesByNumber.delete(schedule.number);
    for (const run of user.runs.values()) this.#dropRun(run);
    user.isDropped = true;
    user.memory.close();
    this.#usersByName.delete(user.name);
    this.#usersByNumber.delete(user.number);
  }

  // Messages.

  /** The use of `envelope` is counted already. */
  addMessage(user: User, envelope: Envelope, body: Body, facts: MessageFacts, deduplicationKey: string): Message {
    const { sequence, nonce, createdAtMs } = facts;
    const message = this.#add(user, envelope, body, facts);
    const { flowControl } = envelope.fields;
    if (flowControl !== undefined) {
      const key = this.flowKey(user, flowControl.key);
      key.adopt(flowControl);
      key.lastUsedMs = createdAtMs;
    }
    if (deduplicationKey !== "") user.deduplication.add(deduplicationKey, { sequence, nonce, atMs: createdAtMs });
    this.countDay(user, Math.floor(createdAtMs / DAY_MS), 1);
    if (message.run !== undefined && isEntry(envelope)) {
      envelope.useCount += 1;
      message.run.addEntry(envelope, body, { ...facts, isDelivered: false });
    }
    return message;
  }

  /** Restores a message of a snapshot. */
  restoreMessage(
    user: User,
    envelope: Envelope,
    body: Body,
    stored: Pick<Message, "state" | "retried" | "dueMs"> & { readonly facts: MessageFacts; readonly turn: QueueTurn },
  ): void {
    const { facts, turn } = stored;
    if (turn === queueTurn.noQueue) user.unqueued.add(facts.sequence);
    // The body of an entry was restored with the run.
    const entry = this.#runOf(user, envelope)?.entryOf(facts.sequence);
    const message = this.#add(user, envelope, entry?.body ?? body, facts);
    message.state = stored.state;
    message.retried = stored.retried;
    message.dueMs = stored.dueMs;
    if (turn === queueTurn.slot) this.queueOf(message)?.takeSlot(message.sequence);
  }

  startAttempt(message: Message, { atMs, passedMs }: { readonly atMs: number; readonly passedMs: number }): void {
    message.moveTo(messageState.active);
    const key = this.flowKeyOf(message);
    if (key !== undefined) {
      key.count(Math.floor(passedMs));
      key.lastUsedMs = atMs;
    }
    const queue = this.queueOf(message);
    if (queue !== undefined && !queue.hasSlot(message.sequence)) queue.takeSlot(message.sequence);
  }

  deliver(message: Message): void {
    message.moveTo(messageState.delivered);
    this.#noteOutcome(message, "SUCCESS");
    const entry = message.run?.entryOf(message.sequence);
    if (entry !== undefined) entry.isDelivered = true;
    this.#remove(message);
  }

  retry(message: Message, dueMs: number): void {
    message.moveTo(messageState.error);
    message.moveTo(messageState.retry);
    message.retried += 1;
    message.dueMs = dueMs;
  }

  fail(message: Message, id: DeadLetterId, response: ResponseFacts, responseBody: Body): DeadLetter {
    message.moveTo(messageState.error);
    message.moveTo(messageState.failed);
    this.#noteOutcome(message, "FAIL");
    const { envelope, body, sequence, nonce, createdAtMs, notBeforeMs } = message;
    const retried = message.retried + 1;
    const facts = { sequence, nonce, createdAtMs, notBeforeMs, retried };
    const deadLetter: DeadLetter = { id, envelope, body, ...facts, response, responseBody };
    // The dead letter takes over the body and one use of the envelope.
    envelope.useCount += 1;
    message.user.memory.add(deadLetterBytes(deadLetter));
    this.bodies.setAside(body);
    message.user.deadLetters.add(deadLetter);
    if (message.run !== undefined) message.run.deadLetterId = deadLetterIdText(id);
    this.#detach(message);
    this.envelopes.release(envelope);
    return deadLetter;
  }

  requestCancel(message: Message): void {
    message.moveTo(messageState.cancelRequested);
  }

  cancel(message: Message): void {
    message.moveTo(messageState.cancelled);
    this.#noteOutcome(message, "FAIL");
    this.#remove(message);
  }

  removeDeadLetter(user: User, id: string): void {
    const deadLetter = user.deadLetters.get(id);
    assert(deadLetter !== undefined, `dead letter ${id} exists when it is removed`);
    user.deadLetters.delete(id);
    user.memory.add(-deadLetterBytes(deadLetter));
    this.#releaseDeadLetter(deadLetter);
    const run = this.#runOf(user, deadLetter.envelope);
    if (run?.deadLetterId !== id) return;
    run.deadLetterId = undefined;
    this.#dropEntries(run);
  }

  restoreDeadLetter(user: User, deadLetter: DeadLetter): void {
    this.envelopes.charge(deadLetter.envelope, user.memory);
    user.memory.add(deadLetterBytes(deadLetter));
    const entry = this.#runOf(user, deadLetter.envelope)?.entryOf(deadLetter.sequence);
    user.deadLetters.add(entry === undefined ? deadLetter : { ...deadLetter, body: entry.body });
  }

  /** Fails a message without a dead letter. */
  failInRun(message: Message): void {
    message.moveTo(messageState.error);
    message.moveTo(messageState.failed);
    const entry = message.run?.entryOf(message.sequence);
    if (entry !== undefined) entry.isDelivered = true;
    this.#remove(message);
  }

  // Workflow runs.

  createRun(user: User, record: RunRecord): Run {
    const run = new Run(user, record);
    user.runs.set(record.id, run);
    user.runOrder.add(run);
    this.#invokerOf(run)?.children.add(run);
    return run;
  }

  restoreRun(user: User, record: RunRecord, facts: RunFacts, result: Body | undefined): Run {
    const run = new Run(user, record);
    run.restore(facts);
    for (const data of run.savedEvents.values()) for (const bytes of data) user.memory.add(savedEventBytes(bytes));
    run.result = result;
    user.runs.set(record.id, run);
    user.runOrder.add(run);
    if (!run.isStarted) user.endedRuns.add(run);
    this.#invokerOf(run)?.children.add(run);
    return run;
  }

  /** Call after a recovery: a snapshot has runs in the order of their start. */
  orderEndedRuns(): void {
    for (const { endedRuns } of this.users) {
      const ordered = [...endedRuns].sort((one, other) => one.endedAtMs - other.endedAtMs);
      endedRuns.clear();
      for (const run of ordered) endedRuns.add(run);
    }
  }

  runOf(user: User, id: string): Run {
    const run = user.runs.get(id);
    assert(run !== undefined, `run ${id} was created before its records`);
    return run;
  }

  /** Removes the entries of the first start. */
  restartRun(run: Run, config: RunConfig): void {
    run.record = { ...run.record, config, isStartedTwice: undefined };
    this.#dropEntries(run);
  }

  endRun(
    run: Run,
    ended: { readonly state: RunState; readonly atMs: number; readonly result: Body | undefined },
  ): void {
    assert(run.isStarted, "a run ends once");
    run.state = ended.state;
    run.endedAtMs = ended.atMs;
    run.user.endedRuns.add(run);
    run.result = ended.result;
    this.#dropSavedEvents(run);
    for (const waiter of run.waiters) this.#removeWaiter(run.user, waiter);
    run.leftWaits = [...run.waiters].map(({ eventId, createdAtMs, deadlineMs, timeout, step }) => {
      return { eventId, createdAtMs, deadlineMs, timeout, step };
    });
    run.waiters.clear();
    // A failed run can be resumed until its dead letter is removed.
    if (ended.state !== runState.failed) this.#dropEntries(run);
  }

  forgetRun(run: Run): void {
    this.#dropRun(run);
    this.#dropSavedEvents(run);
    run.releaseMemory();
    this.#invokerOf(run)?.children.delete(run);
    run.user.runs.delete(run.id);
    run.user.runOrder.delete(run);
    run.user.endedRuns.delete(run);
  }

  /** The use of `envelope` is counted already. */
  copyEntry(user: User, envelope: Envelope, body: Body, facts: MessageFacts): void {
    this.raiseSequence(facts.sequence);
    const run = this.#runOf(user, envelope);
    assert(run !== undefined, "an entry is copied into a run");
    this.envelopes.charge(envelope, user.memory);
    run.addEntry(envelope, body, { ...facts, isDelivered: true });
  }

  /** Restores an entry of a snapshot. The use of `envelope` is counted already. */
  restoreEntry(run: Run, envelope: Envelope, body: Body, facts: MessageFacts & Pick<Entry, "isDelivered">): void {
    this.envelopes.charge(envelope, run.user.memory);
    run.addEntry(envelope, body, facts);
  }

  get waiterNumberMax(): number {
    return this.#waiterNumberMax;
  }

  addWaiter(user: User, waiter: WaiterRecord): Waiter {
    this.#waiterNumberMax = Math.max(this.#waiterNumberMax, waiter.number);
    const sameEvent = user.waiters.get(waiter.eventId);
    if (sameEvent === undefined) user.waiters.set(waiter.eventId, new Set([waiter]));
    else sameEvent.add(waiter);
    this.waitersByNumber.set(waiter.number, { user, waiter });
    user.memory.add(waiterBytes(waiter));
    this.runOf(user, waiter.runId).waiters.add(waiter);
    return waiter;
  }

  removeWaiter(user: User, number: number): void {
    const known = this.waitersByNumber.get(number);
    assert(known !== undefined && known.user === user, `waiter ${number} exists when it is removed`);
    this.#removeWaiter(user, known.waiter);
    this.runOf(user, known.waiter.runId).waiters.delete(known.waiter);
  }

  saveEvent(run: Run, eventId: string, data: Buffer): void {
    run.user.memory.add(savedEventBytes(data));
    const saved = run.savedEvents.get(eventId);
    if (saved === undefined) run.savedEvents.set(eventId, [data]);
    else saved.push(data);
  }

  /** Removes the oldest saved event. */
  takeEvent(run: Run, eventId: string): void {
    const saved = run.savedEvents.get(eventId);
    assert(saved !== undefined && saved.length > 0, "an event that is taken was saved");
    const taken = saved.shift();
    if (taken !== undefined) run.user.memory.add(-savedEventBytes(taken));
    if (saved.length === 0) run.savedEvents.delete(eventId);
  }

  putFailureFunction(run: Run, failureFunction: FailureFunction | undefined, answer?: Body): void {
    run.user.memory.add((failureFunction?.body?.length ?? 0) - (run.failureFunction?.body?.length ?? 0));
    if (run.failureAnswer !== undefined) this.bodies.free(run.failureAnswer);
    run.failureFunction = failureFunction;
    run.failureAnswer = answer;
  }

  #dropSavedEvents({ user, savedEvents }: Run): void {
    for (const data of savedEvents.values()) for (const bytes of data) user.memory.add(-savedEventBytes(bytes));
    savedEvents.clear();
  }

  #removeWaiter(user: User, waiter: Waiter): void {
    this.waitersByNumber.delete(waiter.number);
    user.memory.add(-waiterBytes(waiter));
    const sameEvent = user.waiters.get(waiter.eventId);
    sameEvent?.delete(waiter);
    if (sameEvent?.size === 0) user.waiters.delete(waiter.eventId);
  }

  #invokerOf({ user, record }: Run): Run | undefined {
    return record.invoker === undefined ? undefined : user.runs.get(record.invoker.runId);
  }

  #runOf(user: User, { fields }: Envelope): Run | undefined {
    return fields.workflow === undefined ? undefined : user.runs.get(fields.workflow.runId);
  }

  #dropRun(run: Run): void {
    this.#dropEntries(run);
    if (run.result !== undefined) this.bodies.free(run.result);
    if (run.failureAnswer !== undefined) this.bodies.free(run.failureAnswer);
    for (const waiter of run.waiters) this.#removeWaiter(run.user, waiter);
  }

  #dropEntries(run: Run): void {
    for (const { envelope, body } of run.takeEntries()) {
      this.envelopes.release(envelope);
      this.bodies.free(body);
    }
  }

  /** Counts messages accepted on a day (days since the epoch, UTC). */
  countDay(user: User, day: number, count: number): void {
    if (day > user.countedDay) {
      user.countedDay = day;
      user.dayCount = 0;
    }
    if (day === user.countedDay) user.dayCount += count;
  }

  // Queue and flow-control key of a message.

  queueOf({ user, envelope, sequence }: Message): Queue | undefined {
    const { queueName } = envelope.fields;
    if (queueName === undefined || user.unqueued.has(sequence)) return undefined;
    return user.queues.get(queueName);
  }

  /** The turn of a message in its queue, for a snapshot. */
  turnOf(message: Message): QueueTurn {
    if (message.user.unqueued.has(message.sequence)) return queueTurn.noQueue;
    return this.queueOf(message)?.hasSlot(message.sequence) === true ? queueTurn.slot : queueTurn.none;
  }

  /** The queue whose slot a callback holds. */
  heldQueueOf({ user, envelope }: Message): Queue | undefined {
    const { holdsQueue } = envelope.fields;
    return holdsQueue === undefined ? undefined : user.queues.get(holdsQueue);
  }

  flowKeyOf({ user, envelope }: Message): FlowKey | undefined {
    const { flowControl } = envelope.fields;
    return flowControl === undefined ? undefined : user.flowKeys.get(flowControl.key);
  }

  // Resources of a user.

  putQueue(user: User, record: QueueRecord): Queue {
    let queue = user.queues.get(record.name);
    if (queue === undefined) {
      queue = new Queue(record);
      user.queues.set(record.name, queue);
      user.memory.add(QUEUE_BYTES);
    }
    queue.record = record;
    return queue;
  }

  /** Its remaining messages continue without a queue. */
  removeQueue(user: User, name: string): void {
    for (const { sequence } of user.queues.get(name)?.members ?? []) user.unqueued.add(sequence);
    if (user.queues.delete(name)) user.memory.add(-QUEUE_BYTES);
  }

  /** The key of this name, created if it does not exist. */
  flowKey(user: User, name: string): FlowKey {
    let key = user.flowKeys.get(name);
    if (key === undefined) {
      this.#numberMax += 1;
      key = new FlowKey(name, this.#numberMax);
      user.flowKeys.set(name, key);
      user.memory.add(FLOW_KEY_BYTES);
      this.flowKeysByNumber.set(key.number, key);
    }
    return key;
  }

  putFlowKey(user: User, record: FlowKeyRecord): FlowKey {
    const key = this.flowKey(user, record.key);
    key.restore(record);
    return key;
  }

  removeFlowKey(user: User, key: FlowKey): void {
    if (user.flowKeys.delete(key.key)) user.memory.add(-FLOW_KEY_BYTES);
    this.flowKeysByNumber.delete(key.number);
  }

  putSchedule(user: User, record: ScheduleRecord, body: Buffer): Schedule {
    const known = user.schedules.get(record.id);
    if (known !== undefined) {
      user.memory.add(scheduleBytes(body) - scheduleBytes(known.body));
      known.record = record;
      known.body = body;
      return known;
    }
    this.#numberMax += 1;
    const schedule = new Schedule(record, body, this.#numberMax);
    user.schedules.set(record.id, schedule);
    user.memory.add(scheduleBytes(body));
    this.schedulesByNumber.set(schedule.number, { user, schedule });
    return schedule;
  }

  /** Changes fields of a schedule, but not its body. */
  changeSchedule(user: User, id: string, change: Partial<ScheduleRecord>): void {
    const schedule = user.schedules.get(id);
    assert(schedule !== undefined, `schedule ${id} exists when it changes`);
    schedule.record = { ...schedule.record, ...change };
  }

  removeSchedule(user: User, id: string): void {
    const schedule = user.schedules.get(id);
    assert(schedule !== undefined, `schedule ${id} exists when it is removed`);
    user.schedules.delete(id);
    user.memory.add(-scheduleBytes(schedule.body));
    this.schedulesByNumber.delete(schedule.number);
  }

  putGroup(user: User, group: UrlGroup): void {
    this.removeGroup(user, group.name);
    user.groups.set(group.name, group);
    user.memory.add(groupBytes(group));
  }

  removeGroup(user: User, name: string): void {
    const known = user.groups.get(name);
    if (known === undefined) return;
    user.groups.delete(name);
    user.memory.add(-groupBytes(known));
  }

  /** `given` are the keys that the operator configured. */
  putSigningKeys(user: User, keys: SigningKeys, given: SigningKeys): void {
    user.signingKeys = keys;
    user.givenKeys = given;
  }

  #add(user: User, envelope: Envelope, body: Body, facts: MessageFacts): Message {
    const message = new Message(user, envelope, body, facts);
    user.memory.add(MESSAGE_BYTES);
    this.envelopes.charge(envelope, user.memory);
    this.raiseSequence(message.sequence);
    message.run = this.#runOf(user, envelope);
    message.run?.messages.add(message);
    this.messages.add(message);
    this.queueOf(message)?.members.add(message);
    if (message.slotOwner !== 0) this.heldQueueOf(message)?.keepSlot(message.slotOwner, message.sequence);
    const { flowControl } = envelope.fields;
    if (flowControl !== undefined) this.flowKey(user, flowControl.key).messageCount += 1;
    return message;
  }

  /** Stores the outcome of a message of the last firing of a schedule. */
  #noteOutcome({ user, sequence, envelope }: Message, outcome: "SUCCESS" | "FAIL"): void {
    const { scheduleId } = envelope.fields;
    const schedule = scheduleId === undefined ? undefined : user.schedules.get(scheduleId);
    if (schedule === undefined) return;
    const { lastMessages } = schedule.record;
    const index = lastMessages.findIndex((fired) => fired.sequence === sequence);
    const fired = lastMessages[index];
    if (fired === undefined) return;
    schedule.record = { ...schedule.record, lastMessages: lastMessages.with(index, { ...fired, outcome }) };
  }

  #remove(message: Message): void {
    this.#detach(message);
    // The run owns the body of an entry.
    if (message.run?.entryOf(message.sequence) === undefined) this.bodies.free(message.body);
    this.envelopes.release(message.envelope);
  }

  /** Removes a message from all tables, but does not free its body and envelope. */
  #detach(message: Message): void {
    this.messages.remove(message);
    message.user.memory.add(-MESSAGE_BYTES);
    message.run?.messages.delete(message);
    const queue = this.queueOf(message);
    queue?.members.delete(message);
    queue?.releaseSlot(message.sequence, message.sequence);
    message.user.unqueued.delete(message.sequence);
    if (message.slotOwner !== 0) this.heldQueueOf(message)?.releaseSlot(message.slotOwner, message.sequence);
    const key = this.flowKeyOf(message);
    if (key !== undefined) key.messageCount -= 1;
  }

  /** The body of a run's dead letter belongs to an entry of the run, which is removed with the dead letter. */
  #releaseDeadLetter({ envelope, body, responseBody }: DeadLetter): void {
    this.envelopes.release(envelope);
    this.bodies.free(body);
    this.bodies.free(responseBody);
  }
}

/** True for a message that is also an entry of its run. */
function isEntry({ fields: { workflow } }: Envelope): boolean {
  return workflow !== undefined && workflow.callType !== "failureCall" && workflow.isBodyOwn !== true;
}
