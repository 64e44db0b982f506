/** What the processes of subjects and the bench say to each other, and what a subject has to be able to do. */
import type { DataSet } from "./data-set.ts";

export interface Search {
  readonly query: Float32Array;
  readonly count: number;
  /** Candidates that a walk over the graph holds on to; undefined: as it comes. */
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
  /** Resolves when searches are as fast as they get. */
  finish(): Promise<void>;
  search(search: Search): Hits | Promise<Hits>;
  /** False: another effort would change nothing. Known once it is built. */
  readonly isAdjustable: boolean;
  /** What it says that it holds. */
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
  /** The hits of the first so many queries. */
  | { readonly kind: "hits"; readonly point: Point; readonly queryCount: number }
  /** One search after the other, as many as there is time for. */
  | { readonly kind: "time"; readonly point: Point; readonly seconds: number };

/** How a subject is asked. */
export interface Point {
  readonly effort: number | undefined;
  /** 1: everything passes. */
  readonly modulus: number;
}

export interface BuildFacts {
  /** From the first row until searches are as fast as they get. */
  readonly buildMs: number;
  /** More resident memory than before, for each row. */
  readonly residentBytes: number;
  readonly ownBytes: number | undefined;
  readonly isAdjustable: boolean;
}

export interface Times {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface Answers {
  readonly build: BuildFacts;
  readonly hits: readonly Hits[];
  readonly time: Times;
}
