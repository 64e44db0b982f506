/**
 * Decides when each message is called. Works on a `MessagingState` and gets the
 * time as an argument. Its timers, lists of waiting messages and slots are derived
 * again at each start (`resume`) and are not in the journal.
 *
 * Code that frees a slot calls `dispatch` at its end: `Engine` does so after every
 * unit of work and every call that ends, and no other code uses the scheduler.
 *
 *     accepted -> on disk -> due -> its queue's turn -> ready -> admitted -> called
 *
 * Admission checks limits in order: calls of the server, of the user, of the
 * destination, of the queue (pause), of the flow-control key. A refused message
 * waits in the list of the limit that refused it, and continues when that has
 * room again.
 *
 * (1) Slots are sets of sequence numbers: releasing one twice has no effect.
 * (2) If a list has waiting messages while its limit has room, they wait
 *     permanently. So each event that makes room wakes as many messages as fit,
 *     and a woken message that has to wait elsewhere wakes the next one in its place.
 * (3) Ready messages wait in one list per user, and users are served in turn.
 * (4) A delayed or retried message is due when that duration has passed; a message
 *     that was published for a time is due when the wall clock reaches it.
 * (5) No message of a frozen user starts or is recorded. Its messages go on through the
 *     lists, so that they are where they would be when it is thawed.
 */
import { assert } from "../../kernel/assert.ts";
import type { MessagingLimits } from "../limits.ts";
import type { Recorder } from "../records/recorder.ts";
import { Destination } from "../state/destination.ts";
import { DueHeap } from "../state/due-heap.ts";
import type { FlowKey } from "../state/flow-key.ts";
import type { Message } from "../state/message.ts";
import type { MessageList, WaitReason } from "../state/message-list.ts";
import type { MessagingState } from "../state/messaging-state.ts";
import { driftOf, type Moment } from "../state/moment.ts";
import type { Queue } from "../state/queue.ts";
import { messageState } from "../state/states.ts";
import type { User } from "../state/user.ts";

export interface SchedulerOptions {
  readonly state: MessagingState;
  readonly recorder: Recorder;
  readonly limits: MessagingLimits;
  /** False: no call may start now. */
  readonly mayStart: () => boolean;
  /** Makes the call of a message that was admitted. */
  readonly start: (message: Message) => void;
}

/** Fewer obsolete entries are not removed from the heaps. */
const UNTIMED_COUNT_MIN = 1_024;

/** A message whose acceptance is on the disk. */
export interface Arrival {
  readonly message: Message;
  /** `driftOf` at its acceptance. */
  readonly driftMs: number;
}

export class Scheduler {
  readonly #state: MessagingState;
  readonly #recorder: Recorder;
  readonly #limits: MessagingLimits;
  readonly #mayStart: () => boolean;
  readonly #start: (message: Message) => void;
  readonly #inFlight = new Set<number>();
  /** Due times of messages by sequence number, in passed time. */
  readonly #due = new DueHeap();
  /** Due times of messages that are due by the wall clock: keeps (4). */
  readonly #dueByWall = new DueHeap();
  /** About how many entries of both heaps are obsolete. */
  #untimedCount = 0;
  /** Ends of windows of flow-control keys, by number and in passed time. */
  readonly #windows = new DueHeap();
  /** Users with ready messages, in turn. */
  #turns: User[] = [];

  constructor({ state, recorder, limits, mayStart, start }: SchedulerOptions) {
    this.#state = state;
    this.#recorder = recorder;
    this.#limits = limits;
    this.#mayStart = mayStart;
    this.#start = start;
  }

  /** Calls under way. */
  get inFlightCount(): number {
    return this.#inFlight.size;
  }

  /** Messages that wait for their due time. */
  get timedCount(): number {
    return this.#due.size + this.#dueByWall.size;
  }

