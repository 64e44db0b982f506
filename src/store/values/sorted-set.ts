/**
 * A sorted set: distinct members, each with a score that is not NaN.
 *
 * The pairs are in order in a tree. A small set has only the tree, which is
 * searched from the front for a member; a larger one also has a dictionary from
 * member to score, and keeps it.
 *
 * A small set stores -0 as 0, because Redis' listpack does; a large one keeps it.
 *
 * (1) With a dictionary, it and the tree hold the same pairs, and the same
 *     string for each member.
 */
import { type Bytes, memoryBytesOf } from "../../kernel/bytes.ts";
import { Dictionary } from "../structures/dictionary.ts";
import { type PairVisitor, ScoreTree } from "../structures/score-tree.ts";

/** Redis' zset-max-listpack-entries, and our limit for searching from the front. */
export const COMPACT_COUNT_MAX = 128;
/** Redis' zset-max-listpack-value. */
export const COMPACT_BYTES_MAX = 64;
/** The object itself, roughly. */
const FIXED_BYTES = 310;
/** A score in the dictionary that is not a small integer is an object of 16 bytes; counted for half of them. */
const SCORE_BYTES = 8;

/** The ranks `from` … `from + count - 1`. */
export interface RankRange {
  readonly from: number;
  readonly count: number;
}

export class SortedSetValue {
  readonly typeName = "zset";
  readonly #hashSeed: Uint8Array;
  readonly #tree = new ScoreTree();
  #table: Dictionary<number> | undefined;
  /** Of the members, while no dictionary counts them. */
  #memberBytes = 0;

  /** `isLarge`: in the large form at any size, as results of unions are until they are stored. */
  constructor(hashSeed: Uint8Array, options?: { isLarge: boolean }) {
    this.#hashSeed = hashSeed;
    if (options?.isLarge === true) this.#enlarge();
  }

  get size(): number {
    return this.#tree.size;
  }

  /** True while Redis would keep such a set as a listpack; it never goes back. */
  get isListpack(): boolean {
    return this.#table === undefined;
  }

  /** Pairs, entries and nodes examined or moved so far. Only grows; complexity tests read it. */
  get work(): number {
    const table = this.#table;
    return this.#tree.visits + this.#tree.moves + (table === undefined ? 0 : table.visits + table.moves);
  }

  /** Approximate memory in bytes. */
  get memoryBytes(): number {
    const table = this.#table;
    const members = table === undefined ? this.#memberBytes : table.memoryBytes + table.size * SCORE_BYTES;
    return FIXED_BYTES + this.#tree.memoryBytes + members;
  }

  /** The score of a member, or undefined. */
  get(member: Bytes): number | undefined {
    if (this.#table !== undefined) return this.#table.get(member);
    const rank = this.#tree.findMember(member);
    return rank < 0 ? undefined : this.#tree.scoreAt(rank);
  }

  has(member: Bytes): boolean {
    return this.#table !== undefined ? this.#table.has(member) : this.#tree.findMember(member) >= 0;
  }

  /** Sets the score of a member, new or not. */
  put(member: Bytes, score: number): void {
    const table = this.#table;
    if (table === undefined) {
      this.#putCompact(member, score);
      return;
    }
    const slot = table.find(member);
    if (slot < 0) {
      table.insert(member, score);
      this.#tree.insert(score, member);
    } else {
      this.#tree.move(member, { from: table.valueAt(slot), to: score });
      table.setValueAt(slot, score);
    }
  }

  /**
   * As `put`, for a member whose score the caller has just read; `from` is undefined if it is new. A small set is not
   * searched again.
   */
  change(member: Bytes, { from, to }: { readonly from: number | undefined; readonly to: number }): void {
    if (this.#table !== undefined) this.put(member, to);
    else if (from === undefined) this.#insertCompact(member, to);
    else this.#moveCompact(member, { from, to });
  }

  /** True if the member existed. */
  delete(member: Bytes): boolean {
    const table = this.#table;
    if (table === undefined) {
      const rank = this.#tree.findMember(member);
      if (rank < 0) return false;
      this.#tree.removeRanks(rank, 1);
      this.#memberBytes -= memoryBytesOf(member);
      return true;
    }
    const slot = table.find(member);
    if (slot < 0) return false;
    this.#tree.remove(table.valueAt(slot), member);
    table.removeAt(slot);
    return true;
  }

  /** Removes the members at these ranks, which must exist. */
  deleteRanks({ from, count }: RankRange): void {
    const table = this.#table;
    this.#tree.visit(from, count, (member) => {
      if (table === undefined) this.#memberBytes -= memoryBytesOf(member);
      else table.delete(member);
    });
    this.#tree.removeRanks(from, count);
  }

