/** One graph of a namespace that may have several. */
import type { GraphHits, NamespaceGraph } from "../graph/graph.ts";

export class GraphPart {
  readonly number: number;
  readonly graph: NamespaceGraph;
  /** The number of its records, in the graph or pending. */
  recordCount = 0;
  #changeCount = 0;

  constructor(number: number, graph: NamespaceGraph) {
    this.number = number;
    this.graph = graph;
  }

  /** The number of inserts and removals so far, which shows whether the graph changed. */
  get changeCount(): number {
    return this.#changeCount;
  }

  insert(record: number, version: number): void {
    this.#changeCount += 1;
    this.graph.insert(record, version);
  }

  remove(record: number): void {
    this.#changeCount += 1;
    this.graph.remove(record);
  }
}

/** Candidates, best first. */
export type ListedHits = Pick<GraphHits, "records" | "distances" | "count">;

/** Both lists in one: their distances are estimates of the same, whatever the centre of a graph is. */
export function mergedHits(one: ListedHits, other: ListedHits): ListedHits {
  const count = one.count + other.count;
  const records = new Uint32Array(count);
  const distances = new Float32Array(count);
  for (let to = 0, left = 0, right = 0; to < count; to += 1) {
    const isLeft =
      right === other.count ||
      (left < one.count && (one.distances[left] as number) <= (other.distances[right] as number));
    const from = isLeft ? one : other;
    const at = isLeft ? left : right;
    records[to] = from.records[at] as number;
    distances[to] = from.distances[at] as number;
    if (isLeft) left += 1;
    else right += 1;
  }
  return { records, distances, count };
}
