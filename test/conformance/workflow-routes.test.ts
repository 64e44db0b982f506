/** Routes of workflows without a number, and the remaining cases of C3, C4, C5 and C14. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { answered } from "../harness/messaging-harness.ts";
import { type MessagingSend, type MessagingServer, startMessagingServer } from "../harness/messaging-server.ts";

type Json = Readonly<Record<string, unknown>>;

const START_MS = Date.UTC(2026, 0, 1);
const ENDPOINT = "https://app.test/run";
const FAILURE_URL = "https://app.test/told";
const SDK = ["Upstash-Workflow-Sdk-Version", "1"];

async function send(to: MessagingServer, line: string, options: MessagingSend = {}): Promise<readonly [number, Json]> {
  const { status, json } = await to.send(line, options);
  return [status, json as Json];
}

async function begin(
  to: MessagingServer,
  id: string,
  headers: readonly string[] = [],
  body: string | Buffer = "begin",
) {
  const own = ["Upstash-Workflow-RunId", id, "Upstash-Workflow-Init", "true", "Upstash-Retries", "0", ...headers];
  assert.equal((await to.send(`POST /v2/publish/${ENDPOINT}`, { headers: own, body })).status, 200);
  await to.advance(0);
}

/** The endpoint and the failure callback answer with these statuses. */
async function server({ endpoint = 200, failureStatus = 200 } = {}): Promise<MessagingServer> {
  const to = await startMessagingServer();
  to.destination = ({ url }) =>
    answered(url === FAILURE_URL ? failureStatus : endpoint, SDK, url === FAILURE_URL ? "noted" : "no");
  return to;
}

async function failedRuns(to: MessagingServer, query = ""): Promise<readonly Json[]> {
  return (await send(to, `GET /v2/workflows/dlq?${query}`))[1]["messages"] as Json[];
}

const failure = ["Upstash-Failure-Callback", FAILURE_URL, "Upstash-Failure-Callback-Retries", "0"];

test("C3, C9.waiter, C.times: the waiter of a notify result has the options of its timeout", async () => {
  await using to = await server();
  await begin(to, "wfr_1");
  const headers = ["Upstash-Workflow-Runid", "wfr_1"];
  const body = {
    url: ENDPOINT,
    timeout: "90s",
    timeoutUrl: FAILURE_URL,
    timeoutBody: { late: true },
    step: { stepId: 1 },
  };
  await to.send("POST /v2/wait/paid", { headers, body: JSON.stringify(body) });

  const [status, { messageId, ...rest }] = await send(to, "POST /v2/notify/wfr_1/paid");

  assert.deepEqual(
    [status, rest],
    [
      201,
      {
        waiter: {
          workflowRunId: "wfr_1",
          eventId: "paid",
          url: ENDPOINT,
          headers: { "Upstash-Workflow-Runid": ["wfr_1"] },
          deadline: START_MS / 1_000 + 90,
          timeoutBody: "eyJsYXRlIjp0cnVlfQ==",
          timeoutUrl: FAILURE_URL,
          timeoutHeaders: { "Upstash-Workflow-Runid": ["wfr_1"] },
        },
        url: ENDPOINT,
        deduplicated: false,
        workflowRunId: "wfr_1",
        workflowCreatedAt: START_MS,
      },
    ],
  );
  assert.match(String(messageId), /^msg_/);
});

test("C3, C9: redactions of a run, or of the wait itself, apply to its waiters", async () => {
  await using to = await server();
  await begin(to, "wfr_1", ["Upstash-Redact-Fields", "header[X-Key]"]);
  const headers = [
    ...["Upstash-Workflow-Runid", "wfr_1", "Upstash-Redact-Fields", "body"],
    ...["Upstash-Forward-X-Key", "secret", "Upstash-Failure-Callback-Forward-X-Key", "secret"],
    ...["Upstash-Forward-X-Colour", "blue"],
  ];
  const body = { url: ENDPOINT, timeoutUrl: FAILURE_URL, timeoutBody: "secret", step: { stepId: 1 } };
  await to.send("POST /v2/wait/paid", { headers, body: JSON.stringify(body) });

  const listed = (await to.send("GET /v2/waiters/paid")).json as Json[];
  const [, notified] = await send(to, "POST /v2/notify/wfr_1/paid");

  const hidden = "REDACTED:2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
  const shown = {
    "Upstash-Workflow-Runid": ["wfr_1"],
    "Upstash-Redact-Fields": ["body"],
    "Upstash-Forward-X-Key": [hidden],
    "Upstash-Failure-Callback-Forward-X-Key": [hidden],
    "Upstash-Forward-X-Colour": ["blue"],
  };
  for (const waiter of [listed[0], notified["waiter"]]) {
    const timeoutBody = Buffer.from(hidden).toString("base64");
    assert.partialDeepStrictEqual(waiter, { headers: shown, timeoutHeaders: shown, timeoutBody });
  }
});

