/**
 * A queue: its messages start in the order of their acceptance, `parallelism`
 * at a time (spec: messaging 1.6).
 *
 * A message takes a slot when it is first let through and keeps it over all its
 * retries. With parallelism 1 the slot then passes on to its callbacks, so that
 * the next message starts when those are done too.
 *
 * Slots are sets of sequence numbers, so that releasing one twice, or after a
 * restart, releases nothing.
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

export class Queue {
  record: QueueRecord;
  /** Its turn has not come. */
  readonly waiting = new MessageList("the queue");
  /** Has a slot, and could be called if the queue were not paused. */
  readonly held = new MessageList("the paused queue");
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

  /** Owners of slots, for checks. */
  get slotOwners(): readonly number[] {
    return [...this.#slots.keys()];
  }
}
