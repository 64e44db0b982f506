/**
 * Which attempts may start, and when, seen from outside: caps, queues, rates,
 * pauses, due times. This file counts calls under way and calls of each window
 * itself; it reads only users' settings from the engine.
 *
 * (1) A window's calls are those whose records exist: a crash that takes back
 *     the record of a call removes the call from the window, and nothing else
 *     opens a window early.
 */
import type { VirtualClock } from "../../../src/kernel/clock.virtual.ts";
import type { FlowKey } from "../../../src/messaging/state/flow-key.ts";
import type { MessagingState } from "../../../src/messaging/state/messaging-state.ts";
import { messageState } from "../../../src/messaging/state/states.ts";
import type { User } from "../../../src/messaging/state/user.ts";
import type { Entry, Ledger, Tracked } from "./ledger.ts";
import type { Swarm } from "./swarm.ts";
import { check } from "./violation.ts";

interface WindowEvent {
  readonly what: "call" | "reset" | "clock set";
  /** 0 if no crash takes it back. */
  readonly position: number;
  readonly atMs: number;
  readonly periodMs: number;
  readonly rate: number;
}

export class Admission {
  readonly #ledger: Ledger;
  readonly #swarm: Swarm;
  readonly #windows = new Map<string, WindowEvent[]>();
  /** The keys of this life: a key unused for long is forgotten, and begins again. */
  readonly #keys = new Map<string, FlowKey>();
  /** The highest parallelism that a queue ever had. */
  readonly #widths = new Map<string, number>();
  /** Calls forgotten by a reset of their key: positions by sequence number. */
  #forgotten = new Map<number, number>();

  constructor(ledger: Ledger, swarm: Swarm) {
    this.#ledger = ledger;
    this.#swarm = swarm;
  }

  /** A user has set the width of a queue. */
  widened(user: number, queueName: string, parallelism: number): void {
    const key = `${user}/${queueName}`;
    this.#widths.set(key, Math.max(this.widthOf(user, queueName), parallelism));
  }

  widthOf(user: number, queueName: string): number {
    return this.#widths.get(`${user}/${queueName}`) ?? 1;
  }

  /** A user has reset the window of a key, and with `isWhole` its calls under way. */
  reset(user: number, key: string, { position, isWhole }: { position: number; isWhole: boolean }): void {
    this.#eventsOf(user, key).push({ what: "reset", position, atMs: 0, periodMs: 0, rate: 0 });
    if (!isWhole) return;
    for (const message of this.#ledger.inFlight.values()) {
      if (message.user === user && message.fields.flowControl?.key === key)
        this.#forgotten.set(message.sequence, position);
    }
  }

  /** The clock was set. */
  clockStepped(nowMs: number): void {
    for (const events of this.#windows.values()) {
      events.push({ what: "clock set", position: 0, atMs: nowMs, periodMs: 0, rate: 0 });
    }
  }

  isForgotten(sequence: number): boolean {
    return this.#forgotten.has(sequence);
  }

  /** keeps (1) */
  recovered(position: number, state: MessagingState): void {
    this.#keys.clear();
    for (const user of state.users) {
      for (const key of user.flowKeys.values()) this.#keys.set(`${user.number}/${key.key}`, key);
    }
    for (const [name, events] of this.#windows) {
      const isKnown = this.#keys.has(name);
      this.#windows.set(name, isKnown ? events.filter((event) => event.position <= position) : []);
    }
    this.#forgotten.clear();
  }

  started(
    message: Tracked,
    { position }: Entry,
    { state, clock }: { state: MessagingState; clock: VirtualClock },
  ): void {
    const { sequence, fields, user: number } = message;
    const { inFlight } = this.#ledger;
    const { limits } = this.#swarm;
    const user = state.userOf(number);
    const nowMs = clock.nowMs();
    const text = `Message ${sequence}`;
    const earlyMs = this.#earlyMs(message, clock);
    check(earlyMs <= 0, () => `${text} is called ${earlyMs} ms before its time`);
    const others = [...inFlight.values()];
    const ofUser = others.filter((other) => other.user === number);
    const ofOrigin = ofUser.filter((other) => other.origin === message.origin);
    check(others.length < limits.parallelism, () => `${text}: ${others.length} calls of all are under way`);
    check(ofUser.length < limits.userParallelism, () => `${text}: ${ofUser.length} calls of the user are under way`);
    check(ofOrigin.length < limits.originParallelism, () => `${text}: ${ofOrigin.length} calls of ${message.origin}`);
    if (fields.queueName !== undefined) this.#checkQueue(message, user);
    const key = fields.flowControl === undefined ? undefined : user.flowKeys.get(fields.flowControl.key);
    if (key !== undefined) this.#checkKey(message, key, { nowMs, position });
    this.#forgotten.delete(sequence);
  }

  #earlyMs(message: Tracked, clock: VirtualClock): number {
    const { driftMs, life, state: last, position } = message.entries.findLast(setsTime) as Entry;
    if (message.retriedNowAt.some((at) => at > position)) return 0;
    const dueMs = dueMsOf(message);
    // A message that was due stays due when the clock is set back.
    const isForMoment = message.fields.isForMoment === true && last === messageState.created;
    if (isForMoment) return dueMs - Math.max(clock.nowMs(), this.#ledger.wallMaxMs);
    // Spans follow elapsed time, and each life measures the rest of them again.
    const { life: current, startDriftMs } = this.#ledger;
    return dueMs + (life === current ? driftMs : startDriftMs) - clock.monotonicMs();
  }

