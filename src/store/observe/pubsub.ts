/**
 * The channels and patterns of one database, and their subscribers. Shard
 * channels (SSUBSCRIBE) are channels of their own: a database has one shard, and
 * no pattern matches them.
 *
 * (1) A channel or pattern is in its table while it has a subscriber.
 * (2) A subscriber is in the set of exactly those channels and patterns that
 *     its own sets name, and in none once it is closed.
 * (3) A message goes to the subscribers at the time of publishing, first by
 *     channel, then by pattern. A subscriber by both gets it twice, as in
 *     Redis.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import { matchesGlob } from "../structures/glob.ts";
import { drop, type Listener, type Pushes, Subscriber } from "./pushes.ts";

export class PubSub {
  readonly #pushes: Pushes;
  readonly #channels = new Map<Bytes, Set<Subscriber>>();
  readonly #patterns = new Map<Bytes, Set<Subscriber>>();
  readonly #shardChannels = new Map<Bytes, Set<Subscriber>>();
  readonly #subscribers = new Set<Subscriber>();

  constructor(pushes: Pushes) {
    this.#pushes = pushes;
  }

  /** Adds a subscriber without subscriptions. It must be passed to `close` when its peer disconnects. */
  open(listener: Listener): Subscriber {
    const subscriber = new Subscriber(listener);
    this.#subscribers.add(subscriber);
    return subscriber;
  }

  /** Each of these returns the new number of channels and patterns of the subscriber. */
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

  /** Each of these returns the new number of shard channels of the subscriber. */
  subscribeShard(subscriber: Subscriber, channel: Bytes): number {
    if (subscriber.isOpen && !subscriber.shardChannels.has(channel)) {
      subscriber.shardChannels.add(channel);
      enter(this.#shardChannels, channel, subscriber);
    }
    return subscriber.shardChannels.size;
  }

  unsubscribeShard(subscriber: Subscriber, channel: Bytes): number {
    if (subscriber.shardChannels.delete(channel)) leave(this.#shardChannels, channel, subscriber);
    return subscriber.shardChannels.size;
  }

  /** The peer disconnected: the subscriber gets nothing more, not even waiting messages. */
  close(subscriber: Subscriber): void {
    subscriber.isOpen = false;
    this.#subscribers.delete(subscriber);
    for (const channel of subscriber.channels) leave(this.#channels, channel, subscriber);
    for (const pattern of subscriber.patterns) leave(this.#patterns, pattern, subscriber);
    for (const channel of subscriber.shardChannels) leave(this.#shardChannels, channel, subscriber);
    subscriber.channels.clear();
    subscriber.patterns.clear();
    subscriber.shardChannels.clear();
  }

  /** The database was dropped: closes all subscribers. */
  dropAll(): void {
    for (const subscriber of [...this.#subscribers]) {
      drop(subscriber, "database deleted");
      this.close(subscriber);
    }
  }

  /** Sends a message, as part of the running unit of work, and returns the number of receivers. */
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

  /** Sends a message to the subscribers of a shard channel, as `publish` does. */
  publishShard(channel: Bytes, payload: Bytes): number {
    const listening = this.#shardChannels.get(channel);
    if (listening === undefined) return 0;
    this.#pushes.add({ kind: "smessage", channel, payload }, [...listening], channel.length + payload.length);
    return listening.size;
  }

  /** False if no subscriber could get a message of `publish`, on any channel. */
  get hasListeners(): boolean {
    return this.#channels.size > 0 || this.#patterns.size > 0;
  }

  /** The channels with subscribers by name. */
  channels(): Iterable<Bytes> {
    return this.#channels.keys();
  }

  /** The number of subscribers of a channel by name. */
  subscriberCountOf(channel: Bytes): number {
    return this.#channels.get(channel)?.size ?? 0;
  }

  /** The shard channels with subscribers. */
  shardChannels(): Iterable<Bytes> {
    return this.#shardChannels.keys();
  }

  /** The number of subscribers of a shard channel. */
  shardSubscriberCountOf(channel: Bytes): number {
    return this.#shardChannels.get(channel)?.size ?? 0;
  }

  /** The number of shard channels with subscribers. */
  get shardChannelCount(): number {
    return this.#shardChannels.size;
  }

  /** The number of channels with subscribers by name. */
  get channelCount(): number {
    return this.#channels.size;
  }

  /** The number of distinct patterns. */
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
