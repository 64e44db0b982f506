/**
 * The interface of an index: everything that may be asked of an index. A call
 * decides at once and refuses with a `VectorFailure`; only what embeds text or
 * searches long answers later. An answer may be sent once `whenSafe` says that
 * all it saw is as safe as the setting promises.
 */
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

/** Now, or later. */
export type Eventually<Value> = Value | Promise<Value>;

export type Weighting = "IDF" | undefined;
export type Fusion = "RRF" | "DBSF";
export type QueryMode = "HYBRID" | "DENSE" | "SPARSE";

export interface QueryOptions {
  readonly topK: number;
  readonly include: Include;
  /** Empty: every record passes. */
  readonly filter: string;
  readonly weighting: Weighting;
  readonly fusion: Fusion;
}

export interface VectorQuery extends QueryOptions {
  readonly vector?: Float32Array | undefined;
  readonly sparseVector?: SparseVector | undefined;
}

export interface TextQuery extends QueryOptions {
  readonly data: string;
  /** Which parts of a HYBRID index are asked. */
  readonly mode: QueryMode;
}

export type Selection =
  | { readonly kind: "ids"; readonly ids: readonly string[] }
  | { readonly kind: "prefix"; readonly prefix: string };

export type DeleteSelection = Selection | { readonly kind: "filter"; readonly filter: string };

export interface RangeRequest {
  /** Where the page begins in insertion order; 0 is the start. */
  readonly cursor: RangeCursor;
  readonly limit: number;
  /** Empty: every id. */
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
  /** How many records were changed: 0 or 1. */
  update(namespace: string, change: RecordChange): Eventually<number>;
  fetch(namespace: string, selection: Selection, include: Include): readonly (RecordView | undefined)[];
  /** How many records are gone. */
  delete(namespace: string, selection: DeleteSelection): Eventually<number>;
  range(namespace: string, request: RangeRequest): RangePage;
  /** Undefined: there is none. */
  random(namespace: string): RecordView | undefined;
  /** One list for each query. */
  query(namespace: string, queries: readonly VectorQuery[]): Eventually<readonly (readonly ScoredView[])[]>;
  queryData(namespace: string, queries: readonly TextQuery[]): Eventually<readonly (readonly ScoredView[])[]>;
  resumableQuery(namespace: string, query: VectorQuery, maxIdleSeconds: number): Eventually<ResumableStart>;
  resumableQueryData(namespace: string, query: TextQuery, maxIdleSeconds: number): Eventually<ResumableStart>;
  resumableQueryNext(uuid: string, additionalK: number): Eventually<readonly ScoredView[]>;
  resumableQueryEnd(uuid: string): void;
  info(): IndexInfo;
  /** Empties a namespace and keeps it. */
  reset(namespace: string): void;
  resetAll(): void;
  /** The default namespace `""` first. */
  namespaceNames(): readonly string[];
  deleteNamespace(namespace: string): void;
  /** False: there is no such namespace. */
  renameNamespace(namespace: string, change: { readonly newName: string; readonly deletesExisting: boolean }): boolean;

  /** Undefined when everything that was seen so far is safe already. */
  whenSafe(): Promise<void> | undefined;
}

/** All indexes of the area, by name. */
export interface VectorApi {
  index(name: string): IndexApi | undefined;
}
