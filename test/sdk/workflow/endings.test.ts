/** How runs end, and late requests: cancels from inside and outside, finishes of missing runs, resumed dead letters. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { serve, WorkflowNonRetryableError } from "@upstash/workflow";
import { Application, invokable, outline, type RouteFunction, type RunView } from "./application.ts";

const app = new Application({ lazyFetch: "64kb", maxInvokeDepth: 3 });

/** The entries of the message log for each delivery of a run. */
async function lastStates(workflowRunId: string): Promise<readonly string[]> {
  const { json } = await app.send(`GET /v2/logs?workflowRunId=${workflowRunId}&order=earliestFirst&count=1000`);
  const states = new Map<string, string>();
  for (const { messageId, state } of (json as { logs: { messageId: string; state: string }[] }).logs) {
    states.set(messageId, state);
  }
  return [...states.values()];
}

/** The log of a run that has failed, when its endpoint has reported that it has no failure function. */
async function failedAndTold(workflowRunId: string): Promise<RunView> {
  await app.ended(workflowRunId);
  const run = await app.until(workflowRunId, ({ failureFunction }) => failureFunction === undefined);
  assert.equal(run.workflowState, "RUN_FAILED");
  return run;
}

test("context.cancel ends the run as cancelled: no failure is reported, and nothing more is delivered", async () => {
  const url = app.workflow(
    "cancels",
    async (context) => {
      await context.run("one", () => 1);
      await context.cancel();
      await context.run("never", () => 2);
    },
    { failureFunction: async () => assert.fail("a cancel is not a failure") },
  );
  const { workflowRunId } = await app.client.trigger({ url });

  const run = await app.ended(workflowRunId);

  assert.equal(run.workflowState, "RUN_CANCELED");
  assert.equal(run.failureFunction, undefined);
  assert.deepEqual(outline(run), [
    ["sequential", "init STEP_SUCCESS"],
    ["sequential", "one STEP_SUCCESS"],
  ]);
  assert.equal(app.count("cancels"), 2);
  assert.deepEqual((await app.client.dlq.list()).messages, []);
});

test("W.ended, C3.refused: a run cancelled during a wait gets no more events, and its log has the wait", async () => {
  const url = app.workflow("waits", async (context) => {
    await context.waitForEvent("hold", "paid", { timeout: "1h" });
    await context.run("never", () => 1);
  });
  const { workflowRunId } = await app.client.trigger({ url });
  await app.untilStep(workflowRunId, "hold");

  assert.deepEqual(await app.client.cancel(workflowRunId), { cancelled: 1 });

  assert.deepEqual(await app.client.getWaiters({ eventId: "paid" }), []);
  assert.deepEqual(await app.client.notify({ eventId: "paid" }), []);
  await assert.rejects(app.client.notify({ eventId: "paid", workflowRunId }), /has ended/);
  await app.larder.clock.advance(2 * 3_600_000);
  const run = await app.run(workflowRunId);
  assert.deepEqual(outline(run), [
    ["sequential", "init STEP_SUCCESS"],
    ["sequential", "hold STEP_CANCELED"],
  ]);
  assert.partialDeepStrictEqual(run.steps[1]?.steps[0], { waitEventId: "paid", waitTimeoutDuration: "1h" });
  assert.equal(app.count("waits"), 1);
});

test("W.notify-all, C3: an event for all runs before a wait is lost, and events for the run are delivered oldest first", async () => {
  const url = app.workflow("early", async (context) => {
    await context.sleep("first", "1m");
    const one = await context.waitForEvent<string>("one", "paid", { timeout: "1h" });
    const two = await context.waitForEvent<string>("two", "paid", { timeout: "1h" });
    const three = await context.waitForEvent<string>("three", "paid", { timeout: "1h" });
    return [one.eventData, two.eventData, three.timeout];
  });
  const { workflowRunId } = await app.client.trigger({ url });
  await app.untilStep(workflowRunId, "first");
  assert.deepEqual(await app.client.notify({ eventId: "paid", eventData: "lost" }), []);
  for (const eventData of ["a", "b"]) await app.client.notify({ eventId: "paid", eventData, workflowRunId });

  await app.larder.clock.advance(60_000);
  await app.untilStep(workflowRunId, "three");
  await app.larder.clock.advance(3_600_000);

  const run = await app.ended(workflowRunId);
  assert.deepEqual(JSON.parse(run.workflowRunResponse ?? ""), ["a", "b", true]);
  assert.equal(app.count("early"), 5);
});

