/**
 * What a session listens to: channels, patterns, and MONITOR.
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

/** Channels and patterns of one session. */
const SUBSCRIPTIONS_MAX = 1_000_000;

/** One kind of subscription, and its end. */
export interface Turn {
  /** The first word of the confirmation. */
  readonly name: Bytes;
  readonly isPattern: boolean;
}

const WAYS: readonly Turn[] = [
  { name: "subscribe", isPattern: false },
  { name: "psubscribe", isPattern: true },
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

  /** Channels and patterns. */
  get count(): number {
    return this.channelCount + this.patternCount;
  }

  get isMonitor(): boolean {
    return this.#isMonitor;
  }

  /** The names that it is subscribed to in one of the two ways, in the order of subscription. */
  names(isPattern: boolean): readonly Bytes[] {
    return [...((isPattern ? this.#subscriber?.patterns : this.#subscriber?.channels) ?? [])];
  }

  /** @throws {CommandError} if there are too many. */
  subscribe(name: Bytes, turn: Turn): Reply {
    const { pubsub } = this.#session.database;
    if (this.count >= this.#subscriptionsMax) throw subscriptionsTooMany;
    const subscriber = this.#open();
    const count = turn.isPattern ? pubsub.subscribePattern(subscriber, name) : pubsub.subscribe(subscriber, name);
    return push([turn.name, name, count]);
  }

  /** `null` confirms that it had no subscriptions. */
  unsubscribe(name: Bytes | null, turn: Turn): Reply {
    const { pubsub } = this.#session.database;
    const subscriber = this.#subscriber;
    if (subscriber !== undefined && name !== null) {
      if (turn.isPattern) pubsub.unsubscribePattern(subscriber, name);
      else pubsub.unsubscribe(subscriber, name);
    }
    return push([turn.name, name, this.count]);
  }

  /** True if its user may no longer listen to all of that. */
  get isRefused(): boolean {
    const { user, database } = this.#session;
    return WAYS.some(({ name, isPattern }) => {
      const names = this.names(isPattern);
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
    this.#session.peer.push(message);
  }

  drop(_reason: DropReason): void {
    this.#session.kill();
  }

  // keeps (1)
  #open(): Subscriber {
    this.#subscriber ??= this.#session.database.pubsub.open(this);
    assert(this.#subscriber.isOpen, "a dropped session subscribes to nothing");
    return this.#subscriber;
  }
}
