/** C3, C4, C5, C9, C14: workflow runs as the routes show them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { answered, answeredTooLong } from "../harness/messaging-harness.ts";
import { type MessagingSend, type MessagingServer, startMessagingServer } from "../harness/messaging-server.ts";

type Json = Readonly<Record<string, unknown>>;

const START_MS = Date.UTC(2026, 0, 1);
const URL_OF_RUN = "https://app.test/run";
const SDK = ["Upstash-Workflow-Sdk-Version", "1"];

/** Starts a run. */
async function startRun(server: MessagingServer, id: string, headers: Record<string, string> = {}): Promise<void> {
  const all = { "Upstash-Workflow-RunId": id, "Upstash-Workflow-Init": "true", "Upstash-Retries": "0", ...headers };
  const reply = await server.send(`POST /v2/publish/${URL_OF_RUN}`, { headers: list(all), body: "begin" });
  assert.deepEqual([reply.status, (reply.json as Json)["workflowRunId"]], [200, id]);
  await server.advance(0);
}

function list(headers: Record<string, string>): string[] {
  return Object.entries(headers).flat();
}

const waitBody = {
  url: URL_OF_RUN,
  timeout: "1h",
  timeoutUrl: "https://app.test/late",
  timeoutHeaders: { "Upstash-Workflow-Runid": ["wfr_1"], "Content-Type": ["text/plain"] },
  step: { stepId: 1, stepType: "Wait", stepName: "hold", concurrent: 1 },
};

async function wait(
  server: MessagingServer,
  eventId: string,
  runId = "wfr_1",
  body: object = waitBody,
): Promise<number> {
  const headers = ["Upstash-Workflow-Runid", runId, "Upstash-Workflow-Url", URL_OF_RUN];
  return (await server.send(`POST /v2/wait/${eventId}`, { headers, body: JSON.stringify(body) })).status;
}

function send(server: MessagingServer, line: string, options: MessagingSend = {}): Promise<readonly [number, unknown]> {
  return server.send(line, options).then(({ status, json }) => [status, json]);
}

const notifyResult = {
  waiter: {
    workflowRunId: "wfr_1",
    eventId: "paid",
    url: URL_OF_RUN,
    headers: { "Upstash-Workflow-Runid": ["wfr_1"], "Upstash-Workflow-Url": [URL_OF_RUN] },
    deadline: START_MS / 1_000 + 3_600,
    timeoutUrl: "https://app.test/late",
    timeoutHeaders: { "Upstash-Workflow-Runid": ["wfr_1"], "Content-Type": ["text/plain"] },
  },
  url: URL_OF_RUN,
  deduplicated: false,
  workflowRunId: "wfr_1",
  workflowCreatedAt: START_MS,
};

test("C3, W.wait, W.wait.saved, W.wait.result: a waiter is notified at once, and without one the event is stored for the run", async () => {
  await using server = await startMessagingServer();
  server.destination = () => answered(200, SDK);
  await startRun(server, "wfr_1");
  assert.equal(await wait(server, "paid"), 200);

  const [status, reported] = await send(server, "POST /v2/notify/wfr_1/paid", { body: '{"sum":1}' });
  const { messageId, ...rest } = reported as Json;
  assert.deepEqual([status, rest], [201, notifyResult]);
  assert.match(String(messageId), /^msg_/);
  await server.advance(0);
  const entries = JSON.parse(server.calls.at(-1)?.body ?? "") as { body: string; callType: string }[];
  assert.deepEqual(
    entries.map(({ body }) => Buffer.from(body, "base64").toString()),
    [
      "begin",
      '{"stepId":1,"stepType":"Wait","stepName":"hold","concurrent":1,"waitEventId":"paid","out":"eyJzdW0iOjF9"}',
    ],
  );

  assert.deepEqual(await send(server, "POST /v2/notify/wfr_1/sent", { body: "first" }), [
    201,
    { workflowRunId: "wfr_1", workflowCreatedAt: START_MS },
  ]);
  assert.equal(await wait(server, "sent", "wfr_1", { ...waitBody, step: { ...waitBody.step, stepId: 2 } }), 200);
  await server.advance(0);
  assert.equal(JSON.parse(server.calls.at(-1)?.body ?? "").length, 3);
});

