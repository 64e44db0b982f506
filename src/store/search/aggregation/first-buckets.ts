/** The first buckets of many in order, in slices. */
import { FirstPlaces } from "../../structures/first-places.ts";
import type { InSlices } from "../slices.ts";
import { inChunks } from "./columns.ts";
import type { Run } from "./plan.ts";

/** To compare two buckets in a heap, in steps of two each. */
const COMPARISONS = 10;

interface Places {
  readonly count: number;
  /** The most that are wanted. */
  readonly size: number;
  readonly compare: (one: number, other: number) => number;
}

/** The places 0 … count-1 that sort first, in order; equal ones in the order of their places. */
export function* firstBuckets({ spend }: Pick<Run, "spend">, { count, size, compare }: Places): InSlices<number[]> {
  const spendAll = (steps: number): boolean => spend(COMPARISONS * steps);
  const first = new FirstPlaces(count, size, compare);
  yield* inChunks(count, spendAll, (start, end) => first.offer(start, end));
  const places: number[] = new Array<number>(first.count).fill(0);
  yield* inChunks(places.length, spendAll, (start, end) => {
    for (let taken = start; taken < end; taken += 1) places[places.length - 1 - taken] = first.takeLast();
  });
  return places;
}
