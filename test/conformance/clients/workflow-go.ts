/**
 * Requests of `upstash/workflow-go` (e81500a, 8167bcf, 6b84432, 40f334c), a client that starts, cancels and lists runs and
 * has no endpoint. encoding/json escapes <, > and &, net/url sorts parameters, and net/http sorts headers by name; a header
 * with two values is sent twice. Its numbers are integers.
 */
import type { ClientRow, Shape } from "./client-rows.ts";

const json = ["Content-Type", "application/json"];

const published: Shape = { needs: { messageId: "text" } };
const cancelled: Shape = { needs: { cancelled: "integer" } };
const waiter: Shape = {
  needs: { url: "text", deadline: "integer" },
  may: { headers: "lists by name", timeoutBody: "base64", timeoutUrl: "text", timeoutHeaders: "lists by name" },
};
const notified: Shape = { needs: { waiter, messageId: "text" }, may: { error: "nothing" } };
const step: Shape = {
  needs: {},
  may: {
    stepId: "integer",
    stepName: "text",
    stepType: "text",
    callType: "text",
    messageId: "text",
    headers: "lists by name",
    targetStep: "integer",
    out: "text",
    concurrent: "integer",
    state: "text",
    createdAt: "integer",
    sleepUntil: "integer",
    sleepFor: "integer",
    callUrl: "text",
    callMethod: "text",
    callBody: "text",
    callHeaders: "lists by name",
    callResponseStatus: "integer",
    callResponseBody: "text",
    callResponseHeaders: "lists by name",
    waitEventId: "text",
    waitTimeoutDuration: "text",
    waitTimeoutDeadline: "integer",
    waitTimeout: "boolean",
    invokedWorkflowRunId: "text",
    invokedWorkflowUrl: "text",
    invokedWorkflowCreatedAt: "integer",
    invokedWorkflowRunBody: "text",
    invokedWorkflowRunHeaders: "lists by name",
  },
};
const run: Shape = {
  needs: {
    workflowRunId: "text",
    workflowUrl: "text",
    workflowState: "text",
    workflowRunCreatedAt: "integer",
    steps: [{ needs: { type: "text", steps: [step] } }],
  },
  may: {
    workflowRunCompletedAt: "integer",
    workflowRunResponse: "text",
    invoker: { needs: { workflowRunId: "text", workflowUrl: "text", workflowRunCreatedAt: "integer" } },
    failureFunction: {
      needs: {
        messageId: "text",
        url: "text",
        state: "text",
        dlqId: "text",
        failHeaders: "lists by name",
        failStatus: "integer",
        failResponse: "text",
      },
    },
  },
};
const runs: Shape = { needs: { cursor: "text", runs: [run] } };
const features = ["Upstash-Feature-Set", "LazyFetch", "Upstash-Feature-Set", "InitialBody"];
const version = ["Upstash-Forward-Upstash-Workflow-Sdk-Version", "1"];
const started = (id: string) => [
  ...["Upstash-Workflow-Init", "true", "Upstash-Workflow-Runid", id],
  ...["Upstash-Workflow-Url", "https://app.test/run"],
];

