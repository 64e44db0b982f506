/**
 * Makes a graph from its file and the current rows.
 *
 * A node whose row is missing or changed has no code and is omitted. In the lists
 * that contained it, its links replace it, so that the graph stays connected.
 */
import type { Eventually } from "../eventually.ts";
import type { GraphOptions, RecordVersion } from "./graph.ts";
import { capacityOf, type GraphFile, levelOf, listEnd, NODE_WORDS, readGraphFile } from "./graph-file.ts";
import { GraphGeneration } from "./graph-generation.ts";
import { GraphKernel, NO_NODE } from "./graph-kernel.ts";
import { grown } from "./record-set.ts";

/** Rows that are read together. */
const ROWS_READ = 256;

/** A file that has lost a larger share of its nodes is refused. */
const LOST_SHARE_MAX = 0.5;

export interface LoadedParts {
  readonly generation: GraphGeneration;
  readonly versions: Float64Array;
  readonly lostCount: number;
  /** The records of its nodes. */
  readonly records: Uint32Array;
  /** Records that are not in the file; none for a part. */
  readonly missing: readonly RecordVersion[];
}

/** The graph, or the reason why the file is refused. A promise only if rows are read later. */
export function loadGraph(
  options: GraphOptions,
  bytes: Uint8Array,
  records: Iterable<RecordVersion>,
): Eventually<LoadedParts | string> {
  const file = readGraphFile(bytes, options);
  if (typeof file === "string") return file;
  const kernel = GraphKernel.create(options.dimension, options.similarity);
  if (kernel === undefined) return "there is no memory for it";
  const loading = new GraphLoader(file, kernel, options).load(records);
  const { read, readLater } = options;
  if (readLater !== undefined) return loadLater(loading, readLater);
  let step = loading.next();
  while (step.done !== true) step = loading.next(step.value.map(read));
  return step.value;
}

type Row = Float32Array | undefined;

/** Yields the records whose rows it needs next, and is given their rows. */
type Loading = Generator<readonly number[], LoadedParts | string, readonly Row[]>;

async function loadLater(
  loading: Loading,
  readLater: (records: readonly number[]) => Promise<readonly Row[]>,
): Promise<LoadedParts | string> {
  let step = loading.next();
  while (step.done !== true) step = loading.next(await readLater(step.value));
  return step.value;
}

/** No record has this version. */
const NO_RECORD = -1;

const versionWords = new Uint32Array(2);
const versionNumber = new Float64Array(versionWords.buffer);

class GraphLoader {
  readonly #file: GraphFile;
  readonly #kernel: GraphKernel;
  readonly #generation: GraphGeneration;
  /** The new node plus one by node of the file; 0 for a lost node. */
  readonly #nodes: Uint32Array;
  /** The records of the new nodes. */
  readonly #records: Uint32Array;
  #recordCount = 0;
  #lostCount = 0;
  readonly #isPart: boolean;

  constructor(file: GraphFile, kernel: GraphKernel, options: GraphOptions) {
    this.#file = file;
    this.#kernel = kernel;
    this.#isPart = options.isPart === true;
    this.#records = new Uint32Array(file.nodeCount);
    this.#generation = new GraphGeneration(kernel, options);
    this.#nodes = new Uint32Array(file.nodeCount);
  }

