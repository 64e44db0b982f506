/** The recall of a namespace whose graph is a simulation with a known recall. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FILTER, RECORDS, RecallWorld, type RecallWorldOptions } from "../../../test/simulation/vector/recall-world.ts";

import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { seededRandom } from "../../kernel/random.ts";
import { RecallKeeper } from "./recall-keeper.ts";

const MINUTE_MS = 60_000;

async function worldOf(options: RecallWorldOptions, recallTarget?: number): Promise<RecallWorld> {
  const world = new RecallWorld(options);
  await world.fill(recallTarget);
  return world;
}

test("the effort of each range of topK rises until the target is reached", async () => {
  const world = await worldOf({ missed: () => 10, hitsMax: 130 });
  assert.ok(world.recallOf(50, { topK: 10 }) < 0.97, "the first effort is too low");
  world.ask(60, { topK: 10 });
  world.ask(60, { topK: 100 });
  await world.measure(MINUTE_MS);

  for (const topK of ["1-10", "11-100"]) {
    const report = world.report(topK);
    assert.equal(report?.isReached, true, topK);
    assert.ok((report?.recall ?? 0) >= 0.99, topK);
    assert.ok((report?.lowerBound ?? 0) >= 0.98, topK);
    assert.ok((report?.recordCount ?? 0) >= 200, topK);
    assert.ok((report?.queryCount ?? 0) >= 50, topK);
  }
  assert.ok(world.recallOf(100, { topK: 10 }) >= 0.98);
  assert.ok(world.recallOf(50, { topK: 100 }) >= 0.98);
  world.close();
});

test("if a walk that reaches the target costs more than a scan, queries are scans", async () => {
  const world = await worldOf({ missed: () => 60 });
  await world.measure(MINUTE_MS);
  const report = world.report("1-10");
  assert.equal(report?.isReached, true);
  assert.equal(report?.scanShare, 1);
  assert.equal(world.recallOf(50, { topK: 10 }), 1);
  world.close();
});

test("while checks of the graph miss more than the target allows, queries are scans, and the misses count as pending", async () => {
  const world = await worldOf({ missed: () => 60 });
  const graph = world.namespace.graph?.parts[0]?.graph;
  assert.ok(world.recallOf(50, { topK: 10 }) < 0.9);
  assert.equal(world.index.info().pendingVectorCount, 0);

  assert.ok(graph !== undefined);
  Object.assign(graph, { missedShare: 0.011 });
  assert.equal(world.recallOf(50, { topK: 10 }), 1);
  assert.equal(world.index.info().pendingVectorCount, RECORDS * 0.011);

  Object.assign(graph, { missedShare: 0.009 });
  assert.ok(world.recallOf(50, { topK: 10 }) < 0.9);
  world.close();
});

test("if the largest effort misses the target, the report says so with the recall that clients get", async () => {
  const world = await worldOf({ missed: () => 60, limits: { effortMax: 320 } });
  world.ask(60, { topK: 10 });
  await world.measure(MINUTE_MS);
  const report = world.report("1-10");
  assert.equal(report?.isReached, false);
  assert.equal(report?.effort, 320);
  const recall = world.recallOf(200, { topK: 10 });
  assert.ok(Math.abs((report?.recall ?? 0) - recall) < 0.03, `${report?.recall} is reported, but it is ${recall}`);
  world.close();
});

test("queries with a filter have their own effort", async () => {
  const world = await worldOf({ missed: (record) => (record % 3 === 0 ? 0 : 1.5) });
  world.ask(60, { topK: 10, filter: FILTER });
  await world.measure(MINUTE_MS);
  assert.equal(world.report("1-10", "50-100%")?.isReached, true);
  assert.ok(world.recallOf(100, { topK: 10, filter: FILTER }) >= 0.98);
  world.close();
});

test("an effort that is higher than necessary falls slowly", async () => {
  const world = await worldOf({ missed: () => 0 });
  const efforts: (number | undefined)[] = [];
  for (let i = 0; i < 4; i += 1) {
    world.ask(1, { topK: 10 });
    await world.measure(2 * MINUTE_MS);
    efforts.push(world.report("1-10")?.effort);
  }
  assert.deepEqual(efforts, [114, 80, 80, 80]);
  world.close();
});

test("another target of the index is measured, and a low one needs less effort", async () => {
  const world = await worldOf({ missed: () => 10 }, 0.8);
  await world.measure(MINUTE_MS);
  assert.ok((world.report("1-10")?.effort ?? 0) <= 160);
  world.define(0.99);
  await world.measure(MINUTE_MS);
  assert.ok((world.report("1-10")?.recall ?? 0) >= 0.99);
  world.close();
});

test("nothing is measured while nothing changes, and a tenth of new records is measured again", async () => {
  const world = await worldOf({ missed: () => 0 });
  await world.measure(MINUTE_MS);
  const first = world.report("1-10");
  await world.measure(MINUTE_MS);
  assert.equal(world.report("1-10"), first);

  const vectors = Array.from({ length: RECORDS / 8 }, (_, i) => Float32Array.of(i % 7, i % 11, i % 13, 1));
  world.index.upsert(
    "",
    vectors.map((vector, i) => ({ id: String(i), vector })),
  );
  await world.measure(MINUTE_MS);
  assert.notEqual(world.report("1-10"), first);
  world.close();
});

test("an exact query and one with its own effort are not in the sample", async () => {
  const world = await worldOf({ missed: () => 0 });
  world.ask(60, { topK: 100, effort: "exact" });
  world.ask(60, { topK: 100, effort: 200 });
  await world.measure(MINUTE_MS);
  assert.equal(world.report("11-100"), undefined);
  assert.equal(world.report("1-10")?.queryCount, 0);
  world.close();
});

test("a namespace that is emptied during a measurement ends it", async () => {
  const world = await worldOf({ missed: () => 60 });
  await world.measure(6_000);
  world.index.reset("");
  await world.measure(MINUTE_MS);
  assert.deepEqual(world.reports, []);
  assert.deepEqual(world.ask(1, { topK: 10 }), [[]]);
  world.close();
});

test("measuring takes at most a fiftieth of the time", async () => {
  const world = await worldOf({ missed: () => 60 });
  let cpuMs = 0;
  // Each reading is 2.5 ms after the one before.
  world.clock.threadCpuMs = () => {
    cpuMs += 2.5;
    return cpuMs;
  };
  await world.measure(MINUTE_MS);
  const { usedMs } = world.engine.recall;
  assert.ok(usedMs > 900 && usedMs <= 1_200, `${usedMs} ms of a minute`);
  world.close();
});

test("measuring waits while searches wait, but not longer than a second", () => {
  const clock = new VirtualClock();
  let lookedCount = 0;
  const keeper = new RecallKeeper({
    clock,
    random: seededRandom(1),
    isBusy: () => true,
    namespaces: () => {
      lookedCount += 1;
      return [];
    },
  });
  keeper.start();
  clock.advance(5_950);
  assert.equal(lookedCount, 0);
  clock.advance(50);
  assert.equal(lookedCount, 1);
  keeper.stop();
  clock.advance(60_000);
  assert.equal(lookedCount, 1, "nothing runs after a stop");
});
