/**
 * Requests of `upstash/qstash-py` (1653e03, 10cc7ec, 1262fb4, 12878b3), as json.dumps prints them: a space after commas and
 * colons, and other characters than ASCII as escapes. Absent values of a batch are null.
 */
import type { ClientRow, Shape } from "./client-rows.ts";

const json = ["Content-Type", "application/json"];

const published: Shape = { needs: { messageId: "text" }, may: { deduplicated: "boolean" } };
const publishedToGroup: Shape = { needs: { messageId: "text", url: "text" }, may: { deduplicated: "boolean" } };
const flowControl = { flowControlKey: "text", parallelism: "integer", rate: "integer", period: "integer" } as const;
const message: Shape = {
  needs: {
    messageId: "text",
    url: "text",
    method: "text",
    maxRetries: "integer",
    notBefore: "integer",
    createdAt: "integer",
  },
  may: {
    topicName: "text",
    endpointName: "text",
    queueName: "text",
    body: "text",
    bodyBase64: "text",
    header: "lists by name",
    callbackHeader: "lists by name",
    failureCallbackHeader: "lists by name",
    callback: "text",
    failureCallback: "text",
    scheduleId: "text",
    callerIP: "text",
    retryDelayExpression: "text",
    label: "text",
    ...flowControl,
  },
};
const deadLetter: Shape = {
  needs: { ...message.needs, dlqId: "text", responseStatus: "integer" },
  may: { ...message.may, responseHeader: "lists by name", responseBody: "text", responseBodyBase64: "text" },
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
    destination: "text",
    cron: "text",
    createdAt: "integer",
    method: "text",
    retries: "integer",
  },
  may: {
    body: "text",
    bodyBase64: "text",
    header: "lists by name",
    callback: "text",
    failureCallback: "text",
    delay: "integer",
    callerIP: "text",
    isPaused: "boolean",
  },
};
const log: Shape = {
  needs: { time: "integer", messageId: "text", state: "text", url: "text" },
  may: {
    error: "text",
    nextDeliveryTime: "integer",
    topicName: "text",
    endpointName: "text",
    queueName: "text",
    scheduleId: "text",
    header: "lists by name",
    body: "text",
    responseStatus: "integer",
    responseHeader: "lists by name",
    responseBody: "text",
    timeout: "integer",
    method: "text",
    callback: "text",
    failureCallback: "text",
    maxRetries: "integer",
    retryDelayExpr: "text",
    label: "text",
    ...flowControl,
  },
};
const endpoint: Shape = { needs: { url: "text" }, may: { name: "text" } };
const group: Shape = {
  needs: { name: "text", createdAt: "integer", updatedAt: "integer", endpoints: [endpoint] },
};
const flowControlKey: Shape = {
  needs: { flowControlKey: "text" },
  may: {
    waitListSize: "integer",
    parallelismMax: "integer",
    parallelismCount: "integer",
    rateMax: "integer",
    rateCount: "integer",
    ratePeriod: "integer",
    ratePeriodStart: "integer",
    isPaused: "boolean",
    isPinnedParallelism: "boolean",
    isPinnedRate: "boolean",
  },
};
const keys: Shape = { needs: { current: "text", next: "text" } };

