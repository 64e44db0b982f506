/**
 * The memory of a graph's nodes, by the layout of `assembly/graph-memory.ts`.
 *
 * A graph has one memory of at most 4 GiB, and dead nodes count until it is built
 * again. Records beyond that stay pending, and searches rank them by scanning.
 */
import { GROUND_LINKS, UPPER_LINKS } from "./graph-kernel.ts";

/** Factors, record, level, place of the upper links, checksum and count of links. */
const NODE_HEAD_BYTES = 28;
const LINK_BYTES = 4;
const UNIT_BYTES = 16;
/** One of UPPER_LINKS nodes of a level is also on the next one. */
const UPPER_LEVELS = 1 / (UPPER_LINKS - 1);
const MEMORY_BYTES_MAX = 4_294_901_760;

/** The bytes of a node with its links, on average. */
export function nodeBytesOf(dimension: number): number {
  const codeBytes = (dimension + 31) & ~31;
  const bytes = NODE_HEAD_BYTES + codeBytes + GROUND_LINKS * LINK_BYTES;
  const onGround = Math.ceil(bytes / UNIT_BYTES) * UNIT_BYTES;
  return onGround + UPPER_LEVELS * UPPER_LINKS * LINK_BYTES;
}

/** About the most nodes of a graph in a memory, live and dead ones. */
export function nodesMaxOf(dimension: number, memoryBytes = MEMORY_BYTES_MAX): number {
  return Math.floor(memoryBytes / nodeBytesOf(dimension));
}
