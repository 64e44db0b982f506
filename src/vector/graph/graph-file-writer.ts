/**
 * Writes a graph to the bytes of its file (`graph-file.ts`), some nodes at a
 * time, while another thread continues to build: nodes added meanwhile, and links
 * to them, are omitted.
 */
import { similarityRows } from "../rows/similarity.ts";
import type { GraphOptions } from "./graph.ts";
import { capacityOf, checksumOf, FORMAT, HEADER_WORDS, MAGIC, NODE_WORDS, TRAILER_WORDS } from "./graph-file.ts";
import { GROUND_LINKS, type GraphKernel, LEVEL_MAX, UPPER_LINKS } from "./graph-kernel.ts";

const NODE_WORDS_MAX = NODE_WORDS + GROUND_LINKS + LEVEL_MAX * UPPER_LINKS;

const versionWords = new Uint32Array(2);
const versionNumber = new Float64Array(versionWords.buffer);

export class GraphFileWriter {
  readonly #kernel: GraphKernel;
  readonly #versionOf: (node: number) => number | undefined;
  readonly #nodeCount: number;
  #words: Uint32Array<ArrayBuffer>;
  #length: number;
  #checked = 0;
  #checksum = 0;
  #node = 0;

  /** `versionOf` returns the version of a node's row; undefined for a dead node. */
  constructor(
    kernel: GraphKernel,
    { dimension, similarity }: GraphOptions,
    versionOf: (node: number) => number | undefined,
  ) {
    this.#kernel = kernel;
    this.#versionOf = versionOf;
    const entry = kernel.code.entry() >>> 0;
    // Read after the entry, so that the entry is one of them.
    this.#nodeCount = kernel.nodeCount;
    this.#words = new Uint32Array(HEADER_WORDS + dimension + this.#nodeCount * (NODE_WORDS + GROUND_LINKS));
    this.#words.set([MAGIC, FORMAT, dimension, similarityRows[similarity].code, this.#nodeCount, entry]);
    this.#words.set(kernel.words.subarray(kernel.centreAt, kernel.centreAt + dimension), HEADER_WORDS);
    this.#length = HEADER_WORDS + dimension;
  }

  get isDone(): boolean {
    return this.#node === this.#nodeCount;
  }

  /** Writes this many more nodes. */
  writeNodes(count: number): void {
    const end = Math.min(this.#nodeCount, this.#node + count);
    this.#reserve((end - this.#node) * NODE_WORDS_MAX);
    for (; this.#node < end; this.#node += 1) this.#writeNode(this.#node);
    this.#sum();
  }

  /** Returns the whole file. Called once, when all nodes are written. */
  bytes(): Uint8Array<ArrayBuffer> {
    this.#reserve(TRAILER_WORDS);
    this.#words[this.#length] = this.#length + TRAILER_WORDS;
    this.#length += 1;
    this.#sum();
    this.#words[this.#length] = this.#checksum;
    this.#length += 1;
    return new Uint8Array(this.#words.buffer, 0, this.#length * 4);
  }

  #writeNode(node: number): void {
    const { code } = this.#kernel;
    const words = this.#words;
    const level = code.levelOf(node);
    versionNumber[0] = this.#versionOf(node) ?? Number.NaN;
    words[this.#length] = versionWords[0] as number;
    words[this.#length + 1] = versionWords[1] as number;
    words[this.#length + 2] = code.checksumOf(node);
    words[this.#length + 3] = level;
    this.#length += NODE_WORDS;
    for (let list = 0; list <= level; list += 1) this.#writeLinks(this.#kernel.linksAt(node, list), list);
  }

  #writeLinks(start: number, level: number): void {
    const from = this.#kernel.words;
    const words = this.#words;
    const end = start + capacityOf(level);
    let count = 0;
    for (let at = start; at < end; at += 1) {
      const link = from[at] as number;
      if (link === 0) break;
      if (link > this.#nodeCount) continue;
      words[this.#length + count] = link;
      count += 1;
    }
    if (count < capacityOf(level)) {
      words[this.#length + count] = 0;
      count += 1;
    }
    this.#length += count;
  }

  #sum(): void {
    this.#checksum = checksumOf(this.#words.subarray(this.#checked, this.#length), this.#checksum);
    this.#checked = this.#length;
  }

  #reserve(count: number): void {
    if (this.#length + count <= this.#words.length) return;
    const larger = new Uint32Array(Math.ceil((this.#length + count) * 1.25));
    larger.set(this.#words.subarray(0, this.#length));
    this.#words = larger;
  }
}
