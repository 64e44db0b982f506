/**
 * Pairs of score and member in order, found by score, by pair, or by rank. The
 * order is that of Redis: by score, equal scores by the bytes of the member.
 *
 * A counted B+ tree. Leaves have the pairs and are linked both ways; an inner
 * node has, for each child, the number of pairs below it.
 *
 *     leaf    scores | members                         rank within = index
 *     inner   scores | members | children | counts     bounds of the children
 *
 * Scores are unboxed in arrays of doubles. Nodes have binary search, so a member
 * is compared only where scores are equal. (In a Float64Array, moving scores
 * would be 25 ns faster of the 650 of an insertion, but each array has some 200
 * bytes of its own, which is much for a set of three members.) At a million
 * members every call is two to fifteen times as fast as on a skip list of
 * pointers, in a tenth of its memory: bench/sorted-set.bench.ts.
 *
 * Invariants
 * (1) The bound of a child is at most its first pair and greater than every pair of the child before it. The bound of
 *     the first child of a node is not read.
 * (2) `counts[i]` is the number of pairs below `children[i]`.
 * (3) All leaves have the same depth. A node has at most NODE_MAX slots. All but the root and the right edge have at
 *     least NODE_MIN, and an inner node never fewer than two.
 * (4) The arrays of scores hold doubles from their first element on, so that V8 never boxes them.
 */
import { assert } from "../../kernel/assert.ts";
import type { Bytes } from "../../kernel/bytes.ts";

/** Slots of a node. bench/sorted-set.bench.ts: changes and pops are slower with 128, which saves 5 bytes a member. */
const NODE_MAX = 64;
/** A node with fewer is filled from its neighbour or joined with it. A quarter, so that sizes may vary without work. */
const NODE_MIN = NODE_MAX / 4;

/** A pair with its share of a node that is two thirds full, and of the nodes above, as measured. */
const PAIR_BYTES = 29;

export type PairVisitor = (member: Bytes, score: number) => void;

class Node {
  scores: number[];
  members: Bytes[];
  /** Empty in a leaf, as `counts` is. */
  readonly children: Node[];
  readonly counts: number[];
  /** The neighbouring leaves. */
  next: Node | undefined;
  previous: Node | undefined;

  constructor(parts: { scores: number[]; members: Bytes[]; children: Node[]; counts: number[] }) {
    this.scores = parts.scores;
    this.members = parts.members;
    this.children = parts.children;
    this.counts = parts.counts;
    this.next = undefined;
    this.previous = undefined;
  }
}

// The path to the last found leaf, for all trees: no function here is reentrant.
const pathNodes: Node[] = [];
const pathSlots: number[] = [];
let pathLength = 0;
/** Index of the found pair in its leaf. */
let foundAt = 0;

export class ScoreTree {
  /** Nodes entered and pairs passed by searches so far. Only grows; complexity tests read it. */
  visits = 0;
  /** Slots moved by insertions, removals, splits and joins so far. Only grows. */
  moves = 0;

  #size = 0;
  #root: Node = emptyLeaf();

  /** The number of pairs. Ranks run from 0 to size - 1. */
  get size(): number {
    return this.#size;
  }

  /** Approximate memory of the tree without its members, in bytes. */
  get memoryBytes(): number {
    return 200 + this.#size * PAIR_BYTES;
  }

  /** Adds a pair, which must not exist. */
  insert(score: number, member: Bytes): void {
    let node = this.#descend(score, member);
    for (let depth = 0; depth < pathLength; depth += 1) {
      const { counts } = pathNodes[depth] as Node;
      const slot = pathSlots[depth] as number;
      counts[slot] = (counts[slot] as number) + 1;
    }
    this.#size += 1;
    const at = foundAt;
    this.moves += node.members.length - at;
    insertScore(node.scores, at, score);
    insertItem(node.members, at, member);

    // A set that grows at its end fills its leaves instead of leaving them half empty.
    let isAppend = node.next === undefined && at === node.members.length - 1;
    for (let depth = pathLength - 1; node.members.length > NODE_MAX; depth -= 1) {
      const right = this.#split(node, isAppend);
      if (depth < 0) {
        this.#growRoot(node, right);
        break;
      }
      const parent = pathNodes[depth] as Node;
      const slot = pathSlots[depth] as number;
      const rightCount = countBelow(right);
      parent.counts[slot] = (parent.counts[slot] as number) - rightCount;
      insertSlot(parent, slot + 1, right, rightCount);
      this.moves += parent.members.length - slot;
      isAppend = isAppend && slot === parent.members.length - 2;
      node = parent;
    }
  }

