/**
 * Outcomes of attempts, their callbacks, and the dead letters.
 * The test sets the answers of the destinations, and time is virtual.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { filterRows } from "../../src/edge/messaging/filters/messages.ts";
import { answered, answeredTooLong } from "../harness/messaging-harness.ts";
import { type MessagingServer, startMessagingServer } from "../harness/messaging-server.ts";

type Json = Record<string, unknown>;

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const START_MS = Date.UTC(2026, 0, 1);

async function statesOf(server: MessagingServer, messageId: string): Promise<readonly string[]> {
  const { json } = await server.send(`GET /v2/logs?order=earliestFirst&messageId=${messageId}`);
  return (json as { logs: { state: string }[] }).logs.map(({ state }) => state);
}

test("C1, C.delivery.schedule: a schedule publishes its message each time its expression fires", async () => {
  await using server = await startMessagingServer();
  await server.send("POST /v2/schedules/https://a.test/b", {
    headers: ["Service-Cron", "0 */6 * * *", "Service-Schedule-Id", "quarter", "Service-Method", "PUT"],
    body: "tick",
  });
  await server.advance(24 * HOUR_MS);
  assert.deepEqual(
    server.calls.map(({ atMs, url, method, body }) => [(atMs - START_MS) / HOUR_MS, url, method, body]),
    [6, 12, 18, 24].map((hours) => [hours, "https://a.test/b", "PUT", "tick"]),
  );
  for (const { headers } of server.calls) {
    assert.equal(headers.get("service-schedule-id"), "quarter");
    assert.equal(headers.get("upstash-schedule-id"), "quarter");
  }
});

test("C.callbacks.body: the callback comes after every attempt, the failure callback when all retries are exhausted", async () => {
  await using server = await startMessagingServer();
  server.destination = ({ url }) => (url === "https://a.test/" ? answered(500, ["X-R", "1"], "no") : answered(200));
  const id = await server.publish("https://a.test/", {
    headers: [
      ...["Service-Retries", "2", "Service-Retry-Delay", "1000", "Service-Callback", "https://callback.test/"],
      ...["Service-Failure-Callback", "https://failure.test/", "Content-Type", "text/plain"],
    ],
    body: "payload",
  });
  await server.advance(MINUTE_MS);

  const reported = (url: string): readonly Json[] =>
    server.calls.filter((call) => call.url === url).map(({ body }) => JSON.parse(body) as Json);
  const common = {
    status: 500,
    header: { "X-R": ["1"] },
    body: "bm8=",
    maxRetries: 2,
    sourceMessageId: id,
    url: "https://a.test/",
    method: "POST",
    sourceHeader: { "Content-Type": ["text/plain"] },
    sourceBody: "cGF5bG9hZA==",
    createdAt: START_MS,
    callerIP: "127.0.0.1",
  };
  assert.deepEqual(
    reported("https://callback.test/"),
    [0, 1, 2].map((retried) => ({
      ...common,
      retried,
      notBefore: reported("https://callback.test/")[retried]?.["notBefore"],
    })),
  );
  const [failure, ...others] = reported("https://failure.test/");
  assert.deepEqual(others, []);
  const { messages } = (await server.send("GET /v2/dlq")).json as { messages: Json[] };
  assert.equal(failure?.["dlqId"], messages[0]?.["dlqId"]);
  assert.equal(failure?.["retried"], 2);
});

test("C.limits.response, C.body-cut: a truncated answer is marked in callbacks, logs and dead letters, with no other length", async () => {
  await using server = await startMessagingServer();
  const headers = ["X-R", "1", "Content-Length", "5242880", "Content-MD5", "eA==", "Repr-Digest", "sha-256=:eA==:"];
  server.destination = ({ url }) =>
    url === "https://a.test/" ? answeredTooLong(500, headers, "start") : answered(200);
  await server.publish("https://a.test/", {
    headers: ["Service-Retries", "0", "Service-Callback", "https://callback.test/"],
  });
  await server.advance(0);

  const shown = { "X-R": ["1"], "Service-Body-Cut": ["5"], "Upstash-Body-Cut": ["5"] };
  const reported = JSON.parse(server.calls[1]?.body ?? "") as Json;
  assert.deepEqual([reported["header"], reported["body"]], [shown, Buffer.from("start").toString("base64")]);
  const { logs } = (await server.send("GET /v2/logs?url=https://a.test/&state=ERROR")).json as { logs: Json[] };
  assert.deepEqual(logs[0]?.["responseHeaders"], shown);
  const { messages } = (await server.send("GET /v2/dlq")).json as { messages: Json[] };
  assert.deepEqual([messages[0]?.["responseHeader"], messages[0]?.["responseBody"]], [shown, "start"]);
});

