/** Ranks of rows in files, by a thread, against those of the same rows in memory. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { clusteredRows } from "../../../test/harness/clustered-rows.ts";
import { seededRandom } from "../../kernel/random.ts";
import { type Similarity, similarities } from "../index/definition.ts";
import { HEAD_BYTES, NO_RECORD, RowEntries } from "../row-files/row-entries.ts";
import type { ReadFileNow, RowPlace } from "../row-files/row-file-storage.ts";
import type { PreparedQuery } from "../rows/prepared-query.ts";
import { RowMemory } from "../rows/row-memory.ts";
import { RowStore } from "../rows/row-store.ts";
import type { FileScanResult, RankResult, SearchTask } from "./search-task.ts";
import { SearchThreads } from "./search-threads.ts";
import { TaskRunner, type ToSearchThread } from "./task-runner.ts";

const DIMENSION = 130;
const COUNT = 3_000;
const DESCRIPTOR = 11;

const memory = new RowMemory();
const store = new RowStore(memory, DIMENSION);
store.ensure(COUNT - 1);
const all = clusteredRows(seededRandom(3), { count: COUNT, dimension: DIMENSION, clusters: 20, noise: 0.4 });
const entries = RowEntries.ofCount(DIMENSION, COUNT);
for (let record = 0; record < COUNT; record += 1) {
  const values = all.slice(record * DIMENSION, (record + 1) * DIMENSION);
  store.set(record, values);
  entries.put(record, { version: record + 0.5, squaredLength: store.squaredLength(record), values });
}
const query = memory.prepare(all.slice(0, DIMENSION).map((value) => value + 0.01));

function readEntries(bytes: Uint8Array): ReadFileNow {
  return (descriptor, target, offset) => {
    if (descriptor !== DESCRIPTOR) throw new Error("EBADF");
    const part = bytes.subarray(offset - HEAD_BYTES, offset - HEAD_BYTES + target.length);
    target.set(part);
    return part.length;
  };
}

/** Gives a task to a thread that reads these entries, and lets it end. */
function done<Task extends SearchTask>(
  task: (finished: (result: Parameters<Task["done"]>[0]) => void) => Task,
  bytes = entries.bytes,
): Parameters<Task["done"]>[0] | undefined {
  let runner: TaskRunner | undefined;
  const threads = new SearchThreads({
    count: 1,
    start: (mailbox, events) => {
      const messages: ToSearchThread[] = [];
      const port = {
        receive: () => messages.shift(),
        report: () => events.woke(),
        nowMs: () => 0,
        readFile: readEntries(bytes),
      };
      runner = new TaskRunner(mailbox, port);
      mailbox.setReady();
      return { post: (message) => void messages.push(message), close: async () => {} };
    },
  });
  assert.equal(threads.hasIdle, false);
  let result: Parameters<Task["done"]>[0] | undefined;
  assert.ok(
    threads.take(
      task((each) => {
        result = each;
      }),
      () => {},
    ),
  );
  while (runner?.step() === true);
  threads.collect();
  return result;
}

function placeOf(record: number): RowPlace {
  return { descriptor: DESCRIPTOR, offset: HEAD_BYTES + record * entries.entryBytes, version: record + 0.5 };
}

function rank(
  records: readonly number[],
  options: {
    similarity?: Similarity;
    hitCount?: number;
    distances?: readonly number[];
    bytes?: Uint8Array;
    places?: readonly RowPlace[];
  } = {},
): RankResult {
  const { similarity = "COSINE", hitCount = 0, distances = [], bytes, places = records.map(placeOf) } = options;
  const task = { kind: "rank", costMs: 1, query, similarity, places, hitCount, distances } as const;
  const result = done((finished: (each: RankResult | undefined) => void) => ({ ...task, done: finished }), bytes);
  assert.ok(result);
  return result;
}

function scan(
  records: Uint32Array,
  { count = 10, similarity = "COSINE" as Similarity, bytes = entries.bytes } = {},
): FileScanResult {
  const task = { kind: "file scan", costMs: 1, query, similarity, descriptor: DESCRIPTOR, records, count } as const;
  const result = done((finished: (each: FileScanResult | undefined) => void) => ({ ...task, done: finished }), bytes);
  assert.ok(result);
  return result;
}

