/**
 * The interface of a namespace's approximate graph: a small world graph (HNSW,
 * Malkov and Yashunin 2016) over codes of one byte per dimension. It finds
 * candidates; the caller scores them again from the float32 rows.
 *
 * (1) A record is either pending or in the graph. `search` does not find pending
 *     records: the engine scans them exactly, so no record is missed.
 * (2) `search` returns no removed record, and no record whose row changed after
 *     it was added to the graph and that was inserted again.
 * (3) Distances are estimates, by codes: of the squared distance for EUCLIDEAN, of
 *     the negative cosine for COSINE, of the negative product for DOT_PRODUCT.
 *     Smaller is more similar. The hits of several graphs for one query can be
 *     merged.
 */
import type { Eventually } from "../eventually.ts";
import type { Similarity } from "../index/definition.ts";
import type { GraphKernel } from "./graph-kernel.ts";

interface GraphShape {
  readonly dimension: number;
  readonly similarity: Similarity;
  /** It is one of several of its namespace: `load` leaves records alone that its file does not have. */
  readonly isPart?: boolean;
}

/**
 * How the graph reads the current rows of records. Called only for records that are inserted and not removed, when their
 * turn comes: the graph stores only codes, and a backlog is not held twice.
 */
export type GraphOptions = GraphShape &
  (
    | {
        /** The result is copied at once. */
        read(record: number): Float32Array;
        readonly readLater?: undefined;
      }
    | {
        readonly read?: undefined;
        /** For rows in files: resolves with the rows as they were at the call. A fault is reported by the reader. */
        readLater(records: readonly number[]): Promise<readonly (Float32Array | undefined)[]>;
      }
  );

export interface GraphRequest {
  readonly query: Float32Array;
  /** The number of hits. */
  readonly count: number;
  /** The passing candidates that the walk holds (ef): more find more and take longer. At least `count` is used. */
  readonly effort: number;
  /**
   * Record r passes if bit r % 32 of word r >> 5 is set. Records beyond the end do not pass. The walk goes through the
   * other records, but does not return them.
   */
  readonly accepts?: Uint32Array;
  /**
   * The same `accepts` with an unchanged stamp is not copied again; without a stamp it is copied for each search.
   */
  readonly acceptsStamp?: number;
  /** The walk ends after about this many distances: with a very selective filter it would walk the whole graph. */
  readonly visitsMax?: number;
}

/** The arrays belong to the graph and are valid until its next search. */
export interface GraphHits {
  /** Best first; `count` of them. */
  readonly records: Uint32Array;
  readonly distances: Float32Array;
  readonly count: number;
  /** The number of computed distances. */
  readonly visits: number;
  /** False if `visitsMax` or the room for candidates ended the walk, so that better hits may exist. */
  readonly isComplete: boolean;
}

export interface NamespaceGraph {
  /**
   * Adds a record with a new or changed row, which is then pending. `version` is a finite number, unique among all
   * vectors ever written to this namespace and the same after a restart: a saved graph finds its records by it.
   */
  insert(record: number, version: number): void;
  /** Removes a record at once, even if it is pending. Its number may be inserted again at once. */
  remove(record: number): void;
  /** Pending records, in no order. */
  readonly pending: Iterable<number>;
  readonly pendingCount: number;
  isPending(record: number): boolean;
  /** The number of records that `search` can find. */
  readonly count: number;
  /** The memory of the graph and of the one that is being built to replace it. */
  readonly byteCount: number;
  /** Synchronous; the hits are valid until the next search. */
  search(request: GraphRequest): GraphHits;
  /** The graph that `search` walks now, which other threads may walk too; undefined without a graph. */
  readonly kernel?: GraphKernel | undefined;
  /** The share of the records in the graph that `search` misses by their own vectors, as the last checks found it. */
  readonly missedShare: number;
  /** Whether `maintain` has something to do. */
  readonly wantsMaintenance: boolean;
  /**
   * Lets the builder check and repair a portion of the graph, about 10 ms. Resolves with the milliseconds of processor
   * time of another thread that it took.
   */
  maintain(): Promise<number>;
  /** Resolves when everything inserted so far is in the graph or removed again, or the graph is closed. */
  whenBuilt(): Promise<void>;
  /** The bytes of its cache file (graph-file.ts); undefined if the graph is empty or was closed meanwhile. */
  save(): Promise<Uint8Array<ArrayBuffer> | undefined>;
  /** Frees the memory; no call may follow. */
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
      /** Nodes of the file whose row has changed. The records without a node are pending, except for a part. */
      readonly lostCount: number;
      /** The records of its nodes. */
      readonly records: Uint32Array;
    }
  | { readonly kind: "refused"; readonly reason: string };

export interface GraphBuilder {
  open(options: GraphOptions): NamespaceGraph;
  /**
   * `records` are rows of the namespace, which do not change until the graph is there; those in the file are read. A
   * damaged file is refused: then open a graph and insert the records. A promise only if rows are read later.
   */
  load(options: GraphOptions, bytes: Uint8Array, records: Iterable<RecordVersion>): Eventually<LoadedGraph>;
  /** Closes the graphs too. */
  close(): Promise<void>;
}