test("a function that returns after its run was cancelled gets a success, and the run stays cancelled", async () => {
  let id = "";
  const url = app.workflow("late", async (context) => {
    await context.run("one", () => 1);
    id = context.workflowRunId;
    assert.deepEqual(await app.client.cancel(id), { cancelled: 1 });
    return "too late";
  });
  const { workflowRunId } = await app.client.trigger({ url });
  const run = await app.ended(workflowRunId);
  // The delivery may finish; its outcome is only in the log of messages.
  for (let look = 0; look < 1_000 && (await lastStates(workflowRunId)).includes("ACTIVE"); look += 1);

  assert.equal(id, workflowRunId);
  assert.deepEqual([run.workflowState, run.workflowRunResponse], ["RUN_CANCELED", undefined]);
  assert.deepEqual(await lastStates(workflowRunId), ["DELIVERED", "DELIVERED"]);
  assert.equal((await app.run(workflowRunId)).workflowState, "RUN_CANCELED");
  assert.equal(app.count("late"), 2);
});

test("W.append: a step of an ended run is ignored, without a retry or a dead letter", async () => {
  const url = app.workflow("appends", async (context) => {
    await context.run("one", async () => {
      await app.client.cancel(context.workflowRunId);
      return 1;
    });
  });
  const { workflowRunId } = await app.client.trigger({ url });
  await app.ended(workflowRunId);
  for (let look = 0; look < 1_000 && (await lastStates(workflowRunId)).includes("ACTIVE"); look += 1);
  await app.larder.clock.advance(60_000);

  assert.deepEqual(await lastStates(workflowRunId), ["DELIVERED"]);
  assert.equal(app.count("appends"), 1);
  assert.deepEqual((await app.client.dlq.list()).messages, []);
});

test("W.entries, W.lazy-fetch: the list of entries of an ended run is not found, and the client stops", async () => {
  const { handler } = serve(
    async (context) => {
      await context.run("one", () => "x".repeat(60_000));
      await context.run("never", () => 1);
    },
    { qstashClient: app.messagingClient, disableTelemetry: true, env: {} },
  );
  const statuses: number[] = [];
  const url = app.route("fetches", async (request) => {
    if ((await request.clone().text()) === "") {
      await app.client.cancel(request.headers.get("upstash-workflow-runid") ?? "");
    }
    const response = await handler(request);
    statuses.push(response.status);
    return response;
  });
  const { workflowRunId } = await app.client.trigger({ url, body: "begin" });

  const run = await app.ended(workflowRunId);
  for (let look = 0; look < 1_000 && statuses.length < 2; look += 1) await app.run(workflowRunId);

  assert.equal(run.workflowState, "RUN_CANCELED");
  assert.deepEqual(
    app.deliveries.filter(({ path }) => path === "/fetches").map(({ body }) => body === ""),
    [false, true],
  );
  assert.deepEqual(statuses, [200, 200]);
  assert.equal((await app.send(`GET /v2/workflows/runs/${workflowRunId}`)).status, 404);
});

