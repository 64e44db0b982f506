/** Management over HTTP, on the engine: schedules, groups, queues, keys, dead letters, cancelling. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { answered } from "../harness/messaging-harness.ts";
import { MESSAGING_READ_ONLY_TOKEN, startMessagingServer } from "../harness/messaging-server.ts";

const MINUTE_MS = 60_000;
type Json = Record<string, unknown>;

test("C1, C.schedules.pause: a schedule publishes its body each time it is due, until it is paused", async () => {
  await using server = await startMessagingServer();
  const created = await server.send("POST /v2/schedules/https://a.test/b?x=1", {
    headers: ["Upstash-Cron", "*/5 * * * *", "Upstash-Schedule-Id", "s", "Content-Type", "text/plain"],
    body: "payload",
  });
  assert.equal(created.status, 200);
  assert.deepEqual(created.json, { scheduleId: "s" });
  await server.advance(10 * MINUTE_MS + 1);
  assert.deepEqual(
    server.calls.map(({ url, body, headers }) => [url, body, headers.get("upstash-schedule-id")]),
    [
      ["https://a.test/b?x=1", "payload", "s"],
      ["https://a.test/b?x=1", "payload", "s"],
    ],
  );
  await server.send("PATCH /v2/schedules/s/pause");
  await server.advance(10 * MINUTE_MS);
  assert.equal(server.calls.length, 2);
  assert.equal(((await server.send("GET /v2/schedules/s")).json as Json)["isPaused"], true);
});

test("C.schedules.run: a schedule is run at once, also a paused one, and its next time stays; a refused publish changes nothing", async () => {
  await using server = await startMessagingServer();
  await server.send("POST /v2/schedules/https://a.test", {
    headers: ["Upstash-Cron", "@daily", "Upstash-Schedule-Id", "s"],
    body: "payload",
  });
  await server.send("PATCH /v2/schedules/s/pause");
  const before = (await server.send("GET /v2/schedules/s")).json as Json;
  await server.advance(MINUTE_MS);
  const run = await server.send("POST /v2/schedules/s/run");
  assert.equal(run.status, 200);
  const { messageId, url } = run.json as Json;
  assert.equal(url, "https://a.test");
  await server.advance(0);
  assert.deepEqual(
    server.calls.map(({ body, headers }) => [body, headers.get("upstash-schedule-id")]),
    [["payload", "s"]],
  );
  assert.deepEqual((await server.send("GET /v2/schedules/s")).json, {
    ...before,
    lastScheduleTime: (before["createdAt"] as number) + MINUTE_MS,
    lastScheduleStates: { [`${messageId}`]: "SUCCESS" },
  });
  assert.equal((await server.send("POST /v2/schedules/none/run")).status, 404);

  await server.send("POST /v2/topics/g/endpoints", { body: { endpoints: [{ url: "https://a.test" }] } });
  await server.send("POST /v2/schedules/g", { headers: ["Upstash-Cron", "@daily", "Upstash-Schedule-Id", "of-group"] });
  assert.equal(((await server.send("POST /v2/schedules/of-group/run")).json as Json[]).length, 1);
  await server.send("DELETE /v2/topics/g");
  const kept = (await server.send("GET /v2/schedules/of-group")).json;
  assert.equal((await server.send("POST /v2/schedules/of-group/run")).status, 400);
  assert.deepEqual((await server.send("GET /v2/schedules/of-group")).json, kept);
});

test("C1.schedule-id, C1.replace: the same id replaces the whole schedule, including its body", async () => {
  await using server = await startMessagingServer();
  const id = ["Upstash-Schedule-Id", "s"];
  await server.send("POST /v2/schedules/https://a.test", {
    headers: ["Upstash-Cron", "@daily", ...id],
    body: "payload",
  });
  await server.send("POST /v2/schedules/https://b.test", { headers: ["Upstash-Cron", " 0 1 * * * ", ...id] });
  const schedules = (await server.send("GET /v2/schedules")).json as Json[];
  assert.equal(schedules.length, 1);
  assert.equal(schedules[0]?.["destination"], "https://b.test");
  assert.equal(schedules[0]?.["cron"], "0 1 * * *");
  assert.equal("body" in (schedules[0] ?? {}), false);
});

