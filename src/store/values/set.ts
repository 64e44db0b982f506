/**
 * A set: distinct members, in one of three forms.
 *
 *     integers   an ascending array of numbers, with binary search
 *     plain      an array of members in the order of insertion, searched from the front
 *     table      a dictionary without values
 *
 * A set begins as integers and changes only to the next forms: a member that is
 * not an integer, or one too many, changes it.
 *
 * (1) Exactly one of the three forms exists.
 * (2) A member of `#integers` is the number of its text, and no other text has that number (`parseInteger` is strict).
 *     Integers beyond ±(2^53 - 1) cannot be numbers and change the form.
 * (3) `#isIntset` is the encoding in Redis: an intset while all members since the creation were 64-bit integers and at
 *     most `INTSET_COUNT_MAX`. It never becomes true again, and without it `#integers` does not exist.
 */
import { type Bytes, memoryBytesOf } from "../../kernel/bytes.ts";
import { Dictionary } from "../structures/dictionary.ts";
import { parseInteger } from "../structures/numbers/number-text.ts";

/** Redis' set-max-intset-entries. */
export const INTSET_COUNT_MAX = 512;
/** Limit of members in the plain array. */
const PLAIN_COUNT_MAX = 64;
/** The object and its empty array, roughly. */
const FIXED_BYTES = 240;

export class SetValue {
  readonly typeName = "set";
  readonly #hashSeed: Uint8Array;
  #integers: number[] | undefined = [];
  #plain: Bytes[] | undefined;
  #table: Dictionary<undefined> | undefined;
  #isIntset = true;
  /** Of the strings in `#plain`. */
  #plainBytes = 0;

  constructor(hashSeed: Uint8Array) {
    this.#hashSeed = hashSeed;
  }

