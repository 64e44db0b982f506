import assert from "node:assert/strict";
import { test } from "node:test";
import { clusteredRows } from "../../../test/harness/clustered-rows.ts";
import { seededRandom } from "../../kernel/random.ts";
import type { BuildEvents, GraphBuildQueue } from "./build-queue.ts";
import { GraphGeneration } from "./graph-generation.ts";
import { GROUND_LINKS, GraphKernel, LEVEL_MAX, UPPER_LINKS } from "./graph-kernel.ts";
import { GraphWriter } from "./graph-writer.ts";

const DIMENSION = 64;
const COUNT = 20_000;

const all = clusteredRows(seededRandom(3), { count: COUNT, dimension: DIMENSION, clusters: 50, noise: 0.4 });
const rowOf = (record: number): Float32Array => all.subarray(record * DIMENSION, (record + 1) * DIMENSION);
const options = { dimension: DIMENSION, similarity: "COSINE", read: rowOf } as const;

/** A queue that builds its batches at the end of the turn. */
function promptQueue(): GraphBuildQueue {
  return {
    open: (kernel: GraphKernel, events: BuildEvents) => {
      const writer = new GraphWriter(kernel, seededRandom(4));
      let isClosed = false;
      return {
        build: (batch) => {
          queueMicrotask(() => {
            if (isClosed) return;
            writer.insert(batch, 0, batch.records.length);
            events.built(batch, writer.maintenance.takeReport(0));
          });
        },
        maintain: (work) => {
          queueMicrotask(() => {
            if (isClosed) return;
            writer.maintenance.run(work);
            events.maintained(writer.maintenance.takeReport(0));
          });
        },
        close: () => {
          isClosed = true;
        },
      };
    },
    finish: () => {},
  };
}

test("when the memory is full, further records stay pending, and those in the graph are found", async () => {
  // About 2 MiB besides the scratch: two blocks of nodes.
  const kernel = GraphKernel.create(DIMENSION, "COSINE", 48);
  const generation = new GraphGeneration(kernel, options);
  const isStuck = new Promise<void>((resolve) => {
    const onChange = (): void => {
      if (generation.isStuck) resolve();
    };
    generation.open(promptQueue(), { onChange, onSent: () => {}, onLost: () => {} });
  });
  for (let record = 0; record < COUNT; record += 1) generation.insert(record);
  await isStuck;

  assert.ok(generation.liveCount > 4_000, `${generation.liveCount} live`);
  assert.equal(generation.liveCount + generation.pendingCount, COUNT);
  assert.equal(new Set(generation.pending()).size, generation.pendingCount);
  const { count, records } = generation.search({ query: rowOf(0), count: 20, effort: 64 });
  assert.equal(count, 20);
  assert.ok(records.subarray(0, count).every((record) => !generation.isPending(record)));
  // A new filter needs memory: without it nothing is found, and the result says so.
  const accepts = new Uint32Array(400_000);
  const filtered = generation.search({ query: rowOf(0), count: 20, effort: 64, accepts });
  assert.equal(filtered.count, 0);
  assert.equal(filtered.isComplete, false);
  // Records can still be removed, and those inserted again wait.
  const [record] = records;
  generation.remove(record as number);
  assert.equal(generation.search({ query: rowOf(0), count: 1, effort: 64 }).records[0] === record, false);
  generation.insert(record as number);
  assert.equal(generation.isPending(record as number), true);
});

test("a record whose node is lost is pending until it has a new one", async () => {
  const kernel = GraphKernel.create(DIMENSION, "COSINE");
  const generation = new GraphGeneration(kernel, options);
  const report = new GraphWriter(kernel as GraphKernel, seededRandom(4)).maintenance.takeReport(0);
  let events: BuildEvents | undefined;
  const queue: GraphBuildQueue = {
    open: (opened, given) => {
      events = given;
      return promptQueue().open(opened, given);
    },
    finish: () => {},
  };
  generation.open(queue, { onChange: () => {}, onSent: () => {}, onLost: () => {} });
  for (let record = 0; record < 100; record += 1) generation.insert(record);
  while (generation.pendingCount > 0) await Promise.resolve();
  const nodeOf7 = Array.from({ length: 100 }, (_, node) => node).find((node) => generation.recordOfNode(node) === 7);
  generation.remove(9);
  const nodeOf9 = Array.from({ length: 100 }, (_, node) => node).find((node) => kernel?.code.recordOf(node) === 9);

  events?.maintained({ ...report, checkedCount: 100, missedCount: 2, lost: [nodeOf7 as number, nodeOf9 as number] });
  assert.deepEqual([...generation.pending()], [7]);
  assert.equal(generation.liveCount, 98);
  while (generation.pendingCount > 0) await Promise.resolve();
  assert.equal(generation.liveCount, 99);
  assert.equal(generation.deadCount, 2);
});

test("checks become due with changes, and a third of the records changed is a check of all", async () => {
  const kernel = GraphKernel.create(DIMENSION, "COSINE");
  const generation = new GraphGeneration(kernel, options);
  generation.open(promptQueue(), { onChange: () => {}, onSent: () => {}, onLost: () => {} });
  const checksDone = async (): Promise<number> => {
    let count = 0;
    while (generation.wantsMaintenance) count += (await generation.maintain())?.checkedCount ?? 0;
    return count;
  };
  for (let record = 0; record < 300; record += 1) generation.insert(record);
  while (generation.pendingCount > 0) await Promise.resolve();
  assert.equal(await checksDone(), 300);

  for (let record = 0; record < 20; record += 1) generation.insert(record);
  while (generation.pendingCount > 0) await Promise.resolve();
  assert.ok(generation.wantsMaintenance);
  const again = await checksDone();
  // Nodes that are not live are skipped.
  assert.ok(again >= 50 && again <= 60, `${again} checks`);
  generation.close();
  assert.equal(generation.wantsMaintenance, false);
});

test("without any memory all records are pending, and a search reports that it is incomplete", () => {
  const generation = new GraphGeneration(undefined, options);
  generation.open(promptQueue(), { onChange: () => {}, onSent: () => {}, onLost: () => {} });
  generation.insert(5);

  assert.deepEqual([...generation.pending()], [5]);
  assert.equal(generation.isStuck, true);
  assert.equal(generation.search({ query: rowOf(0), count: 1, effort: 1 }).isComplete, false);
  generation.remove(5);
  assert.equal(generation.pendingCount, 0);
});

test("refuses a row of another dimension before it is written", () => {
  const kernel = GraphKernel.create(DIMENSION, "COSINE");

  assert.throws(() => kernel?.putRow(new Float32Array(DIMENSION + 1)), /a row has the dimension of the graph/);
});

test("the constants of links and levels equal those of the WebAssembly code", () => {
  const code = GraphKernel.create(DIMENSION, "COSINE")?.code;

  assert.equal(code?.GROUND_LINKS.value, GROUND_LINKS);
  assert.equal(code?.UPPER_LINKS.value, UPPER_LINKS);
  assert.equal(code?.LEVEL_MAX.value, LEVEL_MAX);
});
