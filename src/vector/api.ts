/**
 * The interface of an index. Calls are synchronous and throw a `VectorFailure`;
 * only embedding, long searches, and vectors that are read from files return
 * promises. An answer may be sent when `whenSafe` has resolved: then everything the
 * call saw is as safe as the setting promises.
 */
import type { Eventually } from "./eventually.ts";
import type { IndexDefinition } from "./index/definition.ts";
import type { RangeCursor } from "./index/range-cursor.ts";
import type {
  Include,
  NewRecord,
  NewText,
  RecordChange,
  RecordView,
  ScoredView,
  SparseVector,
} from "./index/record.ts";
import type { IndexRecall } from "./recall/index-recall.ts";

export type { Eventually };

export type Weighting = "IDF" | undefined;
export type Fusion = "RRF" | "DBSF";
export type QueryMode = "HYBRID" | "DENSE" | "SPARSE";

/**
 * How a dense vector is searched: `exact` ranks every record that passes, a number is the effort of the walk through
 * the graph (the candidates that it holds). If undefined, the index chooses the effort that reaches its recall target.
 */
export type Effort = number | "exact" | undefined;

export interface QueryOptions {
  readonly topK: number;
  readonly include: Include;
  /** Every record passes if empty. */
  readonly filter: string;
  readonly weighting: Weighting;
  readonly fusion: Fusion;
  readonly effort?: Effort;
}

export interface VectorQuery extends QueryOptions {
  readonly vector?: Float32Array | undefined;
  readonly sparseVector?: SparseVector | undefined;
}

export interface TextQuery extends QueryOptions {
  readonly data: string;
  /** The parts of a HYBRID index to search. */
  readonly mode: QueryMode;
}

export type Selection =
  | { readonly kind: "ids"; readonly ids: readonly string[] }
  | { readonly kind: "prefix"; readonly prefix: string };

export type DeleteSelection = Selection | { readonly kind: "filter"; readonly filter: string };

export interface RangeRequest {
  /** The start of the page in insertion order; 0 is the first record. */
  readonly cursor: RangeCursor;
  readonly limit: number;
  /** Every id matches if empty. */
  readonly prefix: string;
  readonly include: Include;
}

export interface RangePage {
  /** Empty at the end. */
  readonly nextCursor: string;
  readonly vectors: readonly RecordView[];
}

export interface Counts {
  readonly vectorCount: number;
  readonly pendingVectorCount: number;
}

export interface IndexInfo extends Counts {
  readonly indexSize: number;
  readonly definition: IndexDefinition;
  readonly namespaces: readonly (Counts & { readonly name: string })[];
  /** Absent while no namespace has a graph: then every search is exact. */
  readonly recall?: IndexRecall;
  /** Absent if its dense vectors are in memory. */
  readonly rows?: "disk";
}

export interface ResumableStart {
  readonly uuid: string;
  readonly scores: readonly ScoredView[];
}

export interface IndexApi {
  readonly name: string;
  readonly definition: IndexDefinition;

  upsert(namespace: string, records: readonly NewRecord[]): void;
  upsertData(namespace: string, records: readonly NewText[]): Eventually<void>;
  /** Returns how many records were changed: 0 or 1. */
  update(namespace: string, change: RecordChange): Eventually<number>;
  fetch(namespace: string, selection: Selection, include: Include): Eventually<readonly (RecordView | undefined)[]>;
  /** Returns how many records were deleted. */
  delete(namespace: string, selection: DeleteSelection): Eventually<number>;
  range(namespace: string, request: RangeRequest): Eventually<RangePage>;
  /** Undefined for ids that do not exist. */
  random(namespace: string): Eventually<RecordView | undefined>;
  /** One list for each query. */
  query(namespace: string, queries: readonly VectorQuery[]): Eventually<readonly (readonly ScoredView[])[]>;
  queryData(namespace: string, queries: readonly TextQuery[]): Eventually<readonly (readonly ScoredView[])[]>;
  resumableQuery(namespace: string, query: VectorQuery, maxIdleSeconds: number): Eventually<ResumableStart>;
  resumableQueryData(namespace: string, query: TextQuery, maxIdleSeconds: number): Eventually<ResumableStart>;
  resumableQueryNext(uuid: string, additionalK: number): Eventually<readonly ScoredView[]>;
  resumableQueryEnd(uuid: string): void;
  info(): IndexInfo;
  /** Removes all records of a namespace, but not the namespace. */
  reset(namespace: string): void;
  resetAll(): void;
  /** The default namespace `""` first. */
  namespaceNames(): readonly string[];
  deleteNamespace(namespace: string): void;
  /** Returns false if the namespace does not exist. */
  renameNamespace(namespace: string, change: { readonly newName: string; readonly deletesExisting: boolean }): boolean;

  /** Undefined if everything seen so far is already safe. */
  whenSafe(): Promise<void> | undefined;
}

/** All indexes of the area, by name. */
export interface VectorApi {
  index(name: string): IndexApi | undefined;
}
