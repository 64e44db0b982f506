/**
 * The interface of what turns rows into nodes: another thread
 * (`graph-builder.ts`) or the caller's thread (`inline-graph-builder.ts`).
 */
import type { GraphKernel } from "./graph-kernel.ts";
import type { MaintenanceReport, MaintenanceWork } from "./graph-maintenance.ts";
import type { RowBatch } from "./graph-writer.ts";

/** Events for the owner of a graph, never during its own call of the queue. */
export interface BuildEvents {
  /** A batch became nodes. Batches come back in the order in which they were sent, each once. */
  built(batch: RowBatch, report: MaintenanceReport): void;
  /** Work that was asked for is done. */
  maintained(report: MaintenanceReport): void;
  /** The queue is ready to build and takes batches now. */
  wanted(): void;
  /** The writer has ended, perhaps in the middle of a node. Batches in progress do not come back. */
  lost(): void;
}

/** A graph in the queue. */
export interface BuildHandle {
  /** The batch belongs to the queue until it comes back. */
  build(batch: RowBatch): void;
  /** Asks for work, which is done in turn with the batches. The work belongs to the queue. */
  maintain(work: MaintenanceWork): void;
  /** No event follows. */
  close(): void;
}

export interface GraphBuildQueue {
  /** From now on only the queue writes nodes. Undefined if the queue has given up and builds nothing any more. */
  open(kernel: GraphKernel, events: BuildEvents): BuildHandle | undefined;
  /** A caller waits: a queue that builds only on demand builds everything now. */
  finish(): void;
}
