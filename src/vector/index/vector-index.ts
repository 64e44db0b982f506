/**
 * One index: writes, queries, and reads without a search
 * (docs/interface/vector.md).
 */
import type { Clock } from "../../kernel/clock.ts";
import type { Random } from "../../kernel/random.ts";
import type { Tenant } from "../../kernel/turns.ts";
import type {
  DeleteSelection,
  Eventually,
  IndexApi,
  IndexInfo,
  RangePage,
  RangeRequest,
  ResumableStart,
  Selection,
  TextQuery,
  VectorQuery,
} from "../api.ts";
import type { Embedders } from "../embedding/embedders.ts";
import { unprocessable } from "../failure.ts";
import type { VectorLimits } from "../limits.ts";
import { LateRows, withRows } from "../row-files/late-rows.ts";
import { AnswerBudget } from "../search/answer-budget.ts";
import type { SearchQueue } from "../search/queue.ts";
import { DailyCount } from "./daily-count.ts";
import type { IndexDefinition } from "./definition.ts";
import type { IndexJournal } from "./index-journal.ts";
import { IndexQueries } from "./index-queries.ts";
import type { IndexState } from "./index-state.ts";
import { IndexWrites } from "./index-writes.ts";
import type { Namespace } from "./namespace.ts";
import { printRangeCursor, type RangeCursor } from "./range-cursor.ts";
import type { Include, NewRecord, NewText, RecordChange, RecordView, ScoredView } from "./record.ts";
import { ResumableQueries } from "./resumable-queries.ts";

export interface VectorIndexOptions {
  readonly state: IndexState;
  readonly journal: IndexJournal;
  readonly queue: SearchQueue;
  /** The tenant of its searches. */
  readonly tenant: Tenant;
  readonly clock: Clock;
  readonly random: Random;
  readonly limits: VectorLimits;
  readonly embedders: Embedders;
  readonly newHandle: () => string;
}

export class VectorIndex implements IndexApi {
  readonly #state: IndexState;
  readonly #journal: IndexJournal;
  readonly #random: Random;
  readonly #limits: VectorLimits;
  readonly #writes: IndexWrites;
  readonly #queries: IndexQueries;
  readonly #resumable: ResumableQueries;
  readonly #queryCount: DailyCount;
  /** The models may change when the index is defined again. */
  embedders: Embedders;
  /** The definition by the operator; undefined if there was none since the start. */
  wanted: IndexDefinition | undefined;

