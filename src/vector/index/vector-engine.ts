/**
 * All indexes of the area on one journal. An index exists from its definition
 * until it is dropped, even if the configuration no longer lists it.
 *
 * (1) Replay rebuilds the served state: both use `IndexState.apply`.
 * (2) Numbers of indexes are never used again.
 * (3) Type, dimension and similarity of an index with records do not change: the
 *     start refuses another definition, and the operator decides.
 */
import { assert } from "../../kernel/assert.ts";
import type { Clock } from "../../kernel/clock.ts";
import { FrameWriter } from "../../kernel/frame.ts";
import type { Journal } from "../../kernel/journal.ts";
import type { MemoryGuard } from "../../kernel/memory-guard.ts";
import type { Random } from "../../kernel/random.ts";
import { Turns } from "../../kernel/turns.ts";
import type { VectorApi } from "../api.ts";
import type { Embedders } from "../embedding/embedders.ts";
import type { GraphBuilder, NamespaceGraph } from "../graph/graph.ts";
import type { GraphCache, PlacedNamespace } from "../graph/graph-cache.ts";
import type { VectorLimits } from "../limits.ts";
import { GraphKeeper } from "../recall/graph-keeper.ts";
import { type KeptNamespace, RecallKeeper } from "../recall/recall-keeper.ts";
import type { RowFileSet } from "../row-files/row-file-set.ts";
import { RowMemory } from "../rows/row-memory.ts";
import { SearchQueue } from "../search/queue.ts";
import type { SearchThreads } from "../threads/search-threads.ts";
import { type Change, readChanges, writeChange } from "./changes.ts";
import type { IndexDefinition, RowPlacement } from "./definition.ts";
import { dumpIndexes } from "./dump.ts";
import { IndexJournal } from "./index-journal.ts";
import { IndexState } from "./index-state.ts";
import { VectorIndex } from "./vector-index.ts";

export interface VectorEngineOptions {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly random: Random;
  /** The turns of the thread, shared with other engines; if absent, the engine is alone in its thread. */
  readonly turns?: Turns;
  readonly limits: VectorLimits;
  /** Builds graphs after `start` was called; if undefined, every search is exact. */
  readonly graphs: GraphBuilder | undefined;
  /** Do parts of searches; if absent, the thread of the engine does all of them. The caller closes them first. */
  readonly threads?: SearchThreads | undefined;
  /** The multiplications of an exact search from which a namespace gets a graph; `GRAPH_WORK_MIN` if undefined. */
  readonly graphWorkMin?: number | undefined;
  /** The most records of a part of a graph; `partRecordsOf` its dimension if undefined. */
  readonly graphPartRecords?: number | undefined;
  /** Returns a text that cannot be guessed, for the handle of a resumable query. */
  readonly newHandle: () => string;
  /** Limits the memory of this thread; if absent, memory is not limited. */
  readonly guard?: MemoryGuard | undefined;
  /** The files of rows, opened before the replay. The caller closes them. If absent, all rows are in memory. */
  readonly rowFiles?: RowFileSet | undefined;
  /** Where the rows of an index are that the replay creates; in memory if absent. */
  readonly rowsOf?: (index: { readonly name: string; readonly number: number }) => RowPlacement;
}

/** The operator's wishes for an index besides its definition. They are not in the journal. */
export interface IndexTuning {
  /** The share of the nearest records that queries should find; that of the limits if undefined. */
  readonly recallTarget?: number | undefined;
  /** Where its rows are. A start applies a change; if undefined, they stay, and those of a new index are in memory. */
  readonly rows?: RowPlacement | undefined;
}

/** The definition of an index contradicts its data. */
export class DefinitionMismatch extends Error {
  override name = "DefinitionMismatch";
}

const NO_EMBEDDERS: Embedders = { dense: undefined, sparse: undefined };

export class VectorEngine implements VectorApi {
  readonly #options: VectorEngineOptions;
  readonly #journal: IndexJournal;
  readonly #areaWriter = new FrameWriter();
  readonly #queue: SearchQueue;
  readonly #turns: Turns;
  readonly #memory = new RowMemory();
  /** Measures the recall of searches, from its start on. */
  readonly recall: RecallKeeper;
  /** Checks and repairs graphs, from its start on. */
  readonly graphKeeper: GraphKeeper;
  readonly #byNumber = new Map<number, VectorIndex>();
  readonly #byName = new Map<string, VectorIndex>();
  /** Where the operator wants the rows of indexes, by name. */
  readonly #rowPlacements = new Map<string, RowPlacement>();
  #nextNumber = 1;
  /** Undefined during a replay: graphs are made of the records at its end. */
  #graphs: GraphBuilder | undefined;

