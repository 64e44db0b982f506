/** Publishing as destinations see it: requests and their times (C15). Time is virtual. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { answered } from "../harness/messaging-harness.ts";
import { startMessagingServer } from "../harness/messaging-server.ts";

const MINUTE_MS = 60_000;

test("C15: a 2xx answer means that the message is delivered, body bytes untouched and forwarded headers with it", async () => {
  await using server = await startMessagingServer();
  const reply = await server.send("POST /v2/publish/https://a.test/b?x=1&y=%20", {
    headers: [
      "Content-Type",
      "text/plain",
      "Upstash-Forward-X-Team",
      "t",
      "X-Not-Forwarded",
      "1",
      "Upstash-Method",
      "PUT",
    ],
    body: "hello",
  });
  assert.equal(reply.status, 200);
  await server.advance(0);

  const [call] = server.calls;
  assert.equal(call?.url, "https://a.test/b?x=1&y=%20");
  assert.equal(call?.method, "PUT");
  assert.equal(call?.body, "hello");
  assert.equal(call?.headers.get("content-type"), "text/plain");
  assert.equal(call?.headers.get("x-team"), "t");
  assert.equal(call?.headers.has("x-not-forwarded"), false);
  const { messageId } = reply.json as { messageId: string };
  assert.equal(call?.headers.get("upstash-message-id"), messageId);
  assert.equal(call?.headers.get("service-message-id"), messageId);
  assert.equal(call?.headers.get("service-caller-ip"), "127.0.0.1");
});

test("C15.header-forward: all headers of the request are forwarded, except its token and those of the connection", async () => {
  await using server = await startMessagingServer();
  await server.send("POST /v2/publish/https://a.test?service-header-forward=true", {
    headers: ["X-A", "1", "Cookie", "c=1", "User-Agent", "curl/8", "Connection", "close", "Upstash-Label", "l"],
  });
  await server.advance(0);
  const headers = server.calls[0]?.headers;
  assert.equal(headers?.get("x-a"), "1");
  assert.equal(headers?.get("cookie"), "c=1");
  assert.equal(headers?.get("user-agent"), "curl/8");
  for (const name of ["authorization", "host", "connection", "upstash-label", "content-length"]) {
    assert.equal(headers?.has(name), false, name);
  }
});

test("C15.forward: a User-Agent that is forwarded by name replaces larder's", async () => {
  await using server = await startMessagingServer();
  await server.send("POST /v2/publish/https://a.test", { headers: ["Service-Forward-User-Agent", "mine/1"] });
  await server.send("POST /v2/publish/https://a.test");
  await server.advance(0);
  assert.deepEqual(
    server.calls.map(({ headers }) => headers.get("user-agent")),
    ["mine/1", "Upstash-QStash"],
  );
});

test("C15.destination: a lone question mark is kept, in the call, the signature and the records", async () => {
  await using server = await startMessagingServer();
  for (const [target, url] of [
    ["https://a.test/b?", "https://a.test/b?"],
    ["https://a.test/b", "https://a.test/b"],
    ["https://a.test/b?service-retries=0", "https://a.test/b"],
    ["https://a.test/b?&service-retries=0", "https://a.test/b?"],
  ] as const) {
    const { json } = await server.send(`POST /v2/publish/${target}`);
    assert.equal((json as { url: string }).url, url, target);
    await server.advance(0);
    const call = server.calls.at(-1);
    assert.equal(call?.url, url);
    const claims = Buffer.from(call?.headers.get("upstash-signature")?.split(".")[1] ?? "", "base64url").toString();
    assert.equal(JSON.parse(claims).sub, url);
  }
});

test("C15.delay: nothing is delivered before its time", async () => {
  await using server = await startMessagingServer();
  await server.send("POST /v2/publish/https://a.test?service-delay=1m");
  await server.advance(MINUTE_MS - 1);
  assert.equal(server.calls.length, 0);
  await server.advance(1);
  assert.equal(server.calls.length, 1);
});

test("C15.not-before: the value is in seconds since the epoch, and wins over a delay", async () => {
  await using server = await startMessagingServer();
  const seconds = Math.floor(server.harness.clock.nowMs() / 1_000) + 30;
  await server.send("POST /v2/publish/https://a.test", {
    headers: ["Upstash-Not-Before", String(seconds), "Upstash-Delay", "1h"],
  });
  await server.advance(29_999);
  assert.equal(server.calls.length, 0);
  await server.advance(1_000);
  assert.equal(server.calls.length, 1);
});

test("C15.retries, C.outcome.retry, C.retry-expression: a failing destination is called 1 + retries times, by the expression of Retry-Delay", async () => {
  await using server = await startMessagingServer();
  server.destination = () => answered(500);
  await server.send("POST /v2/publish/https://a.test?service-retries=2&service-retry-delay=1000*(1%2Bretried)");
  await server.advance(10 * MINUTE_MS);
  assert.deepEqual(
    server.calls.map(({ atMs }) => atMs - (server.calls[0]?.atMs ?? 0)),
    [0, 1_000, 3_000],
  );
  assert.deepEqual(
    server.calls.map(({ headers }) => headers.get("upstash-retried")),
    ["0", "1", "2"],
  );
});

test("C15.callback: after every attempt, with its own method and headers; the failure callback once", async () => {
  await using server = await startMessagingServer();
  server.destination = ({ url }) => answered(url.includes("fails") ? 500 : 200, [], "answer");
  await server.send("POST /v2/publish/https://fails.test", {
    headers: [
      ...["Upstash-Retries", "1", "Upstash-Retry-Delay", "1000"],
      ...[
        "Upstash-Callback",
        "https://callback.test/",
        "Upstash-Callback-Method",
        "PUT",
        "Upstash-Callback-Forward-X",
        "1",
      ],
      ...["Upstash-Failure-Callback", "https://failure.test/", "Upstash-Failure-Callback-X-User", "2"],
    ],
    body: "payload",
  });
  await server.advance(MINUTE_MS);
  const callbacks = server.calls.filter(({ url }) => url === "https://callback.test/");
  assert.deepEqual(
    callbacks.map(({ method, headers }) => [method, headers.get("x"), headers.get("content-type")]),
    [
      ["PUT", "1", "application/json"],
      ["PUT", "1", "application/json"],
    ],
  );
  const reported = JSON.parse(callbacks[1]?.body ?? "") as Record<string, unknown>;
  assert.equal(reported["status"], 500);
  assert.equal(reported["retried"], 1);
  assert.equal(reported["maxRetries"], 1);
  assert.equal(reported["sourceBody"], Buffer.from("payload").toString("base64"));
  assert.equal(reported["body"], Buffer.from("answer").toString("base64"));
  const failures = server.calls.filter(({ url }) => url === "https://failure.test/");
  assert.equal(failures.length, 1);
  assert.equal(failures[0]?.headers.get("x-user"), "2");
});

test("C15.deduplication, C.deduplication: the same id within the window is 202 with the first id, and delivered once", async () => {
  await using server = await startMessagingServer();
  const headers = ["Upstash-Deduplication-Id", "once"];
  const first = await server.send("POST /v2/publish/https://a.test", { headers });
  const second = await server.send("POST /v2/publish/https://a.test", { headers });
  const { messageId } = first.json as { messageId: string };
  assert.equal(first.status, 200);
  assert.equal(second.status, 202);
  assert.deepEqual(second.json, { messageId, url: "https://a.test", deduplicated: true });
  await server.advance(0);
  assert.equal(server.calls.length, 1);
});

test("C15.deduplication, C.enqueue: a publish with only duplicates creates no queue, and any other creates its own", async () => {
  await using server = await startMessagingServer();
  const headers = ["Upstash-Deduplication-Id", "once"];
  await server.send("POST /v2/publish/https://a.test", { headers });
  assert.equal((await server.send("POST /v2/enqueue/late/https://a.test", { headers })).status, 202);
  assert.deepEqual((await server.send("GET /v2/queues")).json, []);
  const element = (queue: string, id: string) => ({
    destination: "https://a.test",
    queue,
    headers: { "Upstash-Deduplication-Id": id },
  });
  await server.send("POST /v2/batch", {
    body: [element("late", "once"), element("new", "two"), element("late", "two")],
  });
  const names = ((await server.send("GET /v2/queues")).json as { name: string }[]).map(({ name }) => name);
  assert.deepEqual(names, ["new"]);
});

test("C15.content-based-deduplication, C.deduplication: another body is another message", async () => {
  await using server = await startMessagingServer();
  const headers = ["Upstash-Content-Based-Deduplication", "true"];
  for (const [body, status] of [
    ["a", 200],
    ["a", 202],
    ["b", 200],
  ] as const) {
    assert.equal((await server.send("POST /v2/publish/https://a.test", { headers, body })).status, status);
  }
});

test("C15.flow-control, C.flow-control.rate: the rate of a key applies to all messages with that key, and waiting messages report it", async () => {
  await using server = await startMessagingServer();
  const headers = ["Upstash-Flow-Control-Key", "k", "Upstash-Flow-Control-Value", "rate=1, period=1m"];
  await server.publish("https://a.test", { headers });
  const second = await server.publish("https://a.test", { headers });
  await server.advance(1_000);
  assert.equal(server.calls.length, 1);
  const shown = (await server.send(`GET /v2/messages/${second}`)).json as Record<string, unknown>;
  assert.match(String(shown["waitsFor"]), /^It waits for the rate of the flow-control key k/);
  assert.equal(shown["rate"], 1);
  assert.equal(shown["period"], 60);
  await server.advance(MINUTE_MS);
  assert.equal(server.calls.length, 2);
});

test("C15.group: one message for each endpoint, with the headers of the group that the publisher does not forward", async () => {
  await using server = await startMessagingServer();
  await server.send("POST /v2/topics/g/endpoints", {
    body: { endpoints: [{ url: "https://a.test", name: "first" }, { url: "https://b.test" }] },
  });
  await server.send("PATCH /v2/topics/g", { body: { headers: { "X-Group": "g", "X-Own": ["g1", "g2"] } } });
  const reply = await server.send("POST /v2/publish/g", { headers: ["Upstash-Forward-X-Own", "mine"] });
  assert.equal((reply.json as unknown[]).length, 2);
  await server.advance(0);
  assert.deepEqual(
    server.calls.map(({ url, headers }) => [
      url,
      headers.get("x-group"),
      headers.get("x-own"),
      headers.get("upstash-topic-name"),
    ]),
    [
      ["https://a.test", "g", "mine", "g"],
      ["https://b.test", "g", "mine", "g"],
    ],
  );
});

test("C.enqueue, C.queue-order: messages of a queue are delivered one after the other", async () => {
  await using server = await startMessagingServer();
  server.destination = () => "later";
  await server.send("POST /v2/enqueue/q/https://a.test/1");
  await server.send("POST /v2/enqueue/q/https://a.test/2");
  await server.advance(0);
  assert.deepEqual(
    server.calls.map(({ url }) => url),
    ["https://a.test/1"],
  );
  server.calls[0]?.answer(answered(200));
  await server.advance(0);
  assert.equal(server.calls[1]?.url, "https://a.test/2");
});

test("batch: all or nothing", async () => {
  await using server = await startMessagingServer();
  const good = { destination: "https://a.test", body: "b" };
  const runHeaders = { ...good, headers: { "upstash-workflow-runid": "wfr_9" } };
  const refused = await server.send("POST /v2/batch", {
    body: [good, { ...good, headers: { "upstash-retries": "1000000" } }],
  });
  assert.equal(refused.status, 412);
  for (const [path, refusedOne, error] of [
    [
      "batch",
      { destination: "no-group" },
      /^Message 1 of the batch: Invalid destination: there is no URL group no-group/,
    ],
    ["batch", runHeaders, /^Message 1 of the batch: Invalid value for workflowRunId: the workflow run wfr_9 does not/],
    ["batch/trigger", { destination: "no-group" }, /^Message 1 of the batch: Invalid destination: no-group/],
  ] as const) {
    const unknown = await server.send(`POST /v2/${path}`, { body: [good, refusedOne] });
    assert.equal(unknown.status, 400);
    assert.match((unknown.json as { error: string }).error, error);
  }
  await server.advance(0);
  assert.equal(server.calls.length, 0);

  const accepted = await server.send("POST /v2/batch", { body: [good, { ...good, queue: "q" }] });
  assert.equal((accepted.json as unknown[]).length, 2);
  await server.advance(0);
  assert.equal(server.calls.length, 2);
});

test("C15, C.limits.body: a body above the limit is refused with the limit", async () => {
  await using server = await startMessagingServer({ bodyBytesMax: 1_000 });
  assert.equal((await server.send("POST /v2/publish/https://a.test", { body: "x".repeat(1_000) })).status, 200);
  assert.equal((await server.send("POST /v2/publish/https://a.test", { body: "x".repeat(1_001) })).status, 400);
  const reply = await server.send("POST /v2/batch", {
    body: [{ destination: "https://a.test", body: "x".repeat(1_001) }],
  });
  assert.equal(reply.status, 400);
  assert.deepEqual(reply.json, { error: "Message 0 of the batch: The body has 1001 bytes; the limit is 1000" });
});

// C15.hops, C.delivery.hops
test("C-08: deliveries count the hops of a chain, callbacks included, and the eleventh is refused", async () => {
  await using server = await startMessagingServer();
  await server.send("POST /v2/publish/https://a.test", { headers: ["Upstash-Callback", "https://callback.test"] });
  await server.send("POST /v2/publish/https://b.test", {
    headers: ["Upstash-Hops", "3", "Upstash-Callback", "https://callback.test", "Upstash-Forward-Upstash-Hops", "0"],
  });
  await server.advance(0);
  const hops = server.calls.map(
    ({ url, headers }) => `${url} ${headers.get("upstash-hops")} ${headers.get("service-hops")}`,
  );
  assert.deepEqual(hops.toSorted(), [
    "https://a.test 1 1",
    "https://b.test 4 4",
    "https://callback.test 1 1",
    "https://callback.test 4 4",
  ]);
  const reply = await server.send("POST /v2/publish/https://a.test", { headers: ["Service-Hops", "11"] });
  assert.equal(reply.status, 400);
  assert.deepEqual(reply.json, { error: "Hops is above 10: the message is in a loop" });
});

test("C-21: a callback does not reveal what its message hides", async () => {
  await using server = await startMessagingServer();
  await server.send("POST /v2/publish/https://a.test", {
    headers: [
      "Upstash-Redact-Fields",
      "body,header[X-Key]",
      "Upstash-Forward-X-Key",
      "1",
      "Upstash-Callback",
      "https://callback.test",
    ],
    body: "payload",
  });
  await server.advance(0);
  assert.equal(server.calls[0]?.body, "payload");
  assert.equal(server.calls[0]?.headers.get("x-key"), "1");
  const reported = JSON.parse(server.calls[1]?.body ?? "") as Record<string, unknown>;
  assert.equal(reported["sourceBody"], "REDACTED:239f59ed55e737c77147cf55ad0c1b030b6d7ee748a7426952f9b852d5a935e5");
  assert.deepEqual(reported["sourceHeader"], {
    "X-Key": ["REDACTED:6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b"],
  });
});