  /** The number of members before this one, or undefined if it does not exist. */
  rankOf(member: Bytes): number | undefined {
    const table = this.#table;
    if (table !== undefined) {
      const score = table.get(member);
      return score === undefined ? undefined : this.#tree.rankOf(score, member);
    }
    const rank = this.#tree.findMember(member);
    return rank < 0 ? undefined : rank;
  }

  /** The number of members with a smaller score, or with `orEqual` one that is not greater. */
  countBelow(score: number, options: { orEqual: boolean }): number {
    return this.#tree.countBelow(score, options);
  }

  /** The number of pairs before this one, whether or not it exists. */
  placeOf(score: number, member: Bytes): number {
    return this.#tree.rankOf(score, member);
  }

  memberAtRank(rank: number): Bytes {
    return this.#tree.memberAt(rank);
  }

  scoreAtRank(rank: number): number {
    return this.#tree.scoreAt(rank);
  }

  /** Visits pairs in order; ranks must exist, and the set must not change meanwhile. */
  visit({ from, count }: RankRange, visitor: PairVisitor): void {
    this.#tree.visit(from, count, visitor);
  }

  /** The same pairs in reverse order. */
  visitBackwards({ from, count }: RankRange, visitor: PairVisitor): void {
    this.#tree.visitBackwards(from, count, visitor);
  }

  /** The member at an index in 0 … size - 1, in no particular order but found in constant time. */
  memberAt(place: number): Bytes {
    return this.#table !== undefined ? this.#table.keyAt(place) : this.#tree.memberAt(place);
  }

  scoreAt(place: number): number {
    return this.#table !== undefined ? this.#table.valueAt(place) : this.#tree.scoreAt(place);
  }

  /** One step of a SCAN: visits some entries and returns the next cursor, 0 at the end. */
  scan(cursor: number, visit: (place: number) => void): number {
    if (this.#table !== undefined) return this.#table.scan(cursor, visit);
    for (let place = 0; place < this.size; place += 1) visit(place);
    return 0;
  }

  /** Makes the score of a member, or its absence, what it is now, if only this has changed since. `score`: as `get`. */
  memberRestorer(member: Bytes, score: number | undefined): () => void {
    const isLarge = this.#table !== undefined;
    return () => {
      if (score === undefined) this.delete(member);
      else this.put(member, score);
      if (!isLarge) this.#shrink();
    };
  }

  copy(): SortedSetValue {
    return this.#copy({ isLarge: this.#table !== undefined });
  }

  /** The same pairs in the small form if they fit: this set, or a copy. */
  compacted(): SortedSetValue {
    if (this.#table === undefined || this.size > COMPACT_COUNT_MAX) return this;
    const copy = this.#copy({ isLarge: false });
    return copy.isListpack ? copy : this;
  }

  #copy(options: { isLarge: boolean }): SortedSetValue {
    const copy = new SortedSetValue(this.#hashSeed, options);
    this.#tree.visit(0, this.size, (member, score) => copy.put(member, score));
    return copy;
  }

  #putCompact(member: Bytes, score: number): void {
    const rank = this.#tree.findMember(member);
    if (rank < 0) this.#insertCompact(member, score);
    else this.#moveCompact(member, { from: this.#tree.scoreAt(rank), to: score });
  }

  // Adding 0 makes 0 of -0.

  #moveCompact(member: Bytes, { from, to }: { readonly from: number; readonly to: number }): void {
    this.#tree.move(member, { from, to: to + 0 });
  }

  #insertCompact(member: Bytes, score: number): void {
    const tree = this.#tree;
    if (tree.size === COMPACT_COUNT_MAX || member.length > COMPACT_BYTES_MAX) {
      this.#enlarge();
      this.put(member, score);
    } else {
      tree.insert(score + 0, member);
      this.#memberBytes += memoryBytesOf(member);
    }
  }

  #enlarge(): void {
    const table = new Dictionary<number>(this.#hashSeed);
    this.#tree.visit(0, this.#tree.size, (member, score) => table.insert(member, score)); // keeps (1)
    this.#table = table;
    this.#memberBytes = 0;
  }

  /** Reverses `#enlarge`. */
  #shrink(): void {
    if (this.#table === undefined) return;
    this.#table = undefined;
    this.#tree.visit(0, this.#tree.size, (member) => {
      this.#memberBytes += memoryBytesOf(member);
    });
  }
}
