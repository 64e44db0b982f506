import assert from "node:assert/strict";
import { test } from "node:test";
import { SimulatedDisk } from "../../test/simulation/disk/simulated-disk.ts";
import { seededRandom } from "../kernel/random.ts";
import { areaDirectory, checkDataDirectory, prepareDataDirectory } from "./data-directory.ts";
import { DamagedData, MissingData, NewerFormat } from "./errors.ts";

const AREAS = ["store", "messaging"];

async function newDirectory(): Promise<SimulatedDisk> {
  const disk = new SimulatedDisk({ seed: 1 });
  await disk.mkdir("/data");
  await disk.syncDirectory("/");
  return disk;
}

test("a new directory gets a format file and one directory for each area, all durable", async () => {
  const disk = await newDirectory();
  assert.equal(await checkDataDirectory(disk, "/data", AREAS), false);

  await prepareDataDirectory(disk, "/data", AREAS);

  const crashed = disk.afterPowerCut(seededRandom(1));
  assert.equal(crashed.bytesOf("/data/format").toString(), "larder data directory, format 2\n");
  assert.deepEqual((await crashed.list("/data")).sort(), ["format", "messaging", "store"]);
  assert.equal(await checkDataDirectory(disk, "/data", AREAS), true);
  assert.equal(areaDirectory("/data", "store"), "/data/store");
});

test("the directories above a new one are durable too, as far as this process created them", async () => {
  const disk = new SimulatedDisk({ seed: 1 });
  await disk.mkdir("/home");
  await disk.mkdir("/home/data");
  disk.faultOf = ({ kind, path }) => (kind === "syncDirectory" && path === "/" ? { code: "EACCES" } : undefined);

  await prepareDataDirectory(disk, "/home/data", AREAS);

  disk.faultOf = () => undefined;
  await disk.syncDirectory("/");
  assert.equal(await checkDataDirectory(disk.afterPowerCut(seededRandom(1)), "/home/data", AREAS), true);
});

test("leaves an existing data directory unchanged", async () => {
  const disk = await newDirectory();
  await prepareDataDirectory(disk, "/data", AREAS);
  disk.put("/data/store/0000000001.journal", Buffer.from("x"));
  const renames = disk.countOf("rename");

  await prepareDataDirectory(disk, "/data", AREAS);

  assert.equal(disk.countOf("rename"), renames);
  assert.equal(disk.bytesOf("/data/store/0000000001.journal").toString(), "x");
});

test("a start succeeds wherever the first one was interrupted", async () => {
  const random = seededRandom(3);
  const crashes: SimulatedDisk[] = [];
  const disk = await newDirectory();
  disk.onBoundary = () => {
    for (let i = 0; i < 10; i += 1) crashes.push(disk.afterPowerCut(random), disk.afterKill(random));
  };
  await prepareDataDirectory(disk, "/data", AREAS);

  for (const crashed of crashes) {
    await prepareDataDirectory(crashed, "/data", AREAS);
    assert.equal(await checkDataDirectory(crashed, "/data", AREAS), true);
  }
});

test("refuses a newer format, a damaged format file and a missing one, and names the file", async () => {
  const disk = await newDirectory();
  await prepareDataDirectory(disk, "/data", AREAS);

  disk.put("/data/format", Buffer.from("larder data directory, format 3\n"));
  await assert.rejects(checkDataDirectory(disk, "/data", AREAS), new NewerFormat("/data/format", 3, 2));
  assert.equal(
    new NewerFormat("/data/format", 3, 2).message,
    "/data/format has format 3, newer than format 2 of this version. Use a newer larder",
  );
  disk.put("/data/format", Buffer.from("larder data dire"));
  await assert.rejects(checkDataDirectory(disk, "/data", AREAS), DamagedData);
  disk.remove("/data/format");
  disk.put("/data/store/0000000001.journal", Buffer.from("x"));
  await assert.rejects(
    checkDataDirectory(disk, "/data", AREAS),
    new MissingData("/data/format", "the directory store has files"),
  );
});
