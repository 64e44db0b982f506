/**
 * The links of nodes: which are chosen, which are replaced, and which stay.
 *
 * (1) A list begins with its pinned links. They stay until their node is retired,
 *     and lead to nodes that walks did not find otherwise (`graph-repair.ts`).
 * (2) No link to a retired node is added. So one pass over all lists removes the
 *     last of them.
 */
import { distanceBetween, isTwin } from "./graph-code";
import { distanceOf, keyOf, nodeOf, results, resultsSize, setSalt } from "./graph-heaps";
import {
  GROUND_LINKS,
  NONE,
  UPPER_LINKS,
  addIncoming,
  addressOf,
  allocate,
  capacityOf,
  incomingOf,
  isRetired,
  links,
  pinsOf,
  setPins,
} from "./graph-memory";

/** The candidates for a list: its own links, and those of its retired nodes while there is room. */
const FOUND_MAX: u32 = 160;

// Scratch for choosing links: keys, best first.
let found: usize = 0;
let foundCount: u32 = 0;
let chosen: usize = 0;
/** The start and end of the keys that were not chosen from the list of `chosen`. */
let leftStart: u32 = 0;
let leftEnd: u32 = 0;

/** Returns false without enough memory. */
export function openLinks(): bool {
  chosen = allocate(GROUND_LINKS * 8);
  found = allocate(FOUND_MAX * 8);
  return chosen != 0 && found != 0;
}

/** Links a new node to the best of `results`, and them to it. */
export function link(node: u32, address: usize, level: u32): void {
  const count = choose(address, results, resultsSize, UPPER_LINKS, UPPER_LINKS, 0);
  const own = links(address, level);
  for (let i: u32 = 0; i < count; i += 1) writeLink(own, i, nodeOf(load<u64>(chosen + (usize(i) << 3))), level);
  // `chosen` is used again below.
  for (let i: u32 = 0; i < count; i += 1) linkBack(linkedBy(own, i), node, level);
}

@inline
function writeLink(list: usize, place: u32, node: u32, level: u32): void {
  atomic.store<u32>(list + (usize(place) << 2), node + 1);
  if (level == 0) addIncoming(node, 1);
}

@inline
export function linkedBy(list: usize, place: u32): u32 {
  return load<u32>(list + (usize(place) << 2)) - 1;
}

/** The number of links of a list. */
export function linkCount(list: usize, capacity: u32): u32 {
  let count: u32 = 0;
  while (count < capacity && load<u32>(list + (usize(count) << 2)) != 0) count += 1;
  return count;
}

/** Adds `node` to the links of `to`, replacing some of them if necessary. */
export function linkBack(to: u32, node: u32, level: u32): void {
  const own = links(addressOf(to), level);
  const capacity = capacityOf(level);
  const count = linkCount(own, capacity);
  if (count < capacity) writeLink(own, count, node, level);
  else chooseAgain(to, level, node);
}

/** Removes retired nodes from the links of a node. Their links take their places. Returns whether there were any. */
export function removeRetired(node: u32, level: u32): bool {
  const own = links(addressOf(node), level);
  const capacity = capacityOf(level);
  for (let i: u32 = 0; i < capacity && load<u32>(own + (usize(i) << 2)) != 0; i += 1) {
    if (!isRetired(addressOf(linkedBy(own, i)))) continue;
    chooseAgain(node, level, NONE);
    return true;
  }
  return false;
}

/** Chooses the links of `to` again, from themselves, the links of retired nodes among them, and `node` if there is one. */
function chooseAgain(to: u32, level: u32, node: u32): void {
  const address = addressOf(to);
  const own = links(address, level);
  const capacity = capacityOf(level);
  const count = linkCount(own, capacity);
  // A different salt for each list, so that lists keep different ones of equal rows.
  setSalt(to ^ (node << 8));
  foundCount = 0;
  if (node != NONE) addFound(address, node);
  const pinned = level == 0 ? pinsOf(address) : 0;
  let pins: u32 = 0;
  for (let i: u32 = 0; i < count; i += 1) {
    const other = linkedBy(own, i);
    if (level == 0) addIncoming(other, -1);
    if (isRetired(addressOf(other))) continue;
    if (i >= pinned) addFound(address, other);
    else {
      // keeps (1)
      store<u64>(chosen + (usize(pins) << 3), keyOf(distanceBetween(address, addressOf(other)), other));
      pins += 1;
    }
  }
  for (let i: u32 = 0; i < count; i += 1) {
    const other = linkedBy(own, i);
    if (isRetired(addressOf(other))) addLinksOf(address, to, links(addressOf(other), level), capacity, pins);
  }
  // Not all that fit: this leaves room for the next nodes, so that lists are rarely chosen again.
  let kept = choose(address, found, foundCount, capacity, capacity - (capacity >> 2), pins);
  if (level == 0) {
    kept = keepLast(kept, capacity);
    setPins(address, pins);
  }
  for (let i: u32 = 0; i < kept; i += 1) writeLink(own, i, nodeOf(load<u64>(chosen + (usize(i) << 3))), level);
  for (let i = kept; i < capacity; i += 1) atomic.store<u32>(own + (usize(i) << 2), 0);
}

