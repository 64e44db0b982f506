/**
 * How often a document has a phrase. Positions are "aligned": the number of the
 * word in the phrase is subtracted, so that words that are adjacent and in order
 * have equal positions.
 *
 * With slop, words may move by positions, in both directions; one budget is for
 * the moves of all words. Two swapped neighbours cost 2, because the aligned
 * position of the first one is 2 above that of the second one. As in the engine
 * of the service, two equal words of a phrase may be one word of the document.
 */

/** The aligned positions of a word of the phrase: rising, the first `count` of the array. */
export interface AlignedPositions {
  positions: Float64Array;
  count: number;
}

/** The number of positions that all words have. At least one word. */
export function countExact(words: readonly AlignedPositions[]): number {
  const [first, ...others] = words as [AlignedPositions, ...AlignedPositions[]];
  const at = others.map(() => 0);
  let count = 0;
  for (let i = 0; i < first.count; i += 1) {
    const position = first.positions[i] as number;
    let isInAll = true;
    for (let w = 0; w < others.length && isInAll; w += 1) {
      const { positions, count: length } = others[w] as AlignedPositions;
      let from = at[w] as number;
      while (from < length && (positions[from] as number) < position) from += 1;
      at[w] = from;
      isInAll = from < length && positions[from] === position;
    }
    if (isInAll) count += 1;
  }
  return count;
}

/** The number of positions of the first word from which the phrase can be made by moves of at most `slop` in sum. */
export function countSloppy(words: readonly AlignedPositions[], slop: number): number {
  const [first, ...others] = words as [AlignedPositions, ...AlignedPositions[]];
  // The cheapest place to meet is the median of the chosen positions, so it is the position of some word.
  const places = placesOf(words);
  const costs = new Float64Array(places.length);
  for (const word of others) addDistances(costs, places, word);
  spread(costs, places);
  let count = 0;
  let place = 0;
  for (let i = 0; i < first.count; i += 1) {
    while ((places[place] as number) < (first.positions[i] as number)) place += 1;
    if ((costs[place] as number) <= slop) count += 1;
  }
  return count;
}

/** All positions, sorted. */
function placesOf(words: readonly AlignedPositions[]): Float64Array {
  const places = new Float64Array(words.reduce((sum, { count }) => sum + count, 0));
  let length = 0;
  for (const { positions, count } of words) {
    places.set(positions.subarray(0, count), length);
    length += count;
  }
  return places.sort();
}

/** Adds to the cost of each place the distance of the nearest position of the word, which has at least one. */
function addDistances(costs: Float64Array, places: Float64Array, { positions, count }: AlignedPositions): void {
  let nearest = 0;
  for (let p = 0; p < places.length; p += 1) {
    const place = places[p] as number;
    while (nearest + 1 < count && distance(positions[nearest + 1], place) <= distance(positions[nearest], place))
      nearest += 1;
    costs[p] = (costs[p] as number) + distance(positions[nearest], place);
  }
}

/** Makes the cost of each place the smallest of going to any place and paying its cost. */
function spread(costs: Float64Array, places: Float64Array): void {
  for (let p = 1; p < places.length; p += 1)
    relax(costs, p, (costs[p - 1] as number) + distance(places[p], places[p - 1]));
  for (let p = places.length - 2; p >= 0; p -= 1)
    relax(costs, p, (costs[p + 1] as number) + distance(places[p], places[p + 1]));
}

function relax(costs: Float64Array, at: number, cost: number): void {
  if (cost < (costs[at] as number)) costs[at] = cost;
}

function distance(one: number | undefined, other: number | undefined): number {
  return Math.abs((one as number) - (other as number));
}