test("C3.refused, W.notify-all: a run that is unknown or has ended is 400 and named; event ids have a maximum length", async () => {
  await using server = await startMessagingServer();
  server.destination = () => answered(200, SDK);
  await startRun(server, "wfr_1");
  await send(server, "DELETE /v2/workflows/runs/wfr_1");
  for (const [line, status, error] of [
    ["POST /v2/notify/wfr_0/paid", 400, "Invalid value for workflowRunId: the workflow run wfr_0 does not exist"],
    ["POST /v2/notify/wfr_1/paid", 400, "Invalid value for workflowRunId: the workflow run wfr_1 has ended"],
    ["POST /v2/notify/wfr_1/", 400, "eventId is missing in the path"],
  ] as const) {
    assert.deepEqual(await send(server, line), [status, { error }], line);
  }
  assert.equal(await wait(server, "paid"), 400);
  assert.deepEqual(await send(server, "POST /v2/notify/paid", { body: "nobody" }), [201, []]);
});

test("C9.waiter, C3.refused: waiters of an event are listed; an invalid id is 400", async () => {
  await using server = await startMessagingServer();
  server.destination = () => answered(200, SDK);
  await startRun(server, "wfr_1");
  await wait(server, "paid");
  assert.deepEqual(await send(server, "GET /v2/waiters/paid"), [200, [notifyResult.waiter]]);
  assert.deepEqual(await send(server, "GET /v2/waiters/other"), [200, []]);
  for (const id of ["", "%20", "%0a", "x".repeat(513), `${"%C3%A9".repeat(256)}x`]) {
    assert.equal((await server.send(`GET /v2/waiters/${id}`)).status, 400, id);
  }
  assert.equal((await server.send(`GET /v2/waiters/${"x".repeat(512)}`)).status, 200);
  await server.advance(3_600_000);
  assert.deepEqual(await send(server, "GET /v2/waiters/paid"), [200, []]);
});

test("W.wait.timeout: a timeout calls timeoutUrl with timeoutHeaders, and with timeoutBody or the entries", async () => {
  for (const timeoutBody of [undefined, "too late"]) {
    await using server = await startMessagingServer();
    server.destination = () => answered(200, SDK);
    await startRun(server, "wfr_1");
    await wait(server, "paid", "wfr_1", { ...waitBody, timeoutBody });

    await server.advance(3_600_000);
    await server.advance(0);

    const call = server.calls.at(-1);
    assert.equal(call?.url, "https://app.test/late");
    assert.equal(call?.headers.get("content-type"), "text/plain");
    const result =
      '{"stepId":1,"stepType":"Wait","stepName":"hold","concurrent":1,"waitEventId":"paid","waitTimeout":true}';
    if (timeoutBody !== undefined) assert.equal(call?.body, timeoutBody);
    else {
      const [, last] = JSON.parse(call?.body ?? "") as { body: string }[];
      assert.equal(Buffer.from(last?.body ?? "", "base64").toString(), result);
    }
    const [, entries] = await send(server, "GET /v2/workflows/runs/wfr_1");
    assert.equal((entries as unknown[]).length, 2);
  }
});

test("W.wait.timeout: timeoutUrl is called with all timeoutHeaders, except those of the connection and larder's own", async () => {
  await using server = await startMessagingServer();
  server.destination = () => answered(200, SDK);
  await startRun(server, "wfr_1");
  const timeoutHeaders = {
    Authorization: ["Bearer secret"],
    "X-Late": ["yes", "very"],
    "Upstash-Forward-X-Two": ["2"],
    "Content-Type": ["text/plain"],
    Connection: ["close"],
    Host: ["other.test"],
    "Transfer-Encoding": ["chunked"],
    "Proxy-Authorization": ["no"],
  };
  assert.equal(await wait(server, "paid", "wfr_1", { ...waitBody, timeoutHeaders, timeoutBody: "late" }), 200);
  const [, waiters] = await send(server, "GET /v2/waiters/paid");
  const { Connection: _a, Host: _b, "Transfer-Encoding": _c, "Proxy-Authorization": _d, ...sent } = timeoutHeaders;
  assert.deepEqual((waiters as Json[])[0]?.["timeoutHeaders"], sent);

  server.harness.restart();
  await server.advance(3_600_000);
  await server.advance(0);

  const { headers } = server.calls.at(-1) ?? { headers: new Map<string, string>() };
  const names = ["authorization", "x-late", "x-two", "content-type", "connection", "host", "transfer-encoding"];
  assert.deepEqual(
    [...names, "proxy-authorization"].map((name) => headers.get(name)),
    ["Bearer secret", "very", "2", "text/plain", undefined, undefined, undefined, undefined],
  );
});

