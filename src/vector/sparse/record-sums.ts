/**
 * The sums of a running search: a float32 sum for each record number, and marks
 * for the records that have one. They are reused between searches, so that a
 * search does not allocate them.
 *
 * The loop does not check whether a record already has a sum: that unpredictable
 * branch cost three times as much as the sum. Marks are only written, and read
 * once at the end; the marks of blocks show where reading is worthwhile.
 *
 * (1) Between searches every sum and mark is 0.
 * (2) A record has a sum exactly if it is marked, and then its block is marked.
 */

/** The number of sums that are reused, and their largest size: 5 bytes for each record number. */
const SPARE_COUNT_MAX = 2;
const SPARE_LENGTH_MAX = 4 * 1024 * 1024;
const LENGTH_MIN = 1024;
const BLOCK_BITS = 8;
/** The record numbers of a block. */
export const BLOCK_LENGTH = 1 << BLOCK_BITS;

export class RecordSums {
  readonly sums: Float32Array;
  /** 1 if the record has a sum. */
  readonly marks: Uint8Array;
  /** 1 if any record of the block has a sum. */
  readonly blocks: Uint8Array;

  /** `length` is a multiple of BLOCK_LENGTH. */
  constructor(length: number) {
    this.sums = new Float32Array(length);
    this.marks = new Uint8Array(length);
    this.blocks = new Uint8Array(length >>> BLOCK_BITS);
  }

  /** Record numbers below this have room for a sum. */
  get length(): number {
    return this.sums.length;
  }

  /**
   * Adds weight · value to the sums of a range of postings, each step rounded to float32. The records ascend; higher
   * ones than the sums have room for were added during the search and are skipped.
   */
  add(
    { records, values }: { readonly records: Uint32Array; readonly values: Float32Array },
    { start, end, weight }: { readonly start: number; readonly end: number; readonly weight: number },
  ): void {
    const { sums, marks, blocks } = this;
    const { length } = sums;
    for (let i = start; i < end; i += 1) {
      const record = records[i] as number;
      if (record >= length) break;
      // The sum of two float32 in double, rounded again, is their float32 sum.
      sums[record] = (sums[record] as number) + Math.fround(weight * (values[i] as number));
      marks[record] = 1; // keeps (2)
      blocks[record >>> BLOCK_BITS] = 1;
    }
  }

  /** keeps (1) */
  reset(): void {
    const { sums, marks, blocks } = this;
    for (let block = 0; block < blocks.length; block += 1) {
      if (blocks[block] === 0) continue;
      const start = block << BLOCK_BITS;
      sums.fill(0, start, start + BLOCK_LENGTH);
      marks.fill(0, start, start + BLOCK_LENGTH);
    }
    blocks.fill(0);
  }
}

const spare: RecordSums[] = [];

/** Sums for record numbers below `recordEnd`, all 0. Return them, or leave them to the garbage collector. */
export function takeSums(recordEnd: number): RecordSums {
  const place = spare.findIndex(({ length }) => length >= recordEnd);
  const [sums] = place < 0 ? [] : spare.splice(place, 1);
  return sums ?? new RecordSums(Math.max(LENGTH_MIN, 2 ** Math.ceil(Math.log2(recordEnd))));
}

/** Returns sums, which must not be used any more. */
export function giveBackSums(sums: RecordSums): void {
  if (sums.length > SPARE_LENGTH_MAX) return;
  sums.reset();
  spare.push(sums);
  if (spare.length > SPARE_COUNT_MAX) {
    // The largest sums fit every search.
    spare.sort((a, b) => b.length - a.length);
    spare.length = SPARE_COUNT_MAX;
  }
}
