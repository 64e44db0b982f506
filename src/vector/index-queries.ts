/**
 * The queries of one index: checked, searched, shown (service.md B2; vector 1.6,
 * 1.8). A query that is short is answered at once, a long one after some turns.
 *
 * A resumable query answers no id twice. Two calls for the same one take turns,
 * so that each knows what the other has answered.
 */
import type { Eventually, ResumableStart, TextQuery, VectorQuery } from "./door.ts";
import { checkEmbeds, type Embedders, embedTexts } from "./embedding/embedders.ts";
import type { Filter } from "./filter/filter.ts";
import { readFilter } from "./filter-text.ts";
import type { IndexState } from "./index-state.ts";
import type { VectorLimits } from "./limits.ts";
import type { Namespace } from "./namespace.ts";
import { NamespaceSearch, type SearchRequest } from "./namespace-search.ts";
import type { Include, ScoredView } from "./record.ts";
import type { ResumableQueries, ResumableQuery } from "./resumable-queries.ts";
import type { SearchJob, SearchQueue } from "./search-queue.ts";
import { checkDense, checkQuery, type VectorPair } from "./vectors.ts";

/** Candidates of each list that a plain query fuses, when it wants fewer (spec: vector 1.6). */
const FUSION_DEPTH_MIN = 100;

const NO_IDS: ReadonlySet<string> = new Set();

export interface IndexQueriesOptions {
  readonly state: IndexState;
  readonly embedders: () => Embedders;
  readonly queue: SearchQueue;
  readonly limits: VectorLimits;
  readonly resumable: ResumableQueries;
}

export class IndexQueries {
  readonly #state: IndexState;
  readonly #embedders: () => Embedders;
  readonly #queue: SearchQueue;
  readonly #limits: VectorLimits;
  readonly #resumable: ResumableQueries;

  constructor({ state, embedders, queue, limits, resumable }: IndexQueriesOptions) {
    this.#state = state;
    this.#embedders = embedders;
    this.#queue = queue;
    this.#limits = limits;
    this.#resumable = resumable;
  }

