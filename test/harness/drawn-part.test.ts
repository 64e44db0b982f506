import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../src/kernel/random.ts";
import { drawnPart } from "./drawn-part.ts";

const rows = ["a", "b", "c", "d", "e", "f", "g"];

test("npm test has a third of the rows in their order, and every row in some run", () => {
  const seen = new Set<string>();
  for (let seed = 1; seed <= 50; seed += 1) {
    const part = drawnPart(rows, { oneIn: 3, random: seededRandom(seed), drawsLess: true });
    assert.equal(part.length, 3);
    assert.deepEqual(part, part.toSorted());
    for (const row of part) seen.add(row);
  }
  assert.deepEqual([...seen].toSorted(), rows);
});

test("the same seed has the same rows, a table of one row keeps it, and an empty table stays empty", () => {
  const part = (given: readonly string[]): string[] =>
    drawnPart(given, { oneIn: 3, random: seededRandom(7), drawsLess: true });
  assert.deepEqual(part(rows), part(rows));
  assert.deepEqual(part(["a"]), ["a"]);
  assert.deepEqual(part([]), []);
});

test("the other sizes have all rows", () => {
  assert.deepEqual(drawnPart(rows, { oneIn: 3, random: seededRandom(1), drawsLess: false }), rows);
});
