/**
 * Requests of `upstash/workflow-py` (a8b6213, d748309, 560656e, 3b01b24, 148bc77; its `Client` at 5a720a8), which it sends by
 * `upstash/qstash-py` up to 2 (c78f1fa): json.dumps prints a space after commas and colons, and other characters than ASCII as
 * escapes. A step has all fields, absent ones as null.
 *
 * With each step the endpoint forwards the headers of the last delivery, except `Upstash-Workflow-*`, `X-Forwarded-*` and
 * those of some hosts. So they include `Content-Length`, the message id and the signature.
 */
import type { ClientRow, Shape } from "./client-rows.ts";
import type { Delivery } from "./workflow-python-serve.ts";

export interface WorkflowRow extends ClientRow {
  /** Passes after the request. */
  readonly afterMs?: number;
  /** The delivery to the endpoint that follows, as `serve` reads it. */
  readonly delivery?: Delivery;
}

const json = ["Content-Type", "application/json"];

const published: Shape = { needs: { messageId: "text" }, may: { deduplicated: "boolean" } };

const payload = '{"a": "\\u00e9 <b> & /"}';

/** A run from its start to its end. */
export const runPython: readonly WorkflowRow[] = [
  {
    call: "serve: the first request",
    request: "POST /v2/publish/https://app.test/run",
    headers: [
      "Content-Type",
      "application/json",
      "Upstash-Workflow-Init",
      "true",
      "Upstash-Workflow-RunId",
      "wfr_1",
      "Upstash-Workflow-Url",
      "https://app.test/run",
      "Upstash-Feature-Set",
      "LazyFetch,InitialBody",
      "Upstash-Forward-Upstash-Workflow-Sdk-Version",
      "1",
      "Upstash-Retries",
      "5",
      "Upstash-Failure-Callback-Retries",
      "5",
      "Upstash-Forward-host",
      "app.test",
      "Upstash-Failure-Callback-Forward-host",
      "app.test",
      "Upstash-Forward-accept",
      "*/*",
      "Upstash-Failure-Callback-Forward-accept",
      "*/*",
      "Upstash-Forward-accept-encoding",
      "gzip, deflate",
      "Upstash-Failure-Callback-Forward-accept-encoding",
      "gzip, deflate",
      "Upstash-Forward-connection",
      "keep-alive",
      "Upstash-Failure-Callback-Forward-connection",
      "keep-alive",
      "Upstash-Forward-user-agent",
      "python-httpx/0.27.0",
      "Upstash-Failure-Callback-Forward-user-agent",
      "python-httpx/0.27.0",
      "Upstash-Forward-content-length",
      "19",
      "Upstash-Failure-Callback-Forward-content-length",
      "19",
      "Upstash-Forward-content-type",
      "application/json",
      "Upstash-Failure-Callback-Forward-content-type",
      "application/json",
      "Upstash-Forward-x-team",
      "blue",
      "Upstash-Failure-Callback-Forward-x-team",
      "blue",
    ],
    body: '{"a": "\\u00e9 <b> & /"}',
    answer: published,
    delivery: { kind: "steps", runId: "wfr_1", team: "blue", payload, steps: [] },
  },
  {
    call: "context.run",
    request: "POST /v2/batch",
    headers: json,
    body: '[{"destination": "https://app.test/run", "headers": {"Content-Type": "application/json", "Upstash-Workflow-Init": "false", "Upstash-Workflow-RunId": "wfr_1", "Upstash-Workflow-Url": "https://app.test/run", "Upstash-Feature-Set": "LazyFetch,InitialBody,WF_DetectTrigger", "Upstash-Forward-Upstash-Workflow-Sdk-Version": "1", "Upstash-Forward-host": "app.test", "Upstash-Failure-Callback-Forward-host": "app.test", "Upstash-Forward-connection": "keep-alive", "Upstash-Failure-Callback-Forward-connection": "keep-alive", "Upstash-Forward-content-length": "110", "Upstash-Failure-Callback-Forward-content-length": "110", "Upstash-Forward-content-type": "application/json", "Upstash-Failure-Callback-Forward-content-type": "application/json", "Upstash-Forward-user-agent": "Upstash-QStash", "Upstash-Failure-Callback-Forward-user-agent": "Upstash-QStash", "Upstash-Forward-accept-encoding": "identity", "Upstash-Failure-Callback-Forward-accept-encoding": "identity", "Upstash-Forward-service-workflow-runid": "wfr_1", "Upstash-Failure-Callback-Forward-service-workflow-runid": "wfr_1", "Upstash-Forward-service-workflow-init": "true", "Upstash-Failure-Callback-Forward-service-workflow-init": "true", "Upstash-Forward-upstash-message-id": "msg_1", "Upstash-Failure-Callback-Forward-upstash-message-id": "msg_1", "Upstash-Forward-upstash-retried": "0", "Upstash-Failure-Callback-Forward-upstash-retried": "0", "Upstash-Forward-upstash-signature": "eyJh.e30.c2ln", "Upstash-Failure-Callback-Forward-upstash-signature": "eyJh.e30.c2ln", "Upstash-Forward-service-signature": "eyJh.e30.c2ln", "Upstash-Failure-Callback-Forward-service-signature": "eyJh.e30.c2ln", "Upstash-Forward-x-team": "blue", "Upstash-Failure-Callback-Forward-x-team": "blue"}, "body": "{\\"method\\": \\"POST\\", \\"stepId\\": 1, \\"stepName\\": \\"first \\\\u00e9\\", \\"stepType\\": \\"Run\\", \\"out\\": \\"{\\\\\\"n\\\\\\": [1, 2.5, null, true], \\\\\\"t\\\\\\": \\\\\\"\\\\\\\\u00e9\\\\\\"}\\", \\"sleepFor\\": null, \\"sleepUntil\\": null, \\"concurrent\\": 1, \\"targetStep\\": null, \\"callUrl\\": null, \\"callMethod\\": null, \\"callBody\\": null, \\"callHeaders\\": null}", "queue": null}]',
    answer: [published],
    delivery: {
      kind: "steps",
      runId: "wfr_1",
      team: "blue",
      payload,
      steps: [[1, "first é", "Run", { n: [1, 2.5, null, true], t: "é" }]],
    },
  },
  {
    call: "context.sleep",
    request: "POST /v2/batch",
    headers: json,
    body: '[{"destination": "https://app.test/run", "headers": {"Content-Type": "application/json", "Upstash-Workflow-Init": "false", "Upstash-Workflow-RunId": "wfr_1", "Upstash-Workflow-Url": "https://app.test/run", "Upstash-Feature-Set": "LazyFetch,InitialBody,WF_DetectTrigger", "Upstash-Forward-Upstash-Workflow-Sdk-Version": "1", "Upstash-Forward-host": "app.test", "Upstash-Failure-Callback-Forward-host": "app.test", "Upstash-Forward-x-team": "blue", "Upstash-Failure-Callback-Forward-x-team": "blue", "Upstash-Delay": "3600s"}, "body": "{\\"method\\": \\"POST\\", \\"stepId\\": 2, \\"stepName\\": \\"rest\\", \\"stepType\\": \\"SleepFor\\", \\"out\\": \\"null\\", \\"sleepFor\\": 3600, \\"sleepUntil\\": null, \\"concurrent\\": 1, \\"targetStep\\": null, \\"callUrl\\": null, \\"callMethod\\": null, \\"callBody\\": null, \\"callHeaders\\": null}", "queue": null}]',
    answer: [published],
    afterMs: 3_600_000,
    delivery: {
      kind: "steps",
      runId: "wfr_1",
      team: "blue",
      payload,
      steps: [
        [1, "first é", "Run", { n: [1, 2.5, null, true], t: "é" }],
        [2, "rest", "SleepFor", null],
      ],
    },
  },
  {
    call: "context.sleep_until",
    request: "POST /v2/batch",
    headers: json,
    body: '[{"destination": "https://app.test/run", "headers": {"Content-Type": "application/json", "Upstash-Workflow-Init": "false", "Upstash-Workflow-RunId": "wfr_1", "Upstash-Workflow-Url": "https://app.test/run", "Upstash-Feature-Set": "LazyFetch,InitialBody,WF_DetectTrigger", "Upstash-Forward-Upstash-Workflow-Sdk-Version": "1", "Upstash-Forward-host": "app.test", "Upstash-Failure-Callback-Forward-host": "app.test", "Upstash-Forward-x-team": "blue", "Upstash-Failure-Callback-Forward-x-team": "blue", "Upstash-Not-Before": "1767236400"}, "body": "{\\"method\\": \\"POST\\", \\"stepId\\": 3, \\"stepName\\": \\"until\\", \\"stepType\\": \\"SleepUntil\\", \\"out\\": \\"null\\", \\"sleepFor\\": null, \\"sleepUntil\\": 1767236400, \\"concurrent\\": 1, \\"targetStep\\": null, \\"callUrl\\": null, \\"callMethod\\": null, \\"callBody\\": null, \\"callHeaders\\": null}", "queue": null}]',
    answer: [published],
    afterMs: 7_200_000,
    delivery: {
      kind: "steps",
      runId: "wfr_1",
      team: "blue",
      payload,
      steps: [
        [1, "first é", "Run", { n: [1, 2.5, null, true], t: "é" }],
        [2, "rest", "SleepFor", null],
        [3, "until", "SleepUntil", null],
      ],
    },
  },
  {
    call: "context.call",
    request: "POST /v2/batch",
    headers: json,
    body: '[{"destination": "https://third.test/api?q=1", "headers": {"Content-Type": "application/json", "Upstash-Method": "PATCH", "Upstash-Workflow-Init": "false", "Upstash-Workflow-RunId": "wfr_1", "Upstash-Workflow-Url": "https://app.test/run", "Upstash-Feature-Set": "WF_NoDelete,InitialBody", "Upstash-Timeout": "30", "Upstash-Failure-Callback-Forward-Upstash-Workflow-Is-Failure": "true", "Upstash-Failure-Callback-Forward-Upstash-Workflow-Failure-Callback": "true", "Upstash-Failure-Callback-Workflow-Runid": "wfr_1", "Upstash-Failure-Callback-Workflow-Init": "false", "Upstash-Failure-Callback-Workflow-Url": "https://app.test/run", "Upstash-Failure-Callback-Workflow-Calltype": "failureCall", "Upstash-Failure-Callback-Feature-Set": "LazyFetch,InitialBody", "Upstash-Callback-Failure-Callback-Forward-Upstash-Workflow-Is-Failure": "true", "Upstash-Callback-Failure-Callback-Forward-Upstash-Workflow-Failure-Callback": "true", "Upstash-Callback-Failure-Callback-Workflow-Runid": "wfr_1", "Upstash-Callback-Failure-Callback-Workflow-Init": "false", "Upstash-Callback-Failure-Callback-Workflow-Url": "https://app.test/run", "Upstash-Callback-Failure-Callback-Workflow-Calltype": "failureCall", "Upstash-Callback-Failure-Callback-Feature-Set": "LazyFetch,InitialBody", "Upstash-Retries": "0", "Upstash-Callback-Retries": "3", "Upstash-Failure-Callback-Retries": "3", "Upstash-Callback-Forward-host": "app.test", "Upstash-Failure-Callback-Forward-host": "app.test", "Upstash-Callback-Forward-x-team": "blue", "Upstash-Failure-Callback-Forward-x-team": "blue", "Upstash-Forward-X-Key": "secret", "Upstash-Callback": "https://app.test/run", "Upstash-Callback-Workflow-RunId": "wfr_1", "Upstash-Callback-Workflow-CallType": "fromCallback", "Upstash-Callback-Workflow-Init": "false", "Upstash-Callback-Workflow-Url": "https://app.test/run", "Upstash-Callback-Feature-Set": "LazyFetch,InitialBody", "Upstash-Callback-Forward-Upstash-Workflow-Callback": "true", "Upstash-Callback-Forward-Upstash-Workflow-StepId": "4", "Upstash-Callback-Forward-Upstash-Workflow-StepName": "ask", "Upstash-Callback-Forward-Upstash-Workflow-StepType": "Call", "Upstash-Callback-Forward-Upstash-Workflow-Concurrent": "1", "Upstash-Callback-Forward-Upstash-Workflow-ContentType": "application/json", "Upstash-Workflow-CallType": "toCallback"}, "body": "{\\"q\\": \\"<\\\\u00e9>\\"}", "queue": null}]',
    answer: [published],
    delivery: {
      kind: "callback",
      runId: "wfr_1",
      team: "blue",
      step: ["4", "ask", "Call", "1", "application/json"],
      status: 200,
      body: '{"ok": true}',
      header: { "Content-Type": ["application/json"] },
    },
  },
  {
    call: "serve: the result of a call",
    request: "POST /v2/publish/https://app.test/run",
    headers: [
      "Content-Type",
      "application/json",
      "Upstash-Workflow-Init",
      "false",
      "Upstash-Workflow-RunId",
      "wfr_1",
      "Upstash-Workflow-Url",
      "https://app.test/run",
      "Upstash-Feature-Set",
      "LazyFetch,InitialBody,WF_DetectTrigger",
      "Upstash-Forward-Upstash-Workflow-Sdk-Version",
      "1",
      "Upstash-Forward-host",
      "app.test",
      "Upstash-Failure-Callback-Forward-host",
      "app.test",
      "Upstash-Forward-content-length",
      "400",
      "Upstash-Failure-Callback-Forward-content-length",
      "400",
      "Upstash-Forward-content-type",
      "application/json",
      "Upstash-Failure-Callback-Forward-content-type",
      "application/json",
      "Upstash-Forward-service-workflow-stepid",
      "4",
      "Upstash-Failure-Callback-Forward-service-workflow-stepid",
      "4",
      "Upstash-Forward-x-team",
      "blue",
      "Upstash-Failure-Callback-Forward-x-team",
      "blue",
    ],
    body: '{"stepId": 4, "stepName": "ask", "stepType": "Call", "out": "{\\"status\\": 200, \\"body\\": \\"{\\\\\\"ok\\\\\\": true}\\", \\"header\\": {\\"Content-Type\\": [\\"application/json\\"]}}", "concurrent": 1}',
    answer: published,
    delivery: {
      kind: "steps",
      runId: "wfr_1",
      team: "blue",
      payload,
      steps: [
        [1, "first é", "Run", { n: [1, 2.5, null, true], t: "é" }],
        [2, "rest", "SleepFor", null],
        [3, "until", "SleepUntil", null],
        [4, "ask", "Call", { status: 200, body: '{"ok": true}', header: { "Content-Type": ["application/json"] } }],
      ],
    },
  },
  { call: "serve: the end of the run", request: "DELETE /v2/workflows/runs/wfr_1?cancel=false" },
  { call: "Client.cancel of an ended run", request: "DELETE /v2/workflows/runs/wfr_1?cancel=true", status: 404 },
];

