/** Sorts numbers in slices: runs of them are sorted as they are, and merged in pairs. */
import type { InSlices, Spend } from "../../slices.ts";

/** The length of a run, which is sorted in one piece, and of what is merged between two calls of `spend`. */
const RUN_VALUES = 8_192;
/** Comparisons in a run, and in a merge, in steps for each value. */
const SORT_STEPS = 6;
const MERGE_STEPS = 1;

/** Sorts in place, in rising order. `runLength` is for tests. */
export function* sortValues(values: Float64Array, spend: Spend, runLength = RUN_VALUES): InSlices<void> {
  const { length } = values;
  for (let start = 0; start < length; start += runLength) {
    const run = values.subarray(start, start + runLength);
    if (spend(SORT_STEPS * run.length)) yield;
    run.sort();
  }
  if (length <= runLength) return;
  let from: Float64Array = values;
  let to: Float64Array = new Float64Array(length);
  for (let width = runLength; width < length; width *= 2) {
    for (let start = 0; start < length; start += 2 * width)
      yield* merge({ from, to, start, middle: Math.min(start + width, length), end: start + 2 * width }, spend);
    [from, to] = [to, from];
  }
  if (from !== values) values.set(from);
}

interface Merge {
  readonly from: Float64Array;
  readonly to: Float64Array;
  readonly start: number;
  readonly middle: number;
  readonly end: number;
}

function* merge({ from, to, start, middle, end }: Merge, spend: Spend): InSlices<void> {
  const last = Math.min(end, from.length);
  let left = start;
  let right = middle;
  for (let at = start; at < last; at += 1) {
    if ((at - start) % RUN_VALUES === 0 && spend(MERGE_STEPS * RUN_VALUES)) yield;
    const isLeft = left < middle && (right >= last || (from[left] as number) <= (from[right] as number));
    to[at] = from[isLeft ? left : right] as number;
    if (isLeft) left += 1;
    else right += 1;
  }
}