export const messagingPython: readonly ClientRow[] = [
  {
    call: "readiness.check",
    request: "GET /v2/readiness",
    answer: { needs: { ready: "boolean" } },
    has: { ready: true },
  },
  {
    call: "message.publish of bytes",
    request: "POST /v2/publish/https://a.test/b?x=1",
    headers: ["Content-Type", "text/plain", "Upstash-Method", "PUT"],
    body: "<a & b>",
    answer: published,
  },
  {
    call: "message.publish_json with every option",
    request: "POST /v2/publish/https://a.test",
    headers: [
      ...json,
      ...["Upstash-Forward-My-Header", "v", "Upstash-Callback-My-Header", "c"],
      ...["Upstash-Failure-Callback-My-Header", "f", "Upstash-Retries", "3"],
      ...["Upstash-Retry-Delay", "max(10, pow(2, retried))", "Upstash-Callback", "https://callback.test"],
      ...["Upstash-Failure-Callback", "https://failure.test", "Upstash-Delay", "3600s"],
      ...["Upstash-Deduplication-Id", "id", "Upstash-Content-Based-Deduplication", "False", "Upstash-Timeout", "30s"],
      ...["Upstash-Flow-Control-Key", "key", "Upstash-Flow-Control-Value", "parallelism=3, rate=4, period=2s"],
      ...["Upstash-Label", "label"],
    ],
    body: '{"a": [1, 2.5, null, true], "\\u00e9": "<b> & /"}',
    answer: published,
    saves: { message: "messageId" },
  },
  {
    call: "message.publish_json of None",
    request: "POST /v2/publish/https://a.test",
    headers: [...json, "Upstash-Content-Based-Deduplication", "True", "Upstash-Not-Before", "1767229200"],
    body: "null",
    answer: published,
  },
  {
    call: "message.publish_json of the same again",
    request: "POST /v2/publish/https://a.test",
    headers: [...json, "Upstash-Content-Based-Deduplication", "True", "Upstash-Not-Before", "1767229200"],
    body: "null",
    answer: published,
    has: { deduplicated: true },
  },
  {
    call: "message.get",
    request: "GET /v2/messages/{message}",
    answer: message,
    has: {
      body: '{"a": [1, 2.5, null, true], "\\u00e9": "<b> & /"}',
      maxRetries: 3,
      retryDelayExpression: "max(10, pow(2, retried))",
      ...{ flowControlKey: "key", parallelism: 3, rate: 4, period: 2, label: "label" },
      "header.My-Header": ["v"],
      "callbackHeader.My-Header": ["c"],
    },
  },
  { call: "message.get of none", request: "GET /v2/messages/none", status: 404 },
  { call: "flow_control.get", request: "GET /v2/flowControl/key", answer: flowControlKey, has: { rateMax: 4 } },
  { call: "flow_control.pause", request: "POST /v2/flowControl/key/pause" },
  { call: "flow_control.resume", request: "POST /v2/flowControl/key/resume" },
  { call: "flow_control.pin", request: "POST /v2/flowControl/key/pin?parallelism=5&rate=6&period=60" },
  {
    call: "flow_control.get of a pinned key",
    request: "GET /v2/flowControl/key",
    answer: flowControlKey,
    has: { parallelismMax: 5, rateMax: 6, ratePeriod: 60, isPinnedParallelism: true, isPinnedRate: true },
  },
  { call: "flow_control.unpin", request: "POST /v2/flowControl/key/unpin?parallelism=true&rate=false" },
  { call: "flow_control.reset_rate", request: "POST /v2/flowControl/key/resetRate" },
  {
    call: "flow_control.get_global_parallelism",
    request: "GET /v2/globalParallelism",
    answer: { needs: {}, may: { parallelismMax: "integer", parallelismCount: "integer" } },
  },
  {
    call: "queue.upsert",
    request: "POST /v2/queues",
    headers: json,
    body: '{"queueName": "queue", "parallelism": 2, "paused": true}',
  },
  {
    call: "queue.get",
    request: "GET /v2/queues/queue",
    answer: queue,
    has: { parallelism: 2, paused: true, lag: 0 },
  },
  { call: "queue.list", request: "GET /v2/queues", answer: [queue] },
  { call: "queue.resume", request: "POST /v2/queues/queue/resume" },
  { call: "queue.pause", request: "POST /v2/queues/queue/pause" },
  {
    call: "message.enqueue_json",
    request: "POST /v2/enqueue/queue/https://a.test",
    headers: json,
    body: '{"ex_key": "ex_value"}',
    answer: published,
  },
  {
    call: "url_group.upsert_endpoints",
    request: "POST /v2/topics/group/endpoints",
    headers: json,
    body: '{"endpoints": [{"url": "https://a.test/?a=1&b=2", "name": "one"}, {"url": "https://b.test"}]}',
  },
  { call: "url_group.get", request: "GET /v2/topics/group", answer: group, has: { "endpoints.0.name": "one" } },
  { call: "url_group.list", request: "GET /v2/topics", answer: [group] },
  {
    call: "message.publish to a group",
    request: "POST /v2/publish/group",
    body: "x",
    answer: [publishedToGroup],
    has: { "1.url": "https://b.test" },
  },
  { call: "message.enqueue to a group", request: "POST /v2/enqueue/queue/group", answer: [publishedToGroup] },
  {
    call: "message.batch",
    request: "POST /v2/batch",
    headers: json,
    body: '[{"destination": "https://a.test", "headers": {"Content-Type": "text/plain", "Upstash-Forward-a": "b", "Upstash-Delay": "1h"}, "body": "<x>", "queue": null}, {"destination": "group", "headers": {}, "body": null, "queue": "queue"}]',
    answer: [published, [publishedToGroup]],
    saves: { batched: "0.messageId" },
  },
  {
    call: "message.batch_json",
    request: "POST /v2/batch",
    headers: json,
    body: '[{"destination": "https://a.test", "headers": {"Content-Type": "application/json", "Upstash-Delay": "1h"}, "body": "{\\"a\\": \\"\\\\u00e9\\"}", "queue": null}]',
    answer: [published],
    saves: { json: "0.messageId" },
  },
  {
    call: "message.get of a JSON batch",
    request: "GET /v2/messages/{json}",
    answer: message,
    has: { body: '{"a": "\\u00e9"}' },
  },
  {
    call: "schedule.create_json",
    request: "POST /v2/schedules/https://a.test",
    headers: [
      ...["Upstash-Cron", "1 1 1 1 1", ...json, "Upstash-Forward-a", "b", "Upstash-Retries", "2"],
      ...["Upstash-Delay", "10s", "Upstash-Timeout", "5s", "Upstash-Schedule-Id", "schedule"],
    ],
    body: '{"ex_key": "ex_value"}',
    answer: { needs: { scheduleId: "text" } },
    has: { scheduleId: "schedule" },
  },
  { call: "schedule.pause", request: "PATCH /v2/schedules/schedule/pause" },
  {
    call: "schedule.get",
    request: "GET /v2/schedules/schedule",
    answer: schedule,
    has: { body: '{"ex_key": "ex_value"}', isPaused: true, delay: 10 },
  },
  { call: "schedule.resume", request: "PATCH /v2/schedules/schedule/resume" },
  { call: "schedule.list", request: "GET /v2/schedules", answer: [schedule] },
  { call: "schedule.delete", request: "DELETE /v2/schedules/schedule" },
  { call: "message.cancel", request: "DELETE /v2/messages/{message}" },
  {
    call: "message.cancel_many",
    request: "DELETE /v2/messages",
    headers: json,
    body: '{"messageIds": ["{batched}", "none"]}',
    answer: { needs: { cancelled: "integer" } },
    has: { cancelled: 1 },
  },
  {
    call: "dlq.list",
    request: "GET /v2/dlq?count=10&url=https%3A%2F%2Ffails.test&fromDate=0&toDate=4102444800000&responseStatus=500",
    answer: { needs: { messages: [deadLetter] }, may: { cursor: "text" } },
    saves: { first: "messages.0.dlqId", second: "messages.1.dlqId" },
  },
  { call: "dlq.get", request: "GET /v2/dlq/{first}", answer: deadLetter, has: { responseBody: "no" } },
  { call: "dlq.delete", request: "DELETE /v2/dlq/{first}" },
  {
    call: "dlq.delete_many",
    request: "DELETE /v2/dlq",
    headers: json,
    body: '{"dlqIds": ["{second}", "none"]}',
    answer: { needs: { deleted: "integer" } },
    has: { deleted: 1 },
  },
  {
    call: "log.list of some messages in a state",
    request: "GET /v2/events?count=100&messageIds={message}&messageIds={batched}&state=CANCELED",
    answer: { needs: { events: [log] }, may: { cursor: "text" } },
    has: { "events.0.state": "CANCELED", "events.1.state": "CANCELED", "events.2": undefined },
  },
  { call: "log.list", request: "GET /v2/events", answer: { needs: { events: [log] }, may: { cursor: "text" } } },
  { call: "message.cancel_all", request: "DELETE /v2/messages", answer: { needs: { cancelled: "integer" } } },
  {
    call: "url_group.remove_endpoints",
    request: "DELETE /v2/topics/group/endpoints",
    headers: json,
    body: '{"endpoints": [{"name": "one"}]}',
  },
  { call: "url_group.delete", request: "DELETE /v2/topics/group" },
  { call: "queue.delete", request: "DELETE /v2/queues/queue" },
  { call: "signing_key.get", request: "GET /v2/keys", answer: keys },
  { call: "signing_key.rotate", request: "POST /v2/keys/rotate", answer: keys },
];
