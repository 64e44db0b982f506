/** The log of workflow runs, as its routes show it: steps with their fields, pages, filters. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { answered } from "../harness/messaging-harness.ts";
import { MESSAGING_READ_ONLY_TOKEN, type MessagingServer, startMessagingServer } from "../harness/messaging-server.ts";

type Json = Readonly<Record<string, unknown>>;
interface RunJson extends Json {
  readonly steps: readonly { readonly type: string; readonly steps: readonly Json[] }[];
}

const START_MS = Date.UTC(2026, 0, 1);
const HOUR_MS = 3_600_000;
const ENDPOINT = "https://app.test/run";
const SDK = ["Upstash-Workflow-Sdk-Version", "1"];

async function server(): Promise<MessagingServer> {
  const made = await startMessagingServer();
  made.destination = () => answered(200, SDK);
  return made;
}

/** Publishes a message of a run: `headers` are pairs. */
async function publish(to: MessagingServer, runId: string, body: object | string, headers: readonly string[] = []) {
  const own = ["Upstash-Workflow-RunId", runId, ...headers];
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const reply = await to.send(`POST /v2/publish/${ENDPOINT}`, { headers: own, body: text });
  assert.equal(reply.status, 200, JSON.stringify(reply.json));
  await to.advance(0);
  return String((reply.json as Json)["messageId"]);
}

function begin(to: MessagingServer, runId: string, headers: readonly string[] = [], body = "begin"): Promise<string> {
  return publish(to, runId, body, ["Upstash-Workflow-Init", "true", ...headers]);
}

async function wait(to: MessagingServer, runId: string, step: object, timeout: string): Promise<void> {
  const headers = ["Upstash-Workflow-Runid", runId, "Upstash-Workflow-Url", ENDPOINT];
  const body = JSON.stringify({ url: ENDPOINT, timeout, step });
  assert.equal((await to.send("POST /v2/wait/paid", { headers, body })).status, 200);
}

async function listed(to: MessagingServer, query: string): Promise<{ runs: RunJson[]; cursor: string }> {
  const { status, json } = await to.send(`GET /v2/workflows/logs?groupBy=workflowRunId&${query}`);
  assert.equal(status, 200, JSON.stringify(json));
  return json as { runs: RunJson[]; cursor: string };
}

async function steps(to: MessagingServer, runId: string): Promise<readonly Json[]> {
  const [run] = (await listed(to, `workflowRunId=${runId}`)).runs;
  return run?.steps.flatMap((group) => group.steps) ?? [];
}

const rest = { stepId: 1, stepName: "rest", stepType: "SleepFor", sleepFor: 3_600, concurrent: 1 };
const hold = { stepId: 1, stepName: "hold", stepType: "Wait", concurrent: 1 };
const span = { waitEventId: "paid", waitTimeoutDuration: "1h", waitTimeoutDeadline: START_MS + HOUR_MS };

/** What the message of its result will have, which does not exist yet. */
const pending = { callType: "step", headers: {}, retries: 3, waitTimeout: false, createdAt: START_MS };

test("W.logs.step: a pending wait has its event, its duration and its start", async () => {
  await using to = await server();
  await begin(to, "wfr_1");
  await wait(to, "wfr_1", hold, "1h");
  await to.advance(60_000);
  const expected = { ...hold, ...pending, state: "STEP_PROGRESS", ...span };
  assert.deepEqual((await steps(to, "wfr_1"))[1], expected);
});

test("log of runs: a wait interrupted by a cancel or a failure is shown as cancelled, also after a restart", async () => {
  await using to = await server();
  await begin(to, "wfr_1");
  await wait(to, "wfr_1", hold, "1h");
  await to.advance(60_000);
  await to.send("DELETE /v2/workflows/runs/wfr_1");
  const expected = { ...hold, ...pending, state: "STEP_CANCELED", ...span };
  assert.deepEqual((await steps(to, "wfr_1"))[1], expected);

  const frames: Buffer[] = [];
  // A frame is valid until the next one is requested.
  for (const frame of to.harness.messaging.dump()) frames.push(Buffer.from(frame));
  to.harness.stop();
  to.harness.journal.replace(frames);
  to.harness.replay();
  assert.deepEqual(to.harness.user.workflows.find("wfr_1")?.leftWaits, [
    { eventId: "paid", createdAtMs: START_MS, deadlineMs: START_MS + HOUR_MS, timeout: "1h", step: hold },
  ]);
});