test("C-10: timeoutHeaders that could forge others are refused when the run starts to wait", async () => {
  await using server = await startMessagingServer();
  server.destination = () => answered(200, SDK);
  await startRun(server, "wfr_1");
  for (const timeoutHeaders of [{ "X-A": "a\r\nb: c" }, { "a b": "c" }, { "X-A": "日本" }]) {
    assert.equal(
      await wait(server, "paid", "wfr_1", { ...waitBody, timeoutHeaders }),
      412,
      JSON.stringify(timeoutHeaders),
    );
  }
});

test("C14.cancel, C14.finish: a running run is cancelled, any other is 404", async () => {
  await using server = await startMessagingServer();
  server.destination = () => "later";
  await startRun(server, "wfr_1");
  assert.deepEqual(await send(server, "DELETE /v2/workflows/runs/wfr_1?cancel=true"), [200, {}]);
  for (const id of ["wfr_1", "wfr_0"]) {
    const error = `workflow run ${id} not found`;
    assert.deepEqual(await send(server, `DELETE /v2/workflows/runs/${id}`), [404, { error }]);
    assert.deepEqual(await send(server, `DELETE /v2/workflows/runs/${id}?cancel=false`, { body: "1" }), [200, {}]);
  }
  assert.equal((await server.send("DELETE /v2/workflows/runs/wfr_1?cancel=maybe")).status, 400);
});

/** Three failed runs, a minute apart. */
async function worldOfFailures(): Promise<{ server: MessagingServer; ids: readonly string[] }> {
  const server = await startMessagingServer();
  server.destination = ({ url }) =>
    url.includes("told") ? answered(500) : answered(503, [...SDK, "X-Why", "tired"], '{"message":"no"}');
  await startRun(server, "wfr_1", { "Upstash-Label": "blue,red", "Upstash-Forward-X-A": "1" });
  await server.advance(60_000);
  await startRun(server, "wfr_2", { "Upstash-Flow-Control-Key": "key", "Upstash-Flow-Control-Value": "parallelism=1" });
  await server.advance(60_000);
  await startRun(server, "wfr_3", {
    "Upstash-Failure-Callback": "https://app.test/told",
    "Upstash-Failure-Callback-Retries": "0",
  });
  await server.advance(60_000);
  const { json } = await server.send("GET /v2/workflows/dlq");
  return { server, ids: (json as { messages: Json[] }).messages.map(({ dlqId }) => String(dlqId)) };
}

test("C5.record, W.dlq: a failed run has exactly the fields of the table", async () => {
  const { server, ids } = await worldOfFailures();
  await using _server = server;
  const [, list] = await send(server, "GET /v2/workflows/dlq?count=1");
  const { messages, cursor } = list as { messages: Json[]; cursor: string };
  assert.equal(cursor, ids[0]);
  assert.deepEqual(messages, [
    {
      dlqId: ids[0],
      workflowUrl: URL_OF_RUN,
      workflowRunId: "wfr_1",
      workflowCreatedAt: START_MS,
      url: URL_OF_RUN,
      method: "POST",
      header: { "X-A": ["1"] },
      body: "begin",
      bodyBase64: "",
      maxRetries: 0,
      createdAt: START_MS,
      callerIP: "127.0.0.1",
      label: "blue",
      labels: ["blue", "red"],
      responseStatus: 503,
      responseHeader: { "Upstash-Workflow-Sdk-Version": ["1"], "X-Why": ["tired"] },
      responseBody: '{"message":"no"}',
      responseBodyBase64: "",
    },
  ]);
  const [, last] = await send(server, `GET /v2/workflows/dlq/${ids[2]}`);
  assert.partialDeepStrictEqual(last, {
    failureCallback: "https://app.test/told",
    failureFunctionState: "CALLBACK_FAIL",
  });
  assert.equal(((await send(server, "GET /v2/workflows/dlq"))[1] as Json)["cursor"], "");
});