  /** Removes a pair, which must exist. */
  remove(score: number, member: Bytes): void {
    const leaf = this.#descend(score, member);
    assert(leaf.members[foundAt] === member, "the removed pair is in the tree");
    this.#removeFound(leaf, 1);
  }

  /** Changes the score of a member, which must exist. */
  move(member: Bytes, scores: { from: number; to: number }): void {
    const leaf = this.#descend(scores.from, member);
    assert(leaf.members[foundAt] === member, "the moved pair is in the tree");
    const stored = leaf.members[foundAt] as Bytes;
    if (fitsAt(leaf, foundAt, scores.to)) {
      leaf.scores[foundAt] = scores.to;
      return;
    }
    this.#removeFound(leaf, 1);
    this.insert(scores.to, stored);
  }

  /** Removes the pairs at ranks `from` … `from + count - 1`, which must exist. */
  removeRanks(from: number, count: number): void {
    for (let left = count; left > 0; ) {
      const leaf = this.#descendToRank(from);
      const length = Math.min(left, leaf.members.length - foundAt);
      this.#removeFound(leaf, length);
      left -= length;
    }
  }

  /** The number of pairs before this one, whether or not it exists. */
  rankOf(score: number, member: Bytes): number {
    this.#descend(score, member);
    return rankOnPath() + foundAt;
  }

  /** The number of pairs with a smaller score, or with `orEqual` one that is not greater. */
  countBelow(score: number, options: { orEqual: boolean }): number {
    const { orEqual } = options;
    let node = this.#root;
    let rank = 0;
    while (node.children.length > 0) {
      this.visits += 1;
      const slot = Math.max(0, placeOfScore(node.scores, 1, score, orEqual) - 1);
      for (let i = 0; i < slot; i += 1) rank += node.counts[i] as number;
      node = node.children[slot] as Node;
    }
    this.visits += 1;
    return rank + placeOfScore(node.scores, 0, score, orEqual);
  }

  memberAt(rank: number): Bytes {
    const leaf = this.#descendToRank(rank);
    return leaf.members[foundAt] as Bytes;
  }

  scoreAt(rank: number): number {
    const leaf = this.#descendToRank(rank);
    return leaf.scores[foundAt] as number;
  }

  /** Rank of a member with unknown score, or -1. Searches all pairs: for small trees. */
  findMember(member: Bytes): number {
    let rank = 0;
    for (let leaf: Node | undefined = this.#firstLeaf(); leaf !== undefined; leaf = leaf.next) {
      const { members } = leaf;
      for (let i = 0; i < members.length; i += 1) {
        this.visits += 1;
        if (members[i] === member) return rank + i;
      }
      rank += members.length;
    }
    return -1;
  }

  /** Visits the pairs at ranks `from` … `from + count - 1`, which must exist. The tree must not change meanwhile. */
  visit(from: number, count: number, visitor: PairVisitor): void {
    if (count <= 0) return;
    let leaf = this.#descendToRank(from);
    let at = foundAt;
    for (let left = count; left > 0; left -= 1) {
      if (at === leaf.members.length) {
        leaf = leaf.next as Node;
        at = 0;
        this.visits += 1;
      }
      visitor(leaf.members[at] as Bytes, leaf.scores[at] as number);
      at += 1;
    }
  }

