/**
 * The approximate graph of one namespace (HNSW, Malkov and Yashunin 2016) over
 * codes of one byte per dimension, in a shared memory. One thread writes, and any
 * number of others search at the same time without locks. Each thread has its own
 * instance.
 *
 * (1) A link is 0 or a node below the node count that has the level of the list.
 *     A node is linked only after its code, level and own links are written.
 * (2) Only the writer changes nodes, links, count and entry. Only the owner makes
 *     nodes live.
 */
import { checksum, distanceBetween, isTwin, openCodes, prepareQuery, row, writeCode } from "./graph-code";
import { distanceOf, keyOf, nodeOf, openHeaps, results, resultsSize, setSalt } from "./graph-heaps";
import {
  CENTRE,
  ENTRY,
  GROUND_LINKS,
  LEVEL,
  LEVEL_MAX,
  LIVE,
  NODE_COUNT,
  NONE,
  RECORD,
  UPPER_LINKS,
  addIncoming,
  addressOf,
  allocate,
  capacityOf,
  checksumAt,
  createLayout,
  dimension,
  incomingOf,
  links,
  readLayout,
  reserveNode,
  upperAt,
} from "./graph-memory";
import { begin, descend, openWalk, walk } from "./graph-walk";

export { addToCentre, finishCentre } from "./graph-code";
export { GROUND_LINKS, LEVEL_MAX, UPPER_LINKS, allocate, usedBytes } from "./graph-memory";
export { resultsAddress, search, visitCount, wasCut } from "./graph-walk";

// Scratch for choosing links: keys, best first.
let found: usize = 0;
let foundCount: u32 = 0;
let chosen: usize = 0;
/** The start and end of the keys that were not chosen from the list of `chosen`. */
let leftStart: u32 = 0;
let leftEnd: u32 = 0;

/** Creates an empty graph in a zeroed memory. Returns false without enough memory. */
export function create(dimensions: u32, similarityCode: u32): bool {
  return createLayout(dimensions, similarityCode) && attach();
}

/** Attaches this instance to a graph. Returns false without enough memory for its scratch. */
export function attach(): bool {
  readLayout();
  chosen = allocate(GROUND_LINKS * 8);
  found = allocate((GROUND_LINKS + 1) * 8);
  return chosen != 0 && found != 0 && openCodes() && openHeaps() && openWalk();
}

export function dimensions(): u32 {
  return dimension;
}

/** The address for the row to insert or the query: `dimension` f32, followed by zeros. */
export function rowAddress(): usize {
  return row;
}

export function nodeCount(): u32 {
  return atomic.load<u32>(NODE_COUNT);
}

export function entry(): u32 {
  return atomic.load<u32>(ENTRY);
}

/** Node + 1. Only while a graph is loaded. */
export function setEntry(node: u32): void {
  atomic.store<u32>(ENTRY, node);
}

export function recordOf(node: u32): u32 {
  return load<u32>(addressOf(node), RECORD);
}

export function levelOf(node: u32): u32 {
  return load<u8>(addressOf(node), LEVEL);
}

export function checksumOf(node: u32): u32 {
  return load<u32>(addressOf(node) + checksumAt);
}

/** The address of a node's links on a level. */
export function linksOf(node: u32, level: u32): usize {
  return links(addressOf(node), level);
}

/** Sets whether searches return a node. Only the owner calls it: keeps (2). */
export function setLive(node: u32, isLive: bool): void {
  atomic.store<u8>(addressOf(node) + LIVE, u8(isLive));
}

/** The address of the centre, for the graph's file. */
export function centreAddress(): usize {
  return CENTRE;
}

/** The checksum of the row. */
export function rowChecksum(): u32 {
  return checksum();
}

/** Appends a node of the row without links. Returns its number, or NONE if there is no more memory. */
export function append(record: u32, level: u32): u32 {
  const node = load<u32>(NODE_COUNT);
  if (!reserveNode(node)) return NONE;
  const address = addressOf(node);
  const levels = min(level, LEVEL_MAX);
  if (levels > 0) {
    const upper = allocate(usize(levels) * (UPPER_LINKS * 4));
    if (upper == 0) return NONE;
    store<u32>(address + upperAt, u32(upper));
  }
  prepareQuery();
  writeCode(address);
  store<u32>(address, record, RECORD);
  store<u8>(address, u8(levels), LEVEL);
  store<u32>(address + checksumAt, checksum());
  // Counted only now: keeps (1).
  atomic.store<u32>(NODE_COUNT, node + 1);
  return node;
}