test("C.callbacks: a callback is a separate message, with a log, and a dead letter when it fails", async () => {
  await using server = await startMessagingServer();
  server.destination = ({ url }) => answered(url === "https://callback.test/" ? 404 : 200);
  await server.publish("https://a.test/", {
    headers: ["Service-Retries", "0", "Service-Callback", "https://callback.test/"],
  });
  await server.advance(MINUTE_MS);
  const { logs } = (await server.send("GET /v2/logs?url=https://callback.test/&order=earliestFirst")).json as {
    logs: Json[];
  };
  assert.deepEqual(
    logs.map(({ state }) => state),
    ["CREATED", "ACTIVE", "ERROR", "FAILED"],
  );
  const { messages } = (await server.send("GET /v2/dlq")).json as { messages: Json[] };
  assert.deepEqual(
    messages.map(({ url, responseStatus }) => [url, responseStatus]),
    [["https://callback.test/", 404]],
  );
});

test("C.callbacks.options: a callback may have a failure callback, but no deeper nesting", async () => {
  await using server = await startMessagingServer();
  server.destination = ({ url }) => answered(url === "https://a.test/" ? 200 : 500);
  await server.publish("https://a.test/", {
    headers: [
      ...["Service-Retries", "0", "Service-Callback", "https://callback.test/"],
      ...["Service-Callback-Failure-Callback", "https://nested.test/"],
    ],
  });
  await server.advance(MINUTE_MS);
  assert.deepEqual(
    server.calls.map(({ url }) => url),
    ["https://a.test/", "https://callback.test/", "https://nested.test/"],
  );
});

test("C.delivery.caller: a delivery carries the address of the publisher, in both spellings", async () => {
  await using server = await startMessagingServer();
  await server.publish("https://a.test/");
  await server.send("POST /v2/schedules/https://a.test/", { headers: ["Service-Cron", "* * * * *"] });
  await server.advance(MINUTE_MS);
  assert.deepEqual(
    server.calls.map(({ headers }) => [headers.get("service-caller-ip"), headers.get("upstash-caller-ip")]),
    [
      ["127.0.0.1", "127.0.0.1"],
      ["127.0.0.1", "127.0.0.1"],
    ],
  );
});

// C.outcome
test("C-06: only 2xx is a success: redirects are not followed, and count as failures", async () => {
  await using server = await startMessagingServer();
  for (const [status, last] of [
    [200, "DELIVERED"],
    [204, "DELIVERED"],
    [299, "DELIVERED"],
    [301, "FAILED"],
    [307, "FAILED"],
    [400, "FAILED"],
    [404, "FAILED"],
    [500, "FAILED"],
  ] as const) {
    server.destination = () => answered(status, ["Location", "https://elsewhere.test/"]);
    const id = await server.publish("https://a.test/?service-retries=0");
    await server.advance(0);
    assert.equal((await statesOf(server, id)).at(-1), last, String(status));
  }
  assert.deepEqual([...new Set(server.calls.map(({ url }) => url))], ["https://a.test/"]);
});

test("C.outcome.non-retryable: 489 with the header stops retries; without it, retries continue", async () => {
  await using server = await startMessagingServer();
  for (const [headers, states] of [
    [
      ["Upstash-NonRetryable-Error", "true"],
      ["CREATED", "ACTIVE", "ERROR", "FAILED"],
    ],
    [
      ["Service-NonRetryable-Error", "True"],
      ["CREATED", "ACTIVE", "ERROR", "FAILED"],
    ],
    [
      ["Upstash-NonRetryable-Error", "false"],
      ["CREATED", "ACTIVE", "ERROR", "RETRY"],
    ],
    [[], ["CREATED", "ACTIVE", "ERROR", "RETRY"]],
  ] as const) {
    server.destination = () => answered(489, headers);
    const id = await server.publish("https://a.test/");
    await server.advance(0);
    assert.deepEqual(await statesOf(server, id), states, String(headers));
  }
});

