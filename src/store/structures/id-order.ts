/**
 * Items with the id of a stream entry, in the order of their ids.
 *
 *     leaves   [ [a b c …] [d e …] … ]
 *
 * Two levels are enough: a leaf has up to 128 items, and the list of leaves has
 * binary search; ten million items make a list of eighty thousand leaves, which
 * is moved once in a hundred insertions or removals.
 *
 * The oldest item is mostly the next to go. So a leaf keeps the free places before
 * its first item, and a removal there moves nothing.
 *
 * (1) No leaf is empty, except the only one of an empty order.
 * (2) Ids rise strictly within a leaf and from leaf to leaf.
 * (3) A leaf has fewer than 128 free places before its first item.
 */
import { assert } from "../../kernel/assert.ts";
import { compareIds, ID_MAX, ID_MIN, type StreamId } from "./stream-id.ts";

const LEAF_MAX = 128;
/** Neighbours with at most this many items together are merged when one of them shrinks. */
const MERGED_MAX = LEAF_MAX / 2;

interface Leaf<T> {
  /** From `start` on; the places before are undefined. */
  readonly items: T[];
  start: number;
}

export class IdOrder<T extends StreamId> {
  #leaves: Leaf<T>[] = [{ items: [], start: 0 }];
  #size = 0;
  #work = 0;
  /** The leaf and the place where the last search ended: that item is mostly removed next, or the one after it. */
  #searched = 0;
  #place = 0;

  get size(): number {
    return this.#size;
  }

  /** Items compared or moved so far. Only grows; complexity tests read it. */
  get work(): number {
    return this.#work;
  }

  get first(): T | undefined {
    return firstOf(this.#leaves[0]);
  }

  get last(): T | undefined {
    const last = this.#leaves.at(-1);
    return last === undefined || last.items.length === last.start ? undefined : last.items.at(-1);
  }

  find(id: StreamId): T | undefined {
    const near = this.#placeNear(id);
    if (near >= 0) return this.#leaves[this.#searched]?.items[near];
    const found = this.atOrBefore(id);
    return found !== undefined && compareIds(found, id) === 0 ? found : undefined;
  }

  /** The last item whose id is at most this one. */
  atOrBefore(id: StreamId): T | undefined {
    const leaf = this.#leaves[this.#leafOf(id)] as Leaf<T>;
    const place = this.#indexAfter(leaf, id) - 1;
    return place < leaf.start ? undefined : leaf.items[place];
  }

  /** The id must not exist yet. */
  insert(thing: T): void {
    const leaves = this.#leaves;
    const at = this.#leafOf(thing);
    const leaf = leaves[at] as Leaf<T>;
    const { items } = leaf;
    const count = items.length - leaf.start;
    if (count === 0) {
      // A literal reserves space for one only.
      leaves[at] = { items: [thing], start: 0 };
      this.#size = 1;
      return;
    }
    const place = this.#indexAfter(leaf, thing);
    assert(place === leaf.start || compareIds(items[place - 1] as T, thing) < 0, "an id is in an order once");
    this.#size += 1;
    if (count === LEAF_MAX) {
      // Growth at the end leaves full leaves.
      if (place === items.length && at === leaves.length - 1) {
        leaves.push({ items: [thing], start: 0 });
        return;
      }
      const middle = leaf.start + (LEAF_MAX >> 1);
      const moved = items.splice(middle);
      leaves.splice(at + 1, 0, { items: moved, start: 0 });
      this.#work += LEAF_MAX;
      if (place > middle) moved.splice(place - middle, 0, thing);
      else items.splice(place, 0, thing);
      return;
    }
    if (place === items.length) {
      items.push(thing);
    } else {
      this.#work += items.length - place;
      items.splice(place, 0, thing);
    }
  }

  /** Removes and returns the item with this id, or undefined. */
  remove(id: StreamId): T | undefined {
    const near = this.#placeNear(id);
    const at = near >= 0 ? this.#searched : this.#leafOf(id);
    const leaf = this.#leaves[at] as Leaf<T>;
    const { items } = leaf;
    const place = near >= 0 ? near : this.#indexAfter(leaf, id) - 1;
    if (place < leaf.start) return undefined;
    const thing = items[place] as T;
    if (near < 0 && compareIds(thing, id) !== 0) return undefined;
    if (place === leaf.start) {
      this.#work += 1;
      items[place] = undefined as unknown as T;
      leaf.start += 1;
      if (leaf.start === LEAF_MAX) this.#dropFreePlaces(leaf); // keeps (3)
    } else {
      this.#work += items.length - place;
      items.splice(place, 1);
    }
    this.#size -= 1;
    this.#mergeAt(at);
    return thing;
  }

  /** Calls `visit` for the items from one id to another, both included, in order, until it returns false. */
  visit(from: StreamId, to: StreamId, visit: (thing: T) => boolean): void {
    const leaves = this.#leaves;
    let at = this.#leafOf(from);
    let leaf = leaves[at] as Leaf<T>;
    let place = this.#indexAfter(leaf, from);
    if (place > leaf.start && compareIds(leaf.items[place - 1] as T, from) === 0) place -= 1;
    for (;;) {
      const { items } = leaf;
      for (; place < items.length; place += 1) {
        const thing = items[place] as T;
        this.#work += 1;
        if (compareIds(thing, to) > 0 || !visit(thing)) return;
      }
      at += 1;
      const next = leaves[at];
      if (next === undefined) return;
      leaf = next;
      place = leaf.start;
    }
  }

  /** As `visit`, in reverse order. */
  visitBackwards(from: StreamId, to: StreamId, visit: (thing: T) => boolean): void {
    const leaves = this.#leaves;
    let at = this.#leafOf(to);
    let leaf = leaves[at] as Leaf<T>;
    let place = this.#indexAfter(leaf, to) - 1;
    for (;;) {
      const { items, start } = leaf;
      for (; place >= start; place -= 1) {
        const thing = items[place] as T;
        this.#work += 1;
        if (compareIds(thing, from) < 0 || !visit(thing)) return;
      }
      at -= 1;
      const previous = leaves[at];
      if (previous === undefined) return;
      leaf = previous;
      place = leaf.items.length - 1;
    }
  }

  /** All items, in order. */
  all(): T[] {
    const things: T[] = [];
    this.visit(ID_MIN, ID_MAX, (thing) => things.push(thing) > 0);
    return things;
  }

  clear(): void {
    this.#leaves = [{ items: [], start: 0 }];
    this.#size = 0;
  }

  /** The place of this id in the leaf `#searched`, if the last search ended there or just before it; else -1. */
  #placeNear(id: StreamId): number {
    const leaf = this.#leaves[this.#searched];
    if (leaf === undefined) return -1;
    const { items, start } = leaf;
    const place = this.#place;
    // An id is in an order once, so a place that has it is the right one, whatever has moved since.
    if (place > start && place <= items.length && isSameId(items[place - 1] as T, id)) return place - 1;
    if (place < start || place >= items.length || !isSameId(items[place] as T, id)) return -1;
    this.#place = place + 1;
    return place;
  }

