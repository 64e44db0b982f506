import assert from "node:assert/strict";
import { test } from "node:test";
import { SLOT_KEYS_MAX, tiePlaces } from "./tie-order.ts";

/** The keys in the order of their places. */
function ordered(keys: readonly (number | bigint)[]): (number | bigint)[] {
  const sorted: (number | bigint)[] = [];
  tiePlaces(keys).forEach((place, at) => {
    sorted[place] = keys[at] as number | bigint;
  });
  return sorted;
}

const multiples = (count: number): number[] => Array.from({ length: count }, (_, at) => 3 * at + 1);

test("keys are read from the slots of a table whose size fits their number", () => {
  const table: readonly [(number | bigint)[], (number | bigint)[]][] = [
    [[], []],
    [[7], [7]],
    [
      [10, 20, 30],
      [20, 30, 10],
    ],
    [
      [1, 2, 3, 4, 5],
      [5, 2, 1, 3, 4],
    ],
    [
      [0, 1, 2, 3, 4, 5, 6],
      [5, 2, 0, 1, 3, 4, 6],
    ],
    [
      [0, 1, 2, 3, 4, 5, 6, 7],
      [5, 3, 1, 7, 6, 2, 0, 4],
    ],
    [multiples(14), [7, 28, 1, 22, 16, 37, 10, 31, 4, 25, 19, 40, 13, 34]],
    [multiples(15), [28, 1, 43, 16, 31, 4, 19, 34, 7, 22, 37, 10, 25, 40, 13]],
    [
      [-1, -2, -3, 1, 2, 3],
      [-2, -3, 1, 2, 3, -1],
    ],
    [
      [9007199254740993n, 18446744073709551615n, 5],
      [5, 9007199254740993n, 18446744073709551615n],
    ],
  ];
  for (const [keys, expected] of table) assert.deepEqual(ordered(keys), expected);
});

test("keys that are not whole keep their order", () => {
  assert.deepEqual(ordered([2.5, 0.5, 1.5]), [2.5, 0.5, 1.5]);
  assert.deepEqual(ordered([1e300, 0.5]), [1e300, 0.5]);
});

test("many keys take time in proportion to their number, and too many keep their order", () => {
  // All fractions begin at slot 0, so a search of the next free slot would take quadratic time.
  const keys = Array.from({ length: SLOT_KEYS_MAX }, (_, at) => (at === 0 ? 1 : at + 0.5));
  assert.deepEqual(
    ordered(keys).toSorted((one, other) => Number(one) - Number(other)),
    keys,
  );
  const more = multiples(SLOT_KEYS_MAX + 1);
  assert.deepEqual(ordered(more), more);
});
