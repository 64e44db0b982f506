/**
 * A consumer group of a stream: its position, and the entries that were
 * delivered and not acknowledged yet.
 *
 * (1) A pending entry is in the index of its group, and in that of one consumer of the group.
 * (2) `tally.bytes` is the memory of all groups of the stream.
 */
import { type Bytes, memoryBytesOf } from "../../kernel/bytes.ts";
import { IdOrder } from "../structures/id-order.ts";
import type { StreamId, Whole } from "../structures/stream-id.ts";
import { DeliveryOrder, ORDERED_BYTES } from "./delivery-order.ts";

/** Approximate memory of these, without names. */
const GROUP_BYTES = 620;
const CONSUMER_BYTES = 420;
const PENDING_BYTES = 130;

/** Memory that several groups count together. */
export interface Tally {
  bytes: number;
}

export interface Consumer {
  readonly name: Bytes;
  /** When it last tried to read or claim, to a second. */
  seenMs: number;
  /** When it last got entries, which it then had pending; undefined if never. */
  activeMs: number | undefined;
  readonly pending: IdOrder<Pending>;
}

/** An entry that was delivered and not acknowledged. The stream may have removed it. */
export interface Pending extends StreamId {
  consumer: Consumer;
  deliveredAtMs: number;
  deliveryCount: number;
}

/** The state of a pending entry. */
export interface Delivery {
  readonly id: StreamId;
  readonly deliveredAtMs: number;
  readonly deliveryCount: number;
}

export class StreamGroup {
  readonly name: Bytes;
  /** The last entry that was delivered. */
  lastId: StreamId;
  /** The number of entries that the group has read of all ever added, or undefined if unknown. */
  readCount: number | undefined;
  readonly pending = new IdOrder<Pending>();
  readonly consumers = new Map<Bytes, Consumer>();
  /** Absent until the group is read with CLAIM. */
  #deliveries: DeliveryOrder | undefined;
  readonly #tally: Tally;

  constructor(name: Bytes, tally: Tally, state: { lastId: StreamId; readCount: number | undefined }) {
    this.name = name;
    this.lastId = state.lastId;
    this.readCount = state.readCount;
    this.#tally = tally;
    tally.bytes += GROUP_BYTES + memoryBytesOf(name);
  }

  /** The stream drops the group: keeps (2). */
  release(): void {
    for (const name of [...this.consumers.keys()]) this.removeConsumer(name);
    this.#tally.bytes -= GROUP_BYTES + memoryBytesOf(this.name);
  }

  /** The pending entries, longest idle first. Made by `orderDeliveries`. */
  get deliveries(): DeliveryOrder | undefined {
    return this.#deliveries;
  }

  /** Makes `deliveries`, and keeps it from now on. */
  orderDeliveries(): void {
    if (this.#deliveries !== undefined) return;
    const order = new DeliveryOrder();
    // Of those of one millisecond, the smallest id first.
    for (const pending of this.pending.all()) order.put(pending);
    this.#deliveries = order;
    this.#tally.bytes += order.size * ORDERED_BYTES;
  }

  get #pendingBytes(): number {
    return this.#deliveries === undefined ? PENDING_BYTES : PENDING_BYTES + ORDERED_BYTES;
  }

  /** The consumers by name, in byte order. */
  sortedConsumers(): Consumer[] {
    return [...this.consumers.values()].sort((one, other) => (one.name < other.name ? -1 : 1));
  }

  /** The consumer of this name, created if missing. */
  consumerAt(name: Bytes, seenMs: number): Consumer {
    const found = this.consumers.get(name);
    if (found !== undefined) return found;
    const consumer: Consumer = { name, seenMs, activeMs: undefined, pending: new IdOrder<Pending>() };
    this.consumers.set(name, consumer);
    this.#tally.bytes += CONSUMER_BYTES + memoryBytesOf(name);
    return consumer;
  }