/** Adds the links of a retired node to `found`, but for those of the list already. */
function addLinksOf(from: usize, to: u32, list: usize, capacity: u32, pins: u32): void {
  const count = linkCount(list, capacity);
  for (let i: u32 = 0; i < count && foundCount < FOUND_MAX; i += 1) {
    const other = linkedBy(list, i);
    if (other != to && !isRetired(addressOf(other)) && !isChosen(other, pins)) addFound(from, other);
  }
}

function isChosen(node: u32, kept: u32): bool {
  for (let i: u32 = 0; i < kept; i += 1) if (nodeOf(load<u64>(chosen + (usize(i) << 3))) == node) return true;
  return false;
}

/** Adds nodes without any other link to `chosen` while there is room: otherwise no walk would reach them again. */
function keepLast(count: u32, most: u32): u32 {
  let kept = count;
  for (let i = leftStart; i < leftEnd && kept < most; i += 1) {
    const key = load<u64>(found + (usize(i) << 3));
    if (incomingOf(nodeOf(key)) > 0) continue;
    store<u64>(chosen + (usize(kept) << 3), key);
    kept += 1;
  }
  return kept;
}

/** Sorts a node into `found` by its distance from `from`, once. */
function addFound(from: usize, node: u32): void {
  const key = keyOf(distanceBetween(from, addressOf(node)), node);
  let hole = foundCount;
  while (hole > 0 && load<u64>(found + (usize(hole - 1) << 3)) > key) hole -= 1;
  if (hole > 0 && load<u64>(found + (usize(hole - 1) << 3)) == key) return;
  const at = found + (usize(hole) << 3);
  memory.copy(at + 8, at, usize(foundCount - hole) << 3);
  store<u64>(at, key);
  foundCount += 1;
}

/**
 * Chooses links for the node at `middle` from the sorted keys at `from`, up to `most` in many directions: a node that
 * is not farther from a chosen one than from the middle is reached through that one. The first `pins` of `chosen` are
 * already chosen. If they are fewer than `filled`, the closest others are added. Returns how many are in `chosen`.
 */
function choose(middle: usize, from: usize, count: u32, most: u32, filled: u32, pins: u32): u32 {
  let kept = pins;
  leftStart = 0;
  // Nodes equal to the middle have no direction: all others are as close to them and would be reached through them.
  leftEnd = countTwins(middle, from, count);
  for (let i = leftEnd; i < count; i += 1) {
    const key = load<u64>(from + (usize(i) << 3));
    if (kept == most || isReached(key, kept)) {
      store<u64>(from + (usize(leftEnd) << 3), key);
      leftEnd += 1;
    } else {
      store<u64>(chosen + (usize(kept) << 3), key);
      kept += 1;
    }
  }
  for (; leftStart < leftEnd && kept < filled; leftStart += 1, kept += 1)
    store<u64>(chosen + (usize(kept) << 3), load<u64>(from + (usize(leftStart) << 3)));
  return kept;
}

/** Counts the first keys whose nodes have the code of the middle. */
function countTwins(middle: usize, from: usize, count: u32): u32 {
  let twins: u32 = 0;
  while (twins < count && isTwin(middle, addressOf(nodeOf(load<u64>(from + (usize(twins) << 3)))))) twins += 1;
  return twins;
}

/** Whether a chosen node is as close to the key's node as the middle. */
function isReached(key: u64, kept: u32): bool {
  const distance = distanceOf(key);
  const address = addressOf(nodeOf(key));
  for (let i: u32 = 0; i < kept; i += 1) {
    const other = addressOf(nodeOf(load<u64>(chosen + (usize(i) << 3))));
    if (distanceBetween(address, other) <= distance) return true;
  }
  return false;
}

/**
 * Pins a link from `to` to `node`. Returns false if `to` has `most` pinned links. In a full list it replaces a link to a
 * node with others, if there is one.
 */
export function pin(to: u32, node: u32, most: u32): bool {
  const address = addressOf(to);
  const pins = pinsOf(address);
  if (pins >= most) return false;
  const own = links(address, 0);
  const count = linkCount(own, GROUND_LINKS);
  let place = count;
  if (count == GROUND_LINKS) {
    place = count - 1;
    for (let i = count; i > pins; i -= 1) {
      if (incomingOf(linkedBy(own, i - 1)) <= 1) continue;
      place = i - 1;
      break;
    }
    addIncoming(linkedBy(own, place), -1);
  }
  // The first link that is not pinned makes room.
  if (place > pins) atomic.store<u32>(own + (usize(place) << 2), load<u32>(own + (usize(pins) << 2)));
  writeLink(own, pins, node, 0);
  setPins(address, pins + 1);
  return true;
}
