import assert from "node:assert/strict";
import { test } from "node:test";
import { ResponseBudget, type ResponseLease } from "./response-budget.ts";

const LONGEST = 100;

function waits(lease: ResponseLease, bytes: number, granted: string[] = []): boolean {
  return !lease.raise(bytes, () => granted.push(`${lease.user} ${bytes}`));
}

test("the leases of one user hold at most half, and another user gets the other half", () => {
  const budget = new ResponseBudget({ bytesMax: 200, bodyBytesMax: LONGEST });
  const granted: string[] = [];
  const first = budget.lease("a");
  assert.equal(waits(first, 100, granted), false);
  assert.equal(waits(budget.lease("a"), 1, granted), true);
  assert.equal(waits(budget.lease("b"), 100, granted), false);
  assert.equal(budget.usedBytes, 200);
  assert.equal(budget.waitingCount, 1);

  first.release();

  assert.deepEqual(granted, ["a 1"]);
  assert.equal(budget.usedBytes, 101);
  assert.equal(budget.waitingCount, 0);
});

test("a step that would leave no lease room for the longest body waits, and the oldest step is first", () => {
  const budget = new ResponseBudget({ bytesMax: 400, bodyBytesMax: LONGEST });
  const granted: string[] = [];
  const leases = [1, 2, 3].map(() => budget.lease("a"));
  for (const lease of leases) assert.equal(waits(lease, 50, granted), false);
  const [first, second, third] = leases as [ResponseLease, ResponseLease, ResponseLease];
  assert.equal(waits(second, 100, granted), false);
  // Nothing is free, and the second lease needs no more.
  assert.equal(waits(first, 60, granted), true);
  assert.equal(waits(third, 70, granted), true);

  second.release();

  assert.deepEqual(granted, ["a 60", "a 70"]);
});

test("never grants a lease that was released while it waited", () => {
  const budget = new ResponseBudget({ bytesMax: 200, bodyBytesMax: LONGEST });
  const granted: string[] = [];
  const first = budget.lease("a");
  const second = budget.lease("a");
  assert.equal(waits(first, 100, granted), false);
  assert.equal(waits(second, 10, granted), true);
  second.release();
  first.release();

  assert.deepEqual(granted, []);
  assert.equal(budget.usedBytes, 0);
});

test("concurrent bodies all finish, and never hold more than the budget", () => {
  const budget = new ResponseBudget({ bytesMax: 300, bodyBytesMax: LONGEST });
  const users = ["a", "b", "c"];
  const bodies = Array.from({ length: 60 }, (_, index) => budget.lease(users[index % users.length] ?? ""));
  let finished = 0;
  let most = 0;
  const grow = (lease: ResponseLease): void => {
    for (let bytes = lease.bytes + 10; bytes <= LONGEST; bytes += 10) {
      // The queued bodies take a step before this one continues.
      if (!lease.raise(bytes, () => queue.push(lease))) return;
      most = Math.max(most, budget.usedBytes);
      if (bytes < LONGEST) {
        queue.push(lease);
        return;
      }
    }
    finished += 1;
    lease.release();
  };
  const queue = [...bodies];
  for (let lease = queue.shift(); lease !== undefined; lease = queue.shift()) grow(lease);

  assert.equal(finished, 60);
  assert.equal(most <= 300, true);
  assert.equal(budget.usedBytes, 0);
});
