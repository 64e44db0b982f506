/** The table of lengths against the groups of the specification. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { codeOfLength, lengthOfCode } from "./lengths.ts";

test("lengths are exact up to 40, then of eight steps for each size", () => {
  assert.deepEqual([...lengthOfCode.subarray(0, 5)], [0, 1, 2, 3, 4]);
  assert.deepEqual([...lengthOfCode.subarray(40, 49)], [40, 42, 44, 46, 48, 50, 52, 54, 56]);
  assert.deepEqual([...lengthOfCode.subarray(49, 57)], [60, 64, 68, 72, 76, 80, 84, 88]);
  assert.deepEqual([...lengthOfCode.subarray(57, 65)], [96, 104, 112, 120, 128, 136, 144, 152]);
  assert.deepEqual([...lengthOfCode.subarray(65, 73)], [168, 184, 200, 216, 232, 248, 264, 280]);
  assert.deepEqual([...lengthOfCode.subarray(73, 81)], [312, 344, 376, 408, 440, 472, 504, 536]);
  assert.deepEqual([...lengthOfCode.subarray(81, 90)], [600, 664, 728, 792, 856, 920, 984, 1048, 1176]);
  assert.equal(lengthOfCode[255], 2_013_265_944);
});

test("a length is rounded down to the table", () => {
  const rounded: readonly (readonly [length: number, stored: number])[] = [
    [0, 0],
    [1, 1],
    [40, 40],
    [41, 40],
    [42, 42],
    [55, 54],
    [56, 56],
    [59, 56],
    [60, 60],
    [95, 88],
    [96, 96],
    [167, 152],
    [1_175, 1_048],
    [1_176, 1_176],
    [2_013_265_943, 1_879_048_216],
    [2_013_265_944, 2_013_265_944],
    [2_147_483_647, 2_013_265_944],
  ];
  for (const [length, stored] of rounded) assert.equal(lengthOfCode[codeOfLength(length)], stored, `${length}`);
  for (let length = 0, code = 0; length < 100_000; length += 1) {
    if (length === lengthOfCode[code + 1]) code += 1;
    if (codeOfLength(length) !== code) assert.fail(`${length}: ${codeOfLength(length)}`);
  }
});