export const workflowGo: readonly ClientRow[] = [
  {
    call: "Trigger with every option",
    request: "POST /v2/publish/https://app.test/run",
    headers: [
      ...features,
      ...["Upstash-Flow-Control-Key", "key", "Upstash-Flow-Control-Value", "rate=5,parallelism=2", ...version],
      ...["Upstash-Forward-X-Another-Header", "another-value", "Upstash-Forward-X-Custom-Header", "test-value"],
      ...["Upstash-Retries", "0", ...started("3f0d6a4e-8c1b-4e0f-9d2e-6a5b4c3d2e1f")],
    ],
    body: '{"html":"\\u003cb\\u003e \\u0026","name":"é"}',
    answer: published,
  },
  {
    call: "Trigger of JSON, as the first version marks it",
    request: "POST /v2/publish/https://app.test/run",
    headers: [...json, ...features, ...version, ...started("wfr_4")],
    body: '{"name":"John Doe"}',
    answer: published,
  },
  {
    call: "Trigger of nil",
    request: "POST /v2/publish/https://app.test/run",
    headers: [...features, ...version, ...started("wfr_5")],
    answer: published,
  },
  // The client ends the value with a comma if there is only a rate.
  {
    call: "Trigger with a rate alone",
    request: "POST /v2/publish/https://app.test/run",
    headers: [
      ...features,
      ...["Upstash-Flow-Control-Key", "key", "Upstash-Flow-Control-Value", "rate=5,", ...version, ...started("wfr_6")],
    ],
    answer: published,
  },
  // The client has no endpoint. What endpoints in other languages send is in the answers that it reads.
  {
    call: "sleeps of an endpoint in JavaScript, and a result of one in Python",
    request: "POST /v2/batch",
    headers: json,
    body: '[{"destination":"https://app.test/run","headers":{"upstash-workflow-runid":"wfr_4","upstash-delay":"1d"},"body":"{\\"stepId\\":1,\\"stepName\\":\\"rest\\",\\"stepType\\":\\"SleepFor\\",\\"sleepFor\\":\\"1d\\",\\"concurrent\\":1}"},{"destination":"https://app.test/run","headers":{"upstash-workflow-runid":"wfr_4"},"body":"{\\"stepId\\":2,\\"stepName\\":\\"until\\",\\"stepType\\":\\"SleepUntil\\",\\"sleepUntil\\":1767225600.25,\\"concurrent\\":1}"},{"destination":"https://app.test/run","headers":{"upstash-workflow-runid":"wfr_4"},"body":"{\\"stepId\\": 3, \\"stepName\\": \\"first\\", \\"stepType\\": \\"Run\\", \\"out\\": \\"1\\", \\"sleepFor\\": null, \\"sleepUntil\\": null, \\"concurrent\\": 1, \\"targetStep\\": null, \\"callUrl\\": null, \\"callMethod\\": null, \\"callBody\\": null, \\"callHeaders\\": null}"}]',
  },
  {
    call: "a call of an endpoint",
    request: "POST /v2/publish/https://third.test/api",
    headers: [
      ...["Upstash-Method", "PUT", "Upstash-Workflow-RunId", "wfr_4", "Upstash-Workflow-CallType", "toCallback"],
      ...["Upstash-Forward-X-Key", "1", "Upstash-Callback", "https://app.test/run"],
      ...["Upstash-Callback-Workflow-RunId", "wfr_4", "Upstash-Callback-Workflow-CallType", "fromCallback"],
      ...["Upstash-Callback-Forward-Upstash-Workflow-StepId", "4"],
      ...["Upstash-Callback-Forward-Upstash-Workflow-StepName", "ask"],
      ...["Upstash-Callback-Forward-Upstash-Workflow-StepType", "Call"],
      ...["Upstash-Callback-Forward-Upstash-Workflow-Concurrent", "1"],
    ],
    body: "asked",
  },
  {
    call: "an invoke of an endpoint",
    request: "POST /v2/publish/https://app.test/run",
    headers: [...started("wfr_7"), "Upstash-Workflow-Invoke", "true", "Upstash-Forward-X-Key", "1"],
    body: '{"body":"asked","headers":{},"workflowRunId":"wfr_4","workflowUrl":"https://app.test/run","workflowRunCreatedAt":1767225600000,"step":{"stepId":5,"stepName":"child","stepType":"Invoke","concurrent":1}}',
  },
  {
    call: "the end of a run",
    request: "DELETE /v2/workflows/runs/wfr_6?cancel=false",
    body: '{"ok":true}',
  },
  {
    call: "a run that fails",
    request: "POST /v2/publish/https://fails.test/run",
    headers: [
      ...["Upstash-Workflow-Init", "true", "Upstash-Workflow-Runid", "wfr_8", "Upstash-Retries", "0"],
      ...["Upstash-Failure-Callback", "https://app.test/run"],
    ],
  },
  {
    call: "a wait of an endpoint",
    request: "POST /v2/wait/event",
    headers: ["Upstash-Workflow-RunId", "wfr_4", "Upstash-Workflow-Url", "https://app.test/run"],
    body: '{"url":"https://app.test/run","timeout":"1d","timeoutBody":"late","timeoutUrl":"https://app.test/run","timeoutHeaders":{"A":["b"]},"step":{"stepId":6,"stepName":"wait","stepType":"Wait","concurrent":1}}',
  },
  {
    call: "Waiters",
    request: "GET /v2/waiters/event",
    answer: [waiter],
    has: {
      "0.url": "https://app.test/run",
      "0.headers.Upstash-Workflow-Runid": ["wfr_4"],
      "0.timeoutBody": "bGF0ZQ==",
      "1": undefined,
    },
  },
  { call: "Waiters of none", request: "GET /v2/waiters/none", answer: [waiter], has: { length: 0 } },
  { call: "Logs of a run that waits", request: "GET /v2/workflows/logs?workflowRunId=wfr_4", answer: runs },
  {
    call: "Notify of none",
    request: "POST /v2/notify/none",
    body: '{"uuid":"1"}',
    answer: [notified],
    has: { length: 0 },
  },
  {
    call: "Notify",
    request: "POST /v2/notify/event",
    body: '{"uuid":"1"}',
    answer: [notified],
    has: { "0.waiter.url": "https://app.test/run", "0.waiter.timeoutBody": "bGF0ZQ==" },
  },
  {
    call: "Logs",
    request: "GET /v2/workflows/logs",
    answer: runs,
    has: {
      cursor: "",
      "runs.0.workflowRunId": "wfr_8",
      "runs.1.invoker.workflowRunId": "wfr_4",
      "runs.5.workflowRunId": "3f0d6a4e-8c1b-4e0f-9d2e-6a5b4c3d2e1f",
      "runs.6": undefined,
    },
  },
  {
    call: "Logs with every filter but the state",
    request:
      "GET /v2/workflows/logs?count=2&fromDate=0&toDate=4102444800000&workflowCreatedAt=1767225600000&workflowRunId=wfr_4&workflowUrl=https%3A%2F%2Fapp.test%2Frun",
    answer: runs,
    has: {
      "runs.0.workflowState": "RUN_STARTED",
      "runs.0.steps.1.steps.0.sleepFor": 86_400,
      "runs.0.steps.2.steps.0.sleepUntil": 1_767_225_601,
      "runs.0.steps.3.steps.0.out": "1",
      "runs.0.steps.4.steps.0.callResponseStatus": 200,
      "runs.0.steps.5.steps.0.waitTimeout": false,
      "runs.0.steps.6.steps.0.invokedWorkflowRunId": "wfr_7",
    },
  },
  {
    call: "Logs of a state",
    request: "GET /v2/workflows/logs?state=RUN_SUCCESS",
    answer: runs,
    has: { "runs.0.workflowRunResponse": '{"ok":true}', "runs.1": undefined },
  },
  {
    call: "Logs of failed runs",
    request: "GET /v2/workflows/logs?state=RUN_FAILED",
    answer: runs,
    has: { "runs.0.failureFunction.state": "CALLBACK_SUCCESS", "runs.0.failureFunction.failResponse": "no" },
  },
  {
    call: "Logs, the first page",
    request: "GET /v2/workflows/logs?count=2",
    answer: runs,
    has: { "runs.1.workflowRunId": "wfr_7", "runs.2": undefined },
    saves: { cursor: "cursor" },
  },
  {
    call: "Logs, the second page",
    request: "GET /v2/workflows/logs?cursor={cursor}",
    answer: runs,
    has: { "runs.0.workflowRunId": "wfr_6", "runs.4": undefined },
  },
  {
    call: "Cancel",
    request: "DELETE /v2/workflows/runs",
    headers: json,
    body: '{"workflowRunIds":["wfr_5"]}',
    answer: cancelled,
    has: { cancelled: 1 },
  },
  {
    call: "Cancel of none",
    request: "DELETE /v2/workflows/runs",
    headers: json,
    body: '{"workflowRunIds":["unknown-run-id"]}',
    answer: cancelled,
    has: { cancelled: 0 },
  },
  {
    call: "CancelWithFilter",
    request: "DELETE /v2/workflows/runs",
    headers: json,
    body: '{"workflowRunIds":["wfr_4"],"workflowUrl":"https://app.test/other?a=1\\u0026b=2"}',
    answer: cancelled,
    has: { cancelled: 0 },
  },
  {
    call: "CancelAll",
    request: "DELETE /v2/workflows/runs",
    headers: json,
    body: "{}",
    answer: cancelled,
    has: { cancelled: 3 },
  },
];
