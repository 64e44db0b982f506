/** Filters of workflow runs from query and body. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Parameters } from "../parameters.ts";
import { readRunsFilter, runsFilterRows } from "./runs.ts";

function read(query: string, isChange = false, body?: object) {
  const parameters = new Parameters(query, body === undefined ? undefined : Buffer.from(JSON.stringify(body)));
  return readRunsFilter(parameters, { isChange, others: ["count"] });
}

const rows: readonly (readonly [query: string, filter: object])[] = [
  ["", {}],
  ["workflowRunIds=a,b&workflowRunId=c", { ids: ["a", "b", "c"] }],
  ["workflowUrl=https://a.test/x,y,https://b.test", { urls: ["https://a.test/x,y", "https://b.test"] }],
  ["workflowUrlStartingWith=https://a.test", { urlPrefixes: ["https://a.test"] }],
  ["host=a.test,b.test:81", { hosts: ["a.test", "b.test:81"] }],
  ["path=/a,b,/c", { paths: ["/a,b", "/c"] }],
  ["fromDate=1&toDate=2", { fromMs: 1, toMs: 2 }],
  ["workflowCreatedAt=5", { createdAtMs: [5] }],
  ["state=RUN_SUCCESS,run_cancelled", { states: [1, 3] }],
  ["label=a&label=b", { labels: ["a", "b"] }],
  ["flowControlKey=k", { flowControlKeys: ["k"] }],
  ["callerIp=::1", { callerIps: ["::1"] }],
  ["callerIP=::1", { callerIps: ["::1"] }],
  ["unknown=1&label=", {}],
];

for (const [query, filter] of rows) {
  test(`a list by ${query === "" ? "nothing" : query}`, () => assert.deepEqual(read(query), filter));
}

test("covers every row of the table", () => {
  const used = new Set(rows.flatMap(([query]) => [...new URLSearchParams(query).keys()]));
  assert.deepEqual(
    runsFilterRows.filter(({ name }) => !used.has(name)),
    [],
  );
});

test("a cancellation matches prefixes of URLs, unless an exact match is requested", () => {
  assert.deepEqual(read("workflowUrl=https://a.test", true), { urlPrefixes: ["https://a.test"] });
  assert.deepEqual(read("workflowUrl=https://a.test&workflowUrlExactMatch=true", true), { urls: ["https://a.test"] });
  assert.deepEqual(read("count=5", true, { workflowRunIds: ["a"], label: null }), { ids: ["a"] });
});

test("a change refuses unknown names and empty values", () => {
  for (const [query, text] of [
    ["labeel=a", "Unknown filter: labeel"],
    ["label=", "Invalid value for label: it must not be empty"],
    ["state=LOST", 'Invalid value for state: "LOST": use one of RUN_STARTED, RUN_SUCCESS, RUN_FAILED, RUN_CANCELED'],
    ["fromDate=x", 'Invalid value for fromDate: "x": it must be a whole number'],
  ] as const) {
    assert.throws(() => read(query, true), { kind: "bad request", text }, query);
  }
});
