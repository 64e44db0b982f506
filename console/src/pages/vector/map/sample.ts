/** The vectors that a map shows: the first ones of a namespace. */
import { callIndex, type VectorRecord } from "../api.ts";

/** Records of a map. */
export const SAMPLE_MAX = 1_000;
/** Numbers of a map: a long vector has 20 KB of JSON. */
const NUMBERS_MAX = 500_000;
const PAGE = 100;

export interface Sample {
  readonly records: readonly VectorRecord[];
  readonly vectors: readonly (readonly number[])[];
  /** There are more records. */
  readonly isPart: boolean;
}

/** Records without a dense vector are left out. */
export async function loadSample(index: string, namespace: string, signal: AbortSignal): Promise<Sample> {
  const records: VectorRecord[] = [];
  const vectors: (readonly number[])[] = [];
  let cursor = "0";
  let count = 0;
  let max = SAMPLE_MAX;
  while (cursor !== "" && count < max) {
    const page = await callIndex<{ nextCursor: string; vectors: readonly VectorRecord[] }>(index, "range", {
      namespace,
      json: { cursor, limit: Math.min(PAGE, max - count), includeVectors: true },
      signal,
    });
    cursor = page.nextCursor;
    count += page.vectors.length;
    for (const record of page.vectors) {
      if (record.vector === undefined) continue;
      records.push(record);
      vectors.push(record.vector);
      max = Math.min(SAMPLE_MAX, Math.max(PAGE, Math.floor(NUMBERS_MAX / record.vector.length)));
    }
  }
  return { records, vectors, isPart: cursor !== "" };
}
