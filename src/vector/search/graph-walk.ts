/**
 * The walk of one search through the graph of its namespace, on this thread or on
 * another one, with the records that were pending at its start.
 */
import type { NamespaceGraph } from "../graph/graph.ts";
import type { Namespace } from "../index/namespace.ts";
import type { FilterMatch } from "../metadata/filter-matcher.ts";
import type { TaskTaker, WalkResult } from "../threads/search-task.ts";
import { hasBit, setBit, wordCountOf } from "./bits.ts";
import type { CandidateRequest } from "./namespace-search.ts";

/** The time of a visit: a part for its cache misses, and one for each dimension. bench/graph.bench.ts */
const MS_PER_VISIT = 0.000_05;
const MS_PER_VISITED_VALUE = 0.000_000_15;
/**
 * Nodes that a walk visits for each of them if every record passes; with a filter, the fewer records pass, the more it
 * visits. If the passing records are far away, the walk ends at a multiple of that. bench/graph.bench.ts
 */
const VISITS_PER_EFFORT = 11;
const VISITS_FACTOR_MAX = 4;
/** The costs of a visit, and of a visit with a filter, in rows of a whole scan of rows in memory. bench/graph.bench.ts */
const ROWS_PER_VISIT = 2;
const ROWS_PER_FILTERED_VISIT = 2;

/** Records as bits, and how many they are. */
export type Matches = Pick<FilterMatch, "matches" | "count">;

const nothingPending: Matches = { matches: new Uint32Array(0), count: 0 };

/** The candidates of a walk, valid until the next walk of any search. */
export interface Walked {
  readonly records: Uint32Array;
  /** By their codes (`graph/graph.ts`). */
  readonly distances: Float32Array;
  readonly count: number;
  /** False if better ones may exist. */
  readonly isComplete: boolean;
  /** The records that were pending when the walk began, and pass. keeps (5) of threads/search-threads.ts */
  readonly pending: Matches;
}

/** A walk on another thread. */
interface WalkAway {
  readonly graph: NamespaceGraph;
  readonly pending: Matches;
  result: WalkResult | undefined;
}

export class GraphWalk {
  /** The candidates of the walk. */
  readonly effort: number;
  readonly #namespace: Namespace;
  readonly #vector: Float32Array;
  readonly #request: CandidateRequest;
  readonly #rowCount: number;
  /** The number of rows that pass. */
  readonly #passCount: number;
  #away: WalkAway | undefined;

  constructor(namespace: Namespace, vector: Float32Array, request: CandidateRequest) {
    this.#namespace = namespace;
    this.#vector = vector;
    this.#request = request;
    this.#rowCount = namespace.rowCount;
    this.#passCount = request.match?.count ?? this.#rowCount;
    this.effort = this.#chosenEffort();
  }

  /** The expected cost, in rows of a whole scan of rows in memory. */
  get costRows(): number {
    return this.#visits * (this.#request.match === undefined ? ROWS_PER_VISIT : ROWS_PER_FILTERED_VISIT);
  }

  /**
   * The candidates; `away` if another thread has the walk, and `lost` if the namespace has another graph since it was
   * sent: that graph knows nothing of the records that were pending.
   */
  step(graph: NamespaceGraph, taker?: TaskTaker): Walked | "away" | "lost" {
    const away = this.#away;
    if (away !== undefined) {
      if (away.graph !== graph) return "lost";
      const { result, pending } = away;
      if (result !== undefined) return { ...result, count: result.records.length, pending };
    } else if (taker !== undefined && this.#giveTo(taker, graph)) return "away";
    return this.#askGraph(graph);
  }

  #chosenEffort(): number {
    const { count, excluded, effort, effortMin, match } = this.#request;
    // Excluded records are candidates of the walk too.
    const wanted = count + excluded.size;
    if (typeof effort === "number") return Math.max(effort, wanted, effortMin);
    const share = match && this.#passCount / Math.max(1, this.#rowCount);
    // A namespace without a graph has no recall to keep.
    return Math.max(this.#namespace.recall?.effortFor(wanted, share) ?? wanted, effortMin);
  }

  /** The expected number of nodes that a walk visits. */
  get #visits(): number {
    return (this.effort * VISITS_PER_EFFORT * this.#rowCount) / Math.max(1, this.#passCount);
  }

  get #visitsMax(): number {
    return Math.ceil(this.#visits * VISITS_FACTOR_MAX);
  }

  #askGraph(graph: NamespaceGraph): Walked {
    const { match } = this.#request;
    const pending = this.#pendingMatches(graph);
    const { records, distances, count, isComplete } = graph.search({
      query: this.#vector,
      count: this.effort,
      effort: this.effort,
      visitsMax: this.#visitsMax,
      ...(match !== undefined && { accepts: match.matches, acceptsStamp: match.version }),
    });
    return { records, distances, count, isComplete, pending };
  }

  /** Lets another thread walk. */
  #giveTo(taker: TaskTaker, graph: NamespaceGraph): boolean {
    const { kernel } = graph;
    const costMs = this.#visits * (MS_PER_VISIT + MS_PER_VISITED_VALUE * this.#vector.length);
    if (kernel === undefined || !taker.wants(costMs)) return false;
    const walk: WalkAway = { graph, pending: this.#pendingMatches(graph), result: undefined };
    const isTaken = taker.take({
      kind: "walk",
      costMs,
      kernel,
      query: this.#vector,
      effort: this.effort,
      visitsMax: this.#visitsMax,
      accepts: this.#request.match,
      done: (result) => {
        walk.result = result;
      },
    });
    if (isTaken) this.#away = walk;
    return isTaken;
  }

  #pendingMatches(graph: NamespaceGraph): Matches {
    if (graph.pendingCount === 0) return nothingPending;
    const { match } = this.#request;
    const matches = new Uint32Array(wordCountOf(this.#namespace.table.end));
    let count = 0;
    for (const record of graph.pending) {
      if (match !== undefined && !hasBit(match.matches, record)) continue;
      setBit(matches, record);
      count += 1;
    }
    return { matches, count };
  }
}
