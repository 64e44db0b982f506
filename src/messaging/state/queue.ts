/**
 * A queue: its messages start in the order of their acceptance, `parallelism`
 * at a time (C.queue-order).
 *
 * A message takes a slot when its turn comes and keeps it during all its
 * retries. With parallelism 1 the slot then passes on to its callbacks, so that
 * the next message starts after them.
 *
 * (1) Slots are sets of sequence numbers, so that releasing one twice, or after
 *     a restart, has no effect.
 * (2) A slot is a turn, and not always a call: when the parallelism is lowered,
 *     more messages have slots than may be called. Only as many are called as the
 *     parallelism allows, the oldest first; calls under way end normally.
 */
import type { Message } from "./message.ts";
import { MessageList } from "./message-list.ts";

/** The fields in the journal. */
export interface QueueRecord {
  readonly name: string;
  readonly parallelism: number;
  readonly isPaused: boolean;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** A queue that a message creates by its name: one message at a time. */
export function newQueue(name: string, nowMs: number): QueueRecord {
  return { name, parallelism: 1, isPaused: false, createdAtMs: nowMs, updatedAtMs: nowMs };
}

export class Queue {
  record: QueueRecord;
  /** Messages whose turn has not come. */
  readonly waiting = new MessageList("the queue");
  /** Messages that have a slot, and wait only because the queue is paused. */
  readonly held = new MessageList("the paused queue");
  /** Messages that have a slot, and wait because the parallelism was lowered (2). */
  readonly excess = new MessageList("the queue");
  /** All unfinished messages of the queue, whatever they wait for. */
  readonly members = new Set<Message>();
  /** Owners of slots, and the messages that keep the slot: the owner itself, then its callbacks. */
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

  /** The owners of slots that may be called now: keeps (2). `isCalled` is true for owners with a call under way. */
  callable(isCalled: (owner: number) => boolean): ReadonlySet<number> {
    let room = this.record.parallelism;
    const waiting: number[] = [];
    for (const [owner, keepers] of this.#slots) {
      // The callbacks of a finished owner hold its slot.
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
