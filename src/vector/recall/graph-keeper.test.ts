import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import type { NamespaceGraph } from "../graph/graph.ts";
import { GraphKeeper } from "./graph-keeper.ts";

/** A graph that wants `left` portions of 10 ms, which take no time of the clock: only the pauses after them do. */
class Subject implements Pick<NamespaceGraph, "missedShare" | "wantsMaintenance" | "maintain"> {
  missedShare = 0;
  left = Number.POSITIVE_INFINITY;
  portionCount = 0;

  get wantsMaintenance(): boolean {
    return this.left > 0;
  }

  maintain(): Promise<number> {
    this.left -= 1;
    this.portionCount += 1;
    return Promise.resolve(10);
  }
}

interface World {
  readonly keeper: GraphKeeper;
  readonly subjects: readonly Subject[];
  isMeasuring: boolean;
  pass(seconds: number): Promise<void>;
}

function world(count: number): World {
  const clock = new VirtualClock();
  const subjects = Array.from({ length: count }, () => new Subject());
  const there: World = {
    keeper: new GraphKeeper({
      clock,
      graphs: () => subjects as unknown as NamespaceGraph[],
      isMeasuring: () => there.isMeasuring,
    }),
    subjects,
    isMeasuring: false,
    pass: async (seconds) => {
      for (let ms = 0; ms < seconds * 1_000; ms += 10) {
        clock.advance(10);
        await Promise.resolve();
        await Promise.resolve();
      }
    },
  };
  there.keeper.start();
  return there;
}

function portionsOf({ subjects }: World): number[] {
  return subjects.map(({ portionCount }) => portionCount);
}

test("uses at most 2 % of a core, in turn for all graphs", async () => {
  const there = world(2);
  await there.pass(101);

  const [one, other] = portionsOf(there) as [number, number];
  // Of 500 ms, 10 are work and 490 a pause.
  assert.equal(there.keeper.usedMs, 2_050);
  assert.ok(Math.abs(one - other) <= 1, `${one} and ${other}`);
});

test("uses at most 20 % for a graph with missed records, which goes first", async () => {
  const there = world(2);
  const [one, other] = there.subjects as [Subject, Subject];
  other.missedShare = 0.011;
  await there.pass(11);

  assert.equal(one.portionCount, 0);
  // Of 50 ms, 10 are work and 40 a pause.
  assert.equal(there.keeper.usedMs, 2_510);
  other.left = 0;
  await there.pass(1);
  assert.ok(one.portionCount > 0);
});

test("waits while the recall is measured, unless too many records are missed", async () => {
  const there = world(1);
  const [one] = there.subjects as [Subject];
  there.isMeasuring = true;
  await there.pass(10);
  assert.equal(one.portionCount, 0);

  one.missedShare = 0.5;
  await there.pass(10);
  assert.ok(one.portionCount > 100, `${one.portionCount} portions`);
});

test("does nothing without work, and nothing after a stop", async () => {
  const there = world(1);
  const [one] = there.subjects as [Subject];
  one.left = 3;
  await there.pass(100);
  assert.equal(one.portionCount, 3);

  one.left = 100;
  there.keeper.stop();
  await there.pass(100);
  assert.equal(one.portionCount, 3);
});
