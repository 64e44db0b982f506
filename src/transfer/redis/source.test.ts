/** How many values one request asks for. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { dumpsOfNextCall } from "./source.ts";

const MEGABYTE = 1_048_576;

const rows: readonly (readonly [what: string, last: number, lengths: readonly number[], next: number])[] = [
  ["short values", 20, Array(20).fill(100), 80],
  ["short values, later", 80, Array(80).fill(100), 320],
  ["short values, at the most", 320, Array(320).fill(100), 500],
  ["values of a kilobyte", 500, Array(500).fill(1_024), 256],
  ["values of ten megabytes", 500, [10 * MEGABYTE, 10 * MEGABYTE], 1],
  ["one large value among short ones", 500, [MEGABYTE, ...Array(499).fill(10)], 124],
  ["keys that no longer exist", 20, [], 20],
  ["documents, which are read one by one", 20, [0, 0], 80],
];

test("asks for few large values and for many short ones", () => {
  for (const [what, last, lengths, next] of rows) assert.equal(dumpsOfNextCall(last, lengths), next, what);
});
