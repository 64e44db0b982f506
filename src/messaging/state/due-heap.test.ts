import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { DueHeap } from "./due-heap.ts";

function drain(heap: DueHeap): number[] {
  const sequences: number[] = [];
  while (heap.size > 0) sequences.push(heap.pop());
  return sequences;
}

test("an empty heap has no due time", () => {
  const heap = new DueHeap();
  assert.equal(heap.size, 0);
  assert.equal(heap.peekDueMs(), undefined);
  assert.equal(heap.peekSequence(), undefined);
  assert.throws(() => heap.pop(), /pop needs an entry/);
});

test("entries come out by due time, then by sequence", () => {
  const heap = new DueHeap();
  const entries: [number, number][] = [
    [30, 1],
    [10, 5],
    [20, 2],
    [10, 3],
    [10, 4],
    [Number.POSITIVE_INFINITY, 0],
    [-5, 9],
  ];
  for (const [dueMs, sequence] of entries) heap.push(dueMs, sequence);
  assert.equal(heap.size, 7);
  assert.equal(heap.peekDueMs(), -5);
  assert.equal(heap.peekSequence(), 9);
  assert.deepEqual(drain(heap), [9, 3, 4, 5, 2, 1, 0]);
});

test("a due time that is not a number fails an assertion", () => {
  assert.throws(() => new DueHeap().push(Number.NaN, 1), /a due time is a number/);
});

test("retain removes the other entries and preserves the order, and the heap remains usable", () => {
  const heap = new DueHeap();
  for (let sequence = 0; sequence < 10; sequence += 1) heap.push(100 - sequence, sequence);
  heap.retain((sequence, dueMs) => sequence % 2 === 0 && dueMs > 92);
  heap.push(97, 11);
  assert.equal(heap.size, 5);
  assert.deepEqual(drain(heap), [6, 4, 11, 2, 0]);
  heap.push(1, 1);
  heap.retain(() => false);
  assert.equal(heap.peekDueMs(), undefined);
});

test("a hundred thousand entries come out in order after the heap has grown and shrunk", () => {
  const heap = new DueHeap();
  for (let sequence = 0; sequence < 100_000; sequence += 1) heap.push((sequence * 7_919) % 1_000, sequence);
  heap.retain((sequence) => sequence % 100 === 0);
  assert.equal(heap.size, 1_000);
  for (let sequence = 100_000; sequence < 110_000; sequence += 1) heap.push(2_000, sequence);
  const rest = drain(heap);
  assert.equal(rest.length, 11_000);
  assert.ok(rest.slice(1_000).every((sequence, index) => sequence === 100_000 + index));
});

/**
 * Operations on a heap: a push of a due time, a pop, a removal of the entry at a place of the sorted array, or a retain of the
 * sequences that a number does not divide.
 */
type Step =
  | { readonly pushMs: number }
  | { readonly pop: true }
  | { readonly removeAt: number }
  | { readonly dropMultiplesOf: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ pushMs: fc.integer({ min: -20, max: 20 }) }) },
  { weight: 4, arbitrary: fc.record({ pop: fc.constant(true as const) }) },
  { weight: 2, arbitrary: fc.record({ removeAt: fc.nat(40) }) },
  { weight: 1, arbitrary: fc.record({ dropMultiplesOf: fc.integer({ min: 1, max: 4 }) }) },
);

test("a heap behaves as a sorted array does", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 400, size: "max" }), (steps) => {
      const heap = new DueHeap();
      let plain: { dueMs: number; sequence: number }[] = [];
      // Sequences fall as often as they rise, so that ties are not in the order of pushing.
      let pushed = 0;
      for (const taken of steps) {
        if ("pushMs" in taken) {
          pushed += 1;
          const sequence = (pushed * 7_919) % 10_007;
          heap.push(taken.pushMs, sequence);
          plain.push({ dueMs: taken.pushMs, sequence });
          plain.sort((a, b) => a.dueMs - b.dueMs || a.sequence - b.sequence);
        } else if ("pop" in taken) {
          const first = plain.shift();
          if (first !== undefined) assert.equal(heap.pop(), first.sequence);
        } else if ("removeAt" in taken) {
          const [removed] = plain.splice(taken.removeAt, 1);
          heap.remove(removed?.sequence ?? -1);
        } else {
          heap.retain((sequence) => sequence % taken.dropMultiplesOf !== 0);
          plain = plain.filter(({ sequence }) => sequence % taken.dropMultiplesOf !== 0);
        }
        assert.equal(heap.size, plain.length);
        assert.equal(heap.peekDueMs(), plain[0]?.dueMs);
        assert.equal(heap.peekSequence(), plain[0]?.sequence);
      }
    }),
  );
});
