/** Seeds of random suites that follow from a text. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { drawSeed } from "./seed.ts";

test("a text gives each variable one seed below its bound", () => {
  assert.equal(drawSeed("5f3a", "LARDER_CRASH_SEED", 2 ** 31), 1_390_116_139);
  assert.equal(drawSeed("5f3a", "LARDER_KILL_SEED", 1_000_000), 469_281);
  assert.equal(drawSeed("5f3b", "LARDER_KILL_SEED", 1_000_000), 253_844);
});

test("without a text, or with an empty one, seeds are random and below the bound", () => {
  for (const text of [undefined, ""]) {
    const seeds = new Set(Array.from({ length: 20 }, () => drawSeed(text, "LARDER_CRASH_SEED", 2 ** 31)));
    assert.equal(seeds.size, 20);
    assert.ok([...seeds].every((seed) => Number.isInteger(seed) && seed >= 0 && seed < 2 ** 31));
  }
});