  /** The same pairs in reverse order. */
  visitBackwards(from: number, count: number, visitor: PairVisitor): void {
    if (count <= 0) return;
    let leaf = this.#descendToRank(from + count - 1);
    let at = foundAt;
    for (let left = count; left > 0; left -= 1) {
      if (at < 0) {
        leaf = leaf.previous as Node;
        at = leaf.members.length - 1;
        this.visits += 1;
      }
      visitor(leaf.members[at] as Bytes, leaf.scores[at] as number);
      at -= 1;
    }
  }

  /** Throws if an invariant does not hold. For tests: it visits every pair. */
  check(): void {
    const leaves: Node[] = [];
    const counted = this.#checkNode(this.#root, leaves, true);
    assert(counted === this.#size, "the tree counts its pairs");
    for (const [index, leaf] of leaves.entries()) {
      assert(leaf.next === leaves[index + 1] && leaf.previous === leaves[index - 1], "leaves are linked in order");
      const after = leaves[index + 1];
      for (let i = 0; i < leaf.members.length; i += 1) {
        const next = i + 1 < leaf.members.length ? leaf : after;
        const j = i + 1 < leaf.members.length ? i + 1 : 0;
        assert(
          next === undefined ||
            isBefore(leaf, i, next.scores[j] as number, next.members[j] as Bytes) ||
            next.members.length === 0,
          "pairs are in order",
        );
      }
    }
  }

  #checkNode(node: Node, leaves: Node[], isEdge: boolean): number {
    assert(node.scores.length === node.members.length && node.members.length <= NODE_MAX, "a node has its slots");
    assert(isEdge || node.members.length >= NODE_MIN, "a node is a quarter full");
    if (node.children.length === 0) {
      leaves.push(node);
      return node.members.length;
    }
    assert(node.children.length >= 2 && node.children.length === node.members.length, "an inner node has children");
    let sum = 0;
    for (const [slot, child] of node.children.entries()) {
      const count = this.#checkNode(child, leaves, isEdge && slot === node.children.length - 1);
      assert(count === node.counts[slot], "a child is counted");
      if (slot > 0) {
        const first = firstLeafOf(child);
        const score = node.scores[slot] as number;
        const member = node.members[slot] as Bytes;
        assert(!isBefore(first, 0, score, member), "a bound is at most the first pair");
        const before = leaves[leaves.indexOf(first) - 1] as Node;
        assert(isBefore(before, before.members.length - 1, score, member), "a bound is above earlier pairs");
      }
      sum += count;
    }
    return sum;
  }

  #firstLeaf(): Node {
    return firstLeafOf(this.#root);
  }

