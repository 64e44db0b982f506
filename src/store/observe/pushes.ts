/**
 * The pushes of a database to its subscribers.
 *
 * (1) A push obeys the rule of replies: it leaves when all state that it
 *     depends on is as safe as the setting promises. So the pushes of a unit of
 *     work are held until its frame is in the journal, and then wait for that
 *     position.
 * (2) Pushes leave in the order of creation.
 * (3) A closed subscriber gets nothing more, not even waiting pushes.
 * (4) Waiting bytes are bounded: above `WAITING_BYTES_MAX` the receivers of
 *     another push are dropped instead.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import type { Journal } from "../../kernel/journal.ts";

export type Push =
  | { readonly kind: "message"; readonly channel: Bytes; readonly payload: Bytes }
  | { readonly kind: "pmessage"; readonly pattern: Bytes; readonly channel: Bytes; readonly payload: Bytes }
  /** Of a shard channel: SPUBLISH. */
  | { readonly kind: "smessage"; readonly channel: Bytes; readonly payload: Bytes }
  /** A command that ran, as MONITOR prints it. */
  | { readonly kind: "monitor"; readonly line: Bytes }
  /** Keys that a client must no longer cache; `null`: any key (tracking/). */
  | { readonly kind: "invalidate"; readonly keys: readonly Bytes[] | null }
  /** The connection that gets the invalidations in place of the receiver does not exist any more. */
  | { readonly kind: "tracking-redir-broken"; readonly clientId: number };

/** Why a subscriber is dropped. */
export type DropReason = "database deleted" | "pushes wait for the disk";

/** The peer of a subscriber. */
export interface Listener {
  /** Takes one push, which may leave now. All receivers get the same object. Must not call the engine. */
  receive(push: Push): void;
  /** There will be no more pushes. */
  drop(reason: DropReason): void;
}

/** A subscriber and its subscriptions. Only `pubsub.ts` changes the sets. */
export class Subscriber {
  readonly listener: Listener;
  readonly channels = new Set<Bytes>();
  readonly patterns = new Set<Bytes>();
  readonly shardChannels = new Set<Bytes>();
  isOpen = true;

  constructor(listener: Listener) {
    this.listener = listener;
  }
}

interface Delivery {
  readonly push: Push;
  readonly subscribers: readonly Subscriber[];
  /** Its bytes for (4). */
  readonly bytes: number;
  /** Its position in the journal, once the unit of work is over. */
  position: number;
}

/** Bytes of pushes that wait for the journal. */
export const WAITING_BYTES_MAX = 32 * 1024 * 1024;
/** Approximate memory of a push beside its bytes, and of each of its receivers. */
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

  /** Adds a push, as part of the running unit of work. `payloadBytes`: the caller's part of it. */
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

  /** The number of pushes that the running unit of work has made. */
  get madeCount(): number {
    return this.#made.length;
  }

  /**
   * Drops the messages that the running unit has published since that number, because it was undone. Monitors see its
   * commands, and clients that cache read the keys again.
   */
  dropMessages(madeCount: number): void {
    const made = this.#made.splice(madeCount);
    for (const delivery of made)
      if ("payload" in delivery.push) this.#waitingBytes -= delivery.bytes;
      else this.#made.push(delivery);
  }

  /** The unit of work is over and its frame, if any, is in the journal. keeps (1) */
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

  /** `waited`: how many of the waiting pushes were there when a wait began that has ended, and for which position. */
  #release(waited = { count: 0, position: 0 }): void {
    if (this.#isAwaiting) return;
    const { safe } = this.#journal;
    const isDue = ({ position }: Delivery, index: number): boolean =>
      position <= safe || (index < waited.count && position <= waited.position);
    let count = 0;
    while (count < this.#waiting.length && isDue(this.#waiting[count] as Delivery, count)) count += 1;
    const due = count === this.#waiting.length ? this.#waiting : this.#waiting.slice(0, count);
    this.#waiting = count === this.#waiting.length ? [] : this.#waiting.slice(count);
    for (const { push, subscribers, bytes } of due) {
      this.#waitingBytes -= bytes;
      for (const subscriber of subscribers) if (subscriber.isOpen) subscriber.listener.receive(push); // keeps (3)
    }
    const next = this.#waiting[0];
    if (next === undefined) return;
    this.#isAwaiting = true;
    const nextWaited = { count: this.#waiting.length, position: next.position };
    void this.#journal.whenSafe(next.position).then(() => {
      this.#isAwaiting = false;
      this.#release(nextWaited);
    });
  }
}

/** Notifies the peer that there will be no more pushes; the subscriber is closed from now on. */
export function drop(subscriber: Subscriber, reason: DropReason): void {
  if (!subscriber.isOpen) return;
  subscriber.isOpen = false;
  subscriber.listener.drop(reason);
}