test("log of runs: a wait that ended shows whether it timed out", async () => {
  for (const isLate of [false, true]) {
    await using to = await server();
    await begin(to, "wfr_1");
    await wait(to, "wfr_1", hold, "1h");
    if (isLate) await to.advance(HOUR_MS);
    else await to.send("POST /v2/notify/paid", { body: "yes" });
    await to.advance(0);
    const { messageId, headers, ...step } = (await steps(to, "wfr_1"))[1] ?? {};
    assert.match(String(messageId), /^msg_/);
    assert.ok(headers);
    assert.deepEqual(step, {
      ...hold,
      callType: "step",
      state: "STEP_SUCCESS",
      createdAt: isLate ? START_MS + HOUR_MS : START_MS,
      retries: 3,
      ...span,
      waitTimeout: isLate,
      ...(isLate ? {} : { out: "eWVz" }),
    });
  }
});

test("log of runs: in a fork, a planned wait has its duration, and dropped steps keep their fields", async () => {
  await using to = await server();
  await begin(to, "wfr_1");
  const plan = { stepId: 0, concurrent: 2 };
  await publish(to, "wfr_1", {
    ...plan,
    stepName: "hold",
    stepType: "Wait",
    targetStep: 1,
    waitEventId: "paid",
    timeout: "1h",
  });
  const sleep = { ...plan, stepName: "rest", stepType: "SleepFor", targetStep: 2, sleepFor: 3_600 };
  await publish(to, "wfr_1", sleep, ["Upstash-Delay", "1h"]);
  assert.partialDeepStrictEqual((await steps(to, "wfr_1"))[1], {
    stepId: 1,
    state: "STEP_PROGRESS",
    waitEventId: "paid",
    waitTimeoutDuration: "1h",
  });
  await wait(to, "wfr_1", { ...hold, concurrent: 2, targetStep: 1 }, "1h");
  await to.send("DELETE /v2/workflows/runs/wfr_1");
  assert.partialDeepStrictEqual((await steps(to, "wfr_1")).slice(1), [
    { stepId: 1, stepName: "hold", state: "STEP_CANCELED", ...span },
    { stepId: 2, stepName: "rest", state: "STEP_CANCELED", sleepFor: 3_600 },
  ]);
});

test("log of runs: a sleep that a cancel dropped keeps its duration", async () => {
  await using to = await server();
  await begin(to, "wfr_1");
  await publish(to, "wfr_1", rest, ["Upstash-Delay", "1h"]);
  assert.partialDeepStrictEqual((await steps(to, "wfr_1"))[1], { state: "STEP_PROGRESS", sleepFor: 3_600 });
  await to.send("DELETE /v2/workflows/runs/wfr_1");
  assert.partialDeepStrictEqual((await steps(to, "wfr_1"))[1], { state: "STEP_CANCELED", sleepFor: 3_600 });
});

test("log of runs: a run with redacted bodies sends them to its failure function, and hides them in the log", async () => {
  await using to = await server();
  to.destination = ({ url }) => (url.includes("told") ? answered(200) : answered(500, SDK, "why"));
  const failure = ["Upstash-Failure-Callback", "https://app.test/told", "Upstash-Retries", "0"];
  await begin(
    to,
    "wfr_1",
    [...failure, "Upstash-Redact-Fields", "body", "Upstash-Feature-Set", "InitialBody"],
    "secret",
  );

  const failureCall = to.calls.find(({ url }) => url.includes("told"));
  const { sourceBody } = JSON.parse(failureCall?.body ?? "") as { sourceBody: string };
  assert.equal(Buffer.from(sourceBody, "base64").toString(), "secret");
  const { json } = await to.send("GET /v2/logs");
  for (const { body } of (json as { logs: { body: string }[] }).logs) assert.match(body, /^REDACTED:[0-9a-f]{64}$/);
});

