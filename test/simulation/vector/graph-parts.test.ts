/**
 * Graphs in parts (`parts-world.ts`), and the files of their parts.
 *
 * To repeat:  LARDER_VECTOR_PARTS_SEED=… npm run t -- test/simulation/vector/graph-parts.test.ts
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { allowanceOf, spending } from "../../budget.ts";
import { seedFrom } from "../../harness/seed.ts";
import { GraphWorld, MemoryFiles } from "./graph-world.ts";
import { runPartsWorld } from "./parts-world.ts";

const PART_RECORDS = 1_024;
const SAMPLE = 40;

const seed = seedFrom("LARDER_VECTOR_PARTS_SEED");

test("answers over a graph in parts are those of brute force, through changes, moves and starts", async (context) => {
  let answers = 0;
  let parts = 0;
  let worlds = 0;
  for (const isSpent = spending(allowanceOf("vector-parts")); !isSpent(worlds); worlds += 1) {
    const { fault, answerCount, partCount } = await runPartsWorld(seed + worlds);
    assert.equal(fault, undefined, `LARDER_VECTOR_PARTS_SEED=${seed + worlds}`);
    answers += answerCount;
    parts = Math.max(parts, partCount);
  }
  context.diagnostic(`SEED=${seed}: ${worlds} worlds, ${answers} answers, ${parts} parts at most`);
  assert.ok(parts > 1, "the graph had several parts");
});

test("a file of a graph that was not in parts is used, and its records move to parts when they change", async () => {
  const world = new GraphWorld();
  const files = new MemoryFiles();
  await world.fill();
  await world.save(files);
  assert.deepEqual([...files.files.keys()], ["graph-1-0"]);
  const sizes = (): readonly number[] =>
    world.engine.namespaces[0]?.namespace.graph?.parts.map(({ recordCount }) => recordCount) ?? [];

  await world.restart(files, PART_RECORDS);
  assert.deepEqual([world.pendingCount, sizes()], [0, [4_000]]);
  await world.write();
  assert.equal(sizes().length, 2);
  assert.deepEqual(world.faults(SAMPLE), []);
  await world.save(files);
  assert.deepEqual([...files.files.keys()], ["graph-1-0", "graph-1-0-1"]);

  const before = sizes();
  await world.restart(files, PART_RECORDS);
  assert.deepEqual([world.pendingCount, sizes()], [0, before]);
  assert.deepEqual(world.faults(SAMPLE), []);
  world.close();
});

test("a start removes the files of parts that do not exist", async () => {
  const world = new GraphWorld();
  const files = new MemoryFiles();
  await world.fill();
  await world.save(files);
  const bytes = files.files.get("graph-1-0") as Uint8Array;
  for (const name of ["graph-1-0-2", "graph-1-0-255", "graph-1-0-99999999999999999999", "graph-1-7-1", "graph-2-0-1"])
    files.files.set(name, bytes);
  await world.restart(files);

  // The copy for this namespace is refused: all its records are in the first part.
  assert.deepEqual([...files.files.keys()], ["graph-1-0"]);
  assert.equal(world.pendingCount, 0);
  world.close();
});
