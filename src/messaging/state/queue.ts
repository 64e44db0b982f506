/**
 * A queue: its messages start in the order of their acceptance, `parallelism`
 * at a time (C.queue-order).
 *
 * A message takes a slot when it is first let through and keeps it over all its
 * retries. With parallelism 1 the slot then passes on to its callbacks, so that
 * the next message starts when those are done too.
 *
 * (1) Slots are sets of sequence numbers, so that releasing one twice, or after
 *     a restart, releases nothing.
 * (2) A slot gives its message its turn, and not always a call: when the
 *     parallelism is lowered, more messages have slots than may be called. Only
 *     so many are called as the parallelism says, the oldest first, and a call
 *     that is under way ends.
 */
import type { Message } from "./message.ts";
import { MessageList } from "./message-list.ts";

/** What is in the journal. */
export interface QueueRecord {
  readonly name: string;
  readonly parallelism: number;
  readonly isPaused: boolean;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** A queue that was only named: one message at a time. */
export function newQueue(name: string, nowMs: number): QueueRecord {
  return { name, parallelism: 1, isPaused: false, createdAtMs: nowMs, updatedAtMs: nowMs };
}

export class Queue {
  record: QueueRecord;
  /** Its turn has not come. */
  readonly waiting = new MessageList("the queue");
  /** Has a slot, and could be called if the queue were not paused. */
  readonly held = new MessageList("the paused queue");
  /** Has a slot, and waits for others that have one: the parallelism was lowered (2). */
  readonly excess = new MessageList("the queue");
  /** All unfinished messages of the queue, whatever they wait for. */
  readonly members = new Set<Message>();
  /** Who has a slot, and the messages that keep it: the owner itself, then its callbacks. */
  readonly #slots = new Map<number, Set<number>>();

  constructor(record: QueueRecord) {
    this.record = record;
  }

  get hasFreeSlot(): boolean {
    return !this.record.isPaused && this.#slots.size < this.record.parallelism;
  }

  hasSlot(owner: number): boolean {
    return this.#slots.has(owner);
  }

  takeSlot(owner: number): void {
    this.keepSlot(owner, owner);
  }

  /** `keeper` too must finish before the slot of `owner` is free. */
  keepSlot(owner: number, keeper: number): void {
    const keepers = this.#slots.get(owner);
    if (keepers === undefined) this.#slots.set(owner, new Set([keeper]));
    else keepers.add(keeper);
  }

  releaseSlot(owner: number, keeper: number): void {
    const keepers = this.#slots.get(owner);
    if (keepers === undefined) return;
    keepers.delete(keeper);
    if (keepers.size === 0) this.#slots.delete(owner);
  }

  /** True if more messages have slots than may be called. */
  get isOverfull(): boolean {
    return this.#slots.size > this.record.parallelism;
  }

  /** Who of those that have slots may be called now: keeps (2). `isCalled` is told owners that wait. */
  callable(isCalled: (owner: number) => boolean): ReadonlySet<number> {
    let room = this.record.parallelism;
    const waiting: number[] = [];
    for (const [owner, keepers] of this.#slots) {
      // An owner that is done has callbacks, which hold its slot until they are done too.
      if (!keepers.has(owner) || isCalled(owner)) room -= 1;
      else waiting.push(owner);
    }
    return new Set(waiting.sort((one, other) => one - other).slice(0, Math.max(0, room)));
  }

  /** Owners of slots, for checks. */
  get slotOwners(): readonly number[] {
    return [...this.#slots.keys()];
  }
}
