/**
 * The walk from the entry to the nodes most similar to the row.
 *
 * A walk visits only nodes that existed when it began. A list that the writer
 * changes meanwhile may show nodes twice or not at all, which only costs recall.
 */
import { distancesTo, distanceTo, prepareQuery } from "./graph-code";
import {
  clearVisited,
  distanceOf,
  NO_KEY,
  emptyHeaps,
  expandResult,
  frontier,
  frontierSize,
  insertResult,
  isFrontierCut,
  keyOf,
  nextResult,
  nodeOf,
  popFrontier,
  pushFrontier,
  reserveResults,
  reserveVisited,
  results,
  resultsSize,
  setSalt,
  storeKeys,
  visit,
} from "./graph-heaps";
import { CODE, ENTRY, GROUND_LINKS, LEVEL, LIVE, RECORD, UPPER_LINKS, addressOf, allocate, capacityOf, codeBytes, links } from "./graph-memory";

/** Address and number u32 of the unvisited nodes of a list. */
let batch: usize = 0;
/** Their keys. */
let keys: usize = 0;
/** Nodes from this number on are not visited. */
let limit: u32 = 0;
let visits: u32 = 0;
let isCut: bool = false;
/** Values read only to load them into the cache. */
let touched: u32 = 0;

/** Returns false without enough memory. */
export function openWalk(): bool {
  // One more, because a visited node is written too.
  batch = allocate((GROUND_LINKS + 1) * 8);
  keys = allocate(GROUND_LINKS * 8);
  return batch != 0 && keys != 0;
}

/** Prepares walks over the first `nodes`. Returns false if there are none, or no room for the state of a walk. */
export function begin(nodes: u32, effort: u32): bool {
  limit = nodes;
  visits = 0;
  isCut = nodes > 0 && !(reserveVisited(nodes) && reserveResults(effort));
  return nodes > 0 && !isCut;
}

/** The best node above the level `ground` that greedy steps from the entry reach, as a key. */
export function descend(node: u32, ground: u32): u64 {
  let address = addressOf(node);
  let best = keyOf(distanceTo(address), node);
  visits += 1;
  for (let level: u32 = load<u8>(address, LEVEL); level > ground; level -= 1) {
    for (let isBetter = true; isBetter; ) {
      isBetter = false;
      const start = links(address, level);
      const end = start + UPPER_LINKS * 4;
      for (let at = start; at < end; at += 4) {
        const link = load<u32>(at);
        if (link == 0) break;
        if (link > limit) continue;
        const next = addressOf(link - 1);
        const key = keyOf(distanceTo(next), link - 1);
        visits += 1;
        if (key < best) {
          best = key;
          isBetter = true;
        }
      }
      if (isBetter) address = addressOf(nodeOf(best));
    }
  }
  return best;
}

/**
 * Collects in `results` the `effort` best nodes of a level that are reached from `start`. With `isSearch` only live
 * nodes whose records pass are collected; the others are walked through.
 */
export function walk(start: u64, level: u32, effort: u32, isSearch: bool, accepts: usize, recordEnd: u32, visitsMax: u32): void {
  const linkBytes = usize(capacityOf(level)) * 4;
  emptyHeaps();
  visit(nodeOf(start));
  const first = keyOf(distanceOf(start), nodeOf(start));
  if (!isSearch || passes(addressOf(nodeOf(first)), accepts, recordEnd)) insertResult(first, effort);
  else pushFrontier(first);
  let worst: u64 = resultsSize < effort ? NO_KEY : load<u64>(results);
  for (;;) {
    let next = nextResult();
    if (frontierSize > 0 && load<u64>(frontier) < next) {
      next = popFrontier();
      if (next > worst) break;
    } else {
      if (next == NO_KEY) break;
      expandResult();
    }
    const from = links(addressOf(nodeOf(next)), level);
    const end = collect(from, from + linkBytes);
    visits += u32((end - batch) >> 3);
    // The links that are probably read next.
    const later = nextResult();
    if (later != NO_KEY) touched = touchLinks(nodeOf(later), level);
    measure(end);
    for (let at = batch, measured = keys; at < end; at += 8, measured += 8) {
      const key = load<u64>(measured);
      if (key >= worst) continue;
      if (isSearch && !passes(usize(load<u32>(at)), accepts, recordEnd)) {
        pushFrontier(key);
        continue;
      }
      insertResult(key, effort);
      if (resultsSize == effort) worst = load<u64>(results + (usize(effort - 1) << 3));
    }
    if (visits >= visitsMax) {
      isCut = true;
      break;
    }
  }
  if (isFrontierCut) isCut = true;
  clearVisited();
}

