/** Cells keep their values while they grow, and no document pays for the growth of all. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { GrowingCells } from "./growing-cells.ts";

test("no new document copies more than five cells, and none is lost or comes back", () => {
  const cells = new GrowingCells(Float64Array);
  const expected: number[] = [];
  const arrays = new Set<Float64Array>();
  for (let document = 0; document < 20_000; document += 1) {
    const { moves } = cells;
    cells.add(document, document + 0.5);
    assert.ok(cells.moves - moves <= 5, `document ${document}`);
    expected.push(document + 0.5);
    arrays.add(cells.array);
    if (document % 3 > 0) continue;
    const removed = (document * 7) % (document + 1);
    cells.set(removed, -1);
    cells.set(document >> 1, -2);
    expected[removed] = -1;
    expected[document >> 1] = -2;
    if (document % 512 === 0) assert.deepEqual([...cells.array.subarray(0, document + 1)], expected);
  }
  assert.deepEqual([...cells.array.subarray(0, 20_000)], expected);
  assert.equal(arrays.size, 12);
  assert.equal(cells.array.length, 32_768);
  assert.equal(cells.memoryBytes, 8 * 32_768);
});
