/**
 * The walk of one search through the graph of its namespace, on this thread or on
 * another one, with the records that were pending at its start.
 *
 * A graph in parts (`graph-parts/`) has a walk for each, one after the other, and
 * their candidates are merged:
 *
 * (1) The parts are those at the first step. Records of a part that begins later
 *     are in the log of changes since the start of the search.
 * (2) The pending records of a part are those when its walk begins. What changes
 *     before or after is in the log.
 * (3) If so few records of a part pass, by estimate, that scanning them costs less
 *     than a walk, they are scanned with the pending ones: a walk that looks for a
 *     few records would end without them, and then all parts would be scanned.
 */
import type { GraphHits } from "../graph/graph.ts";
import { type GraphPart, type ListedHits, mergedHits } from "../graph-parts/graph-part.ts";
import type { PartedGraph } from "../graph-parts/parted-graph.ts";
import type { Namespace } from "../index/namespace.ts";
import type { FilterMatch } from "../metadata/filter-matcher.ts";
import type { TaskTaker, WalkResult } from "../threads/search-task.ts";
import { hasBit, setBit, widened, wordCountOf } from "./bits.ts";
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
const nothingFound = { records: new Uint32Array(0), distances: new Float32Array(0), count: 0, isComplete: true };

/** The candidates of a walk, valid until the next walk of any search. */
export interface Walked {
  readonly records: Uint32Array;
  /** By their codes (`graph/graph.ts`). */
  readonly distances: Float32Array;
  readonly count: number;
  /** False if better ones may exist. */
  readonly isComplete: boolean;
  /** The records to scan: those that were pending when the walk began, and pass. keeps (5) of threads/search-threads.ts */
  readonly pending: Matches;
}

/** The candidates of some parts. */
interface MergedWalks extends ListedHits {
  readonly isComplete: boolean;
  readonly pending: Matches;
}

/** A walk on another thread. */
interface WalkAway {
  readonly pending: Matches;
  result: WalkResult | undefined;
}

export interface GraphWalkOptions {
  readonly namespace: Namespace;
  readonly vector: Float32Array;
  readonly request: CandidateRequest;
  /** The cost of a row that is scored alone, in rows of a whole scan of rows in memory. */
  readonly rowsPerGather: number;
}

export class GraphWalk {
  /** The candidates of the walk, in each part. */
  readonly effort: number;
  readonly #namespace: Namespace;
  readonly #vector: Float32Array;
  readonly #request: CandidateRequest;
  readonly #rowsPerGather: number;
  readonly #rowCount: number;
  /** The number of rows that pass. */
  readonly #passCount: number;
  /** The graph of the first step, and its parts then. keeps (1) */
  #graph: PartedGraph | undefined;
  #parts: readonly GraphPart[] = [];
  /** The number of parts that were walked. */
  #doneCount = 0;
  #merged: MergedWalks | undefined;
  #away: WalkAway | undefined;

  constructor({ namespace, vector, request, rowsPerGather }: GraphWalkOptions) {
    this.#namespace = namespace;
    this.#vector = vector;
    this.#request = request;
    this.#rowsPerGather = rowsPerGather;
    this.#rowCount = namespace.rowCount;
    this.#passCount = request.match?.count ?? this.#rowCount;
    this.effort = this.#chosenEffort();
  }