/** Writes the keys of the nodes of `batch` to `keys`. Touches them all first, so that their misses overlap. */
@inline
function measure(end: usize): void {
  let sum: u32 = 0;
  for (let at = batch; at < end; at += 8) sum += touch(load<u32>(at));
  touched = sum;
  let at = batch;
  let to = keys;
  for (; at + 32 <= end; at += 32, to += 32) {
    const distances = distancesTo(load<u32>(at), load<u32>(at, 8), load<u32>(at, 16), load<u32>(at, 24));
    storeKeys(to, distances, v128.shuffle<i32>(v128.load(at), v128.load(at, 16), 1, 3, 5, 7));
  }
  for (; at < end; at += 8, to += 8) store<u64>(to, keyOf(distanceTo(load<u32>(at)), load<u32>(at, 4)));
}

@inline
function touchLinks(node: u32, level: u32): u32 {
  const list = links(addressOf(node), level);
  return load<u32>(list) + load<u32>(list, 64);
}

/** Reads every line of a code, to load it into the cache. */
@inline
function touch(address: usize): u32 {
  let sum: u32 = 0;
  for (let line = address; line < address + CODE + codeBytes; line += 64) sum += load<u32>(line);
  return sum;
}

@inline
function passes(address: usize, accepts: usize, recordEnd: u32): bool {
  if (load<u8>(address, LIVE) == 0) return false;
  if (accepts == 0) return true;
  const record = load<u32>(address, RECORD);
  if (record >= recordEnd) return false;
  return ((load<u32>(accepts + (usize(record >> 5) << 2)) >> (record & 31)) & 1) != 0;
}

/** Writes address and number of the unvisited nodes of a list to `batch`, and returns its end. */
@inline
function collect(from: usize, end: usize): usize {
  let to = batch;
  for (let at = from; at < end; at += 4) {
    const link = load<u32>(at);
    if (link == 0) break;
    // The node is newer than this search.
    if (link > limit) continue;
    store<u32>(to, u32(addressOf(link - 1)));
    store<u32>(to, link - 1, 4);
    to += usize(visit(link - 1)) << 3;
  }
  return to;
}

/**
 * Writes the nodes most similar to the row to `resultsAddress`, best first, and returns how many. `nodes` is the result
 * of an earlier call of `nodeCount`, so that this thread sees the memory of these nodes. `accepts` is the address of a
 * bit for each record below `recordEnd`; all pass if 0. The results are valid until the next call of this instance.
 */
export function search(nodes: u32, count: u32, effort: u32, accepts: usize, recordEnd: u32, visitsMax: u32): u32 {
  if (!begin(nodes, max(effort, count))) return 0;
  const node = atomic.load<u32>(ENTRY);
  // If the entry is newer than this search, at least one older node exists: node 0.
  const start = node == 0 || node > limit ? 0 : node - 1;
  setSalt(0);
  prepareQuery();
  walk(descend(start, 0), 0, max(effort, count), true, accepts, recordEnd, visitsMax);
  const hits = min(count, resultsSize);
  for (let i: u32 = 0; i < hits; i += 1) {
    const at = results + (usize(i) << 3);
    const key = load<u64>(at);
    store<u32>(at, load<u32>(addressOf(nodeOf(key)), RECORD));
    store<f32>(at, distanceOf(key), 4);
  }
  return hits;
}

/** The hits: record u32, distance f32. */
export function resultsAddress(): usize {
  return results;
}

/** The number of distances that the last search computed. */
export function visitCount(): u32 {
  return visits;
}

/** Whether the last search ended early. */
export function wasCut(): bool {
  return isCut;
}
