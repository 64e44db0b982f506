/**
 * Starts the thread that builds the graphs of the vector area when there is a
 * graph to build, and ends it with the area. Its end before that costs nothing
 * but time: a line in the log, another thread, graphs that are built anew.
 */
import { Worker } from "node:worker_threads";
import { faultFields, type Log } from "../../kernel/log.ts";
import type {
  GraphBuilder,
  GraphOptions,
  LoadedGraph,
  NamespaceGraph,
  RecordVersion,
} from "../../vector/graph/graph.ts";
import { type GraphThread, type GraphThreadEvents, ThreadGraphBuilder } from "../../vector/graph/graph-builder.ts";
import type { FromGraphWorker } from "../../vector/graph/graph-worker.ts";

/** Rows and graphs lie outside the heap of the thread, which holds hardly anything. */
const resourceLimits = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 8 };

const workerFile = new URL(
  import.meta.url.endsWith(".ts") ? "./graph-worker.ts" : "./graph-worker.js",
  import.meta.url,
);

export class GraphThreads implements GraphBuilder {
  readonly #log: Log;
  readonly #workerFile: URL;
  readonly #builder = new ThreadGraphBuilder({ start: (events) => this.#start(events) });

  /** `workerFile` is another one in tests. */
  constructor({ log, workerFile: file = workerFile }: { readonly log: Log; readonly workerFile?: URL }) {
    this.#log = log;
    this.#workerFile = file;
  }

  open(options: GraphOptions): NamespaceGraph {
    return this.#builder.open(options);
  }

  load(options: GraphOptions, bytes: Uint8Array, records: Iterable<RecordVersion>): LoadedGraph {
    return this.#builder.load(options, bytes, records);
  }

  close(): Promise<void> {
    return this.#builder.close();
  }

  #start(events: GraphThreadEvents): GraphThread {
    const worker = new Worker(this.#workerFile, { name: "graph builder", resourceLimits });
    let isClosing = false;
    // The thread sends nothing else.
    worker.on("message", (message: FromGraphWorker) => {
      if (!isClosing) events.heard(message);
    });
    worker.on("error", (fault) => this.#log.error("the thread that builds graphs crashed", faultFields(fault)));
    worker.on("exit", (code) => {
      if (isClosing) return;
      this.#log.warn("the thread that builds graphs ended, and its graphs are built anew", { code });
      events.ended();
    });
    return {
      post: (message, transferred) => worker.postMessage(message, transferred),
      close: async () => {
        isClosing = true;
        await worker.terminate();
      },
    };
  }
}
