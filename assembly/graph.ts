/**
 * The approximate graph of one namespace (HNSW, Malkov and Yashunin 2016) over
 * codes of one byte per dimension, in a shared memory. One thread writes, any
 * number of others search at the same time without locks. Each thread has an
 * instance of its own; the variables below are the scratch of that thread.
 *
 *     0            | nothing: address 0 means none                        |
 *     TOP          | first free unit of 16 bytes u32                      |
 *     NODE_COUNT   | u32                                                  |
 *     ENTRY        | node + 1 where every search begins u32; 0: none      |
 *     DIMENSION    | u32 | SIMILARITY u32 | CENTRE_SQUARE f32             |
 *     BLOCK_TABLE  | address of each block of nodes u32, 8,192 of them    |
 *     CENTRE       | f32 for each dimension                               |
 *     TOP          | blocks, upper links and scratch, as they come        |
 *
 *     node         | a f32 | b f32 | record u32 | live u8, level u8, 2 spare |
 *                  | code i8, padded to 32 | upper u32 | checksum u32        |
 *                  | 32 links u32: node + 1, 0 ends them                     |
 *     upper        | 16 links u32 for each level from 1                      |
 *
 * Vectors are kept as their difference x' from a centre m (COSINE: of the
 * vector of length 1). A code is x' / scale; with a query q' = m - away it holds
 *
 *     EUCLIDEAN             |q - x|² = |q'|² + |x'|² - 2 q'x'      a = |x'|², b = -2 scale
 *     COSINE, DOT_PRODUCT      - q x = -q'm - mm - x'm - q'x'      a = -x'm,  b = -scale
 *
 * so that one sum serves all: distance = base + a + step * b * (query . code).
 *
 * (1) Memory is given out once and never moved or taken back. What is given out
 *     is zero.
 * (2) A link is 0 or a node below NODE_COUNT that has the level of the list. A
 *     node is linked only after its code, level and own links are written.
 * (3) Only the writer changes NODE_COUNT, ENTRY, links and blocks; only the
 *     owner changes `live`; TOP is everybody's, atomically.
 * (4) A search looks at nodes that were there when it began. A list that the
 *     writer changes meanwhile shows nodes twice or not at all: that costs
 *     recall, and nothing else.
 * (5) A node is not live until its owner says so.
 */

const TOP: usize = 64;
const NODE_COUNT: usize = 68;
const ENTRY: usize = 72;
const DIMENSION: usize = 76;
const SIMILARITY: usize = 80;
const CENTRE_SQUARE: usize = 84;
const BLOCK_TABLE: usize = 128;
const CENTRE: usize = 32_896;

/** The smallest block is half of BLOCK_BYTES, and 8,192 of those fill the memory. */
const BLOCK_BYTES: usize = 1_048_576;
/** 4 GiB less one page, so that no end overflows. */
const UNITS_MAX: u32 = 0xfff_f000;
const GROWTH_PAGES: i32 = 16;

const EUCLIDEAN: u32 = 1;
const COSINE: u32 = 0;

const RECORD: usize = 8;
const LIVE: usize = 12;
const LEVEL: usize = 13;
const CODE: usize = 16;

/** Links of a node on a level above the ground (M). The ground has twice as many. */
const UPPER_LINKS: u32 = 16;
const GROUND_LINKS: u32 = 32;
const LEVEL_MAX: u32 = 24;

const NONE: u32 = 0xffff_ffff;

/** Visited nodes that are noted one by one; beyond that the whole set is cleared. */
const UNDO_MAX: u32 = 32_768;
const FRONTIER_MIN: u32 = 4_096;
const FRONTIER_MAX: u32 = 1_048_576;

// What the header says.
let dimension: u32 = 0;
let similarity: u32 = 0;
let codeBytes: usize = 0;
let upperAt: usize = 0;
let checksumAt: usize = 0;
let linksAt: usize = 0;
let stride: usize = 0;
let blockShift: u32 = 0;
let blockMask: u32 = 0;
/** scale of a node = its b times this. */
let scaleOfB: f32 = 0;
/** The largest value of a query's code, so that no sum of products overflows. */
let queryMax: f32 = 0;

