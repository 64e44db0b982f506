import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { DueQueue } from "./due-queue.ts";

test("an empty queue is never due", () => {
  const queue = new DueQueue();

  assert.equal(queue.firstMs, Number.POSITIVE_INFINITY);
  assert.equal(queue.firstName, undefined);
});

test("entries of equal times leave in the order of their names, whatever the order of insertion", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(3), fc.string({ maxLength: 3 }))), (entries) => {
      const queue = new DueQueue();
      for (const [ms, name] of entries) queue.push(ms, name);
      const left: (readonly [number, string | undefined])[] = [];
      for (; queue.length > 0; queue.pop()) left.push([queue.firstMs, queue.firstName]);
      const inOrder = entries.toSorted(([ms, name], [otherMs, other]) => ms - otherMs || (name < other ? -1 : 1));
      assert.deepEqual(left, inOrder);
    }),
  );
});

test("entries leave in the order of their times, whatever the order of insertion", () => {
  fc.assert(
    fc.property(fc.array(fc.nat()), (moments) => {
      const queue = new DueQueue();
      for (const ms of moments) queue.push(ms, String(ms));
      const left: number[] = [];
      while (queue.length > 0) {
        assert.equal(queue.firstName, String(queue.firstMs));
        left.push(queue.firstMs);
        queue.pop();
      }
      assert.deepEqual(
        left,
        moments.toSorted((a, b) => a - b),
      );
    }),
  );
});
