/**
 * The thread that builds the graphs of an area, and its messages. The caller
 * passes it messages; this file creates no thread.
 *
 * It builds one batch for each message, in the order of the messages. A graph has
 * at most a few batches in progress, so that no graph waits long for another.
 */
import { type Clock, systemClock } from "../../kernel/clock.ts";
import { seededRandom } from "../../kernel/random.ts";
import type { SharedMemory } from "../../kernel/web-assembly.ts";
import { GraphKernel, NO_NODE } from "./graph-kernel.ts";
import type { MaintenanceReport, MaintenanceWork } from "./graph-maintenance.ts";
import { GraphWriter, type RowBatch } from "./graph-writer.ts";

export type ToGraphWorker =
  | { readonly kind: "open"; readonly graph: number; readonly memory: SharedMemory }
  | { readonly kind: "build"; readonly graph: number; readonly batch: RowBatch }
  | { readonly kind: "maintain"; readonly graph: number; readonly work: MaintenanceWork }
  | { readonly kind: "close"; readonly graph: number };

/** A batch of a graph with its nodes, or the report of other work. Arrays are transferred in both directions. */
export interface FromGraphWorker {
  readonly graph: number;
  readonly batch: RowBatch | undefined;
  readonly report: MaintenanceReport;
}

/** The buffers of a batch, which are transferred with it. */
export function buffersOf(batch: RowBatch | undefined): ArrayBuffer[] {
  if (batch === undefined) return [];
  const { records, rows, nodes, retired } = batch;
  return [records.buffer, rows.buffer, nodes.buffer, retired.buffer];
}

const NO_REPORT: MaintenanceReport = {
  checkedCount: 0,
  missedCount: 0,
  lost: [],
  freedCount: 0,
  placedCount: 0,
  workMs: 0,
};

export class GraphWorker {
  readonly #post: (message: FromGraphWorker) => void;
  readonly #cpuMs: () => number;
  /** The writers by graph. */
  readonly #writers = new Map<number, GraphWriter>();

  constructor(post: (message: FromGraphWorker) => void, { threadCpuMs }: Pick<Clock, "threadCpuMs"> = systemClock) {
    this.#post = post;
    this.#cpuMs = threadCpuMs;
  }

  hear(message: ToGraphWorker): void {
    switch (message.kind) {
      case "open": {
        const kernel = GraphKernel.attach(message.memory);
        if (kernel === undefined) break;
        this.#writers.set(message.graph, new GraphWriter(kernel, seededRandom(message.graph)));
        break;
      }
      case "build": {
        const { graph, batch } = message;
        const writer = this.#writers.get(graph);
        // There was no memory for this thread's scratch.
        if (writer === undefined) batch.nodes.fill(NO_NODE);
        else writer.insert(batch, 0, batch.records.length);
        this.#post({ graph, batch, report: writer?.maintenance.takeReport(0) ?? NO_REPORT });
        break;
      }
      case "maintain": {
        const { graph, work } = message;
        const maintenance = this.#writers.get(graph)?.maintenance;
        const startMs = this.#cpuMs();
        maintenance?.run(work);
        const report = maintenance?.takeReport(this.#cpuMs() - startMs) ?? NO_REPORT;
        this.#post({ graph, batch: undefined, report });
        break;
      }
      case "close":
        this.#writers.delete(message.graph);
        break;
      default: {
        const never: never = message;
        throw new Error(`Unknown message: ${String(never)}`);
      }
    }
  }
}