test("log of runs: the answer of a call is hidden if the run hides bodies and headers", async () => {
  await using to = await server();
  to.destination = ({ url }) =>
    url.includes("third") ? answered(200, ["X-Answer", "secret"], "secret") : answered(200, SDK);
  await begin(to, "wfr_1", ["Upstash-Redact-Fields", "body,header[X-Answer]"]);
  const ofCall = ["StepId", "1", "StepName", "ask", "StepType", "Call", "Concurrent", "1"];
  const forwarded = ofCall.map((text, index) =>
    index % 2 === 0 ? `Upstash-Callback-Forward-Upstash-Workflow-${text}` : text,
  );
  const { status } = await to.send("POST /v2/publish/https://third.test/third", {
    headers: [
      ...["Upstash-Workflow-RunId", "wfr_1", "Upstash-Workflow-CallType", "toCallback", "Upstash-Callback", ENDPOINT],
      ...["Upstash-Callback-Workflow-RunId", "wfr_1", "Upstash-Callback-Workflow-CallType", "fromCallback"],
      ...forwarded,
    ],
    body: "asked",
  });
  assert.equal(status, 200);
  await to.advance(0);
  const [, call] = await steps(to, "wfr_1");
  const sha256 = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
  assert.partialDeepStrictEqual(call, {
    stepName: "ask",
    callUrl: "https://third.test/third",
    callResponseStatus: 200,
    callResponseBody: `REDACTED:${sha256}`,
    callResponseHeaders: { "X-Answer": [`REDACTED:${sha256}`] },
  });
});

test("W.logs.step: an invoked run is shown with its body and headers, also after its end, unless they are redacted", async () => {
  await using to = await server();
  await begin(to, "wfr_1");
  await begin(to, "wfr_2", ["Upstash-Redact-Fields", "body,header[X-A]"]);
  for (const parent of ["wfr_1", "wfr_2"]) {
    const step = { stepId: 1, stepName: "ask", stepType: "Invoke", concurrent: 1 };
    const invoke = { body: "asked", headers: {}, workflowRunId: parent, workflowUrl: ENDPOINT, step };
    const child = `${parent}_child`;
    await begin(to, child, ["Upstash-Workflow-Invoke", "true", "Upstash-Forward-X-A", "1"], JSON.stringify(invoke));
  }
  const sha256 = {
    body: "REDACTED:c66790da5943c4466dd80634deb63f4e19f07e7f81624f222b86fecf9fff6445",
    header: "REDACTED:6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b",
  };
  const open = { invokedWorkflowRunId: "wfr_1_child", invokedWorkflowRunBody: "asked" };
  for (const isEnded of [false, true]) {
    if (isEnded) {
      for (const id of ["wfr_1_child", "wfr_2_child"]) {
        await to.send(`DELETE /v2/workflows/runs/${id}?cancel=false`, { body: "1" });
      }
      await to.advance(1_000);
    }
    const [, shown] = await steps(to, "wfr_1");
    assert.partialDeepStrictEqual(shown, { ...open, invokedWorkflowRunHeaders: { "X-A": ["1"] } });
    const [, hidden] = await steps(to, "wfr_2");
    assert.partialDeepStrictEqual(hidden, {
      invokedWorkflowRunBody: sha256.body,
      invokedWorkflowRunHeaders: { "X-A": [sha256.header] },
    });
  }
});