test("C3: 401 without a token and 429 beyond the rate, and neither reaches the run", async () => {
  await using to = await startMessagingServer({}, { rate: { perSecond: 1, burst: 1 } });
  to.destination = () => answered(200, SDK);
  await begin(to, "wfr_1");
  assert.equal((await to.send("POST /v2/notify/wfr_1/paid", { token: null })).status, 401);
  assert.equal((await to.send("POST /v2/notify/wfr_1/paid")).status, 201);
  assert.deepEqual(await send(to, "POST /v2/notify/wfr_1/paid"), [
    429,
    { error: "Too many requests: at most 1 per second" },
  ]);
  assert.equal(to.harness.user.workflows.find("wfr_1")?.savedEvents.get("paid")?.length, 1);
});

test("C5: a run with a flow-control key, and one with a failure function, have exactly the documented fields", async () => {
  await using to = await server({ endpoint: 503 });
  await begin(to, "wfr_1", ["Upstash-Flow-Control-Key", "key", "Upstash-Flow-Control-Value", "parallelism=1, rate=9"]);
  await begin(to, "wfr_2", failure);
  const [first, second] = await failedRuns(to);
  const both = {
    workflowUrl: ENDPOINT,
    workflowCreatedAt: START_MS,
    url: ENDPOINT,
    method: "POST",
    header: {},
    body: "begin",
    bodyBase64: "",
    maxRetries: 0,
    createdAt: START_MS,
    callerIP: "127.0.0.1",
    responseStatus: 503,
    responseHeader: { "Upstash-Workflow-Sdk-Version": ["1"] },
    responseBody: "no",
    responseBodyBase64: "",
  };
  assert.deepEqual(first, { ...both, dlqId: first?.["dlqId"], workflowRunId: "wfr_1", flowControlKey: "key" });
  assert.deepEqual(second, {
    ...both,
    dlqId: second?.["dlqId"],
    workflowRunId: "wfr_2",
    failureCallback: FAILURE_URL,
    failureFunctionState: "CALLBACK_SUCCESS",
  });
});

test("C.bodies, C5.record: bodies that are not UTF-8 are base64, and without an answer the body is the error", async () => {
  await using to = await startMessagingServer();
  const bytes = Buffer.from([0xff, 0xfe]);
  to.destination = () => ({ kind: "answer", status: 500, headers: SDK, body: bytes });
  await begin(to, "wfr_1", [], bytes);
  to.destination = () => ({ kind: "failure", text: "connection refused" });
  await begin(to, "wfr_2");
  const [binary, silent] = await failedRuns(to);
  assert.partialDeepStrictEqual(binary, { body: "", bodyBase64: "//4=", responseBody: "", responseBodyBase64: "//4=" });
  assert.partialDeepStrictEqual(silent, { responseStatus: 0, responseBody: "connection refused", responseHeader: {} });
});

test("C5: pages end with an empty cursor; C4: a maximum number at once, and no cursor with ids", async () => {
  await using to = await server({ endpoint: 500 });
  for (const id of ["a", "b", "c"]) await begin(to, id);
  const names: unknown[] = [];
  let cursor = "";
  for (let page = 0; page < 2; page += 1) {
    const [, list] = await send(to, `GET /v2/workflows/dlq?count=2&cursor=${cursor}`);
    names.push(...(list["messages"] as Json[]).map(({ workflowRunId }) => workflowRunId));
    cursor = String(list["cursor"]);
  }
  assert.deepEqual([names, cursor], [["a", "b", "c"], ""]);
  const ids = (await failedRuns(to)).map(({ dlqId }) => dlqId);
  const line = `DELETE /v2/workflows/dlq?dlqIds=${ids.join()}&count=2`;
  assert.deepEqual(await send(to, line), [200, { deleted: 2 }]);
  assert.deepEqual(await send(to, line), [200, { deleted: 1 }]);
});

