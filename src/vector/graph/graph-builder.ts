/**
 * Builds graphs on a separate thread (`graph-worker.ts`), which is started for
 * the first graph. The caller's thread searches and makes nodes live.
 *
 * When a thread ends, its batches in progress are lost. The next thread builds
 * its graphs again, while the existing nodes are searched. After a few ends
 * nothing is built any more, and pending records are found by scanning.
 */
import type { Eventually } from "../eventually.ts";
import type { BuildEvents, BuildHandle, GraphBuildQueue } from "./build-queue.ts";
import type { GraphBuilder, GraphOptions, LoadedGraph, NamespaceGraph, RecordVersion } from "./graph.ts";
import type { GraphKernel } from "./graph-kernel.ts";
import { buffersOf, type FromGraphWorker, type ToGraphWorker } from "./graph-worker.ts";
import type { RowBatch } from "./graph-writer.ts";
import { QueuedGraphs } from "./queued-graphs.ts";

/** A running thread. */
export interface GraphThread {
  post(message: ToGraphWorker, transferred: readonly ArrayBuffer[]): void;
  close(): Promise<void>;
}

export interface GraphThreadEvents {
  heard(message: FromGraphWorker): void;
  /** The thread ended without being closed. Called at most once, and no event follows. */
  ended(): void;
}

export interface ThreadGraphBuilderOptions {
  start(events: GraphThreadEvents): GraphThread;
}

/** Threads that may end unexpectedly before no other is started. */
const ENDS_MAX = 3;

export class ThreadGraphBuilder implements GraphBuilder {
  readonly #start: ThreadGraphBuilderOptions["start"];
  readonly #graphs: QueuedGraphs;
  #thread: GraphThread | undefined;
  /** The event handlers by graph number. */
  readonly #graphsByNumber = new Map<number, BuildEvents>();
  #graphCount = 0;
  #endCount = 0;

  constructor({ start }: ThreadGraphBuilderOptions) {
    this.#start = start;
    const queue: GraphBuildQueue = {
      open: (kernel, events) => this.#openGraph(kernel, events),
      finish: () => {},
    };
    this.#graphs = new QueuedGraphs(queue);
  }

  open(options: GraphOptions): NamespaceGraph {
    return this.#graphs.open(options);
  }

  load(options: GraphOptions, bytes: Uint8Array, records: Iterable<RecordVersion>): Eventually<LoadedGraph> {
    return this.#graphs.load(options, bytes, records);
  }

  async close(): Promise<void> {
    this.#graphs.close();
    const thread = this.#thread;
    this.#thread = undefined;
    await thread?.close();
  }

  #openGraph(kernel: GraphKernel, events: BuildEvents): BuildHandle | undefined {
    if (this.#endCount === ENDS_MAX) return undefined;
    this.#thread ??= this.#startThread();
    const thread = this.#thread;
    this.#graphCount += 1;
    const graph = this.#graphCount;
    this.#graphsByNumber.set(graph, events);
    thread.post({ kind: "open", graph, memory: kernel.memory }, []);
    return {
      build: (batch: RowBatch) => thread.post({ kind: "build", graph, batch }, buffersOf(batch)),
      maintain: (work) => thread.post({ kind: "maintain", graph, work }, [work.retired.buffer]),
      close: () => {
        if (this.#graphsByNumber.delete(graph)) thread.post({ kind: "close", graph }, []);
      },
    };
  }

  #startThread(): GraphThread {
    return this.#start({
      heard: ({ graph, batch, report }) => {
        const events = this.#graphsByNumber.get(graph);
        if (batch === undefined) events?.maintained(report);
        else events?.built(batch, report);
      },
      ended: () => this.#ended(),
    });
  }

  #ended(): void {
    this.#thread = undefined;
    this.#endCount += 1;
    const lost = [...this.#graphsByNumber.values()];
    // Before the events, because the owners then open their graphs in the next thread.
    this.#graphsByNumber.clear();
    for (const events of lost) events.lost();
  }
}
