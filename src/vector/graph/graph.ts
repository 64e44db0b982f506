/**
 * The approximate graph of one namespace, as the engine sees it: a small world
 * graph (HNSW, Malkov and Yashunin 2016) over codes of one byte per dimension.
 * It finds candidates; whoever asks scores them again from the float32 rows.
 *
 * (1) A record is either pending or in the graph. Pending records are not found
 *     by `search`: the engine scans them exactly, so nothing is ever missing.
 * (2) `search` returns no record that was removed, or whose row changed after
 *     it went into the graph and was inserted again.
 * (3) Distances are approximate and only compared with each other; smaller is
 *     more similar, whatever the similarity.
 */
import type { Similarity } from "../index/definition.ts";

export interface GraphOptions {
  readonly dimension: number;
  readonly similarity: Similarity;
  /**
   * The row that a record has now. Only asked for records inserted and not removed, when their turn comes: the graph
   * keeps codes only, and a backlog is not held twice. What it returns is copied at once.
   */
  read(record: number): Float32Array;
}

export interface GraphRequest {
  readonly query: Float32Array;
  /** Hits wanted. */
  readonly count: number;
  /** Passing candidates that the walk holds on to (ef): more finds more and takes longer. At least `count` is taken. */
  readonly effort: number;
  /**
   * Bit r % 32 of word r >> 5 set: record r passes. Records beyond the end do not pass. Others are walked through and
   * not returned.
   */
  readonly accepts?: Uint32Array;
  /**
   * The same `accepts` with the same stamp as before is not copied again; without a stamp it is copied for each search.
   */
  readonly acceptsStamp?: number;
  /** The walk ends after about so many distances: a filter that hardly anything passes would walk the whole graph. */
  readonly visitsMax?: number;
}

/** The arrays belong to the graph and hold until its next search. */
export interface GraphHits {
  /** Best first; `count` of them. */
  readonly records: Uint32Array;
  readonly distances: Float32Array;
  readonly count: number;
  /** Distances that were computed. */
  readonly visits: number;
  /** False: `visitsMax` or the room for candidates ended the walk, and better hits may exist. */
  readonly isComplete: boolean;
}

export interface NamespaceGraph {
  /**
   * The record has a row that the graph does not know: a new record, or a row that changed. It is pending from now on.
   * `version` is a finite number that no other vector ever written to this namespace has or had, and that is the same
   * after a restart: it is how a saved graph finds its records again.
   */
  insert(record: number, version: number): void;
  /** The record is gone, at once, also when it is pending. Its number may be inserted again at once. */
  remove(record: number): void;
  /** In no order. */
  readonly pending: Iterable<number>;
  readonly pendingCount: number;
  isPending(record: number): boolean;
  /** Records that `search` can find. */
  readonly count: number;
  /** Memory of the graph, and of the one that is being built to replace it. */
  readonly byteCount: number;
  /** Synchronous; the hits hold until the next search. */
  search(request: GraphRequest): GraphHits;
  /** Resolves when everything inserted so far is in the graph, removed again, or the graph is closed. */
  whenBuilt(): Promise<void>;
  /** The bytes of its cache file (graph-file.ts); undefined if the graph is empty or was closed meanwhile. */
  save(): Promise<Uint8Array<ArrayBuffer> | undefined>;
  /** Frees the memory; nothing may be asked afterwards. */
  close(): void;
}

/** A record and the version of its row. */
export interface RecordVersion {
  readonly record: number;
  readonly version: number;
}

export type LoadedGraph =
  | {
      readonly kind: "loaded";
      readonly graph: NamespaceGraph;
      /** Nodes of the file whose row is not what it was. The records without a node are pending. */
      readonly lostCount: number;
    }
  | { readonly kind: "refused"; readonly reason: string };

export interface GraphBuilder {
  open(options: GraphOptions): NamespaceGraph;
  /**
   * `records` are all rows that the namespace has; `read` is asked for each. A file that is not whole is refused: then
   * open a graph and insert them.
   */
  load(options: GraphOptions, bytes: Uint8Array, records: Iterable<RecordVersion>): LoadedGraph;
  /** Closes the graphs too. */
  close(): Promise<void>;
}
