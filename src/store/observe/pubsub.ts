/**
 * Channels and patterns of one database, and who listens to them.
 *
 * (1) A channel or pattern is in its table as long as somebody listens to it.
 * (2) A subscriber is in the set of exactly those channels and patterns that
 *     its own sets name, and in none once it is closed.
 * (3) A message goes to those who listened when it was published, first by
 *     channel, then by pattern; whoever listens in both ways gets it twice, as
 *     in Redis.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import { matchesGlob } from "../structures/glob.ts";
import { drop, type Listener, type Pushes, Subscriber } from "./pushes.ts";

export class PubSub {
  readonly #pushes: Pushes;
  readonly #channels = new Map<Bytes, Set<Subscriber>>();
  readonly #patterns = new Map<Bytes, Set<Subscriber>>();
  readonly #subscribers = new Set<Subscriber>();

  constructor(pushes: Pushes) {
    this.#pushes = pushes;
  }

  /** Somebody new, who listens to nothing yet. It must be given to `close` when its far end has gone. */
  open(listener: Listener): Subscriber {
    const subscriber = new Subscriber(listener);
    this.#subscribers.add(subscriber);
    return subscriber;
  }

  /** Each of these returns to how many channels and patterns the subscriber listens now. */
  subscribe(subscriber: Subscriber, channel: Bytes): number {
    if (subscriber.isOpen && !subscriber.channels.has(channel)) {
      subscriber.channels.add(channel);
      enter(this.#channels, channel, subscriber);
    }
    return countOf(subscriber);
  }

  unsubscribe(subscriber: Subscriber, channel: Bytes): number {
    if (subscriber.channels.delete(channel)) leave(this.#channels, channel, subscriber);
    return countOf(subscriber);
  }

  subscribePattern(subscriber: Subscriber, pattern: Bytes): number {
    if (subscriber.isOpen && !subscriber.patterns.has(pattern)) {
      subscriber.patterns.add(pattern);
      enter(this.#patterns, pattern, subscriber);
    }
    return countOf(subscriber);
  }

  unsubscribePattern(subscriber: Subscriber, pattern: Bytes): number {
    if (subscriber.patterns.delete(pattern)) leave(this.#patterns, pattern, subscriber);
    return countOf(subscriber);
  }

  /** Its far end has gone: it is told nothing more, also not what waits. */
  close(subscriber: Subscriber): void {
    subscriber.isOpen = false;
    this.#subscribers.delete(subscriber);
    for (const channel of subscriber.channels) leave(this.#channels, channel, subscriber);
    for (const pattern of subscriber.patterns) leave(this.#patterns, pattern, subscriber);
    subscriber.channels.clear();
    subscriber.patterns.clear();
  }

  /** The database is gone, and with it everybody who listens to it. */
  dropAll(): void {
    for (const subscriber of [...this.#subscribers]) {
      drop(subscriber, "database deleted");
      this.close(subscriber);
    }
  }

  /** Sends a message, as part of the running unit of work, and returns how many get it. */
  publish(channel: Bytes, payload: Bytes): number {
    let count = 0;
    const payloadBytes = channel.length + payload.length;
    const listening = this.#channels.get(channel);
    if (listening !== undefined) {
      count += listening.size;
      this.#pushes.add({ kind: "message", channel, payload }, [...listening], payloadBytes);
    }
    for (const [pattern, matching] of this.#patterns) {
      if (!matchesGlob(pattern, channel)) continue;
      count += matching.size;
      this.#pushes.add({ kind: "pmessage", pattern, channel, payload }, [...matching], payloadBytes);
    }
    return count;
  }

  /** False when nobody could get a message, whatever its channel. */
  get hasListeners(): boolean {
    return this.#channels.size > 0 || this.#patterns.size > 0;
  }

  /** The channels that somebody listens to by name. */
  channels(): Iterable<Bytes> {
    return this.#channels.keys();
  }

  /** How many listen to a channel by name. */
  subscriberCountOf(channel: Bytes): number {
    return this.#channels.get(channel)?.size ?? 0;
  }

  /** How many channels somebody listens to by name. */
  get channelCount(): number {
    return this.#channels.size;
  }

  /** How many different patterns there are. */
  get patternCount(): number {
    return this.#patterns.size;
  }
}

function countOf({ channels, patterns }: Subscriber): number {
  return channels.size + patterns.size;
}

function enter(table: Map<Bytes, Set<Subscriber>>, name: Bytes, subscriber: Subscriber): void {
  const known = table.get(name);
  if (known === undefined) table.set(name, new Set([subscriber]));
  else known.add(subscriber);
}

/** keeps (1) */
function leave(table: Map<Bytes, Set<Subscriber>>, name: Bytes, subscriber: Subscriber): void {
  const listening = table.get(name);
  if (listening?.delete(subscriber) === true && listening.size === 0) table.delete(name);
}
