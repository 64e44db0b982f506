import assert from "node:assert/strict";
import { test } from "node:test";
import { parseRangeCursor, printRangeCursor, type RangeCursor } from "./range-cursor.ts";

test("B1: a cursor is an offset in digits, or a place after a mark that no number has", () => {
  const rows: [string, RangeCursor | undefined][] = [
    ["", 0],
    ["0", 0],
    ["12", 12],
    ["p1.0.12", { index: 1, namespace: 0, place: 12 }],
    ["p3.25.0", { index: 3, namespace: 25, place: 0 }],
    ["p", undefined],
    ["p1.0", undefined],
    ["p1.0.-1", undefined],
    ["p1.0.1.5", undefined],
    ["p1.0.9999999999999999", undefined],
    ["-1", undefined],
    ["1e2", undefined],
    ["1.0.12", undefined],
    ["x", undefined],
  ];
  for (const [text, cursor] of rows) assert.deepEqual(parseRangeCursor(text), cursor, text);
  assert.equal(printRangeCursor({ index: 1, namespace: 0, place: 12 }), "p1.0.12");
});
