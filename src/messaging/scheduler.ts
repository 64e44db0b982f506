/**
 * When each message is called. Works on a `Realm`, is told the time, and keeps
 * what follows from it: timers, lists of those who wait, slots. It is worked
 * out anew at each start (`resume`) and stands in no journal.
 *
 *     accepted -> on disk -> due -> its queue's turn -> ready -> admitted -> called
 *
 * Admission is asked in order: calls of all, of the user, of the destination,
 * of the queue (pause), of the flow-control key. A refused message waits in the
 * list of what refused it, and goes on when that has room again.
 *
 * (1) Slots are sets of sequence numbers: giving one back twice gives back
 *     nothing.
 * (2) What has room while messages wait in its list is a message lost for ever,
 *     so each event that makes room wakes as many as fit, and a woken message
 *     that comes to wait elsewhere wakes the next one in its place.
 * (3) Ready messages wait in one list per user, and users are served in turn.
 */
import { assert } from "../kernel/assert.ts";
import type { Changes } from "./changes.ts";
import { Destination } from "./destination.ts";
import { DueHeap } from "./due-heap.ts";
import type { FlowKey } from "./flow-key.ts";
import type { MessagingLimits } from "./limits.ts";
import type { Message } from "./message.ts";
import type { MessageList, WaitReason } from "./message-list.ts";
import type { Queue } from "./queue.ts";
import type { Realm } from "./realm.ts";
import { state } from "./states.ts";
import type { User } from "./user.ts";

export interface SchedulerOptions {
  readonly realm: Realm;
  readonly changes: Changes;
  readonly limits: MessagingLimits;
  /** False: no call may start now. */
  readonly mayStart: () => boolean;
  /** Makes the call of a message that was admitted. */
  readonly start: (message: Message) => void;
}

/** Fewer entries of due times that mean nothing are left where they are. */
const UNTIMED_COUNT_MIN = 1_024;

/** By a clock that never steps. */
export interface CallTimes {
  readonly tookMs: number;
  /** When it ended. */
  readonly elapsedMs: number;
}

export class Scheduler {
  readonly #realm: Realm;
  readonly #changes: Changes;
  readonly #limits: MessagingLimits;
  readonly #mayStart: () => boolean;
  readonly #start: (message: Message) => void;
  readonly #inFlight = new Set<number>();
  /** Due times of messages by sequence number. */
  readonly #due = new DueHeap();
  /** Entries of them that mean nothing any more, about. */
  #untimedCount = 0;
  /** Ends of windows of flow-control keys, by number. */
  readonly #windows = new DueHeap();
  /** Users with ready messages, in turn. */
  #turns: User[] = [];
  #lastTickMs = 0;

  constructor({ realm, changes, limits, mayStart, start }: SchedulerOptions) {
    this.#realm = realm;
    this.#changes = changes;
    this.#limits = limits;
    this.#mayStart = mayStart;
    this.#start = start;
  }

  /** Calls under way. */
  get inFlightCount(): number {
    return this.#inFlight.size;
  }

  /** Messages that wait for their time. */
  get timedCount(): number {
    return this.#due.size;
  }

  /** Messages that wait, by what they wait for. Looks at all lists: for figures. */
  get waitingCounts(): ReadonlyMap<WaitReason, number> {
    const counts = new Map<WaitReason, number>();
    const add = ({ reason, size }: MessageList): void => void counts.set(reason, (counts.get(reason) ?? 0) + size);
    for (const user of this.#realm.users) {
      add(user.ready);
      for (const { waiting } of user.destinations.values()) add(waiting);
      for (const { waiting } of user.flowKeys.values()) add(waiting);
      for (const { waiting, held } of user.queues.values()) {
        add(waiting);
        add(held);
      }
    }
    return counts;
  }

  /** When `tick` has something to do, undefined if nothing waits for a moment. */
  get nextDueMs(): number | undefined {
    const due = this.#due.peekDueMs();
    const window = this.#windows.peekDueMs();
    if (due === undefined) return window;
    return window === undefined ? due : Math.min(due, window);
  }

