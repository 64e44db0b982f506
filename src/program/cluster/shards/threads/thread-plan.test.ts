/** Which thread hosts a shard, and what each thread is started with. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AreaPlan, AreaPlans } from "../../../areas/area.ts";
import { planThreads, type ThreadStart } from "./thread-plan.ts";

/** The parts of the plan of a shard that a distribution reads. */
function planOf(shard: number): AreaPlan {
  return {
    area: "store",
    listen: { port: 7 },
    resp: { connectionsMax: 1 },
    shard: { shard, forwarding: { port: 8 } },
  } as unknown as AreaPlan;
}

function plansOf(first: number, ...rest: readonly number[]): AreaPlans {
  return [planOf(first), ...rest.map(planOf)];
}

const shardsOf = (starts: readonly ThreadStart[]): readonly (readonly number[])[] => starts.map(({ shards }) => shards);

function close(starts: readonly ThreadStart[]): void {
  for (const { ports } of starts) for (const port of ports) port.close();
}

test("the shards of an area take turns, so each thread has a shard, and a shard always the same thread", () => {
  for (const [shards, threadCount, expected] of [
    [[1, 4, 7, 10], 1, [[1, 4, 7, 10]]],
    [
      [1, 4, 7, 10],
      2,
      [
        [1, 7],
        [4, 10],
      ],
    ],
    [[1, 4, 7, 10], 3, [[1, 10], [4], [7]]],
    [[1, 4], 2, [[1], [4]]],
  ] as const) {
    const [first, ...rest] = shards;
    const starts = planThreads(plansOf(first, ...rest), threadCount);
    assert.deepEqual(shardsOf(starts), expected);
    close(starts);
  }
});

test("only the front has ports and forwards; it knows all shards, another thread its own", () => {
  const starts = planThreads(plansOf(1, 4, 7), 2);
  const [front, engines] = starts;
  assert.deepEqual(front?.plans, plansOf(1, 4, 7));
  assert.deepEqual(engines?.plans, [
    { area: "store", listen: undefined, resp: undefined, shard: { shard: 4, forwarding: undefined } },
  ]);
  assert.deepEqual(front?.links?.kind === "front" && front.links.others.map(({ thread, shards }) => [thread, shards]), [
    [1, [4]],
  ]);
  assert.equal(engines?.links?.kind, "engines");
  close(starts);
});

test("one thread has no links, and its plans are those of the area", () => {
  const plans = plansOf(1, 4);
  const [only, ...others] = planThreads(plans, 1);
  assert.deepEqual(others, []);
  assert.equal(only?.plans, plans);
  assert.deepEqual([only?.links, only?.ports], [undefined, []]);
});
