/**
 * The layout of a graph's memory, which threads share.
 *
 *     0            | nothing: address 0 means none                        |
 *     TOP          | first free unit of 16 bytes u32                      |
 *     NODE_COUNT   | u32                                                  |
 *     ENTRY        | node + 1 where every search begins u32; 0: none      |
 *     DIMENSION    | u32 | SIMILARITY u32 | CENTRE_SQUARE f32             |
 *     BLOCK_TABLE  | address of each block of nodes u32, 8,192 of them    |
 *     CENTRE       | f32 for each dimension                               |
 *     TOP          | blocks, upper links and scratch, in any order        |
 *
 *     node         | a f32 | b f32 | record u32                              |
 *                  | live u8, level u8, state u8, pinned links u8            |
 *                  | code u8, padded to 32 | upper u32 | checksum u32        |
 *                  | sum of the code i32 | links to it on the ground u32     |
 *                  | 32 links u32: node + 1, 0 ends them                     |
 *     upper        | 16 links u32 for each level from 1                      |
 *
 * (1) Memory is allocated once and never moved or freed. Allocated memory is
 *     zero.
 * (2) All threads change TOP, atomically. Everything else in the header and the
 *     blocks is changed only by the writer, except `live`.
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
const STATE: usize = 14;
const PINS: usize = 15;
export const CODE: usize = 16;

/** Links of a node on a level above the ground (M). The ground has twice as many. */
export const UPPER_LINKS: u32 = 16;
export const GROUND_LINKS: u32 = 32;
export const LEVEL_MAX: u32 = 24;

/** States of a node. */
export const IN_USE: u32 = 0;
/** Its record is gone. Walks go through it, and nothing new is linked to it. */
export const RETIRED: u32 = 1;
/** A pass over all lists is removing the links to it. */
export const LEAVING: u32 = 2;
/** Nothing is linked to it. A new node can take its place. */
export const FREE: u32 = 3;

export const NONE: u32 = 0xffff_ffff;

// The header's values, for this thread.
export let dimension: u32 = 0;
/** As `src/vector/graph/graph-kernel.ts` numbers them. */
export let similarity: u32 = 0;
/** The bytes of a code. */
export let codeBytes: usize = 0;
export let upperAt: usize = 0;
export let checksumAt: usize = 0;
export let sumAt: usize = 0;
let incomingAt: usize = 0;
let linksAt: usize = 0;
let stride: usize = 0;
let blockShift: u32 = 0;
let blockMask: u32 = 0;

/** Creates an empty graph in a zeroed memory. Returns false without enough memory. */
export function createLayout(dimensions: u32, similarityCode: u32): bool {
  const end = CENTRE + padded(dimensions) * 4;
  const pages = i32((end + 65_535) >> 16) - memory.size();
  if (pages > 0 && memory.grow(pages) < 0) return false;
  store<u32>(TOP, u32(end >> 4));
  store<u32>(DIMENSION, dimensions);
  store<u32>(SIMILARITY, similarityCode);
  return true;
}

/** Reads the header. */
export function readLayout(): void {
  dimension = load<u32>(DIMENSION);
  similarity = load<u32>(SIMILARITY);
  codeBytes = padded(dimension);
  upperAt = CODE + codeBytes;
  checksumAt = upperAt + 4;
  sumAt = checksumAt + 4;
  incomingAt = sumAt + 4;
  linksAt = incomingAt + 4;
  stride = (linksAt + GROUND_LINKS * 4 + 15) & ~15;
  blockShift = 31 - clz(u32(BLOCK_BYTES / stride));
  blockMask = (1 << blockShift) - 1;
}

@inline
function padded(dimensions: u32): usize {
  return (usize(dimensions) + 31) & ~31;
}

/** Allocates this many zero bytes. Returns their address, or 0. */
export function allocate(bytes: usize): usize {
  const units = u32((bytes + 15) >> 4);
  if (u64(atomic.load<u32>(TOP)) + units > UNITS_MAX) return 0;
  const at = atomic.add<u32>(TOP, units);
  const end = (u64(at) + units) << 4;
  if (end > (<u64>UNITS_MAX) << 4) return 0;
  // Other threads may grow it at the same time: then it is larger than needed, and the next allocation uses the rest.
  for (let size = u64(memory.size()) << 16; size < end; size = u64(memory.size()) << 16) {
    const pages = i32((end - size + 65_535) >> 16);
    if (memory.grow(max(pages, GROWTH_PAGES)) < 0 && memory.grow(pages) < 0) return 0;
  }
  return usize(at) << 4;
}

/** The number of allocated bytes. */
export function usedBytes(): f64 {
  return f64(atomic.load<u32>(TOP)) * 16;
}

@inline
export function addressOf(node: u32): usize {
  return usize(load<u32>(slotOf(node))) + usize(node & blockMask) * stride;
}

/** The location of the address of a node's block. */
@inline
function slotOf(node: u32): usize {
  return BLOCK_TABLE + (usize(node >> blockShift) << 2);
}

/** Ensures that a node has a block. Returns false without enough memory. */
export function reserveNode(node: u32): bool {
  if (load<u32>(slotOf(node)) != 0) return true;
  const block = allocate(stride << blockShift);
  if (block == 0) return false;
  atomic.store<u32>(slotOf(node), u32(block));
  return true;
}

/** The address of a node's links on a level. */
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

@inline
export function stateOf(address: usize): u32 {
  return load<u8>(address, STATE);
}

@inline
export function setState(address: usize, state: u32): void {
  store<u8>(address, u8(state), STATE);
}

/** Whether nothing may be linked to a node. */
@inline
export function isRetired(address: usize): bool {
  return load<u8>(address, STATE) != 0;
}

/** How many of the first links on the ground are pinned. */
@inline
export function pinsOf(address: usize): u32 {
  return load<u8>(address, PINS);
}

@inline
export function setPins(address: usize, count: u32): void {
  store<u8>(address, u8(count), PINS);
}
