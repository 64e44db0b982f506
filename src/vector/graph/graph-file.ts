/**
 * The file of a graph, which saves building it again. Words are u32, in the byte
 * order of the machine that wrote it: other machines refuse the first word.
 *
 *     header   | magic | format | dimension | similarity | node count | entry | centre f32 per dimension |
 *     node     | version f64 (two words) | checksum of the row | level |
 *              | links of level 0, then 1 ...: node + 1 each, up to a 0 or as many as fit |
 *     trailer  | words in the file | CRC-32 of all before this word |
 *
 * (1) Nothing is read before the length and the CRC were checked.
 * (2) Nothing is used before every link was checked: it names a node of the file
 *     that has the level of the link's list, so a walk cannot leave the graph.
 * (3) The file has no codes. They are made again from the current rows, so that
 *     an old or foreign file only finds fewer records.
 */
import { crc32 } from "../../kernel/checksum/crc32.ts";
import { similarityRows } from "../rows/similarity.ts";
import type { GraphOptions } from "./graph.ts";
import { GROUND_LINKS, LEVEL_MAX, UPPER_LINKS } from "./graph-kernel.ts";

/** "lgr" and a byte that shows the byte order. */
export const MAGIC = 0x6c67_7201;
export const FORMAT = 1;
export const HEADER_WORDS = 6;
export const NODE_WORDS = 4;
export const TRAILER_WORDS = 2;

export interface GraphFile {
  readonly words: Uint32Array;
  readonly nodeCount: number;
  /** The node where searches begin, plus 1. */
  readonly entry: number;
  readonly centre: Float32Array;
  /** The index of the first word of each node. */
  readonly starts: Uint32Array;
}

/** The most links of a list on a level. */
export function capacityOf(level: number): number {
  return level === 0 ? GROUND_LINKS : UPPER_LINKS;
}

/** The CRC-32 of more words after those of `seed`. */
export function checksumOf(words: Uint32Array, seed: number): number {
  return crc32(new Uint8Array(words.buffer, words.byteOffset, words.byteLength), seed);
}

/** The checked contents of the file, or the reason why it is refused. */
export function readGraphFile(bytes: Uint8Array, { dimension, similarity }: GraphOptions): GraphFile | string {
  const centreEnd = HEADER_WORDS + dimension;
  if (bytes.length % 4 !== 0 || bytes.length / 4 < centreEnd + TRAILER_WORDS) return "its length is wrong";
  const words = wordsOf(bytes);
  if (words[0] !== MAGIC) return "it is not a graph file of this machine";
  if (words[1] !== FORMAT) return `it has format ${words[1]}, but this version reads format ${FORMAT}`;
  // keeps (1)
  if (words.at(-2) !== words.length) return "its length is wrong";
  if (checksumOf(words.subarray(0, -1), 0) !== words.at(-1)) return "its checksum is wrong";
  if (words[2] !== dimension || words[3] !== similarityRows[similarity].code) {
    return "it has another dimension or similarity";
  }
  const centre = new Float32Array(words.slice(HEADER_WORDS, centreEnd).buffer);
  if (!centre.every(Number.isFinite)) return "its centre is not finite";
  const nodeCount = words[4] as number;
  const entry = words[5] as number;
  if (entry === 0 || entry > nodeCount) return "its entry is not a node";
  const starts = findNodes(words.subarray(0, -TRAILER_WORDS), centreEnd, nodeCount);
  if (starts === undefined) return "its nodes do not fill it exactly";
  const file = { words, nodeCount, entry, centre, starts };
  return areLinksRight(file) ? file : "it has an invalid link";
}

/** The words of the file; copied if the bytes are not aligned. */
function wordsOf(bytes: Uint8Array): Uint32Array {
  const whole = bytes.byteOffset % 4 === 0 ? bytes : bytes.slice();
  return new Uint32Array(whole.buffer, whole.byteOffset, whole.length / 4);
}

/** The start of each node; undefined if the nodes do not fill exactly the words from `start` to the end. */
function findNodes(words: Uint32Array, start: number, nodeCount: number): Uint32Array | undefined {
  // A node has a list of at least one word.
  if (nodeCount > (words.length - start) / (NODE_WORDS + 1)) return undefined;
  const starts = new Uint32Array(nodeCount);
  let at = start;
  for (let node = 0; node < nodeCount; node += 1) {
    starts[node] = at;
    const level = words[at + NODE_WORDS - 1];
    if (level === undefined || level > LEVEL_MAX) return undefined;
    at += NODE_WORDS;
    for (let list = 0; list <= level; list += 1) at = listEnd(words, at, list);
    if (at > words.length) return undefined;
  }
  return at === words.length ? starts : undefined;
}

/** The index after a list, which ends at a 0 or when it is full. */
export function listEnd(words: Uint32Array, start: number, level: number): number {
  const full = start + capacityOf(level);
  let at = start;
  while (at < full && at < words.length && words[at] !== 0) at += 1;
  return at === full ? at : at + 1;
}

function areLinksRight(file: GraphFile): boolean {
  const { words, nodeCount, starts } = file;
  for (let node = 0; node < nodeCount; node += 1) {
    const first = (starts[node] as number) + NODE_WORDS;
    const ownLevel = levelOf(file, node);
    let at = first;
    for (let level = 0; level <= ownLevel; level += 1) {
      const end = listEnd(words, at, level);
      for (; at < end; at += 1) {
        const link = words[at] as number;
        // keeps (2)
        if (link > nodeCount || (link > 0 && levelOf(file, link - 1) < level)) return false;
      }
    }
  }
  return true;
}

export function levelOf({ words, starts }: GraphFile, node: number): number {
  return words[(starts[node] as number) + NODE_WORDS - 1] as number;
}
