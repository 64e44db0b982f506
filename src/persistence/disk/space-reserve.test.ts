import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { emptyDisk, settle } from "../../../test/harness/persistence-fixture.ts";
import type { SimulatedDisk } from "../../../test/simulation/disk/simulated-disk.ts";
import { silentLog } from "../../kernel/log.ts";
import { SpaceReserve } from "./space-reserve.ts";

const PATH = "/store/reserve";

function reserveOn(disk: SimulatedDisk, bytes = 100_000): SpaceReserve {
  return new SpaceReserve({ disk, path: PATH, bytes, log: silentLog });
}

test("takes its space once, in bytes that do not compress, and releases it once", async () => {
  const disk = await emptyDisk();
  const reserve = reserveOn(disk);
  assert.equal(reserve.isReady, false);

  await reserve.fill();
  assert.equal(reserve.isReady, true);
  assert.equal(disk.bytesOf(PATH).length, 100_000);
  assert.ok(gzipSync(disk.bytesOf(PATH)).length > 99_000);

  assert.deepEqual([await reserve.release(), await reserve.release()], [true, false]);
  assert.equal(disk.bytesOf(PATH).length, 0);
  assert.equal(reserve.isReady, false);
  await reserve.close();
  assert.equal(disk.openCount, 0);
});

test("keeps the reserve of an earlier process, and adds the missing part", async () => {
  const disk = await emptyDisk();
  disk.put(PATH, Buffer.alloc(60_000, 1));
  const reserve = reserveOn(disk);

  await reserve.fill();

  assert.equal(disk.bytesOf(PATH).length, 100_000);
  assert.equal(disk.bytesOf(PATH)[59_999], 1);
});

test("takes no space if there is not enough for all of it", async () => {
  const disk = await emptyDisk();
  disk.freeBytes = 50_000;
  const reserve = reserveOn(disk);

  await reserve.fill();
  assert.deepEqual([reserve.isReady, disk.freeBytes, await reserve.release()], [false, 50_000, false]);
  assert.equal(reserve.lack, "No space left on device");

  disk.freeBytes = 200_000;
  await reserve.fill();
  assert.deepEqual([reserve.isReady, reserve.lack], [true, undefined]);
});

test("continues without a reserve if it cannot be written for another reason", async () => {
  const disk = await emptyDisk();
  disk.faultOf = ({ kind }) => (kind === "create" ? { code: "EIO" } : undefined);
  const reserve = reserveOn(disk);

  await reserve.fill();

  assert.deepEqual([reserve.isReady, await reserve.release()], [true, false]);
});

test("a reserve of zero bytes touches no file", async () => {
  const disk = await emptyDisk();
  const reserve = reserveOn(disk, 0);

  await reserve.fill();

  assert.deepEqual([reserve.isReady, await reserve.release(), disk.paths], [true, false, []]);
});

test("takes more space at once, and gives back a part that is not enough", async () => {
  const disk = await emptyDisk();
  const reserve = reserveOn(disk);
  assert.equal(reserve.lackFor(1), "No space left on device");
  await reserve.fill();
  disk.freeBytes = 50_000;

  assert.deepEqual([reserve.lackFor(100_000), disk.bytesOf(PATH).length], [undefined, 100_000]);
  assert.equal(reserve.lackFor(160_000), "No space left on device");
  await settle();
  assert.deepEqual([disk.bytesOf(PATH).length, disk.freeBytes], [100_000, 50_000]);
  assert.deepEqual([reserve.lackFor(150_000), disk.freeBytes], [undefined, 0]);
  // Queued frames may need what was taken for them.
  assert.equal(reserve.lackFor(150_001), "No space left on device");
  await settle();
  assert.equal(disk.bytesOf(PATH).length, 150_000);

  reserve.shrink();
  await settle();
  assert.deepEqual([disk.bytesOf(PATH).length, reserve.isReady], [100_000, true]);
  await reserve.release();
  assert.equal(reserve.lackFor(1), "No space left on device");
});

test("a reserve that an earlier process made larger becomes as large as it should be", async () => {
  const disk = await emptyDisk();
  disk.put(PATH, Buffer.alloc(160_000, 1));
  await reserveOn(disk).fill();
  assert.equal(disk.bytesOf(PATH).length, 100_000);
});
