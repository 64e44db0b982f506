import assert from "node:assert/strict";
import { test } from "node:test";
import { RecallTally } from "./recall-tally.ts";

/** `found` of `count` queries for one hit each. */
function ofSingles(found: number, count: number): RecallTally {
  const tally = new RecallTally();
  for (let i = 0; i < count; i += 1) tally.add(i < found ? 1 : 0, 1);
  return tally;
}

test("the bounds of independent hits are those of Wilson's interval", () => {
  // Newcombe, "Two-sided confidence intervals for the single proportion", 1998, table I, method 3.
  const rows: [found: number, count: number, lower: number, upper: number][] = [
    [81, 263, 0.2553, 0.3662],
    [15, 148, 0.0624, 0.1605],
    [0, 20, 0, 0.1611],
    [1, 29, 0.0061, 0.1718],
  ];
  for (const [found, count, lower, upper] of rows) {
    const tally = ofSingles(found, count);
    assert.equal(Number(tally.lowerBound.toFixed(4)), lower, `${found} of ${count}`);
    assert.equal(Number(tally.upperBound.toFixed(4)), upper, `${found} of ${count}`);
  }
});

test("hits that are missed together count as fewer trials", () => {
  const spread = new RecallTally();
  const together = new RecallTally();
  for (let i = 0; i < 100; i += 1) {
    spread.add(9, 10);
    together.add(i < 90 ? 10 : 0, 10);
  }
  assert.equal(spread.recall, 0.9);
  assert.equal(together.recall, 0.9);
  assert.equal(Number(spread.lowerBound.toFixed(4)), 0.8798);
  // As 90 of 100 single hits.
  assert.equal(Number(together.lowerBound.toFixed(4)), 0.8256);
});

test("an empty sample says nothing", () => {
  const tally = new RecallTally();
  assert.deepEqual([tally.recall, tally.lowerBound, tally.upperBound], [1, 0, 1]);
});

test("two samples together are the sample of both", () => {
  const sum = ofSingles(3, 4).plus(ofSingles(1, 4));
  assert.deepEqual([sum.queryCount, sum.recall], [8, 0.5]);
});