/** The records by rank, the best first. */
function sorted(similarity: Similarity, by: PreparedQuery = query): number[] {
  const ranks = Array.from({ length: COUNT }, (_, record) => store.rank(similarity, by, record));
  return [...ranks.keys()].sort((a, b) => (ranks[b] as number) - (ranks[a] as number) || a - b);
}

describe("ranks of places", () => {
  for (const similarity of similarities)
    test(`${similarity} ranks have the same bits as those of rows in memory`, () => {
      const records = [5, 2_999, 0, 77, 1_500, 5];
      const { ranks, isDamaged } = rank(records, { similarity });
      assert.equal(isDamaged, false);
      assert.deepEqual(
        [...ranks],
        records.map((record) => store.rank(similarity, query, record)),
      );
    });

  test("ends when further hits are unlikely, and ranks all without a number of hits", () => {
    const candidates = sorted("COSINE").slice(0, 400);
    assert.equal(rank(candidates).ranks.length, 400);
    // Without an order: after n candidates, more than the last 32 + 3 n / 10 of them are no hits.
    const unordered = rank(candidates, { hitCount: 10, distances: candidates.map(() => 0) });
    assert.equal(unordered.isDamaged, false);
    assert.equal(unordered.ranks.length, 61);
    // With the distances by rows: the 17th is worse than the tenth.
    const distances = candidates.map((record) => 1 - 2 * store.rank("COSINE", query, record));
    assert.equal(rank(candidates, { hitCount: 10, distances }).ranks.length, 16);
  });

  test("reports a changed byte, another version, a missing part and a closed file", () => {
    const changed = entries.bytes.slice();
    changed[placeOf(9).offset - HEAD_BYTES + 100] = (changed[placeOf(9).offset - HEAD_BYTES + 100] as number) ^ 4;
    const good = rank([8]).ranks[0];
    for (const [bytes, bad] of [
      [changed, placeOf(9)],
      [entries.bytes, { ...placeOf(9), version: 8.5 }],
      [entries.bytes.subarray(0, 9 * entries.entryBytes + 5), placeOf(9)],
      [entries.bytes, { ...placeOf(9), descriptor: 12 }],
    ] as const) {
      const { ranks, isDamaged } = rank([], { bytes, places: [placeOf(8), bad, placeOf(7)] });
      assert.equal(isDamaged, true);
      assert.deepEqual([...ranks], [good]);
    }
  });
});

describe("scans of files", () => {
  const every = Uint32Array.from({ length: COUNT }, (_, record) => record);

  for (const similarity of similarities)
    test(`a scan finds the best by ${similarity}`, () => {
      const { records, ranks, isComplete, isDamaged } = scan(every, { similarity });
      assert.deepEqual([isComplete, isDamaged], [true, false]);
      const wanted = sorted(similarity).slice(0, 10);
      assert.deepEqual([...records.slice(0, 10)], wanted);
      assert.equal(ranks[0], store.rank(similarity, query, wanted[0] as number));
    });

  test("a scan omits entries without a record, damaged ones too", () => {
    const [best = 0, second = 0] = sorted("COSINE");
    const bytes = entries.bytes.slice().fill(0, best * entries.entryBytes, (best + 1) * entries.entryBytes);
    assert.equal(scan(every, { bytes }).isDamaged, true);
    const records = every.slice();
    records[best] = NO_RECORD;
    const result = scan(records, { bytes });
    assert.equal(result.isDamaged, false);
    assert.equal(result.records[0], second);
  });
});

test("a thread that reads no files loses the task", () => {
  const results: unknown[] = [];
  let runner: TaskRunner | undefined;
  const threads = new SearchThreads({
    count: 1,
    start: (mailbox) => {
      const messages: ToSearchThread[] = [];
      runner = new TaskRunner(mailbox, { receive: () => messages.shift(), report: () => {}, nowMs: () => 0 });
      mailbox.setReady();
      return { post: (message) => void messages.push(message), close: async () => {} };
    },
  });
  assert.equal(threads.hasIdle, false);
  const task = { kind: "rank", costMs: 1, query, similarity: "COSINE", places: [placeOf(1)], hitCount: 0 } as const;
  assert.ok(
    threads.take({ ...task, distances: [], done: (result: RankResult | undefined) => results.push(result) }, () => {}),
  );
  while (runner?.step() === true);
  threads.collect();
  assert.deepEqual(results, [undefined]);
});