test("C.retry-delay, C.retry-expression: the delay is the receiver's, else the expression's, else the default", async () => {
  const inAnHour = new Date(START_MS + HOUR_MS).toUTCString();
  for (const [headers, expression, delayMs] of [
    [["Retry-After", "7"], undefined, 7_000],
    [["Retry-After", "7"], "1000", 7_000],
    [["Retry-After", inAnHour], undefined, HOUR_MS],
    [["Retry-After", "6m5s"], undefined, 365_000],
    [["X-RateLimit-Reset", "250ms"], undefined, 250],
    [["X-RateLimit-Reset", String(START_MS / 1_000 + 90)], undefined, 90_000],
    [["X-RateLimit-Reset-Requests", "1s"], undefined, 1_000],
    [["X-RateLimit-Reset-Tokens", "2s"], undefined, 2_000],
    [["X-RateLimit-Reset", "3", "Retry-After", "4"], undefined, 4_000],
    [["Retry-After", "86401"], undefined, 12_000],
    [["Retry-After", "-5"], "1000", 1_000],
    [["Retry-After", "soon"], "2000 * (retried + 1)", 2_000],
    [[], "min(5000, exp(20))", 5_000],
    [[], "0 - 5", 0],
    [[], "pow(10, 30)", 24 * HOUR_MS],
    [[], undefined, 12_000],
  ] as const) {
    await using server = await startMessagingServer();
    server.destination = () => answered(429, headers);
    const id = await server.publish("https://a.test/", {
      headers: ["Service-Retries", "1", ...(expression === undefined ? [] : ["Service-Retry-Delay", expression])],
    });
    await server.advance(delayMs);
    const { json } = await server.send(`GET /v2/logs?messageId=${id}&state=RETRY`);
    const [retry] = (json as { logs: { time: number; nextDeliveryTime: number }[] }).logs;
    assert.equal((retry?.nextDeliveryTime ?? 0) - (retry?.time ?? 0), delayMs, `${headers} ${expression}`);
    assert.equal(server.calls.length, 2, `${headers} ${expression}`);
  }
});

test("C.limits.timeout, C15.timeout: a call gets the time limit of its message, or the maximum without one", async () => {
  await using server = await startMessagingServer({ timeoutMsMax: HOUR_MS });
  const id = await server.publish("https://a.test/?service-timeout=90s&service-delay=1h");
  assert.equal(((await server.send(`GET /v2/messages/${id}`)).json as Json)["timeout"], 90_000);
  const refused = await server.send("POST /v2/publish/https://a.test/?service-timeout=61m");
  assert.deepEqual(
    [refused.status, refused.json],
    [400, { error: 'Invalid value for Timeout: "61m": the limit is 3600s' }],
  );
});

/** Dead letters that each have one distinct property, failed a minute apart. */
async function worldOfDeadLetters(): Promise<{ server: MessagingServer; ids: readonly string[] }> {
  const server = await startMessagingServer();
  server.destination = ({ url }) => answered(url.includes("busy") ? 503 : 500);
  await server.send("POST /v2/topics/group/endpoints", { body: { endpoints: [{ url: "https://group.test/" }] } });
  const once = "service-retries=0";
  const flowControl = ["Service-Flow-Control-Key", "key", "Service-Flow-Control-Value", "parallelism=5"];
  await server.publish(`https://red.test/?${once}&service-label=red,blue`);
  await server.advance(MINUTE_MS);
  await server.publish(`https://busy.test/?${once}&service-label=blue`);
  await server.advance(MINUTE_MS);
  await server.publish(`https://key.test/?${once}`, { headers: flowControl });
  await server.advance(MINUTE_MS);
  await server.send(`POST /v2/publish/group?${once}`);
  await server.advance(MINUTE_MS);
  await server.send(`POST /v2/enqueue/orders/https://queue.test/?${once}`);
  await server.advance(MINUTE_MS);
  await server.send(`POST /v2/schedules/https://schedule.test/?${once}`, {
    headers: ["Service-Cron", "* * * * *", "Service-Schedule-Id", "s"],
  });
  await server.advance(MINUTE_MS);
  await server.send("DELETE /v2/schedules/s");
  const { messages } = (await server.send("GET /v2/dlq")).json as { messages: { dlqId: string }[] };
  return { server, ids: messages.map(({ dlqId }) => dlqId) };
}

