/** Changed keys against a Set, whose keys move to its end by two calls. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ChangedKeys } from "./changed-keys.ts";

test("keys are taken once each, in the order of their last change", () => {
  const steps = fc.array(fc.tuple(fc.constantFrom("add", "add", "add", "take", "delete"), fc.nat(30)), {
    minLength: 1,
    maxLength: 60,
  });
  const repeats = fc.constantFrom(1, 1, 100);
  fc.assert(
    fc.property(steps, repeats, fc.constantFrom(3, 40_000), (list, times, length) => {
      const keys = new ChangedKeys(new Uint8Array(8));
      const model = new Set<string>();
      for (let round = 0; round < times; round += 1)
        for (const [kind, number] of list) {
          const key = String(number).padEnd(length);
          if (kind === "add") {
            keys.add(key, () => 3);
            if (number % 3 === 0) keys.weigh(Number);
            model.delete(key);
            model.add(key);
          } else if (kind === "delete") {
            keys.delete(key);
            model.delete(key);
          } else {
            const [first] = model;
            assert.equal(keys.take(), first);
            if (first !== undefined) model.delete(first);
          }
          assert.equal(keys.size, model.size);
          assert.equal(keys.has(key), model.has(key));
          keys.weigh(Number);
          assert.equal(
            keys.steps,
            [...model].reduce((sum, each) => sum + Math.max(3, Number(each)), 0),
          );
        }
      const rest: string[] = [];
      for (let key = keys.take(); key !== undefined; key = keys.take()) rest.push(key);
      assert.deepEqual(rest, [...model]);
    }),
    { numRuns: 25 },
  );
});
