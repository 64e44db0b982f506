import assert from "node:assert/strict";
import { test } from "node:test";
import { UnderWay } from "./under-way.ts";

test("requests are found by their numbers until they end, also when many have begun since", () => {
  const table = new UnderWay<{ readonly number: number }>();
  const slow = { number: 5 };
  table.add(slow);
  for (let number = 6; number <= 5_000; number += 1) {
    table.add({ number });
    assert.equal(table.find(number)?.number, number);
    table.delete(number);
    assert.equal(table.find(number), undefined);
  }
  assert.equal(table.find(5), slow);
  // It shares its place with the first one.
  table.add({ number: 5 + 5 * 1_024 });
  assert.deepEqual([table.find(5), table.size], [slow, 2]);
  table.delete(5);
  table.delete(5);
  assert.deepEqual([table.find(5), table.find(5_125)?.number, table.size], [undefined, 5_125, 1]);
  table.delete(4);
  assert.equal(table.size, 1);
});

test("all requests are listed, those with and without a place of their own", () => {
  const table = new UnderWay<{ readonly number: number }>();
  for (const number of [1, 2, 1_025, 2_049]) table.add({ number });
  assert.deepEqual(
    table
      .values()
      .map(({ number }) => number)
      .sort((a, b) => a - b),
    [1, 2, 1_025, 2_049],
  );
  table.clear();
  assert.deepEqual([table.values(), table.size, table.find(1)], [[], 0, undefined]);
});
