/**
 * The memory of a graph, which threads share: what lies where.
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
 *                  | links to it on the ground u32                           |
 *                  | 32 links u32: node + 1, 0 ends them                     |
 *     upper        | 16 links u32 for each level from 1                      |
 *
 * (1) Memory is given out once and never moved or taken back. What is given out
 *     is zero.
 * (2) TOP is everybody's, atomically. All else in the header and the blocks is
 *     the writer's, but for `live`.
 */

const TOP: usize = 64;
export const NODE_COUNT: usize = 68;
export const ENTRY: usize = 72;
const DIMENSION: usize = 76;
const SIMILARITY: usize = 80;
export const CENTRE_SQUARE: usize = 84;
const BLOCK_TABLE: usize = 128;
export const CENTRE: usize = 32_896;

/** The smallest block is half of BLOCK_BYTES, and 8,192 of those fill the memory. */
const BLOCK_BYTES: usize = 1_048_576;
/** 4 GiB less one page, so that no end overflows. */
const UNITS_MAX: u32 = 0xfff_f000;
const GROWTH_PAGES: i32 = 16;

export const EUCLIDEAN: u32 = 1;
export const COSINE: u32 = 0;

export const RECORD: usize = 8;
export const LIVE: usize = 12;
export const LEVEL: usize = 13;
export const CODE: usize = 16;

/** Links of a node on a level above the ground (M). The ground has twice as many. */
export const UPPER_LINKS: u32 = 16;
export const GROUND_LINKS: u32 = 32;
export const LEVEL_MAX: u32 = 24;

export const NONE: u32 = 0xffff_ffff;

// What the header says, for this thread.
export let dimension: u32 = 0;
/** As `src/vector/graph/graph-kernel.ts` numbers them. */
export let similarity: u32 = 0;
/** Of a code. */
export let codeBytes: usize = 0;
export let upperAt: usize = 0;
export let checksumAt: usize = 0;
let incomingAt: usize = 0;
let linksAt: usize = 0;
let stride: usize = 0;
let blockShift: u32 = 0;
let blockMask: u32 = 0;

/** Makes an empty graph of a zeroed memory. False: there is not enough memory. */
export function createLayout(dimensions: u32, similarityCode: u32): bool {
  const end = CENTRE + padded(dimensions) * 4;
  const pages = i32((end + 65_535) >> 16) - memory.size();
  if (pages > 0 && memory.grow(pages) < 0) return false;
  store<u32>(TOP, u32(end >> 4));
  store<u32>(DIMENSION, dimensions);
  store<u32>(SIMILARITY, similarityCode);
  return true;
}

/** Reads what the header says. */
export function readLayout(): void {
  dimension = load<u32>(DIMENSION);
  similarity = load<u32>(SIMILARITY);
  codeBytes = padded(dimension);
  upperAt = CODE + codeBytes;
  checksumAt = upperAt + 4;
  incomingAt = checksumAt + 4;
  linksAt = incomingAt + 4;
  stride = (linksAt + GROUND_LINKS * 4 + 15) & ~15;
  blockShift = 31 - clz(u32(BLOCK_BYTES / stride));
  blockMask = (1 << blockShift) - 1;
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

/** Bytes that are given out. */
export function usedBytes(): f64 {
  return f64(atomic.load<u32>(TOP)) * 16;
}

@inline
export function addressOf(node: u32): usize {
  return usize(load<u32>(slotOf(node))) + usize(node & blockMask) * stride;
}

/** Where the address of a node's block stands. */
@inline
function slotOf(node: u32): usize {
  return BLOCK_TABLE + (usize(node >> blockShift) << 2);
}

/** Makes sure that there is a block for a node. False: there is not enough memory. */
export function reserveNode(node: u32): bool {
  if (load<u32>(slotOf(node)) != 0) return true;
  const block = allocate(stride << blockShift);
  if (block == 0) return false;
  atomic.store<u32>(slotOf(node), u32(block));
  return true;
}

/** The links of a node on one of its levels. */
@inline
export function links(address: usize, level: u32): usize {
  if (level == 0) return address + linksAt;
  return usize(load<u32>(address + upperAt)) + usize(level - 1) * (UPPER_LINKS * 4);
}

@inline
export function capacityOf(level: u32): u32 {
  return level == 0 ? GROUND_LINKS : UPPER_LINKS;
}

/** How many links on the ground lead to a node. */
@inline
export function incomingOf(node: u32): u32 {
  return load<u32>(addressOf(node) + incomingAt);
}

@inline
export function addIncoming(node: u32, change: u32): void {
  const at = addressOf(node) + incomingAt;
  store<u32>(at, load<u32>(at) + change);
}