test("C1.refused: more schedules than the limit are 412, and a bad id is 400", async () => {
  await using server = await startMessagingServer({ schedulesMax: 1 });
  const headers = ["Upstash-Cron", "@daily"];
  assert.equal((await server.send("POST /v2/schedules/https://a.test", { headers })).status, 200);
  const second = await server.send("POST /v2/schedules/https://a.test", { headers });
  assert.equal(second.status, 412);
  assert.deepEqual(second.json, { error: "Maximum number of schedules exceeded: 1" });
  const bad = await server.send("POST /v2/schedules/https://a.test", {
    headers: [...headers, "Upstash-Schedule-Id", "a b"],
  });
  assert.equal(bad.status, 400);
});

test("C2, C.topics.delete, C.topics.remove-endpoints: endpoints are added by url and changed by url or name; the group is deleted with its last endpoint", async () => {
  await using server = await startMessagingServer();
  const put = (endpoints: unknown) => server.send("POST /v2/topics/g/endpoints", { body: { endpoints } });
  await put([{ url: "https://a.test", name: "a" }, { url: "https://b.test" }]);
  await put([{ url: "https://b.test", name: "b" }]);
  await put([{ url: "https://c.test", name: "a" }]);
  assert.deepEqual(((await server.send("GET /v2/topics/g")).json as Json)["endpoints"], [
    { url: "https://c.test", name: "a" },
    { url: "https://b.test", name: "b" },
  ]);
  await server.send("DELETE /v2/topics/g/endpoints", {
    body: { endpoints: [{ name: "a" }, { url: "https://b.test" }] },
  });
  assert.equal((await server.send("GET /v2/topics/g")).status, 404);
  assert.equal((await server.send("DELETE /v2/topics/g")).status, 200);
});

test("C16: headers of a group are shown, and a missing group is 404", async () => {
  await using server = await startMessagingServer();
  await server.send("POST /v2/topics/g/endpoints", { body: { endpoints: [{ url: "https://a.test" }] } });
  const headers = { "X-A": "1", "X-B": ["2", "3"] };
  assert.equal((await server.send("PATCH /v2/topics/g", { body: { headers } })).status, 200);
  assert.deepEqual(((await server.send("GET /v2/topics/g")).json as Json)["headers"], headers);
  assert.equal((await server.send("PATCH /v2/topics/other", { body: { headers } })).status, 404);
});

test("C.queues.put, C.queues.delete: omitted fields keep their values, and deleting a missing queue is 200", async () => {
  await using server = await startMessagingServer({ queueParallelismMax: 10 });
  const put = (body: unknown) => server.send("POST /v2/queues", { body });
  await put({ queueName: "q", parallelism: 5 });
  await put({ queueName: "q", paused: true, parallelism: null });
  const queue = (await server.send("GET /v2/queues/q")).json as Json;
  assert.equal(queue["parallelism"], 5);
  assert.equal(queue["paused"], true);
  assert.equal((await put({ queueName: "q", parallelism: 11 })).status, 412);
  assert.equal((await server.send("DELETE /v2/queues/q")).status, 200);
  assert.equal((await server.send("DELETE /v2/queues/q")).status, 200);
  assert.equal((await server.send("GET /v2/queues/q")).status, 404);
});

test("C.queues.pause: a paused queue holds its messages, which report it", async () => {
  await using server = await startMessagingServer();
  await server.send("POST /v2/queues/q/pause");
  const { messageId } = (await server.send("POST /v2/enqueue/q/https://a.test")).json as { messageId: string };
  await server.advance(MINUTE_MS);
  assert.equal(server.calls.length, 0);
  const shown = (await server.send(`GET /v2/messages/${messageId}`)).json as Json;
  assert.equal(shown["waitsFor"], "It waits for the queue q to be resumed");
  assert.equal(((await server.send("GET /v2/queues/q")).json as Json)["lag"], 1);
  await server.send("POST /v2/queues/q/resume");
  await server.advance(0);
  assert.equal(server.calls.length, 1);
});

