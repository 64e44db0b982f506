/** Changes during a measurement. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { RECORDS, RecallWorld } from "../../../test/simulation/vector/recall-world.ts";
import { type Random, seededRandom } from "../../kernel/random.ts";
import { BASE_CLASS } from "./query-classes.ts";
import { RecallRound } from "./recall-round.ts";

async function roundOf(random: Random = seededRandom(1)): Promise<{ world: RecallWorld; round: RecallRound }> {
  const world = new RecallWorld({ missed: () => 0 });
  await world.fill();
  const { namespace } = world;
  const { recall } = namespace;
  assert.ok(recall !== undefined);
  return { world, round: new RecallRound({ namespace, recall, number: BASE_CLASS, random }) };
}

test("a measurement without changes has 200 records, and ends each of its searches", async () => {
  const { world, round } = await roundOf();
  while (!round.step());
  assert.equal(round.isEnough, true);
  assert.equal(round.levels.at(-1)?.records.queryCount, 200);
  // Otherwise changes would be noted forever.
  world.namespace.changes.note(1);
  assert.equal(world.namespace.changes.since(0).size, 0);
  world.close();
});

test("queries during which too many records change do not count, and nothing is concluded from the others", async () => {
  const { world, round } = await roundOf();
  const { changes } = world.namespace;
  do for (let i = 0; i < 1_001; i += 1) changes.note(i);
  while (!round.step());
  assert.equal(round.isEnough, false);
  assert.equal(round.levels.at(-1)?.records.queryCount, 0);
  changes.note(1);
  assert.equal(changes.since(0).size, 0, "each search has ended");
  world.close();
});

test("a query whose hits change meanwhile does not count, and other records are drawn until 200 count", async () => {
  const random = seededRandom(1);
  let drawnCount = 0;
  const below = (bound: number): number => {
    if (bound === RECORDS) drawnCount += 1;
    return random.below(bound);
  };
  const { world, round } = await roundOf({ unit: () => random.unit(), below });
  const { changes } = world.namespace;
  // A tenth of the old records: two of three queries have one of them among their hits.
  do for (let record = 0; record < 1_000; record += 1) changes.note(record * 10);
  while (!round.step());
  assert.ok(drawnCount > 400, `${drawnCount} records were drawn`);
  assert.equal(round.levels.at(-1)?.records.queryCount, 200);
  assert.equal(round.isEnough, true);
  world.close();
});

test("a postponed class is due again after a minute", async () => {
  const { world } = await roundOf();
  const { recall } = world.namespace;
  const size = { rowCount: 1, insertCount: 1 };
  assert.equal(recall?.findDue(5, size), BASE_CLASS);
  recall?.postpone(BASE_CLASS, 5);
  assert.equal(recall?.findDue(60_004, size), undefined);
  assert.equal(recall?.findDue(60_005, size), BASE_CLASS);
  world.close();
});
