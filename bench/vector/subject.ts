/** The messages between the processes of subjects and the bench, and the interface of a subject. */
import type { DataSet } from "./data-set.ts";

export interface Search {
  readonly query: Float32Array;
  readonly count: number;
  /** Candidates of a walk over the graph; undefined: the default. */
  readonly effort: number | undefined;
  /** Only rows with this remainder pass. */
  readonly passing?: { readonly modulus: number; readonly remainder: number };
}

/** Numbers of rows, best first. */
export type Hits = readonly number[];

/** An index in this process. */
export interface OpenSubject {
  /** The rows are overwritten afterwards. */
  add(first: number, rows: Float32Array): void | Promise<void>;
  /** Resolves when searches have reached their full speed. */
  finish(): Promise<void>;
  search(search: Search): Hits | Promise<Hits>;
  /** False: another effort would change nothing. Known once it is built. */
  readonly isAdjustable: boolean;
  /** The bytes that it reports. */
  ownBytes(): number | undefined;
}

export type OpenSet = Pick<DataSet, "dimension" | "similarity" | "rowCount"> & {
  /** Empty, on disk, for subjects that need one. */
  readonly scratch: string;
  /** Whether searches will filter. */
  readonly isFiltered: boolean;
};

export type Open = (set: OpenSet) => OpenSubject | Promise<OpenSubject>;

export type Order =
  | { readonly kind: "build" }
  /** The hits of the first `queryCount` queries. */
  | { readonly kind: "hits"; readonly point: Point; readonly queryCount: number }
  /** One search after the other, for this time. */
  | { readonly kind: "time"; readonly point: Point; readonly seconds: number };

/** The parameters of a search. */
export interface Point {
  readonly effort: number | undefined;
  /** 1: everything passes. */
  readonly modulus: number;
  /** Wanted hits; undefined: HIT_COUNT. */
  readonly topK?: number;
}

export interface BuildFacts {
  /** From the first row until searches have reached their full speed. */
  readonly buildMs: number;
  /** The growth of resident memory, for each row. */
  readonly residentBytes: number;
  readonly ownBytes: number | undefined;
  readonly isAdjustable: boolean;
}

export interface Times {
  readonly perSecond: number;
  /** Processor time of the process for each search, which other processes influence less. */
  readonly cpuUs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface Answers {
  readonly build: BuildFacts;
  readonly hits: readonly Hits[];
  readonly time: Times;
}