/** Appends the row and links it. Returns NONE, with no change visible to searches, if there is no more memory. */
export function insert(record: u32, level: u32, effort: u32): u32 {
  const nodes = load<u32>(NODE_COUNT);
  setSalt(nodes);
  if (nodes > 0 && !begin(nodes, effort)) return NONE;
  const node = append(record, level);
  if (node == NONE) return NONE;
  if (nodes == 0) {
    atomic.store<u32>(ENTRY, node + 1);
    return node;
  }
  const address = addressOf(node);
  const ownLevel: u32 = load<u8>(address, LEVEL);
  const first = load<u32>(ENTRY) - 1;
  const topLevel: u32 = load<u8>(addressOf(first), LEVEL);
  let start = descend(first, min(ownLevel, topLevel));
  for (let level: i32 = min(ownLevel, topLevel); level >= 0; level -= 1) {
    walk(start, level, effort, false, 0, 0, NONE);
    start = load<u64>(results);
    link(node, address, level);
    setSalt(node);
  }
  // A search can begin here, because all levels of the node are linked.
  if (ownLevel > topLevel) atomic.store<u32>(ENTRY, node + 1);
  return node;
}

/** Links a new node to the best of `results`, and them to it. */
function link(node: u32, address: usize, level: u32): void {
  const count = choose(address, results, resultsSize, UPPER_LINKS, UPPER_LINKS);
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
function linkedBy(list: usize, place: u32): u32 {
  return load<u32>(list + (usize(place) << 2)) - 1;
}

/** Adds `node` to the links of `to`, replacing some of them if necessary. */
function linkBack(to: u32, node: u32, level: u32): void {
  const address = addressOf(to);
  const own = links(address, level);
  const capacity = capacityOf(level);
  let count: u32 = 0;
  while (count < capacity && load<u32>(own + (usize(count) << 2)) != 0) count += 1;
  if (count < capacity) {
    writeLink(own, count, node, level);
    return;
  }
  // A different salt for each list, so that lists keep different ones of equal rows.
  setSalt(to ^ (node << 8));
  foundCount = 0;
  addFound(address, node);
  for (let i: u32 = 0; i < capacity; i += 1) {
    if (level == 0) addIncoming(linkedBy(own, i), -1);
    addFound(address, linkedBy(own, i));
  }
  // Not all that fit: this leaves room for the next nodes, so that lists are rarely chosen again.
  let kept = choose(address, found, foundCount, capacity, capacity - (capacity >> 2));
  if (level == 0) kept = keepLast(kept, capacity);
  for (let i: u32 = 0; i < kept; i += 1) writeLink(own, i, nodeOf(load<u64>(chosen + (usize(i) << 3))), level);
  for (let i = kept; i < capacity; i += 1) atomic.store<u32>(own + (usize(i) << 2), 0);
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

/** Sorts a node into `found` by its distance from `from`. */
function addFound(from: usize, node: u32): void {
  const key = keyOf(distanceBetween(from, addressOf(node)), node);
  let hole = foundCount++;
  for (; hole > 0; hole -= 1) {
    const before = load<u64>(found + (usize(hole - 1) << 3));
    if (before <= key) break;
    store<u64>(found + (usize(hole) << 3), before);
  }
  store<u64>(found + (usize(hole) << 3), key);
}

/**
 * Chooses links for the node at `middle` from the sorted keys at `from`, up to `most` in many directions: a node that
 * is not farther from a chosen one than from the middle is reached through that one. If they are fewer than `filled`,
 * the closest others are added. Writes them to `chosen` and returns how many.
 */
function choose(middle: usize, from: usize, count: u32, most: u32, filled: u32): u32 {
  let kept: u32 = 0;
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

/** Counts the links to each node, for a graph whose links were written by the host. */
export function countLinks(): void {
  const count = load<u32>(NODE_COUNT);
  for (let node: u32 = 0; node < count; node += 1) {
    const own = links(addressOf(node), 0);
    for (let i: u32 = 0; i < GROUND_LINKS && load<u32>(own + (usize(i) << 2)) != 0; i += 1)
      addIncoming(linkedBy(own, i), 1);
  }
}
