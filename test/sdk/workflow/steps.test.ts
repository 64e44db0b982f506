/** Runs with sequential steps, forks and sleeps, as the official client serves them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Application, outline } from "./application.ts";

const app = new Application();

test("W.step, W.logs.run, W.logs.groups: a run of two steps takes three deliveries, and its log has results and answer", async () => {
  const url = app.workflow("two", async (context) => {
    const first = await context.run("first", () => `got ${context.requestPayload}`);
    const second = await context.run("second", () => ({ first, header: context.headers.get("x-team") }));
    return { second };
  });

  const { workflowRunId } = await app.client.trigger({ url, body: "hello", headers: { "x-team": "blue" }, retries: 2 });
  const run = await app.ended(workflowRunId);

  assert.equal(run.workflowState, "RUN_SUCCESS");
  assert.deepEqual(JSON.parse(run.workflowRunResponse ?? ""), { second: { first: "got hello", header: "blue" } });
  assert.deepEqual(outline(run), [
    ["sequential", "init STEP_SUCCESS"],
    ["sequential", "first STEP_SUCCESS"],
    ["sequential", "second STEP_SUCCESS"],
  ]);
  assert.deepEqual(run.steps[1]?.steps[0]?.["out"], '"got hello"');
  assert.equal(app.count("two"), 3);
});

test("W.parallel, W.logs.groups, W.one-delivery: a fork of three takes seven deliveries and is one group", async () => {
  const url = app.workflow("fork", async (context) => {
    const parts = await Promise.all([context.run("a", () => 1), context.run("b", () => 2), context.run("c", () => 3)]);
    return parts;
  });

  const { workflowRunId } = await app.client.trigger({ url });
  const run = await app.ended(workflowRunId);

  assert.equal(run.workflowRunResponse, "[1,2,3]");
  assert.deepEqual(outline(run), [
    ["sequential", "init STEP_SUCCESS"],
    ["parallel", "a STEP_SUCCESS", "b STEP_SUCCESS", "c STEP_SUCCESS"],
  ]);
  assert.equal(app.count("fork"), 7);
});
