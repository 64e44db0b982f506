import assert from "node:assert/strict";
import { test } from "node:test";
import { newSyncedMemory, SyncedPlaceReader, SyncedPlaceWriter } from "./synced-place.ts";

test("a reader has no location before the first one, and then the newest", () => {
  const memory = newSyncedMemory();
  const writer = new SyncedPlaceWriter(memory);
  const reader = new SyncedPlaceReader(memory);
  assert.equal(reader.read(), undefined);
  writer.write({ segment: 1, offset: 64, position: 0 });
  writer.write({ segment: 2, offset: 2 ** 40, position: 2 ** 50 });
  assert.deepEqual(reader.read(), { segment: 2, offset: 2 ** 40, position: 2 ** 50 });
  assert.deepEqual(new SyncedPlaceReader(memory).read(), { segment: 2, offset: 2 ** 40, position: 2 ** 50 });
});

test("of a writer that stopped in the middle a reader has the location before", () => {
  const memory = newSyncedMemory();
  const reader = new SyncedPlaceReader(memory);
  new SyncedPlaceWriter(memory).write({ segment: 1, offset: 64, position: 7 });
  assert.deepEqual(reader.read(), { segment: 1, offset: 64, position: 7 });
  const words = new BigInt64Array(memory);
  Atomics.add(words, 0, 1n);
  Atomics.store(words, 1, 2n);
  assert.deepEqual(reader.read(), { segment: 1, offset: 64, position: 7 });
});
