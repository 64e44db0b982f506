/**
 * What a database tells those who listen, on its way to them.
 *
 * (1) A push obeys the rule of replies: it leaves when everything that was seen
 *     as it was made is as safe as the setting promises. So the pushes of a
 *     unit of work are kept until its frame is in the journal, and then wait
 *     for that position.
 * (2) Pushes leave in the order they were made.
 * (3) Who has left, or was dropped, gets nothing more, also not what waits.
 * (4) What waits is bounded: behind `WAITING_BYTES_MAX` those for whom one more
 *     push is meant are dropped instead.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import type { Journal } from "../../kernel/journal.ts";

export type Push =
  | { readonly kind: "message"; readonly channel: Bytes; readonly payload: Bytes }
  | { readonly kind: "pmessage"; readonly pattern: Bytes; readonly channel: Bytes; readonly payload: Bytes }
  /** A command that was run, as MONITOR prints it. */
  | { readonly kind: "monitor"; readonly line: Bytes };

/** Why somebody is told nothing more although they would listen on. */
export type DropReason = "database deleted" | "pushes wait for the disk";

/** The far end. */
export interface Listener {
  /** One push, which may leave now. One object is given to all who get it. Must not call the engine. */
  receive(push: Push): void;
  /** There will be no more. */
  drop(reason: DropReason): void;
}

/** Somebody who listens, and to what. `pubsub.ts` keeps the sets, and nobody else changes them. */
export class Subscriber {
  readonly listener: Listener;
  readonly channels = new Set<Bytes>();
  readonly patterns = new Set<Bytes>();
  isOpen = true;

  constructor(listener: Listener) {
    this.listener = listener;
  }
}

interface Delivery {
  readonly push: Push;
  readonly subscribers: readonly Subscriber[];
  /** What it counts for in (4). */
  readonly bytes: number;
  /** Its place in the journal, once the unit of work is over. */
  position: number;
}

/** Bytes of pushes that wait for the journal. */
export const WAITING_BYTES_MAX = 32 * 1024 * 1024;
/** About what a push takes beside its bytes, and about what each receiver of it does. */
const PUSH_BYTES = 128;
const RECEIVER_BYTES = 8;

export class Pushes {
  readonly #journal: Journal;
  /** Those of the running unit of work. */
  #made: Delivery[] = [];
  #waiting: Delivery[] = [];
  #waitingBytes = 0;
  #isAwaiting = false;

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  /** Makes a push, as part of the running unit of work. `payloadBytes`: what of it is the caller's. */
  add(push: Push, subscribers: readonly Subscriber[], payloadBytes: number): void {
    const bytes = PUSH_BYTES + payloadBytes + subscribers.length * RECEIVER_BYTES;
    // keeps (4)
    if (this.#waitingBytes + bytes > WAITING_BYTES_MAX && this.#waitingBytes > 0) {
      for (const subscriber of subscribers) drop(subscriber, "pushes wait for the disk");
      return;
    }
    this.#waitingBytes += bytes;
    this.#made.push({ push, subscribers, bytes, position: 0 });
  }

  /** The unit of work is over and its frame, if any, in the journal. keeps (1) */
  commit(): void {
    if (this.#made.length === 0) return;
    const position = this.#journal.end;
    for (const delivery of this.#made) {
      delivery.position = position;
      this.#waiting.push(delivery);
    }
    this.#made = [];
    this.#release();
  }

  #release(): void {
    if (this.#isAwaiting) return;
    const { safe } = this.#journal;
    let count = 0;
    while (count < this.#waiting.length && (this.#waiting[count] as Delivery).position <= safe) count += 1;
    const due = count === this.#waiting.length ? this.#waiting : this.#waiting.slice(0, count);
    this.#waiting = count === this.#waiting.length ? [] : this.#waiting.slice(count);
    for (const { push, subscribers, bytes } of due) {
      this.#waitingBytes -= bytes;
      for (const subscriber of subscribers) if (subscriber.isOpen) subscriber.listener.receive(push); // keeps (3)
    }
    const next = this.#waiting[0];
    if (next === undefined) return;
    this.#isAwaiting = true;
    void this.#journal.whenSafe(next.position).then(() => {
      this.#isAwaiting = false;
      this.#release();
    });
  }
}

/** Tells the far end that there will be no more; it is closed from now on. */
export function drop(subscriber: Subscriber, reason: DropReason): void {
  if (!subscriber.isOpen) return;
  subscriber.isOpen = false;
  subscriber.listener.drop(reason);
}
