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
  may: { headers: "lists by name", timeoutUrl: "text", timeoutHeaders: "lists by name" },
};
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
  // As the endpoint sends it: the client has no such method.
  {
    call: "a wait of the endpoint",
    request: "POST /v2/wait/event",
    headers: ["Upstash-Workflow-RunId", "wfr_4", "Upstash-Workflow-Url", "https://app.test/run"],
    body: '{"url":"https://app.test/run","timeout":"1d","timeoutUrl":"https://app.test/run","timeoutHeaders":{"A":["b"]},"step":{"stepId":1,"stepName":"wait","stepType":"Wait","concurrent":1}}',
  },
  {
    call: "Waiters",
    request: "GET /v2/waiters/event",
    answer: [waiter],
    has: { "0.url": "https://app.test/run", "0.headers.Upstash-Workflow-Runid": ["wfr_4"], "1": undefined },
  },
  { call: "Waiters of none", request: "GET /v2/waiters/none", answer: [waiter], has: { length: 0 } },
  { call: "Notify of none", request: "POST /v2/notify/none", body: '{"uuid":"1"}', has: { length: 0 } },
  // The client cannot read the empty text of `error`.
  {
    call: "Notify",
    request: "POST /v2/notify/event",
    body: '{"uuid":"1"}',
    has: { "0.waiter.url": "https://app.test/run" },
  },
  // The client reads `runs`, and sends states of runs: the interface has both only with `groupBy=workflowRunId`.
  {
    call: "Logs, which returns none",
    request:
      "GET /v2/workflows/logs?count=2&fromDate=0&toDate=4102444800000&workflowCreatedAt=1767225600000&workflowRunId=wfr_4&workflowUrl=https%3A%2F%2Fapp.test%2Frun",
  },
  {
    call: "Logs of a state",
    request: "GET /v2/workflows/logs?state=RUN_SUCCESS",
    status: 400,
    answer: { needs: { error: "text" } },
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
