/**
 * Writes nodes into a graph; only one thread does. It never makes a node live:
 * the graph's owner does, after checking that the row is unchanged.
 */
import type { Random } from "../../kernel/random.ts";
import type { GraphKernel } from "./graph-kernel.ts";
import { LEVEL_MAX, NO_NODE, UPPER_LINKS } from "./graph-kernel.ts";
import { GraphMaintenance } from "./graph-maintenance.ts";

/** Candidates for the links of a new node (efConstruction). bench/graph.bench.ts */
export const BUILD_EFFORT = 128;

/** Fewer rows are too few to estimate the centre of all rows. */
const CENTRE_ROWS_MIN = 32;

/** Each level has one of this many nodes of the level below. */
const LEVEL_FACTOR = 1 / Math.log(UPPER_LINKS);

export class GraphWriter {
  readonly #kernel: GraphKernel;
  readonly #random: Random;
  readonly maintenance: GraphMaintenance;

  constructor(kernel: GraphKernel, random: Random) {
    this.#kernel = kernel;
    this.#random = random;
    this.maintenance = new GraphMaintenance(kernel);
  }

  /**
   * Inserts the rows `start` to `end` of a batch and writes their nodes, or NO_NODE without memory. The first rows of a
   * graph determine the centre that all codes are relative to.
   */
  insert(batch: RowBatch, start: number, end: number): void {
    if (start === 0 && this.#kernel.nodeCount === 0) this.#findCentre(batch);
    // Before the rows, so that these are not linked to the former nodes of their records.
    if (start === 0) this.maintenance.retire(batch.retired);
    const { records, nodes } = batch;
    for (let i = start; i < end; i += 1) {
      this.#kernel.putRow(this.#rowOf(batch, i));
      const level = this.#drawLevel();
      const place = this.maintenance.takePlace(level);
      nodes[i] = this.#kernel.code.insert(records[i] as number, level, BUILD_EFFORT, place);
    }
    this.maintenance.followRows(end - start);
  }

  #findCentre(batch: RowBatch): void {
    const count = batch.records.length;
    if (count < CENTRE_ROWS_MIN) return;
    for (let i = 0; i < count; i += 1) {
      this.#kernel.putRow(this.#rowOf(batch, i));
      this.#kernel.code.addToCentre();
    }
    this.#kernel.code.finishCentre(count);
  }

  #rowOf({ rows }: RowBatch, index: number): Float32Array {
    const { dimension } = this.#kernel;
    return rows.subarray(index * dimension, (index + 1) * dimension);
  }

  #drawLevel(): number {
    return Math.min(LEVEL_MAX, Math.floor(-Math.log(1 - this.#random.unit()) * LEVEL_FACTOR));
  }
}

/** Rows to insert into a graph; the writer fills `nodes`. */
export interface RowBatch {
  readonly records: Uint32Array<ArrayBuffer>;
  readonly rows: Float32Array<ArrayBuffer>;
  readonly nodes: Uint32Array<ArrayBuffer>;
  /** Nodes whose records were removed or changed before. */
  readonly retired: Uint32Array<ArrayBuffer>;
}

/** Whether a row of a batch became a node. */
export function isNode(node: number): boolean {
  return node !== NO_NODE;
}
