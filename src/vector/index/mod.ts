/** The entry of the thread that has the indexes: the engine, with the kernels that it searches by. */
export { type GraphThread, type GraphThreadEvents, ThreadGraphBuilder } from "../graph/graph-builder.ts";
export { GraphCache, type GraphFiles } from "../graph/graph-cache.ts";
export { RowFileSet } from "../row-files/row-file-set.ts";
export type { ReadFileNow, RowFileStorage, StoredRowFile } from "../row-files/row-file-storage.ts";
export { removeOtherRowFiles } from "../row-files/row-files.ts";
export { type SearchThread, type SearchThreadEvents, SearchThreads } from "../threads/search-threads.ts";
export { type Change, readChanges, writeChange } from "./changes.ts";
export { DefinitionMismatch, VectorEngine } from "./vector-engine.ts";
