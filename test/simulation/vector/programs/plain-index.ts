/**
 * A vector index in the most obvious way: lists searched from front to back,
 * written from the interface (docs/interface/vector.md) and not from the engine.
 * Random programs compare the engine with it.
 *
 * (1) A namespace is the list of its records in insertion order; a record put again keeps its place.
 * (2) A refused call changes nothing.
 * (3) Records are never changed, only replaced, so a copy of the index shares them.
 */
import type { Clock } from "../../../../src/kernel/clock.ts";
import type {
  DeleteSelection,
  IndexApi,
  IndexInfo,
  RangePage,
  RangeRequest,
  ResumableStart,
  Selection,
  TextQuery,
  VectorQuery,
} from "../../../../src/vector/api.ts";
import type { VectorFailureKind } from "../../../../src/vector/failure.ts";
import { compileFilter } from "../../../../src/vector/filter/filter.ts";
import { parseMetadata } from "../../../../src/vector/filter/json.ts";
import type { IndexDefinition } from "../../../../src/vector/index/definition.ts";
import type {
  Include,
  NewRecord,
  NewText,
  RecordChange,
  RecordView,
  ScoredView,
} from "../../../../src/vector/index/record.ts";
import { fuse, type Ranked } from "./plain-fusion.ts";
import { jsonOf, mergePatch, treeOf } from "./plain-metadata.ts";
import {
  denseRank,
  denseScore,
  exactSums,
  plainSums,
  type SparseList,
  type Sums,
  sparseScore,
  weightByRarity,
} from "./plain-scores.ts";

/** A refusal of this index, as the engine must give it, but of a class of its own. */
export class Refusal {
  readonly kind: VectorFailureKind;
  readonly text: string;

  constructor(kind: VectorFailureKind, text: string) {
    this.kind = kind;
    this.text = text;
  }
}

export interface PlainRecord {
  readonly id: string;
  readonly vector?: readonly number[] | undefined;
  readonly sparse?: SparseList | undefined;
  readonly metadata?: string | undefined;
  readonly data?: string | undefined;
}

/** Turns text into vectors; if absent, text is refused. */
export interface PlainModels {
  dense(text: string): readonly number[];
  sparse(text: string): SparseList;
}

export interface PlainOptions {
  readonly name: string;
  readonly definition: IndexDefinition;
  readonly clock: Clock;
  readonly sums: Sums;
  readonly models?: PlainModels | undefined;
}

interface CheckOptions {
  readonly dimension: number | undefined;
  readonly mayLackPart?: boolean;
  readonly isOfText?: boolean;
}

/** A query with its vectors as lists. */
interface PlainQuery extends Omit<VectorQuery, "vector" | "sparseVector"> {
  readonly vector?: readonly number[] | undefined;
  readonly sparse?: SparseList | undefined;
}

interface HeldQuery {
  readonly namespace: string;
  readonly query: PlainQuery;
  readonly maxIdleMs: number;
  readonly returned: ReadonlySet<string>;
  readonly usedAtMs: number;
}

/** The most records that a fetch by prefix returns. */
const PREFIX_FETCH_MAX = 1_000;
/** Each part of a hybrid query gives at least this many candidates. */
const CANDIDATES_MIN = 100;
/** Longer vectors have products that are not float32 numbers. */
const SQUARED_LENGTH_MAX = 1e38;
const SECOND_MS = 1_000;

export class PlainIndex implements IndexApi {
  readonly name: string;
  readonly #options: PlainOptions;
  #dimension: number | undefined;
  #namespaces = new Map<string, readonly PlainRecord[]>([["", []]]);
  #held = new Map<string, HeldQuery>();
  #heldCount = 0;

  constructor(options: PlainOptions) {
    this.name = options.name;
    this.#options = options;
    this.#dimension = options.definition.dimension;
  }

