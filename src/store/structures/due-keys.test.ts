/** Keys with times, compared with a list that is sorted again and again, and the work of a change. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../kernel/random.ts";
import { DueKeys } from "./due-keys.ts";

test("the first key is that of a sorted list, whatever was set and deleted", () => {
  const random = seededRandom(1);
  const due = new DueKeys(new Uint8Array(8), { sharesKeys: false });
  const times = new Map<string, number>();
  for (let step = 0; step < 3_000; step += 1) {
    const key = `k${random.below(60)}`;
    if (random.below(3) === 0) {
      due.delete(key);
      times.delete(key);
    } else {
      const ms = random.below(20);
      due.set(key, ms);
      times.set(key, ms);
    }
    const [first] = [...times].sort(([one, ms], [other, otherMs]) => ms - otherMs || (one < other ? -1 : 1));
    assert.deepEqual([due.size, due.firstKey, due.firstMs], [times.size, first?.[0], first?.[1] ?? Infinity]);
  }
  due.clear();
  assert.deepEqual([due.size, due.firstKey, due.firstMs], [0, undefined, Infinity]);
});

test("a change moves no more entries than the heap has levels, however often the times change", () => {
  const random = seededRandom(2);
  const due = new DueKeys(new Uint8Array(8), { sharesKeys: false });
  let movesMax = 0;
  for (let step = 0; step < 12_000; step += 1) {
    const before = due.moves;
    due.set(`k${step % 2_000}`, random.below(1_000_000));
    movesMax = Math.max(movesMax, due.moves - before);
  }
  assert.equal(due.size, 2_000);
  assert.ok(movesMax <= 11, `${movesMax} moves`);
});