const filters: readonly (readonly [query: string, found: readonly number[]])[] = [
  ["", [0, 1, 2]],
  ["workflowRunId=wfr_2", [1]],
  [`workflowUrl=${URL_OF_RUN}`, [0, 1, 2]],
  ["workflowUrl=https://other.test", []],
  [`workflowCreatedAt=${START_MS + 120_000}`, [2]],
  ["label=red,green", [0]],
  ["label=blue&label=green", [0]],
  ["failureFunctionState=CALLBACK_FAIL", [2]],
  ["failureFunctionState=CALLBACK_SUCCESS,CALLBACK_INPROGRESS", []],
  ["callerIp=127.0.0.1", [0, 1, 2]],
  ["callerIp=::1", []],
  ["flowControlKey=key", [1]],
  [`fromDate=${START_MS + 60_000}`, [1, 2]],
  [`toDate=${START_MS + 60_000}`, [0, 1]],
];

test("C5, C4: each filter selects its own runs, for listing and for deleting", async () => {
  for (const [query, found] of filters) {
    const { server, ids } = await worldOfFailures();
    await using _server = server;
    const [, listed] = await send(server, `GET /v2/workflows/dlq?${query}`);
    const names = (listed as { messages: Json[] }).messages.map(({ dlqId }) => ids.indexOf(String(dlqId)));
    assert.deepEqual(names, found, query);
    assert.deepEqual(await send(server, `DELETE /v2/workflows/dlq?${query}`), [200, { deleted: found.length }], query);
  }
});

test("C4: ids win over filters, missing ids are skipped; without ids, runs are deleted page by page", async () => {
  const { server, ids } = await worldOfFailures();
  await using _server = server;
  const two = `dlqIds=${ids[0]}&dlqIds=1-0&label=nobody`;
  assert.deepEqual(await send(server, `DELETE /v2/workflows/dlq?${two}`), [200, { deleted: 1 }]);
  assert.deepEqual(await send(server, "DELETE /v2/workflows/dlq?count=1"), [200, { deleted: 1, cursor: ids[1] }]);
  assert.deepEqual(await send(server, "DELETE /v2/workflows/dlq?count=1"), [200, { deleted: 1 }]);
  for (const query of ["labeel=a", "label=", "failureFunctionState=GONE", "fromDate=x"]) {
    assert.equal((await server.send(`DELETE /v2/workflows/dlq?${query}`)).status, 400, query);
  }
});

test("C5, C8.runs, C.dlq.list: other dead letters are not listed, and retrying dead letters skips failed runs", async () => {
  const { server, ids } = await worldOfFailures();
  await using _server = server;
  await server.send("POST /v2/publish/https://plain.test/", { headers: ["Upstash-Retries", "0"] });
  await server.advance(0);
  assert.equal(((await send(server, "GET /v2/dlq"))[1] as { messages: unknown[] }).messages.length, 4);
  assert.equal(((await send(server, "GET /v2/dlq?source=workflow"))[1] as { messages: unknown[] }).messages.length, 3);
  assert.equal(((await send(server, "GET /v2/workflows/dlq"))[1] as { messages: unknown[] }).messages.length, 3);
  assert.equal((await server.send(`POST /v2/dlq/retry/${ids[0]}`)).status, 404);
  const [, retried] = await send(server, "POST /v2/dlq/retry");
  assert.equal((retried as { responses: unknown[] }).responses.length, 1);
});

test("W.failure.body: a failure function reads the message of an error that was truncated, also when it is called again", async () => {
  await using server = await startMessagingServer();
  let failureCalls = 0;
  server.destination = ({ url }) => {
    if (!url.includes("told")) return answeredTooLong(500, SDK, '{"error":"Error","message":"far too lo');
    failureCalls += 1;
    return answered(failureCalls === 1 ? 500 : 200);
  };
  await startRun(server, "wfr_1", {
    "Upstash-Failure-Callback": "https://app.test/told",
    "Upstash-Failure-Callback-Retries": "0",
  });
  await server.advance(0);
  const { messages } = (await server.send("GET /v2/workflows/dlq")).json as { messages: Json[] };
  await server.send(`POST /v2/workflows/dlq/callback/${messages[0]?.["dlqId"]}`);
  await server.advance(0);

  const calls = server.calls.filter(({ url }) => url.includes("told"));
  assert.equal(calls.length, 2);
  for (const { body } of calls) {
    const report = JSON.parse(body) as { body: string; header: Json };
    const error = JSON.parse(Buffer.from(report.body, "base64").toString()) as Json;
    assert.deepEqual(error, { error: "Error", message: "far too lo…" });
    assert.deepEqual(report.header["Upstash-Body-Cut"], ["38"]);
  }
});

