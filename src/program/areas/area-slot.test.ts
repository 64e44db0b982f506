import assert from "node:assert/strict";
import { test } from "node:test";
import type { AreaState } from "./area.ts";
import { AreaSlot, stateOfThreads } from "./area-slot.ts";

function slot(): AreaSlot {
  return new AreaSlot("store", {
    replayed: () => {},
    snapshotDue: () => {},
    snapshotRequested: () => {},
    problem: () => {},
    shard: () => {},
    crashed: () => {},
  });
}

test("an opening area is a reason why the server is not ready, with the progress of the replay", () => {
  const area = slot();
  assert.deepEqual(area.reasons, ["store is opening"]);
  area.replayed({ step: "replay", doneBytes: 426, totalBytes: 1_000 });
  assert.deepEqual(area.reasons, ["store is opening: 42 % replayed"]);
  area.replayed(undefined);
  assert.deepEqual(area.reasons, ["store is opening"]);
  area.state("serving");
  assert.deepEqual(area.reasons, []);
});

test("so is an area that cannot write, drains or is closed", () => {
  const area = slot();
  area.state("serving");
  area.trouble("No space left on device");
  assert.deepEqual(area.reasons, ["store cannot write: No space left on device"]);
  area.trouble(undefined);
  assert.deepEqual(area.reasons, []);
  area.state("draining");
  assert.deepEqual(area.reasons, ["store is draining"]);
  area.state("closed");
  assert.deepEqual(area.reasons, ["store is closed"]);
});

const cases: readonly (readonly [threads: readonly [AreaState, ...AreaState[]], area: AreaState])[] = [
  [["opening"], "opening"],
  [["closed"], "closed"],
  [["standby", "standby"], "standby"],
  [["standby", "opening"], "opening"],
  [["opening", "serving"], "serving"],
  [["draining", "serving"], "draining"],
  [["closed", "serving"], "draining"],
  [["closed", "closed"], "closed"],
];

for (const [threads, area] of cases)
  test(`an area whose threads are ${threads.join(" and ")} is ${area}`, () => {
    assert.equal(stateOfThreads(threads), area);
  });
