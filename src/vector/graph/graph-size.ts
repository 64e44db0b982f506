/**
 * The memory of a graph's nodes, by the layout of `assembly/graph-memory.ts`.
 *
 * A graph has one memory of at most 4 GiB, and dead nodes count until they are
 * removed or it is built again. So a graph gets fewer records than nodes have room
 * for, and a namespace with more of them has several graphs
 * (`graph-parts/parted-graph.ts`).
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

/**
 * The share of a memory for nodes of records. A graph is built again when it has half as many dead nodes
 * (`built-graph.ts`); the last tenth is for the filters of searches and the scratch of threads.
 */
const RECORD_SHARE = 0.6;

/** The most records of one graph; a namespace with more of them has several. */
export function partRecordsOf(dimension: number): number {
  return Math.floor(nodesMaxOf(dimension) * RECORD_SHARE);
}

/** About the most nodes of a graph in a memory, live and dead ones. */
export function nodesMaxOf(dimension: number, memoryBytes = MEMORY_BYTES_MAX): number {
  return Math.floor(memoryBytes / nodeBytesOf(dimension));
}