  /** How long the message has waited that nothing holds but us (brake.ts). `elapsedMs` is monotonic. */
  lagMs(nowMs: number, elapsedMs: number): number {
    let sinceMs = nowMs;
    const { parallelism, userParallelism } = this.#limits;
    const isFull = this.#inFlight.size >= parallelism;
    for (const user of this.#realm.users) {
      if (!isFull && user.inFlight.size < userParallelism) {
        sinceMs = Math.min(sinceMs, user.ready.first?.waitsSinceMs ?? nowMs);
      }
      for (const destination of user.destinations.values()) {
        const first = destination.waiting.first;
        if (first !== undefined && destination.isQuick(elapsedMs)) sinceMs = Math.min(sinceMs, first.waitsSinceMs);
      }
    }
    return nowMs - sinceMs;
  }

  /**
   * After a recovery: messages that were called wait again, and all others for what they waited for. Returns how many
   * were called.
   */
  resume(nowMs: number): number {
    // First, because their slots are free then.
    for (const message of this.#realm.messages) {
      // What was called for a run that has ended meanwhile is not called again.
      if (message.run?.hasLeftBehind(message) === true && message.state !== state.cancelRequested) {
        this.#changes.requestCancel(message, nowMs);
      }
      if (message.state !== state.cancelRequested) continue;
      this.#changes.cancel(message, nowMs);
      this.#changes.commit();
    }
    let calledCount = 0;
    for (const message of this.#realm.messages) {
      if (message.state === state.active) {
        message.reopen();
        calledCount += 1;
      }
      this.#arrive(message, nowMs);
    }
    this.dispatch(nowMs);
    return calledCount;
  }

  /** Messages whose acceptance is on the disk, in the order of their acceptance. */
  arrived(messages: readonly Message[], nowMs: number): void {
    for (const message of messages) {
      // It has brought its values to the key, and those that wait go by them.
      const key = this.#realm.flowKeyOf(message);
      if (key !== undefined) this.wakeKey(key, nowMs);
      if (isWaiting(message)) this.#arrive(message, nowMs);
    }
    this.dispatch(nowMs);
  }

  /** A message that failed waits for its next attempt. */
  retryAt(message: Message, nowMs: number): void {
    this.#arrive(message, nowMs);
  }

