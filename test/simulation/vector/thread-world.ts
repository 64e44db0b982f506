/**
 * Searches on simulated threads (`simulated-threads.ts`) while records are
 * written, removed and moved, while blocks of rows go to another namespace, and
 * while the namespace or its index is dropped and another one gets its name.
 * Every value of a row is its version, so the answer of each moment is known.
 *
 * In two thirds of the worlds the graph has several parts, which begin and become
 * empty meanwhile. In half of the worlds rows are in files on a disk that takes its time: reads and
 * writes end in any order, while compactions move rows.
 */

import { VirtualClock } from "../../../src/kernel/clock.virtual.ts";
import { NullJournal } from "../../../src/kernel/journal.ts";
import { type Random, seededRandom } from "../../../src/kernel/random.ts";
import { nextTurn } from "../../../src/kernel/turn.ts";
import { rowFiles } from "../../../src/program/workers/row-files.ts";
import { InlineGraphBuilder } from "../../../src/vector/graph/inline-graph-builder.ts";
import type { IndexDefinition } from "../../../src/vector/index/definition.ts";
import type { Namespace } from "../../../src/vector/index/namespace.ts";
import type { ScoredView } from "../../../src/vector/index/record.ts";
import { VectorEngine } from "../../../src/vector/index/vector-engine.ts";
import type { VectorIndex } from "../../../src/vector/index/vector-index.ts";
import { defaultVectorLimits } from "../../../src/vector/limits.ts";
import type { FileRows } from "../../../src/vector/row-files/file-rows.ts";
import { entryBytesOf, HEAD_BYTES } from "../../../src/vector/row-files/row-entries.ts";
import { RowFileSet } from "../../../src/vector/row-files/row-file-set.ts";
import type { SearchThreads } from "../../../src/vector/threads/search-threads.ts";
import { SimulatedDisk } from "../disk/simulated-disk.ts";
import { simulatedThreads } from "./simulated-threads.ts";

const INDEX = "docs";
const NAMESPACE = "searched";
const DIMENSION = 8;
/** So many that a removal of most of them frees blocks (`index/namespace.ts`). */
const RECORDS = 3_000;
const STEPS = 100;
const TOP_K = 5;
const SLICE_WORK = 24_000;
/** Rows, so that a namespace has a graph in some worlds. */
const GRAPH_WORK_MIN = 1_500 * DIMENSION;

/** By seed: the most records of a part of the graph. */
const PART_RECORDS = [undefined, 512, 1_536];

const DIRECTORY = "/area";
/** So few rows that there are many files, which are compacted. */
const SEGMENT_BYTES = HEAD_BYTES + 150 * entryBytesOf(DIMENSION);
const BUFFER_BYTES = 100 * entryBytesOf(DIMENSION);
/** Operations of the disk that end in a turn, at most. */
const DISK_STEPS_MAX = 12;

/** What a planted bug changes. */
export interface ThreadPlant {
  readonly threads?: (threads: SearchThreads) => void;
  /** Called for each index that gets the name. */
  readonly index?: (index: VectorIndex) => void;
  /** Called for each namespace that gets the name, when it has rows. */
  readonly namespace?: (namespace: Namespace) => void;
  /** Called for the rows of each namespace that has them in files. */
  readonly fileRows?: (rows: FileRows) => void;
}

const definition: IndexDefinition = {
  type: "DENSE",
  dimension: DIMENSION,
  similarity: "EUCLIDEAN",
  denseModel: undefined,
  sparseModel: undefined,
};

export interface ThreadRun {
  /** Undefined if all answers were right. */
  readonly fault: string | undefined;
  readonly answerCount: number;
  readonly taskCount: number;
  /** The most bytes that row files had. */
  readonly fileBytes: number;
}

/** Runs the world of a seed. */
export async function runThreadWorld(seed: number, plant: ThreadPlant = {}): Promise<ThreadRun> {
  const world = new ThreadWorld(seed, plant);
  const fault = await world.run();
  await world.close();
  const { answerCount, taskCount, fileBytes } = world;
  return { fault: fault ?? world.fault, answerCount, taskCount, fileBytes };
}

class ThreadWorld {
  readonly #random: Random;
  readonly #threads: SearchThreads;
  readonly #builder = new InlineGraphBuilder();
  readonly #engine: VectorEngine;
  #index: VectorIndex;
  #namespace: Namespace | undefined;
  readonly #plant: ThreadPlant;
  readonly #versions = new Map<string, number>();
  readonly #asked: Promise<void>[] = [];
  #nextVersion = 1;
  /** The id that a version was written for. */
  readonly #idOf = new Map<number, string>();
  #disk: SimulatedDisk | undefined;
  #rowFiles: RowFileSet | undefined;
  #isOver = false;
  fault: string | undefined;
  answerCount = 0;
  fileBytes = 0;

