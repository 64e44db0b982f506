/** The answer of `/info` (B3). */

import { type Counts, hasDense, hasSparse, type IndexInfo, type IndexRecall } from "../../vector/mod.ts";

/** Values of missing parts are empty; only the objects of the two parts can be absent. */
export function infoView({
  definition,
  indexSize,
  namespaces,
  recall,
  rows,
  ...counts
}: IndexInfo): Readonly<Record<string, unknown>> {
  const { type, similarity, denseModel, sparseModel } = definition;
  const isDense = hasDense(definition);
  // The first vector may set the dimension; it is 0 until then.
  const dimension = isDense ? (definition.dimension ?? 0) : 0;
  const similarityFunction = isDense ? similarity : "";
  return {
    ...countsView(counts),
    indexSize,
    dimension,
    similarityFunction,
    indexType: type,
    ...(isDense && { denseIndex: { dimension, similarityFunction, embeddingModel: denseModel ?? "" } }),
    ...(recall !== undefined && { recall: recallView(recall) }),
    ...(rows !== undefined && { rows }),
    ...(hasSparse(definition) && { sparseIndex: { embeddingModel: sparseModel ?? "" } }),
    // Callers choose the names: `fromEntries` adds any name as a member, also `__proto__` (threats A-11).
    namespaces: Object.fromEntries(namespaces.map(({ name, ...counted }) => [name, countsView(counted)])),
  };
}

/** Shares have so many decimal places. */
const SHARE_PLACES = 4;

function recallView({ target, measured }: IndexRecall): Readonly<Record<string, unknown>> {
  return {
    target,
    measured: measured.map(({ namespace, topK, filter, ...report }) => ({
      namespace,
      topK,
      filter,
      recall: Number(report.recall.toFixed(SHARE_PLACES)),
      lowerBound: Number(report.lowerBound.toFixed(SHARE_PLACES)),
      recordCount: report.recordCount,
      queryCount: report.queryCount,
      effort: report.effort,
      scanShare: Number(report.scanShare.toFixed(SHARE_PLACES)),
      targetReached: report.isReached,
    })),
  };
}

function countsView({ vectorCount, pendingVectorCount }: Counts): Counts {
  return { vectorCount, pendingVectorCount };
}
