/** Each feature of a workflow as the official client serves it: its result, and the number of calls of its route. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Application, invokable, outline, type RouteFunction } from "./application.ts";

const app = new Application();

test("W.sleep: a sleep ends on time: three deliveries", async () => {
  const url = app.workflow("sleep", async (context) => {
    await context.sleep("rest", "1m");
    return await context.run("after", () => "awake");
  });
  const { workflowRunId } = await app.client.trigger({ url });
  const asleep = await app.untilStep(workflowRunId, "rest");
  assert.deepEqual(outline(asleep), [
    ["sequential", "init STEP_SUCCESS"],
    ["sequential", "rest STEP_PROGRESS"],
  ]);

  await app.larder.clock.advance(60_000);

  const run = await app.ended(workflowRunId);
  assert.equal(run.workflowRunResponse, '"awake"');
  assert.deepEqual(outline(run), [
    ["sequential", "init STEP_SUCCESS"],
    ["sequential", "rest STEP_SUCCESS"],
    ["sequential", "after STEP_SUCCESS"],
  ]);
  assert.equal(app.count("sleep"), 3);
});

test("W.sleep, W.parallel: a sleep until a time, parallel to a step in a fork", async () => {
  const url = app.workflow("until", async (context) => {
    const [, value] = await Promise.all([
      context.sleepUntil("moment", new Date(Date.now() + 60_000)),
      context.run("work", () => "done"),
    ]);
    return value;
  });
  const { workflowRunId } = await app.client.trigger({ url });
  await app.until(workflowRunId, ({ steps }) => steps[1]?.steps[1]?.["state"] === "STEP_SUCCESS");

  await app.larder.clock.advance(61_000);

  const run = await app.ended(workflowRunId);
  assert.equal(run.workflowRunResponse, '"done"');
  assert.deepEqual(outline(run), [
    ["sequential", "init STEP_SUCCESS"],
    ["parallel", "moment STEP_SUCCESS", "work STEP_SUCCESS"],
  ]);
  assert.equal(app.count("until"), 5);
});

test("W.call, W.logs.step: a call takes two more deliveries, and the third party gets none of larder's headers", async () => {
  const third = app.route("third", async (request) => {
    const text = await request.text();
    return Response.json({ asked: text }, { status: 201, headers: { "x-third": "yes" } });
  });
  const url = app.workflow("call", async (context) => {
    const { status, body, header } = await context.call("ask", {
      url: third,
      method: "PUT",
      body: '{"a":1}',
      headers: { "x-mine": "1" },
    });
    return { status, body, header: header["X-Third"] };
  });
  const { workflowRunId } = await app.client.trigger({ url, headers: { "x-secret": "ours" } });

  const run = await app.ended(workflowRunId);

  assert.deepEqual(JSON.parse(run.workflowRunResponse ?? ""), {
    status: 201,
    body: { asked: '{"a":1}' },
    header: ["yes"],
  });
  const [called] = app.deliveries.filter(({ path }) => path === "/third");
  assert.equal(called?.method, "PUT");
  assert.equal(called?.headers.get("x-mine"), "1");
  assert.equal(called?.headers.get("x-secret"), null);
  assert.equal(called?.headers.get("upstash-workflow-runid"), null);
  assert.equal(app.count("call"), 3);
  const [step] = run.steps[1]?.steps ?? [];
  assert.equal(step?.["callUrl"], third);
  assert.equal(step?.["callResponseStatus"], 201);
  assert.equal(step?.["stepType"], "Call");
});

test("W.call.failure, W.call.retried: a call that fails permanently is an ordinary result", async () => {
  const third = app.route("broken", async () => new Response("out of order", { status: 500 }));
  const url = app.workflow("failing-call", async (context) => {
    const { status, body } = await context.call<string>("ask", { url: third, retries: 1, retryDelay: "1" });
    return { status, body };
  });
  const { workflowRunId } = await app.client.trigger({ url });
  for (let look = 0; look < 2_000 && app.count("broken") < 2; look += 1) {
    await app.larder.clock.advance(10);
    await app.run(workflowRunId);
  }

  const run = await app.ended(workflowRunId);

  assert.equal(run.workflowState, "RUN_SUCCESS");
  assert.deepEqual(JSON.parse(run.workflowRunResponse ?? ""), { status: 500, body: "out of order" });
  assert.equal(app.count("broken"), 2);
  assert.equal(app.count("failing-call"), 3);
});

test("W.wait, W.notify-all, C9: an event wakes the run that waits for it, and its waiter is listed until then", async () => {
  const url = app.workflow("wait", async (context) => {
    const { eventData, timeout } = await context.waitForEvent("hold", "order-1", { timeout: "1d" });
    return { eventData, timeout };
  });
  const { workflowRunId } = await app.client.trigger({ url });
  await app.untilStep(workflowRunId, "hold");
  const waiters = await app.client.getWaiters({ eventId: "order-1" });
  assert.equal(waiters.length, 1);
  assert.deepEqual(waiters[0]?.headers?.["Upstash-Workflow-Runid"], [workflowRunId]);

  const notified: readonly object[] = await app.client.notify({ eventId: "order-1", eventData: { paid: true } });

  assert.equal(notified.length, 1);
  assert.partialDeepStrictEqual(notified, [{ workflowRunId, url, waiter: { url, eventId: "order-1" } }]);
  const run = await app.ended(workflowRunId);
  assert.deepEqual(JSON.parse(run.workflowRunResponse ?? ""), { eventData: { paid: true }, timeout: false });
  assert.equal(app.count("wait"), 2);
  assert.deepEqual(await app.client.notify({ eventId: "order-1", eventData: "late" }), []);
});

test("W.wait.result: a wait that takes too long continues with a timeout", async () => {
  const url = app.workflow("late", async (context) => {
    const { eventData, timeout } = await context.waitForEvent("hold", "never", { timeout: 60 });
    return { eventData, timeout };
  });
  const { workflowRunId } = await app.client.trigger({ url });
  await app.untilStep(workflowRunId, "hold");

  await app.larder.clock.advance(60_000);

  const run = await app.ended(workflowRunId);
  assert.deepEqual(JSON.parse(run.workflowRunResponse ?? ""), { timeout: true });
  assert.deepEqual(await app.client.getWaiters({ eventId: "never" }), []);
});

test("W.wait.saved: an event for one run is stored until the run waits for it", async () => {
  const url = app.workflow("kept", async (context) => {
    await context.sleep("first", 10);
    const { eventData } = await context.waitForEvent<string>("hold", "early");
    return eventData;
  });
  const { workflowRunId } = await app.client.trigger({ url });
  await app.untilStep(workflowRunId, "first");

  await app.client.notify({ eventId: "early", eventData: "kept for you", workflowRunId });
  await app.larder.clock.advance(10_000);

  const run = await app.ended(workflowRunId);
  assert.equal(run.workflowRunResponse, '"kept for you"');
});

test("W.hooks: a webhook needs no token and gives the run the whole request", async () => {
  let address = "";
  const url = app.workflow("hook", async (context) => {
    const webhook = await context.createWebhook("make");
    await context.run("publish", () => {
      address = webhook.webhookUrl;
    });
    const { request } = await context.waitForWebhook("hold", webhook, "1h");
    return {
      method: request?.method,
      body: await request?.text(),
      url: request?.url,
      x: request?.headers.get("x-from"),
    };
  });
  const { workflowRunId } = await app.client.trigger({ url });
  await app.untilStep(workflowRunId, "hold");

  const reply = await fetch(`${address}?a=1`, { method: "PUT", body: "from outside", headers: { "x-from": "shop" } });

  assert.equal(reply.status, 200);
  const run = await app.ended(workflowRunId);
  assert.deepEqual(JSON.parse(run.workflowRunResponse ?? ""), {
    method: "PUT",
    body: "from outside",
    url: `${address}?a=1`,
    x: "shop",
  });
  assert.equal((await fetch(address)).status, 404);
});

test("a run may notify another", async () => {
  const waiting = app.workflow("waiting", async (context) => {
    const { eventData } = await context.waitForEvent<string>("hold", "baton");
    return eventData;
  });
  const notifying = app.workflow("notifying", async (context) => {
    const { notifyResponse } = await context.notify("pass", "baton", "run!");
    return notifyResponse.length;
  });
  const first = await app.client.trigger({ url: waiting });
  await app.untilStep(first.workflowRunId, "hold");

  const second = await app.client.trigger({ url: notifying });

  assert.equal((await app.ended(second.workflowRunId)).workflowRunResponse, "1");
  assert.equal((await app.ended(first.workflowRunId)).workflowRunResponse, '"run!"');
});

test("C3.refused: a step that notifies a run that is gone with the client catches the refusal, and its run goes on", async () => {
  const url = app.workflow("late", async (context) =>
    context.run("pass", () =>
      app.client
        .notify({ eventId: "baton", workflowRunId: "wfr_gone" })
        .catch((error: { status?: number }) => error.status),
    ),
  );
  const { workflowRunId } = await app.client.trigger({ url });
  assert.equal((await app.ended(workflowRunId)).workflowRunResponse, "400");
});

test("W.invoke, W.invoke.result: an invoked run returns its result to its parent", async () => {
  const inner: RouteFunction = async (context) => {
    const got = await context.run("inner", () => `${JSON.stringify(context.requestPayload)}!`);
    return { got };
  };
  app.workflow("child", inner);
  const url = app.workflow("parent", async (context) => {
    const workflow = invokable("child", inner);
    const { body, isCanceled, isFailed } = await context.invoke("outer", { workflow, body: { a: 1 } });
    return { body, isCanceled, isFailed };
  });

  const { workflowRunId } = await app.client.trigger({ url });

  const run = await app.ended(workflowRunId);
  assert.deepEqual(JSON.parse(run.workflowRunResponse ?? ""), {
    body: { got: '{"a":1}!' },
    isCanceled: false,
    isFailed: false,
  });
  assert.deepEqual(outline(run), [
    ["sequential", "init STEP_SUCCESS"],
    ["sequential", "outer STEP_SUCCESS"],
  ]);
  assert.equal(app.count("parent"), 2);
  assert.equal(app.count("child"), 2);
});

test("W.config: options of a start apply to every delivery: headers, retries, flow control, label, redaction", async () => {
  const url = app.workflow("configured", async (context) => {
    await context.run("one", () => 1);
    return await context.run("two", () => ({ label: context.label, team: context.headers.get("x-team") }));
  });

  const { workflowRunId } = await app.client.trigger({
    url,
    body: "secret",
    headers: { "x-team": "blue" },
    label: "important",
    flowControl: { key: "narrow", parallelism: 1, rate: 100 },
    redact: { body: true },
  });

  const run = await app.ended(workflowRunId);
  assert.partialDeepStrictEqual(run, { label: "important", labels: ["important"], flowControlKey: "narrow" });
  assert.match(run.workflowRunResponse ?? "", /^REDACTED:/);
  assert.match(String(run.steps[0]?.steps[0]?.["out"]), /^REDACTED:/);
  const deliveries = app.deliveries.filter(({ path }) => path === "/configured");
  assert.deepEqual(
    deliveries.map(({ headers }) => [headers.get("x-team"), headers.get("upstash-label")]),
    [
      ["blue", "important"],
      ["blue", "important"],
      ["blue", "important"],
    ],
  );
  const { runs } = await app.client.logs({ filter: { label: "important", flowControlKey: "narrow" } });
  assert.equal(runs.length, 1);
  assert.equal((await app.send("GET /v2/flowControl/narrow")).status, 200);
});

test("W.logs, W.logs.runs: the log of runs has pages, the latest first, and ends with an empty cursor", async () => {
  const url = app.workflow("paged", async (context) => await context.sleep("rest", "1d"));
  const ids: string[] = [];
  for (let count = 0; count < 3; count += 1) ids.push((await app.client.trigger({ url })).workflowRunId);

  const first = await app.client.logs({ count: 2 });
  const second = await app.client.logs({ count: 2, cursor: first.cursor });

  assert.deepEqual(
    [...first.runs, ...second.runs].map(({ workflowRunId }) => workflowRunId),
    ids.toReversed(),
  );
  assert.equal(second.cursor, "");
  const { json } = await app.send(`GET /v2/workflows/events?workflowRunId=${ids[0]}&state=CREATED`);
  const { events } = json as { events: Readonly<Record<string, unknown>>[] };
  assert.ok(events.length >= 1);
  assert.ok(events.every(({ workflowRunId, workflowUrl }) => workflowRunId === ids[0] && workflowUrl === url));
});