  *load(records: Iterable<RecordVersion>): Loading {
    // Only of the file's versions: a namespace may have more records than a Map can hold.
    const recordByVersion = new Map<number, number>();
    for (let node = 0; node < this.#file.nodeCount; node += 1) recordByVersion.set(this.#versionOf(node), NO_RECORD);
    let versions: Float64Array = new Float64Array(64);
    const missing: RecordVersion[] = [];
    for (const { record, version } of records) {
      if (!recordByVersion.has(version)) {
        if (!this.#isPart) missing.push({ record, version });
        continue;
      }
      versions = grown(versions, record + 1);
      versions[record] = version;
      recordByVersion.set(version, record);
    }
    this.#kernel.floats.set(this.#file.centre, this.#kernel.centreAt);
    // The square of the centre, which is already complete.
    this.#kernel.code.finishCentre(1);
    for (let first = 0; first < this.#file.nodeCount; first += ROWS_READ) {
      const end = Math.min(this.#file.nodeCount, first + ROWS_READ);
      const wanted: number[] = [];
      for (let node = first; node < end; node += 1) {
        const record = recordByVersion.get(this.#versionOf(node)) ?? NO_RECORD;
        if (record !== NO_RECORD) wanted.push(record);
      }
      const rows = yield wanted;
      const rowByRecord = new Map(wanted.map((record, i) => [record, rows[i]]));
      for (let node = first; node < end; node += 1)
        if (!this.#append(node, recordByVersion, rowByRecord)) return "there is no memory for it";
    }
    if (this.#lostCount > this.#file.nodeCount * LOST_SHARE_MAX) return "too many of its rows have changed";
    for (let node = 0; node < this.#file.nodeCount; node += 1) this.#link(node);
    this.#kernel.code.countLinks();
    this.#kernel.code.setEntry(this.#findEntry());
    if (!this.#isPart)
      for (const [version, record] of recordByVersion) if (record !== NO_RECORD) missing.push({ record, version });
    return {
      generation: this.#generation,
      versions,
      lostCount: this.#lostCount,
      records: this.#records.subarray(0, this.#recordCount),
      missing,
    };
  }

  /** Makes a node of the row if the row is unchanged. Returns false if there is no memory. */
  #append(node: number, recordByVersion: Map<number, number>, rows: ReadonlyMap<number, Row>): boolean {
    const { words, starts } = this.#file;
    const start = starts[node] as number;
    const version = this.#versionOf(node);
    const record = recordByVersion.get(version) ?? NO_RECORD;
    const row = record === NO_RECORD ? undefined : rows.get(record);
    if (row === undefined) {
      this.#lostCount += 1;
      return true;
    }
    this.#kernel.putRow(row);
    if (this.#kernel.code.rowChecksum() >>> 0 !== words[start + 2]) {
      this.#lostCount += 1;
      return true;
    }
    const made = this.#kernel.code.append(record, levelOf(this.#file, node)) >>> 0;
    if (made === NO_NODE) return false;
    // Only one of two nodes with the same version gets the record.
    recordByVersion.delete(version);
    this.#nodes[node] = made + 1;
    this.#records[this.#recordCount] = record;
    this.#recordCount += 1;
    this.#generation.adopt(record, made);
    return true;
  }

  /** The version of the row that a node of the file was made of. */
  #versionOf(node: number): number {
    const { words, starts } = this.#file;
    const start = starts[node] as number;
    versionWords[0] = words[start] as number;
    versionWords[1] = words[start + 1] as number;
    return versionNumber[0] as number;
  }

  #link(node: number): void {
    const made = this.#nodes[node] as number;
    if (made === 0) return;
    const { words, starts } = this.#file;
    let at = (starts[node] as number) + NODE_WORDS;
    for (let level = 0; level <= levelOf(this.#file, node); level += 1) {
      const end = listEnd(words, at, level);
      this.#writeList(made, level, words.subarray(at, end));
      at = end;
    }
  }

  #writeList(made: number, level: number, list: Uint32Array): void {
    const { words } = this.#kernel;
    const start = this.#kernel.linksAt(made - 1, level);
    const end = start + capacityOf(level);
    let to = start;
    const add = (link: number): void => {
      if (link === 0 || link === made || to === end) return;
      for (let at = start; at < to; at += 1) if (words[at] === link) return;
      words[to] = link;
      to += 1;
    };
    for (const link of list) if (link > 0) add(this.#nodes[link - 1] as number);
    for (const link of list) {
      if (link === 0 || this.#nodes[link - 1] !== 0) continue;
      for (const beyond of this.#listOf(link - 1, level)) if (beyond > 0) add(this.#nodes[beyond - 1] as number);
    }
  }

  #listOf(node: number, level: number): Uint32Array {
    const { words, starts } = this.#file;
    let at = (starts[node] as number) + NODE_WORDS;
    for (let below = 0; below < level; below += 1) at = listEnd(words, at, below);
    return words.subarray(at, listEnd(words, at, level));
  }

  /** The entry node plus 1: that of the file, or else one of the highest level. */
  #findEntry(): number {
    const entry = this.#nodes[this.#file.entry - 1] as number;
    if (entry !== 0) return entry;
    let best = 0;
    let bestLevel = -1;
    for (let node = 0; node < this.#file.nodeCount; node += 1) {
      const level = levelOf(this.#file, node);
      if (this.#nodes[node] === 0 || level <= bestLevel) continue;
      best = this.#nodes[node] as number;
      bestLevel = level;
    }
    return best;
  }
}
