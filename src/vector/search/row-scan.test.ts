import assert from "node:assert/strict";
import { test } from "node:test";
import { RowMemory } from "../rows/row-memory.ts";
import { RowStore } from "../rows/row-store.ts";
import type { ScanResult, ScanTask, SearchTask, TaskTaker } from "../threads/search-task.ts";
import { RowScan } from "./row-scan.ts";

const DIMENSION = 4;
const COUNT = 400;
const readsNothing: Pick<TaskTaker, "takeRead" | "waitFor"> = {
  takeRead: () => "never",
  waitFor: () => assert.fail("rows in memory are there"),
};

/** Row r is r in every value. */
function storeOf(memory: RowMemory): RowStore {
  const store = new RowStore(memory, DIMENSION);
  store.ensure(COUNT - 1);
  for (let record = 0; record < COUNT; record += 1) store.set(record, new Float32Array(DIMENSION).fill(record));
  return store;
}

/** A scan for the rows nearest to 0, and the task of it that is taken. */
function takenScan(
  store: RowStore,
  { excluded = new Set<number>() }: { readonly excluded?: ReadonlySet<number> } = {},
): { scan: RowScan; task: ScanTask } {
  const options = {
    query: new Float32Array(DIMENSION),
    similarity: "EUCLIDEAN",
    count: 3,
    order: (record: number) => record,
    excluded,
  } as const;
  const scan = new RowScan(store, options, 5);
  const tasks: SearchTask[] = [];
  const taker: TaskTaker = { ...readsNothing, wants: (costMs) => costMs === 5, take: (task) => tasks.push(task) === 1 };
  assert.equal(scan.step(taker), false);
  const [task] = tasks;
  assert.ok(task?.kind === "scan");
  return { scan, task };
}

const recordsOf = (scan: RowScan): readonly number[] => scan.hits().map(({ record }) => record);

/** As if another thread had found these, which are not the nearest. */
const others: ScanResult = {
  records: Uint32Array.of(9, 7, 8),
  ranks: Float32Array.of(0.5, 0.75, 0.5),
  isComplete: true,
};

test("takes the hits of another thread over, and sorts equal ranks by their order", () => {
  const { scan, task } = takenScan(storeOf(new RowMemory()));
  task.done(others);
  assert.equal(scan.step(), true);
  assert.deepEqual(recordsOf(scan), [7, 8, 9]);
});

test("scans again if a block was freed while another thread scanned", () => {
  const store = storeOf(new RowMemory());
  const { scan, task } = takenScan(store);
  store.truncate(10);
  task.done(others);
  assert.equal(scan.step(), true);
  assert.deepEqual(recordsOf(scan), [0, 1, 2]);
});

test("scans again if equal ranks may be missing, and if the thread has ended", () => {
  for (const result of [{ ...others, isComplete: false }, undefined]) {
    const { scan, task } = takenScan(storeOf(new RowMemory()));
    task.done(result);
    assert.equal(scan.step(), true);
    assert.deepEqual(recordsOf(scan), [0, 1, 2]);
  }
});

test("another thread gets bits without the excluded records", () => {
  const { task } = takenScan(storeOf(new RowMemory()), { excluded: new Set([0, 33]) });
  assert.deepEqual([...(task.matches ?? [])].slice(0, 3), [0xffff_fffe, 0xffff_fffd, 0xffff_ffff]);
});

test("scans here if no thread wants it", () => {
  const store = storeOf(new RowMemory());
  const options = {
    query: new Float32Array(DIMENSION),
    similarity: "EUCLIDEAN",
    count: 2,
    order: (record: number) => record,
  } as const;
  const scan = new RowScan(store, options, 5);
  const taker: TaskTaker = { ...readsNothing, wants: () => false, take: () => assert.fail("it was not wanted") };
  assert.equal(scan.step(taker), true);
  assert.deepEqual(recordsOf(scan), [0, 1]);
});