  /** The leaf where a pair is or would be; `foundAt` is its index, and the path is set. */
  #descend(score: number, member: Bytes): Node {
    let node = this.#root;
    let depth = 0;
    while (node.children.length > 0) {
      this.visits += 1;
      const slot = childOf(node, score, member);
      pathNodes[depth] = node;
      pathSlots[depth] = slot;
      depth += 1;
      node = node.children[slot] as Node;
    }
    this.visits += 1;
    pathLength = depth;
    foundAt = placeOf(node, score, member);
    return node;
  }

  #descendToRank(rank: number): Node {
    assert(rank >= 0 && rank < this.#size, "a rank is below the size");
    let node = this.#root;
    let depth = 0;
    let left = rank;
    while (node.children.length > 0) {
      this.visits += 1;
      const { counts } = node;
      let slot = 0;
      for (let count = counts[0] as number; left >= count; count = counts[slot] as number) {
        left -= count;
        slot += 1;
      }
      pathNodes[depth] = node;
      pathSlots[depth] = slot;
      depth += 1;
      node = node.children[slot] as Node;
    }
    this.visits += 1;
    pathLength = depth;
    foundAt = left;
    return node;
  }

  /** Removes `count` pairs of a leaf from `foundAt` on; the path must be set. */
  #removeFound(leaf: Node, count: number): void {
    this.moves += leaf.members.length - foundAt;
    removeItems(leaf.scores, foundAt, count);
    removeItems(leaf.members, foundAt, count);
    this.#size -= count;
    for (let depth = 0; depth < pathLength; depth += 1) {
      const { counts } = pathNodes[depth] as Node;
      const slot = pathSlots[depth] as number;
      counts[slot] = (counts[slot] as number) - count;
    }
    let node = leaf;
    for (let depth = pathLength - 1; depth >= 0 && node.members.length < NODE_MIN; depth -= 1) {
      node = pathNodes[depth] as Node;
      this.#mend(node, pathSlots[depth] as number); // keeps (3)
    }
    while (this.#root.children.length === 1) this.#root = this.#root.children[0] as Node;
  }

  /** Splits a node in two and returns the new right one. */
  #split(node: Node, isAppend: boolean): Node {
    const isLeaf = node.children.length === 0;
    const length = node.members.length;
    const middle = isAppend ? length - (isLeaf ? 1 : 2) : length >> 1;
    const right = new Node({
      scores: node.scores.slice(middle),
      members: node.members.slice(middle),
      children: node.children.splice(middle),
      counts: node.counts.splice(middle),
    });
    node.scores.length = middle;
    node.members.length = middle;
    this.moves += length - middle;
    if (isLeaf) {
      right.next = node.next;
      right.previous = node;
      if (node.next !== undefined) node.next.previous = right;
      node.next = right;
    }
    return right;
  }

  #growRoot(left: Node, right: Node): void {
    const scores = emptyScores();
    scores.push(left.scores[0] as number, right.scores[0] as number);
    this.#root = new Node({
      scores,
      members: [left.members[0] as Bytes, right.members[0] as Bytes],
      children: [left, right],
      counts: [countBelow(left), countBelow(right)],
    });
  }

  /** Joins a child that has too few slots with a neighbour, or fills it from there. */
  #mend(parent: Node, slot: number): void {
    const leftSlot = slot > 0 ? slot - 1 : 0;
    const left = parent.children[leftSlot] as Node;
    const right = parent.children[leftSlot + 1] as Node;
    const leftLength = left.members.length;
    const rightLength = right.members.length;
    // Its own first bound may be stale; the parent's is current. Keeps (1) when it becomes another slot.
    if (right.children.length > 0) {
      right.scores[0] = parent.scores[leftSlot + 1] as number;
      right.members[0] = parent.members[leftSlot + 1] as Bytes;
    }
    if (leftLength + rightLength <= NODE_MAX) {
      this.moves += rightLength + parent.members.length - leftSlot;
      moveFromFront(right, left, rightLength);
      parent.counts[leftSlot] = (parent.counts[leftSlot] as number) + (parent.counts[leftSlot + 1] as number);
      removeItems(parent.scores, leftSlot + 1, 1);
      removeItems(parent.members, leftSlot + 1, 1);
      removeItems(parent.children, leftSlot + 1, 1);
      removeItems(parent.counts, leftSlot + 1, 1);
      if (left.children.length === 0) {
        left.next = right.next;
        if (right.next !== undefined) right.next.previous = left;
      }
      return;
    }
    const half = (leftLength + rightLength) >> 1;
    this.moves += leftLength + rightLength;
    if (leftLength < half) moveFromFront(right, left, half - leftLength);
    else moveToFront(left, right, leftLength - half);
    parent.scores[leftSlot + 1] = right.scores[0] as number;
    parent.members[leftSlot + 1] = right.members[0] as Bytes;
    parent.counts[leftSlot] = countBelow(left);
    parent.counts[leftSlot + 1] = countBelow(right);
  }
}

/** Arrays of doubles from the start: (4). */
function emptyScores(): number[] {
  const scores = [0.5];
  scores.pop();
  return scores;
}

function emptyLeaf(): Node {
  return new Node({ scores: emptyScores(), members: [], children: [], counts: [] });
}

function firstLeafOf(node: Node): Node {
  let leaf = node;
  while (leaf.children.length > 0) leaf = leaf.children[0] as Node;
  return leaf;
}

function countBelow(node: Node): number {
  if (node.children.length === 0) return node.members.length;
  let sum = 0;
  for (let i = 0; i < node.counts.length; i += 1) sum += node.counts[i] as number;
  return sum;
}

