/**
 * Waiting messages in the order in which they continue: doubly linked through the
 * messages themselves, so that a cancel removes one from the middle at once. A
 * message is in one list at most.
 */
import { assert } from "../../kernel/assert.ts";
import type { Message } from "./message.ts";

/** What the messages of a list wait for. */
export type WaitReason =
  | "a free delivery slot"
  | "the destination's parallelism"
  | "the queue"
  | "the paused queue"
  | "the flow-control key";

export class MessageList {
  readonly reason: WaitReason;
  #first: Message | undefined;
  #last: Message | undefined;
  #size = 0;

  constructor(reason: WaitReason) {
    this.reason = reason;
  }

  get size(): number {
    return this.#size;
  }

  get first(): Message | undefined {
    return this.#first;
  }

  push(message: Message, realMs: number): void {
    assert(message.list === undefined, "a message waits in one list");
    message.list = this;
    message.waitsSinceMs = realMs;
    message.previous = this.#last;
    if (this.#last === undefined) this.#first = message;
    else this.#last.next = message;
    this.#last = message;
    this.#size += 1;
  }

  shift(): Message | undefined {
    const first = this.#first;
    if (first !== undefined) this.remove(first);
    return first;
  }

  remove(message: Message): void {
    assert(message.list === this, "a message is removed from its own list");
    const { previous, next } = message;
    if (previous === undefined) this.#first = next;
    else previous.next = next;
    if (next === undefined) this.#last = previous;
    else next.previous = previous;
    message.list = undefined;
    message.previous = undefined;
    message.next = undefined;
    this.#size -= 1;
  }
}
