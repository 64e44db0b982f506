import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import type { ScoredView } from "../../vector/mod.ts";
import { printRange, printRecord, printRecords, printResult, printResumable, printScores } from "./record-json.ts";

const whole: ScoredView = {
  data: 'é "quoted"\n',
  metadata: '{"b":1,"a":"é"}',
  sparseVector: { indices: Int32Array.of(7, -7), values: Float32Array.of(0.25, 1e-7) },
  vector: Float32Array.of(0.1, -0, 1e21),
  score: Math.fround(0.033333335),
  id: 'a"\\\u0001é',
};
const wholeText =
  '{"id":"a\\"\\\\\\u0001é","score":0.033333335,"vector":[0.1,-0.0,1e+21],"sparseVector":{"indices":[7,-7],"values":[0.25,1e-7]},"metadata":{"b":1,"a":"é"},"data":"é \\"quoted\\"\\n"}';

test("a hit has its members in a fixed order, without absent ones", () => {
  assert.equal(printScores([[whole]]).toString(), `{"result":[${wholeText}]}`);
  assert.equal(
    printScores([
      [
        { id: "1", score: 1 },
        { id: "2", score: 0.5, data: "" },
      ],
    ]).toString(),
    '{"result":[{"id":"1","score":1.0},{"id":"2","score":0.5,"data":""}]}',
  );
});

test("B.numbers: floats are printed as floats, and indices as integers", () => {
  const sparseVector = { indices: Int32Array.of(1, 2, 3, 4), values: Float32Array.of(5, -6, 0, -0) };
  assert.equal(
    printScores([[{ id: "a", score: 5, vector: Float32Array.of(16_777_216, -0), sparseVector }]]).toString(),
    '{"result":[{"id":"a","score":5.0,"vector":[16777216.0,-0.0],"sparseVector":{"indices":[1,2,3,4],"values":[5.0,-6.0,0.0,-0.0]}}]}',
  );
});

test("B2: the hits of one query are not nested, those of several are in a list", () => {
  const hit = { id: "a", score: 0 };
  assert.equal(printScores([[]]).toString(), '{"result":[]}');
  assert.equal(printScores([[], [hit]]).toString(), '{"result":[[],[{"id":"a","score":0.0}]]}');
  assert.equal(printScores([]).toString(), '{"result":[]}');
});

test("a missing record is null", () => {
  assert.equal(
    printRecords([{ id: "a" }, undefined, { id: "b", vector: new Float32Array(0) }]).toString(),
    '{"result":[{"id":"a"},null,{"id":"b","vector":[]}]}',
  );
  assert.equal(printRecords([]).toString(), '{"result":[]}');
  assert.equal(printRecord(undefined).toString(), '{"result":null}');
  assert.equal(printRecord({ id: "a", metadata: "{}" }).toString(), '{"result":{"id":"a","metadata":{}}}');
});

test("B1: a page has its cursor before its records", () => {
  assert.equal(
    printRange({ nextCursor: "5", vectors: [{ id: "a" }] }).toString(),
    '{"result":{"nextCursor":"5","vectors":[{"id":"a"}]}}',
  );
  assert.equal(printRange({ nextCursor: "", vectors: [] }).toString(), '{"result":{"nextCursor":"","vectors":[]}}');
});

test("the start of a resumable query has its uuid and its first hits", () => {
  assert.equal(
    printResumable({ uuid: "u", scores: [{ id: "a", score: 1 }] }).toString(),
    '{"result":{"uuid":"u","scores":[{"id":"a","score":1.0}]}}',
  );
});

test("other results are printed as JSON", () => {
  assert.equal(printResult("Success").toString(), '{"result":"Success"}');
  assert.equal(printResult({ deleted: 2 }).toString(), '{"result":{"deleted":2}}');
});

test("long answers of all kinds are complete", () => {
  const records = Array.from({ length: 300 }, (_, index) => ({
    id: `é${index}`.repeat(10),
    score: index / 4,
    ...(index % 2 === 0 ? { vector: Float32Array.from({ length: index * 7 }, (_, at) => at / 4) } : {}),
    ...(index % 3 === 0 ? { metadata: `{"text":"${"ü".repeat(index * 3)}"}` } : {}),
    ...(index % 5 === 0 ? { data: "\n😀".repeat(index * 20) } : {}),
  }));

  const { result } = JSON.parse(printScores([records]).toString());

  const expected = records.map((record) => ({
    ...record,
    ...("vector" in record ? { vector: Array.from(record.vector ?? []) } : {}),
    ...("metadata" in record ? { metadata: JSON.parse(record.metadata ?? "") } : {}),
  }));
  // deepEqual would print a difference of megabytes.
  assert.ok(isDeepStrictEqual(result, expected));
});

test("an answer belongs to its caller: the next one does not change it", () => {
  const vector = Float32Array.of(1, 2);
  const first = printRecords([{ id: "a", vector }]);
  printRecords([{ id: "b", vector }]);
  assert.equal(first.toString(), '{"result":[{"id":"a","vector":[1.0,2.0]}]}');
});