test("log of runs: a failure function that is called again shows the time", async () => {
  await using to = await server();
  to.destination = () => answered(500, SDK);
  const callback = [
    "Upstash-Failure-Callback",
    "https://app.test/told",
    "Upstash-Failure-Callback-Retry-Delay",
    "60000",
  ];
  await begin(to, "wfr_1", ["Upstash-Retries", "0", ...callback, "Upstash-Failure-Callback-Retries", "1"]);
  const failureFunction = async () => (await listed(to, "workflowRunId=wfr_1")).runs[0]?.["failureFunction"] as Json;
  assert.equal((await failureFunction())["nextDeliveryTime"], START_MS + 60_000);
  await to.advance(60_000);
  const ended = await failureFunction();
  assert.deepEqual([ended["state"], ended["nextDeliveryTime"]], ["CALLBACK_FAIL", undefined]);
});

test("C.trim-body: every list shows the start of each body", async () => {
  await using to = await server();
  to.destination = () => answered(500, SDK, "answer");
  await begin(to, "wfr_1", ["Upstash-Retries", "0"], "begin");
  for (const [line, found] of [
    [
      "/v2/workflows/logs?",
      { runs: [{ steps: [{ steps: [{ out: "be" }] }, { steps: [{ errors: [{ body: "an" }] }] }] }] },
    ],
    ["/v2/workflows/events?state=ERROR", { events: [{ body: "YmU=", responseBody: "YW4=" }] }],
    ["/v2/logs?state=ERROR", { logs: [{ body: "YmU=", responseBody: "YW4=" }] }],
    ["/v2/dlq?", { messages: [{ body: "be", responseBody: "an" }] }],
    ["/v2/workflows/dlq?", { messages: [{ body: "be", responseBody: "an" }] }],
  ] as const) {
    const { status, json } = await to.send(`GET ${line}&trimBody=2`);
    assert.equal(status, 200);
    assert.partialDeepStrictEqual(json, found, line);
    assert.equal((await to.send(`GET ${line}&trimBody=x`)).status, 400, line);
  }
});

// W.entries
test("C-20, C-21: a read-only token does not see bodies that a run hides, its endpoint does", async () => {
  await using to = await server();
  to.destination = () => "later";
  await begin(to, "wfr_1", ["Upstash-Redact-Fields", "body"], "secret");
  const line = "GET /v2/workflows/runs/wfr_1";
  const [own] = (await to.send(line)).json as Json[];
  assert.equal(own?.["body"], Buffer.from("secret").toString("base64"));
  const [read] = (await to.send(line, { token: MESSAGING_READ_ONLY_TOKEN })).json as Json[];
  assert.equal(read?.["body"], "REDACTED:2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b");
});

/** Five runs, a second apart, each in a different state. */
async function world(): Promise<{ to: MessagingServer; messageId: string }> {
  const to = await server();
  to.destination = ({ headers }) => {
    const id = headers.get("upstash-workflow-runid");
    return answered(id === "wfr_ill" ? 500 : id === "wfr_again" ? 503 : 200, SDK);
  };
  await begin(to, "wfr_done", ["Upstash-Label", "blue"]);
  await to.send("DELETE /v2/workflows/runs/wfr_done?cancel=false", { body: "1" });
  await to.advance(1_000);
  await begin(to, "wfr_ill", ["Upstash-Retries", "0"]);
  await to.advance(1_000);
  await begin(to, "wfr_asleep");
  const messageId = await publish(to, "wfr_asleep", rest, ["Upstash-Delay", "1h"]);
  await to.advance(1_000);
  await begin(to, "wfr_left");
  await publish(to, "wfr_left", rest, ["Upstash-Delay", "1h"]);
  await to.send("DELETE /v2/workflows/runs/wfr_left");
  await to.advance(1_000);
  await begin(to, "wfr_again");
  return { to, messageId };
}

