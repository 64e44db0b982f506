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
  #scan: SparseScan;
  readonly #newScan: () => SparseScan;

  constructor(
    { sparse, table }: Namespace,
    { query, weighting }: { readonly query: SparseVector; readonly weighting: Weighting },
    { count, spareCount, match, excluded }: CandidateRequest,
  ) {
    this.#newScan = () =>
      new SparseScan(sparse, {
        query,
        weighting,
        count: count + spareCount,
        order: (record) => table.order.placeOf(record),
        excluded,
        ...(match !== undefined && { matches: match.matches }),
      });
    this.#scan = this.#newScan();
  }

  step(): boolean {
    return this.#scan.step(POSTINGS_WORK);
  }

  get isOutdated(): boolean {
    return this.#scan.isOutdated;
  }

  /** Begins again, with the weights of the next step. */
  restart(): void {
    this.#scan = this.#newScan();
  }

  hits(): readonly RankedRecord[] {
    return this.#scan.hits().map(({ record, score }) => ({ record, score, rank: score }));
  }

  scoreNow(record: number): RankedRecord | undefined {
    const score = this.#scan.scoreNow(record);
    return score === undefined ? undefined : { record, score, rank: score };
  }
}
