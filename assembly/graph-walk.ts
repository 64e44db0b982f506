/**
 * The walk from the entry to the nodes most similar to the row.
 *
 * A walk visits only nodes that existed when it began. A list that the writer
 * changes meanwhile may show nodes twice or not at all, which only costs recall.
 */
import { distanceTo, prepareQuery } from "./graph-code";
import {
  clearVisited,
  distanceOf,
  emptyHeaps,
  frontier,
  frontierSize,
  isFrontierCut,
  keyOf,
  nodeOf,
  popFrontier,
  pushFrontier,
  pushResult,
  replaceResult,
  reserveResults,
  reserveVisited,
  results,
  resultsSize,
  setSalt,
  sortResults,
  visit,
} from "./graph-heaps";
import { ENTRY, GROUND_LINKS, LEVEL, LIVE, RECORD, UPPER_LINKS, addressOf, allocate, capacityOf, codeBytes, links } from "./graph-memory";

/** Address and number u32 of the unvisited nodes of a list. */
let batch: usize = 0;
/** Nodes from this number on are not visited. */
let limit: u32 = 0;
let visits: u32 = 0;
let isCut: bool = false;
/** Values read only to load them into the cache. */
let touched: u32 = 0;

/** Returns false without enough memory. */
export function openWalk(): bool {
  batch = allocate(GROUND_LINKS * 8);
  return batch != 0;
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
  pushFrontier(start);
  if (!isSearch || passes(addressOf(nodeOf(start)), accepts, recordEnd)) pushResult(start);
  let worst: u64 = resultsSize < effort ? u64.MAX_VALUE : load<u64>(results);
  while (frontierSize > 0) {
    if (load<u64>(frontier) > worst) break;
    const from = links(addressOf(nodeOf(popFrontier())), level);
    const count = collect(from, from + linkBytes);
    visits += count;
    for (let at = batch; at < batch + (usize(count) << 3); at += 8) {
      const address = usize(load<u32>(at));
      const key = keyOf(distanceTo(address), load<u32>(at, 4));
      if (key >= worst) continue;
      pushFrontier(key);
      if (isSearch && !passes(address, accepts, recordEnd)) continue;
      if (resultsSize < effort) pushResult(key);
      else replaceResult(key, effort);
      if (resultsSize == effort) worst = load<u64>(results);
    }
    if (visits >= visitsMax) {
      isCut = true;
      break;
    }
  }
  if (isFrontierCut) isCut = true;
  clearVisited();
}

@inline
function passes(address: usize, accepts: usize, recordEnd: u32): bool {
  if (load<u8>(address, LIVE) == 0) return false;
  if (accepts == 0) return true;
  const record = load<u32>(address, RECORD);
  if (record >= recordEnd) return false;
  return ((load<u32>(accepts + (usize(record >> 5) << 2)) >> (record & 31)) & 1) != 0;
}

/** Writes address and number of the unvisited nodes of a list to `batch`, and touches them, so that their misses overlap. */
@inline
function collect(from: usize, end: usize): u32 {
  let to = batch;
  let sum: u32 = 0;
  for (let at = from; at < end; at += 4) {
    const link = load<u32>(at);
    if (link == 0) break;
    // The node is newer than this search.
    if (link > limit || !visit(link - 1)) continue;
    const address = addressOf(link - 1);
    // Touches every line: 113 ns for each distance instead of 165 at 100,000 x 384. bench/graph.bench.ts
    for (let line = address; line < address + codeBytes; line += 64) sum += load<u32>(line);
    store<u32>(to, u32(address));
    store<u32>(to, link - 1, 4);
    to += 8;
  }
  touched = sum;
  return u32((to - batch) >> 3);
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
  sortResults();
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
