/** Forks of every kind of step, as the official client serves them: their results, and the number of deliveries. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Application, invokable, outline, type RouteFunction } from "./application.ts";

const app = new Application();

test("waits in a fork: one gets its event, one times out; each takes a plan and a result", async () => {
  const url = app.workflow("waits", async (context) => {
    const [heard, late] = await Promise.all([
      context.waitForEvent<string>("hears", "paid", { timeout: "1d" }),
      context.waitForEvent("late", "never", { timeout: "1m" }),
    ]);
    return [heard.eventData, heard.timeout, late.timeout];
  });
  const { workflowRunId } = await app.client.trigger({ url });
  const waiting = await app.until(workflowRunId, ({ steps }) => {
    return steps[1]?.steps.filter((step) => step["waitTimeoutDeadline"] !== undefined).length === 2;
  });
  assert.deepEqual(outline(waiting), [
    ["sequential", "init STEP_SUCCESS"],
    ["parallel", "hears STEP_PROGRESS", "late STEP_PROGRESS"],
  ]);
  assert.equal(app.count("waits"), 3);

  assert.equal((await app.client.notify({ eventId: "paid", eventData: "yes" })).length, 1);
  await app.until(workflowRunId, ({ steps }) => steps[1]?.steps[0]?.["state"] === "STEP_SUCCESS");
  await app.larder.clock.advance(60_000);

  const run = await app.ended(workflowRunId);
  assert.deepEqual(JSON.parse(run.workflowRunResponse ?? ""), ["yes", false, true]);
  assert.partialDeepStrictEqual(run.steps[1]?.steps, [
    { stepId: 1, waitEventId: "paid", waitTimeoutDuration: "1d", waitTimeout: false },
    { stepId: 2, waitEventId: "never", waitTimeoutDuration: "1m", waitTimeout: true },
  ]);
  assert.equal(app.count("waits"), 1 + 2 * 2);
});

test("a fork of a step, a sleep, a call, a wait and an invoke, and a step after it", async () => {
  const third = app.route("third", async () => Response.json("third"));
  const inner: RouteFunction = async (context) => await context.run("inner", () => "child");
  app.workflow("inner", inner);
  const url = app.workflow("all", async (context) => {
    const [ran, , called, heard, invoked] = await Promise.all([
      context.run("run", () => "ran"),
      context.sleep("sleep", "1m"),
      context.call<string>("call", { url: third }),
      context.waitForEvent<string>("wait", "paid"),
      context.invoke("invoke", { workflow: invokable("inner", inner), body: "" }),
    ]);
    const parts = [ran, called.body, heard.eventData, String(invoked.body)];
    return await context.run("behind", () => parts.join(" "));
  });
  const { workflowRunId } = await app.client.trigger({ url });
  await app.until(workflowRunId, ({ steps }) => {
    const done = steps[1]?.steps.filter((step) => step["state"] === "STEP_SUCCESS").length;
    return done === 3 && steps[1]?.steps[3]?.["waitTimeoutDeadline"] !== undefined;
  });
  await app.client.notify({ eventId: "paid", eventData: "heard" });
  await app.larder.clock.advance(60_000);

  const run = await app.ended(workflowRunId);

  assert.equal(run.workflowRunResponse, '"ran third heard child"');
  const names = ["run", "sleep", "call", "wait", "invoke"];
  assert.deepEqual(outline(run), [
    ["sequential", "init STEP_SUCCESS"],
    ["parallel", ...names.map((name) => `${name} STEP_SUCCESS`)],
    ["sequential", "behind STEP_SUCCESS"],
  ]);
  // The start, a plan and a result for each of five, the answer of the call, and the step after the fork.
  assert.equal(app.count("all"), 1 + 2 * 5 + 1 + 1);
  assert.equal(app.count("third"), 1);
  assert.equal(app.count("inner"), 2);
});

test("two forks, one after the other, each continue once", async () => {
  let joins = 0;
  const url = app.workflow("forks", async (context) => {
    const first = await Promise.all([context.run("a", () => 1), context.run("b", () => 2)]);
    const second = await Promise.all([context.run("c", () => 3), context.run("d", () => 4), context.run("e", () => 5)]);
    return await context.run("join", () => {
      joins += 1;
      return [...first, ...second].join("");
    });
  });
  const { workflowRunId } = await app.client.trigger({ url });

  const run = await app.ended(workflowRunId);

  assert.equal(run.workflowRunResponse, '"12345"');
  assert.deepEqual(outline(run), [
    ["sequential", "init STEP_SUCCESS"],
    ["parallel", "a STEP_SUCCESS", "b STEP_SUCCESS"],
    ["parallel", "c STEP_SUCCESS", "d STEP_SUCCESS", "e STEP_SUCCESS"],
    ["sequential", "join STEP_SUCCESS"],
  ]);
  assert.equal(joins, 1);
  assert.equal(app.count("forks"), 1 + 4 + 6 + 1);
});

test("W.config: flow control of a run applies to each of its deliveries: a fork runs one step at a time", async () => {
  let running = 0;
  let most = 0;
  const step = async (): Promise<void> => {
    running += 1;
    most = Math.max(most, running);
    // Reading the log is a round trip, during which others would begin.
    await app.send("GET /v2/queues");
    running -= 1;
  };
  const url = app.workflow("narrow", async (context) => {
    await Promise.all(["a", "b", "c"].map((name) => context.run(name, step)));
  });
  const flowControl = { key: "narrow", parallelism: 1 };
  const narrow = await app.client.trigger({ url, flowControl });
  const run = await app.ended(narrow.workflowRunId);
  assert.partialDeepStrictEqual(run, { workflowState: "RUN_SUCCESS", flowControlKey: "narrow" });
  assert.equal(most, 1);
  assert.equal(app.count("narrow"), 7);
});

test("a rate of a run spreads its deliveries over time, and a call has its own key", async () => {
  const third = app.route("third", async () => Response.json("ok"));
  const url = app.workflow("rated", async (context) => {
    await context.run("one", () => 1);
    await context.call("ask", { url: third, flowControl: { key: "outside", parallelism: 5 } });
  });
  const flowControl = { key: "slow", rate: 1, period: "1h" } as const;
  const { workflowRunId } = await app.client.trigger({ url, flowControl });
  for (const deliveries of [1, 2, 3, 4]) {
    for (let look = 0; look < 10_000 && app.count("rated") < deliveries; look += 1) await app.run(workflowRunId);
    assert.equal(app.count("rated"), deliveries);
    const { json } = await app.send("GET /v2/flowControl/slow");
    assert.partialDeepStrictEqual(json, { rateMax: 1, ratePeriod: 3_600 });
    if (deliveries < 4) await app.larder.clock.advance(3_600_000);
  }
  const run = await app.ended(workflowRunId);
  assert.ok((run.workflowRunCompletedAt ?? 0) - run.workflowRunCreatedAt >= 3 * 3_600_000);
  assert.equal(app.count("third"), 1);
});
