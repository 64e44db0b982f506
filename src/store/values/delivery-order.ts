/**
 * The pending entries of a group, longest idle first, for XREADGROUP with CLAIM. Few groups are read so; it is made
 * when a group first is.
 *
 * (1) It has the pending entries of its group, each once.
 * (2) Entries that were delivered in the same millisecond are in the order in which they were put.
 */
import { IdOrder } from "../structures/id-order.ts";
import { ID_MAX, ID_MIN, type StreamId } from "../structures/stream-id.ts";
import type { Pending } from "./stream-group.ts";

/** The time of the last delivery as `ms`, and a number that makes it unique. */
interface Place extends StreamId {
  readonly pending: Pending;
}

/** Approximate memory of an entry. */
export const ORDERED_BYTES = 110;

export class DeliveryOrder {
  readonly #places = new IdOrder<Place>();
  readonly #placeOf = new Map<Pending, Place>();
  #putCount = 0;

  get size(): number {
    return this.#places.size;
  }

  /** Work so far. Only grows; complexity tests read it. */
  get work(): number {
    return this.#places.work;
  }

  /** Puts a pending entry that is new or was delivered again. */
  put(pending: Pending): void {
    this.remove(pending);
    this.#putCount += 1;
    const place: Place = { ms: pending.deliveredAtMs, seq: this.#putCount, pending };
    this.#placeOf.set(pending, place);
    this.#places.insert(place);
  }

  remove(pending: Pending): void {
    const place = this.#placeOf.get(pending);
    if (place === undefined) return;
    this.#placeOf.delete(pending);
    this.#places.remove(place);
  }

  /** Calls `visit` for the entries, longest idle first, until it returns false. It must not change them. */
  visit(visit: (pending: Pending) => boolean): void {
    this.#places.visit(ID_MIN, ID_MAX, ({ pending }) => visit(pending));
  }
}