// Scratch of this thread.
let row: usize = 0;
let centred: usize = 0;
let query: usize = 0;
let base: f32 = 0;
let step: f32 = 0;
let visited: usize = 0;
let visitedNodes: u32 = 0;
let undo: usize = 0;
let undoCount: u32 = 0;
let batch: usize = 0;
let found: usize = 0;
let foundCount: u32 = 0;
let chosen: usize = 0;
let results: usize = 0;
let resultsSize: u32 = 0;
let resultsMax: u32 = 0;
let frontier: usize = 0;
let frontierSize: u32 = 0;
let frontierMax: u32 = 0;
let visits: u32 = 0;
let isCut: bool = false;
/** Nodes from here on are not looked at: keeps (4). */
let limit: u32 = 0;
/** What was touched only to have it in the cache. */
let touched: u32 = 0;

// What prepare() found out about the row.
let largest: f32 = 0;
let squareSum: f32 = 0;
let centreSum: f32 = 0;

/** Makes an empty graph of a zeroed memory. False: there is not enough memory. */
export function create(dimensions: u32, similarityCode: u32): bool {
  const end = CENTRE + padded(dimensions) * 4;
  const pages = i32((end + 65_535) >> 16) - memory.size();
  if (pages > 0 && memory.grow(pages) < 0) return false;
  store<u32>(TOP, u32(end >> 4));
  store<u32>(DIMENSION, dimensions);
  store<u32>(SIMILARITY, similarityCode);
  return attach();
}

/** Makes this instance work on a graph. False: there is not enough memory for its scratch. */
export function attach(): bool {
  dimension = load<u32>(DIMENSION);
  similarity = load<u32>(SIMILARITY);
  codeBytes = padded(dimension);
  upperAt = CODE + codeBytes;
  checksumAt = upperAt + 4;
  linksAt = checksumAt + 4;
  stride = (linksAt + GROUND_LINKS * 4 + 15) & ~15;
  blockShift = 31 - clz(u32(BLOCK_BYTES / stride));
  blockMask = (1 << blockShift) - 1;
  scaleOfB = similarity == EUCLIDEAN ? -0.5 : -1;
  // Each of 16 sums adds two products of at most 127 * queryMax for every 32 dimensions.
  queryMax = f32(min<u32>(32_767, 0x7fff_ffff / (254 * (<u32>codeBytes >> 5))));
  row = allocate(codeBytes * 4);
  centred = allocate(codeBytes * 4);
  query = allocate(codeBytes * 2);
  undo = allocate(UNDO_MAX * 4);
  batch = allocate(GROUND_LINKS * 8);
  chosen = allocate(GROUND_LINKS * 8);
  found = allocate((GROUND_LINKS + 1) * 8);
  frontier = allocate(FRONTIER_MIN * 8);
  frontierMax = FRONTIER_MIN;
  return row != 0 && centred != 0 && query != 0 && undo != 0 && batch != 0 && chosen != 0 && found != 0 && frontier != 0;
}

@inline
function padded(dimensions: u32): usize {
  return (usize(dimensions) + 31) & ~31;
}

/** The address of so many bytes of zeros, or 0. */
export function allocate(bytes: usize): usize {
  const units = u32((bytes + 15) >> 4);
  if (u64(atomic.load<u32>(TOP)) + units > UNITS_MAX) return 0;
  const at = atomic.add<u32>(TOP, units);
  const end = (u64(at) + units) << 4;
  if (end > (<u64>UNITS_MAX) << 4) return 0;
  // Other threads may grow it at the same time: then it is larger than needed, which the next one uses.
  for (let size = u64(memory.size()) << 16; size < end; size = u64(memory.size()) << 16) {
    const pages = i32((end - size + 65_535) >> 16);
    if (memory.grow(max(pages, GROWTH_PAGES)) < 0 && memory.grow(pages) < 0) return 0;
  }
  return usize(at) << 4;
}

/** Where the row to insert or the query is written, `dimension` f32. Beyond it lie zeros. */
export function rowAddress(): usize {
  return row;
}