/** The methods of `Client`, with a second run. */
export const clientPython: readonly WorkflowRow[] = [
  // From a test of later versions than 0.1.5, which does not show the order of the fields.
  {
    call: "serve: the first request, in a batch",
    request: "POST /v2/batch",
    body: '[{"destination": "https://app.test/run", "headers": {"Content-Type": "application/json", "Upstash-Workflow-Init": "true", "Upstash-Workflow-RunId": "wfr_3", "Upstash-Workflow-Url": "https://app.test/run", "Upstash-Feature-Set": "LazyFetch,InitialBody,WF_DetectTrigger", "Upstash-Forward-Upstash-Workflow-Sdk-Version": "1", "Upstash-Forward-host": "app.test", "Upstash-Failure-Callback-Forward-host": "app.test", "Upstash-Forward-x-team": "blue", "Upstash-Failure-Callback-Forward-x-team": "blue", "Upstash-Redact-Fields": "body,header[Authorization]"}, "body": "{\\"test\\": true}"}]',
    answer: [published],
    delivery: { kind: "steps", runId: "wfr_3", team: "blue", payload: '{"test": true}', steps: [] },
  },
  {
    call: "Client.notify that nobody waits for",
    request: "POST /v2/notify/event-id-123",
    headers: json,
    body: '{"data": "notify-data-456"}',
    has: { length: 0 },
  },
  // An object instead of a list: the client returns an empty list.
  {
    call: "Client.notify of a run",
    request: "POST /v2/notify/wfr_3/event-id-123",
    headers: json,
    body: "null",
    answer: { needs: { workflowRunId: "text" } },
  },
  { call: "Client.get_waiters of none", request: "GET /v2/waiters/event-id-123", has: { length: 0 } },
  // As another endpoint sends it: this client cannot wait.
  {
    call: "a wait of an endpoint",
    request: "POST /v2/wait/event",
    headers: ["Upstash-Workflow-RunId", "wfr_3", "Upstash-Workflow-Url", "https://app.test/run"],
    body: '{"url":"https://app.test/run","timeout":"1d","step":{"stepId":1,"stepName":"wait","stepType":"Wait","concurrent":1}}',
  },
  {
    call: "Client.get_waiters",
    request: "GET /v2/waiters/event",
    answer: [{ needs: { workflowRunId: "text", eventId: "text" }, may: { timeout: "integer" } }],
    has: { "0.workflowRunId": "wfr_3", "0.eventId": "event" },
  },
  {
    call: "Client.notify",
    request: "POST /v2/notify/event",
    headers: json,
    body: "data",
    answer: [{ needs: { messageId: "text", url: "text", workflowRunId: "text" } }],
    has: { "0.url": "https://app.test/run" },
  },
  { call: "Client.cancel", request: "DELETE /v2/workflows/runs/wfr_3?cancel=true" },
];

