/** The limits of a request and of an index (B.limits). Each is a setting of the vector area. */

export interface VectorLimits {
  /** Hits of a query; also records of a page of a range and of a fetch by prefix. */
  readonly topKMax: number;
  /** The largest effort of a walk: of a query that sets it, and of the index for its recall target. */
  readonly effortMax: number;
  /** The share of the nearest records that queries of an index without its own target should find. */
  readonly recallTarget: number;
  /** Queries in one request, ids in one fetch. */
  readonly readsPerRequestMax: number;
  /** Records in one upsert, ids in one delete. */
  readonly writesPerRequestMax: number;
  readonly dimensionMax: number;
  /** The size of a record's metadata as compact JSON, in UTF-8. */
  readonly metadataBytesMax: number;
  /** The size of a record's data, in UTF-8. */
  readonly dataBytesMax: number;
  /** Values of one sparse vector. */
  readonly sparseValuesMax: number;
  /** In UTF-8. */
  readonly idBytesMax: number;
  readonly namespaceBytesMax: number;
  readonly namespacesMax: number;
  /** Resumable queries of one index at the same time. */
  readonly resumableQueriesMax: number;
  /** For each index and UTC day; 0 for no limit. */
  readonly queriesPerDayMax: number;
  readonly updatesPerDayMax: number;
  /** Of one request. */
  readonly requestBytesMax: number;
  /** Of the records of one answer. */
  readonly answerBytesMax: number;
}

const KB = 1024;
const MB = 1024 * KB;

export const defaultVectorLimits: VectorLimits = {
  topKMax: 1_000,
  effortMax: 4_000,
  recallTarget: 0.99,
  readsPerRequestMax: 1_000,
  writesPerRequestMax: 1_000,
  dimensionMax: 5_376,
  metadataBytesMax: 48 * KB,
  dataBytesMax: MB,
  sparseValuesMax: 1_000,
  idBytesMax: 512,
  namespaceBytesMax: 256,
  namespacesMax: 100_000,
  resumableQueriesMax: 1_000,
  queriesPerDayMax: 0,
  updatesPerDayMax: 0,
  requestBytesMax: 64 * MB,
  answerBytesMax: 64 * MB,
};

/** The default and the maximum of a resumable query's idle time, in seconds. */
export const RESUMABLE_IDLE_SECONDS = 3_600;
export const RESUMABLE_IDLE_SECONDS_MAX = 86_400;

/** The default of topK. */
export const TOP_K = 10;

/** The depth of nested objects and arrays in metadata. */
export const METADATA_DEPTH_MAX = 64;
