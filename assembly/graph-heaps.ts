/**
 * The state of a walk: the results, the frontier, and the visited nodes. It is in
 * the scratch of this thread.
 *
 * The results are one sorted list, in which the nodes that are not expanded yet
 * are found by a mark: a node that leaves the results would never be expanded.
 * The frontier is a heap of the nodes to expand that are not results, because a
 * filter does not pass them.
 *
 * A key is a distance and its node in one number that sorts by distance, and
 * nodes of equal distance by a salt: otherwise equal rows would all be linked to
 * the first few of them, and be lost when those have no room.
 */
import { allocate } from "./graph-memory";

/** The most visited nodes that are noted one by one; beyond that the whole set is cleared. */
const UNDO_MAX: u32 = 32_768;
/** Greater than all keys. */
export const NO_KEY: u64 = u64.MAX_VALUE;
const FRONTIER_MIN: u32 = 4_096;
const FRONTIER_MAX: u32 = 1_048_576;

/** Odd, so that it has an inverse. */
const SPREAD: u32 = 0x9e37_79b1;
const SPREAD_INVERSE: u32 = 0x0e8b_2f51;
/** Nodes are below 2^31. */
const NODE_MASK: u32 = 0x7fff_ffff;
/** The bit of a key in the results whose node is expanded. */
const EXPANDED: u64 = 1;

export let frontier: usize = 0;
export let frontierSize: u32 = 0;
let frontierMax: u32 = 0;
/** True if a key did not fit into the frontier. */
export let isFrontierCut: bool = false;
/** Keys, best first. */
export let results: usize = 0;
export let resultsSize: u32 = 0;
let resultsMax: u32 = 0;
/** All results before this one are expanded. */
let cursor: u32 = 0;
/** A bit for each node. */
let visited: usize = 0;
let visitedNodes: u32 = 0;
let undo: usize = 0;
let undoCount: u32 = 0;

/** Returns false without enough memory. */
export function openHeaps(): bool {
  undo = allocate(UNDO_MAX * 4);
  frontier = allocate(FRONTIER_MIN * 8);
  frontierMax = FRONTIER_MIN;
  return undo != 0 && frontier != 0;
}

/** Empties results and frontier. */
export function emptyHeaps(): void {
  frontierSize = 0;
  resultsSize = 0;
  cursor = 0;
  isFrontierCut = false;
}

let salt: u32 = 0;

/** Sets the salt of new keys: older keys can no longer be read. */
export function setSalt(number: u32): void {
  salt = (number * SPREAD) & NODE_MASK;
}

@inline
export function keyOf(distance: f32, node: u32): u64 {
  const bits = reinterpret<i32>(distance);
  return (u64(u32(bits ^ ((bits >> 31) | 0x8000_0000))) << 32) | u64(((node ^ salt) * SPREAD) << 1);
}

/** Writes the keys of four nodes, whose distances and numbers are lanes. */
@inline
export function storeKeys(to: usize, distances: v128, nodes: v128): void {
  const signs = v128.or(i32x4.shr_s(distances, 31), i32x4.splat(0x8000_0000));
  const high = v128.xor(distances, signs);
  const spread = i32x4.mul(v128.xor(nodes, i32x4.splat(salt)), i32x4.splat(SPREAD));
  const low = i32x4.shl(spread, 1);
  v128.store(to, v128.shuffle<i32>(low, high, 0, 4, 1, 5));
  v128.store(to, v128.shuffle<i32>(low, high, 2, 6, 3, 7), 16);
}

@inline
export function nodeOf(key: u64): u32 {
  return (((u32(key) >> 1) * SPREAD_INVERSE) & NODE_MASK) ^ salt;
}

/** Whether two keys of one salt are of the same node at the same distance, expanded or not. */
@inline
export function isSameKey(one: u64, other: u64): bool {
  return (one | EXPANDED) == (other | EXPANDED);
}

@inline
export function distanceOf(key: u64): f32 {
  const sortable = i32(key >> 32);
  return reinterpret<f32>(sortable < 0 ? sortable ^ 0x8000_0000 : ~sortable);
}

// The frontier: a heap with the smallest key on top.