  /** Counts of waiting messages by reason. Visits all lists: for metrics. */
  get waitingCounts(): ReadonlyMap<WaitReason, number> {
    const counts = new Map<WaitReason, number>();
    const add = ({ reason, size }: MessageList): void => void counts.set(reason, (counts.get(reason) ?? 0) + size);
    for (const user of this.#state.users) {
      add(user.ready);
      for (const { waiting } of user.destinations.values()) add(waiting);
      for (const { waiting } of user.flowKeys.values()) add(waiting);
      for (const { waiting, held, excess } of user.queues.values()) {
        add(waiting);
        add(held);
        add(excess);
      }
    }
    return counts;
  }

  /** When `tick` has to run next, in passed time. */
  get nextDueMs(): number | undefined {
    const due = this.#due.peekDueMs();
    const window = this.#windows.peekDueMs();
    if (due === undefined) return window;
    return window === undefined ? due : Math.min(due, window);
  }

  /** When `tick` has to run next, by the wall clock. */
  get nextWallDueMs(): number | undefined {
    return this.#dueByWall.peekDueMs();
  }

  /** The longest wait of a message that could be called now (publish-backpressure.ts), in real time. */
  lagMs(realMs: number): number {
    let sinceMs = realMs;
    const { parallelism, userParallelism } = this.#limits;
    const isFull = this.#inFlight.size >= parallelism;
    for (const user of this.#state.users) {
      if (user.isFrozen) continue;
      if (!isFull && user.inFlight.size < userParallelism) {
        sinceMs = Math.min(sinceMs, user.ready.first?.waitsSinceMs ?? realMs);
      }
      for (const destination of user.destinations.values()) {
        const first = destination.waiting.first;
        if (first !== undefined && destination.isQuick(realMs)) sinceMs = Math.min(sinceMs, first.waitsSinceMs);
      }
    }
    return realMs - sinceMs;
  }

  /**
   * Call after a recovery: messages whose calls were under way wait for a new call, all others as before. Returns the
   * number of calls that were under way.
   */
  resume(now: Moment): number {
    // First, because this frees their slots.
    for (const message of this.#state.messages) {
      if (!isToBeCancelled(message)) continue;
      if (message.user.isFrozen) message.user.suspended.add(message);
      else this.#cancelAtResume(message, now);
    }
    let calledCount = 0;
    for (const message of this.#state.messages)
      if (!message.user.suspended.has(message)) calledCount += this.#continue(message, now);
    this.dispatch(now);
    return calledCount;
  }

  #cancelAtResume({ user, sequence, state }: Message, { wallMs: atMs }: Moment): void {
    if (state !== messageState.cancelRequested) this.#recorder.apply(user, "cancelRequested", { sequence, atMs });
    this.#recorder.apply(user, "cancelled", { sequence, atMs });
    this.#recorder.commit();
  }