  readonly #forgetOutside: (() => void) | undefined;

  constructor(options: VectorEngineOptions) {
    this.#options = options;
    this.#journal = new IndexJournal(options.journal);
    if (options.threads !== undefined) options.threads.scratches = this.#memory;
    this.#queue = new SearchQueue(options.clock.real, options.threads);
    this.#forgetOutside = options.guard?.watchOutside(() => this.#outsideBytes);
    this.#turns = options.turns ?? new Turns({ clock: options.clock.real });
    this.recall = new RecallKeeper({
      clock: options.clock.real,
      random: options.random,
      namespaces: () => this.#keptNamespaces(),
      isBusy: () => this.#queue.waitingCount > 0,
    });
    this.graphKeeper = new GraphKeeper({
      clock: options.clock.real,
      graphs: () => this.#keptGraphs(),
      isMeasuring: () => this.recall.isMeasuring,
    });
  }

  index(name: string): VectorIndex | undefined {
    return this.#byName.get(name);
  }

  get indexes(): Iterable<VectorIndex> {
    return this.#byNumber.values();
  }

  get indexNames(): readonly string[] {
    return [...this.#byName.keys()];
  }

  /** The number of searches that wait for their next turn. */
  get waitingCount(): number {
    return this.#queue.waitingCount;
  }

  /** The memory outside of the heap: rows and graphs. */
  get #outsideBytes(): number {
    let bytes = this.rowBytes;
    for (const { state } of this.#byNumber.values()) bytes += state.graphBytes;
    return bytes;
  }

  /** The memory of rows and of the tables of records, and for rows in files of their places and of those not written. */
  get rowBytes(): number {
    return this.#memory.usedBytes + (this.#options.rowFiles?.byteCount ?? 0);
  }

  /** The memory of the rows of all indexes. */
  get memory(): Pick<RowMemory, "usedBytes" | "reservedBytes"> {
    return this.#memory;
  }

  /**
   * Creates an index, or sets the models of an existing one. Throws `DefinitionMismatch` if it exists with another
   * definition: keeps (3).
   */
  define(
    name: string,
    definition: IndexDefinition,
    embedders: Embedders,
    { recallTarget, rows }: IndexTuning = {},
  ): VectorIndex {
    const known = this.#byName.get(name);
    if (rows !== undefined) this.#placeRows(name, rows, known);
    if (known === undefined) {
      this.#commit({ kind: "create index", index: this.#nextNumber, name, definition });
    } else {
      checkSame(name, known.definition, definition);
      known.state.models = definition;
    }
    const index = this.#byName.get(name);
    assert(index !== undefined, "a defined index exists");
    index.embedders = embedders;
    index.wanted = definition;
    index.state.recallTarget = recallTarget;
    return index;
  }

  /** Returns false if no index has that name. */
  drop(name: string): boolean {
    const index = this.#byName.get(name);
    if (index === undefined) return false;
    this.#commit({ kind: "drop index", index: index.state.number });
    return true;
  }

  /** Recreates every index as defined: without records, and without a dimension fixed by a record. */
  reset(): void {
    for (const index of [...this.#byNumber.values()]) {
      const { name, definition, embedders, wanted, state } = index;
      const { recallTarget, rows } = state;
      this.drop(name);
      this.define(name, wanted ?? definition, embedders, { recallTarget, rows });
    }
  }

  whenSafe(): Promise<void> | undefined {
    return this.#journal.whenSafe();
  }

  /** Applies a frame of the journal. */
  replay(frame: Buffer): void {
    for (const change of readChanges(frame)) this.#apply(change);
  }

  /** A promise while the replay should wait, because many of its rows are not written yet. */
  settle(): Promise<void> | undefined {
    return this.#options.rowFiles?.settle();
  }

  /** Called after the replay: large namespaces get graphs, at once if the cache has them. */
  async start(cache?: GraphCache): Promise<void> {
    this.#options.rowFiles?.endRecovery();
    this.#graphs = this.#options.graphs;
    if (cache !== undefined) await cache.start(this.namespaces);
    else for (const { namespace } of this.namespaces) await namespace.startGraph();
    for (const { state } of this.#byNumber.values()) state.recount();
  }

  /** The counts of all indexes. */
  get namespaces(): readonly PlacedNamespace[] {
    return [...this.#byNumber.values()].flatMap(({ state }) =>
      [...state.namespaces].map((namespace) => ({ index: state.number, namespace })),
    );
  }

  /** The whole state as frames that rebuild it; each is valid until the next one is requested. */
  dump(): Iterable<Uint8Array> {
    return dumpIndexes(
      [...this.#byNumber.values()].map(({ state }) => state),
      this.#nextNumber,
    );
  }

  /** Frees the memory outside the heap. Not used after that. */
  close(): void {
    this.recall.stop();
    this.graphKeeper.stop();
    for (const { state } of this.#byNumber.values()) state.close();
    this.#forgetOutside?.();
  }

  #placeRows(name: string, rows: RowPlacement, known: VectorIndex | undefined): void {
    if (rows === "disk" && this.#options.rowFiles === undefined)
      throw new DefinitionMismatch(`the index ${name} cannot have its rows on disk without a data directory`);
    if (known !== undefined && known.state.rows !== rows)
      throw new DefinitionMismatch(
        `the rows of the index ${name} are ${known.state.rows === "disk" ? "on disk" : "in memory"} and cannot move while the server runs: restart it`,
      );
    this.#rowPlacements.set(name, rows);
  }

  *#keptGraphs(): Generator<NamespaceGraph> {
    for (const { state } of this.#byNumber.values())
      for (const namespace of state.namespaces) for (const { graph } of namespace.graph?.parts ?? []) yield graph;
  }

  *#keptNamespaces(): Generator<KeptNamespace> {
    for (const { name, state } of this.#byNumber.values())
      for (const namespace of state.namespaces)
        if (namespace.graph !== undefined) yield { namespace, tenant: this.#turns.tenant("vector", name) };
  }

  #commit(change: Extract<Change, { readonly kind: "create index" | "drop index" }>): void {
    this.#journal.checkOpen();
    writeChange(this.#areaWriter, change);
    this.#options.journal.append(this.#areaWriter.take());
    this.#apply(change);
  }

  #apply(change: Change): void {
    switch (change.kind) {
      case "create index":
        this.#create(change.index, change.name, change.definition);
        return;
      case "drop index":
        this.#dropNumber(change.index);
        return;
      case "next index":
        this.#nextNumber = Math.max(this.#nextNumber, change.index);
        return;
      default: {
        const index = this.#byNumber.get(change.index);
        assert(index !== undefined, "a record names an index that exists");
        index.state.apply(change);
      }
    }
  }

  #create(number: number, name: string, definition: IndexDefinition): void {
    assert(!this.#byName.has(name), "names of indexes are unique");
    const { clock, random, limits, newHandle, graphWorkMin, graphPartRecords, guard, rowFiles, rowsOf } = this.#options;
    const rows = this.#rowPlacements.get(name) ?? rowsOf?.({ name, number }) ?? "memory";
    const openAccount = guard && ((indexName: string) => guard.open(indexName));
    const parts = {
      memory: this.#memory,
      graphs: () => this.#graphs,
      graphWorkMin,
      graphPartRecords,
      openAccount,
      recall: limits,
      random,
      rowFiles: rows === "disk" ? rowFiles : undefined,
    };
    const state = new IndexState({ number, name, definition, parts });
    const index = new VectorIndex({
      state,
      journal: this.#journal,
      queue: this.#queue,
      tenant: this.#turns.tenant("vector", name),
      clock,
      random,
      limits,
      embedders: NO_EMBEDDERS,
      newHandle,
    });
    this.#byNumber.set(number, index);
    this.#byName.set(name, index);
    this.#nextNumber = Math.max(this.#nextNumber, number + 1); // keeps (2)
  }

  #dropNumber(number: number): void {
    const index = this.#byNumber.get(number);
    assert(index !== undefined, "a record names an index that exists");
    index.state.close();
    this.#byNumber.delete(number);
    this.#byName.delete(index.name);
    this.#turns.drop(this.#turns.tenant("vector", index.name));
  }
}

function checkSame(name: string, known: IndexDefinition, wanted: IndexDefinition): void {
  const differ = (field: string, is: string | number, asked: string | number): never => {
    throw new DefinitionMismatch(
      `the index ${name} has ${field} ${is} and cannot become ${asked}: define another one, or delete it first`,
    );
  };
  if (known.type !== wanted.type) differ("type", known.type, wanted.type);
  if (known.similarity !== wanted.similarity) differ("similarity", known.similarity, wanted.similarity);
  if (wanted.dimension !== undefined && known.dimension !== undefined && known.dimension !== wanted.dimension)
    differ("dimension", known.dimension, wanted.dimension);
}
