/** The vectors that a map shows: all of a namespace, or a sample that is spread over it. */
import { callIndex, infoOf, type VectorRecord } from "../api.ts";
import { sampleMax, sampleRuns } from "./sample-runs.ts";

const PAGE = 100;

export interface Sample {
  readonly records: readonly VectorRecord[];
  readonly vectors: readonly (readonly number[])[];
  /** All records of the namespace. */
  readonly recordCount: number;
  /** The runs of the sample; 0: it has all records. */
  readonly runCount: number;
}

/** Records without a dense vector are left out. */
export async function loadSample(index: string, namespace: string, signal: AbortSignal): Promise<Sample> {
  const { namespaces, dimension } = await infoOf(index, signal);
  const recordCount = namespaces[namespace]?.vectorCount ?? 0;
  const page = (cursor: string, limit: number): Promise<RangePage> =>
    callIndex(index, "range", { namespace, json: { cursor, limit, includeVectors: true }, signal });
  // Records that are deleted meanwhile move a run back into the one before.
  const byId = new Map<string, VectorRecord>();
  const add = ({ vectors }: RangePage): void => {
    for (const record of vectors) byId.set(record.id, record);
  };
  const isPart = recordCount > sampleMax(dimension);
  const runs = isPart ? sampleRuns(recordCount, dimension) : [];
  for (const { offset, count } of runs) add(await page(`${offset}`, count));
  for (let cursor = isPart ? "" : "0"; cursor !== "" && byId.size < sampleMax(dimension); ) {
    const next = await page(cursor, PAGE);
    add(next);
    cursor = next.nextCursor;
  }
  const records = [...byId.values()].filter(({ vector }) => vector !== undefined);
  return {
    records,
    vectors: records.flatMap(({ vector }) => (vector === undefined ? [] : [vector])),
    recordCount,
    runCount: runs.length,
  };
}

interface RangePage {
  readonly nextCursor: string;
  readonly vectors: readonly VectorRecord[];
}