test("C7, C13, C17, C.keys, C.keys.resume: a paused key holds messages in its waitlist", async () => {
  await using server = await startMessagingServer();
  assert.equal((await server.send("POST /v2/flowControl/k/pause")).status, 200);
  const headers = ["Upstash-Flow-Control-Key", "k", "Upstash-Flow-Control-Value", "parallelism=2"];
  await server.publish("https://a.test", { headers });
  await server.advance(MINUTE_MS);
  assert.equal(server.calls.length, 0);
  assert.deepEqual((await server.send("GET /v2/keys/rotate?flowControlKey=k")).json, {
    flowControlKey: "k",
    waitlistSize: 1,
  });
  const [key] = (await server.send("GET /v2/flowControl?search=k")).json as Json[];
  assert.equal(key?.["waitListSize"], 1);
  assert.equal(key?.["waitlistSize"], 1);
  assert.equal(key?.["isPaused"], true);
  await server.send("POST /v2/flowControl/k/resume");
  await server.advance(0);
  assert.equal(server.calls.length, 1);
  assert.equal((await server.send("GET /v2/keys/rotate?flowControlKey=other")).status, 404);
});

test("C12, C.keys.unpin, C.flow-control.newest: a pinned key keeps its values, whatever messages request, until it is unpinned", async () => {
  await using server = await startMessagingServer();
  await server.send("POST /v2/flowControl/k/pin?parallelism=7&rate=3");
  const publish = () =>
    server.publish("https://a.test", {
      headers: ["Upstash-Flow-Control-Key", "k", "Upstash-Flow-Control-Value", "parallelism=1, rate=1, period=1h"],
    });
  const shown = async () => {
    const { parallelismMax, rateMax, ratePeriod } = (await server.send("GET /v2/flowControl/k")).json as Json;
    return [parallelismMax, rateMax, ratePeriod];
  };
  await publish();
  assert.deepEqual(await shown(), [7, 3, 1]);
  await server.send("POST /v2/flowControl/k/unpin?parallelism=true&rate=true");
  assert.deepEqual(await shown(), [7, 3, 1]);
  await publish();
  assert.deepEqual(await shown(), [1, 1, 3_600]);
});

test("C12: pin refuses a rate of zero", async () => {
  await using server = await startMessagingServer();
  const reply = await server.send("POST /v2/flowControl/k/pin?rate=0");
  assert.equal(reply.status, 400);
  assert.match((reply.json as { error: string }).error, /rate/);
});

test("C10, C18: a reset key counts from zero, and an unknown one is 200", async () => {
  await using server = await startMessagingServer();
  const headers = ["Upstash-Flow-Control-Key", "k", "Upstash-Flow-Control-Value", "rate=1, period=1h"];
  await server.publish("https://a.test", { headers });
  await server.publish("https://a.test", { headers });
  await server.advance(0);
  assert.equal(server.calls.length, 1);
  assert.equal(((await server.send("GET /v2/flowControl/k")).json as Json)["rateCount"], 1);
  assert.equal((await server.send("POST /v2/flowControl/k/resetRate")).status, 200);
  await server.advance(0);
  assert.equal(server.calls.length, 2);
  for (const word of ["resetRate", "reset"]) {
    assert.equal((await server.send(`POST /v2/flowControl/unknown/${word}`)).status, 200, word);
  }
});

test("C19: the number of running deliveries is reported", async () => {
  await using server = await startMessagingServer({ userParallelism: 12 });
  server.destination = () => "later";
  await server.publish("https://a.test");
  await server.advance(0);
  assert.deepEqual((await server.send("GET /v2/globalParallelism")).json, { parallelismMax: 12, parallelismCount: 1 });
});

test("C11: a dead deadLetter shows its last answer, and is deleted once", async () => {
  await using server = await startMessagingServer();
  server.destination = () => answered(503, ["X-R", "1"], "busy");
  await server.publish("https://a.test", { headers: ["Upstash-Retries", "0", "Upstash-Label", "l"], body: "payload" });
  await server.advance(0);
  const { messages, cursor } = (await server.send("GET /v2/dlq?label=l")).json as { messages: Json[]; cursor?: string };
  assert.equal(cursor, undefined);
  const [deadLetter] = messages;
  assert.equal(deadLetter?.["responseStatus"], 503);
  assert.deepEqual(deadLetter?.["responseHeader"], { "X-R": ["1"] });
  assert.equal(deadLetter?.["responseBody"], "busy");
  assert.equal(deadLetter?.["body"], "payload");
  assert.equal((await server.send(`DELETE /v2/dlq/${deadLetter?.["dlqId"]}`)).status, 200);
  assert.equal((await server.send(`DELETE /v2/dlq/${deadLetter?.["dlqId"]}`)).status, 404);
});

