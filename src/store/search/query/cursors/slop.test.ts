import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../../../kernel/random.ts";
import { occurrences } from "../brute-force.virtual.ts";
import { type AlignedPositions, countExact, countSloppy } from "./slop.ts";

/** With room to spare, as the arrays of a cursor have. */
function aligned(places: readonly number[]): AlignedPositions {
  const positions = new Float64Array(places.length + 3).fill(-99);
  positions.set(places);
  return { positions, count: places.length };
}

/** Where the words of a phrase are in a text, less their number in the phrase. */
function placesOf(phrase: string, text: string): number[][] {
  const words = text.split(" ");
  return phrase
    .split(" ")
    .map((word, shift) => words.flatMap((candidate, position) => (candidate === word ? [position - shift] : [])));
}

const examples: [phrase: string, text: string, slop: number, count: number][] = [
  ["a b", "a b", 0, 1],
  ["a b", "a b a b c a b", 0, 3],
  ["a b", "b a", 1, 0],
  ["a b", "b a", 2, 1],
  ["a b", "a x b", 0, 0],
  ["a b", "a x b", 1, 1],
  ["a b c", "a x b x c", 1, 0],
  ["a b c", "a x b x c", 2, 1],
  ["a b c", "c b a", 3, 0],
  ["a b c", "c b a", 4, 1],
  ["a b c", "b a c", 2, 1],
  // The budget is for all words together: each of the two moves by 1.
  ["a b c d", "a x b c x d", 1, 0],
  ["a b c d", "a x b c x d", 2, 1],
  ["a a", "a", 0, 0],
  ["a a", "a a a", 0, 2],
  // One word of the text may be two equal words of the phrase.
  ["a a", "a", 1, 1],
];

test("a phrase occurs where the moves of its words fit the slop", () => {
  for (const [phrase, text, slop, count] of examples) {
    const words = placesOf(phrase, text).map(aligned);
    assert.equal(countSloppy(words, slop), count, `${phrase} in ${text}, slop ${slop}`);
    if (slop === 0) assert.equal(countExact(words), count, `${phrase} in ${text}`);
  }
});

test("occurrences of a phrase are those of an exhaustive search, in texts of three words", () => {
  const random = seededRandom(7);
  const textOf = (length: number): string =>
    Array.from({ length }, () => ["a", "b", "c"][random.below(3)] as string).join(" ");
  for (let round = 0; round < 600; round += 1) {
    const phrase = textOf(1 + random.below(4));
    const text = textOf(1 + random.below(10));
    const slop = random.below(6);
    const places = placesOf(phrase, text);
    const message = `${phrase} in ${text}, slop ${slop}`;
    if (places.every(({ length }) => length > 0))
      assert.equal(countSloppy(places.map(aligned), slop), occurrences(places, slop), message);
    assert.equal(countExact(places.map(aligned)), occurrences(places, 0), message);
  }
});