  #checkQueue(message: Tracked, user: User): void {
    const { sequence, fields, user: number } = message;
    const { queueName = "" } = fields;
    const text = `Message ${sequence} of the queue ${queueName}`;
    // A queue that was deleted and created again is another queue.
    check(message.detachedAt === undefined, () => `${text} starts, but the queue was deleted`);
    check(user.queues.get(queueName)?.record.isPaused === false, () => `${text} starts while the queue is paused`);
    const members = this.#ledger.unfinished.filter(
      (other) => other !== message && other.user === number && other.detachedAt === undefined,
    );
    const inQueue = members.filter((other) => other.fields.queueName === queueName);
    const called = [...this.#ledger.inFlight.values()].filter((other) => inQueue.includes(other));
    const parallelism = user.queues.get(queueName)?.record.parallelism ?? 0;
    check(
      called.length < parallelism,
      () => `${text} starts, but ${sequencesOf(called)} are under way of ${parallelism}`,
    );
    const withSlot = inQueue.filter(wasStarted);
    const width = this.widthOf(number, queueName);
    check(withSlot.length < width, () => `${text} starts, but ${sequencesOf(withSlot)} are not done`);
    if (width > 1) return;
    const holding = members.filter(
      ({ fields: { holdsQueue, callbackOf }, isAgain }) =>
        holdsQueue === queueName && callbackOf !== message.id && !isAgain,
    );
    check(holding.length === 0, () => `${text} starts, but callbacks ${sequencesOf(holding)} are not done`);
    if (this.#swarm.features.has("clock steps") || wasDelayed(message)) return;
    const before = inQueue.filter((other) => other.sequence < sequence && !wasDelayed(other));
    check(before.length === 0, () => `${text} starts before ${sequencesOf(before)}`);
  }

  #checkKey(message: Tracked, key: FlowKey, { nowMs, position }: { nowMs: number; position: number }): void {
    const text = `Message ${message.sequence} of the key ${key.key}`;
    check(!key.isPaused, () => `${text} starts while the key is paused`);
    const ofKey = [...this.#ledger.inFlight.values()].filter(
      ({ user, fields, sequence }) =>
        user === message.user && fields.flowControl?.key === key.key && !this.#forgotten.has(sequence),
    );
    const { parallelism = Number.POSITIVE_INFINITY, rate = Number.POSITIVE_INFINITY, periodMs } = key;
    check(
      ofKey.length < parallelism,
      () => `${text} starts, but ${sequencesOf(ofKey)} are under way of ${parallelism}`,
    );
    const events = this.#eventsOf(message.user, key.key);
    const name = `${message.user}/${key.key}`;
    if (this.#keys.get(name) !== key) events.length = 0;
    this.#keys.set(name, key);
    const event: WindowEvent = { what: "call", position, atMs: nowMs, periodMs, rate };
    if (this.#swarm.features.has("clock steps")) {
      const count = nearbyCalls(events, event);
      check(count < 2 * rate, () => `${text} starts, but there were ${count} recent calls at a rate of ${rate}`);
    } else {
      const count = countAt(events, nowMs, periodMs);
      check(count < rate, () => `${text} starts, but the window has had ${count} calls of ${rate}`);
    }
    events.push(event);
  }

  #eventsOf(user: number, key: string): WindowEvent[] {
    const name = `${user}/${key}`;
    let events = this.#windows.get(name);
    if (events === undefined) {
      events = [];
      this.#windows.set(name, events);
    }
    return events;
  }
}

/** Calls of the current window. Windows begin with their first call. */
function countAt(events: readonly WindowEvent[], nowMs: number, periodMs: number): number {
  let startMs = 0;
  let count = 0;
  for (const event of events) {
    if (event.what === "reset") {
      count = 0;
      continue;
    }
    if (count === 0 || event.atMs >= startMs + event.periodMs) {
      startMs = event.atMs;
      count = 1;
    } else count += 1;
  }
  return nowMs >= startMs + periodMs ? 0 : count;
}

/**
 * Calls within one period before this one, as far as the clock and the limits were the same. Where a window begins
 * after a clock change depends on which call came when, but two adjacent windows have at most twice the rate.
 */
function nearbyCalls(events: readonly WindowEvent[], { atMs, periodMs, rate }: WindowEvent): number {
  let count = 0;
  for (const event of [...events].reverse()) {
    const isSame = event.what === "call" && event.periodMs === periodMs && event.rate === rate;
    if (!isSame || event.atMs <= atMs - periodMs) break;
    count += 1;
  }
  return count;
}

/** When the next attempt is due. */
export function dueMsOf({ entries, notBeforeMs }: Tracked): number {
  return entries.findLast((entry) => entry.state === messageState.retry)?.nextMs ?? notBeforeMs;
}

/** It says when the message is called. */
function setsTime(entry: Entry): boolean {
  return entry.state === messageState.created || entry.state === messageState.retry;
}

function wasStarted({ entries }: Tracked): boolean {
  return entries.some((entry) => entry.state === messageState.active);
}

function wasDelayed({ notBeforeMs, createdAtMs }: Tracked): boolean {
  return notBeforeMs > createdAtMs;
}

function sequencesOf(messages: readonly Tracked[]): string {
  return messages.map(({ sequence }) => sequence).join(", ");
}