  /** Lets go on what is due. */
  tick(nowMs: number): void {
    if (nowMs < this.#lastTickMs) this.#clockSteppedBack(nowMs);
    this.#lastTickMs = nowMs;
    for (
      let dueMs = this.#windows.peekDueMs();
      dueMs !== undefined && dueMs <= nowMs;
      dueMs = this.#windows.peekDueMs()
    ) {
      const key = this.#realm.flowKeysByNumber.get(this.#windows.pop());
      if (key === undefined || key.timerMs !== dueMs) continue;
      key.timerMs = undefined;
      this.wakeKey(key, nowMs);
    }
    for (let dueMs = this.#due.peekDueMs(); dueMs !== undefined && dueMs <= nowMs; dueMs = this.#due.peekDueMs()) {
      const message = this.#realm.messages.get(this.#due.pop());
      if (message === undefined || !message.isTimed) continue;
      message.isTimed = false;
      this.#comeDue(message, nowMs);
    }
    this.dispatch(nowMs);
  }

  /**
   * The call of a message has ended: its slots are free, but for the queue's. `dispatch` has to follow.
   */
  release(message: Message, nowMs: number, { tookMs, elapsedMs }: CallTimes): void {
    const { sequence, user, envelope } = message;
    this.#inFlight.delete(sequence); // keeps (1)
    user.inFlight.delete(sequence);
    if (user.ready.size > 0) this.#takeTurn(user);
    const destination = user.destinations.get(envelope.origin);
    if (destination !== undefined) {
      destination.inFlight.delete(sequence);
      destination.observe(tookMs, elapsedMs);
      this.#wakeDestination(destination, nowMs);
      if (destination.isIdle) user.destinations.delete(envelope.origin);
    }
    const key = this.#realm.flowKeyOf(message);
    key?.inFlight.delete(sequence);
    if (key !== undefined) this.wakeKey(key, nowMs);
  }

  /** A message that was not called is gone: out of whatever it waited in. `dispatch` has to follow. */
  leave(message: Message, nowMs: number): void {
    const { user, list, envelope } = message;
    if (message.isTimed) this.#untime(message);
    list?.remove(message);
    const destination = user.destinations.get(envelope.origin);
    if (list === user.ready) {
      // It may have been woken, and nobody else was: keeps (2).
      const key = this.#realm.flowKeyOf(message);
      if (key !== undefined) this.wakeKey(key, nowMs);
      if (destination !== undefined) this.#wakeDestination(destination, nowMs);
    }
    if (destination?.isIdle === true) user.destinations.delete(destination.origin);
  }

  /** It stays in the heap until there are more such entries than others. */
  #untime(message: Message): void {
    message.isTimed = false;
    this.#untimedCount += 1;
    if (this.#untimedCount < UNTIMED_COUNT_MIN || this.#untimedCount < this.#due.size / 2) return;
    this.#due.retain((sequence) => this.#realm.messages.get(sequence)?.isTimed === true);
    this.#untimedCount = 0;
  }

  /** Nothing of a user waits or is called any more. */
  dropUser(user: User): void {
    for (const message of this.#realm.messages) {
      if (message.user !== user) continue;
      message.list?.remove(message);
      if (message.isTimed) this.#untime(message);
    }
    for (const sequence of user.inFlight) this.#inFlight.delete(sequence);
    user.inFlight.clear();
    this.#turns = this.#turns.filter((other) => other !== user);
    user.isInTurn = false;
  }

  /** Something about a queue has changed: a free slot, a resume, more parallelism. `dispatch` has to follow. */
  advance(queue: Queue, nowMs: number): void {
    if (!queue.record.isPaused) {
      for (let message = queue.held.shift(); message !== undefined; message = queue.held.shift())
        this.#ready(message, nowMs);
    }
    while (queue.hasFreeSlot) {
      const message = queue.waiting.shift();
      if (message === undefined) return;
      queue.takeSlot(message.sequence);
      this.#ready(message, nowMs);
    }
  }

  /** Something about a key has changed: a call that ended, a new window, a resume, other values. `dispatch` has to follow. */
  wakeKey(key: FlowKey, nowMs: number): void {
    const { waiting } = key;
    if (waiting.size === 0) return;
    for (let room = roomOf(key, nowMs); room > 0; room -= 1) {
      const message = waiting.shift();
      if (message === undefined) return;
      this.#ready(message, nowMs);
    }
    this.#setWindowTimer(key, nowMs);
  }

  #arrive(message: Message, nowMs: number): void {
    if (message.dueMs > nowMs) {
      message.isTimed = true;
      this.#due.push(message.dueMs, message.sequence);
    } else this.#comeDue(message, nowMs);
  }

