/**
 * Scores under way: a float32 sum for each record number, and marks that say
 * which records have one. Kept between searches, so a search allocates nothing
 * for them.
 *
 * Whether a record came before is not asked: that branch cost three times what
 * the sum costs, because nobody can foresee it. Marks are only written, and read
 * once at the end; those of blocks say where reading is worth it.
 *
 * (1) Between searches every sum and mark is 0.
 * (2) A record has a sum exactly when it is marked, and then so is its block.
 */

/** Sums that are kept for the next search, and up to which size: 5 bytes for each record number. */
const SPARE_COUNT_MAX = 2;
const SPARE_LENGTH_MAX = 4 * 1024 * 1024;
const LENGTH_MIN = 1024;
const BLOCK_BITS = 8;
/** Record numbers of a block. */
export const BLOCK_LENGTH = 1 << BLOCK_BITS;

export class RecordSums {
  readonly sums: Float32Array;
  /** 1: the record has a sum. */
  readonly marks: Uint8Array;
  /** 1: some record of the block has a sum. */
  readonly blocks: Uint8Array;

  /** `length` is a multiple of BLOCK_LENGTH. */
  constructor(length: number) {
    this.sums = new Float32Array(length);
    this.marks = new Uint8Array(length);
    this.blocks = new Uint8Array(length >>> BLOCK_BITS);
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
    const { sums, marks, blocks } = this;
    const { length } = sums;
    for (let i = start; i < end; i += 1) {
      const record = records[i] as number;
      if (record >= length) break;
      // The sum of two float32 in double, rounded once more, is their float32 sum.
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
