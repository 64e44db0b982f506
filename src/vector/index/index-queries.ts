/**
 * The queries of one index: check, search, answer (B2, B.query-data,
 * B.resumable). A short query is answered at once, a long one after some turns.
 *
 * A resumable query returns no id twice. Two calls for the same query run one
 * after the other, so that each knows the ids that the other returned.
 */
import type { Tenant } from "../../kernel/turns.ts";
import type { Eventually, ResumableStart, TextQuery, VectorQuery } from "../api.ts";
import { checkEmbeds, type Embedders, embedTexts } from "../embedding/embedders.ts";
import type { Filter } from "../filter/filter.ts";
import { readFilter } from "../filter/filter-text.ts";
import type { VectorLimits } from "../limits.ts";
import { LateRows, withRows } from "../row-files/late-rows.ts";
import { AnswerBudget } from "../search/answer-budget.ts";
import { NamespaceSearch, type SearchRequest } from "../search/namespace-search.ts";
import type { SearchJob, SearchQueue } from "../search/queue.ts";
import type { TaskTaker } from "../threads/search-task.ts";
import type { IndexState } from "./index-state.ts";
import type { Namespace } from "./namespace.ts";
import type { Include, ScoredView } from "./record.ts";
import type { ResumableQueries, ResumableQuery } from "./resumable-queries.ts";
import { checkDense, checkDimension, checkQuery, type VectorPair } from "./vectors.ts";

/** The least candidates of each list that a plain query fuses (B2.fusion). */
const FUSION_DEPTH_MIN = 100;

const NO_IDS: ReadonlySet<string> = new Set();

export interface IndexQueriesOptions {
  readonly state: IndexState;
  readonly embedders: () => Embedders;
  readonly queue: SearchQueue;
  readonly tenant: Tenant;
  readonly limits: VectorLimits;
  readonly resumable: ResumableQueries;
}

export class IndexQueries {
  readonly #state: IndexState;
  readonly #embedders: () => Embedders;
  readonly #queue: SearchQueue;
  readonly #tenant: Tenant;
  readonly #limits: VectorLimits;
  readonly #resumable: ResumableQueries;

  constructor({ state, embedders, queue, tenant, limits, resumable }: IndexQueriesOptions) {
    this.#state = state;
    this.#embedders = embedders;
    this.#queue = queue;
    this.#tenant = tenant;
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
    if (query.running === undefined) return this.#resume(query, additionalK);
    return query.running.then(() => this.resumableQueryNext(handle, additionalK));
  }

  resumableQueryEnd(handle: string): void {
    this.#resumable.end(handle);
  }