test("C4, C5: values of one filter are alternatives, filters are not; a body is equivalent to a query", async () => {
  await using to = await server({ endpoint: 500 });
  await begin(to, "a", ["Upstash-Label", "blue", "Upstash-Workflow-Url", "https://a.test"]);
  await begin(to, "b", ["Upstash-Label", "red", "Upstash-Workflow-Url", "https://b.test"]);
  for (const [query, found] of [
    ["workflowUrl=https://a.test&workflowUrl=https://b.test", "ab"],
    ["workflowUrl=https://a.test,https://b.test", "ab"],
    ["workflowUrl=https://a.test&label=red", ""],
    ["callerIp=::1,127.0.0.1&label=red", "b"],
    ["workflowUrl=https://a", ""],
  ] as const) {
    assert.equal((await failedRuns(to, query)).map(({ workflowRunId }) => workflowRunId).join(""), found, query);
  }
  const body = JSON.stringify({ workflowUrl: ["https://b.test"], label: ["red", "green"] });
  assert.deepEqual(await send(to, "DELETE /v2/workflows/dlq", { body }), [200, { deleted: 1 }]);
});

test("C14: a read-only token cannot cancel, nor can a request without a token", async () => {
  await using to = await server();
  await begin(to, "wfr_1");
  for (const [token, status] of [
    [null, 401],
    ["messaging-read-only-token", 403],
  ] as const) {
    assert.equal((await to.send("DELETE /v2/workflows/runs/wfr_1", { token })).status, status);
  }
  assert.equal(to.harness.user.workflows.find("wfr_1")?.isStarted, true);
});

test("W.failure-callback, W.failure-callback.repeat, W.failure-callback.cancel, W.failure.states: a failure callback is called again only after it failed, and cancelled only while it runs", async () => {
  await using to = await server({ endpoint: 500, failureStatus: 500 });
  await begin(to, "wfr_1", failure);
  const [failedRun] = await failedRuns(to);
  const line = `/v2/workflows/dlq/callback/${failedRun?.["dlqId"]}`;
  const run = { workflowRunId: "wfr_1", workflowCreatedAt: START_MS };
  assert.equal(failedRun?.["failureFunctionState"], "CALLBACK_FAIL");
  const [status, refused] = await send(to, `DELETE ${line}`);
  assert.equal(status, 400);
  assert.match(String(refused["error"]), /is not under way: its state is CALLBACK_FAIL$/);

  to.destination = () => "later";
  assert.deepEqual(await send(to, `POST ${line}`), [200, run]);
  await to.advance(0);
  assert.equal((await failedRuns(to))[0]?.["failureFunctionState"], "CALLBACK_INPROGRESS");
  assert.equal((await send(to, `POST ${line}`))[0], 400);
  assert.deepEqual(await send(to, `DELETE ${line}`), [302, {}]);
  assert.equal((await failedRuns(to, "failureFunctionState=CALLBACK_CANCELED")).length, 1);

  to.calls.at(-1)?.answer(answered(200));
  await to.advance(0);
  assert.equal((await failedRuns(to))[0]?.["failureFunctionState"], "CALLBACK_CANCELED");
  for (const method of ["POST", "DELETE"]) {
    const error = "failed workflow run 1-0 not found";
    assert.deepEqual(await send(to, `${method} /v2/workflows/dlq/callback/1-0`), [404, { error }]);
  }
});

test("W.resume, W.resume.answer, W.config: one id returns the run, several return a list; with a missing id nothing changes", async () => {
  await using to = await server({ endpoint: 500 });
  for (const id of ["a", "b", "c", "d"]) await begin(to, id);
  to.destination = () => answered(200, SDK);
  await to.advance(1_000);
  const [first, second, third, fourth] = (await failedRuns(to)).map(({ dlqId }) => String(dlqId));
  const error = "failed workflow run 1-0 not found";
  for (const how of ["resume", "restart"]) {
    assert.deepEqual(await send(to, `POST /v2/workflows/dlq/${how}?dlqIds=${first},1-0`), [404, { error }]);
    assert.deepEqual(await send(to, `POST /v2/workflows/dlq/${how}/1-0`), [404, { error }]);
  }
  assert.equal((await failedRuns(to)).length, 4);

  const [status, one] = await send(to, `POST /v2/workflows/dlq/resume/${first}`, {
    headers: ["Upstash-Label", "again"],
  });
  assert.deepEqual(
    [status, Object.keys(one), one["workflowCreatedAt"]],
    [200, ["workflowRunId", "workflowCreatedAt"], START_MS + 1_000],
  );
  assert.match(String(one["workflowRunId"]), /^wfr_/);
  assert.deepEqual(to.harness.user.workflows.find(String(one["workflowRunId"]))?.record.config.labels, ["again"]);
  const [, many] = await send(to, `POST /v2/workflows/dlq/restart?dlqIds=${second}`);
  assert.deepEqual([Object.keys(many), (many["workflowRuns"] as Json[]).length], [["workflowRuns"], 1]);
  const [, filtered] = await send(to, "POST /v2/workflows/dlq/resume?count=1");
  assert.deepEqual([filtered["cursor"], (filtered["workflowRuns"] as Json[]).length], [third, 1]);
  const ids = Array.from({ length: 101 }, (_, index) => `${index}-0`).join();
  assert.deepEqual(await send(to, `POST /v2/workflows/dlq/resume?dlqIds=${ids}`), [
    400,
    { error: "Invalid value for dlqIds: there are 101; the limit is 100" },
  ]);
  assert.deepEqual(
    (await failedRuns(to)).map(({ dlqId }) => dlqId),
    [fourth],
  );
});

