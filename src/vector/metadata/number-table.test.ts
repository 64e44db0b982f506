/** Ids of numbers, compared with a Map. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../kernel/random.ts";
import { NumberTable } from "./number-table.ts";

test("finds numbers during growth and removal", () => {
  const random = seededRandom(7);
  const table = new NumberTable();
  const numbers = new Float64Array(40_000).fill(Number.NaN);
  const ids = new Map<number, number>();
  const drawn = (): number => (random.below(2) === 0 ? random.below(30_000) - 15_000 : random.below(1_000) / 1_024);
  for (let id = 1; id < numbers.length; id += 1) {
    const number = drawn();
    assert.equal(table.find(number, numbers), ids.get(number) ?? 0);
    if (!ids.has(number)) {
      numbers[id] = number;
      table.add(id, numbers);
      ids.set(number, id);
    }
    const other = drawn();
    const known = ids.get(other);
    if (random.below(4) > 0 || known === undefined) continue;
    table.remove(known, numbers);
    numbers[known] = Number.NaN;
    ids.delete(other);
  }
  assert.ok(ids.size > 10_000, `${ids.size} numbers`);
  for (const [number, id] of ids) assert.equal(table.find(number, numbers), id);
  for (const [number, id] of ids) {
    table.remove(id, numbers);
    numbers[id] = Number.NaN;
    assert.equal(table.find(number, numbers), 0);
  }
});

test("stores numbers that are not finite", () => {
  const table = new NumberTable();
  const numbers = Float64Array.of(Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0);
  for (const id of [1, 2, 3]) table.add(id, numbers);
  assert.deepEqual(
    [1, 2, 3].map((id) => table.find(numbers[id] as number, numbers)),
    [1, 2, 3],
  );
});

test("a number costs at most 11 bytes", () => {
  const table = new NumberTable();
  const count = 20_000;
  const numbers = Float64Array.from({ length: count + 1 }, (_, id) => id * 1.5);
  for (let id = 1; id <= count; id += 1) table.add(id, numbers);
  assert.ok(table.byteCount <= 11 * count, `${table.byteCount}`);
});