test("W.resume.entries: a run that fails in a fork is resumed: finished steps do not run again, running ones do", async () => {
  let isIll = true;
  const done: string[] = [];
  const url = app.workflow("resumed", async (context) => {
    const step = (name: string) =>
      context.run(name, () => {
        done.push(name);
        return name;
      });
    await step("before");
    const parts = await Promise.all([
      step("fine"),
      context.sleep("rest", "1h"),
      context.run("ill", async () => {
        if (!isIll) return "well";
        // The start, both results, and the plan of the parallel step.
        const isEarly = async () =>
          (await lastStates(context.workflowRunId)).filter((state) => state === "DELIVERED").length < 4;
        for (let look = 0; look < 10_000 && (await isEarly()); look += 1);
        throw new WorkflowNonRetryableError("never");
      }),
    ]);
    return await context.run("behind", () => `${parts[0]} ${parts[2]}`);
  });
  const { workflowRunId } = await app.client.trigger({ url, label: "first" });
  const failed = await failedAndTold(workflowRunId);
  assert.deepEqual(outline(failed), [
    ["sequential", "init STEP_SUCCESS"],
    ["sequential", "before STEP_SUCCESS"],
    ["parallel", "fine STEP_SUCCESS", "rest STEP_CANCELED", "ill STEP_FAILED"],
  ]);
  // The start, two results, two plans, and the call of a missing failure function.
  assert.equal(app.count("resumed"), 6);
  isIll = false;

  const [resumed] = (await app.client.dlq.resume({ filter: { label: "first" } })).workflowRuns;
  await app.until(resumed?.workflowRunId ?? "", ({ steps }) => steps[2]?.steps[2]?.["state"] === "STEP_SUCCESS");
  await app.larder.clock.advance(3_600_000);

  const run = await app.ended(resumed?.workflowRunId ?? "");
  assert.equal(run.workflowRunResponse, '"fine well"');
  assert.deepEqual(outline(run), [
    ["sequential", "init STEP_SUCCESS"],
    ["sequential", "before STEP_SUCCESS"],
    ["parallel", "fine STEP_SUCCESS", "rest STEP_SUCCESS", "ill STEP_SUCCESS"],
    ["sequential", "behind STEP_SUCCESS"],
  ]);
  assert.deepEqual(done, ["before", "fine"]);
  // The plans of the failed step and of the sleep, their results, and the step after the fork.
  assert.equal(app.count("resumed"), 6 + 5);
  assert.equal((await app.run(workflowRunId)).workflowState, "RUN_FAILED");
  assert.deepEqual((await app.client.dlq.list()).messages, []);
});

test("W.restart: many failed runs are restarted at once, each with its own label and flow control", async () => {
  let isIll = true;
  const url = app.workflow("restarted", async (context) => {
    if (isIll) throw new WorkflowNonRetryableError("never");
    return await context.run("one", () => [context.requestPayload, context.label]);
  });
  const ids: string[] = [];
  for (const body of ["a", "b", "c"]) ids.push((await app.client.trigger({ url, body })).workflowRunId);
  for (const id of ids) await failedAndTold(id);
  isIll = false;
  const { messages } = await app.client.dlq.list();
  const dlqIds = messages.map(({ dlqId }) => dlqId);

  const one = await app.client.dlq.restart(dlqIds.slice(0, 1), { flowControl: { key: "again", parallelism: 1 } });
  const rest = await app.client.dlq.restart({ all: true });

  assert.deepEqual([one.workflowRuns.length, rest.workflowRuns.length], [1, 2]);
  const answers: unknown[] = [];
  for (const { workflowRunId } of [...one.workflowRuns, ...rest.workflowRuns]) {
    const run = await app.ended(workflowRunId);
    answers.push((JSON.parse(run.workflowRunResponse ?? "") as unknown[])[0]);
  }
  assert.deepEqual(answers, ["a", "b", "c"]);
  const { runs } = await app.client.logs({ filter: { flowControlKey: "again" } });
  assert.deepEqual(
    runs.map(({ workflowRunId }) => workflowRunId),
    [one.workflowRuns[0]?.workflowRunId],
  );
  assert.equal(app.count("restarted"), 3 * 2 + 3 * 2);
});

