/**
 * The approximate graph of one namespace (HNSW, Malkov and Yashunin 2016) over
 * codes of one byte per dimension, in a shared memory. One thread writes, any
 * number of others search at the same time without locks. Each thread has an
 * instance of its own.
 *
 * (1) A link is 0 or a node below the node count that has the level of the list.
 *     A node is linked only after its code, level and own links are written.
 * (2) Only the writer changes nodes, links, count and entry; only the owner says
 *     which nodes are live, and no node is before the owner says so.
 */
import { checksum, distanceBetween, openCodes, prepareQuery, row, writeCode } from "./graph-code";
import { distanceOf, keyOf, openHeaps, results, resultsSize, sortResults } from "./graph-heaps";
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
  addressOf,
  allocate,
  capacityOf,
  checksumAt,
  createLayout,
  links,
  readLayout,
  reserveNode,
  upperAt,
} from "./graph-memory";
import { begin, descend, openWalk, walk } from "./graph-walk";

export { addToCentre, finishCentre } from "./graph-code";
export { allocate, usedBytes } from "./graph-memory";
export { resultsAddress, search, visitCount, wasCut } from "./graph-walk";

// Scratch for choosing links: keys, best first.
let found: usize = 0;
let foundCount: u32 = 0;
let chosen: usize = 0;

/** Makes an empty graph of a zeroed memory. False: there is not enough memory. */
export function create(dimensions: u32, similarityCode: u32): bool {
  return createLayout(dimensions, similarityCode) && attach();
}

/** Makes this instance work on a graph. False: there is not enough memory for its scratch. */
export function attach(): bool {
  readLayout();
  chosen = allocate(GROUND_LINKS * 8);
  found = allocate((GROUND_LINKS + 1) * 8);
  return chosen != 0 && found != 0 && openCodes() && openHeaps() && openWalk();
}

/** Where the row to insert or the query is written, `dimension` f32. Beyond it lie zeros. */
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

/** Where the links of a node on one of its levels are. */
export function linksOf(node: u32, level: u32): usize {
  return links(addressOf(node), level);
}

/** Whether searches return it. Only its owner says so: keeps (2). */
export function setLive(node: u32, isLive: bool): void {
  atomic.store<u8>(addressOf(node) + LIVE, u8(isLive));
}

/** Where the centre is, for its file. */
export function centreAddress(): usize {
  return CENTRE;
}

/** The checksum of the row. */
export function rowChecksum(): u32 {
  return checksum();
}

/** A node of the row, linked to nothing: its number, or NONE when there is no more memory. */
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
  // Only now: keeps (1).
  atomic.store<u32>(NODE_COUNT, node + 1);
  return node;
}

/** Appends the row and links it. NONE: there is no more memory, and nothing has changed that a search sees. */
export function insert(record: u32, level: u32, effort: u32): u32 {
  const nodes = load<u32>(NODE_COUNT);
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
    sortResults();
    start = load<u64>(results);
    link(node, address, level);
  }
  // A search that begins here finds its way down: all its levels are linked.
  if (ownLevel > topLevel) atomic.store<u32>(ENTRY, node + 1);
  return node;
}

/** Links a new node to the best of `results`, and them to it. */
function link(node: u32, address: usize, level: u32): void {
  const count = choose(results, resultsSize, UPPER_LINKS);
  const own = links(address, level);
  for (let i: u32 = 0; i < count; i += 1)
    atomic.store<u32>(own + (usize(i) << 2), u32(load<u64>(chosen + (usize(i) << 3))) + 1);
  // `chosen` is used again below.
  for (let i: u32 = 0; i < count; i += 1) linkBack(load<u32>(own + (usize(i) << 2)) - 1, node, level);
}

/** Adds `node` to the links of `to`, if need be in the place of some of them. */
function linkBack(to: u32, node: u32, level: u32): void {
  const address = addressOf(to);
  const own = links(address, level);
  const capacity = capacityOf(level);
  let count: u32 = 0;
  while (count < capacity && load<u32>(own + (usize(count) << 2)) != 0) count += 1;
  if (count < capacity) {
    atomic.store<u32>(own + (usize(count) << 2), node + 1);
    return;
  }
  foundCount = 0;
  addFound(address, node);
  for (let i: u32 = 0; i < capacity; i += 1) addFound(address, load<u32>(own + (usize(i) << 2)) - 1);
  const kept = choose(found, foundCount, capacity);
  for (let i: u32 = 0; i < kept; i += 1)
    atomic.store<u32>(own + (usize(i) << 2), u32(load<u64>(chosen + (usize(i) << 3))) + 1);
  for (let i = kept; i < capacity; i += 1) atomic.store<u32>(own + (usize(i) << 2), 0);
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
 * Chooses up to `most` of the sorted keys at `from` so that they lie in many directions: one that is closer to a chosen
 * one than to the middle is reached through that. They stand at `chosen`, best first: how many.
 */
function choose(from: usize, count: u32, most: u32): u32 {
  let kept: u32 = 0;
  for (let i: u32 = 0; i < count && kept < most; i += 1) {
    const key = load<u64>(from + (usize(i) << 3));
    const distance = distanceOf(key);
    const address = addressOf(u32(key));
    let isKept = true;
    for (let j: u32 = 0; j < kept; j += 1) {
      const other = addressOf(u32(load<u64>(chosen + (usize(j) << 3))));
      if (distanceBetween(address, other) < distance) {
        isKept = false;
        break;
      }
    }
    if (!isKept) continue;
    store<u64>(chosen + (usize(kept) << 3), key);
    kept += 1;
  }
  return kept;
}
