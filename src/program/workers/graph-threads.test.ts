import assert from "node:assert/strict";
import { test } from "node:test";
import { atOnce } from "../../../test/harness/at-once.ts";
import { clusteredRows, nearestRows } from "../../../test/harness/clustered-rows.ts";
import type { Log, LogFields } from "../../kernel/log.ts";
import { seededRandom } from "../../kernel/random.ts";
import { nextTurn } from "../../kernel/turn.ts";
import { threadGraphBuilder } from "./graph-threads.ts";

const DIMENSION = 24;
const COUNT = 6_000;

const all = clusteredRows(seededRandom(99), { count: COUNT, dimension: DIMENSION, clusters: 60, noise: 0.4 });
const rowOf = (record: number): Float32Array => all.subarray(record * DIMENSION, (record + 1) * DIMENSION);
const options = { dimension: DIMENSION, similarity: "COSINE", read: rowOf } as const;

function recordingLog(): { log: Log; lines: string[] } {
  const lines: string[] = [];
  const write = (event: string, _fields?: LogFields): void => {
    lines.push(event);
  };
  const log: Log = { debug: write, info: write, warn: write, error: write, with: () => log };
  return { log, lines };
}

test("searches and removals while another thread builds see only live records", async () => {
  const { log, lines } = recordingLog();
  const threads = threadGraphBuilder({ log });
  const graph = threads.open(options);
  const removed = new Set<number>();
  for (let record = 0; record < COUNT; record += 1) graph.insert(record, record);

  let searchCount = 0;
  for (let turn = 0; graph.pendingCount > 0; turn += 1) {
    const query = rowOf((turn * 37) % COUNT);
    const { records, count } = graph.search({ query, count: 20, effort: 40 });
    const hits = [...records.subarray(0, count)];
    assert.equal(new Set(hits).size, count);
    for (const hit of hits) assert.ok(!removed.has(hit) && !graph.isPending(hit), `record ${hit}`);
    searchCount += count > 0 ? 1 : 0;
    if (removed.size < 500) {
      const record = (turn * 101) % COUNT;
      graph.remove(record);
      removed.add(record);
    }
    await nextTurn();
  }

  assert.ok(searchCount > 0);
  assert.equal(graph.count, COUNT - removed.size);
  const among = Array.from({ length: COUNT }, (_, record) => record).filter((record) => !removed.has(record));
  let found = 0;
  for (let record = 0; record < COUNT; record += 300) {
    const nearest = nearestRows(rowOf(record), { similarity: "COSINE", count: 10, among, rowOf });
    const { records, count } = graph.search({ query: rowOf(record), count: 50, effort: 64 });
    const hits = new Set(records.subarray(0, count));
    found += nearest.filter((wanted) => hits.has(wanted)).length;
  }
  assert.ok(found >= 198, `${found} of 200`);
  assert.deepEqual(lines, []);
  await threads.close();
});

test("the thread continues to build a loaded graph", async () => {
  const { log } = recordingLog();
  const threads = threadGraphBuilder({ log });
  const first = threads.open(options);
  for (let record = 0; record < 1_000; record += 1) first.insert(record, record);
  await first.whenBuilt();
  const bytes = await first.save();
  assert.ok(bytes);

  const records = Array.from({ length: 1_500 }, (_, record) => ({ record, version: record }));
  const loaded = atOnce(threads.load(options, bytes, records));

  assert.ok(loaded.kind === "loaded");
  assert.equal(loaded.graph.count, 1_000);
  await loaded.graph.whenBuilt();
  assert.equal(loaded.graph.count, 1_500);
  await threads.close();
});

test("gives up a thread that always ends: records stay pending, and the log has it", async () => {
  const { log, lines } = recordingLog();
  const source = `import { parentPort } from "node:worker_threads"; parentPort.on("message", () => process.exit(3));`;
  const workerFile = new URL(`data:text/javascript,${encodeURIComponent(source)}`);
  const threads = threadGraphBuilder({ log, workerFile });
  const graph = threads.open(options);
  for (let record = 0; record < 100; record += 1) graph.insert(record, record);

  await graph.whenBuilt();

  assert.equal(graph.pendingCount, 100);
  assert.deepEqual(lines, Array(3).fill("the thread that builds graphs ended, and its graphs are rebuilt"));
  await threads.close();
});
