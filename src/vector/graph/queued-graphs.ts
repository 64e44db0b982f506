/** The graphs of one build queue: opening, loading, closing. Each builder consists of this and a queue. */
import type { Eventually } from "../eventually.ts";
import type { GraphBuildQueue } from "./build-queue.ts";
import { BuiltGraph } from "./built-graph.ts";
import type { GraphOptions, LoadedGraph, NamespaceGraph, RecordVersion } from "./graph.ts";
import { GraphGeneration } from "./graph-generation.ts";
import { GraphKernel } from "./graph-kernel.ts";
import { type LoadedParts, loadGraph } from "./graph-loader.ts";

export class QueuedGraphs {
  readonly #queue: GraphBuildQueue;
  readonly #graphs = new Set<BuiltGraph>();

  constructor(queue: GraphBuildQueue) {
    this.#queue = queue;
  }

  open(options: GraphOptions): NamespaceGraph {
    const kernel = GraphKernel.create(options.dimension, options.similarity);
    return this.#add(options, new GraphGeneration(kernel, options), new Float64Array(64));
  }

  load(options: GraphOptions, bytes: Uint8Array, records: Iterable<RecordVersion>): Eventually<LoadedGraph> {
    const loaded = loadGraph(options, bytes, records);
    return loaded instanceof Promise
      ? loaded.then((late) => this.#addLoaded(options, late))
      : this.#addLoaded(options, loaded);
  }

  #addLoaded(options: GraphOptions, loaded: LoadedParts | string): LoadedGraph {
    if (typeof loaded === "string") return { kind: "refused", reason: loaded };
    const { generation, versions, lostCount, records, missing } = loaded;
    const graph = this.#add(options, generation, versions);
    if (options.isPart !== true) for (const { record, version } of missing) graph.insert(record, version);
    return { kind: "loaded", graph, lostCount, records };
  }

  close(): void {
    for (const graph of this.#graphs) graph.close();
  }

  #add(options: GraphOptions, generation: GraphGeneration, versions: Float64Array): BuiltGraph {
    const onClosed = (closed: BuiltGraph): void => {
      this.#graphs.delete(closed);
    };
    const graph = new BuiltGraph({ queue: this.#queue, options, generation, versions, onClosed });
    this.#graphs.add(graph);
    return graph;
  }
}