  #comeDue(message: Message, nowMs: number): void {
    const queue = this.#realm.queueOf(message);
    if (queue === undefined || queue.hasSlot(message.sequence)) {
      this.#ready(message, nowMs);
      return;
    }
    queue.waiting.push(message, nowMs);
    this.advance(queue, nowMs);
  }

  #ready(message: Message, nowMs: number): void {
    message.user.ready.push(message, nowMs);
    this.#takeTurn(message.user);
  }

  #takeTurn(user: User): void {
    if (user.isInTurn) return;
    user.isInTurn = true;
    this.#turns.push(user);
  }

  /** Starts everything that may start: keeps (3). */
  dispatch(nowMs: number): void {
    while (this.#inFlight.size < this.#limits.parallelism && this.#mayStart()) {
      const user = this.#turns.shift();
      if (user === undefined) return;
      user.isInTurn = false;
      // It takes its turn again when one of its calls ends.
      if (user.inFlight.size >= this.#limits.userParallelism) continue;
      const message = user.ready.shift();
      if (message === undefined) continue;
      this.#admit(message, nowMs);
      if (user.ready.size > 0) this.#takeTurn(user);
    }
  }

  #admit(message: Message, nowMs: number): void {
    const { user, envelope, sequence } = message;
    const key = this.#realm.flowKeyOf(message);
    let destination = user.destinations.get(envelope.origin);
    if (destination === undefined) {
      destination = new Destination(envelope.origin);
      user.destinations.set(envelope.origin, destination);
    }
    if (destination.inFlight.size >= this.#limits.originParallelism) {
      destination.waiting.push(message, nowMs);
      if (key !== undefined) this.wakeKey(key, nowMs); // keeps (2)
      return;
    }
    const queue = this.#realm.queueOf(message);
    const isHeld = queue?.record.isPaused === true;
    if (isHeld || key?.hasRoom(nowMs) === false) {
      if (isHeld) queue.held.push(message, nowMs);
      else if (key !== undefined) {
        key.waiting.push(message, nowMs);
        this.#setWindowTimer(key, nowMs);
      }
      this.#wakeDestination(destination, nowMs); // keeps (2)
      if (isHeld && key !== undefined) this.wakeKey(key, nowMs);
      if (destination.isIdle) user.destinations.delete(envelope.origin);
      return;
    }
    this.#changes.startAttempt(message, nowMs);
    this.#changes.commit();
    this.#inFlight.add(sequence);
    user.inFlight.add(sequence);
    destination.inFlight.add(sequence);
    if (key !== undefined) {
      key.inFlight.add(sequence);
      // It may have used up the window while others wait.
      this.#setWindowTimer(key, nowMs);
    }
    this.#start(message);
  }

  #wakeDestination({ waiting, inFlight }: Destination, nowMs: number): void {
    for (let room = this.#limits.originParallelism - inFlight.size; room > 0; room -= 1) {
      const message = waiting.shift();
      if (message === undefined) return;
      this.#ready(message, nowMs);
    }
  }

  /** Wakes the key when its window ends, if that is all that its messages wait for. */
  #setWindowTimer(key: FlowKey, nowMs: number): void {
    if (key.waiting.size === 0) return;
    const dueMs = key.nextRoomMs(nowMs);
    if (dueMs === undefined || key.timerMs === dueMs) return;
    key.timerMs = dueMs;
    this.#windows.push(dueMs, key.number);
  }

  /** Ends of windows were worked out by a clock that has been wrong. */
  #clockSteppedBack(nowMs: number): void {
    for (const key of this.#realm.flowKeysByNumber.values()) {
      key.timerMs = undefined;
      this.wakeKey(key, nowMs);
    }
  }

  /** For tests: what must hold between any two events. */
  assertConsistent(): void {
    for (const user of this.#realm.users) {
      for (const sequence of user.inFlight) assert(this.#inFlight.has(sequence), "a call of a user is a call");
      for (const { inFlight } of user.destinations.values()) {
        assert(inFlight.size <= this.#limits.originParallelism, "a destination has its cap");
      }
      for (const queue of user.queues.values()) {
        const isStuck = queue.hasFreeSlot && queue.waiting.size > 0;
        assert(!isStuck, "a queue with a free slot lets its messages go on");
      }
    }
  }
}

/** Accepted or to be retried, and not cancelled meanwhile. */
function isWaiting(message: Message): boolean {
  return message.state === state.created || message.state === state.retry;
}

/** How many calls of a key may start now. */
function roomOf(key: FlowKey, nowMs: number): number {
  if (!key.hasRoom(nowMs)) return 0;
  const byParallelism = key.parallelism === undefined ? Number.POSITIVE_INFINITY : key.parallelism - key.inFlight.size;
  const byRate = key.rate === undefined ? Number.POSITIVE_INFINITY : key.rate - key.countAt(nowMs);
  return Math.min(byParallelism, byRate);
}
