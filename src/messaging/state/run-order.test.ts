/** Runs in the order of their start, compared with a sorted list. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom, systemRandom } from "../../kernel/random.ts";
import { Run } from "./run.ts";
import { RunOrder } from "./run-order.ts";
import { User } from "./user.ts";

const user = new User("main", 1, { keys: { current: "a", next: "b" }, windowMs: 1 });

function run(id: string, createdAtMs: number): Run {
  return new Run(user, { id, url: "https://a.test", createdAtMs, callerIp: "::1", config: { headers: [] }, depth: 0 });
}

test("runs of the same time stay in the order in which they were added", () => {
  const order = new RunOrder<Run>();
  for (const id of ["a", "b", "c"]) order.add(run(id, 5));
  assert.deepEqual(
    [...order.earliestFirst()].map(({ id }) => id),
    ["a", "b", "c"],
  );
  assert.deepEqual(
    [...order.latestFirst()].map(({ id }) => id),
    ["c", "b", "a"],
  );
});

test("a run that starts after the clock was set back is among those of its time", () => {
  const order = new RunOrder<Run>();
  for (const [id, ms] of [
    ["a", 5],
    ["b", 9],
    ["c", 7],
  ] as const)
    order.add(run(id, ms));
  assert.deepEqual(
    [...order.latestFirst()].map(({ id }) => id),
    ["b", "c", "a"],
  );
  assert.deepEqual(
    [...order.earliestFirst(6)].map(({ id }) => id),
    ["c", "b"],
  );
});

test("random adds and removes leave the order of a sorted list, from any place", () => {
  const seed = systemRandom.below(2 ** 31);
  const random = seededRandom(seed);
  const order = new RunOrder<Run>();
  let plain: Run[] = [];
  for (let step = 0; step < 3_000; step += 1) {
    if (random.below(4) > 0) {
      const added = run(`${step}`, random.below(3) === 0 ? random.below(500) : 500 + step);
      order.add(added);
      plain.push(added);
      plain.sort((one, other) => one.record.createdAtMs - other.record.createdAtMs || one.number - other.number);
    } else {
      const gone = plain[random.below(plain.length)];
      if (gone !== undefined) order.delete(gone);
      plain = plain.filter((other) => other !== gone);
    }
    if (step % 300 > 0) continue;
    const place = plain[random.below(plain.length)] as Run;
    const index = plain.indexOf(place);
    const fromMs = random.below(3_500);
    assert.deepEqual([...order.latestFirst()], plain.toReversed(), `seed ${seed}`);
    assert.deepEqual([...order.latestFirst(place)], plain.slice(0, index).toReversed(), `seed ${seed}`);
    const later = plain.filter(({ record }) => record.createdAtMs >= fromMs);
    assert.deepEqual([...order.earliestFirst(fromMs)], later, `seed ${seed}`);
  }
});
