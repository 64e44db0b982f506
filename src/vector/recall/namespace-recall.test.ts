/** Which class of queries of a namespace is measured next. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../kernel/random.ts";
import { compileFilter } from "../filter/filter.ts";
import { type Measurement, NamespaceRecall } from "./namespace-recall.ts";
import { RecallTally } from "./recall-tally.ts";

/** topK 1 to 10 and 11 to 100, without a filter. */
const SMALL = 0;
const LARGE = 4;
const ROWS = 1_000;

function recallOf(insertCount = (): number => 0): NamespaceRecall {
  return new NamespaceRecall(
    () => ({ recallTarget: 0.99, effortMax: 4_000 }),
    seededRandom(1),
    () => ({ rowCount: ROWS, insertCount: insertCount(), missedShare: 0 }),
  );
}

function noteQueries(recall: NamespaceRecall, count: number, topK: number): void {
  const query = { vector: Float32Array.of(1), filter: compileFilter(""), count: topK };
  for (let i = 0; i < count; i += 1) recall.note(query, undefined);
}

/** Of walks that found everything, with `queryCount` recent queries that have hits, of `sampledCount`. */
function measurementOf(queryCount: number, sampledCount = queryCount): Measurement {
  const [records, queries] = [new RecallTally(), new RecallTally()];
  for (let i = 0; i < 200; i += 1) records.add(10, 10);
  for (let i = 0; i < queryCount; i += 1) queries.add(10, 10);
  const tally = { records, queries, walkCount: 200, scanCount: 0 };
  return { firstLevel: 0, levels: new Array(10).fill(tally), countMax: 10, sampledCount };
}

test("while records change fast, classes are measured in turn", () => {
  const recall = recallOf();
  noteQueries(recall, 1, 100);
  const measured: (number | undefined)[] = [];
  for (let nowMs = 0; nowMs < 6; nowMs += 1) {
    // Half of the records, since the last measurement.
    const size = { rowCount: ROWS, insertCount: nowMs * (ROWS / 2) };
    const number = recall.findDue(nowMs, size);
    measured.push(number);
    if (number !== undefined) recall.settle(number, measurementOf(0), { nowMs, size });
  }
  assert.deepEqual(measured, [SMALL, LARGE, SMALL, LARGE, SMALL, LARGE]);
});

test("after a tenth of the records has changed, the effort is twice as large until the next measurement", () => {
  let insertCount = 0;
  const recall = recallOf(() => insertCount);
  const settle = (): void => {
    recall.settle(SMALL, measurementOf(0), { nowMs: 0, size: { rowCount: ROWS, insertCount } });
  };
  const effort = (): number => recall.effortFor(10, undefined);
  settle();
  assert.equal(effort(), 114);
  insertCount = 100;
  assert.equal(effort(), 114);
  insertCount = 101;
  assert.equal(effort(), 227);
  // A class without measurements has the effort of queries without a filter.
  assert.equal(recall.effortFor(10, 0.7), 227);
  settle();
  assert.equal(effort(), 80);
});

test("recent queries without a hit do not make a class due again and again", () => {
  const size = { rowCount: ROWS, insertCount: 0 };
  const dueAfter = (measurement: Measurement): number | undefined => {
    const recall = recallOf();
    noteQueries(recall, 60, 10);
    recall.settle(SMALL, measurement, { nowMs: 0, size });
    return recall.findDue(1, size);
  };
  assert.equal(dueAfter(measurementOf(40, 60)), undefined);
  assert.equal(dueAfter(measurementOf(40)), SMALL, "fifty queries came since");
});
