/**
 * Keeps a graph whole while its records change. Only the writer calls it.
 *
 * Removed nodes are patched through, as in the delete consolidation of
 * FreshDiskANN (Singh et al. 2021) and IP-DiskANN (Xu et al. 2025): a retired
 * node stays a path, until one pass over all lists has replaced each link to it
 * by the best of its own links. Then its place is free for a new node.
 *
 *     in use -> retired -> leaving -> free -> in use
 *
 * (1) While a node is retired or leaving, nothing is linked to it. So after a
 *     pass that began when it was leaving, no list has it.
 * (2) A node that takes a free place has the level of the former one: another
 *     thread may still walk through it, and reads only lists that exist.
 * (3) The entry is never retired.
 *
 * A check walks to a node by its own code, as a search does. New nodes that are
 * close to everything, such as those of smaller norm, hide older ones: they fill
 * the lists, and the walk ends among them. If the walk does not find the node, it
 * is linked to the node where the walk ended, in both directions, and the link
 * to it is pinned, so that closer nodes do not replace it.
 */
import { distanceTo, prepareNode } from "./graph-code";
import { distanceOf, isSameKey, keyOf, nodeOf, results, resultsSize, setSalt } from "./graph-heaps";
import { linkBack, linkCount, linkedBy, pin, removeRetired } from "./graph-links";
import {
  ENTRY,
  FREE,
  LEAVING,
  LEVEL,
  LIVE,
  NODE_COUNT,
  NONE,
  RETIRED,
  addIncoming,
  addressOf,
  capacityOf,
  incomingOf,
  isRetired,
  links,
  setPins,
  setState,
  stateOf,
} from "./graph-memory";
import { begin, descend, walk } from "./graph-walk";

/** What a check found. */
export const CHECK_FOUND: u32 = 0;
export const CHECK_REPAIRED: u32 = 1;
export const CHECK_LOST: u32 = 2;
export const CHECK_SKIPPED: u32 = 3;

/** A link is pinned to one of this many nodes where the walk ended: to one with few pinned links, if there is one. */
const PIN_CANDIDATES: u32 = 32;
const PINS_FEW: u32 = 4;
const PINS_MAX: u32 = 16;

/** Retires a node whose record is gone. Returns false for the last one that searches can begin at: keeps (3). */
export function retire(node: u32): bool {
  if (load<u32>(ENTRY) == node + 1 && !moveEntry(node)) return false;
  setState(addressOf(node), RETIRED);
  return true;
}

/** Makes another node of the highest level the entry. Returns false if no other node exists. */
function moveEntry(former: u32): bool {
  const count = load<u32>(NODE_COUNT);
  let best: u32 = NONE;
  let bestLevel: u32 = 0;
  for (let node: u32 = 0; node < count; node += 1) {
    const address = addressOf(node);
    if (node == former || isRetired(address)) continue;
    const level: u32 = load<u8>(address, LEVEL);
    if (best != NONE && level <= bestLevel) continue;
    best = node;
    bestLevel = level;
  }
  if (best != NONE) atomic.store<u32>(ENTRY, best + 1);
  return best != NONE;
}

/** Begins to remove a retired node: keeps (1) with a pass of `sweep` over all nodes that follows. */
export function leave(node: u32): void {
  setState(addressOf(node), LEAVING);
}

/** Removes retired nodes from the lists of the nodes from `first` to `end`, and returns how many lists had any. */
export function sweep(first: u32, end: u32): u32 {
  let changed: u32 = 0;
  for (let node = first; node < end; node += 1) {
    const address = addressOf(node);
    if (stateOf(address) >= LEAVING) continue;
    for (let level: i32 = load<u8>(address, LEVEL); level >= 0; level -= 1) if (removeRetired(node, level)) changed += 1;
  }
  return changed;
}

/** Removes all links of a leaving node, after the pass. Nodes that it alone was linked to are linked again. */
export function unlink(node: u32, effort: u32): void {
  const address = addressOf(node);
  const own = links(address, 0);
  const count = linkCount(own, capacityOf(0));
  for (let i: u32 = 0; i < count; i += 1) {
    const other = linkedBy(own, i);
    addIncoming(other, -1);
    if (incomingOf(other) == 0 && !isRetired(addressOf(other)) && load<u32>(ENTRY) != other + 1) find(other, effort);
  }
  setPins(address, 0);
  for (let level: i32 = load<u8>(address, LEVEL); level >= 0; level -= 1) {
    const list = links(address, level);
    for (let i: u32 = 0; i < capacityOf(level); i += 1) atomic.store<u32>(list + (usize(i) << 2), 0);
  }
}

/** Frees a node after all leaving nodes were unlinked. Returns false if something is still linked to it. */
export function free(node: u32): bool {
  if (incomingOf(node) > 0) {
    setState(addressOf(node), RETIRED);
    return false;
  }
  setState(addressOf(node), FREE);
  return true;
}

/** Walks to a live node, and links it again if the walk does not find it. Returns one of the results above. */
export function check(node: u32, effort: u32): u32 {
  const address = addressOf(node);
  if (isRetired(address) || load<u8>(address, LIVE) == 0) return CHECK_SKIPPED;
  return find(node, effort);
}

function find(node: u32, effort: u32): u32 {
  const entry = load<u32>(ENTRY) - 1;
  if (!begin(load<u32>(NODE_COUNT), effort)) return CHECK_SKIPPED;
  setSalt(node);
  prepareNode(addressOf(node));
  const own = keyOf(distanceTo(addressOf(node)), node);
  walk(descend(entry, 0), 0, effort, false, 0, 0, NONE);
  for (let i: u32 = 0; i < resultsSize; i += 1)
    if (isSameKey(load<u64>(results + (usize(i) << 3)), own)) return CHECK_FOUND;
  // Nodes that are as similar fill the results: with DOT_PRODUCT, or if many rows are equal.
  const worst = resultsSize == 0 ? own : load<u64>(results + (usize(resultsSize - 1) << 3));
  if (resultsSize >= effort && distanceOf(worst) <= distanceOf(own)) return CHECK_FOUND;
  if (!pinNear(node, PINS_FEW) && !pinNear(node, PINS_MAX)) return CHECK_LOST;
  return CHECK_REPAIRED;
}

/** Links a node and one of the nearest results that has fewer than `most` pinned links. Returns false without one. */
function pinNear(node: u32, most: u32): bool {
  const count = min(resultsSize, PIN_CANDIDATES);
  for (let i: u32 = 0; i < count; i += 1) {
    const near = nodeOf(load<u64>(results + (usize(i) << 3)));
    if (near == node || isRetired(addressOf(near)) || !pin(near, node, most)) continue;
    linkBack(node, near, 0);
    return true;
  }
  return false;
}