test("C8.message, C8.options: a dead deadLetter is published again unchanged, except for settings in the headers", async () => {
  await using server = await startMessagingServer();
  server.destination = () => answered(500);
  await server.publish("https://a.test/b", {
    headers: ["Upstash-Retries", "0", "Upstash-Method", "PUT", "Upstash-Forward-X", "1"],
    body: "payload",
  });
  await server.advance(0);
  const { messages } = (await server.send("GET /v2/dlq")).json as { messages: { dlqId: string; messageId: string }[] };
  const [deadLetter] = messages;
  const reply = await server.send(`POST /v2/dlq/retry?dlqIds=${deadLetter?.dlqId}`, {
    headers: ["Upstash-Delay", "1m"],
  });
  assert.equal(reply.status, 201);
  const { responses } = reply.json as { responses: { messageId: string }[] };
  assert.notEqual(responses[0]?.messageId, deadLetter?.messageId);
  assert.deepEqual(responses, [{ messageId: responses[0]?.messageId, deduplicated: false }]);
  server.destination = () => answered(200);
  await server.advance(MINUTE_MS - 1);
  assert.equal(server.calls.length, 1);
  await server.advance(1);
  const again = server.calls[1];
  assert.deepEqual(
    [again?.method, again?.url, again?.body, again?.headers.get("x")],
    ["PUT", "https://a.test/b", "payload", "1"],
  );
  assert.deepEqual((await server.send("GET /v2/dlq")).json, { messages: [] });
});

test("C8.options: redacted parts of a dead deadLetter stay redacted when it is published again, whatever else is redacted", async () => {
  await using server = await startMessagingServer();
  server.destination = () => answered(500);
  const headers = ["Upstash-Retries", "0", "Upstash-Redact-Fields", "headers", "Upstash-Forward-X", "secret"];
  await server.publish("https://a.test/", { headers, body: "seen" });
  await server.advance(0);
  const retry = ["Upstash-Redact-Fields", "body", "Upstash-Delay", "1m"];
  const reply = await server.send("POST /v2/dlq/retry", { headers: retry });
  const { responses } = reply.json as { responses: { messageId: string }[] };

  const { json } = await server.send(`GET /v2/messages/${responses[0]?.messageId}`);

  const shown = json as { header: { X: string[] }; body: string };
  assert.match(shown.header.X[0] ?? "", /^REDACTED:/);
  assert.match(shown.body, /^REDACTED:/);
});

test("C8.missing: if one id is missing, nothing is retried, and filters that match nothing are 201", async () => {
  await using server = await startMessagingServer();
  server.destination = () => answered(500);
  await server.publish("https://a.test", { headers: ["Upstash-Retries", "0"] });
  await server.advance(0);
  const { messages } = (await server.send("GET /v2/dlq")).json as { messages: { dlqId: string }[] };
  const reply = await server.send("POST /v2/dlq/retry", { body: { dlqIds: [messages[0]?.dlqId, "1-0"] } });
  assert.equal(reply.status, 404);
  assert.match((reply.json as { error: string }).error, /1-0/);
  assert.equal(((await server.send("GET /v2/dlq")).json as { messages: unknown[] }).messages.length, 1);
  const none = await server.send("POST /v2/dlq/retry?url=https://other.test&count=100");
  assert.equal(none.status, 201);
  assert.deepEqual(none.json, { responses: [] });
});

test("C.dlq, C.dlq.list, C.dlq.delete: dead letters are listed page by page in both orders, and deleted with a cursor", async () => {
  await using server = await startMessagingServer();
  server.destination = () => answered(500);
  for (const number of [1, 2, 3]) {
    await server.publish(`https://a.test/${number}`, { headers: ["Upstash-Retries", "0"] });
    await server.advance(1_000);
  }
  const list = async (query: string) => {
    const { messages, cursor } = (await server.send(`GET /v2/dlq?${query}`)).json as {
      messages: { url: string }[];
      cursor?: string;
    };
    return { urls: messages.map(({ url }) => url.slice(-1)), cursor };
  };
  const first = await list("count=2");
  assert.deepEqual(first.urls, ["1", "2"]);
  assert.deepEqual(await list(`count=2&cursor=${first.cursor}`), { urls: ["3"], cursor: undefined });
  assert.deepEqual((await list("order=latestFirst")).urls, ["3", "2", "1"]);
  assert.equal((await server.send("GET /v2/dlq?cursor=nonsense")).status, 400);
  const deleted = (await server.send("DELETE /v2/dlq?count=2")).json as { deleted: number; cursor?: string };
  assert.equal(deleted.deleted, 2);
  assert.deepEqual((await server.send(`DELETE /v2/dlq?count=2&cursor=${deleted.cursor}`)).json, { deleted: 1 });
  assert.deepEqual((await server.send("DELETE /v2/dlq")).json, { deleted: 0 });
});

