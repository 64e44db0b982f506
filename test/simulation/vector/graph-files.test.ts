/**
 * Graphs and their files (threats.md B-06, B-07, A-19): written records are found
 * by their own vectors, and a damaged file counts as missing.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { seededRandom } from "../../../src/kernel/random.ts";
import { graphFiles } from "../../../src/program/workers/graph-files.ts";
import { SimulatedDisk } from "../disk/simulated-disk.ts";
import { damagedFiles, findBelieved } from "./damaged-graph-files.ts";
import { GraphWorld, MemoryFiles } from "./graph-world.ts";

const FILE = "graph-1-0";
const DIRECTORY = "/area";
const SAMPLE = 100;
const POWER_CUTS = 20;
/** Each restart replays the whole journal. */
const RESTARTS = 2;

describe("a namespace with a graph", () => {
  const world = new GraphWorld();
  const files = new MemoryFiles();

  before(async () => {
    await world.fill();
    await world.write();
  });

  after(() => world.close());

  test("B-07: finds a written record by its own vector, and no deleted one", () => {
    assert.deepEqual(world.faults(SAMPLE), []);
  });

  test("B-06: finds the same after a restart with the file or an older one", async () => {
    await world.save(files);
    await world.restart(files);
    assert.equal(world.pendingCount, 0, "the file holds all of it");
    assert.deepEqual(world.faults(SAMPLE), []);

    await world.write();
    await world.restart(files);
    assert.ok(world.pendingCount > 0, "the file is older than the records");
    assert.deepEqual(world.faults(SAMPLE), []);
  });

  test("B-06, A-19: refuses a file damaged anywhere", async () => {
    await world.save(files);
    const bytes = files.files.get(FILE) as Uint8Array;
    assert.equal(findBelieved(world.builder, world, bytes), undefined);
  });

  test("B-06: a refused file counts as missing", async () => {
    await world.save(files);
    const bytes = files.files.get(FILE) as Uint8Array;
    const random = seededRandom(7);
    const all = [...damagedFiles(bytes)];
    for (let i = 0; i < RESTARTS; i += 1) {
      const { what, damaged } = all[random.below(all.length)] as (typeof all)[number];
      files.files.set(FILE, damaged);
      await world.restart(files);
      assert.equal(world.pendingCount, world.vectors.size, `${what}: nothing of it is used`);
      assert.deepEqual(world.faults(SAMPLE), [], what);
    }
    await world.engine.namespaces[0]?.namespace.graph?.whenBuilt();
    assert.equal(world.pendingCount, 0);
    assert.deepEqual(world.faults(SAMPLE), []);
  });

  test("S-07: a power cut during a write of the file leaves the old one or the new one", async () => {
    const disk = new SimulatedDisk({ seed: 1 });
    await disk.mkdir(DIRECTORY);
    await disk.syncDirectory("/");
    await world.save(graphFiles(disk, DIRECTORY));
    const path = `${DIRECTORY}/${FILE}`;
    const old = disk.bytesOf(path);
    await world.write();

    const left: SimulatedDisk[] = [];
    const random = seededRandom(3);
    disk.onBoundary = () => {
      for (let i = 0; i < POWER_CUTS; i += 1) left.push(disk.afterPowerCut(random));
    };
    await world.save(graphFiles(disk, DIRECTORY));

    const fresh = disk.bytesOf(path);
    assert.ok(!fresh.equals(old), "the graph has changed");
    const found = left.map((each) => each.bytesOf(path));
    assert.ok(found.every((bytes) => bytes.equals(old) || bytes.equals(fresh)));
    assert.ok(found.some((bytes) => bytes.equals(old)) && found.some((bytes) => bytes.equals(fresh)));
    // An unfinished file is not used and does not stay.
    for (const each of left.slice(-RESTARTS)) await world.restart(graphFiles(each, DIRECTORY));
    assert.deepEqual(world.faults(SAMPLE), []);
  });
});
