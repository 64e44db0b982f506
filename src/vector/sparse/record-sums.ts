/**
 * Scores under way: a float32 sum for each record number, and the list of those
 * that have one. Kept between searches, so a search allocates nothing for them.
 *
 * (1) Between searches every sum is 0 and no record is marked.
 * (2) A record is in the list exactly when it is marked, and once.
 */

/** Sums that are kept for the next search, and up to which size: 9 bytes for each record number. */
const SPARE_COUNT_MAX = 2;
const SPARE_LENGTH_MAX = 4 * 1024 * 1024;
const LENGTH_MIN = 1024;

export class RecordSums {
  readonly sums: Float32Array;
  /** The records with a sum, in the order in which they came; the first `recordCount` count. */
  readonly records: Uint32Array;
  recordCount = 0;
  readonly #marks: Uint8Array;

  constructor(length: number) {
    this.sums = new Float32Array(length);
    this.records = new Uint32Array(length);
    this.#marks = new Uint8Array(length);
  }

  /** Record numbers below this have a sum. */
  get length(): number {
    return this.sums.length;
  }

  /**
   * Adds weight · value to the sums of a stretch of postings, each step rounded to float32. The records ascend; those
   * that are too high came during the search and are left out.
   */
  add(
    { records, values }: { readonly records: Uint32Array; readonly values: Float32Array },
    { start, end, weight }: { readonly start: number; readonly end: number; readonly weight: number },
  ): void {
    const { sums, records: known } = this;
    const marks = this.#marks;
    const { length } = sums;
    let { recordCount } = this;
    for (let i = start; i < end; i += 1) {
      const record = records[i] as number;
      if (record >= length) break;
      if (marks[record] === 0) {
        marks[record] = 1; // keeps (2)
        known[recordCount] = record;
        recordCount += 1;
      }
      // The sum of two float32 in double, rounded once more, is their float32 sum.
      sums[record] = (sums[record] as number) + Math.fround(weight * (values[i] as number));
    }
    this.recordCount = recordCount;
  }

  /** keeps (1) */
  reset(): void {
    const { records, recordCount, sums } = this;
    const marks = this.#marks;
    for (let i = 0; i < recordCount; i += 1) {
      const record = records[i] as number;
      sums[record] = 0;
      marks[record] = 0;
    }
    this.recordCount = 0;
  }
}

const spare: RecordSums[] = [];

/** Sums for record numbers below `recordEnd`, all 0. Give them back, or leave them to the collector. */
export function takeSums(recordEnd: number): RecordSums {
  const place = spare.findIndex(({ length }) => length >= recordEnd);
  const [sums] = place < 0 ? [] : spare.splice(place, 1);
  return sums ?? new RecordSums(Math.max(LENGTH_MIN, 2 ** Math.ceil(Math.log2(recordEnd))));
}

/** Nobody may use them any more. */
export function giveBackSums(sums: RecordSums): void {
  if (sums.length > SPARE_LENGTH_MAX) return;
  sums.reset();
  spare.push(sums);
  if (spare.length > SPARE_COUNT_MAX) {
    // The largest serve everybody.
    spare.sort((a, b) => b.length - a.length);
    spare.length = SPARE_COUNT_MAX;
  }
}
