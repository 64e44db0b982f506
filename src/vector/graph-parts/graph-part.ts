/** One graph of a namespace that may have several, and the range of records that it is for. */
import type { GraphHits, NamespaceGraph } from "../graph/graph.ts";
import { countBits } from "../search/bits.ts";

/** Bits of all records, and a number that changes whenever one of them does. */
interface Matches {
  readonly matches: Uint32Array;
  readonly version: number;
}

/** Candidates by the numbers of the namespace, best first. */
export interface PartHits {
  readonly records: Uint32Array;
  readonly distances: Float32Array;
}

/** The bits of a part, and how many of them are set. */
interface CountedView {
  readonly matches: Uint32Array;
  version: number;
  count: number;
}

export interface GraphPartOptions {
  readonly number: number;
  /** Its first record, a multiple of 32. Its graph has the number 0 for it. */
  readonly first: number;
  /** The most records of a part, a multiple of 32. */
  readonly recordCount: number;
  readonly graph: NamespaceGraph;
}

export class GraphPart {
  readonly number: number;
  readonly first: number;
  readonly graph: NamespaceGraph;
  readonly #recordCount: number;
  #insertCount = 0;
  /** By the bits of all records, so that a view stays the same object as long as they do. */
  readonly #views = new WeakMap<Uint32Array, CountedView>();

  constructor({ number, first, recordCount, graph }: GraphPartOptions) {
    this.number = number;
    this.first = first;
    this.graph = graph;
    this.#recordCount = recordCount;
  }

  /** The number of rows that were passed to this graph, which shows whether it changed. */
  get insertCount(): number {
    return this.#insertCount;
  }

  insert(record: number, version: number): void {
    this.#insertCount += 1;
    this.graph.insert(record - this.first, version);
  }

  remove(record: number): void {
    this.graph.remove(record - this.first);
  }

  *pending(): Generator<number> {
    for (const record of this.graph.pending) yield record + this.first;
  }

  /** The bits for a walk of its graph: those of all records, if there are no further ones. At least one should be set. */
  bitsOf(matches: Uint32Array): Uint32Array {
    const words = this.#recordCount / 32;
    return this.first === 0 && matches.length <= words ? matches : this.#viewOf(matches).matches;
  }

  /** How many records of this part pass. */
  countOf({ matches, version }: Matches): number {
    const view = this.#viewOf(matches);
    if (view.version !== version) {
      view.version = version;
      view.count = countBits(view.matches);
    }
    return view.count;
  }

  /** Copies of the hits of its graph. */
  hitsOf({ records, distances, count }: Pick<GraphHits, "records" | "distances" | "count">): PartHits {
    const { first } = this;
    return { records: records.slice(0, count).map((record) => record + first), distances: distances.slice(0, count) };
  }

  #viewOf(matches: Uint32Array): CountedView {
    const known = this.#views.get(matches);
    if (known !== undefined) return known;
    const firstWord = this.first / 32;
    const own = matches.subarray(firstWord, firstWord + this.#recordCount / 32);
    const view = { matches: own, version: Number.NaN, count: 0 };
    this.#views.set(matches, view);
    return view;
  }
}

/** Both lists in one: their distances are estimates of the same, whatever the centre of a graph is. */
export function mergedHits(one: PartHits, other: PartHits): PartHits {
  const count = one.records.length + other.records.length;
  const records = new Uint32Array(count);
  const distances = new Float32Array(count);
  for (let to = 0, left = 0, right = 0; to < count; to += 1) {
    // Beyond the end of a list, a distance is undefined and the comparison false.
    const isLeft =
      right === other.records.length || (one.distances[left] as number) <= (other.distances[right] as number);
    const from = isLeft ? one : other;
    const at = isLeft ? left++ : right++;
    records[to] = from.records[at] as number;
    distances[to] = from.distances[at] as number;
  }
  return { records, distances };
}
