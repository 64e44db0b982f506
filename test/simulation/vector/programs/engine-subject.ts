/** The engine as a subject of random programs: on a journal in memory, with models that make exact vectors. */
import type { Clock } from "../../../../src/kernel/clock.ts";
import type { VirtualClock } from "../../../../src/kernel/clock.virtual.ts";
import { type Random, seededRandom } from "../../../../src/kernel/random.ts";
import type { Eventually, IndexApi } from "../../../../src/vector/api.ts";
import type { GraphBuilder, LoadedGraph, NamespaceGraph } from "../../../../src/vector/graph/graph.ts";
import { InlineGraphBuilder } from "../../../../src/vector/graph/inline-graph-builder.ts";
import type { RowPlacement } from "../../../../src/vector/index/definition.ts";
import { VectorEngine } from "../../../../src/vector/index/vector-engine.ts";
import { defaultVectorLimits } from "../../../../src/vector/limits.ts";
import type { SearchThreads } from "../../../../src/vector/threads/search-threads.ts";
import { simulatedThreads } from "../simulated-threads.ts";
import type { Program } from "./draw-programs.ts";
import { embeddersOf } from "./drawn-models.ts";
import { FrameJournal } from "./frame-journal.ts";
import { RowDisk, rowRandomOf } from "./row-disk.ts";
import type { Subject } from "./subject.ts";

/** While searches are delayed, each read of the clock takes this long: more than a turn has. */
const LOOK_MS = 10;
/** Rows that go into graphs between two commands. */
const BUILT_COUNT = 700;
/** Work from which a namespace gets a graph; programs over graphs (`draw-large-programs.ts`) reach it soon. */
const GRAPH_WORK_MIN = 100_000;
/** By seed: the most records of a part of a graph. Most of all records, or the walks of all parts cost more than a scan. */
const PART_RECORDS = [undefined, 5_120];
/** A vector of an index with an open dimension may have another one than the program's, but not a larger one than this. */
const DIMENSION_MAX = 64;
const SLICE_WORK = 24_000;
/** A restart moves the rows of one index in so many. */
const MOVED_ONE_IN = 8;

export interface EngineEvents {
  /** A graph is searched. */
  graphSearch?(): void;
  /** Rows are in files of so many bytes. */
  rowFiles?(bytes: number): void;
}

export class EngineSubject implements Subject {
  readonly #program: Program;
  readonly #clock: HurriedClock;
  /** Undefined if every search is exact. */
  #graphs: InlineGraphBuilder | undefined;
  /** A snapshot's frames, then those of the journal. */
  #snapshot: readonly Buffer[] = [];
  #journal = new FrameJournal([]);
  #engine: VectorEngine;
  #handleCount = 0;
  #gate: { readonly opened: Promise<void>; readonly open: () => void } | undefined;
  #apis: readonly IndexApi[] = [];
  readonly #events: EngineEvents;
  readonly #random: Random;
  /** Undefined if all rows are in memory. */
  readonly #rowDisk: RowDisk | undefined;
  /** By index. */
  #placements: RowPlacement[];
  #threads: SearchThreads | undefined;
  #fault: unknown;

