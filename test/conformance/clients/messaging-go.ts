/**
 * Requests of `upstash/qstash-go` (ad8500f to 14aff35), in its order of fields: encoding/json sorts the names of maps and escapes <, > and &,
 * and net/url sorts parameters. Its numbers are integers.
 */
import type { ClientRow, Shape } from "./client-rows.ts";

const json = ["Content-Type", "application/json"];

const published: Shape = { needs: { messageId: "text" }, may: { deduplicated: "boolean", url: "text" } };
const message: Shape = {
  needs: { messageId: "text", method: "text", header: "lists by name", maxRetries: "integer", createdAt: "integer" },
  may: {
    endpointName: "text",
    url: "text",
    urlGroup: "text",
    body: "text",
    bodyBase64: "base64",
    notBefore: "integer",
    callback: "text",
    failureCallback: "text",
    scheduleId: "text",
    callerIP: "text",
    queueName: "text",
    api: "text",
  },
};
const deadLetter: Shape = {
  needs: { ...message.needs, dlqId: "text" },
  may: {
    ...message.may,
    responseStatus: "integer",
    responseHeader: "lists by name",
    responseBody: "text",
    responseBodyBase64: "base64",
  },
};
const queue: Shape = {
  needs: {
    name: "text",
    parallelism: "integer",
    createdAt: "integer",
    updatedAt: "integer",
    lag: "integer",
    paused: "boolean",
  },
};
const schedule: Shape = {
  needs: {
    scheduleId: "text",
    createdAt: "integer",
    cron: "text",
    destination: "text",
    method: "text",
    retries: "integer",
  },
  may: {
    key: "text",
    header: "lists by name",
    body: "text",
    bodyBase64: "base64",
    delay: "integer",
    callback: "text",
    failureCallback: "text",
    lastScheduleTime: "integer",
    nextScheduleTime: "integer",
    lastScheduleStates: "texts by name",
    callerIP: "text",
    isPaused: "boolean",
  },
};
const event: Shape = {
  needs: { time: "integer", messageId: "text", state: "text", url: "text" },
  may: {
    error: "text",
    nextDeliveryTime: "integer",
    topicName: "text",
    endpointName: "text",
    api: "text",
    queueName: "text",
    scheduleId: "text",
  },
};
const endpoint: Shape = { needs: { url: "text" }, may: { name: "text" } };
const group: Shape = {
  needs: { name: "text", createdAt: "integer", updatedAt: "integer", endpoints: [endpoint] },
};
const keys: Shape = { needs: { current: "text", next: "text" } };
const failure: Shape = { needs: { error: "text" } };