  get size(): number {
    if (this.#table !== undefined) return this.#table.size;
    return (this.#integers ?? this.#plainMembers).length;
  }

  /** True while Redis would keep such a set as an intset. */
  get isIntset(): boolean {
    return this.#isIntset;
  }

  /** Approximate memory in bytes. */
  get memoryBytes(): number {
    if (this.#table !== undefined) return FIXED_BYTES + this.#table.memoryBytes;
    return FIXED_BYTES + 8 * this.size + this.#plainBytes;
  }

  /** Entries that its table has examined or moved so far. Only grows; complexity tests read it. */
  get work(): number {
    return this.#table === undefined ? 0 : this.#table.visits + this.#table.moves;
  }

  has(member: Bytes): boolean {
    if (this.#table !== undefined) return this.#table.has(member);
    const integers = this.#integers;
    if (integers === undefined) return this.#plainMembers.includes(member);
    const number = parseInteger(member);
    return typeof number === "number" && integers[placeOf(integers, number)] === number;
  }

  /**
   * Filters slots of another set (at most `SIFT_COUNT_MAX`) to those whose members this set has, or does not have, in
   * order and in place. Returns how many remain.
   */
  siftMembersOf(other: SetValue, places: Int32Array, options: { count: number; wanted: boolean }): number {
    if (this.#table !== undefined && other.#table !== undefined)
      return this.#table.siftKeysOf(other.#table, places, options);
    const { count, wanted } = options;
    let left = 0;
    for (let i = 0; i < count; i += 1) {
      const place = places[i] as number;
      if (this.has(other.memberAt(place)) === wanted) places[left++] = place;
    }
    return left;
  }

  /** True if the member is new. */
  add(member: Bytes): boolean {
    if (this.has(member)) return false;
    this.insert(member);
    return true;
  }

  /** Adds a member for which `has` has just returned false. */
  insert(member: Bytes): void {
    const size = this.size;
    if (this.#isIntset) {
      const number = parseInteger(member);
      this.#isIntset = number !== undefined && size < INTSET_COUNT_MAX; // keeps (3)
      if (this.#integers !== undefined) {
        if (this.#isIntset && typeof number === "number") {
          this.#integers.splice(placeOf(this.#integers, number), 0, number);
          return;
        }
        this.#leaveIntegers(this.#integers);
      }
    }
    if (this.#table === undefined && size >= PLAIN_COUNT_MAX) this.#enlarge();
    if (this.#table !== undefined) {
      this.#table.insert(member, undefined);
    } else {
      this.#plainMembers.push(member);
      this.#plainBytes += memoryBytesOf(member);
    }
  }

  /** True if the member existed. */
  delete(member: Bytes): boolean {
    if (this.#table !== undefined) return this.#table.delete(member);
    const integers = this.#integers;
    if (integers !== undefined) {
      const number = parseInteger(member);
      if (typeof number !== "number") return false;
      const place = placeOf(integers, number);
      if (integers[place] !== number) return false;
      integers.splice(place, 1);
      return true;
    }
    const place = this.#plainMembers.indexOf(member);
    if (place < 0) return false;
    this.#plainMembers.splice(place, 1);
    this.#plainBytes -= memoryBytesOf(member);
    return true;
  }

  /** The member at an index in 0 … size - 1, in no particular order. Any change may move members. */
  memberAt(place: number): Bytes {
    if (this.#table !== undefined) return this.#table.keyAt(place);
    return this.#integers !== undefined ? String(this.#integers[place]) : (this.#plainMembers[place] as Bytes);
  }

  /** One step of a SCAN: visits some entries and returns the next cursor, 0 at the end. */
  scan(cursor: number, visit: (place: number) => void): number {
    if (this.#table !== undefined) return this.#table.scan(cursor, visit);
    for (let place = 0; place < this.size; place += 1) visit(place);
    return 0;
  }

  copy(): SetValue {
    const copy = new SetValue(this.#hashSeed);
    if (!this.#isIntset) copy.#leaveIntegers([]);
    copy.#isIntset = this.#isIntset;
    for (let place = 0; place < this.size; place += 1) copy.insert(this.memberAt(place));
    return copy;
  }

  /** True while it is small enough to be saved as a whole, with `restorer`. */
  get isCompact(): boolean {
    return this.#table === undefined;
  }

  /** Makes it what it is now. It must be compact. */
  restorer(): () => void {
    const integers = this.#integers?.slice();
    const plain = this.#plain?.slice();
    const plainBytes = this.#plainBytes;
    const isIntset = this.#isIntset;
    return () => {
      this.#integers = integers;
      this.#plain = plain;
      this.#table = undefined;
      this.#plainBytes = plainBytes;
      this.#isIntset = isIntset;
    };
  }

  /** Makes a member missing again, or existing, as it is now, if only this has changed since. Not if compact. */
  memberRestorer(member: Bytes): () => void {
    const table = this.#table as Dictionary<undefined>;
    const slot = table.find(member);
    const isIntset = this.#isIntset;
    return () => {
      if (slot < 0) table.delete(member);
      else if (!table.has(member)) table.restoreAt(slot, member, undefined);
      this.#isIntset = isIntset;
    };
  }

  get #plainMembers(): Bytes[] {
    return this.#plain as Bytes[];
  }

  #leaveIntegers(integers: readonly number[]): void {
    this.#integers = undefined;
    this.#plain = integers.map(String);
    for (const member of this.#plain) this.#plainBytes += memoryBytesOf(member);
  }

  #enlarge(): void {
    const table = new Dictionary<undefined>(this.#hashSeed, { values: false });
    for (const member of this.#plainMembers) table.insert(member, undefined);
    this.#table = table;
    this.#plain = undefined;
    this.#plainBytes = 0;
  }
}

/** The index of the number in an ascending array, or where to insert it. */
function placeOf(integers: readonly number[], number: number): number {
  let low = 0;
  let high = integers.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((integers[middle] as number) < number) low = middle + 1;
    else high = middle;
  }
  return low;
}
