/**
 * One index with its rows on a simulated disk, in several lives on one journal,
 * with threads that search on this one. Its graph is built at once.
 */
import { VirtualClock } from "../../../src/kernel/clock.virtual.ts";
import { silentLog } from "../../../src/kernel/log.ts";
import { seededRandom } from "../../../src/kernel/random.ts";
import { nextTurn } from "../../../src/kernel/turn.ts";
import { rowFiles } from "../../../src/program/workers/row-files.ts";
import type { VectorQuery } from "../../../src/vector/api.ts";
import { GraphCache } from "../../../src/vector/graph/graph-cache.ts";
import { InlineGraphBuilder } from "../../../src/vector/graph/inline-graph-builder.ts";
import type { IndexDefinition, RowPlacement } from "../../../src/vector/index/definition.ts";
import type { ScoredView } from "../../../src/vector/index/record.ts";
import { VectorEngine } from "../../../src/vector/index/vector-engine.ts";
import type { VectorIndex } from "../../../src/vector/index/vector-index.ts";
import { defaultVectorLimits } from "../../../src/vector/limits.ts";
import { entryBytesOf, HEAD_BYTES } from "../../../src/vector/row-files/row-entries.ts";
import { RowFileSet } from "../../../src/vector/row-files/row-file-set.ts";
import type { RefusedRowFile } from "../../../src/vector/row-files/row-files.ts";
import type { SearchThreads } from "../../../src/vector/threads/search-threads.ts";
import { RecordingJournal } from "../../harness/recording-journal.ts";
import { SimulatedDisk } from "../disk/simulated-disk.ts";
import type { MemoryFiles } from "./graph-world.ts";
import { simulatedThreads } from "./simulated-threads.ts";

export const DIMENSION = 24;
const DIRECTORY = "/area";
const SLICE_WORK = 24_000;
const NO_EMBEDDERS = { dense: undefined, sparse: undefined };

export interface DiskLifeOptions {
  readonly rows: RowPlacement;
  readonly definition?: Partial<IndexDefinition>;
  /** Where the journal and the files of an earlier life are. */
  readonly journal?: RecordingJournal;
  readonly disk?: SimulatedDisk;
  readonly graphFiles?: MemoryFiles;
  /** Rows, from which the namespace has a graph and its rows in files. */
  readonly graphRows?: number;
  /** The most records of a part of its graph; one part if absent. */
  readonly partRecords?: number;
  readonly hasThreads?: boolean;
  /** Rows of a file. */
  readonly rowsPerFile?: number;
}

/** An empty disk with the directory of the area. */
export function emptyDisk(): SimulatedDisk {
  const disk = new SimulatedDisk({ seed: 1 });
  void disk.mkdir(DIRECTORY);
  void disk.syncDirectory("/");
  return disk;
}

export class DiskLife {
  readonly journal: RecordingJournal;
  readonly disk: SimulatedDisk;
  readonly clock = new VirtualClock();
  readonly engine: VectorEngine;
  readonly builder = new InlineGraphBuilder();
  readonly faults: unknown[] = [];
  /** Row files that the start has removed, and rows that it has not found in files. */
  refused: readonly RefusedRowFile[] = [];
  rewrittenCount = 0;
  readonly #set: RowFileSet;
  readonly #threads: SearchThreads | undefined;
  readonly #cache: GraphCache | undefined;
  readonly #options: DiskLifeOptions;
  #index: VectorIndex | undefined;

  static async begin(options: DiskLifeOptions): Promise<DiskLife> {
    const life = new DiskLife(options);
    await life.#start();
    return life;
  }

  private constructor(options: DiskLifeOptions) {
    const { disk = emptyDisk(), journal = new RecordingJournal(), graphFiles, graphRows = 300 } = options;
    const { rowsPerFile = 256, hasThreads = true, rows, partRecords } = options;
    this.#options = options;
    this.journal = journal;
    this.disk = disk;
    this.#cache = graphFiles && new GraphCache(graphFiles, silentLog);
    this.#set = new RowFileSet({
      storage: rowFiles(disk, DIRECTORY, {
        readNow: (descriptor, target, offset) => disk.readNow(descriptor, target, offset),
      }),
      after: (_, callback) => {
        const next = setImmediate(callback);
        return () => clearImmediate(next);
      },
      isFull: () => false,
      onFault: (fault) => void this.faults.push(fault),
      segmentBytes: HEAD_BYTES + rowsPerFile * entryBytesOf(DIMENSION),
      bufferBytes: 20 * entryBytesOf(DIMENSION),
    });
    this.#threads = hasThreads
      ? simulatedThreads({
          random: seededRandom(2),
          sliceWork: SLICE_WORK,
          readFile: (descriptor, target, offset) => disk.readNow(descriptor, target, offset),
        })
      : undefined;
    this.engine = new VectorEngine({
      journal,
      clock: this.clock,
      random: seededRandom(1),
      limits: defaultVectorLimits,
      graphs: this.builder,
      graphWorkMin: graphRows * DIMENSION,
      graphPartRecords: partRecords,
      newHandle: () => "handle",
      threads: this.#threads,
      rowFiles: this.#set,
      rowsOf: () => rows,
    });
  }

  get index(): VectorIndex {
    if (this.#index === undefined) throw new Error("The life has begun");
    return this.#index;
  }

  get fileNames(): readonly string[] {
    return this.disk.paths.filter((path) => path.startsWith(`${DIRECTORY}/rows-`));
  }

  /** Resolves when rows are written, files without rows are removed, and the graph has all records. */
  async settled(): Promise<void> {
    for (const { namespace } of this.engine.namespaces) await namespace.graph?.whenBuilt();
    for (let i = 0; i < 20; i += 1) await nextTurn();
  }

  async ask(query: Partial<VectorQuery> & Pick<VectorQuery, "vector">): Promise<readonly ScoredView[]> {
    const include = { metadata: false, vectors: false, data: false };
    const defaults = { topK: 10, include, filter: "", weighting: undefined, fusion: "RRF" } as const;
    const [hits = []] = await this.index.query("", [{ ...defaults, ...query }]);
    return hits;
  }

  async end(): Promise<void> {
    await this.#cache?.save(this.engine.namespaces, { all: true });
    await this.#threads?.close();
    await this.#set.close();
    this.engine.close();
    await this.builder.close();
  }

  async #start(): Promise<void> {
    const { rows, definition } = this.#options;
    this.refused = await this.#set.open();
    for (const frame of [...this.journal.frames]) this.engine.replay(Buffer.from(frame));
    this.rewrittenCount = [...this.engine.namespaces].reduce(
      (sum, { namespace }) => sum + [...(namespace.fileRows?.bufferedRecords ?? [])].length,
      0,
    );
    await this.engine.start(this.#cache);
    const wanted: IndexDefinition = {
      type: "DENSE",
      dimension: DIMENSION,
      similarity: "COSINE",
      denseModel: undefined,
      sparseModel: undefined,
      ...definition,
    };
    this.#index = this.engine.define("docs", wanted, NO_EMBEDDERS, { rows });
  }
}