/** Bytes that are given out. */
export function usedBytes(): f64 {
  return f64(atomic.load<u32>(TOP)) * 16;
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

/** Whether searches return it. Only its owner says so: keeps (3). */
export function setLive(node: u32, isLive: bool): void {
  atomic.store<u8>(addressOf(node) + LIVE, u8(isLive));
}

@inline
function addressOf(node: u32): usize {
  return usize(load<u32>(BLOCK_TABLE + (usize(node >> blockShift) << 2))) + usize(node & blockMask) * stride;
}

@inline
function links(address: usize, level: u32): usize {
  if (level == 0) return address + linksAt;
  return usize(load<u32>(address + upperAt)) + usize(level - 1) * (UPPER_LINKS * 4);
}

@inline
function capacityOf(level: u32): u32 {
  return level == 0 ? GROUND_LINKS : UPPER_LINKS;
}

// The centre.

/** Adds the row to the sum that becomes the centre. Only before the first node. */
export function addToCentre(): void {
  const factor = similarity == COSINE ? inverseLength() : 1;
  for (let at: usize = 0; at < codeBytes * 4; at += 4) {
    const value = load<f32>(row + at) * factor;
    store<f32>(CENTRE + at, load<f32>(CENTRE + at) + value);
  }
}

/** Makes the sum of `count` rows the centre. Values that are not finite leave 0. */
export function finishCentre(count: u32): void {
  let square: f32 = 0;
  for (let at: usize = 0; at < codeBytes * 4; at += 4) {
    let value = load<f32>(CENTRE + at) / f32(count);
    if (!(abs(value) < 1e18)) value = 0;
    store<f32>(CENTRE + at, value);
    square += value * value;
  }
  store<f32>(CENTRE_SQUARE, square);
}

/** Where the centre is, for its file. */
export function centreAddress(): usize {
  return CENTRE;
}

/** 1 / |row|; 0 for a row without a direction. */
function inverseLength(): f32 {
  let sum = f32x4.splat(0);
  for (let at = row; at < row + codeBytes * 4; at += 16) {
    const values = v128.load(at);
    sum = f32x4.add(sum, f32x4.mul(values, values));
  }
  const inverse: f32 = 1 / sqrt<f32>(sumOf(sum));
  return inverse < Infinity ? inverse : 0;
}

@inline
function sumOf(four: v128): f32 {
  return (
    f32x4.extract_lane(four, 0) +
    f32x4.extract_lane(four, 1) +
    (f32x4.extract_lane(four, 2) + f32x4.extract_lane(four, 3))
  );
}

// Codes.

/** Writes row - centre to `centred` and finds its largest value, its square and its product with the centre. */
function centre(): void {
  const factor = f32x4.splat(similarity == COSINE ? inverseLength() : 1);
  let most = f32x4.splat(0);
  let squares = f32x4.splat(0);
  let products = f32x4.splat(0);
  for (let at: usize = 0; at < codeBytes * 4; at += 16) {
    const middle = v128.load(CENTRE + at);
    const value = f32x4.sub(f32x4.mul(v128.load(row + at), factor), middle);
    v128.store(centred + at, value);
    most = f32x4.max(most, f32x4.abs(value));
    squares = f32x4.add(squares, f32x4.mul(value, value));
    products = f32x4.add(products, f32x4.mul(value, middle));
  }
  largest = max(
    max(f32x4.extract_lane(most, 0), f32x4.extract_lane(most, 1)),
    max(f32x4.extract_lane(most, 2), f32x4.extract_lane(most, 3)),
  );
  squareSum = finite(sumOf(squares));
  centreSum = finite(sumOf(products));
}

/** Sums that overflow would make distances that compare with nothing. */
@inline
function finite(value: f32): f32 {
  return abs(value) < Infinity ? value : 0;
}

/** Makes the row the query that distances are measured from. */
function prepareQuery(): void {
  centre();
  const factor = f32x4.splat(codeFactor(queryMax));
  let to = query;
  for (let at = centred; at < centred + codeBytes * 4; at += 32, to += 16)
    v128.store(to, i16x8.narrow_i32x4_s(rounded(at, factor), rounded(at + 16, factor)));
  step = finite(largest / queryMax);
  base = similarity == EUCLIDEAN ? squareSum : -centreSum - load<f32>(CENTRE_SQUARE);
}

/** Writes code and factors of the row that was prepared. */
function writeCode(address: usize): void {
  const factor = f32x4.splat(codeFactor(127));
  let to = address + CODE;
  for (let at = centred; at < centred + codeBytes * 4; at += 64, to += 16) {
    const low = i16x8.narrow_i32x4_s(rounded(at, factor), rounded(at + 16, factor));
    const high = i16x8.narrow_i32x4_s(rounded(at + 32, factor), rounded(at + 48, factor));
    v128.store(to, i8x16.narrow_i16x8_s(low, high));
  }
  const scale = finite(largest / 127);
  store<f32>(address, similarity == EUCLIDEAN ? squareSum : -centreSum);
  store<f32>(address, similarity == EUCLIDEAN ? -2 * scale : -scale, 4);
}

@inline
function codeFactor(most: f32): f32 {
  return largest > 0 ? finite(most / largest) : 0;
}

@inline
function rounded(at: usize, factor: v128): v128 {
  return i32x4.trunc_sat_f32x4_s(f32x4.nearest(f32x4.mul(v128.load(at), factor)));
}

/** Tells rows apart whose versions are mixed up. Not the row's bytes alone decide: padding is part of it. */
function checksum(): u32 {
  const prime = i32x4.splat(0x9e37_79b1);
  let sum = i32x4(1, 2, 3, 4);
  for (let at = row; at < row + codeBytes * 4; at += 16) {
    sum = i32x4.mul(v128.xor(sum, v128.load(at)), prime);
    sum = v128.xor(sum, i32x4.shr_u(sum, 15));
  }
  let mixed: u32 = i32x4.extract_lane(sum, 0);
  mixed = (mixed ^ i32x4.extract_lane(sum, 1)) * 0x85eb_ca77;
  mixed = (mixed ^ (mixed >> 13) ^ i32x4.extract_lane(sum, 2)) * 0xc2b2_ae3d;
  mixed = (mixed ^ (mixed >> 16) ^ i32x4.extract_lane(sum, 3)) * 0x27d4_eb2f;
  return mixed ^ (mixed >> 15);
}

/** The checksum of the row. */
export function rowChecksum(): u32 {
  return checksum();
}

/** From the query to a node. */
@inline
function distanceTo(address: usize): f32 {
  let one = i32x4.splat(0);
  let two = i32x4.splat(0);
  let three = i32x4.splat(0);
  let four = i32x4.splat(0);
  let code = address + CODE;
  const end = code + codeBytes;
  for (let at = query; code < end; code += 32, at += 64) {
    one = i32x4.add(one, i32x4.dot_i16x8_s(v128.load_ext<i8>(code), v128.load(at)));
    two = i32x4.add(two, i32x4.dot_i16x8_s(v128.load_ext<i8>(code, 8), v128.load(at, 16)));
    three = i32x4.add(three, i32x4.dot_i16x8_s(v128.load_ext<i8>(code, 16), v128.load(at, 32)));
    four = i32x4.add(four, i32x4.dot_i16x8_s(v128.load_ext<i8>(code, 24), v128.load(at, 48)));
  }
  return base + load<f32>(address) + step * load<f32>(address, 4) * total(one, two, three, four);
}

/** From one node to another. */
function distanceBetween(from: usize, to: usize): f32 {
  let one = i32x4.splat(0);
  let two = i32x4.splat(0);
  let three = i32x4.splat(0);
  let four = i32x4.splat(0);
  let code = from + CODE;
  const end = code + codeBytes;
  for (let at = to + CODE; code < end; code += 32, at += 32) {
    one = i32x4.add(one, i32x4.dot_i16x8_s(v128.load_ext<i8>(code), v128.load_ext<i8>(at)));
    two = i32x4.add(two, i32x4.dot_i16x8_s(v128.load_ext<i8>(code, 8), v128.load_ext<i8>(at, 8)));
    three = i32x4.add(three, i32x4.dot_i16x8_s(v128.load_ext<i8>(code, 16), v128.load_ext<i8>(at, 16)));
    four = i32x4.add(four, i32x4.dot_i16x8_s(v128.load_ext<i8>(code, 24), v128.load_ext<i8>(at, 24)));
  }
  const own: f32 = similarity == EUCLIDEAN ? load<f32>(from) : load<f32>(from) - load<f32>(CENTRE_SQUARE);
  const ownStep = load<f32>(from, 4) * scaleOfB;
  return own + load<f32>(to) + ownStep * load<f32>(to, 4) * total(one, two, three, four);
}

/** The sums of one lane together may be more than 31 bits hold. */
@inline
function total(one: v128, two: v128, three: v128, four: v128): f32 {
  return sumOf(
    f32x4.add(
      f32x4.add(f32x4.convert_i32x4_s(one), f32x4.convert_i32x4_s(two)),
      f32x4.add(f32x4.convert_i32x4_s(three), f32x4.convert_i32x4_s(four)),
    ),
  );
}

// A key is a distance and its node in one number that sorts by distance.

@inline
function keyOf(distance: f32, node: u32): u64 {
  const bits = reinterpret<i32>(distance);
  return (u64(u32(bits ^ ((bits >> 31) | 0x8000_0000))) << 32) | node;
}

@inline
function distanceOf(key: u64): f32 {
  const sortable = i32(key >> 32);
  return reinterpret<f32>(sortable < 0 ? sortable ^ 0x8000_0000 : ~sortable);
}

// The frontier: a heap with the smallest key on top.

function pushFrontier(key: u64): void {
  if (frontierSize == frontierMax && !growFrontier()) {
    isCut = true;
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

function popFrontier(): u64 {
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

function pushResult(key: u64): void {
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

/** Puts a key in the place of the largest, `size` of them being there. */
function replaceResult(key: u64, size: u32): void {
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

/** Best first, in place. */
function sortResults(): void {
  for (let size = resultsSize; size > 1; size -= 1) {
    const last = results + (usize(size - 1) << 3);
    const key = load<u64>(last);
    store<u64>(last, load<u64>(results));
    replaceResult(key, size - 1);
  }
}

function reserveResults(effort: u32): bool {
  if (effort <= resultsMax) return true;
  const most = max(effort, resultsMax * 2);
  const larger = allocate(usize(most) * 8);
  if (larger == 0) return false;
  results = larger;
  resultsMax = most;
  return true;
}

// Visited nodes.

function reserveVisited(): bool {
  if (limit <= visitedNodes) return true;
  const most = (max(limit, visitedNodes * 2) + 127) & ~127;
  const larger = allocate(usize(most) >> 3);
  if (larger == 0) return false;
  visited = larger;
  visitedNodes = most;
  undoCount = 0;
  return true;
}

/** Marks a node. False: it was marked. */
@inline
function visit(node: u32): bool {
  const at = visited + (usize(node >> 5) << 2);
  const bit: u32 = 1 << (node & 31);
  const word = load<u32>(at);
  if (word & bit) return false;
  store<u32>(at, word | bit);
  if (undoCount < UNDO_MAX) store<u32>(undo + (usize(undoCount) << 2), node);
  undoCount += 1;
  return true;
}

function clearVisited(): void {
  if (undoCount > UNDO_MAX) memory.fill(visited, 0, usize(visitedNodes) >> 3);
  else {
    for (let i: u32 = 0; i < undoCount; i += 1)
      store<u32>(visited + (usize(load<u32>(undo + (usize(i) << 2)) >> 5) << 2), 0);
  }
  undoCount = 0;
}

// The walk.

/** Makes ready for a walk over the first `nodes`. False: the graph is empty or this thread has no room. */
function begin(nodes: u32, effort: u32): bool {
  limit = nodes;
  visits = 0;
  isCut = false;
  resultsSize = 0;
  frontierSize = 0;
  return limit > 0 && reserveVisited() && reserveResults(effort);
}

/** The best node of the levels above `ground` that greedy steps from the entry lead to, as a key. */
function descend(node: u32, ground: u32): u64 {
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
      if (isBetter) address = addressOf(u32(best));
    }
  }
  return best;
}

/**
 * Collects in `results` the `effort` best nodes of a level that are reached from `start`. With `isSearch` only live
 * nodes whose records pass are collected; the others are walked through.
 */
function walk(start: u64, level: u32, effort: u32, isSearch: bool, accepts: usize, recordEnd: u32, visitsMax: u32): void {
  const linkBytes = usize(capacityOf(level)) * 4;
  resultsSize = 0;
  frontierSize = 0;
  visit(u32(start));
  pushFrontier(start);
  if (!isSearch || passes(addressOf(u32(start)), accepts, recordEnd)) pushResult(start);
  let worst: u64 = resultsSize < effort ? u64.MAX_VALUE : load<u64>(results);
  while (frontierSize > 0) {
    if (load<u64>(frontier) > worst) break;
    const from = links(addressOf(u32(popFrontier())), level);
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
    // Newer than this search: keeps (4).
    if (link > limit || !visit(link - 1)) continue;
    const address = addressOf(link - 1);
    // Every line: 113 ns a distance instead of 165 at 100,000 x 384. bench/graph.bench.ts
    for (let line = address; line < address + codeBytes; line += 64) sum += load<u32>(line);
    store<u32>(to, u32(address));
    store<u32>(to, link - 1, 4);
    to += 8;
  }
  touched = sum;
  return u32((to - batch) >> 3);
}

/**
 * The nodes that are most similar to the row, best first at `resultsAddress`: how many. `nodes`: what `nodeCount`
 * answered in a call before this one, so that this thread has learnt of the memory they lie in. `accepts`: address of a
 * bit for each record below `recordEnd`, 0: all pass. The results hold until the next call of this instance.
 */
export function search(nodes: u32, count: u32, effort: u32, accepts: usize, recordEnd: u32, visitsMax: u32): u32 {
  if (!begin(nodes, max(effort, count))) return 0;
  const node = atomic.load<u32>(ENTRY);
  // An entry that is newer than what this search looks at has at least one older node before it: node 0.
  const start = node == 0 || node > limit ? 0 : node - 1;
  prepareQuery();
  walk(descend(start, 0), 0, max(effort, count), true, accepts, recordEnd, visitsMax);
  sortResults();
  const hits = min(count, resultsSize);
  for (let i: u32 = 0; i < hits; i += 1) {
    const at = results + (usize(i) << 3);
    const key = load<u64>(at);
    store<u32>(at, load<u32>(addressOf(u32(key)), RECORD));
    store<f32>(at, distanceOf(key), 4);
  }
  return hits;
}

/** record u32, distance f32 of each hit. */
export function resultsAddress(): usize {
  return results;
}

/** Distances that the last search computed. */
export function visitCount(): u32 {
  return visits;
}

/** Whether the last search ended before it was done. */
export function wasCut(): bool {
  return isCut;
}

// Writing.

/** A node of the row, linked to nothing: its number, or NONE when there is no more memory. */
export function append(record: u32, level: u32): u32 {
  const node = load<u32>(NODE_COUNT);
  const slot = BLOCK_TABLE + (usize(node >> blockShift) << 2);
  if (load<u32>(slot) == 0) {
    const block = allocate(stride << blockShift);
    if (block == 0) return NONE;
    atomic.store<u32>(slot, u32(block));
  }
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
  // Only now: keeps (2).
  atomic.store<u32>(NODE_COUNT, node + 1);
  return node;
}

/** Appends the row and links it. NONE: there is no more memory, and nothing has changed that a search sees. */
export function insert(record: u32, level: u32, effort: u32): u32 {
  if (!begin(load<u32>(NODE_COUNT), effort) && limit > 0) return NONE;
  const node = append(record, level);
  if (node == NONE) return NONE;
  if (limit == 0) {
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