const all = ["red", "busy", "key", "group", "queue", "schedule"];

function rowsToFilter(ids: readonly string[], messageId: unknown): readonly (readonly [string, readonly string[]])[] {
  const [first, second] = ids;
  return [
    ["", all],
    [`dlqIds=${second}&dlqIds=${first}`, ["red", "busy"]],
    [`dlqIds=${first},${second}&label=none`, ["red", "busy"]],
    [`messageId=${messageId}`, ["red"]],
    ["url=https://key.test/&url=https://red.test/", ["red", "key"]],
    ["topicName=group", ["group"]],
    ["scheduleId=s", ["schedule"]],
    ["queueName=orders,other", ["queue"]],
    [`fromDate=${START_MS + 4 * MINUTE_MS}`, ["queue", "schedule"]],
    [`fromDate=${START_MS + MINUTE_MS}&toDate=${START_MS + 2 * MINUTE_MS}`, ["busy", "key"]],
    ["responseStatus=503", ["busy"]],
    ["responseStatus=503&responseStatus=500", all],
    ["responseStatus=404", []],
    ["callerIp=127.0.0.1", all],
    ["callerIP=::1", []],
    ["label=blue", ["red", "busy"]],
    ["label=green,red", ["red"]],
    ["flowControlKey=key", ["key"]],
    ["label=blue&responseStatus=500", ["red"]],
    ["source=workflow", []],
    ["workflowRunId=wfr_1", []],
    ["workflowUrl=https://red.test/", []],
    ["workflowCreatedAt=1", []],
    ["failureFunctionState=CALLBACK_FAIL", []],
  ];
}

test("C8, C.filters: each filter selects its own dead letters, for listing, retrying and deleting", async () => {
  const { server, ids } = await worldOfDeadLetters();
  await using _server = server;
  const { messages } = (await server.send("GET /v2/dlq")).json as { messages: Json[] };
  const rows = rowsToFilter(ids, messages[0]?.["messageId"]);
  for (const [query, names] of rows) {
    const { json } = await server.send(`GET /v2/dlq?${query}`);
    assert.deepEqual(
      (json as { messages: { url: string }[] }).messages.map(({ url }) =>
        new URL(url).hostname.slice(0, -".test".length),
      ),
      names,
      query,
    );
  }
  for (const [query, names] of rows) {
    const { server: other, ids: otherIds } = await worldOfDeadLetters();
    await using _other = other;
    other.destination = () => "later";
    const asked = query.replaceAll(String(ids[0]), String(otherIds[0])).replaceAll(String(ids[1]), String(otherIds[1]));
    if (asked.startsWith("messageId")) continue;
    const before = other.calls.length;
    const { status, json } = await other.send(`POST /v2/dlq/retry?${asked}`);
    assert.equal(status, 201, query);
    assert.equal((json as { responses: unknown[] }).responses.length, names.length, query);
    await other.advance(0);
    assert.deepEqual(
      other.calls
        .slice(before)
        .map(({ url }) => new URL(url).hostname.slice(0, -".test".length))
        .toSorted(),
      names.toSorted(),
      query,
    );
    const left = (await other.send("DELETE /v2/dlq")).json as Json;
    assert.deepEqual(left, { deleted: all.length - names.length }, query);
  }
});

test("C8: every filter of the table is tested", () => {
  const used = new Set(rowsToFilter([], "").flatMap(([query]) => [...new URLSearchParams(query).keys()]));
  const missing = filterRows.filter((row) => row.for.includes("dead letters") && !used.has(row.name));
  assert.deepEqual(missing, []);
});

