/** Each endpoint of area C once, on a server with an object of each kind (docs/interface/messaging.md). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { messagingRoutes } from "../../src/edge/messaging/routes/table.ts";
import { type MessagingSend, type MessagingServer, startMessagingServer } from "../harness/messaging-server.ts";

/** A server with a waiting message, a queue, a schedule, a group, a flow-control key and a dead deadLetter. */
async function worldWithOneOfEach(): Promise<{ server: MessagingServer; ids: Ids }> {
  const server = await startMessagingServer();
  server.destination = () => ({ kind: "answer", status: 500, headers: [], body: Buffer.from("no") });
  await server.publish("https://fails.test", { headers: ["Upstash-Retries", "0"] });
  await server.advance(0);
  const dead = (await server.send("GET /v2/dlq")).json as { messages: { dlqId: string }[] };
  const waiting = await server.publish("https://a.test", {
    headers: ["Upstash-Delay", "1h", "Upstash-Flow-Control-Key", "key", "Upstash-Flow-Control-Value", "rate=1"],
  });
  await server.send("POST /v2/queues", { body: { queueName: "queue" } });
  await server.send("POST /v2/schedules/https://a.test", {
    headers: ["Upstash-Cron", "@daily", "Upstash-Schedule-Id", "schedule"],
  });
  await server.send("POST /v2/topics/group/endpoints", { body: { endpoints: [{ url: "https://a.test" }] } });
  server.routes.length = 0;
  return { server, ids: { message: waiting, deadLetter: dead.messages[0]?.dlqId ?? "" } };
}

interface Ids {
  readonly message: string;
  readonly deadLetter: string;
}

type Row = readonly [route: string, line: string, status: number, options?: MessagingSend];

const cron: MessagingSend = { headers: ["Upstash-Cron", "@daily"] };

