/**
 * The graph of a namespace over its generations. Nodes of removed or changed
 * records stay in memory as paths for the walk until they are patched through
 * (`assembly/graph-repair.ts`). When there are too many, or too much memory is
 * free, or repairs fail, a new graph is built next to the old one, which answers
 * until the new one has caught up. Meanwhile the old one gets no new nodes: new records are pending, and the
 * builder spends all its time on the new graph. Otherwise records that are
 * written repeatedly would make the old one grow faster than the new one.
 */
import { nextTurn } from "../../kernel/turn.ts";
import type { GraphBuildQueue } from "./build-queue.ts";
import type { GraphHits, GraphOptions, GraphRequest, NamespaceGraph } from "./graph.ts";
import { GraphFileWriter } from "./graph-file-writer.ts";
import { GraphGeneration } from "./graph-generation.ts";
import { GraphKernel } from "./graph-kernel.ts";
import { grown } from "./record-set.ts";

/** A graph is built again when it has this many dead nodes for each live one. bench/graph.bench.ts */
const DEAD_SHARE_MAX = 0.5;
const DEAD_MIN = 1_024;
/** ... or this many unused nodes, dead or free. */
const UNUSED_SHARE_MAX = 1;
/** ... or if this share of the checked nodes cannot be linked again, and this share of the records changed since. */
const LOST_SHARE_MAX = 0.1;
const REBUILT_CHANGED_SHARE = 0.1;
/** The new generation takes over when it has at most this many more pending records than the old one. */
const LAG_MAX = 1_024;
/** Nodes written to a file in one turn. */
const SAVE_NODES = 2_048;

export interface BuiltGraphParts {
  readonly queue: GraphBuildQueue;
  readonly options: GraphOptions;
  readonly generation: GraphGeneration;
  /** By record. */
  readonly versions: Float64Array;
  onClosed(graph: BuiltGraph): void;
}

export class BuiltGraph implements NamespaceGraph {
  readonly #queue: GraphBuildQueue;
  readonly #options: GraphOptions;
  readonly #onClosed: (graph: BuiltGraph) => void;
  #current: GraphGeneration;
  /** The generation that is being built to replace it. */
  #next: GraphGeneration | undefined;
  #versions: Float64Array;
  #waiting: (() => void)[] = [];
  /** False if there was no memory for a second generation, or no writer. */
  #canReplace = true;
  /** Changes of records since the last generation began. */
  #changeCount = 0;
  #isClosed = false;

  constructor({ queue, options, generation, versions, onClosed }: BuiltGraphParts) {
    this.#queue = queue;
    this.#options = options;
    this.#onClosed = onClosed;
    this.#current = generation;
    this.#versions = versions;
    this.#open(generation);
  }

  get pending(): Iterable<number> {
    return this.#current.pending();
  }

  get pendingCount(): number {
    return this.#current.pendingCount;
  }

  isPending(record: number): boolean {
    return this.#current.isPending(record);
  }

  get count(): number {
    return this.#current.liveCount;
  }

  get byteCount(): number {
    return this.#current.byteCount + (this.#next?.byteCount ?? 0);
  }

  insert(record: number, version: number): void {
    this.#versions = grown(this.#versions, record + 1);
    this.#versions[record] = version;
    this.#changeCount += 1;
    this.#current.insert(record);
    this.#next?.insert(record);
    this.#replaceIfWorn();
  }

  remove(record: number): void {
    this.#changeCount += 1;
    this.#current.remove(record);
    this.#next?.remove(record);
    this.#replaceIfWorn();
    this.#settle();
  }

  search(request: GraphRequest): GraphHits {
    return this.#current.search(request);
  }

  get missedShare(): number {
    return this.#current.missedShare;
  }

  get wantsMaintenance(): boolean {
    return this.#next === undefined && this.#current.wantsMaintenance;
  }

  async maintain(): Promise<number> {
    if (this.#next !== undefined) return 0;
    const report = await this.#current.maintain();
    return report?.workMs ?? 0;
  }

  get kernel(): GraphKernel | undefined {
    return this.#current.kernel;
  }

  whenBuilt(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#queue.finish();
      this.#settle();
    });
  }

  async save(): Promise<Uint8Array<ArrayBuffer> | undefined> {
    while (!this.#isClosed) {
      const generation = this.#current;
      const { kernel } = generation;
      if (kernel === undefined || generation.liveCount === 0) return undefined;
      const file = new GraphFileWriter(kernel, this.#options, (node) => this.#versionOfNode(generation, node));
      while (!file.isDone && generation === this.#current && !this.#isClosed) {
        file.writeNodes(SAVE_NODES);
        await nextTurn();
      }
      if (file.isDone && generation === this.#current) return file.bytes();
    }
    return undefined;
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#current.retire();
    this.#next?.retire();
    this.#next = undefined;
    this.#settle();
    this.#onClosed(this);
  }

  #versionOfNode(generation: GraphGeneration, node: number): number | undefined {
    const record = generation.recordOfNode(node);
    return record === undefined ? undefined : this.#versions[record];
  }

  #open(generation: GraphGeneration): void {
    generation.open(this.#queue, {
      onChange: () => {
        this.#settle();
        this.#replaceIfWorn();
      },
      onSent: () => {
        if (this.#waiting.length > 0) this.#queue.finish();
      },
      onLost: () => this.#replaceLost(generation),
    });
  }

  #replaceIfWorn(): void {
    if (this.#next === undefined && this.#canReplace && this.#isWorn) this.#startNext();
  }

  get #isWorn(): boolean {
    const { liveCount, deadCount, freeCount, lostShare } = this.#current;
    if (lostShare > LOST_SHARE_MAX && this.#changeCount > liveCount * REBUILT_CHANGED_SHARE) return true;
    const unused = deadCount + freeCount;
    if (unused < DEAD_MIN) return false;
    return deadCount > liveCount * DEAD_SHARE_MAX || unused > liveCount * UNUSED_SHARE_MAX;
  }

  /** A half-written node does no harm, but nothing is added to this graph: the writer may have failed because of it. */
  #replaceLost(generation: GraphGeneration): void {
    if (this.#isClosed || (generation !== this.#current && generation !== this.#next)) return;
    this.#next?.retire();
    this.#startNext();
    this.#settle();
  }

  #startNext(): void {
    const { dimension, similarity } = this.#options;
    const next = new GraphGeneration(GraphKernel.create(dimension, similarity), this.#options);
    this.#next = next;
    this.#changeCount = 0;
    this.#current.pause();
    this.#open(next);
    this.#current.copyTo(next);
  }

  /** Lets the new generation take over when it can, and resolves the waiters. */
  #settle(): void {
    const next = this.#next;
    if (next?.isStuck) {
      // The old one stays.
      next.retire();
      this.#next = undefined;
      this.#canReplace = false;
      this.#current.resume();
    } else if (next !== undefined && next.pendingCount <= this.#current.pendingCount + LAG_MAX) {
      this.#current.retire();
      this.#current = next;
      this.#next = undefined;
    }
    if (this.#current.pendingCount > 0 && !this.#isClosed && !this.#isStuck) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const goOn of waiting) goOn();
  }

  /** Whether pending records can only stay pending. */
  get #isStuck(): boolean {
    return this.#current.isStuck && this.#next === undefined;
  }
}
