/**
 * Items with the id of a stream entry, in the order of their ids.
 *
 *     leaves   [ [a b c …] [d e …] … ]
 *
 * Two levels are enough: a leaf has up to 128 items, and the list of leaves has
 * binary search; ten million items make a list of eighty thousand leaves, which
 * is moved once in a hundred insertions or removals.
 *
 * (1) No leaf is empty, except the only one of an empty order.
 * (2) Ids rise strictly within a leaf and from leaf to leaf.
 */
import { assert } from "../../kernel/assert.ts";
import { compareIds, ID_MAX, ID_MIN, type StreamId } from "./stream-id.ts";

const LEAF_MAX = 128;
/** Neighbours with at most this many items together are merged when one of them shrinks. */
const MERGED_MAX = LEAF_MAX / 2;

export class IdOrder<T extends StreamId> {
  #leaves: T[][] = [[]];
  #size = 0;
  #work = 0;
  /** The leaf that was searched last: the found item is mostly removed next, or the one after it. */
  #searched = 0;

  get size(): number {
    return this.#size;
  }

  /** Items compared or moved so far. Only grows; complexity tests read it. */
  get work(): number {
    return this.#work;
  }

  get first(): T | undefined {
    return this.#leaves[0]?.[0];
  }

  get last(): T | undefined {
    return this.#leaves.at(-1)?.at(-1);
  }

  find(id: StreamId): T | undefined {
    const found = this.atOrBefore(id);
    return found !== undefined && compareIds(found, id) === 0 ? found : undefined;
  }

  /** The last item whose id is at most this one. */
  atOrBefore(id: StreamId): T | undefined {
    const leaf = this.#leaves[this.#leafOf(id)] as T[];
    return leaf[this.#indexAfter(leaf, id) - 1];
  }

  /** The id must not exist yet. */
  insert(thing: T): void {
    const leaves = this.#leaves;
    const at = this.#leafOf(thing);
    const leaf = leaves[at] as T[];
    if (leaf.length === 0) {
      // A literal reserves space for one only.
      leaves[at] = [thing];
      this.#size = 1;
      return;
    }
    const place = this.#indexAfter(leaf, thing);
    assert(place === 0 || compareIds(leaf[place - 1] as T, thing) < 0, "an id is in an order once");
    this.#size += 1;
    if (leaf.length === LEAF_MAX) {
      // Growth at the end leaves full leaves.
      if (place === LEAF_MAX && at === leaves.length - 1) {
        leaves.push([thing]);
        return;
      }
      const moved = leaf.splice(LEAF_MAX >> 1);
      leaves.splice(at + 1, 0, moved);
      this.#work += LEAF_MAX;
      if (place > leaf.length) moved.splice(place - leaf.length, 0, thing);
      else leaf.splice(place, 0, thing);
      return;
    }
    if (place === leaf.length) {
      leaf.push(thing);
    } else {
      this.#work += leaf.length - place;
      leaf.splice(place, 0, thing);
    }
  }

  /** Removes and returns the item with this id, or undefined. */
  remove(id: StreamId): T | undefined {
    const at = this.#leafOf(id);
    const leaf = this.#leaves[at] as T[];
    const place = this.#indexAfter(leaf, id) - 1;
    const thing = leaf[place];
    if (thing === undefined || compareIds(thing, id) !== 0) return undefined;
    this.#work += leaf.length - place;
    // Mostly the oldest is removed, and `shift` moves the rest several times as fast.
    if (place === 0) leaf.shift();
    else leaf.splice(place, 1);
    this.#size -= 1;
    this.#mergeAt(at);
    return thing;
  }

  /** Calls `visit` for the items from one id to another, both included, in order, until it returns false. */
  visit(from: StreamId, to: StreamId, visit: (thing: T) => boolean): void {
    const leaves = this.#leaves;
    let at = this.#leafOf(from);
    let leaf = leaves[at] as T[];
    let place = this.#indexAfter(leaf, from);
    if (place > 0 && compareIds(leaf[place - 1] as T, from) === 0) place -= 1;
    for (;;) {
      for (; place < leaf.length; place += 1) {
        const thing = leaf[place] as T;
        this.#work += 1;
        if (compareIds(thing, to) > 0 || !visit(thing)) return;
      }
      at += 1;
      const next = leaves[at];
      if (next === undefined) return;
      leaf = next;
      place = 0;
    }
  }

  /** As `visit`, in reverse order. */
  visitBackwards(from: StreamId, to: StreamId, visit: (thing: T) => boolean): void {
    const leaves = this.#leaves;
    let at = this.#leafOf(to);
    let leaf = leaves[at] as T[];
    let place = this.#indexAfter(leaf, to) - 1;
    for (;;) {
      for (; place >= 0; place -= 1) {
        const thing = leaf[place] as T;
        this.#work += 1;
        if (compareIds(thing, from) < 0 || !visit(thing)) return;
      }
      at -= 1;
      const previous = leaves[at];
      if (previous === undefined) return;
      leaf = previous;
      place = leaf.length - 1;
    }
  }

  /** All items, in order. */
  all(): T[] {
    const things: T[] = [];
    this.visit(ID_MIN, ID_MAX, (thing) => things.push(thing) > 0);
    return things;
  }

  clear(): void {
    this.#leaves = [[]];
    this.#size = 0;
  }

  /** The leaf of this id, or where it would be inserted. */
  #leafOf(id: StreamId): number {
    const leaves = this.#leaves;
    let low = 0;
    let high = leaves.length - 1;
    // Most insertions and look-ups are at the end.
    if (high > 0 && compareIds(leaves[high]?.[0] as T, id) <= 0) return high;
    const searched = this.#searched;
    if (searched < high && compareIds(leaves[searched + 1]?.[0] as T, id) > 0) {
      if (searched === 0 || compareIds(leaves[searched]?.[0] as T, id) <= 0) return searched;
      high = searched - 1;
    }
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      this.#work += 1;
      if (compareIds(leaves[middle]?.[0] as T, id) <= 0) low = middle;
      else high = middle - 1;
    }
    this.#searched = low;
    return low;
  }

  /** The index in a leaf just after the last item that is not greater than this id. */
  #indexAfter(leaf: readonly T[], id: StreamId): number {
    let low = 0;
    let high = leaf.length;
    if (high > 0 && compareIds(leaf[high - 1] as T, id) <= 0) return high;
    while (low < high) {
      const middle = (low + high) >> 1;
      this.#work += 1;
      if (compareIds(leaf[middle] as T, id) <= 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** After a leaf has shrunk: keeps (1), and few leaves. */
  #mergeAt(at: number): void {
    const leaves = this.#leaves;
    const leaf = leaves[at] as T[];
    if (leaves.length === 1 || leaf.length > MERGED_MAX) return;
    if (leaf.length === 0) {
      leaves.splice(at, 1);
      return;
    }
    const left = at + 1 < leaves.length ? at : at - 1;
    const one = leaves[left] as T[];
    const other = leaves[left + 1] as T[];
    if (one.length + other.length > MERGED_MAX) return;
    this.#work += other.length;
    for (const thing of other) one.push(thing);
    leaves.splice(left + 1, 1);
  }
}