function rows({ message, deadLetter }: Ids): readonly Row[] {
  return [
    ["C15 POST /v2/publish/*", "POST /v2/publish/https://a.test/b?x=1", 200],
    ["C POST /v2/enqueue/:queueName/*", "POST /v2/enqueue/new/https://a.test/b?x=1", 200],
    ["C POST /v2/batch", "POST /v2/batch", 200, { body: [{ destination: "group" }] }],
    ["C GET /v2/messages/:messageId", `GET /v2/messages/${message}`, 200],
    ["C POST /v2/messages/:messageId/retry", `POST /v2/messages/${message}/retry`, 200],
    ["C DELETE /v2/messages/:messageId", `DELETE /v2/messages/${message}`, 200],
    ["C DELETE /v2/messages", "DELETE /v2/messages?label=none", 200],
    ["C POST /v2/queues", "POST /v2/queues", 200, { body: { queueName: "queue", parallelism: 2, paused: false } }],
    ["C GET /v2/queues", "GET /v2/queues", 200],
    ["C GET /v2/queues/:queueName", "GET /v2/queues/queue", 200],
    ["C POST /v2/queues/:queueName/pause", "POST /v2/queues/queue/pause", 200],
    ["C POST /v2/queues/:queueName/resume", "POST /v2/queues/queue/resume", 200],
    ["C DELETE /v2/queues/:queueName", "DELETE /v2/queues/queue", 200],
    ["C1 POST /v2/schedules/*", "POST /v2/schedules/https://a.test/pause", 200, cron],
    ["C GET /v2/schedules", "GET /v2/schedules", 200],
    ["C GET /v2/schedules/:scheduleId", "GET /v2/schedules/schedule", 200],
    ["C PATCH /v2/schedules/:scheduleId/pause", "PATCH /v2/schedules/schedule/pause", 200],
    ["C PATCH /v2/schedules/:scheduleId/resume", "PATCH /v2/schedules/schedule/resume", 200],
    ["C POST /v2/schedules/:scheduleId/pause", "POST /v2/schedules/schedule/pause", 200],
    ["C POST /v2/schedules/:scheduleId/resume", "POST /v2/schedules/schedule/resume", 200],
    ["C POST /v2/schedules/:scheduleId/run", "POST /v2/schedules/schedule/run", 200],
    ["C DELETE /v2/schedules/:scheduleId", "DELETE /v2/schedules/schedule", 200],
    [
      "C2 POST /v2/topics/:urlGroupName/endpoints",
      "POST /v2/topics/group/endpoints",
      200,
      { body: { endpoints: [{ url: "https://b.test", name: "b" }] } },
    ],
    ["C16 PATCH /v2/topics/:urlGroupName", "PATCH /v2/topics/group", 200, { body: { headers: { "X-A": "1" } } }],
    ["C GET /v2/topics", "GET /v2/topics", 200],
    ["C GET /v2/topics/:urlGroupName", "GET /v2/topics/group", 200],
    [
      "C DELETE /v2/topics/:urlGroupName/endpoints",
      "DELETE /v2/topics/group/endpoints",
      200,
      { body: { endpoints: [{ name: "b" }] } },
    ],
    ["C DELETE /v2/topics/:urlGroupName", "DELETE /v2/topics/group", 200],
    ["C GET /v2/dlq", "GET /v2/dlq", 200],
    ["C GET /v2/dlq/:dlqId", `GET /v2/dlq/${deadLetter}`, 200],
    ["C8 POST /v2/dlq/retry", "POST /v2/dlq/retry?label=none", 201],
    ["C8 POST /v2/dlq/retry/:dlqId", "POST /v2/dlq/retry/1-0", 404],
    ["C11 DELETE /v2/dlq/:dlqId", `DELETE /v2/dlq/${deadLetter}`, 200],
    ["C DELETE /v2/dlq", "DELETE /v2/dlq", 200],
    ["C17 GET /v2/flowControl", "GET /v2/flowControl?search=ke", 200],
    ["C GET /v2/flowControl/:flowControlKey", "GET /v2/flowControl/key", 200],
    ["C7 GET /v2/keys/rotate", "GET /v2/keys/rotate?flowControlKey=key", 200],
    ["C13 POST /v2/flowControl/:flowControlKey/pause", "POST /v2/flowControl/key/pause", 200],
    ["C POST /v2/flowControl/:flowControlKey/resume", "POST /v2/flowControl/key/resume", 200],
    ["C12 POST /v2/flowControl/:flowControlKey/pin", "POST /v2/flowControl/key/pin?parallelism=1&rate=2&period=3", 200],
    ["C POST /v2/flowControl/:flowControlKey/unpin", "POST /v2/flowControl/key/unpin?rate=true", 200],
    ["C10 POST /v2/flowControl/:flowControlKey/resetRate", "POST /v2/flowControl/key/resetRate", 200],
    ["C18 POST /v2/flowControl/:flowControlKey/reset", "POST /v2/flowControl/key/reset", 200],
    ["C19 GET /v2/globalParallelism", "GET /v2/globalParallelism", 200],
    ["C6 GET /v2/logs", "GET /v2/logs", 200],
    ["C6 GET /v2/events", "GET /v2/events", 200],
    ["C GET /v2/readiness", "GET /v2/readiness", 200],
    ["C GET /v2/keys", "GET /v2/keys", 200],
    ["C POST /v2/keys/rotate", "POST /v2/keys/rotate", 200],
    ["C POST /v2/trigger/*", "POST /v2/trigger/https://a.test/w", 200],
    [
      "C POST /v2/batch/trigger",
      "POST /v2/batch/trigger",
      201,
      { body: JSON.stringify([{ destination: "https://a.test/w", headers: { "Upstash-Workflow-RunId": "wfr_1" } }]) },
    ],
    ["C GET /v2/workflows/runs/:workflowRunId", "GET /v2/workflows/runs/wfr_1", 200],
    ["C POST /v2/wait/:eventId", "POST /v2/wait/event", 400],
    ["C POST /v2/notify/:eventId", "POST /v2/notify/event", 201],
    ["C3 POST /v2/notify/:workflowRunId/:eventId", "POST /v2/notify/wfr_1/event", 201],
    ["C9 GET /v2/waiters/:eventId", "GET /v2/waiters/event", 200],
    [
      "C ANY /v2/workflows/hooks/:userId/:workflowRunId/:eventId",
      "GET /v2/workflows/hooks/main/wfr_1/event",
      200,
      { token: null },
    ],
    ["C14 DELETE /v2/workflows/runs/:workflowRunId", "DELETE /v2/workflows/runs/wfr_1", 200],
    ["C DELETE /v2/workflows/runs", "DELETE /v2/workflows/runs", 200],
    ["C4 DELETE /v2/workflows/dlq", "DELETE /v2/workflows/dlq", 200],
    ["C5 GET /v2/workflows/dlq", "GET /v2/workflows/dlq", 200],
    ["C GET /v2/workflows/dlq/:dlqId", "GET /v2/workflows/dlq/1-0", 404],
    ["C DELETE /v2/workflows/dlq/:dlqId", "DELETE /v2/workflows/dlq/1-0", 404],
    ["C POST /v2/workflows/dlq/resume", "POST /v2/workflows/dlq/resume", 200],
    ["C POST /v2/workflows/dlq/resume/:dlqId", "POST /v2/workflows/dlq/resume/1-0", 404],
    ["C POST /v2/workflows/dlq/restart", "POST /v2/workflows/dlq/restart", 200],
    ["C POST /v2/workflows/dlq/restart/:dlqId", "POST /v2/workflows/dlq/restart/1-0", 404],
    ["C POST /v2/workflows/dlq/callback/:dlqId", "POST /v2/workflows/dlq/callback/1-0", 404],
    ["C DELETE /v2/workflows/dlq/callback/:dlqId", "DELETE /v2/workflows/dlq/callback/1-0", 404],
    ["C GET /v2/workflows/logs", "GET /v2/workflows/logs?groupBy=workflowRunId", 200],
    ["C GET /v2/workflows/events", "GET /v2/workflows/events", 200],
    ["C GET /v2/workflows/messageLogs", "GET /v2/workflows/messageLogs", 200],
    ["C ANY /llm/v1/*", "POST /llm/v1/chat/completions", 501],
  ];
}

test("H.json: every route answers with JSON, under its own name", async () => {
  const { server, ids } = await worldWithOneOfEach();
  await using _ = server;
  for (const [, line, status, options] of rows(ids)) {
    const reply = await server.send(line, options);
    assert.equal(reply.status, status, `${line}: ${reply.text}`);
    assert.equal(typeof reply.json, "object", line);
    if (status >= 400) assert.deepEqual(Object.keys(reply.json as object), ["error"], line);
  }
  const names = rows(ids).map(([route]) => route);
  assert.deepEqual(server.routes, names);
  assert.deepEqual(
    names.toSorted(),
    messagingRoutes.map(({ rule, method, template }) => `${rule} ${method} ${template}`).toSorted(),
  );
});