  #begin(namespace: string, query: VectorQuery, maxIdleSeconds: number): Eventually<ResumableStart> {
    const filter = readFilter(query.filter);
    this.#resumable.checkRoom();
    const resumable: ResumableQuery = {
      namespace,
      query,
      filter,
      maxIdleMs: maxIdleSeconds * 1_000,
      answered: new Set(),
      running: undefined,
    };
    const uuid = this.#resumable.add(resumable);
    const scores = this.#resume(resumable, query.topK);
    return scores instanceof Promise ? scores.then((late) => ({ uuid, scores: late })) : { uuid, scores };
  }

  /** Returns the next `count` hits that were not returned yet. */
  #resume(resumable: ResumableQuery, count: number): Eventually<readonly ScoredView[]> {
    const { namespace: name, query, filter, answered } = resumable;
    const remember = (views: readonly ScoredView[]): readonly ScoredView[] => {
      for (const { id } of views) answered.add(id);
      return views;
    };
    const budget = new AnswerBudget(this.#limits.answerBytesMax);
    const request = {
      query,
      filter,
      count,
      fusionDepth: count,
      excludedIds: answered,
      budget,
      vectors: vectorsOf([query]),
    };
    const views = this.#search(name, request);
    if (!(views instanceof Promise)) return remember(views);
    const ended = (): void => {
      resumable.running = undefined;
    };
    const later = views.then(remember);
    resumable.running = later.then(ended, ended);
    return later;
  }

  /** Runs one query after the other, so that a batch takes no more of a turn than a query. */
  #searchEach(
    name: string,
    queries: readonly { readonly query: VectorQuery; readonly filter: Filter }[],
  ): Eventually<readonly (readonly ScoredView[])[]> {
    const lists: (readonly ScoredView[])[] = [];
    const budget = new AnswerBudget(this.#limits.answerBytesMax);
    // A batch is refused as a whole, even if the dimension is fixed while it waits. A known one was checked before.
    const vectors = this.#state.definition.dimension === undefined ? vectorsOf(queries.map(({ query }) => query)) : [];
    const goOn = (): Eventually<readonly (readonly ScoredView[])[]> => {
      for (const { query, filter } of queries.slice(lists.length)) {
        const { topK: count } = query;
        const fusionDepth = Math.max(count, FUSION_DEPTH_MIN);
        const views = this.#search(name, { query, filter, count, fusionDepth, excludedIds: NO_IDS, budget, vectors });
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

  #search(name: string, { query, budget, vectors, ...request }: Wanted): Eventually<readonly ScoredView[]> {
    const { vector, sparseVector, weighting, fusion, include, effort } = query;
    const find = (): Namespace | undefined => {
      // An index without a dimension accepts any vector, and may have got another dimension since.
      for (const each of vectors) checkDimension(this.#state.definition, each);
      return this.#state.find(name);
    };
    const wanted = { ...request, vector, sparseVector, weighting, fusion, effort };
    const job = new QueryJob(find, wanted, { include, budget });
    const done = this.#queue.run(job, this.#tenant);
    return done instanceof Promise ? done.then(() => job.answer) : job.answer;
  }

  #check(query: VectorQuery, place: string): void {
    const { definition } = this.#state;
    checkQuery(definition, query, place);
    const { vector } = query;
    if (vector !== undefined)
      checkDense(definition, vector, { dimension: definition.dimension, limits: this.#limits, place });
  }

  /** Embeds the texts of each mode together. */
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
  /** The budget of the whole answer with its hits. */
  readonly budget: AnswerBudget;
  /** The vectors of the whole request that must have the index's dimension when its hits are found. */
  readonly vectors: readonly Float32Array[];
}

function vectorsOf(queries: readonly VectorQuery[]): readonly Float32Array[] {
  return queries.flatMap(({ vector }) => (vector === undefined ? [] : [vector]));
}

interface Shown {
  readonly include: Include;
  readonly budget: AnswerBudget;
}

/**
 * A search with its answer, which is made in the last step because records may change after it. The search is for a
 * name: if its namespace is dropped or replaced meanwhile, it starts again with the namespace that has the name now.
 */
class QueryJob implements SearchJob {
  readonly #find: () => Namespace | undefined;
  readonly #request: SearchRequest;
  readonly #shown: Shown;
  #namespace: Namespace | undefined;
  #search: NamespaceSearch | undefined;
  answer: Eventually<readonly ScoredView[]> = [];

  constructor(find: () => Namespace | undefined, request: SearchRequest, shown: Shown) {
    this.#find = find;
    this.#request = request;
    this.#shown = shown;
  }

  step(taker?: TaskTaker): boolean {
    const namespace = this.#find();
    if (namespace !== this.#namespace) {
      this.#search?.abandon();
      this.#namespace = namespace;
      this.#search = namespace === undefined ? undefined : new NamespaceSearch(namespace, this.#request);
    }
    const search = this.#search;
    if (namespace === undefined || search === undefined) return true;
    if (!search.step(taker)) return false;
    noteQuery(namespace, search, this.#request);
    const { include, budget } = this.#shown;
    const late = new LateRows();
    const views = search.hits.map(({ record, score }) => {
      const view = { ...namespace.view(record, include, late), score };
      budget.spend(view);
      return view;
    });
    this.answer = withRows(views, late);
    return true;
  }
}

/** Notes a query for the recall of its namespace, unless it chose its effort or excludes what it returned before. */
function noteQuery(
  { recall }: Namespace,
  { depth, passShare }: NamespaceSearch,
  { vector, filter, effort, excludedIds }: SearchRequest,
): void {
  if (recall === undefined || vector === undefined || effort !== undefined || excludedIds.size > 0) return;
  recall.note({ vector, filter, count: depth }, passShare);
}
