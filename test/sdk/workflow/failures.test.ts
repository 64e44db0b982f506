/** Runs that fail, are cancelled and resumed, as the official client serves them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { WorkflowNonRetryableError } from "@upstash/workflow";
import { Application, invokable, outline, type RouteFunction, type RunView } from "./application.ts";

const app = new Application({ lazyFetch: "64kb" });

function errorsOf(group: RunView["steps"][number] | undefined): readonly { error: string; body: string }[] {
  return (group?.steps[0]?.["errors"] ?? []) as { error: string; body: string }[];
}

/** Advances through the retries until the run has ended. */
async function failed(id: string) {
  for (let look = 0; look < 1_000; look += 1) {
    const run = await app.run(id);
    if (run.workflowState === "RUN_FAILED") return run;
    await app.larder.clock.advance(60_000);
  }
  return assert.fail("the run did not fail");
}

test("W.failure, W.failure.body: a failed step is retried, and then the failure function gets the run's initial payload", async () => {
  const reported: object[] = [];
  const url = app.workflow(
    "failing",
    async (context) => {
      await context.run("fine", () => 1);
      await context.run("bad", () => {
        throw new Error("no luck");
      });
    },
    {
      failureFunction: async ({ context, failStatus, failResponse }) => {
        reported.push({ payload: context.requestPayload, failStatus, failResponse, id: context.workflowRunId });
        return "noted";
      },
    },
  );
  const { workflowRunId } = await app.client.trigger({ url, body: { order: 7 }, retries: 2, retryDelay: "1000" });

  await failed(workflowRunId);
  const run = await app.until(workflowRunId, ({ failureFunction }) => failureFunction?.state === "CALLBACK_SUCCESS");

  assert.deepEqual(reported, [{ payload: { order: 7 }, failStatus: 500, failResponse: "no luck", id: workflowRunId }]);
  assert.deepEqual(outline(run), [
    ["sequential", "init STEP_SUCCESS"],
    ["sequential", "fine STEP_SUCCESS"],
    ["next", "bad STEP_FAILED"],
  ]);
  assert.equal(errorsOf(run.steps[2]).length, 3);
  assert.equal(app.count("failing"), 1 + 3 + 1);
  const { messages } = await app.client.dlq.list();
  assert.equal(messages.length, 1);
  assert.partialDeepStrictEqual(messages, [{ workflowRunId, workflowUrl: url, responseStatus: 500 }]);
});

test("W.failure.missing, C.outcome.non-retryable: an error that cannot be retried fails the run at its first attempt", async () => {
  const url = app.workflow("fatal", async (context) => {
    await context.run("bad", () => {
      throw new WorkflowNonRetryableError("never");
    });
  });
  const { workflowRunId } = await app.client.trigger({ url });

  const run = await app.ended(workflowRunId);

  assert.equal(run.workflowState, "RUN_FAILED");
  // The second one is the call of the missing failure function.
  await app.until(workflowRunId, ({ failureFunction }) => failureFunction === undefined);
  assert.equal(app.count("fatal"), 2);
});

test("W.detect, W.answers: a destination that is not a workflow fails the run with a message, and its log has two groups", async () => {
  const url = app.route("plain", async () => new Response("hello", { status: 200 }));
  const { workflowRunId } = await app.client.trigger({ url });

  const run = await app.ended(workflowRunId);

  assert.equal(run.workflowState, "RUN_FAILED");
  assert.deepEqual(outline(run), [
    ["sequential", "init STEP_SUCCESS"],
    ["next", " STEP_FAILED"],
  ]);
  const [error] = errorsOf(run.steps[1]);
  assert.equal(error?.body, "hello");
  assert.equal(
    error?.error,
    "detected a non-workflow destination for trigger/invoke. make sure you are sending the request to the correct endpoint",
  );
});

test("W.ended, W.append, W.entries, C14.finish: a cancelled run delivers nothing more, and steps from its endpoint are refused", async () => {
  const url = app.workflow("cancelled", async (context) => {
    await context.sleep("rest", "1m");
    await context.run("never", () => 1);
  });
  const { workflowRunId } = await app.client.trigger({ url });
  await app.untilStep(workflowRunId, "rest");

  assert.deepEqual(await app.client.cancel(workflowRunId), { cancelled: 1 });

  assert.deepEqual(await app.client.cancel(workflowRunId), { cancelled: 0 });
  await app.larder.clock.advance(120_000);
  const run = await app.run(workflowRunId);
  assert.equal(run.workflowState, "RUN_CANCELED");
  assert.deepEqual(outline(run), [
    ["sequential", "init STEP_SUCCESS"],
    ["sequential", "rest STEP_CANCELED"],
  ]);
  assert.equal(app.count("cancelled"), 1);
  const headers = { "upstash-workflow-runid": workflowRunId, "upstash-workflow-init": "false" };
  assert.deepEqual(await app.send(`POST /v2/publish/${url}`, { headers, body: "{}" }), {
    status: 400,
    json: { error: `Invalid value for workflowRunId: the workflow run ${workflowRunId} has ended` },
  });
  assert.equal((await app.send(`GET /v2/workflows/runs/${workflowRunId}`)).status, 404);
  assert.equal((await app.send(`DELETE /v2/workflows/runs/${workflowRunId}?cancel=false`)).status, 200);
});

