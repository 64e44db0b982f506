/** What a look-up of a number costs, for values of clients and for values that were chosen to be slow. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { NumberOrdinals } from "./ordinals.ts";

const COUNT = 2_000;

function stepsOf(valueAt: (index: number) => number): number {
  let steps = 0;
  const ordinals = new NumberOrdinals((more) => {
    steps += more;
    return false;
  });
  for (let index = 0; index < COUNT; index += 1) assert.equal(ordinals.ordinalOf(valueAt(index)), index);
  for (let index = 0; index < COUNT; index += 1) assert.equal(ordinals.ordinalOf(valueAt(index)), index);
  return steps;
}

const double = new Float64Array(1);
const halves = new Uint32Array(double.buffer);

/** Doubles with one hash: the low half is what the high half is multiplied to. */
function colliding(index: number): number {
  const high = 0x4000_0000 + index;
  halves[0] = Math.imul(high, 0x9e37_79b1);
  halves[1] = high;
  return double[0] as number;
}

test("values with one hash spend the slots that each look-up passes", () => {
  // Half of the slots of all values before, twice.
  assert.ok(stepsOf(colliding) > (COUNT * COUNT) / 2);
});

test("whole numbers, times and fractions spend next to nothing", () => {
  const rows: readonly ((index: number) => number)[] = [
    (index) => index,
    (index) => index * 1_000,
    (index) => index * 0.01,
    (index) => 1_760_000_000_000 + index * 60_000,
    (index) => index * 2 ** 40,
  ];
  for (const [at, valueAt] of rows.entries()) {
    const steps = stepsOf(valueAt);
    assert.ok(steps < COUNT * 4, `row ${at}: ${steps} steps`);
  }
});
