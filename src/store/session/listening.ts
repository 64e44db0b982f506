/**
 * What a session listens to: channels, patterns, shard channels, and MONITOR.
 *
 * (1) A session is a subscriber of its database from its first subscription
 *     until it leaves that database.
 */
import { assert } from "../../kernel/assert.ts";
import type { Bytes } from "../../kernel/bytes.ts";
import { subscriptionsTooMany } from "../errors.ts";
import type { DropReason, Listener, Push, Subscriber } from "../observe/pushes.ts";
import { push, type Reply } from "../reply/reply.ts";
import type { Session } from "./session.ts";

/** Subscriptions of one session. */
const SUBSCRIPTIONS_MAX = 1_000_000;

/** What a session subscribes to. Channels and patterns are counted together, shard channels apart, as in Redis. */
export type SubscriptionKind = "channel" | "pattern" | "shard channel";

/** One kind of subscription, and its end. */
export interface Turn {
  /** The first word of the confirmation. */
  readonly name: Bytes;
  readonly kind: SubscriptionKind;
}

const WAYS: readonly Turn[] = [
  { name: "subscribe", kind: "channel" },
  { name: "psubscribe", kind: "pattern" },
  { name: "ssubscribe", kind: "shard channel" },
];

export class Listening implements Listener {
  readonly #session: Session;
  readonly #subscriptionsMax: number;
  #subscriber: Subscriber | undefined;
  #isMonitor = false;

  constructor(session: Session, subscriptionsMax = SUBSCRIPTIONS_MAX) {
    this.#session = session;
    this.#subscriptionsMax = subscriptionsMax;
  }

  get channelCount(): number {
    return this.#subscriber?.channels.size ?? 0;
  }

  get patternCount(): number {
    return this.#subscriber?.patterns.size ?? 0;
  }

  get shardChannelCount(): number {
    return this.#subscriber?.shardChannels.size ?? 0;
  }

  /** All subscriptions. */
  get count(): number {
    return this.channelCount + this.patternCount + this.shardChannelCount;
  }

  get isMonitor(): boolean {
    return this.#isMonitor;
  }

  /** The names of its subscriptions of one kind, in the order of subscription. */
  names(kind: SubscriptionKind): readonly Bytes[] {
    const subscriber = this.#subscriber;
    if (subscriber === undefined) return [];
    switch (kind) {
      case "channel":
        return [...subscriber.channels];
      case "pattern":
        return [...subscriber.patterns];
      case "shard channel":
        return [...subscriber.shardChannels];
      default: {
        const never: never = kind;
        return never;
      }
    }
  }

  /** @throws {CommandError} if there are too many. */
  subscribe(name: Bytes, turn: Turn): Reply {
    const { pubsub } = this.#session.database;
    if (this.count >= this.#subscriptionsMax) throw subscriptionsTooMany;
    const subscriber = this.#open();
    if (turn.kind === "channel") pubsub.subscribe(subscriber, name);
    else if (turn.kind === "pattern") pubsub.subscribePattern(subscriber, name);
    else pubsub.subscribeShard(subscriber, name);
    return push([turn.name, name, this.#countWith(turn.kind)]);
  }

  /** `null` confirms that it had no subscriptions. */
  unsubscribe(name: Bytes | null, turn: Turn): Reply {
    const { pubsub } = this.#session.database;
    const subscriber = this.#subscriber;
    if (subscriber !== undefined && name !== null) {
      if (turn.kind === "channel") pubsub.unsubscribe(subscriber, name);
      else if (turn.kind === "pattern") pubsub.unsubscribePattern(subscriber, name);
      else pubsub.unsubscribeShard(subscriber, name);
    }
    return push([turn.name, name, this.#countWith(turn.kind)]);
  }

  /** True if its user may no longer listen to all of that. */
  get isRefused(): boolean {
    const { user, database } = this.#session;
    return WAYS.some(({ name, kind }) => {
      const names = this.names(kind);
      const command = database.findCommand(name);
      if (names.length === 0 || command === undefined) return false;
      return user.refusalOf(command, [name, ...names]) !== undefined;
    });
  }

  /** It gets every command from now on, except the one that requests it. */
  monitor(): void {
    this.#isMonitor = true;
    this.#session.database.monitors.add(this.#open());
  }

  /** Ends all subscriptions. */
  end(): void {
    if (this.#subscriber === undefined) return;
    this.#session.database.closeSubscriber(this.#subscriber);
    this.#subscriber = undefined;
    this.#isMonitor = false;
  }

  receive(message: Push): void {
    if (this.#hasForm(message)) this.#session.peer.push(message);
  }

  drop(_reason: DropReason): void {
    this.#session.kill();
  }

  /** The number in the confirmation of a subscription of this kind. */
  #countWith(kind: SubscriptionKind): number {
    return kind === "shard channel" ? this.shardChannelCount : this.channelCount + this.patternCount;
  }

  /** RESP2 has pushes for subscribers only, and the connection may have changed while a push waited. */
  #hasForm({ kind }: Push): boolean {
    if (this.#session.respVersion === 3) return true;
    return kind === "invalidate" ? this.count > 0 : kind !== "tracking-redir-broken";
  }

  // keeps (1)
  #open(): Subscriber {
    this.#subscriber ??= this.#session.database.pubsub.open(this);
    assert(this.#subscriber.isOpen, "a dropped session subscribes to nothing");
    return this.#subscriber;
  }
}