test("C.messages.cancel, C.messages.cancel-many: messages are cancelled by id and by filters, including those being called, and are then not delivered", async () => {
  await using server = await startMessagingServer();
  server.destination = () => "later";
  const called = await server.publish("https://a.test/1");
  await server.advance(0);
  assert.deepEqual((await server.send(`DELETE /v2/messages/${called}`)).json, { cancelled: 1 });
  assert.equal((await server.send(`DELETE /v2/messages/${called}`)).status, 404);

  const delay = "service-delay=1h";
  await server.publish(`https://a.test/2?${delay}&service-label=x`);
  await server.publish(`https://b.test/?${delay}&service-label=x`);
  await server.publish(`https://c.test/?${delay}&service-label=y`);
  const cancel = async (query: string) => (await server.send(`DELETE /v2/messages?${query}`)).json;
  assert.deepEqual(await cancel("label=x&host=b.test&count=100"), { cancelled: 1 });
  assert.deepEqual(await cancel("label=x,y&path=/2"), { cancelled: 1 });
  assert.deepEqual(await cancel("label=x"), { cancelled: 0 });
  assert.deepEqual(await cancel(""), { cancelled: 1 });
  await server.advance(120 * MINUTE_MS);
  assert.equal(server.calls.length, 1);
});

test("C.read-only-token, C.signing-keys: a read-only token reads and changes nothing, and does not see the signing keys", async () => {
  await using server = await startMessagingServer();
  const token = MESSAGING_READ_ONLY_TOKEN;
  assert.equal((await server.send("GET /v2/queues", { token })).status, 200);
  for (const line of [
    "GET /v2/keys",
    "POST /v2/publish/https://a.test",
    "DELETE /v2/messages",
    "POST /v2/keys/rotate",
  ]) {
    assert.equal((await server.send(line, { token })).status, 403, line);
  }
  assert.equal((await server.send("GET /v2/queues", { token: null })).status, 401);
});

test("C.signing-keys.rotate: rotating makes the next one current, in the response and for deliveries", async () => {
  await using server = await startMessagingServer();
  const before = (await server.send("GET /v2/keys")).json as { current: string; next: string };
  const rotated = (await server.send("POST /v2/keys/rotate")).json as { current: string; next: string };
  assert.equal(rotated.current, before.next);
  assert.notEqual(rotated.next, before.next);
  assert.deepEqual((await server.send("GET /v2/keys")).json, rotated);
});

test("C.ids: generated ids begin with the kind of object", async () => {
  await using server = await startMessagingServer();
  server.destination = () => answered(500);
  const message = await server.publish("https://a.test", { headers: ["Upstash-Retries", "0"] });
  const schedule = (await server.send("POST /v2/schedules/https://a.test", { headers: ["Upstash-Cron", "@daily"] }))
    .json as { scheduleId: string };
  const run = (await server.send("POST /v2/trigger/https://b.test/run")).json as { workflowRunId: string };
  await server.advance(0);
  const { messages } = (await server.send("GET /v2/dlq")).json as { messages: { dlqId: string }[] };
  const claims = server.calls[0]?.headers.get("upstash-signature")?.split(".")[1] ?? "";
  const { jti } = JSON.parse(Buffer.from(claims, "base64url").toString()) as { jti: string };
  for (const [id, form] of [
    [message, /^msg_\w+$/],
    [schedule.scheduleId, /^scd_\w+$/],
    [run.workflowRunId, /^wfr_\w+$/],
    [messages[0]?.dlqId ?? "", /^\d+-\d+$/],
    [jti, /^jwt_\w+$/],
  ] as const)
    assert.match(id, form);
});
