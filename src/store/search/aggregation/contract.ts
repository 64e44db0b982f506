/** What commands need of aggregations. */
import type { Bytes } from "../../../kernel/bytes.ts";
import type { Reply } from "../../reply/reply.ts";
import type { IndexDefinition } from "../definition.ts";
import type { IndexReader, Spend } from "../index/index-reader.ts";
import type { InSlices } from "../slices.ts";

/** Aggregations that were read, and fit their index. */
export interface Aggregations {
  readonly aliases: readonly Bytes[];
}

/** Throws a `CommandError` that names the alias, operator or field. */
export type ParseAggregations = (text: Bytes, definition: IndexDefinition) => Aggregations;

/** The reply of SEARCH.AGGREGATE over these documents, which rise. */
export type Aggregate = (
  index: IndexReader,
  documents: Uint32Array,
  options: { readonly aggregations: Aggregations; readonly spend: Spend },
) => InSlices<Reply>;