test("W.failure.states, W.failure.nested: the dead letter of a run shows the outcome of its failure function", async () => {
  let answer = Promise.withResolvers<void>();
  const url = app.workflow(
    "told",
    async () => {
      throw new WorkflowNonRetryableError("never");
    },
    { failureFunction: () => answer.promise.then(() => "heard") as never },
  );
  const { workflowRunId } = await app.client.trigger({ url, retries: 0 });
  const letterOf = async () => (await app.client.dlq.list({ filter: { workflowRunId } })).messages[0];
  await app.ended(workflowRunId);
  for (let look = 0; look < 1_000 && app.count("told") < 2; look += 1) await app.run(workflowRunId);
  assert.equal((await letterOf())?.failureCallbackInfo?.state, "CALLBACK_INPROGRESS");

  answer.reject(new Error("not now"));
  await app.until(workflowRunId, ({ failureFunction }) => failureFunction?.state === "CALLBACK_FAIL");
  const failed = await letterOf();
  assert.partialDeepStrictEqual(failed?.failureCallbackInfo, { state: "CALLBACK_FAIL", responseStatus: 500 });
  assert.match(String(failed?.failureCallbackInfo?.responseBody), /not now/);
  assert.equal((await app.client.dlq.list()).messages.length, 1);

  answer = Promise.withResolvers<void>();
  await app.client.dlq.retryFailureFunction({ dlqId: failed?.dlqId ?? "" });
  answer.resolve();
  await app.until(workflowRunId, ({ failureFunction }) => failureFunction?.state === "CALLBACK_SUCCESS");
  assert.equal((await letterOf())?.failureCallbackInfo?.state, "CALLBACK_SUCCESS");
  assert.equal(app.count("told"), 3);
});

test("a parent that is cancelled while it waits for a child leaves it running, and its log shows it", async () => {
  const inner: RouteFunction = async (context) => {
    await context.sleep("rest", "1h");
    return "done";
  };
  app.workflow("child", inner);
  const url = app.workflow("parent", async (context) => {
    await context.invoke("outer", { workflow: invokable("child", inner), body: "" });
  });
  const { workflowRunId } = await app.client.trigger({ url });
  const waiting = await app.until(
    workflowRunId,
    ({ steps }) => steps[1]?.steps[0]?.["invokedWorkflowRunId"] !== undefined,
  );
  const childId = String(waiting.steps[1]?.steps[0]?.["invokedWorkflowRunId"]);
  await app.untilStep(childId, "rest");
  await app.client.cancel(workflowRunId);
  assert.deepEqual(outline(await app.run(workflowRunId)), [
    ["sequential", "init STEP_SUCCESS"],
    ["sequential", "outer STEP_CANCELED"],
  ]);

  await app.larder.clock.advance(3_600_000);

  assert.equal((await app.ended(childId)).workflowRunResponse, '"done"');
  assert.equal((await app.run(workflowRunId)).workflowState, "RUN_CANCELED");
  assert.equal(app.count("parent"), 1);
});

test("W.invoke.refused: runs that invoke one another too deeply fail, and their parents get the failure and end", async () => {
  const deeper: RouteFunction = async (context) => {
    const { isFailed } = await context.invoke("on", { workflow: invokable("deeper", deeper), body: "" });
    return { isFailed };
  };
  const url = app.workflow("deeper", deeper);

  const { workflowRunId } = await app.client.trigger({ url });

  const run = await app.ended(workflowRunId);
  assert.equal(run.workflowRunResponse, '{"isFailed":false}');
  const { json } = await app.send("GET /v2/workflows/logs?groupBy=workflowRunId");
  assert.deepEqual(
    (json as { runs: RunView[] }).runs.map((shown) => [shown.workflowState, shown.workflowRunResponse]),
    [
      ["RUN_FAILED", undefined],
      ["RUN_SUCCESS", '{"isFailed":true}'],
      ["RUN_SUCCESS", '{"isFailed":false}'],
      ["RUN_SUCCESS", '{"isFailed":false}'],
    ],
  );
});

test("W.append: a step that cannot be accepted fails its run, whose dead letter gives the reason", async () => {
  const badCall = app.workflow("bad-call", async (context) => {
    await context.call("out", { url: "ftp://nope.test/" });
  });
  const badWait = app.workflow("bad-wait", async (context) => {
    await context.waitForEvent("hold", "paid", { timeout: "1w" as "1d" });
  });
  for (const [url, reason] of [
    [badCall, /ftp/],
    [badWait, /timeout/],
  ] as const) {
    const { workflowRunId } = await app.client.trigger({ url });
    const run = await app.ended(workflowRunId);
    assert.equal(run.workflowState, "RUN_FAILED");
    const { messages } = await app.client.dlq.list({ filter: { workflowRunId } } as never);
    assert.match(JSON.stringify(messages), reason);
  }
});
