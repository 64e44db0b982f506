import assert from "node:assert/strict";
import { test } from "node:test";
import { addIntegers } from "./integer-sum.ts";

test("sums are exact, numbers where that is safe, bigints beyond, undefined beyond 64 bits", () => {
  const cases: [number | bigint, number | bigint, number | bigint | undefined][] = [
    [1, 2, 3],
    [-1, 1, 0],
    [9007199254740991, 0, 9007199254740991],
    [9007199254740991, 1, 9007199254740992n],
    [9007199254740991, 9007199254740991, 18014398509481982n],
    [-9007199254740991, -1, -9007199254740992n],
    [9007199254740992n, -1, 9007199254740991],
    [9223372036854775806n, 1, 9223372036854775807n],
    [9223372036854775807n, 1, undefined],
    [-9223372036854775808n, 0, -9223372036854775808n],
    [-9223372036854775808n, -1, undefined],
    [9223372036854775807n, -9223372036854775808n, -1],
  ];
  for (const [left, right, sum] of cases) assert.equal(addIntegers(left, right), sum, `${left} + ${right}`);
});
