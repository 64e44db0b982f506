import assert from "node:assert/strict";
import { test } from "node:test";
import { Uncommitted } from "./uncommitted.ts";

/** Numbers the spans, and has the numbers of those that have not ended. */
function spans(): { readonly open: Set<number>; readonly uncommitted: Uncommitted } {
  const open = new Set<number>();
  let count = 0;
  const uncommitted = new Uncommitted(() => {
    count += 1;
    const number = count;
    open.add(number);
    return () => open.delete(number);
  });
  return { open, uncommitted };
}

test("a span begins with the first write and ends with the sync that covers it", async () => {
  const { open, uncommitted } = spans();
  uncommitted.wrote();
  uncommitted.wrote();
  assert.deepEqual([...open], [1]);
  await uncommitted.during(async () => {
    assert.deepEqual([...open], [1]);
  });
  assert.deepEqual([...open], []);
});

test("writes during a sync are a span of their own, which the next sync ends", async () => {
  const { open, uncommitted } = spans();
  uncommitted.wrote();
  await uncommitted.during(async () => {
    uncommitted.wrote();
    uncommitted.wrote();
    assert.deepEqual([...open], [1, 2]);
  });
  assert.deepEqual([...open], [2]);
  uncommitted.wrote();
  assert.deepEqual([...open], [2]);
  await uncommitted.during(async () => {});
  assert.deepEqual([...open], []);
});

test("a write during a sync that covers nothing is not ended by it", async () => {
  const { open, uncommitted } = spans();
  await uncommitted.during(async () => uncommitted.wrote());
  assert.deepEqual([...open], [1]);
  await uncommitted.during(async () => {});
  assert.deepEqual([...open], []);
});