  /** The leaf of this id, or where it would be inserted. */
  #leafOf(id: StreamId): number {
    const leaves = this.#leaves;
    let low = 0;
    let high = leaves.length - 1;
    // Most insertions and look-ups are at the end.
    if (high > 0 && compareIds(firstOf(leaves[high]) as T, id) <= 0) return high;
    const searched = this.#searched;
    if (searched < high && compareIds(firstOf(leaves[searched + 1]) as T, id) > 0) {
      if (searched === 0 || compareIds(firstOf(leaves[searched]) as T, id) <= 0) return searched;
      high = searched - 1;
    }
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      this.#work += 1;
      if (compareIds(firstOf(leaves[middle]) as T, id) <= 0) low = middle;
      else high = middle - 1;
    }
    this.#searched = low;
    return low;
  }

  /** The place in a leaf just after the last item that is not greater than this id. */
  #indexAfter({ items, start }: Leaf<T>, id: StreamId): number {
    let low = start;
    let high = items.length;
    const place = this.#place;
    if (place >= start && place <= high) {
      if (place > start && isSameId(items[place - 1] as T, id)) return place;
      if (place < high && isSameId(items[place] as T, id)) {
        this.#place = place + 1;
        return place + 1;
      }
    }
    if (high > low && compareIds(items[high - 1] as T, id) <= 0) return high;
    while (low < high) {
      const middle = (low + high) >> 1;
      this.#work += 1;
      if (compareIds(items[middle] as T, id) <= 0) low = middle + 1;
      else high = middle;
    }
    this.#place = low;
    return low;
  }

  #dropFreePlaces(leaf: Leaf<T>): void {
    leaf.items.splice(0, leaf.start);
    leaf.start = 0;
    this.#work += leaf.items.length;
  }

  /** After a leaf has shrunk: keeps (1), and few leaves. */
  #mergeAt(at: number): void {
    const leaves = this.#leaves;
    const leaf = leaves[at] as Leaf<T>;
    const count = countOf(leaf);
    if (leaves.length === 1 || count > MERGED_MAX) return;
    if (count === 0) {
      leaves.splice(at, 1);
      return;
    }
    const left = at + 1 < leaves.length ? at : at - 1;
    const one = leaves[left] as Leaf<T>;
    const other = leaves[left + 1] as Leaf<T>;
    if (countOf(one) + countOf(other) > MERGED_MAX) return;
    this.#work += countOf(other);
    for (let i = other.start; i < other.items.length; i += 1) one.items.push(other.items[i] as T);
    leaves.splice(left + 1, 1);
  }
}

function firstOf<T>(leaf: Leaf<T> | undefined): T | undefined {
  return leaf === undefined || leaf.start === leaf.items.length ? undefined : leaf.items[leaf.start];
}

function countOf({ items, start }: Leaf<unknown>): number {
  return items.length - start;
}

function isSameId(one: StreamId, other: StreamId): boolean {
  return one.ms === other.ms && one.seq === other.seq;
}
