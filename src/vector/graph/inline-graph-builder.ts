/**
 * Builds graphs on the caller's thread, on request, for tests and simulations
 * that need reproducible graphs.
 */
import { type Random, seededRandom } from "../../kernel/random.ts";
import type { Eventually } from "../eventually.ts";
import type { BuildEvents, BuildHandle, GraphBuildQueue } from "./build-queue.ts";
import type { GraphBuilder, GraphOptions, LoadedGraph, NamespaceGraph, RecordVersion } from "./graph.ts";
import type { GraphKernel } from "./graph-kernel.ts";
import type { MaintenanceWork } from "./graph-maintenance.ts";
import { GraphWriter, type RowBatch } from "./graph-writer.ts";
import { QueuedGraphs } from "./queued-graphs.ts";

class InlineHandle implements BuildHandle {
  readonly #writer: GraphWriter;
  readonly #events: BuildEvents;
  readonly #onClosed: (handle: InlineHandle) => void;
  #jobs: (RowBatch | MaintenanceWork)[] = [];
  /** The number of rows of the first batch that are done. */
  #done = 0;

  constructor(writer: GraphWriter, events: BuildEvents, onClosed: (handle: InlineHandle) => void) {
    this.#writer = writer;
    this.#events = events;
    this.#onClosed = onClosed;
  }

  build(batch: RowBatch): void {
    this.#jobs.push(batch);
  }

  maintain(work: MaintenanceWork): void {
    this.#jobs.push(work);
  }

  close(): void {
    this.#jobs = [];
    this.#onClosed(this);
  }

  /** Inserts up to `count` rows and returns how many. */
  run(count: number): number {
    this.#events.wanted();
    const { maintenance } = this.#writer;
    let batch = this.#jobs[0];
    for (; batch !== undefined && "checkCount" in batch; batch = this.#jobs[0]) {
      this.#jobs.shift();
      maintenance.run(batch);
      this.#events.maintained(maintenance.takeReport(0));
    }
    if (batch === undefined) return 0;
    const start = this.#done;
    const end = Math.min(batch.records.length, start + count);
    this.#writer.insert(batch, start, end);
    this.#done = end;
    if (end === batch.records.length) {
      this.#jobs.shift();
      this.#done = 0;
      this.#events.built(batch, maintenance.takeReport(0));
    }
    return end - start;
  }
}

export interface InlineGraphBuilderOptions {
  readonly random?: Random;
  /** Called with each graph before it is built. */
  readonly onOpen?: (kernel: GraphKernel) => void;
}

export class InlineGraphBuilder implements GraphBuilder {
  readonly #random: Random;
  readonly #onOpen: (kernel: GraphKernel) => void;
  readonly #handles = new Set<InlineHandle>();
  readonly #graphs: QueuedGraphs;

  constructor({ random = seededRandom(1), onOpen = () => {} }: InlineGraphBuilderOptions = {}) {
    this.#random = random;
    this.#onOpen = onOpen;
    const queue: GraphBuildQueue = {
      open: (kernel, events) => this.#openGraph(kernel, events),
      finish: () => {
        while (this.runOnce(Number.MAX_SAFE_INTEGER) > 0);
      },
    };
    this.#graphs = new QueuedGraphs(queue);
  }

  open(options: GraphOptions): NamespaceGraph {
    return this.#graphs.open(options);
  }

  load(options: GraphOptions, bytes: Uint8Array, records: Iterable<RecordVersion>): Eventually<LoadedGraph> {
    return this.#graphs.load(options, bytes, records);
  }

  /** Inserts up to `count` rows, of each graph in turn, and returns how many. */
  runOnce(count: number): number {
    let left = count;
    for (let isIdle = false; left > 0 && !isIdle; ) {
      isIdle = true;
      for (const handle of [...this.#handles]) {
        // A batch that was begun without a row would begin again, and its retired nodes would be freed twice.
        if (left === 0) break;
        const done = handle.run(left);
        left -= done;
        if (done > 0) isIdle = false;
      }
    }
    return count - left;
  }

  close(): Promise<void> {
    this.#graphs.close();
    return Promise.resolve();
  }

  #openGraph(kernel: GraphKernel, events: BuildEvents): BuildHandle {
    this.#onOpen(kernel);
    const writer = new GraphWriter(kernel, this.#random);
    const handle = new InlineHandle(writer, events, (closed) => this.#handles.delete(closed));
    this.#handles.add(handle);
    return handle;
  }
}
