import assert from "node:assert/strict";
import { test } from "node:test";
import { readSettings } from "../settings/read-settings.ts";
import { divideMemory, type MemoryDivision, memoryOfThread, underWayBytesMax } from "./area-memory.ts";

const MB = 2 ** 20;
const nothing = { store: 0, messaging: 0, vector: 0 };

function divide(flags: string, allowedMb: number, snapshotBytes = nothing): MemoryDivision {
  const words = ["serve", ...flags.split(" ").filter((word) => word !== "")];
  const reading = readSettings({ arguments: words, environment: {}, readFile: () => assert.fail() });
  assert.ok(reading.kind === "run", JSON.stringify(reading));
  return divideMemory(reading.run, { allowedBytes: allowedMb * MB, snapshotBytes });
}

function inMb({ areas }: MemoryDivision): readonly number[] {
  return [areas.store, areas.messaging, areas.vector].map(({ bytesMax }) => Math.round(bytesMax / MB));
}

test("by default all areas together get three quarters, and so do their heaps", () => {
  const division = divide("", 4_000);
  assert.deepEqual(inMb(division), [1_187, 626, 1_187]);
  const { store, messaging, vector } = division.areas;
  assert.deepEqual(
    [store, messaging, vector].map(({ heapBytesMax }) => heapBytesMax),
    [store, messaging, vector].map(({ bytesMax }) => bytesMax),
  );
  assert.equal(division.warning, undefined);
});

test("an area with much stored data first gets the memory for it", () => {
  const snapshotBytes = { ...nothing, store: 800 * MB };
  assert.deepEqual(inMb(divide("", 4_000, snapshotBytes)), [2_589, 158, 253]);
});

test("too little memory for the stored data is divided in proportion to it", () => {
  const snapshotBytes = { store: 1_000 * MB, messaging: 0, vector: 1_000 * MB };
  assert.deepEqual(inMb(divide("", 4_000, snapshotBytes)), [1_484, 64, 1_484]);
});

test("an area gets the memory of its setting, and the others share the rest", () => {
  assert.deepEqual(inMb(divide("--store-memory 2gb", 4_000)), [2_048, 339, 613]);
});

test("settings that exceed the memory are obeyed, and the warning names them", () => {
  const division = divide("--store-memory 2gb --heap-limit 1gb", 4_000);
  assert.deepEqual(inMb(division), [2_048, 1_024, 1_024]);
  assert.equal(division.areas.store.heapBytesMax, 1_024 * MB);
  assert.equal(
    division.warning,
    "the areas may use 4096mb together, more than three quarters of the 4000mb available to the process: lower --heap-limit, --store-memory",
  );
});

test("no area gets less than 64 MB, and a warning says if there is too little", () => {
  const division = divide("", 200);
  assert.deepEqual(inMb(division), [64, 64, 64]);
  assert.match(division.warning ?? "", /give the process more memory$/);
});

const underWayCases: readonly (readonly [what: string, areaMb: number, requestMb: number, expectedMb: number])[] = [
  ["a quarter of the memory of the area", 128, 10, 32],
  ["room for two of the largest requests and an eighth", 64, 10, 22.5],
  ["never more than 320 MB", 4_096, 10, 320],
  ["never more than 320 MB, whatever a request may have", 64, 500, 320],
];

for (const [what, areaMb, requestMb, expectedMb] of underWayCases) {
  test(`A-13: pending requests may hold ${what}: ${expectedMb} MB of ${areaMb}`, () => {
    assert.equal(underWayBytesMax({ bytesMax: areaMb * MB, requestBytesMax: requestMb * MB }), expectedMb * MB);
  });
}

test("the threads of an area get equal parts of its memory, and too little is refused with the remedy", () => {
  const place = "--engine-threads";
  assert.equal(memoryOfThread("store", 64 * MB, { threadCount: 1, place }), 64 * MB);
  assert.equal(memoryOfThread("store", 300 * MB, { threadCount: 3, place }), 100 * MB);
  assert.throws(() => memoryOfThread("store", 300 * MB, { threadCount: 5, place }), {
    name: "StartRefusal",
    message:
      "--engine-threads leaves 60mb of memory for each of 5 threads of store, which needs 64mb: lower it, or raise --store-memory",
  });
});