/** A run whose endpoint fails, with a failure function at the same URL. */
export const failurePython: readonly WorkflowRow[] = [
  {
    call: "serve: the first request, with failure_function and retries",
    request: "POST /v2/publish/https://app.test/run",
    headers: [
      "Content-Type",
      "application/json",
      "Upstash-Workflow-Init",
      "true",
      "Upstash-Workflow-RunId",
      "wfr_1",
      "Upstash-Workflow-Url",
      "https://app.test/run",
      "Upstash-Feature-Set",
      "LazyFetch,InitialBody,WF_DetectTrigger",
      "Upstash-Forward-Upstash-Workflow-Sdk-Version",
      "1",
      "Upstash-Failure-Callback-Forward-Upstash-Workflow-Is-Failure",
      "true",
      "Upstash-Failure-Callback-Forward-Upstash-Workflow-Failure-Callback",
      "true",
      "Upstash-Failure-Callback-Workflow-Runid",
      "wfr_1",
      "Upstash-Failure-Callback-Workflow-Init",
      "false",
      "Upstash-Failure-Callback-Workflow-Url",
      "https://app.test/run",
      "Upstash-Failure-Callback-Workflow-Calltype",
      "failureCall",
      "Upstash-Failure-Callback-Feature-Set",
      "LazyFetch,InitialBody",
      "Upstash-Failure-Callback-Retries",
      "0",
      "Upstash-Failure-Callback",
      "https://app.test/run",
      "Upstash-Retries",
      "0",
      "Upstash-Forward-x-team",
      "blue",
      "Upstash-Failure-Callback-Forward-x-team",
      "blue",
    ],
    body: "null",
    answer: published,
    delivery: {
      kind: "failure",
      runId: "wfr_1",
      team: "blue",
      status: 500,
      message: "boom",
      url: "https://app.test/run",
    },
  },
];
