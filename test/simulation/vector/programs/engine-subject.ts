/** The engine as a subject of random programs: on a journal in memory, with models that make exact vectors. */
import type { Clock } from "../../../../src/kernel/clock.ts";
import type { VirtualClock } from "../../../../src/kernel/clock.virtual.ts";
import { seededRandom } from "../../../../src/kernel/random.ts";
import type { IndexApi } from "../../../../src/vector/api.ts";
import type { GraphBuilder, LoadedGraph, NamespaceGraph } from "../../../../src/vector/graph/graph.ts";
import { InlineGraphBuilder } from "../../../../src/vector/graph/inline-graph-builder.ts";
import { VectorEngine } from "../../../../src/vector/index/vector-engine.ts";
import { defaultVectorLimits } from "../../../../src/vector/limits.ts";
import type { Program } from "./draw-programs.ts";
import { embeddersOf } from "./drawn-models.ts";
import { FrameJournal } from "./frame-journal.ts";
import type { Subject } from "./subject.ts";

/** While searches are delayed, each read of the clock takes this long: more than a turn has. */
const LOOK_MS = 10;
/** Rows that go into graphs between two commands. */
const BUILT_COUNT = 700;
/** Work from which a namespace gets a graph; programs over graphs (`draw-large-programs.ts`) reach it soon. */
const GRAPH_WORK_MIN = 100_000;

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
  readonly #onGraphSearch: () => void;

  /** `onGraphSearch` is called whenever a graph is searched. */
  constructor(program: Program, clock: VirtualClock, onGraphSearch: () => void = () => {}) {
    this.#program = program;
    this.#onGraphSearch = onGraphSearch;
    this.#clock = new HurriedClock(clock);
    this.#engine = this.#begin([]);
  }

  get apis(): readonly IndexApi[] {
    return this.#apis;
  }

  get frameCount(): number {
    return this.#journal.frames.length;
  }

  restart(): void {
    this.cut(this.frameCount);
  }

  snapshot(): void {
    this.#snapshot = Array.from(this.#engine.dump(), (frame) => Buffer.from(frame));
    this.cut(0);
  }

  cut(frameCount: number): void {
    this.#engine.close();
    this.#engine = this.#begin(this.#journal.frames.slice(0, frameCount));
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
    return this.#graphs?.runOnce(BUILT_COUNT) ?? 0;
  }

  #begin(frames: readonly Buffer[]): VectorEngine {
    this.#graphs = this.#program.hasGraphs === true ? new InlineGraphBuilder() : undefined;
    this.#journal = new FrameJournal(frames);
    const engine = new VectorEngine({
      journal: this.#journal,
      clock: this.#clock,
      random: seededRandom(this.#program.seed),
      limits: defaultVectorLimits,
      graphs: this.#graphs && observedBuilder(this.#graphs, this.#onGraphSearch),
      graphWorkMin: GRAPH_WORK_MIN,
      newHandle: () => {
        this.#handleCount += 1;
        return `handle-${this.#handleCount}`;
      },
    });
    // Copies: replay must not keep a buffer that its file uses for the next frame.
    for (const frame of [...this.#snapshot, ...frames]) {
      const copy = Buffer.from(frame);
      engine.replay(copy);
      copy.fill(0xff);
    }
    void engine.start();
    const gate = async (): Promise<void> => this.#gate?.opened;
    this.#apis = this.#program.indexes.map(({ definition }, index) =>
      engine.define(`index-${index}`, definition, embeddersOf(definition, gate)),
    );
    return engine;
  }
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
