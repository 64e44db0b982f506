/** The workflow options in headers. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { isWorkflowHeader, readWorkflowOptions } from "./workflow-options.ts";

const nothing = {
  runId: undefined,
  url: undefined,
  isInit: false,
  callType: "step",
  isInvoke: false,
  isRepublished: false,
  isUnknownSdk: false,
  features: [],
  hasRetries: false,
};

const rows: readonly (readonly [given: string, read: object | undefined])[] = [
  ["", undefined],
  ["feature-set=LazyFetch", undefined],
  ["workflow-init=false", undefined],
  ["workflow-init=true", { ...nothing, isInit: true }],
  ["workflow-runid=wfr_1", { ...nothing, runId: "wfr_1" }],
  ["workflow-runid=wfr_1; workflow-runid=wfr_2", { ...nothing, runId: "wfr_1" }],
  ["workflow-runid=a; workflow-url=https://a.test", { ...nothing, runId: "a", url: "https://a.test" }],
  ["workflow-runid=a; workflow-calltype=toCallback", { ...nothing, runId: "a", callType: "toCallback" }],
  ["workflow-init=True; workflow-invoke=true", { ...nothing, isInit: true, isInvoke: true }],
  ["workflow-init=true; workflow-trigger-by-sdk=true", { ...nothing, isInit: true, isRepublished: true }],
  ["workflow-init=true; workflow-unknown-sdk=true", { ...nothing, isInit: true, isUnknownSdk: true }],
  [
    "workflow-init=true; feature-set=LazyFetch,InitialBody, WF_DetectTrigger",
    { ...nothing, isInit: true, features: ["LazyFetch", "WF_DetectTrigger"] },
  ],
];

for (const [given, read] of rows) {
  // W.headers, W.headers.run-id, W.headers.init, W.headers.url, W.headers.call-type, W.headers.invoke,
  // W.headers.features, W.headers.unknown-sdk, W.headers.by-sdk
  test(`read: ${given}`, () => {
    const own = given === "" ? [] : given.split("; ").flatMap((pair) => pair.split("="));
    assert.deepEqual(readWorkflowOptions(own, false), read);
  });
}

test("W.run: a run id is at most 512 characters of visible ASCII", () => {
  for (const id of ["", "a b", "é", "x".repeat(513)]) {
    assert.throws(() => readWorkflowOptions(["workflow-runid", id], false), { kind: "bad request" }, id);
  }
  assert.equal(readWorkflowOptions(["workflow-runid", "x".repeat(512)], true)?.hasRetries, true);
});

test("names of workflow options are recognized by their start", () => {
  for (const name of ["workflow-runid", "workflow-anything", "feature-set"]) assert.ok(isWorkflowHeader(name), name);
  for (const name of ["workflow", "forward-workflow-x", "retries"]) assert.ok(!isWorkflowHeader(name), name);
});
