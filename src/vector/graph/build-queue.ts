/**
 * Where rows become nodes: another thread (`graph-builder.ts`) or the caller's
 * own (`inline-graph-builder.ts`).
 */
import type { GraphKernel } from "./graph-kernel.ts";
import type { RowBatch } from "./graph-writer.ts";

/** What the owner of a graph is notified of. Never while it is calling the queue. */
export interface BuildEvents {
  /** A batch became nodes. Batches come back in the order in which they went, each once. */
  built(batch: RowBatch): void;
  /** The queue is about to build and takes batches now. */
  wanted(): void;
  /** Whoever wrote is gone, perhaps in the middle of a node. Batches that are under way do not come back. */
  lost(): void;
}

/** A graph in the queue. */
export interface BuildHandle {
  /** The batch belongs to the queue until it comes back. */
  build(batch: RowBatch): void;
  /** Nothing is heard from it any more. */
  close(): void;
}

export interface GraphBuildQueue {
  /** From now on only the queue writes nodes. Undefined: the queue has given up, nothing is built any more. */
  open(kernel: GraphKernel, events: BuildEvents): BuildHandle | undefined;
  /** Somebody waits: a queue that builds only on demand builds everything now. */
  finish(): void;
}