  /** Removes a consumer, which must exist, with its pending entries. */
  removeConsumer(name: Bytes): void {
    const consumer = this.consumers.get(name) as Consumer;
    for (const pending of consumer.pending.all()) {
      this.pending.remove(pending);
      this.#deliveries?.remove(pending);
    }
    this.#tally.bytes -= consumer.pending.size * this.#pendingBytes + CONSUMER_BYTES + memoryBytesOf(name);
    this.consumers.delete(name);
  }

  /** Makes an entry pending for this consumer, whatever its previous consumer. */
  assign(consumer: Consumer, { id, deliveredAtMs, deliveryCount }: Delivery): void {
    let pending = this.pending.find(id);
    if (pending === undefined) {
      const { ms, seq }: { ms: Whole; seq: Whole } = id;
      pending = { ms, seq, consumer, deliveredAtMs, deliveryCount };
      this.pending.insert(pending);
      consumer.pending.insert(pending);
      this.#deliveries?.put(pending);
      this.#tally.bytes += this.#pendingBytes;
      return;
    }
    if (pending.consumer !== consumer) {
      pending.consumer.pending.remove(id);
      consumer.pending.insert(pending);
      pending.consumer = consumer;
    }
    pending.deliveredAtMs = deliveredAtMs;
    pending.deliveryCount = deliveryCount;
    this.#deliveries?.put(pending);
  }

  /** Removes a pending entry. False if it was not pending. */
  acknowledge(id: StreamId): boolean {
    const pending = this.pending.remove(id);
    if (pending === undefined) return false;
    pending.consumer.pending.remove(id);
    this.#deliveries?.remove(pending);
    this.#tally.bytes -= this.#pendingBytes;
    return true;
  }

  /** Makes the position what it is now. */
  positionRestorer(): () => void {
    const { lastId, readCount } = this;
    return () => {
      this.lastId = lastId;
      this.readCount = readCount;
    };
  }

  /** Makes an entry pending, or not, as it is now. */
  pendingRestorer({ ms, seq }: StreamId): () => void {
    const id = { ms, seq };
    const pending = this.pending.find(id);
    if (pending === undefined) return () => this.acknowledge(id);
    const { consumer, deliveredAtMs, deliveryCount } = pending;
    return () => this.assign(this.consumerAt(consumer.name, consumer.seenMs), { id, deliveredAtMs, deliveryCount });
  }

  /** Makes a consumer what it is now, or absent, without its pending entries. */
  consumerRestorer(name: Bytes): () => void {
    const consumer = this.consumers.get(name);
    if (consumer === undefined) return () => this.consumers.has(name) && this.removeConsumer(name);
    const { seenMs, activeMs } = consumer;
    return () => Object.assign(this.consumerAt(name, seenMs), { seenMs, activeMs });
  }

  /** Puts back a consumer, which exists, and its pending entries after `removeConsumer`. */
  removedConsumerRestorer(name: Bytes): () => void {
    const { seenMs, activeMs, pending } = this.consumers.get(name) as Consumer;
    const all = pending.all();
    return () => {
      const consumer = this.consumerAt(name, seenMs);
      consumer.activeMs = activeMs;
      for (const { ms, seq, deliveredAtMs, deliveryCount } of all)
        this.assign(consumer, { id: { ms, seq }, deliveredAtMs, deliveryCount });
    };
  }

  /** Puts back everything after `release`. */
  restorer(): () => void {
    const restorers = [...this.consumers.keys()].map((name) => this.removedConsumerRestorer(name));
    return () => {
      this.#tally.bytes += GROUP_BYTES + memoryBytesOf(this.name);
      for (const restore of restorers) restore();
    };
  }

  copy(tally: Tally): StreamGroup {
    const copy = new StreamGroup(this.name, tally, this);
    for (const { name, seenMs, activeMs } of this.consumers.values()) copy.consumerAt(name, seenMs).activeMs = activeMs;
    for (const { ms, seq, consumer, deliveredAtMs, deliveryCount } of this.pending.all())
      copy.assign(copy.consumerAt(consumer.name, consumer.seenMs), { id: { ms, seq }, deliveredAtMs, deliveryCount });
    return copy;
  }
}