test("W.duplicate: a run that is started twice is one run", async () => {
  const url = app.workflow("once", async (context) => await context.run("one", () => 1));
  const given = { url, workflowRunId: "mine", delay: "1m" } as const;

  const first = await app.client.trigger(given);
  const second = await app.client.trigger(given);

  assert.equal(first.workflowRunId, "wfr_mine");
  assert.equal(second.workflowRunId, "wfr_mine");
  await app.larder.clock.advance(60_000);
  await app.ended("wfr_mine");
  assert.equal(app.count("once"), 2);
});

test("W.cancel-many: filters cancel runs by URL, by label and all together", async () => {
  const first = app.workflow("filtered/one", async (context) => await context.sleep("rest", "1d"));
  const second = app.workflow("filtered/two", async (context) => await context.sleep("rest", "1d"));
  await app.client.trigger({ url: first, label: "blue" });
  await app.client.trigger({ url: first });
  await app.client.trigger({ url: second });

  assert.deepEqual(await app.client.cancel({ filter: { label: "blue" } }), { cancelled: 1 });
  assert.deepEqual(await app.client.cancel({ filter: { workflowUrl: first } }), { cancelled: 1 });
  assert.deepEqual(await app.client.cancel({ filter: { workflowUrlStartingWith: "http://app.test/filtered" } }), {
    cancelled: 1,
  });
});

test("W.invoke.result: a parent gets the failure and the cancellation of a child", async () => {
  const inner: RouteFunction = async (context) => {
    if (context.requestPayload === "sleep") await context.sleep("rest", "1d");
    else throw new WorkflowNonRetryableError("never");
  };
  app.workflow("ill", inner);
  const url = app.workflow("parent", async (context) => {
    const workflow = invokable("ill", inner);
    const { isCanceled, isFailed, body } = await context.invoke("outer", { workflow, body: context.requestPayload });
    return { isCanceled, isFailed, body };
  });

  const first = await app.client.trigger({ url, body: "fail" });
  const second = await app.client.trigger({ url, body: "sleep" });

  assert.deepEqual(JSON.parse((await app.ended(first.workflowRunId)).workflowRunResponse ?? ""), {
    isCanceled: false,
    isFailed: true,
  });
  await app.untilStep(second.workflowRunId, "outer");
  assert.deepEqual(await app.client.cancel({ filter: { workflowUrl: "http://app.test/ill" } }), { cancelled: 1 });
  assert.deepEqual(JSON.parse((await app.ended(second.workflowRunId)).workflowRunResponse ?? ""), {
    isCanceled: true,
    isFailed: false,
  });
});

test("W.invoke.result: a child that outlives its parent ends normally, and the parent's log has its step", async () => {
  const began = Promise.withResolvers<void>();
  const inner: RouteFunction = async (context) => {
    began.resolve();
    await context.sleep("rest", "1m");
  };
  app.workflow("outlives", inner);
  const url = app.workflow("dies", async (context) => {
    await Promise.all([
      context.invoke("outer", { workflow: invokable("outlives", inner), body: "" }),
      context.run("bad", async () => {
        await began.promise;
        throw new WorkflowNonRetryableError("never");
      }),
    ]);
  });
  const { workflowRunId } = await app.client.trigger({ url });
  const failedRun = await app.until(
    workflowRunId,
    ({ workflowState, steps }) =>
      workflowState === "RUN_FAILED" && steps[1]?.steps[0]?.["invokedWorkflowRunId"] !== undefined,
  );
  const [step] = failedRun.steps[1]?.steps ?? [];

  await app.larder.clock.advance(60_000);

  const child = await app.ended(String(step?.["invokedWorkflowRunId"]));
  assert.equal(child.workflowState, "RUN_SUCCESS");
  assert.equal(child.invoker?.workflowRunId, workflowRunId);
  assert.deepEqual(outline(await app.run(workflowRunId)), [
    ["sequential", "init STEP_SUCCESS"],
    ["parallel", "outer STEP_SUCCESS", "bad STEP_FAILED"],
  ]);
});