/** The number of pairs before the leaf of the path. */
function rankOnPath(): number {
  let rank = 0;
  for (let depth = 0; depth < pathLength; depth += 1) {
    const { counts } = pathNodes[depth] as Node;
    const slot = pathSlots[depth] as number;
    for (let i = 0; i < slot; i += 1) rank += counts[i] as number;
  }
  return rank;
}

/** True if the pair in a slot comes before this one. */
function isBefore(node: Node, slot: number, score: number, member: Bytes): boolean {
  const own = node.scores[slot] as number;
  return own < score || (own === score && (node.members[slot] as Bytes) < member);
}

/** The first index of a leaf whose pair is not before this one. */
function placeOf(leaf: Node, score: number, member: Bytes): number {
  const { scores, members } = leaf;
  let low = 0;
  let high = members.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const own = scores[middle] as number;
    if (own < score || (own === score && (members[middle] as Bytes) < member)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The child of a pair: the last one whose bound is not greater. */
function childOf(node: Node, score: number, member: Bytes): number {
  const { scores, members } = node;
  let low = 1;
  let high = members.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const own = scores[middle] as number;
    if (own < score || (own === score && (members[middle] as Bytes) <= member)) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** The first index from `low` on whose score is not smaller, or with `orEqual` is greater. */
function placeOfScore(scores: readonly number[], from: number, score: number, orEqual: boolean): number {
  let low = from;
  let high = scores.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const own = scores[middle] as number;
    if (own < score || (orEqual && own === score)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** True if the member at an index may have this score without moving. */
function fitsAt(leaf: Node, at: number, score: number): boolean {
  const member = leaf.members[at] as Bytes;
  const last = leaf.members.length - 1;
  if (at > 0 ? !isBefore(leaf, at - 1, score, member) : leaf.previous !== undefined) return false;
  return at < last ? !isBefore(leaf, at + 1, score, member) : leaf.next === undefined;
}

function insertScore(scores: number[], at: number, score: number): void {
  scores.push(score);
  for (let i = scores.length - 1; i > at; i -= 1) scores[i] = scores[i - 1] as number;
  scores[at] = score;
}

function insertItem<T>(items: T[], at: number, item: T): void {
  items.push(item);
  for (let i = items.length - 1; i > at; i -= 1) items[i] = items[i - 1] as T;
  items[at] = item;
}

function insertSlot(parent: Node, slot: number, child: Node, count: number): void {
  insertScore(parent.scores, slot, child.scores[0] as number);
  insertItem(parent.members, slot, child.members[0] as Bytes);
  insertItem(parent.children, slot, child);
  insertItem(parent.counts, slot, count);
}

function removeItems<T>(items: T[], at: number, count: number): void {
  if (at === 0 && count === 1) {
    items.shift();
    return;
  }
  for (let i = at; i + count < items.length; i += 1) items[i] = items[i + count] as T;
  items.length -= count;
}

/** Appends the first slots of `from` to `to`, its left neighbour. */
function moveFromFront(from: Node, to: Node, count: number): void {
  for (let i = 0; i < count; i += 1) {
    to.scores.push(from.scores[i] as number);
    to.members.push(from.members[i] as Bytes);
  }
  removeItems(from.scores, 0, count);
  removeItems(from.members, 0, count);
  if (from.children.length === 0) return;
  to.children.push(...from.children.splice(0, count));
  to.counts.push(...from.counts.splice(0, count));
}

/** Inserts the last slots of `from` before those of `to`, its right neighbour. */
function moveToFront(from: Node, to: Node, count: number): void {
  const start = from.members.length - count;
  to.scores = from.scores.slice(start).concat(to.scores);
  to.members = from.members.slice(start).concat(to.members);
  from.scores.length = start;
  from.members.length = start;
  if (from.children.length === 0) return;
  to.children.unshift(...from.children.splice(start));
  to.counts.unshift(...from.counts.splice(start));
}