test("W.states, W.logs.filters: filters select by run, state of run and state of step", async () => {
  const { to, messageId } = await world();
  await using _server = to;
  for (const [query, names] of [
    ["", "again left asleep ill done"],
    ["state=STEP_PROGRESS", "asleep"],
    ["state=STEP_RETRY", "again"],
    ["state=STEP_FAILED", "ill"],
    ["state=step_cancelled", "left"],
    ["state=STEP_SUCCESS", "again left asleep ill done"],
    ["state=STEP_RETRY,STEP_FAILED", "again ill"],
    ["state=RUN_SUCCESS,STEP_RETRY", "again done"],
    ["state=STEP_FAILED&label=blue", ""],
    ["state=RUN_CANCELED", "left"],
    [`messageId=${messageId}`, "asleep"],
    ["messageId=msg_none", ""],
    [`workflowRuns=wfr_done@${START_MS},wfr_ill`, "ill done"],
    ["workflowRuns=wfr_done@5", ""],
    ["workflowRuns=wfr_done,wfr_ill&workflowRunId=wfr_ill", "ill"],
    [`fromDate=${START_MS + 1_000}&toDate=${START_MS + 2_000}`, "asleep ill"],
  ] as const) {
    const { runs, cursor } = await listed(to, query);
    assert.deepEqual(runs.map(({ workflowRunId }) => String(workflowRunId).slice(4)).join(" "), names, query);
    assert.equal(cursor, "", query);
  }
  for (const [query, error] of [
    [
      "state=STEP_LOST",
      'Invalid value for state: "STEP_LOST": use one of RUN_STARTED, RUN_SUCCESS, RUN_FAILED, RUN_CANCELED, STEP_PROGRESS, STEP_RETRY, STEP_SUCCESS, STEP_FAILED, STEP_CANCELED',
    ],
    ["workflowRuns=a@b", 'Invalid value for workflowRuns: "b": it must be a whole number'],
    ["cursor=wfr_done", 'Invalid value for cursor: "wfr_done"'],
  ]) {
    const { status, json } = await to.send(`GET /v2/workflows/logs?groupBy=workflowRunId&${query}`);
    assert.deepEqual([status, json], [400, { error }]);
  }
});

test("W.logs.runs: a run that ends while its log is read is shown with the end of its steps", async () => {
  await using to = await server();
  await begin(to, "wfr_1");
  await publish(to, "wfr_1", rest, ["Upstash-Delay", "1h"]);
  const { logReader } = to.harness;
  let isRunning = true;
  to.harness.logReader = {
    list: async (...asked) => {
      const page = await logReader.list(...asked);
      if (isRunning) {
        isRunning = false;
        assert.equal((await to.send("DELETE /v2/workflows/runs/wfr_1")).status, 200);
      }
      return page;
    },
  };
  const meanwhile = await listed(to, "workflowRunId=wfr_1");
  assert.equal(meanwhile.runs[0]?.["workflowState"], "RUN_CANCELED");
  assert.deepEqual(meanwhile, await listed(to, "workflowRunId=wfr_1"));
});

test("W.logs.runs: pages continue where they ended, although runs come and go, and read only their own log", async () => {
  const { to } = await world();
  await using _server = to;
  const asked: unknown[] = [];
  const { logReader } = to.harness;
  to.harness.logReader = {
    list: (user, filter, page) => {
      asked.push(...(filter.attributes.get("workflowRunId") ?? []));
      return logReader.list(user, filter, page);
    },
  };
  const first = await listed(to, "count=2");
  assert.deepEqual([first.runs.length, first.cursor], [2, `${START_MS + 3_000}-wfr_left`]);
  assert.deepEqual(asked, ["wfr_again", "wfr_left"]);
  await begin(to, "wfr_new");
  const { recorder, state } = to.harness.messaging.engine;
  recorder.append(state.userOf(1), "runForgotten", { runId: "wfr_left" });
  const second = await listed(to, `count=2&cursor=${first.cursor}`);
  assert.deepEqual(
    second.runs.map(({ workflowRunId }) => workflowRunId),
    ["wfr_asleep", "wfr_ill"],
  );
  const third = await listed(to, `count=2&cursor=${second.cursor}`);
  assert.deepEqual([third.runs.map(({ workflowRunId }) => workflowRunId), third.cursor], [["wfr_done"], ""]);
  assert.deepEqual(asked, ["wfr_again", "wfr_left", "wfr_asleep", "wfr_ill", "wfr_done"]);
});
