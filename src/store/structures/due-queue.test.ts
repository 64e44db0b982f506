import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { DueQueue } from "./due-queue.ts";

test("an empty queue is never due", () => {
  const queue = new DueQueue();

  assert.equal(queue.firstMs, Number.POSITIVE_INFINITY);
  assert.equal(queue.firstName, undefined);
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