export const messagingGo: readonly ClientRow[] = [
  {
    call: "Publish",
    request: "POST /v2/publish/https://a.test/b?x=1&y=%20",
    headers: ["Content-Type", "text/plain", "Upstash-Method", "PUT", "Upstash-Retries", "0"],
    body: "<a & b>",
    answer: published,
    saves: { plain: "messageId" },
  },
  {
    call: "PublishJSON with every option",
    request: "POST /v2/publish/https://a.test",
    headers: [
      ...json,
      ...["Upstash-Callback", "https://callback.test", "Upstash-Content-Based-Deduplication", "true"],
      ...["Upstash-Delay", "1h", "Upstash-Failure-Callback", "https://failure.test"],
      ...["Upstash-Forward-My-Header", "v", "Upstash-Retries", "3", "Upstash-Timeout", "30s"],
    ],
    body: '{"a":1e+21,"html":"\\u003cb\\u003e \\u0026 \\u2028","é":null}',
    answer: published,
    saves: { message: "messageId" },
  },
  {
    call: "Publish with a deduplication id and a time",
    request: "POST /v2/publish/https://a.test",
    headers: ["Upstash-Deduplication-Id", "id", "Upstash-Not-Before", "1767229200"],
    body: "",
    answer: published,
  },
  { call: "Publish to an API", request: "POST /v2/publish/api/llm", body: "{}", status: 400, answer: failure },
  {
    call: "Messages.Get",
    request: "GET /v2/messages/{message}",
    answer: message,
    has: { maxRetries: 3, body: '{"a":1e+21,"html":"\\u003cb\\u003e \\u0026 \\u2028","é":null}' },
  },
  { call: "Messages.Get of none", request: "GET /v2/messages/none", status: 404, answer: failure },
  {
    call: "Queues.Upsert",
    request: "POST /v2/queues",
    headers: json,
    body: '{"queueName":"queue","parallelism":2,"paused":true}',
  },
  {
    call: "Queues.Get",
    request: "GET /v2/queues/queue",
    answer: queue,
    has: { name: "queue", parallelism: 2, paused: true, lag: 0 },
  },
  { call: "Queues.List", request: "GET /v2/queues", answer: [queue] },
  { call: "Queues.Resume", request: "POST /v2/queues/queue/resume" },
  { call: "Queues.Pause", request: "POST /v2/queues/queue/pause" },
  { call: "Enqueue", request: "POST /v2/enqueue/queue/https://a.test", body: "x", answer: published },
  {
    call: "EnqueueJSON",
    request: "POST /v2/enqueue/queue/https://a.test",
    headers: json,
    body: '{"a":"b"}',
    answer: published,
  },
  {
    call: "UrlGroups.UpsertEndpoints",
    request: "POST /v2/topics/group/endpoints",
    headers: json,
    body: '{"endpoints":[{"url":"https://a.test/?a=1\\u0026b=2","name":"one"},{"url":"https://b.test"}]}',
  },
  {
    call: "UrlGroups.Get",
    request: "GET /v2/topics/group",
    answer: group,
    has: { name: "group", "endpoints.0.url": "https://a.test/?a=1&b=2", "endpoints.0.name": "one" },
  },
  { call: "UrlGroups.List", request: "GET /v2/topics", answer: [group] },
  {
    call: "UrlGroups.PublishJSON",
    request: "POST /v2/publish/group",
    headers: json,
    body: "null",
    answer: [published],
    has: { "1.url": "https://b.test" },
  },
  { call: "UrlGroups.Enqueue", request: "POST /v2/enqueue/queue/group", body: "x", answer: [published] },
  {
    call: "Batch",
    request: "POST /v2/batch",
    headers: json,
    body: '[{"body":"\\u003cx\\u003e","destination":"https://a.test","headers":{"Content-Type":"text/plain","Upstash-Delay":"1h","Upstash-Forward-a":"b"},"queue":""},{"body":"","destination":"group","headers":{},"queue":"queue"}]',
    answer: [published, [published]],
    saves: { batched: "0.messageId" },
  },
  {
    call: "BatchJSON",
    request: "POST /v2/batch",
    headers: json,
    body: '[{"body":"{\\"a\\":\\"\\\\u0026\\"}","destination":"https://a.test","headers":{"Content-Type":"application/json","Upstash-Delay":"1h","Upstash-Retries":"0"},"queue":""}]',
    answer: [published],
    saves: { json: "0.messageId" },
  },
  { call: "Messages.Get of a batch", request: "GET /v2/messages/{batched}", answer: message, has: { body: "<x>" } },
  {
    call: "Messages.Get of a JSON batch",
    request: "GET /v2/messages/{json}",
    answer: message,
    has: { body: '{"a":"\\u0026"}', maxRetries: 0 },
  },
  {
    call: "Schedules.Create",
    request: "POST /v2/Schedules/https://a.test",
    headers: ["Upstash-Cron", "1 1 1 1 1", "Upstash-Delay", "10s", "Upstash-Retries", "2", "Upstash-Timeout", "5s"],
    body: "x",
    answer: { needs: { scheduleId: "text" } },
    saves: { schedule: "scheduleId" },
  },
  {
    call: "Schedules.CreateJSON",
    request: "POST /v2/schedules/group",
    headers: [...json, "Upstash-Cron", "1 1 1 1 1"],
    body: '{"ex_key":"ex_value"}',
    answer: { needs: { scheduleId: "text" } },
    saves: { other: "scheduleId" },
  },
  { call: "Schedules.Pause", request: "PATCH /v2/schedules/{schedule}/pause" },
  {
    call: "Schedules.Get",
    request: "GET /v2/Schedules/{schedule}",
    answer: schedule,
    has: { cron: "1 1 1 1 1", destination: "https://a.test", isPaused: true, retries: 2 },
  },
  { call: "Schedules.Resume", request: "PATCH /v2/schedules/{schedule}/resume" },
  { call: "Schedules.List", request: "GET /v2/schedules", answer: [schedule] },
  { call: "Schedules.Delete", request: "DELETE /v2/schedules/{other}" },
  { call: "Messages.Cancel", request: "DELETE /v2/messages/{message}" },
  {
    call: "Messages.CancelMany",
    request: "DELETE /v2/messages",
    headers: json,
    body: '{"messageIds":["{batched}","none"]}',
    answer: { needs: { cancelled: "integer" } },
    has: { cancelled: 1 },
  },
  {
    call: "Dlq.List",
    request: "GET /v2/dlq?count=10&fromDate=0&responseStatus=500&toDate=4102444800000&url=https%3A%2F%2Ffails.test",
    answer: { needs: { messages: [deadLetter] }, may: { cursor: "text" } },
    has: { "messages.0.responseStatus": 500 },
    saves: { first: "messages.0.dlqId", second: "messages.1.dlqId" },
  },
  { call: "Dlq.Get", request: "GET /v2/dlq/{first}", answer: deadLetter, has: { responseBody: "no" } },
  { call: "Dlq.Get of bytes", request: "GET /v2/dlq/{second}", answer: deadLetter, has: { bodyBase64: "/wA=" } },
  { call: "Dlq.Delete", request: "DELETE /v2/dlq/{first}" },
  {
    call: "Dlq.DeleteMany",
    request: "DELETE /v2/dlq",
    headers: json,
    body: '{"dlqIds":["{second}","none"]}',
    answer: { needs: { deleted: "integer" } },
    has: { deleted: 1 },
  },
  {
    call: "Events.List",
    request: "GET /v2/events?count=100&messageId={message}&state=CANCELED",
    answer: { needs: { events: [event] }, may: { cursor: "text" } },
    has: { "events.0.state": "CANCELED", "events.1": undefined },
  },
  { call: "Events.List of all", request: "GET /v2/events", answer: { needs: { events: [event] } } },
  {
    call: "Messages.CancelAll",
    request: "DELETE /v2/messages",
    headers: json,
    body: "",
    answer: { needs: { cancelled: "integer" } },
  },
  {
    call: "UrlGroups.RemoveEndpoints",
    request: "DELETE /v2/topics/group/endpoints",
    headers: json,
    body: '{"endpoints":[{"url":"","name":"one"}]}',
  },
  { call: "UrlGroups.Delete", request: "DELETE /v2/topics/group" },
  { call: "Queues.Delete", request: "DELETE /v2/queues/queue" },
  { call: "Keys.Get", request: "GET /v2/keys", answer: keys },
  // The client asks a path that the service does not have, and reports this error.
  { call: "Keys.Rotate", request: "POST /v2/rotate", status: 404, answer: failure },
];