test("C8, C.filters.body: a JSON body may have the same parameters, and an unknown name is 400", async () => {
  const { server, ids } = await worldOfDeadLetters();
  await using _server = server;
  for (const [line, body, error] of [
    ["POST /v2/dlq/retry", { labeel: "red" }, "Unknown filter: labeel"],
    ["POST /v2/dlq/retry?labeel=red", undefined, "Unknown filter: labeel"],
    ["DELETE /v2/dlq", { dlqIds: [] }, "Invalid value for dlqIds: the list is empty"],
    ["DELETE /v2/dlq?label=", undefined, "Invalid value for label: it must not be empty"],
    ["DELETE /v2/messages", { labeel: "red" }, "Unknown filter: labeel"],
    ["GET /v2/dlq?host=red.test", undefined, "Unknown filter: dead letters cannot be listed by host"],
    ["GET /v2/dlq?path=/", undefined, "Unknown filter: dead letters cannot be listed by path"],
  ] as const) {
    const { status, json } = await server.send(line, { body });
    assert.deepEqual([status, json], [400, { error }], line);
  }
  const retried = await server.send("POST /v2/dlq/retry", { body: { label: ["red"], responseStatus: 500 } });
  assert.equal((retried.json as { responses: unknown[] }).responses.length, 1);
  const deleted = await server.send("DELETE /v2/dlq", { body: { dlqIds: [ids[1], "1-0"], cursor: null } });
  assert.deepEqual(deleted.json, { deleted: 1 });
});

test("C8.message, C8.options: a retry keeps everything of the message except its id, and headers change its settings", async () => {
  await using server = await startMessagingServer();
  server.destination = () => answered(500);
  const id = await server.publish("https://a.test/b?x=1", {
    headers: [
      ...["Content-Type", "text/plain", "Service-Forward-X-Team", "blue", "Service-Method", "PUT"],
      ...["Service-Retries", "0", "Service-Label", "one,two", "Service-Timeout", "30s", "Service-Retry-Delay", "1000"],
      ...["Service-Callback", "https://callback.test/", "Service-Queue-Name", "orders"],
      ...["Service-Flow-Control-Key", "key", "Service-Flow-Control-Value", "parallelism=2"],
    ],
    body: "payload",
  });
  const record = async (messageId: unknown): Promise<Json> =>
    (await server.send(`GET /v2/messages/${messageId}`)).json as Json;
  const original = await record(id);
  await server.advance(0);
  const { messages } = (await server.send("GET /v2/dlq?label=one")).json as { messages: Json[] };
  await server.send("POST /v2/queues/orders/pause");

  const { json, status } = await server.send(`POST /v2/dlq/retry/${messages[0]?.["dlqId"]}`, {
    headers: ["Service-Retries", "5", "Service-Flow-Control-Key", "other", "Service-Flow-Control-Value", "rate=9"],
  });

  assert.equal(status, 201);
  const [{ messageId } = { messageId: "" }] = (json as { responses: { messageId: string }[] }).responses;
  assert.notEqual(messageId, id);
  const retried = await record(messageId);
  const { parallelism: _parallelism, ...others } = original;
  assert.deepEqual(retried, {
    ...others,
    messageId,
    maxRetries: 5,
    flowControlKey: "other",
    rate: 9,
    period: 1,
    waitsFor: "It waits for the queue orders to be resumed",
  });
});

test("C.dlq.retention: a dead letter is found until its retention ends", async () => {
  await using server = await startMessagingServer({ deadLetterRetentionMs: HOUR_MS });
  server.destination = () => answered(500);
  await server.publish("https://a.test/?service-retries=0");
  await server.advance(0);
  const { messages } = (await server.send("GET /v2/dlq")).json as { messages: Json[] };
  const line = `GET /v2/dlq/${messages[0]?.["dlqId"]}`;

  await server.advance(HOUR_MS - MINUTE_MS);
  assert.equal((await server.send(line)).status, 200);
  await server.advance(HOUR_MS);

  assert.equal((await server.send(line)).status, 404);
  assert.deepEqual((await server.send("GET /v2/dlq")).json, { messages: [] });
});