  constructor(seed: number, plant: ThreadPlant) {
    this.#random = seededRandom(seed);
    this.#plant = plant;
    const hasGraph = this.#random.below(2) === 0;
    const endsOneIn = this.#random.below(4) === 0 ? 20 : 0;
    if (this.#random.below(2) === 0) this.#openFiles();
    const disk = this.#disk;
    this.#threads = simulatedThreads({
      random: this.#random,
      sliceWork: SLICE_WORK,
      endsOneIn,
      readFile: disk && ((descriptor, target, offset) => disk.readNow(descriptor, target, offset)),
    });
    plant.threads?.(this.#threads);
    this.#engine = new VectorEngine({
      journal: new NullJournal(),
      clock: new VirtualClock(),
      random: seededRandom(seed),
      limits: defaultVectorLimits,
      graphs: hasGraph ? this.#builder : undefined,
      graphWorkMin: GRAPH_WORK_MIN,
      graphPartRecords: PART_RECORDS[seed % PART_RECORDS.length],
      threads: this.#threads,
      newHandle: () => "handle",
      rowFiles: this.#rowFiles,
    });
    void this.#engine.start();
    this.#index = this.#define();
  }

  get taskCount(): number {
    return this.#threads.takenCount;
  }

  async run(): Promise<string | undefined> {
    this.#putAll();
    for (let step = 0; step < STEPS && this.fault === undefined; step += 1) {
      this.#act();
      for (let turns = 1 + this.#random.below(3); turns > 0; turns -= 1) await nextTurn();
    }
    await Promise.all(this.#asked);
    return this.fault;
  }

  async close(): Promise<void> {
    await this.#threads.close();
    await this.#rowFiles?.close();
    this.#isOver = true;
    this.#engine.close();
    await this.#builder.close();
  }

  #openFiles(): void {
    const empty = new SimulatedDisk({ seed: this.#random.below(2 ** 32) });
    void empty.mkdir(DIRECTORY);
    const disk = empty.restarted({ seed: this.#random.below(2 ** 32), isStepped: true });
    this.#disk = disk;
    this.#rowFiles = new RowFileSet({
      storage: rowFiles(disk, DIRECTORY),
      after: (_, callback) => {
        const next = setImmediate(callback);
        return () => clearImmediate(next);
      },
      isFull: () => false,
      onFault: (fault) => {
        this.fault ??= `files: ${String(fault)}`;
      },
      segmentBytes: SEGMENT_BYTES,
      bufferBytes: BUFFER_BYTES,
    });
    const take = this.#rowFiles.take.bind(this.#rowFiles);
    this.#rowFiles.take = (taken) => {
      const rows = take(taken);
      this.#plant.fileRows?.(rows);
      return rows;
    };
    const turn = (): void => {
      if (this.#isOver) return;
      for (let steps = this.#random.below(DISK_STEPS_MAX); steps > 0; steps -= 1) disk.step(this.#random);
      this.fileBytes = Math.max(this.fileBytes, this.#rowFiles?.fileBytes ?? 0);
      setImmediate(turn);
    };
    setImmediate(turn);
  }

  #act(): void {
    const random = this.#random;
    switch (random.below(9)) {
      case 0:
      case 1:
      case 2:
        for (let i = random.below(4); i >= 0; i -= 1) this.#asked.push(this.#ask());
        break;
      case 3:
        this.#put(Array.from({ length: 1 + random.below(50) }, () => random.below(RECORDS)));
        break;
      case 4:
        if (random.below(2) === 0) this.#removeTenths([1, 2, 5, 9][random.below(4)] as number);
        else this.#reuseBlocks();
        break;
      case 5:
        this.#fillOther();
        break;
      case 6:
        if (random.below(2) === 0) this.#dropOther();
        else this.#put(Array.from({ length: RECORDS / 2 }, () => random.below(RECORDS)));
        break;
      case 7:
        this.#dropAll();
        // Another namespace gets the name, the numbers and the memory.
        if (random.below(4) > 0) this.#putAll();
        break;
      default:
        this.#builder.runOnce(random.below(500));
    }
  }

  async #ask(): Promise<void> {
    try {
      await this.#askOnce();
    } catch (failure) {
      this.fault ??= String(failure);
    }
  }

  async #askOnce(): Promise<void> {
    const version = 1 + this.#random.below(this.#nextVersion);
    const isExact = this.#random.below(2) === 0;
    // Rows in files are read after the last step of a search.
    const include = { vectors: this.#disk === undefined || this.#random.below(2) === 0, metadata: false, data: false };
    const index = this.#index;
    const answer = index.query(NAMESPACE, [
      {
        vector: new Float32Array(DIMENSION).fill(version),
        topK: TOP_K,
        include,
        filter: "",
        weighting: undefined,
        fusion: "RRF",
        effort: isExact ? "exact" : 50,
      },
    ]);
    // An answer at once is checked at once, before the caller writes.
    const [hits = []] = answer instanceof Promise ? await answer : answer;
    this.answerCount += 1;
    if (this.#disk !== undefined && include.vectors) {
      this.fault ??= this.#lateFaultOf(hits, version);
      return;
    }
    if (index === this.#index) this.fault ??= this.#faultOf(hits, version, isExact);
    else if (hits.length > 0) this.fault ??= "an index finds records that were dropped with it";
  }

  /** Each vector is that of its hit when the search ended, although others have followed. */
  #lateFaultOf(hits: readonly ScoredView[], version: number): string | undefined {
    for (const { id, score, vector = [] } of hits) {
      const found = vector[0] ?? 0;
      if (vector.some((value) => value !== found)) return `${id} has parts of two rows`;
      if (this.#idOf.get(found) !== id) return `${id} has the row of ${this.#idOf.get(found)}`;
      if (!isClose(score, scoreOf(found - version))) return `${id} has the row of another version than its score`;
    }
    return undefined;
  }

  /** The answer is that of the state now: nothing is written between the last step of a search and its answer. */
  #faultOf(hits: readonly ScoredView[], version: number, isExact: boolean): string | undefined {
    for (const { id, score, vector = [] } of hits) {
      const current = this.#versions.get(id);
      if (current === undefined) return `${id} is found, but was removed`;
      if (vector.some((value) => value !== current)) return `${id} has the row of another version`;
      if (!isClose(score, scoreOf(current - version))) return `${id} has the score of another version`;
    }
    if (new Set(hits.map(({ id }) => id)).size < hits.length) return "a record is found twice";
    const count = Math.min(TOP_K, this.#versions.size);
    if (hits.length !== count) return `${hits.length} hits instead of ${count}`;
    if (!isExact) return undefined;
    const missed = this.#nearest(version, count).findIndex(
      (distance, i) => !isClose(hits[i]?.score ?? 0, scoreOf(distance)),
    );
    return missed < 0 ? undefined : `hit ${missed} is not the nearest`;
  }

  /** The least distances of rows from a version, in order. */
  #nearest(version: number, count: number): readonly number[] {
    const nearest: number[] = [];
    for (const each of this.#versions.values()) {
      const distance = Math.abs(each - version);
      if (nearest.length === count && distance >= (nearest.at(-1) ?? 0)) continue;
      const after = nearest.findIndex((other) => other > distance);
      nearest.splice(after < 0 ? nearest.length : after, 0, distance);
      if (nearest.length > count) nearest.pop();
    }
    return nearest;
  }

  #define(): VectorIndex {
    const rows = this.#rowFiles === undefined ? "memory" : "disk";
    const index = this.#engine.define(INDEX, definition, { dense: undefined, sparse: undefined }, { rows });
    this.#plant.index?.(index);
    return index;
  }

  /** Removes all records while searches run: by a reset, with their namespace, or with their index. */
  #dropAll(): void {
    const kind = this.#random.below(3);
    if (kind === 0) this.#index.reset(NAMESPACE);
    else if (kind === 1) this.#dropIfThere(NAMESPACE);
    else {
      this.#engine.drop(INDEX);
      this.#index = this.#define();
    }
    this.#versions.clear();
  }

  #putAll(): void {
    this.#put(Array.from({ length: RECORDS }, (_, i) => i));
  }

  #put(numbers: readonly number[]): void {
    const ids = [...new Set(numbers)].map((number) => `r-${number}`);
    for (let from = 0; from < ids.length; from += 1_000) {
      const records = ids.slice(from, from + 1_000).map((id) => {
        this.#versions.set(id, this.#nextVersion);
        this.#idOf.set(this.#nextVersion, id);
        const vector = new Float32Array(DIMENSION).fill(this.#nextVersion);
        this.#nextVersion += 1;
        return { id, vector };
      });
      this.#index.upsert(NAMESPACE, records);
    }
    const namespace = this.#index.state.find(NAMESPACE);
    if (namespace === undefined || namespace === this.#namespace) return;
    this.#namespace = namespace;
    this.#plant.namespace?.(namespace);
  }

  #remove(ids: readonly string[]): void {
    for (let from = 0; from < ids.length; from += 1_000)
      this.#index.delete(NAMESPACE, { kind: "ids", ids: ids.slice(from, from + 1_000) });
    for (const id of ids) this.#versions.delete(id);
  }

  #removeTenths(tenths: number): void {
    this.#remove([...this.#versions.keys()].filter(() => this.#random.below(10) < tenths));
  }

  /** A search begins while numbers are free whose block is not yet (`index/namespace.ts`); then others get the block. */
  #reuseBlocks(): void {
    this.#dropOther();
    this.#removeTenths(3);
    this.#asked.push(this.#ask());
    this.#removeTenths(9);
    this.#fillOther();
  }

  #dropOther(): void {
    this.#dropIfThere("other");
  }

  #dropIfThere(name: string): void {
    if (this.#index.namespaceNames().includes(name)) this.#index.deleteNamespace(name);
  }

  /** Rows like those of this namespace, which would be hits of it. */
  #fillOther(): void {
    const records = Array.from({ length: 1_000 }, (_, i) => ({
      id: `other-${i}`,
      vector: new Float32Array(DIMENSION).fill(1 + this.#random.below(this.#nextVersion)),
    }));
    this.#index.upsert("other", records);
  }
}

/** The score of two rows that differ by this in every value. */
function scoreOf(distance: number): number {
  return 1 / (1 + DIMENSION * distance * distance);
}

/** Sums are float32. */
function isClose(score: number, expected: number): boolean {
  return Math.abs(score / expected - 1) < 1e-5;
}
