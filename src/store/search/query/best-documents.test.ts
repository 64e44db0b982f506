import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../../kernel/random.ts";
import { BestDocuments } from "./best-documents.ts";

test("the best documents are those that sorting finds, ties in order of their numbers", () => {
  for (let seed = 1; seed <= 100; seed += 1) {
    const random = seededRandom(seed);
    const limit = 1 + random.below(20);
    const best = new BestDocuments<number>(limit, (one, other) => other - one);
    const all = Array.from({ length: random.below(60) }, (_, document) => ({ document, key: random.below(10) }));
    for (const { document, key } of all) {
      const before = best.worst;
      assert.equal(best.offer(document, key), before === undefined || key > before.key, `seed ${seed}`);
    }
    const sorted = all.sort((one, other) => other.key - one.key || one.document - other.document).slice(0, limit);
    assert.deepEqual(best.worst, sorted.length < limit ? undefined : sorted.at(-1), `seed ${seed}`);
    assert.deepEqual(best.takeSorted(), sorted, `seed ${seed}`);
  }
});
