/**
 * The public interface of the vector index for rooms that do not run it: types,
 * limits, failures and models. It loads no WebAssembly, so routes, settings and
 * the documents of other areas can import it.
 *
 * Threads that run the index have two other modules: `index/mod.ts` for the
 * thread with the indexes, and `graph/mod.ts` for the one that builds graphs.
 */
export type {
  Counts,
  DeleteSelection,
  Effort,
  Eventually,
  IndexApi,
  IndexInfo,
  RangePage,
  RangeRequest,
  ResumableStart,
  Selection,
  TextQuery,
  VectorApi,
  VectorQuery,
} from "./api.ts";
export type { DenseEmbedder, TextRole } from "./embedding/embedder.ts";
export { type Embedders, STAND_IN_DIMENSION } from "./embedding/embedders.ts";
export { HashingEmbedder } from "./embedding/hashing-embedder.ts";
export { findDenseModel, findSparseModel, sparseModels } from "./embedding/models.ts";
export { VectorFailure, type VectorFailureKind } from "./failure.ts";
export {
  DIMENSION_MAX,
  hasDense,
  hasSparse,
  type IndexDefinition,
  indexTypes,
  type RowPlacement,
  rowPlacements,
  similarities,
} from "./index/definition.ts";
export { parseRangeCursor, type RangeCursor } from "./index/range-cursor.ts";
export type {
  Include,
  NewRecord,
  NewText,
  RecordChange,
  RecordView,
  ScoredView,
  SparseVector,
} from "./index/record.ts";
export {
  defaultVectorLimits,
  METADATA_DEPTH_MAX,
  RESUMABLE_IDLE_SECONDS,
  RESUMABLE_IDLE_SECONDS_MAX,
  TOP_K,
  type VectorLimits,
} from "./limits.ts";
export type { IndexRecall } from "./recall/index-recall.ts";
export { filterKinds, topKRanges } from "./recall/query-classes.ts";
