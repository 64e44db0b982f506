/** What commands need of queries. */
import type { Bytes } from "../../../kernel/bytes.ts";
import type { IndexDefinition } from "../definition.ts";
import type { IndexReader, Spend } from "../index/index-reader.ts";
import type { InSlices } from "../slices.ts";

/** A filter that was read, and fits its index. */
export interface Filter {
  /** The terms that HIGHLIGHT marks, by the number of the field. */
  readonly highlighted: ReadonlyMap<number, ReadonlySet<Bytes>>;
}

/** Throws a `CommandError` that names the field or operator. */
export type ParseFilter = (text: Bytes, definition: IndexDefinition) => Filter;

/** How hits are ordered and scored. */
export interface Ranking {
  readonly orderBy: { readonly field: number; readonly isAscending: boolean } | undefined;
  readonly scoreFunction: ScoreFunction | undefined;
}

export type Modifier = "NONE" | "LOG" | "LOG1P" | "LOG2P" | "LN" | "LN1P" | "LN2P" | "SQUARE" | "SQRT" | "RECIPROCAL";

export interface ScoreFunction {
  readonly fields: readonly {
    readonly field: number;
    readonly modifier: Modifier;
    readonly factor: number;
    readonly missing: number;
  }[];
  readonly scoreMode: "SUM" | "MULTIPLY" | "REPLACE";
  readonly combineMode: "SUM" | "MULTIPLY";
}

export interface Hit {
  readonly document: number;
  /** As it is printed: a double, or the value of the field that orders. */
  readonly score: Bytes;
}

/** The hits from `offset` on, at most `limit`, best first. */
export type FindHits = (
  index: IndexReader,
  filter: Filter,
  options: { readonly ranking: Ranking; readonly offset: number; readonly limit: number; readonly spend: Spend },
) => InSlices<readonly Hit[]>;

/** The number of matching documents. Computes no score. */
export type CountMatches = (index: IndexReader, filter: Filter, spend: Spend) => InSlices<number>;

/** All matching documents in rising order. Computes no score. */
export type MatchingDocuments = (index: IndexReader, filter: Filter, spend: Spend) => InSlices<Uint32Array>;