test("W.resume, W.restart: a failed run is resumed where it failed, or restarted, as a new run", async () => {
  let isIll = true;
  let runs = 0;
  const url = app.workflow("twice", async (context) => {
    const before = await context.run("before", () => {
      runs += 1;
      return runs;
    });
    return await context.run("ill", () => {
      if (isIll) throw new WorkflowNonRetryableError("never");
      return { before, payload: context.requestPayload };
    });
  });
  const first = await app.client.trigger({ url, body: "p" });
  const second = await app.client.trigger({ url, body: "q" });
  const dlqId = (await app.ended(first.workflowRunId)).dlqId ?? "";
  const other = (await app.ended(second.workflowRunId)).dlqId ?? "";
  isIll = false;

  const resumed = await app.client.dlq.resume({ dlqId });
  const restarted = await app.client.dlq.restart({ dlqId: other });

  const resumedRun = await app.ended(resumed.workflowRunId);
  assert.deepEqual(JSON.parse(resumedRun.workflowRunResponse ?? ""), { before: 1, payload: "p" });
  const restartedRun = await app.ended(restarted.workflowRunId);
  assert.deepEqual(JSON.parse(restartedRun.workflowRunResponse ?? ""), { before: 3, payload: "q" });
  assert.deepEqual(outline(resumedRun), [
    ["sequential", "init STEP_SUCCESS"],
    ["sequential", "before STEP_SUCCESS"],
    ["sequential", "ill STEP_SUCCESS"],
  ]);
  assert.deepEqual((await app.client.dlq.list()).messages, []);
  assert.equal((await app.run(first.workflowRunId)).workflowState, "RUN_FAILED");
});

test("W.failure-callback.repeat: a failed failure function can be called again", async () => {
  let isIll = true;
  const url = app.workflow(
    "deaf",
    async () => {
      throw new WorkflowNonRetryableError("never");
    },
    {
      failureFunction: async () => {
        if (isIll) throw new Error("not now");
        return "heard";
      },
    },
  );
  const { workflowRunId } = await app.client.trigger({ url, retries: 0 });
  const run = await app.until(workflowRunId, ({ failureFunction }) => failureFunction?.state === "CALLBACK_FAIL");
  const list = await app.client.dlq.list({ filter: { failureFunctionState: "CALLBACK_FAIL" } });
  assert.equal(list.messages.length, 1);
  isIll = false;

  await app.client.dlq.retryFailureFunction({ dlqId: run.dlqId ?? "" });

  const heard = await app.until(workflowRunId, ({ failureFunction }) => failureFunction?.state === "CALLBACK_SUCCESS");
  assert.deepEqual(JSON.parse(heard.failureFunction?.responseBody ?? ""), { result: "heard" });
});

test("W.trigger, W.trigger.defaults: a plain request starts a run with one initial delivery", async () => {
  const url = app.workflow("curl", async (context) => {
    const header = context.headers.get("x-from");
    return await context.run("one", () => `${context.requestPayload} ${header}`);
  });

  const { status, json } = await app.send(`POST /v2/trigger/${url}`, {
    headers: { "upstash-forward-x-from": "curl" },
    body: "hi",
  });

  assert.equal(status, 200);
  const { workflowRunId } = json as { workflowRunId: string };
  const run = await app.ended(workflowRunId);
  assert.equal(run.workflowRunResponse, '"hi curl"');
  assert.equal(app.count("curl"), 2);
});

test("W.two-phase: a start by an unknown client takes one more delivery", async () => {
  const url = app.workflow("unknown", async (context) => await context.run("one", () => context.requestPayload));

  const { json } = await app.send(`POST /v2/trigger/${url}`, {
    headers: { "upstash-workflow-unknown-sdk": "true", "upstash-retries": "1" },
    body: "hi",
  });

  const { workflowRunId } = json as { workflowRunId: string };
  const run = await app.ended(workflowRunId);
  assert.equal(run.workflowState, "RUN_SUCCESS");
  assert.equal(run.workflowRunResponse, '"hi"');
  assert.equal(app.count("unknown"), 3);
});

test("W.trigger.detect, W.answers: a plain destination cannot be started as a workflow", async () => {
  const url = app.route("page", async () => new Response("a page"));
  const { json } = await app.send(`POST /v2/trigger/${url}`, { body: "hi" });

  const run = await app.ended((json as { workflowRunId: string }).workflowRunId);

  const [error] = errorsOf(run.steps[1]);
  assert.equal(error?.error, "trigger rest api is only usable with sdk versions after v1.0.0 major version");
});

test("W.lazy-fetch: a long list of entries is fetched by the client", async () => {
  const long = "x".repeat(40_000);
  const url = app.workflow("long", async (context) => {
    const one = await context.run("one", () => long);
    const two = await context.run("two", () => one.length);
    return two;
  });
  const { workflowRunId } = await app.client.trigger({ url, body: long });

  const run = await app.ended(workflowRunId);

  assert.equal(run.workflowRunResponse, "40000");
  assert.deepEqual(
    app.deliveries.filter(({ path }) => path === "/long").map(({ body }) => body === ""),
    [false, true, true],
  );
});
