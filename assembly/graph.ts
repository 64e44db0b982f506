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
 * (3) The writer uses places of nodes again (`graph-repair.ts`). A walk of another
 *     thread that is still there compares a wrong code or follows wrong links,
 *     which only costs recall: all of them exist, and the node is not live.
 */
import { checksum, distanceTo, openCodes, prepareQuery, row, writeCode } from "./graph-code";
import { insertResult, keyOf, nodeOf, openHeaps, results, resultsSize, setResultsSize, setSalt } from "./graph-heaps";
import { link, linkedBy, openLinks } from "./graph-links";
import {
  CENTRE,
  ENTRY,
  GROUND_LINKS,
  IN_USE,
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
  checksumAt,
  createLayout,
  dimension,
  isRetired,
  links,
  readLayout,
  reserveNode,
  setState,
  upperAt,
} from "./graph-memory";
import { begin, descend, openWalk, walk } from "./graph-walk";

export { addToCentre, finishCentre } from "./graph-code";
export { GROUND_LINKS, LEVEL_MAX, UPPER_LINKS, allocate, usedBytes } from "./graph-memory";
export {
  CHECK_FOUND,
  CHECK_LOST,
  CHECK_REPAIRED,
  CHECK_SKIPPED,
  check,
  free,
  leave,
  retire,
  sweep,
  unlink,
} from "./graph-repair";
export { resultsAddress, search, visitCount, wasCut } from "./graph-walk";

/** Creates an empty graph in a zeroed memory. Returns false without enough memory. */
export function create(dimensions: u32, similarityCode: u32): bool {
  return createLayout(dimensions, similarityCode) && attach();
}

/** Attaches this instance to a graph. Returns false without enough memory for its scratch. */
export function attach(): bool {
  readLayout();
  return openLinks() && openCodes() && openHeaps() && openWalk();
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
  store<u8>(address, u8(levels), LEVEL);
  write(address, record);
  // Counted only now: keeps (1).
  atomic.store<u32>(NODE_COUNT, node + 1);
  return node;
}

/** Writes the row to a node. */
function write(address: usize, record: u32): void {
  prepareQuery();
  writeCode(address);
  store<u32>(address, record, RECORD);
  store<u32>(address + checksumAt, checksum());
}

/**
 * Inserts the row as a new node, or in the place of the free node `place`, which has the level, if it is not NONE.
 * Returns its number, or NONE, with no change visible to searches, if there is no more memory.
 */
export function insert(record: u32, level: u32, effort: u32, place: u32): u32 {
  const nodes = load<u32>(NODE_COUNT);
  if (nodes > 0 && !begin(nodes, effort)) return NONE;
  const node = place == NONE ? append(record, level) : place;
  if (node == NONE) return NONE;
  setSalt(node);
  const address = addressOf(node);
  if (place != NONE) {
    write(address, record);
    setState(address, IN_USE);
  }
  if (nodes == 0) {
    atomic.store<u32>(ENTRY, node + 1);
    return node;
  }
  const ownLevel: u32 = load<u8>(address, LEVEL);
  const first = load<u32>(ENTRY) - 1;
  const topLevel: u32 = load<u8>(addressOf(first), LEVEL);
  let start = descend(first, min(ownLevel, topLevel));
  for (let level: i32 = min(ownLevel, topLevel); level >= 0; level -= 1) {
    walk(start, level, effort, false, 0, 0, NONE);
    start = load<u64>(results);
    dropRetired(node, level, first, effort);
    link(node, address, level);
    setSalt(node);
  }
  // A search can begin here, because all levels of the node are linked.
  if (ownLevel > topLevel) atomic.store<u32>(ENTRY, node + 1);
  return node;
}

/** Removes retired nodes and `node` from the sorted results. If few are left, live nodes farther away are found. */
function dropRetired(node: u32, level: u32, first: u32, effort: u32): void {
  const start = load<u64>(results);
  const count = resultsSize;
  keepInUse(node);
  if (resultsSize >= min(count, UPPER_LINKS)) return;
  walk(start, level, effort, true, 0, 0, NONE);
  keepInUse(node);
  // The entry is never retired.
  if (resultsSize == 0) insertResult(keyOf(distanceTo(addressOf(first)), first), effort);
}

function keepInUse(node: u32): void {
  let kept: u32 = 0;
  for (let i: u32 = 0; i < resultsSize; i += 1) {
    const key = load<u64>(results + (usize(i) << 3));
    if (isRetired(addressOf(nodeOf(key))) || nodeOf(key) == node) continue;
    store<u64>(results + (usize(kept) << 3), key);
    kept += 1;
  }
  setResultsSize(kept);
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