  get definition(): IndexDefinition {
    return { ...this.#options.definition, dimension: this.#dimension };
  }

  /** An independent copy. */
  copy(): PlainIndex {
    const other = new PlainIndex(this.#options);
    other.#dimension = this.#dimension;
    other.#namespaces = new Map(this.#namespaces);
    other.#held = new Map(this.#held);
    other.#heldCount = this.#heldCount;
    return other;
  }

  /** The effect of a restart: held queries are lost. */
  forgetQueries(): void {
    this.#held.clear();
  }

  /** Records that a held query returned these, which differ from what this index would return now. */
  markReturned(uuid: string, ids: readonly string[], before = this.returnedOf(uuid)): void {
    const held = this.#held.get(uuid);
    if (held === undefined) return;
    const usedAtMs = this.#options.clock.monotonicMs();
    this.#held.set(uuid, { ...held, returned: new Set([...before, ...ids]), usedAtMs });
  }

  returnedOf(uuid: string): readonly string[] {
    return [...(this.#held.get(uuid)?.returned ?? [])];
  }

  recordsOf(namespace: string): readonly PlainRecord[] {
    return this.#namespaces.get(namespace) ?? [];
  }

  upsert(namespace: string, records: readonly NewRecord[]): void {
    this.#put(
      namespace,
      records.map(({ id, vector, sparseVector, metadata, data }) => {
        return { id, vector: numbersOf(vector), sparse: sparseOf(sparseVector), metadata, data };
      }),
    );
  }

  upsertData(namespace: string, records: readonly NewText[]): void {
    const embedded = records.map(({ id, data, metadata }) => ({ id, data, metadata, ...this.#embedded(data) }));
    this.#put(namespace, embedded, true);
  }

  #put(namespace: string, records: readonly PlainRecord[], isOfText = false): void {
    let dimension = this.#dimension;
    for (const record of records) {
      this.#check(record, { dimension, isOfText });
      dimension ??= record.vector?.length;
    }
    this.#dimension = dimension;
    const list = [...this.recordsOf(namespace)];
    const places = new Map(list.map(({ id }, place) => [id, place]));
    for (const record of records) {
      const place = places.get(record.id) ?? list.length;
      places.set(record.id, place);
      list[place] = record;
    }
    this.#namespaces.set(namespace, list);
  }

  /**
   * Whether these vectors fit the index. `mayLackPart`: one of the two of a HYBRID index is enough. `isOfText`: a text
   * without words has an empty sparse vector.
   */
  #check(
    { vector, sparse }: Pick<PlainRecord, "vector" | "sparse">,
    { dimension, mayLackPart = false, isOfText = false }: CheckOptions,
  ): void {
    const { definition, sums } = this.#options;
    const { type, similarity } = definition;
    const isEnough = type === "HYBRID" && mayLackPart && (vector !== undefined || sparse !== undefined);
    if (type !== "SPARSE" && vector === undefined && !isEnough)
      throw new Refusal("unprocessable", "This index requires dense vectors");
    if (type !== "DENSE" && sparse === undefined && !isEnough)
      throw new Refusal("unprocessable", "This index requires sparse vectors");
    if (type === "SPARSE" && vector !== undefined) throw new Refusal("unprocessable", "");
    if (type === "DENSE" && sparse !== undefined) throw new Refusal("unprocessable", "");
    if (sparse?.length === 0 && !isOfText) throw new Refusal("unprocessable", "");
    if (vector === undefined) return;
    this.#checkDimension(vector, dimension);
    const squaredLength = (sums === exactSums ? exactSums : plainSums).dot(vector, vector);
    if (squaredLength > SQUARED_LENGTH_MAX) throw new Refusal("unprocessable", "");
    // It has no direction to compare.
    if (squaredLength === 0 && similarity === "COSINE") throw new Refusal("unprocessable", "");
  }

  #checkDimension({ length }: readonly number[], dimension: number | undefined): void {
    if (dimension !== undefined && length !== dimension)
      throw new Refusal("unprocessable", `Invalid vector dimension: ${length}, expected: ${dimension}`);
  }

  #embedded(text: string): Pick<PlainRecord, "vector" | "sparse"> {
    const { models, definition } = this.#options;
    if (models === undefined) {
      throw new Refusal(
        "unprocessable",
        "Embedding data for this index is not allowed. The index must be created with an embedding model to use it.",
      );
    }
    return {
      vector: definition.type === "SPARSE" ? undefined : models.dense(text),
      sparse: definition.type === "DENSE" ? undefined : models.sparse(text),
    };
  }

  update(namespace: string, change: RecordChange): number {
    const { models } = this.#options;
    const isReembedded = models !== undefined && change.data !== undefined && change.vector === undefined;
    const given = isReembedded
      ? this.#embedded(change.data ?? "")
      : { vector: numbersOf(change.vector), sparse: sparseOf(change.sparseVector) };
    if (given.vector !== undefined || given.sparse !== undefined)
      this.#check(given, { dimension: this.#dimension, isOfText: isReembedded });
    const list = [...this.recordsOf(namespace)];
    const place = list.findIndex(({ id }) => id === change.id);
    const record = list[place];
    if (record === undefined) return 0;
    list[place] = {
      id: record.id,
      vector: given.vector ?? record.vector,
      sparse: given.sparse ?? record.sparse,
      metadata: changedMetadata(record.metadata, change),
      data: change.data ?? record.data,
    };
    this.#namespaces.set(namespace, list);
    return 1;
  }

  fetch(namespace: string, selection: Selection, include: Include): readonly (RecordView | undefined)[] {
    const list = this.recordsOf(namespace);
    if (selection.kind === "prefix") {
      const found = list.filter(({ id }) => id.startsWith(selection.prefix));
      return found.slice(0, PREFIX_FETCH_MAX).map((record) => viewOf(record, include));
    }
    return selection.ids.map((wanted) => {
      const record = list.find(({ id }) => id === wanted);
      return record === undefined ? undefined : viewOf(record, include);
    });
  }

  delete(namespace: string, selection: DeleteSelection): number {
    const filter = selection.kind === "filter" ? readFilter(selection.filter) : undefined;
    const list = this.recordsOf(namespace);
    const left = list.filter((record) => {
      if (selection.kind === "ids") return !selection.ids.includes(record.id);
      if (selection.kind === "prefix") return !record.id.startsWith(selection.prefix);
      return filter?.(record) === false;
    });
    if (this.#namespaces.has(namespace)) this.#namespaces.set(namespace, left);
    return list.length - left.length;
  }

  range(namespace: string, { cursor, limit, prefix, include }: RangeRequest): RangePage {
    const list = this.recordsOf(namespace);
    const vectors: RecordView[] = [];
    // It returns only offsets, so it receives no other cursors.
    let next = Number(cursor);
    for (; next < list.length && vectors.length < limit; next += 1) {
      const record = list[next];
      if (record?.id.startsWith(prefix)) vectors.push(viewOf(record, include));
    }
    const hasMore = list.slice(next).some(({ id }) => id.startsWith(prefix));
    return { nextCursor: hasMore ? String(next) : "", vectors };
  }

  /** The first one, which is as good as any. */
  random(namespace: string): RecordView | undefined {
    const [record] = this.recordsOf(namespace);
    return record === undefined ? undefined : viewOf(record, { metadata: false, vectors: true, data: false });
  }

  query(namespace: string, queries: readonly VectorQuery[]): readonly (readonly ScoredView[])[] {
    const read = queries.map((query) => this.#read(query));
    return read.map((query) => this.#answer(namespace, query));
  }

  queryData(namespace: string, queries: readonly TextQuery[]): readonly (readonly ScoredView[])[] {
    const read = queries.map((query) => this.#readText(query));
    return read.map((query) => this.#answer(namespace, query));
  }

  #read(query: VectorQuery): PlainQuery {
    const read = { ...query, vector: numbersOf(query.vector), sparse: sparseOf(query.sparseVector) };
    this.#check(read, { dimension: this.#dimension, mayLackPart: true });
    readFilter(query.filter);
    return read;
  }

  #readText({ data, mode, ...options }: TextQuery): PlainQuery {
    const { vector, sparse } = this.#embedded(data);
    readFilter(options.filter);
    const isHybrid = this.#options.definition.type === "HYBRID";
    return {
      ...options,
      vector: isHybrid && mode === "SPARSE" ? undefined : vector,
      sparse: isHybrid && mode === "DENSE" ? undefined : sparse,
    };
  }

  #answer(namespace: string, query: PlainQuery): readonly ScoredView[] {
    return this.ranking(namespace, query, {
      count: query.topK,
      candidates: Math.max(query.topK, CANDIDATES_MIN),
      without: new Set(),
    }).map(({ item, score }) => ({ ...viewOf(item, query.include), score }));
  }

  /**
   * The best `count` records with their scores. In a dense and sparse query each part gives its first `candidates`;
   * `without`: ids left out before anything is ranked.
   */
  ranking(
    namespace: string,
    query: PlainQuery,
    {
      count,
      candidates,
      without,
    }: { readonly count: number; readonly candidates: number; readonly without: ReadonlySet<string> },
  ): readonly Ranked<PlainRecord>[] {
    // A query may have been held since before the index had a dimension.
    if (query.vector !== undefined) this.#checkDimension(query.vector, this.#dimension);
    const list = this.recordsOf(namespace);
    const passes = readFilter(query.filter);
    const asked = list.filter((record) => !without.has(record.id) && passes(record));
    const dense = query.vector === undefined ? undefined : this.#rankDense(asked, query.vector);
    const sparse = query.sparse === undefined ? undefined : rankSparse(asked, this.#weighted(list, query));
    if (dense !== undefined && sparse !== undefined) {
      const lists = [dense.slice(0, candidates), sparse.slice(0, candidates)];
      return fuse(query.fusion, lists, (record) => list.indexOf(record)).slice(0, count);
    }
    return (dense ?? sparse ?? []).slice(0, count);
  }

  #rankDense(records: readonly PlainRecord[], query: readonly number[]): readonly Ranked<PlainRecord>[] {
    const { definition, sums } = this.#options;
    const { similarity } = definition;
    const ranked = records.map((record) => ({
      item: record,
      score: denseRank(similarity, sums, { query, vector: record.vector ?? [] }),
    }));
    return bestFirst(ranked).map(({ item, score }) => ({ item, score: denseScore(similarity, score) }));
  }

  #weighted(list: readonly PlainRecord[], { sparse = [], weighting }: PlainQuery): SparseList {
    if (weighting === undefined) return sparse;
    return weightByRarity(
      sparse,
      list.map((record) => record.sparse ?? []),
    );
  }

  resumableQuery(namespace: string, query: VectorQuery, maxIdleSeconds: number): ResumableStart {
    return this.#hold(namespace, this.#read(query), maxIdleSeconds);
  }

  resumableQueryData(namespace: string, query: TextQuery, maxIdleSeconds: number): ResumableStart {
    return this.#hold(namespace, this.#readText(query), maxIdleSeconds);
  }

  #hold(namespace: string, query: PlainQuery, maxIdleSeconds: number): ResumableStart {
    this.#heldCount += 1;
    const uuid = `held-${this.#heldCount}`;
    const held = { namespace, query, maxIdleMs: maxIdleSeconds * SECOND_MS, returned: new Set<string>(), usedAtMs: 0 };
    return { uuid, scores: this.#goOn(uuid, held, query.topK) };
  }

  resumableQueryNext(uuid: string, additionalK: number): readonly ScoredView[] {
    return this.#goOn(uuid, this.#findHeld(uuid), additionalK);
  }

  /** Each part gives exactly as many candidates as wanted, all of them not yet returned. */
  #goOn(uuid: string, held: HeldQuery, count: number): readonly ScoredView[] {
    const { namespace, query, returned } = held;
    const ranked = this.ranking(namespace, query, { count, candidates: count, without: returned });
    this.#held.set(uuid, {
      ...held,
      returned: new Set([...returned, ...ranked.map(({ item }) => item.id)]),
      usedAtMs: this.#options.clock.monotonicMs(),
    });
    return ranked.map(({ item, score }) => ({ ...viewOf(item, query.include), score }));
  }

