import assert from "node:assert/strict";
import { test } from "node:test";
import { effortAt, topLevelOf } from "./effort.ts";
import { classOf, kindOf, rangeOf, unfilteredOf } from "./query-classes.ts";

test("a class is a range of topK and a kind of filter", () => {
  const rows: [topK: number, share: number | undefined, range: string, kind: string][] = [
    [1, undefined, "1-10", "none"],
    [10, 1, "1-10", "50-100%"],
    [11, 0.5, "11-100", "50-100%"],
    [100, 0.49, "11-100", "10-50%"],
    [101, 0.1, "101-1000", "10-50%"],
    [1_000, 0.09, "101-1000", "0-10%"],
    [1_001, 0, "over 1000", "0-10%"],
  ];
  for (const [topK, share, range, kind] of rows) {
    const number = classOf(topK, share);
    assert.deepEqual([rangeOf(number).name, kindOf(number).name], [range, kind]);
    assert.deepEqual([rangeOf(unfilteredOf(number)).name, kindOf(unfilteredOf(number)).name], [range, "none"]);
  }
});

test("an effort doubles every two levels, has room for the hits, and is bounded", () => {
  const rows: [level: number, wanted: number, effortMax: number, effort: number][] = [
    [0, 10, 4_000, 80],
    [2, 10, 4_000, 160],
    [3, 10, 4_000, 227],
    [4, 10, 4_000, 320],
    [4, 100, 4_000, 320],
    [0, 100, 4_000, 100],
    [2, 1_000, 4_000, 1_500],
    [4, 1_000, 4_000, 3_000],
    [12, 10, 4_000, 4_000],
    [4, 10, 100, 100],
    [6, 1_000, 100, 1_500],
  ];
  for (const [level, wanted, effortMax, effort] of rows)
    assert.equal(effortAt(level, wanted, effortMax), effort, `level ${level}, ${wanted} hits, at most ${effortMax}`);
});

test("the top level has the largest effort, and the one below has not", () => {
  for (const effortMax of [100, 160, 320, 4_000, 100_000]) {
    const top = topLevelOf(effortMax);
    assert.equal(effortAt(top, 10, effortMax), effortMax);
    if (top > 0) assert.ok(effortAt(top - 1, 10, effortMax) < effortMax, `${effortMax}`);
  }
});
