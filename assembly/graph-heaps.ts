/**
 * The state of a walk: the frontier of seen nodes that are not expanded yet, the
 * results, and the visited nodes. It is in the scratch of this thread.
 *
 * A key is a distance and its node in one number that sorts by distance, and
 * nodes of equal distance by a salt: otherwise equal rows would all be linked to
 * the first few of them, and be lost when those have no room.
 */
import { allocate } from "./graph-memory";

/** The most visited nodes that are noted one by one; beyond that the whole set is cleared. */
const UNDO_MAX: u32 = 32_768;
const FRONTIER_MIN: u32 = 4_096;
const FRONTIER_MAX: u32 = 1_048_576;

/** Odd, so that it has an inverse. */
const SPREAD: u32 = 0x9e37_79b1;
const SPREAD_INVERSE: u32 = 0x0e8b_2f51;

export let frontier: usize = 0;
export let frontierSize: u32 = 0;
let frontierMax: u32 = 0;
/** True if a key did not fit into the frontier. */
export let isFrontierCut: bool = false;
export let results: usize = 0;
export let resultsSize: u32 = 0;
let resultsMax: u32 = 0;
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

/** Empties both heaps. */
export function emptyHeaps(): void {
  frontierSize = 0;
  resultsSize = 0;
  isFrontierCut = false;
}

let salt: u32 = 0;

/** Sets the salt of new keys: older keys can no longer be read. */
export function setSalt(number: u32): void {
  salt = number * 0x9e37_79b1;
}

@inline
export function keyOf(distance: f32, node: u32): u64 {
  const bits = reinterpret<i32>(distance);
  return (u64(u32(bits ^ ((bits >> 31) | 0x8000_0000))) << 32) | ((node ^ salt) * SPREAD);
}

@inline
export function nodeOf(key: u64): u32 {
  return (u32(key) * SPREAD_INVERSE) ^ salt;
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

// The results: a heap with the largest key on top.

export function pushResult(key: u64): void {
  let hole = resultsSize++;
  while (hole > 0) {
    const parent = (hole - 1) >> 1;
    const above = load<u64>(results + (usize(parent) << 3));
    if (above >= key) break;
    store<u64>(results + (usize(hole) << 3), above);
    hole = parent;
  }
  store<u64>(results + (usize(hole) << 3), key);
}

/** Replaces the largest of `size` keys. */
export function replaceResult(key: u64, size: u32): void {
  let hole: u32 = 0;
  for (let child: u32 = 1; child < size; child = 2 * hole + 1) {
    let below = load<u64>(results + (usize(child) << 3));
    if (child + 1 < size) {
      const other = load<u64>(results + (usize(child) << 3), 8);
      if (other > below) {
        below = other;
        child += 1;
      }
    }
    if (key >= below) break;
    store<u64>(results + (usize(hole) << 3), below);
    hole = child;
  }
  store<u64>(results + (usize(hole) << 3), key);
}

/** Sorts the results in place, best first. */
export function sortResults(): void {
  for (let size = resultsSize; size > 1; size -= 1) {
    const last = results + (usize(size - 1) << 3);
    const key = load<u64>(last);
    store<u64>(last, load<u64>(results));
    replaceResult(key, size - 1);
  }
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

/** Marks a node. Returns false if it was already marked. */
@inline
export function visit(node: u32): bool {
  const at = visited + (usize(node >> 5) << 2);
  const bit: u32 = 1 << (node & 31);
  const word = load<u32>(at);
  if (word & bit) return false;
  store<u32>(at, word | bit);
  if (undoCount < UNDO_MAX) store<u32>(undo + (usize(undoCount) << 2), node);
  undoCount += 1;
  return true;
}

export function clearVisited(): void {
  if (undoCount > UNDO_MAX) memory.fill(visited, 0, usize(visitedNodes) >> 3);
  else {
    for (let i: u32 = 0; i < undoCount; i += 1)
      store<u32>(visited + (usize(load<u32>(undo + (usize(i) << 2)) >> 5) << 2), 0);
  }
  undoCount = 0;
}