  resumableQueryEnd(uuid: string): void {
    this.#findHeld(uuid);
    this.#held.delete(uuid);
  }

  #findHeld(uuid: string): HeldQuery {
    const held = this.#held.get(uuid);
    if (held === undefined || this.#options.clock.monotonicMs() - held.usedAtMs > held.maxIdleMs)
      throw new Refusal("not found", "");
    return held;
  }

  info(): IndexInfo {
    const namespaces = [...this.#namespaces].map(([name, records]) => {
      return { name, vectorCount: records.length, pendingVectorCount: 0 };
    });
    const vectorCount = namespaces.reduce((sum, namespace) => sum + namespace.vectorCount, 0);
    return { vectorCount, pendingVectorCount: 0, indexSize: 0, definition: this.definition, namespaces };
  }

  reset(namespace: string): void {
    if (this.#namespaces.has(namespace)) this.#namespaces.set(namespace, []);
  }

  resetAll(): void {
    for (const name of this.#namespaces.keys()) this.reset(name);
  }

  namespaceNames(): readonly string[] {
    return [...this.#namespaces.keys()];
  }

  deleteNamespace(namespace: string): void {
    if (namespace === "") {
      throw new Refusal("unprocessable", 'The default namespace, which is the empty string "", cannot be deleted.');
    }
    if (!this.#namespaces.delete(namespace))
      throw new Refusal("not found", `Namespace ${namespace} for the index ${this.name} does not exist`);
  }

  renameNamespace(namespace: string, change: { readonly newName: string; readonly deletesExisting: boolean }): boolean {
    const { newName, deletesExisting } = change;
    if (namespace === "" || newName === "") throw new Refusal("unprocessable", "");
    const records = this.#namespaces.get(namespace);
    if (records === undefined) return false;
    if (this.#namespaces.has(newName) && !deletesExisting) throw new Refusal("conflict", "");
    this.#namespaces.delete(namespace);
    this.#namespaces.set(newName, records);
    return true;
  }

  whenSafe(): undefined {
    return undefined;
  }
}

function numbersOf(vector: NewRecord["vector"]): readonly number[] | undefined {
  if (vector === undefined) return undefined;
  // A loop takes a twentieth of the time of a spread, and every vector of a large program comes here.
  const numbers: number[] = [];
  for (let i = 0; i < vector.length; i += 1) numbers.push(vector[i] ?? 0);
  return numbers;
}

function sparseOf(vector: NewRecord["sparseVector"]): SparseList | undefined {
  if (vector === undefined) return undefined;
  return [...vector.indices].map((index, i) => ({ index, value: vector.values[i] ?? 0 }));
}

function changedMetadata(kept: string | undefined, { metadata, metadataUpdateMode }: RecordChange): string | undefined {
  if (metadata === undefined) return kept;
  if (metadataUpdateMode === "OVERWRITE") return metadata;
  return jsonOf(mergePatch(kept === undefined ? undefined : treeOf(kept), treeOf(metadata)));
}

function readFilter(text: string): (record: PlainRecord) => boolean {
  try {
    const filter = compileFilter(text);
    return ({ metadata }) => filter.matches(metadata === undefined ? undefined : parseMetadata(metadata));
  } catch {
    throw new Refusal("unprocessable", "");
  }
}

function rankSparse(records: readonly PlainRecord[], query: SparseList): readonly Ranked<PlainRecord>[] {
  return bestFirst(
    records.flatMap((record) => {
      const score = sparseScore(query, record.sparse ?? []);
      return score === undefined ? [] : [{ item: record, score }];
    }),
  );
}

/** Equal scores stay in their order, which is that of insertion. */
function bestFirst(ranked: readonly Ranked<PlainRecord>[]): readonly Ranked<PlainRecord>[] {
  return ranked.toSorted((one, other) => other.score - one.score);
}

function viewOf(record: PlainRecord, include: Include): RecordView {
  const { id, vector, sparse, metadata, data } = record;
  const view: { -readonly [Part in keyof RecordView]: RecordView[Part] } = { id };
  if (include.vectors && vector !== undefined) view.vector = Float32Array.from(vector);
  if (include.vectors && sparse !== undefined) {
    view.sparseVector = {
      indices: Int32Array.from(sparse, ({ index }) => index),
      values: Float32Array.from(sparse, ({ value }) => value),
    };
  }
  if (include.metadata && metadata !== undefined) view.metadata = metadata;
  if (include.data && data !== undefined) view.data = data;
  return view;
}
