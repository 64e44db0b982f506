import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../kernel/random.ts";
import { RecordSet } from "./record-set.ts";

test("a set of records behaves like a Set of numbers", () => {
  const seed = 11;
  const random = seededRandom(seed);
  const records = new RecordSet();
  const plain = new Set<number>();
  for (let i = 0; i < 20_000; i += 1) {
    const record = random.below(500);
    if (random.below(2) === 0) {
      records.add(record);
      plain.add(record);
    } else assert.equal(records.delete(record), plain.delete(record), `seed ${seed}, step ${i}`);
  }

  assert.equal(records.count, plain.size);
  assert.deepEqual(
    [...records].sort((a, b) => a - b),
    [...plain].sort((a, b) => a - b),
  );
});

test("a taken record is no longer a member", () => {
  const records = new RecordSet();
  records.add(7);
  records.add(1_000_000);

  assert.equal(records.take(), 1_000_000);
  assert.equal(records.has(1_000_000), false);
  assert.equal(records.take(), 7);
  assert.equal(records.take(), undefined);
  assert.equal(records.count, 0);
});
