/** What an index tells of itself, as `/info` answers it (B3). */

import { type Counts, hasDense, hasSparse, type IndexInfo } from "../../vector/mod.ts";

/** Where a part is not there the value is empty, never absent, but for the two objects of the index's parts. */
export function infoView({
  definition,
  indexSize,
  namespaces,
  ...counts
}: IndexInfo): Readonly<Record<string, unknown>> {
  const { type, similarity, denseModel, sparseModel } = definition;
  const isDense = hasDense(definition);
  // A dimension that the first vector will fix is 0 until then.
  const dimension = isDense ? (definition.dimension ?? 0) : 0;
  const similarityFunction = isDense ? similarity : "";
  return {
    ...countsView(counts),
    indexSize,
    dimension,
    similarityFunction,
    indexType: type,
    ...(isDense && { denseIndex: { dimension, similarityFunction, embeddingModel: denseModel ?? "" } }),
    ...(hasSparse(definition) && { sparseIndex: { embeddingModel: sparseModel ?? "" } }),
    // Names are the callers': `fromEntries` makes a member of every one, also of `__proto__` (threats A-11).
    namespaces: Object.fromEntries(namespaces.map(({ name, ...counted }) => [name, countsView(counted)])),
  };
}

function countsView({ vectorCount, pendingVectorCount }: Counts): Counts {
  return { vectorCount, pendingVectorCount };
}