export function pushFrontier(key: u64): void {
  if (frontierSize == frontierMax && !growFrontier()) {
    isFrontierCut = true;
    return;
  }
  let hole = frontierSize++;
  while (hole > 0) {
    const parent = (hole - 1) >> 1;
    const above = load<u64>(frontier + (usize(parent) << 3));
    if (above <= key) break;
    store<u64>(frontier + (usize(hole) << 3), above);
    hole = parent;
  }
  store<u64>(frontier + (usize(hole) << 3), key);
}

function growFrontier(): bool {
  if (frontierMax == FRONTIER_MAX) return false;
  const larger = allocate(usize(frontierMax) * 16);
  if (larger == 0) return false;
  memory.copy(larger, frontier, usize(frontierMax) * 8);
  frontier = larger;
  frontierMax *= 2;
  return true;
}

export function popFrontier(): u64 {
  const top = load<u64>(frontier);
  const size = --frontierSize;
  const key = load<u64>(frontier + (usize(size) << 3));
  let hole: u32 = 0;
  for (let child: u32 = 1; child < size; child = 2 * hole + 1) {
    let below = load<u64>(frontier + (usize(child) << 3));
    if (child + 1 < size) {
      const other = load<u64>(frontier + (usize(child) << 3), 8);
      if (other < below) {
        below = other;
        child += 1;
      }
    }
    if (key <= below) break;
    store<u64>(frontier + (usize(hole) << 3), below);
    hole = child;
  }
  store<u64>(frontier + (usize(hole) << 3), key);
  return top;
}

// The results: keys in order.

/** Puts a key in its place. If there are `most` keys already, the worst is dropped. */
export function insertResult(key: u64, most: u32): void {
  if (resultsSize < most) resultsSize += 1;
  let at = results + (usize(resultsSize - 1) << 3);
  // Four keys at a time.
  while (at >= results + 32 && load<u64>(at - 32) > key) {
    const low = v128.load(at - 32);
    const high = v128.load(at - 16);
    v128.store(at - 24, low);
    v128.store(at - 8, high);
    at -= 32;
  }
  while (at > results && load<u64>(at - 8) > key) {
    store<u64>(at, load<u64>(at - 8));
    at -= 8;
  }
  store<u64>(at, key);
  cursor = min(cursor, u32((at - results) >> 3));
}

/** The best result that is not expanded, or NO_KEY. */
@inline
export function nextResult(): u64 {
  for (; cursor < resultsSize; cursor += 1) {
    const key = load<u64>(results + (usize(cursor) << 3));
    if (!(key & EXPANDED)) return key;
  }
  return NO_KEY;
}

/** Marks the key of `nextResult` as expanded. */
@inline
export function expandResult(): void {
  const at = results + (usize(cursor) << 3);
  store<u64>(at, load<u64>(at) | EXPANDED);
  cursor += 1;
}

/** Keeps this many of the results. */
export function setResultsSize(count: u32): void {
  resultsSize = count;
}

export function reserveResults(effort: u32): bool {
  if (effort <= resultsMax) return true;
  const most = max(effort, resultsMax * 2);
  const larger = allocate(usize(most) * 8);
  if (larger == 0) return false;
  results = larger;
  resultsMax = most;
  return true;
}

// Visited nodes.

/** Makes room for marks of this many nodes. Returns false without enough memory. */
export function reserveVisited(nodes: u32): bool {
  if (nodes <= visitedNodes) return true;
  const most = (max(nodes, visitedNodes * 2) + 127) & ~127;
  const larger = allocate(usize(most) >> 3);
  if (larger == 0) return false;
  visited = larger;
  visitedNodes = most;
  undoCount = 0;
  return true;
}

/** Marks a node. Returns 1 if it was not marked before, otherwise 0. */
@inline
export function visit(node: u32): u32 {
  const at = visited + (usize(node >> 5) << 2);
  const word = load<u32>(at);
  store<u32>(at, word | (1 << (node & 31)));
  const isNew = ((word >> (node & 31)) & 1) ^ 1;
  if (undoCount < UNDO_MAX) store<u32>(undo + (usize(undoCount) << 2), node);
  undoCount += isNew;
  return isNew;
}

export function clearVisited(): void {
  if (undoCount > UNDO_MAX) memory.fill(visited, 0, usize(visitedNodes) >> 3);
  else {
    for (let i: u32 = 0; i < undoCount; i += 1)
      store<u32>(visited + (usize(load<u32>(undo + (usize(i) << 2)) >> 5) << 2), 0);
  }
  undoCount = 0;
}