  constructor({ state, journal, queue, tenant, clock, random, limits, embedders, newHandle }: VectorIndexOptions) {
    this.#state = state;
    this.#journal = journal;
    this.#random = random;
    this.#limits = limits;
    this.embedders = embedders;
    this.#resumable = new ResumableQueries({ clock, newHandle, countMax: limits.resumableQueriesMax });
    const parts = { state, embedders: () => this.embedders, queue, tenant, limits };
    this.#writes = new IndexWrites({
      ...parts,
      journal,
      updateCount: new DailyCount(clock, "updates", limits.updatesPerDayMax),
    });
    this.#queries = new IndexQueries({ ...parts, resumable: this.#resumable });
    this.#queryCount = new DailyCount(clock, "queries", limits.queriesPerDayMax);
  }

  get name(): string {
    return this.#state.name;
  }

  get definition(): IndexDefinition {
    return this.#state.definition;
  }

  get state(): IndexState {
    return this.#state;
  }

  upsert(namespace: string, records: readonly NewRecord[]): void {
    this.#writes.upsert(namespace, records);
  }

  upsertData(namespace: string, records: readonly NewText[]): Eventually<void> {
    return this.#writes.upsertData(namespace, records);
  }

  update(namespace: string, change: RecordChange): Eventually<number> {
    return this.#writes.update(namespace, change);
  }

  delete(namespace: string, selection: DeleteSelection): Eventually<number> {
    return this.#writes.delete(namespace, selection);
  }

  reset(namespace: string): void {
    this.#writes.reset(namespace);
  }

  resetAll(): void {
    this.#writes.resetAll();
  }

  deleteNamespace(namespace: string): void {
    this.#writes.deleteNamespace(namespace);
  }

  renameNamespace(namespace: string, change: { readonly newName: string; readonly deletesExisting: boolean }): boolean {
    return this.#writes.renameNamespace(namespace, change);
  }

  fetch(
    namespaceName: string,
    selection: Selection,
    include: Include,
  ): Eventually<readonly (RecordView | undefined)[]> {
    const namespace = this.#state.find(namespaceName);
    const late = new LateRows();
    const budget = new AnswerBudget(this.#limits.answerBytesMax);
    if (selection.kind === "prefix") {
      if (namespace === undefined) return [];
      const views: RecordView[] = [];
      for (const record of namespace.table.order.from(0)) {
        if (!namespace.table.hasPrefix(record, selection.prefix)) continue;
        const view = namespace.view(record, include, late);
        budget.spend(view);
        views.push(view);
        if (views.length === this.#limits.topKMax) break;
      }
      return withRows(views, late);
    }
    const found = selection.ids.map((id) => {
      const record = namespace?.table.find(id);
      if (namespace === undefined || record === undefined) return undefined;
      const view = namespace.view(record, include, late);
      budget.spend(view);
      return view;
    });
    return withRows(found, late);
  }

  range(namespaceName: string, request: RangeRequest): Eventually<RangePage> {
    const late = new LateRows();
    return withRows(this.#page(namespaceName, request, late), late);
  }

  random(namespaceName: string): Eventually<RecordView | undefined> {
    const namespace = this.#state.find(namespaceName);
    if (namespace === undefined || namespace.count === 0) return undefined;
    const record = namespace.table.order.at(this.#random.below(namespace.count));
    const late = new LateRows();
    return withRows(namespace.view(record, { vectors: true, metadata: false, data: false }, late), late);
  }

  query(namespace: string, queries: readonly VectorQuery[]): Eventually<readonly (readonly ScoredView[])[]> {
    this.#queryCount.add(queries.length);
    return this.#queries.query(namespace, queries);
  }

  queryData(namespace: string, queries: readonly TextQuery[]): Eventually<readonly (readonly ScoredView[])[]> {
    this.#queryCount.add(queries.length);
    return this.#queries.queryData(namespace, queries);
  }

  resumableQuery(namespace: string, query: VectorQuery, maxIdleSeconds: number): Eventually<ResumableStart> {
    this.#queryCount.add(1);
    return this.#queries.resumableQuery(namespace, query, maxIdleSeconds);
  }

  resumableQueryData(namespace: string, query: TextQuery, maxIdleSeconds: number): Eventually<ResumableStart> {
    this.#queryCount.add(1);
    return this.#queries.resumableQueryData(namespace, query, maxIdleSeconds);
  }

  resumableQueryNext(uuid: string, additionalK: number): Eventually<readonly ScoredView[]> {
    this.#queryCount.add(1);
    return this.#queries.resumableQueryNext(uuid, additionalK);
  }

  resumableQueryEnd(uuid: string): void {
    this.#queries.resumableQueryEnd(uuid);
  }

  info(): IndexInfo {
    let vectorCount = 0;
    let pendingVectorCount = 0;
    let indexSize = 0;
    const namespaces: IndexInfo["namespaces"][number][] = [];
    for (const { name, count, pendingCount, byteCount } of this.#state.namespaces) {
      vectorCount += count - pendingCount;
      pendingVectorCount += pendingCount;
      indexSize += byteCount;
      namespaces.push({ name, vectorCount: count - pendingCount, pendingVectorCount: pendingCount });
    }
    const { recall, rows } = this.#state;
    return {
      vectorCount,
      pendingVectorCount,
      indexSize,
      definition: this.definition,
      namespaces,
      ...(recall !== undefined && { recall }),
      ...(rows === "disk" && { rows }),
    };
  }

  namespaceNames(): readonly string[] {
    return [...this.#state.namespaces].map(({ name }) => name);
  }

  whenSafe(): Promise<void> | undefined {
    return this.#journal.whenSafe();
  }

  #page(namespaceName: string, { cursor, limit, prefix, include }: RangeRequest, late: LateRows): RangePage {
    const namespace = this.#state.find(namespaceName);
    const vectors: RecordView[] = [];
    const budget = new AnswerBudget(this.#limits.answerBytesMax);
    if (namespace === undefined) return { nextCursor: "", vectors };
    let last = 0;
    for (const record of this.#recordsFrom(namespace, cursor)) {
      if (prefix !== "" && !namespace.table.hasPrefix(record, prefix)) continue;
      // A further record means that there is a next page (B1.end).
      if (vectors.length === limit) return { nextCursor: this.#cursorAfter(namespace, last), vectors };
      const view = namespace.view(record, include, late);
      // A page ends early if it would become too large.
      if (!budget.take(view)) return { nextCursor: this.#cursorAfter(namespace, last), vectors };
      vectors.push(view);
      last = record;
    }
    return { nextCursor: "", vectors };
  }

  #recordsFrom({ number, name, table: { order } }: Namespace, cursor: RangeCursor): Iterable<number> {
    if (typeof cursor === "number") return order.from(cursor);
    if (cursor.index === this.#state.number && cursor.namespace === number) return order.fromPlace(cursor.place);
    const other = cursor.index === this.#state.number ? this.#state.findNumber(cursor.namespace) : undefined;
    if (other !== undefined)
      throw unprocessable(
        `cursor belongs to the namespace ${JSON.stringify(other.name)}, not to ${JSON.stringify(name)}: begin with "0"`,
      );
    // The namespace of the cursor was deleted. All records of the namespace with its name are newer.
    return order.from(0);
  }

  #cursorAfter({ number, table }: Namespace, record: number): string {
    const place = table.order.placeOf(record) + 1;
    return printRangeCursor({ index: this.#state.number, namespace: number, place });
  }
}
