/** Random samples of distinct indexes. */
import type { Random } from "../../kernel/random.ts";

/**
 * `count` distinct numbers in 0 … size - 1, or all of them in order if `count` is not smaller; each such set is equally
 * likely. Work and memory grow with `count`, not with `size`.
 */
export function samplePlaces(size: number, count: number, random: Random): readonly number[] {
  if (count >= size) return Array.from({ length: size }, (_, place) => place);
  // A shuffle (Fisher and Yates) that stores only the changed positions.
  const moved = new Map<number, number>();
  const places: number[] = [];
  for (let i = 0; i < count; i += 1) {
    const drawn = i + random.below(size - i);
    places.push(moved.get(drawn) ?? drawn);
    moved.set(drawn, moved.get(i) ?? i);
  }
  return places;
}