test("W.trigger, W.batch-trigger, W.duplicate: 200 with the run; in a batch 201 with a list; the same start again is deduplicated", async () => {
  await using to = await server();
  const run = { workflowRunId: "mine", workflowCreatedAt: START_MS };
  const headers = ["Upstash-Workflow-RunId", "mine"];
  assert.deepEqual(await send(to, `POST /v2/trigger/${ENDPOINT}`, { headers, body: "x" }), [200, run]);
  const again = { ...run, deduplicated: true };
  assert.deepEqual(await send(to, `POST /v2/trigger/${ENDPOINT}`, { headers, body: "x" }), [200, again]);
  const body = JSON.stringify([
    { workflowUrl: ENDPOINT, headers: { "upstash-workflow-runid": "mine" } },
    { destination: ENDPOINT, headers: { "upstash-workflow-runid": "other" }, body: "y" },
  ]);
  const other = { workflowRunId: "other", workflowCreatedAt: START_MS };
  assert.deepEqual(await to.send("POST /v2/batch/trigger", { body }).then(({ status, json }) => [status, json]), [
    201,
    [again, other],
  ]);
});

test("W.hooks: a hook takes any method without a token; each call is a separate event, and an ended run is 404", async () => {
  await using to = await server();
  await begin(to, "wfr_1");
  for (const method of ["GET", "PUT", "DELETE"]) {
    const line = `${method} /v2/workflows/hooks/main/wfr_1/paid`;
    assert.deepEqual(await send(to, line, { token: null }), [
      200,
      { workflowRunId: "wfr_1", workflowCreatedAt: START_MS },
    ]);
  }
  assert.equal(to.harness.user.workflows.find("wfr_1")?.savedEvents.get("paid")?.length, 3);
  await to.send("DELETE /v2/workflows/runs/wfr_1");
  for (const id of ["wfr_1", "wfr_0"]) {
    const error = `workflow run ${id} not found`;
    assert.deepEqual(await send(to, `POST /v2/workflows/hooks/main/${id}/paid`, { token: null }), [404, { error }]);
  }
});

test("failure callback: its long answer is shown, also after a restart with and without a snapshot", async () => {
  await using to = await server({ endpoint: 500 });
  const long = "y".repeat(10_000);
  to.destination = ({ url }) => answered(url === FAILURE_URL ? 200 : 500, SDK, url === FAILURE_URL ? long : "no");
  await begin(to, "wfr_1", failure);
  const shown = async () => {
    const { messages } = (await to.send("GET /v2/dlq?source=workflow")).json as { messages: Json[] };
    const { runs } = (await to.send("GET /v2/workflows/logs?groupBy=workflowRunId")).json as { runs: Json[] };
    return [messages[0]?.["failureCallbackInfo"], runs[0]?.["failureFunction"]] as Json[];
  };
  for (const restart of ["none", "journal", "snapshot"] as const) {
    if (restart === "journal") to.harness.restart();
    if (restart === "snapshot") {
      const frames: Buffer[] = [];
      for (const frame of to.harness.messaging.dump()) frames.push(Buffer.from(frame));
      to.harness.stop();
      to.harness.messaging = replayed(to, frames);
    }
    for (const facts of await shown()) {
      assert.deepEqual([facts["state"], facts["responseBody"]], ["CALLBACK_SUCCESS", long], restart);
    }
    assert.equal(to.harness.user.workflows.find("wfr_1")?.failureFunction?.body, undefined);
  }
});

/** Messaging recovered from the frames of a snapshot. */
function replayed(to: MessagingServer, frames: readonly Buffer[]): MessagingServer["harness"]["messaging"] {
  const { harness } = to;
  const kept = harness.journal.frames.splice(0);
  harness.journal.frames.push(...frames);
  harness.replay();
  harness.journal.frames.splice(0, frames.length, ...kept);
  return harness.messaging;
}
