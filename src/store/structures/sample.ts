/** Drawing several different places out of many. */
import type { Random } from "../../kernel/random.ts";

/**
 * `count` different numbers in 0 … size - 1, or all of them in order when there are no more; each such set is equally
 * likely. Work and memory grow with `count`, not with `size`.
 */
export function samplePlaces(size: number, count: number, random: Random): readonly number[] {
  if (count >= size) return Array.from({ length: size }, (_, place) => place);
  // A shuffle (Fisher and Yates) of which only the changed places are kept.
  const moved = new Map<number, number>();
  const places: number[] = [];
  for (let i = 0; i < count; i += 1) {
    const drawn = i + random.below(size - i);
    places.push(moved.get(drawn) ?? drawn);
    moved.set(drawn, moved.get(i) ?? i);
  }
  return places;
}