  constructor(program: Program, clock: VirtualClock, events: EngineEvents = {}) {
    this.#program = program;
    this.#events = events;
    this.#clock = new HurriedClock(clock);
    this.#random = rowRandomOf(program.seed);
    const dimensionMax = Math.max(DIMENSION_MAX, ...program.indexes.map(({ dimension }) => dimension));
    this.#rowDisk =
      program.rows && new RowDisk({ random: this.#random, dimensionMax, onFault: (fault) => this.#report(fault) });
    this.#placements = [...(program.rows?.placements ?? [])];
    this.#engine = this.#open([]);
    this.#replay(this.#engine, []);
    void this.#engine.start();
    this.#define(this.#engine);
  }

  get apis(): readonly IndexApi[] {
    return this.#apis;
  }

  get frameCount(): number {
    return this.#journal.frames.length;
  }

  restart(): Eventually<void> {
    return this.#restart(this.#journal.frames, "stop");
  }

  snapshot(): Eventually<void> {
    this.#snapshot = Array.from(this.#engine.dump(), (frame) => Buffer.from(frame));
    return this.#restart([], "stop");
  }

  cut(frameCount: number): Eventually<void> {
    return this.#restart(this.#journal.frames.slice(0, frameCount), "crash");
  }

  delay(): void {
    this.#clock.isHurried = true;
    let open = (): void => {};
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    this.#gate = { opened, open };
  }

  release(): void {
    this.#clock.isHurried = false;
    this.#gate?.open();
    this.#gate = undefined;
  }

  work(): number {
    if (this.#fault !== undefined) throw this.#fault;
    this.#events.rowFiles?.(this.#rowDisk?.fileBytes ?? 0);
    return this.#graphs?.runOnce(BUILT_COUNT) ?? 0;
  }

  async close(): Promise<void> {
    await this.#threads?.close();
    await this.#rowDisk?.end("stop");
    this.#engine.close();
  }

  #restart(frames: readonly Buffer[], how: "stop" | "crash"): Eventually<void> {
    if (this.#rowDisk !== undefined) return this.#restartWithFiles(this.#rowDisk, frames, how);
    this.#engine.close();
    this.#engine = this.#open(frames);
    this.#replay(this.#engine, frames);
    void this.#engine.start();
    this.#define(this.#engine);
    return undefined;
  }

  async #restartWithFiles(disk: RowDisk, frames: readonly Buffer[], how: "stop" | "crash"): Promise<void> {
    // A crash ends a life in the middle of its writes.
    if (how === "crash") await disk.end(how);
    await this.#threads?.close();
    if (how === "stop") await disk.end(how);
    this.#engine.close();
    await disk.begin({ mayDamage: this.#random.below(2) === 0 });
    this.#placements = this.#placements.map((placement) =>
      this.#random.below(MOVED_ONE_IN) > 0 ? placement : placement === "disk" ? "memory" : "disk",
    );
    this.#engine = this.#open(frames);
    this.#replay(this.#engine, frames);
    await this.#engine.start();
    this.#define(this.#engine);
  }

  /** A fault ends the process, so the program fails. */
  #report(fault: unknown): void {
    this.#fault ??= fault;
  }

  #open(frames: readonly Buffer[]): VectorEngine {
    const { rows } = this.#program;
    this.#graphs = this.#program.hasGraphs === true ? new InlineGraphBuilder() : undefined;
    this.#journal = new FrameJournal(frames);
    const disk = this.#rowDisk;
    this.#threads =
      rows?.hasThreads === true && disk !== undefined
        ? simulatedThreads({ random: this.#random, sliceWork: SLICE_WORK, readFile: disk.readNow })
        : undefined;
    return new VectorEngine({
      journal: this.#journal,
      clock: this.#clock,
      random: seededRandom(this.#program.seed),
      limits: defaultVectorLimits,
      graphs: this.#graphs && observedBuilder(this.#graphs, () => this.#events.graphSearch?.()),
      graphWorkMin: rows?.graphWorkMin ?? GRAPH_WORK_MIN,
      graphPartRecords: PART_RECORDS[this.#program.seed % PART_RECORDS.length],
      newHandle: () => {
        this.#handleCount += 1;
        return `handle-${this.#handleCount}`;
      },
      threads: this.#threads,
      rowFiles: disk?.set,
      rowsOf: ({ name }) => this.#placements[this.#program.indexes.findIndex((_, i) => nameOf(i) === name)] ?? "memory",
    });
  }

  #replay(engine: VectorEngine, frames: readonly Buffer[]): void {
    // Copies: replay must not keep a buffer that its file uses for the next frame.
    for (const frame of [...this.#snapshot, ...frames]) {
      const copy = Buffer.from(frame);
      engine.replay(copy);
      copy.fill(0xff);
    }
  }

  #define(engine: VectorEngine): void {
    const gate = async (): Promise<void> => this.#gate?.opened;
    this.#apis = this.#program.indexes.map(({ definition }, index) =>
      engine.define(nameOf(index), definition, embeddersOf(definition, gate), { rows: this.#placements[index] }),
    );
  }
}

function nameOf(index: number): string {
  return `index-${index}`;
}

/** The same builder, whose graphs report their searches. */
function observedBuilder(builder: GraphBuilder, onSearch: () => void): GraphBuilder {
  const observed = (graph: NamespaceGraph): NamespaceGraph =>
    new Proxy(graph, {
      get(target, name): unknown {
        if (name === "search") onSearch();
        const member: unknown = Reflect.get(target, name, target);
        return typeof member === "function" ? member.bind(target) : member;
      },
    });
  return {
    open: (options) => observed(builder.open(options)),
    load: (options, bytes, records) => {
      const loaded = builder.load(options, bytes, records);
      const shown = (each: LoadedGraph): LoadedGraph =>
        each.kind === "loaded" ? { ...each, graph: observed(each.graph) } : each;
      return loaded instanceof Promise ? loaded.then(shown) : shown(loaded);
    },
    close: () => builder.close(),
  };
}

/** A clock whose time runs on each read, if enabled. */
class HurriedClock implements Clock {
  readonly real: Clock = this;
  readonly #clock: VirtualClock;
  #passedMs = 0;
  isHurried = false;

  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  nowMs(): number {
    return this.#clock.nowMs();
  }

  monotonicMs(): number {
    if (this.isHurried) this.#passedMs += LOOK_MS;
    return this.#clock.monotonicMs() + this.#passedMs;
  }

  threadCpuMs(): number {
    return this.monotonicMs();
  }

  at(atMs: number, task: () => void): () => void {
    return this.#clock.at(atMs, task);
  }

  after(delayMs: number, task: () => void): () => void {
    return this.#clock.after(delayMs, task);
  }

  housekeep(delayMs: number, task: () => void): () => void {
    return this.#clock.housekeep(delayMs, task);
  }
}