  /** The expected cost, in rows of a whole scan of rows in memory. */
  get costRows(): number {
    const { graph } = this.#namespace;
    if (graph === undefined || graph.parts.length < 2) return this.#visits * this.#rowsPerVisit;
    let rows = 0;
    for (const part of graph.parts) rows += Math.min(this.#walkRowsOf(graph, part), this.#scanRowsOf(graph, part));
    return rows;
  }

  /**
   * The candidates, when all parts were walked; `unfinished` if another part is next, or another thread has the walk;
   * `lost` if the namespace has another graph since the first step: that graph knows nothing of the records that were
   * pending.
   */
  step(graph: PartedGraph, taker?: TaskTaker): Walked | "unfinished" | "lost" {
    if (this.#graph === undefined) {
      this.#graph = graph;
      this.#parts = graph.parts;
    } else if (this.#graph !== graph) return "lost";
    const [first] = this.#parts;
    if (first === undefined) return { ...nothingFound, pending: nothingPending };
    return this.#parts.length === 1 ? this.#stepOnly(first, taker) : this.#stepNext(graph, taker);
  }

  /** The walk of the only part, whose candidates need no copy. */
  #stepOnly(part: GraphPart, taker: TaskTaker | undefined): Walked | "unfinished" {
    const away = this.#away;
    if (away?.result !== undefined) {
      const { result, pending } = away;
      return { ...result, count: result.records.length, pending };
    }
    if (away === undefined && taker !== undefined && this.#giveTo(taker, part, this.#visits)) return "unfinished";
    const pending = this.#pendingOf(part);
    const { records, distances, count, isComplete } = this.#search(part, this.#visits);
    return { records, distances, count, isComplete, pending };
  }

  /** The walk of the next part. */
  #stepNext(graph: PartedGraph, taker: TaskTaker | undefined): Walked | "unfinished" {
    const part = this.#parts[this.#doneCount] as GraphPart;
    const walk = this.#walkPart(graph, part, taker);
    if (walk === undefined) return "unfinished";
    this.#away = undefined;
    this.#doneCount += 1;
    const before = this.#merged;
    const merged: MergedWalks =
      before === undefined
        ? walk
        : {
            ...mergedHits(before, walk),
            isComplete: before.isComplete && walk.isComplete,
            pending: unionOf(before.pending, walk.pending),
          };
    this.#merged = merged;
    return this.#doneCount < this.#parts.length ? "unfinished" : merged;
  }

  /** Undefined if another thread has the walk. */
  #walkPart(graph: PartedGraph, part: GraphPart, taker: TaskTaker | undefined): MergedWalks | undefined {
    const away = this.#away;
    if (away?.result !== undefined) return { ...away.result, count: away.result.records.length, pending: away.pending };
    const { match } = this.#request;
    // keeps (3)
    if (match !== undefined && this.#scanRowsOf(graph, part) <= this.#walkRowsOf(graph, part))
      return { ...nothingFound, pending: graph.passingOf(part, match.matches) };
    const visits = this.#visitsOf(part.graph.count, this.#passCountOf(graph, part));
    if (away === undefined && taker !== undefined && this.#giveTo(taker, part, visits)) return undefined;
    const pending = this.#pendingOf(part);
    const { records, distances, count, isComplete } = this.#search(part, visits);
    // Copies: other searches follow before the walks of all parts are done.
    return { records: records.slice(0, count), distances: distances.slice(0, count), count, isComplete, pending };
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

  /** The expected number of nodes that a walk of the only part visits. */
  get #visits(): number {
    return this.#visitsOf(this.#rowCount, this.#passCount);
  }

  #visitsOf(rowCount: number, passCount: number): number {
    return (this.effort * VISITS_PER_EFFORT * rowCount) / Math.max(1, passCount);
  }

  get #rowsPerVisit(): number {
    return this.#request.match === undefined ? ROWS_PER_VISIT : ROWS_PER_FILTERED_VISIT;
  }

  /** About how many records of one of several parts pass. */
  #passCountOf(graph: PartedGraph, part: GraphPart): number {
    const { match } = this.#request;
    return match === undefined ? part.recordCount : graph.passCountOf(part, match);
  }

  /** The expected cost of the walk of one of several parts, in rows of a whole scan. A walk visits a node once. */
  #walkRowsOf(graph: PartedGraph, part: GraphPart): number {
    const { count } = part.graph;
    return Math.min(this.#visitsOf(count, this.#passCountOf(graph, part)), count) * this.#rowsPerVisit;
  }

  /** The same of a scan of its records that pass; without a filter, parts are walked. */
  #scanRowsOf(graph: PartedGraph, part: GraphPart): number {
    const isFiltered = this.#request.match !== undefined;
    return isFiltered ? this.#passCountOf(graph, part) * this.#rowsPerGather : Number.POSITIVE_INFINITY;
  }

  #search(part: GraphPart, visits: number): GraphHits {
    const { match } = this.#request;
    return part.graph.search({
      query: this.#vector,
      count: this.effort,
      effort: this.effort,
      visitsMax: visitsMaxOf(visits),
      ...(match !== undefined && { accepts: match.matches, acceptsStamp: match.version }),
    });
  }

  /** Lets another thread walk. */
  #giveTo(taker: TaskTaker, part: GraphPart, visits: number): boolean {
    const { kernel } = part.graph;
    const costMs = visits * (MS_PER_VISIT + MS_PER_VISITED_VALUE * this.#vector.length);
    if (kernel === undefined || !taker.wants(costMs)) return false;
    const walk: WalkAway = { pending: this.#pendingOf(part), result: undefined };
    const isTaken = taker.take({
      kind: "walk",
      costMs,
      kernel,
      query: this.#vector,
      effort: this.effort,
      visitsMax: visitsMaxOf(visits),
      accepts: this.#request.match,
      done: (result) => {
        walk.result = result;
      },
    });
    if (isTaken) this.#away = walk;
    return isTaken;
  }

  /** keeps (2) */
  #pendingOf({ graph }: GraphPart): Matches {
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

function visitsMaxOf(visits: number): number {
  return Math.ceil(visits * VISITS_FACTOR_MAX);
}

/** The records of two parts, which have none in common. Changes the bits of one of them. */
function unionOf(one: Matches, other: Matches): Matches {
  if (one.count === 0) return other;
  if (other.count === 0) return one;
  const matches = widened(one.matches, other.matches.length);
  for (const [at, word] of other.matches.entries()) matches[at] = (matches[at] as number) | word;
  return { matches, count: one.count + other.count };
}