test("W.call.cut: an answer to a call may exceed the limit: the run gets the first part, marked as truncated", async () => {
  await using server = await startMessagingServer();
  server.destination = ({ url }) =>
    url.includes("third") ? answeredTooLong(200, ["Content-Length", "5242880"], "start") : answered(200, SDK);
  await startRun(server, "wfr_1");
  await server.send("POST /v2/publish/https://third.test/", {
    headers: [
      ...["Upstash-Workflow-RunId", "wfr_1", "Upstash-Workflow-CallType", "toCallback", "Upstash-Callback", URL_OF_RUN],
      ...["Upstash-Callback-Workflow-RunId", "wfr_1", "Upstash-Callback-Workflow-CallType", "fromCallback"],
    ],
  });
  await server.advance(0);
  const reported = JSON.parse(server.calls.at(-1)?.body ?? "") as Json;
  assert.partialDeepStrictEqual(reported, { status: 200, body: Buffer.from("start").toString("base64") });
  assert.deepEqual(reported["header"], { "Service-Body-Cut": ["5"], "Upstash-Body-Cut": ["5"] });
});

// C.redaction.derived
test("C-21: calls, results, timeouts and invoked runs hide what their run hides, and what they hide themselves", async () => {
  await using server = await startMessagingServer();
  server.destination = ({ url }) =>
    url.includes("third") ? answered(200, ["X-A", "secret"], "secret") : answered(200, SDK);
  await startRun(server, "wfr_1", { "Upstash-Redact-Fields": "body" });
  const part = ["Upstash-Workflow-RunId", "wfr_1"];
  await server.send("POST /v2/publish/https://third.test/", {
    headers: [
      ...part,
      ...["Upstash-Workflow-CallType", "toCallback", "Upstash-Callback", URL_OF_RUN],
      ...["Upstash-Redact-Fields", "header[X-A]", "Upstash-Forward-X-A", "secret"],
      ...["Upstash-Callback-Workflow-RunId", "wfr_1", "Upstash-Callback-Workflow-CallType", "fromCallback"],
      ...["Upstash-Callback-Forward-X-A", "secret"],
    ],
    body: "secret",
  });
  await server.advance(0);
  const step = { stepId: 2, stepType: "Wait", stepName: "hold", concurrent: 1 };
  await server.send("POST /v2/wait/paid", {
    headers: [...part, "Upstash-Redact-Fields", "header[X-B]"],
    body: JSON.stringify({
      url: URL_OF_RUN,
      timeout: "1h",
      timeoutUrl: "https://app.test/late",
      timeoutHeaders: { "Upstash-Forward-X-B": ["secret"] },
      timeoutBody: "secret",
      step,
    }),
  });
  await server.advance(3_600_000);
  await server.advance(0);
  const invoke = { body: "secret", headers: {}, workflowRunId: "wfr_1", workflowUrl: URL_OF_RUN, step: { stepId: 3 } };
  await server.send("POST /v2/publish/https://app.test/child", {
    headers: ["Upstash-Workflow-RunId", "wfr_2", "Upstash-Workflow-Init", "true", "Upstash-Workflow-Invoke", "true"],
    body: JSON.stringify(invoke),
  });
  await server.advance(0);

  const { logs } = (await server.send("GET /v2/logs?state=CREATED")).json as { logs: Json[] };
  assert.equal(
    logs.some(({ url }) => url === "https://app.test/child"),
    true,
  );
  assert.equal(
    logs.some(({ url }) => url === "https://app.test/late"),
    true,
  );
  for (const { url, header, body } of logs) {
    assert.match(String(body), /^REDACTED:/, String(url));
    for (const name of ["X-A", "X-B"]) {
      for (const value of ((header as Json)[name] ?? []) as string[]) assert.match(value, /^REDACTED:/, String(url));
    }
  }
});