  query(namespace: string, queries: readonly VectorQuery[]): Eventually<readonly (readonly ScoredView[])[]> {
    const filters = queries.map((query, index) => {
      this.#check(query, queries.length === 1 ? "" : `queries[${index}].`);
      return readFilter(query.filter);
    });
    return this.#searchEach(
      namespace,
      queries.map((query, index) => ({ query, filter: filters[index] as Filter })),
    );
  }

  async queryData(namespace: string, queries: readonly TextQuery[]): Promise<readonly (readonly ScoredView[])[]> {
    const filters = queries.map(({ filter, mode }) => {
      checkEmbeds(this.#state.definition, this.#embedders(), mode);
      return readFilter(filter);
    });
    const pairs = await this.#embed(queries);
    return this.#searchEach(
      namespace,
      queries.map((query, index) => ({ query: { ...query, ...pairs[index] }, filter: filters[index] as Filter })),
    );
  }

  resumableQuery(namespace: string, query: VectorQuery, maxIdleSeconds: number): Eventually<ResumableStart> {
    this.#check(query, "");
    return this.#begin(namespace, query, maxIdleSeconds);
  }

  async resumableQueryData(namespace: string, query: TextQuery, maxIdleSeconds: number): Promise<ResumableStart> {
    checkEmbeds(this.#state.definition, this.#embedders(), query.mode);
    readFilter(query.filter);
    this.#resumable.checkRoom();
    const [pair] = await this.#embed([query]);
    return this.#begin(namespace, { ...query, ...pair }, maxIdleSeconds);
  }

  resumableQueryNext(handle: string, additionalK: number): Eventually<readonly ScoredView[]> {
    const query = this.#resumable.use(handle);
    if (query.running === undefined) return this.#goOn(query, additionalK);
    return query.running.then(() => this.resumableQueryNext(handle, additionalK));
  }

  resumableQueryEnd(handle: string): void {
    this.#resumable.end(handle);
  }

  #begin(namespace: string, query: VectorQuery, maxIdleSeconds: number): Eventually<ResumableStart> {
    const filter = readFilter(query.filter);
    this.#resumable.checkRoom();
    const kept: ResumableQuery = {
      namespace,
      query,
      filter,
      maxIdleMs: maxIdleSeconds * 1_000,
      answered: new Set(),
      running: undefined,
    };
    const uuid = this.#resumable.add(kept);
    const scores = this.#goOn(kept, query.topK);
    return scores instanceof Promise ? scores.then((late) => ({ uuid, scores: late })) : { uuid, scores };
  }

  /** The next `count` that were not answered yet. */
  #goOn(kept: ResumableQuery, count: number): Eventually<readonly ScoredView[]> {
    const { namespace: name, query, filter, answered } = kept;
    const remember = (views: readonly ScoredView[]): readonly ScoredView[] => {
      kept.running = undefined;
      for (const { id } of views) answered.add(id);
      return views;
    };
    const namespace = this.#state.find(name);
    if (namespace === undefined) return [];
    const request = { query, filter, count, fusionDepth: count, excludedIds: answered };
    const views = this.#search(namespace, request);
    if (!(views instanceof Promise)) return remember(views);
    const later = views.then(remember);
    kept.running = later.then(
      () => undefined,
      () => undefined,
    );
    return later;
  }

  /** One query after the other, so that a batch takes no more of a turn than a query does. */
  #searchEach(
    name: string,
    queries: readonly { readonly query: VectorQuery; readonly filter: Filter }[],
  ): Eventually<readonly (readonly ScoredView[])[]> {
    const lists: (readonly ScoredView[])[] = [];
    const goOn = (): Eventually<readonly (readonly ScoredView[])[]> => {
      for (const { query, filter } of queries.slice(lists.length)) {
        const { topK: count } = query;
        // Looked up for each: a namespace may go while a batch is under way.
        const namespace = this.#state.find(name);
        const fusionDepth = Math.max(count, FUSION_DEPTH_MIN);
        const views =
          namespace === undefined
            ? []
            : this.#search(namespace, { query, filter, count, fusionDepth, excludedIds: NO_IDS });
        if (views instanceof Promise)
          return views.then((late) => {
            lists.push(late);
            return goOn();
          });
        lists.push(views);
      }
      return lists;
    };
    return goOn();
  }

  #search(namespace: Namespace, { query, ...request }: Wanted): Eventually<readonly ScoredView[]> {
    const { vector, sparseVector, weighting, fusion, include } = query;
    const job = new QueryJob(namespace, { ...request, vector, sparseVector, weighting, fusion }, include);
    const done = this.#queue.run(job);
    return done instanceof Promise ? done.then(() => job.views) : job.views;
  }

  #check(query: VectorQuery, place: string): void {
    const { definition } = this.#state;
    checkQuery(definition, query, place);
    const { vector } = query;
    if (vector !== undefined)
      checkDense(definition, vector, { dimension: definition.dimension, limits: this.#limits, place });
  }

  /** Texts of one mode are embedded together. */
  async #embed(queries: readonly TextQuery[]): Promise<readonly VectorPair[]> {
    const pairs: VectorPair[] = new Array(queries.length);
    for (const mode of new Set(queries.map((query) => query.mode))) {
      const places = [...queries.keys()].filter((index) => queries[index]?.mode === mode);
      const texts = places.map((index) => queries[index]?.data ?? "");
      const made = await embedTexts(this.#state.definition, this.#embedders(), { texts, role: "query", mode });
      for (const [i, place] of places.entries()) pairs[place] = made[i] as VectorPair;
    }
    return pairs;
  }
}

interface Wanted extends Pick<SearchRequest, "count" | "fusionDepth" | "filter" | "excludedIds"> {
  readonly query: VectorQuery;
}

/** A search with its answer, which is made in the step that ends it: after that records may change. */
class QueryJob implements SearchJob {
  readonly #namespace: Namespace;
  readonly #search: NamespaceSearch;
  readonly #include: Include;
  views: readonly ScoredView[] = [];

  constructor(namespace: Namespace, request: SearchRequest, include: Include) {
    this.#namespace = namespace;
    this.#search = new NamespaceSearch(namespace, request);
    this.#include = include;
  }

  step(): boolean {
    if (!this.#search.step()) return false;
    this.views = this.#search.hits.map(({ record, score }) => ({
      ...this.#namespace.view(record, this.#include),
      score,
    }));
    return true;
  }
}
