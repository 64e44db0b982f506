/** Candidates by a sparse vector: exact, over the inverted lists of the namespace. */
import type { Weighting } from "../api.ts";
import type { Namespace } from "../index/namespace.ts";
import type { SparseVector } from "../index/record.ts";
import { SparseScan } from "../sparse/sparse-scan.ts";
import type { CandidateRequest } from "./namespace-search.ts";
import type { CandidateSearch, RankedRecord } from "./scored.ts";

/** About a millisecond. bench/vector.bench.ts */
const POSTINGS_WORK = 200_000;

export class SparseSearch implements CandidateSearch {
  readonly isScan = true;
  readonly #scan: SparseScan;

  constructor(
    { sparse, table }: Namespace,
    { query, weighting }: { readonly query: SparseVector; readonly weighting: Weighting },
    { count, spareCount, match, excluded }: CandidateRequest,
  ) {
    this.#scan = new SparseScan(sparse, {
      query,
      weighting,
      count: count + spareCount,
      order: (record) => table.order.placeOf(record),
      excluded,
      ...(match !== undefined && { matches: match.matches }),
    });
  }

  step(): boolean {
    return this.#scan.step(POSTINGS_WORK);
  }

  hits(): readonly RankedRecord[] {
    return this.#scan.hits().map(({ record, score }) => ({ record, score, rank: score }));
  }

  scoreNow(record: number): RankedRecord | undefined {
    const score = this.#scan.scoreNow(record);
    return score === undefined ? undefined : { record, score, rank: score };
  }
}