  /** Returns 1 if its call was under way, otherwise 0. */
  #continue(message: Message, now: Moment): number {
    const isCalled = message.state === messageState.active;
    if (isCalled) message.reopen();
    this.#arrive(message, now);
    return isCalled ? 1 : 0;
  }

  /** Gives up the call of a message of a frozen user, whose slots are free, except the queue's. keeps (5) */
  suspend(message: Message, now: Moment): void {
    message.user.suspended.add(message);
    this.release(message, now);
  }

  /**
   * The user is not frozen any more: what was suspended continues as after a recovery. Call `dispatch` afterwards. Returns
   * the number of calls that were given up.
   */
  thaw(user: User, now: Moment): number {
    const suspended = [...user.suspended];
    user.suspended.clear();
    const isKnown = (message: Message): boolean => this.#state.messages.get(message.sequence) === message;
    for (const message of suspended)
      if (isKnown(message) && isToBeCancelled(message)) this.#cancelAtResume(message, now);
    let calledCount = 0;
    for (const message of suspended) if (isKnown(message)) calledCount += this.#continue(message, now);
    for (const queue of user.queues.values()) this.advance(queue, now);
    if (user.ready.size > 0) this.#takeTurn(user);
    return calledCount;
  }

  /** Takes messages whose acceptance is on the disk, in the order of their acceptance. */
  arrived(arrivals: readonly Arrival[], now: Moment): void {
    for (const { message, driftMs } of arrivals) {
      // The message has changed the values of its key, which may allow waiting messages to start.
      const key = this.#state.flowKeyOf(message);
      if (key !== undefined) this.wakeKey(key, now);
      if (isWaiting(message)) this.#arrive(message, now, driftMs);
    }
    this.dispatch(now);
  }

  /** A message that failed waits for its next attempt. */
  retryAt(message: Message, now: Moment): void {
    this.#arrive(message, now);
  }

  /**
   * A message became due earlier than planned. Its entry in the heap is removed, because it may wait for a time again, and
   * would come due at the old one.
   */
  advanceAttempt(message: Message, now: Moment): void {
    if (!message.isTimed) return;
    this.#due.remove(message.sequence);
    this.#dueByWall.remove(message.sequence);
    message.isTimed = false;
    this.#comeDue(message, now);
  }

  /** Calls messages that are due. */
  tick(now: Moment): void {
    for (
      let dueMs = this.#windows.peekDueMs();
      dueMs !== undefined && dueMs <= now.passedMs;
      dueMs = this.#windows.peekDueMs()
    ) {
      const key = this.#state.flowKeysByNumber.get(this.#windows.pop());
      if (key === undefined || key.timerMs !== dueMs) continue;
      key.timerMs = undefined;
      this.wakeKey(key, now);
    }
    this.#takeDue(this.#due, now.passedMs, now);
    this.#takeDue(this.#dueByWall, now.wallMs, now);
    this.dispatch(now);
  }

  #takeDue(heap: DueHeap, untilMs: number, now: Moment): void {
    for (let dueMs = heap.peekDueMs(); dueMs !== undefined && dueMs <= untilMs; dueMs = heap.peekDueMs()) {
      const message = this.#state.messages.get(heap.pop());
      if (message === undefined || !message.isTimed) continue;
      message.isTimed = false;
      this.#comeDue(message, now);
    }
  }

  /** The call of a message has ended: its slots are free, except the queue's. `tookMs`: of real time, if it has an outcome. */
  release(message: Message, now: Moment, tookMs?: number): void {
    const { sequence, user, envelope } = message;
    this.#inFlight.delete(sequence); // keeps (1)
    user.inFlight.delete(sequence);
    if (user.ready.size > 0) this.#takeTurn(user);
    const destination = user.destinations.get(envelope.origin);
    if (destination !== undefined) {
      destination.inFlight.delete(sequence);
      if (tookMs !== undefined) destination.observe(tookMs, now.realMs);
      this.#wakeDestination(destination, now);
      if (destination.isIdle) user.destinations.delete(envelope.origin);
    }
    const key = this.#state.flowKeyOf(message);
    key?.inFlight.delete(sequence);
    if (key !== undefined) this.wakeKey(key, now);
  }

  /** Removes a message that was not called from the list where it waits. */
  leave(message: Message, now: Moment): void {
    const { user, list, envelope } = message;
    if (message.isTimed) this.#untime(message);
    list?.remove(message);
    const destination = user.destinations.get(envelope.origin);
    if (list === user.ready) {
      // It may have been woken in place of another message: keeps (2).
      const key = this.#state.flowKeyOf(message);
      if (key !== undefined) this.wakeKey(key, now);
      if (destination !== undefined) this.#wakeDestination(destination, now);
    }
    if (destination?.isIdle === true) user.destinations.delete(destination.origin);
  }

  /** The entry stays in the heap until more than half of the entries are obsolete. */
  #untime(message: Message): void {
    message.isTimed = false;
    this.#untimedCount += 1;
    if (this.#untimedCount < UNTIMED_COUNT_MIN || this.#untimedCount < this.timedCount / 2) return;
    for (const heap of [this.#due, this.#dueByWall]) {
      heap.retain((sequence) => this.#state.messages.get(sequence)?.isTimed === true);
    }
    this.#untimedCount = 0;
  }

  /** Removes all waiting messages and calls of a user. */
  dropUser(user: User): void {
    for (const message of this.#state.messages) {
      if (message.user !== user) continue;
      message.list?.remove(message);
      if (message.isTimed) this.#untime(message);
    }
    for (const sequence of user.inFlight) this.#inFlight.delete(sequence);
    user.inFlight.clear();
    user.suspended.clear();
    this.#turns = this.#turns.filter((other) => other !== user);
    user.isInTurn = false;
  }

  /** A queue has changed: a slot is free, it was resumed, or its parallelism was raised. */
  advance(queue: Queue, now: Moment): void {
    if (!queue.record.isPaused) {
      for (let message = queue.held.shift(); message !== undefined; message = queue.held.shift())
        this.#ready(message, now);
      this.#wakeExcess(queue, now);
    }
    while (queue.hasFreeSlot) {
      const message = queue.waiting.shift();
      if (message === undefined) return;
      queue.takeSlot(message.sequence);
      this.#ready(message, now);
    }
  }

  /** Wakes messages that had slots when the parallelism was lowered, and may be called now. */
  #wakeExcess(queue: Queue, now: Moment): void {
    const { excess } = queue;
    if (excess.size === 0) return;
    const callable = this.#callableOf(queue);
    for (let message = excess.first; message !== undefined; ) {
      const { next } = message;
      if (callable.has(message.sequence)) {
        excess.remove(message);
        this.#ready(message, now);
      }
      message = next;
    }
  }

  #callableOf(queue: Queue): ReadonlySet<number> {
    return queue.callable((sequence) => this.#inFlight.has(sequence));
  }

  /** Makes messages of a deleted queue ready that were not cancelled with it. */
  leaveQueue({ waiting, held, excess }: Queue, now: Moment): void {
    for (const list of [held, excess, waiting]) {
      for (let message = list.shift(); message !== undefined; message = list.shift()) this.#ready(message, now);
    }
  }

  /** A key has changed: a call ended, a window began, it was resumed, or its values changed. */
  wakeKey(key: FlowKey, now: Moment): void {
    const { waiting } = key;
    if (waiting.size === 0) return;
    for (let room = roomOf(key, now); room > 0; room -= 1) {
      const message = waiting.shift();
      if (message === undefined) return;
      this.#ready(message, now);
    }
    this.#setWindowTimer(key, now);
  }

  /** `driftMs` is the drift at the time from which the delay of the message counts: keeps (4). */
  #arrive(message: Message, now: Moment, driftMs = driftOf(now)): void {
    const { dueMs, sequence, isDueByWall } = message;
    if (isDueByWall ? dueMs > now.wallMs : dueMs + driftMs > now.passedMs) {
      message.isTimed = true;
      if (isDueByWall) this.#dueByWall.push(dueMs, sequence);
      else this.#due.push(dueMs + driftMs, sequence);
    } else this.#comeDue(message, now);
  }

  #comeDue(message: Message, now: Moment): void {
    const queue = this.#state.queueOf(message);
    if (queue === undefined || queue.hasSlot(message.sequence)) {
      this.#ready(message, now);
      return;
    }
    queue.waiting.push(message, now.realMs);
    this.advance(queue, now);
  }

  #ready(message: Message, now: Moment): void {
    message.user.ready.push(message, now.realMs);
    this.#takeTurn(message.user);
  }

  #takeTurn(user: User): void {
    if (user.isInTurn) return;
    user.isInTurn = true;
    this.#turns.push(user);
  }

  /** Starts everything that may start: keeps (3). */
  dispatch(now: Moment): void {
    while (this.#inFlight.size < this.#limits.parallelism && this.#mayStart()) {
      const user = this.#turns.shift();
      if (user === undefined) return;
      user.isInTurn = false;
      // It takes its turn again when one of its calls ends, or when it is thawed: keeps (5).
      if (user.isFrozen || user.inFlight.size >= this.#limits.userParallelism) continue;
      const message = user.ready.shift();
      if (message === undefined) continue;
      this.#admit(message, now);
      if (user.ready.size > 0) this.#takeTurn(user);
    }
  }

  #admit(message: Message, now: Moment): void {
    const { user, envelope, sequence } = message;
    const key = this.#state.flowKeyOf(message);
    let destination = user.destinations.get(envelope.origin);
    if (destination === undefined) {
      destination = new Destination(envelope.origin);
      user.destinations.set(envelope.origin, destination);
    }
    if (destination.inFlight.size >= this.#limits.originParallelism) {
      destination.waiting.push(message, now.realMs);
      if (key !== undefined) this.wakeKey(key, now); // keeps (2)
      return;
    }
    const queue = this.#state.queueOf(message);
    const list = queue === undefined ? undefined : this.#listFor(message, queue);
    if (list !== undefined || key?.hasRoom(now.passedMs) === false) {
      if (list !== undefined) list.push(message, now.realMs);
      else if (key !== undefined) {
        key.waiting.push(message, now.realMs);
        this.#setWindowTimer(key, now);
      }
      this.#wakeDestination(destination, now); // keeps (2)
      if (list !== undefined && key !== undefined) this.wakeKey(key, now);
      if (destination.isIdle) user.destinations.delete(envelope.origin);
      return;
    }
    this.#recorder.append(user, "attemptStarted", { sequence, atMs: now.wallMs, passedMs: now.passedMs });
    this.#inFlight.add(sequence);
    user.inFlight.add(sequence);
    destination.inFlight.add(sequence);
    if (key !== undefined) {
      key.inFlight.add(sequence);
      // The call may have used up the window while other messages wait.
      this.#setWindowTimer(key, now);
    }
    this.#start(message);
  }

  /** The list in which a message that has a slot of its queue must wait; undefined if it need not. */
  #listFor({ sequence }: Message, queue: Queue): MessageList | undefined {
    if (queue.record.isPaused) return queue.held;
    return queue.isOverfull && !this.#callableOf(queue).has(sequence) ? queue.excess : undefined;
  }

  #wakeDestination({ waiting, inFlight }: Destination, now: Moment): void {
    for (let room = this.#limits.originParallelism - inFlight.size; room > 0; room -= 1) {
      const message = waiting.shift();
      if (message === undefined) return;
      this.#ready(message, now);
    }
  }

  /**
   * Wakes the key when its window ends, also while the window has room, because a message that was woken for it may
   * wait for a slot until the next window, which has room for more messages: keeps (2).
   */
  #setWindowTimer(key: FlowKey, now: Moment): void {
    if (key.waiting.size === 0) return;
    const dueMs = key.nextWindowMs(now.passedMs);
    if (dueMs === undefined || key.timerMs === dueMs) return;
    key.timerMs = dueMs;
    this.#windows.push(dueMs, key.number);
  }

  /** For tests: checks what must hold between any two events. */
  assertConsistent(): void {
    for (const user of this.#state.users) {
      for (const sequence of user.inFlight) assert(this.#inFlight.has(sequence), "calls of users are among all calls");
      for (const { inFlight } of user.destinations.values()) {
        assert(inFlight.size <= this.#limits.originParallelism, "calls of a destination are within its cap");
      }
      for (const queue of user.queues.values()) {
        const isStuck = queue.hasFreeSlot && queue.waiting.size > 0;
        assert(!isStuck, "a queue with a free slot lets its messages continue");
      }
    }
  }
}

/** True for a message without a call whose cancellation was requested, or whose run has ended: it is not called again. */
function isToBeCancelled(message: Message): boolean {
  return message.state === messageState.cancelRequested || message.run?.ignoresOutcomeOf(message) === true;
}

/** True for messages that are accepted or to be retried, and not cancelled. */
function isWaiting(message: Message): boolean {
  return message.state === messageState.created || message.state === messageState.retry;
}

/** How many calls of a key may start now. */
function roomOf(key: FlowKey, now: Moment): number {
  if (!key.hasRoom(now.passedMs)) return 0;
  const byParallelism = key.parallelism === undefined ? Number.POSITIVE_INFINITY : key.parallelism - key.inFlight.size;
  const byRate = key.rate === undefined ? Number.POSITIVE_INFINITY : key.rate - key.countAt(now.passedMs);
  return Math.min(byParallelism, byRate);
}
