/**
 * How aggregations are computed: whole columns at a time, for all buckets of the level above at once.
 *
 * A `Group` is a list of pairs of a document and its owner, which is the bucket that it is in; at the top all documents have
 * the single owner 0. An operator turns a group into the results of all its owners. One that makes buckets numbers them,
 * and passes its pairs of documents and buckets on to its sub-aggregations as their group.
 */
import type { Bytes } from "../../../kernel/bytes.ts";
import { map, type Reply } from "../../reply/reply.ts";
import type { SearchField } from "../definition.ts";
import type { IndexReader, Spend } from "../index/index-reader.ts";
import type { InSlices } from "../slices.ts";

/** Buckets of one answer, those of all levels together. */
export const BUCKETS_MAX = 65_000;

/** A level of documents. A document can be there several times, with different owners. */
export interface Group {
  readonly documents: Uint32Array;
  /** The owner of each document; undefined: all have owner 0. */
  readonly owners: Uint32Array | undefined;
  /** Owners are below it. */
  readonly ownerCount: number;
  /** The owner that no document has, and whose results empty buckets show; undefined at the top. */
  readonly emptyOwner: number | undefined;
}

/** Members of a result in order. */
export type Members = readonly (readonly [Bytes, Reply])[];

/** A value that `order` of `$terms` compares. */
export type Metric = number | bigint | null;

/** The results of one aggregation for all owners of its group: numbers, or buckets. */
export type Outcome = ValueOutcome | BucketOutcome;

export interface ValueOutcome {
  /** The members of the result. */
  readonly membersOf: (owner: number) => Members;
  /** One of the row's `metrics`. Operators without metrics have no such function. */
  readonly metricOf?: (owner: number, name: Bytes) => Metric;
}

export interface BucketOutcome {
  /** The members of the result, which may be thousands with those of the sub-aggregations. */
  readonly bucketsOf: (owner: number) => InSlices<Members>;
  readonly metricOf?: never;
}

/** The value of a result. A generator only where the result has buckets: others are asked for once for each bucket. */
export function* resultOf(outcome: Outcome, owner: number): InSlices<Reply> {
  return map("bucketsOf" in outcome ? yield* outcome.bucketsOf(owner) : outcome.membersOf(owner));
}

/** What the aggregations of one command share. */
export interface Run {
  readonly index: IndexReader;
  readonly spend: Spend;
  /** Throws above the limit of buckets of one answer. */
  readonly countBuckets: (count: number) => void;
}

/** One aggregation whose parameters are read. */
export interface Plan {
  readonly run: (group: Group, run: Run) => InSlices<Outcome>;
}

/** The field of an aggregation. */
export interface PlannedField {
  readonly field: SearchField;
  /** Its place in the definition. */
  readonly number: number;
}

/** A plan with its name. */
export interface Aggregation {
  readonly alias: Bytes;
  readonly plan: Plan;
  /** The names of its metrics, for `order`. The first one is meant by the alias alone. */
  readonly metrics: readonly Bytes[];
}
