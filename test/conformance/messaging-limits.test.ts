/**
 * Limits and errors of messaging.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { answered } from "../harness/messaging-harness.ts";
import {
  type MessagingReply,
  type MessagingSend,
  type MessagingServer,
  startMessagingServer,
} from "../harness/messaging-server.ts";

type Json = Record<string, unknown>;

const MINUTE_MS = 60_000;

/** A request, and the whole answer. */
type Exchange = readonly [line: string, options: MessagingSend, status: number, json: unknown];

async function assertExchanges(server: MessagingServer, exchanges: readonly Exchange[]): Promise<void> {
  for (const [line, options, status, json] of exchanges) {
    const reply = await server.send(line, options);
    assert.deepEqual([reply.status, reply.json], [status, json], line);
    assert.equal(reply.headers["content-type"], "application/json", line);
  }
}

function refusal(error: string): { error: string } {
  return { error };
}

test("C.errors.412, C.limits.retries, C.limits.delay, C.limits.schedules, C.limits.queues, C.limits.groups, C.limits: requests beyond a limit of the user are 412 and name the limit", async () => {
  await using server = await startMessagingServer({
    schedulesMax: 1,
    queuesMax: 1,
    queueParallelismMax: 5,
    groupsMax: 1,
    endpointsPerGroupMax: 2,
    retriesMax: 4,
    delayMsMax: 3_600_000,
  });
  const cron = { headers: ["Service-Cron", "@daily", "Service-Schedule-Id", "first"] };
  const endpoints = (...names: readonly string[]): MessagingSend => ({
    body: { endpoints: names.map((name) => ({ url: `https://${name}.test/` })) },
  });
  await assertExchanges(server, [
    ["POST /v2/schedules/https://a.test", cron, 200, { scheduleId: "first" }],
    ["POST /v2/schedules/https://b.test", cron, 200, { scheduleId: "first" }],
    [
      "POST /v2/schedules/https://a.test",
      { headers: ["Service-Cron", "@daily", "Service-Schedule-Id", "second"] },
      412,
      refusal("Maximum number of schedules exceeded: 1"),
    ],
    ["POST /v2/queues", { body: { queueName: "q", parallelism: 5 } }, 200, {}],
    ["POST /v2/queues", { body: { queueName: "q", parallelism: 6 } }, 412, refusal("parallelism is 6; the limit is 5")],
    ["POST /v2/queues", { body: { queueName: "r" } }, 412, refusal("Maximum number of queues exceeded: 1")],
    ["POST /v2/queues/r/pause", {}, 412, refusal("Maximum number of queues exceeded: 1")],
    ["POST /v2/enqueue/r/https://a.test", {}, 412, refusal("Maximum number of queues exceeded: 1")],
    ["POST /v2/topics/g/endpoints", endpoints("a", "b"), 200, {}],
    [
      "POST /v2/topics/g/endpoints",
      endpoints("c"),
      412,
      refusal("Maximum number of endpoints in a URL group exceeded: 2"),
    ],
    ["POST /v2/topics/h/endpoints", endpoints("a"), 412, refusal("Maximum number of URL groups exceeded: 1")],
    [
      "POST /v2/publish/https://a.test?service-retries=5",
      {},
      412,
      refusal('Retries "5" is above the limit of 4 retries'),
    ],
    [
      "POST /v2/publish/https://a.test?service-delay=61m",
      {},
      412,
      refusal("Delay is above the limit of 3600 s from now"),
    ],
    [
      `POST /v2/publish/https://a.test?service-not-before=${Date.UTC(2026, 0, 1, 1, 1) / 1_000}`,
      {},
      412,
      refusal("Not-Before is above the limit of 3600 s from now"),
    ],
  ]);
  await server.advance(0);
  assert.equal(server.calls.length, 0);
});

test("C15.retries, C.outcome.retry, C.retry-delay: the default is 3 retries, which is four deliveries", async () => {
  await using server = await startMessagingServer();
  server.destination = () => answered(500);
  await server.publish("https://a.test/");
  await server.advance(24 * 60 * MINUTE_MS);
  const [first, ...others] = server.calls.map(({ atMs }) => atMs);
  assert.deepEqual(
    others.map((atMs) => (atMs - (first ?? 0)) / 1_000),
    [12, 12 + 148, 12 + 148 + 1_808],
  );
});

test("C.limits.daily, C.errors.429: messages above the daily limit are 429 with the limit, the remainder and the reset time", async () => {
  await using server = await startMessagingServer({ messagesPerDayMax: 2 });
  const body = [{ destination: "https://a.test" }, { destination: "https://a.test" }];
  await server.publish("https://a.test");

  const refused = await server.send("POST /v2/batch", { body });

  assert.equal(refused.status, 429);
  assert.equal(refused.headers["ratelimit-limit"], "2");
  assert.equal(refused.headers["ratelimit-reset"], String(Date.UTC(2026, 0, 2) / 1_000));
  await server.publish("https://a.test");
  const last = await server.send("POST /v2/publish/https://a.test");
  assert.deepEqual([last.status, last.headers["ratelimit-remaining"]], [429, "0"]);
  await server.advance(24 * 60 * MINUTE_MS);
  assert.equal((await server.send("POST /v2/batch", { body })).status, 200);
});

test("C.limits.rate, C.errors.429: requests above the rate per second are 429 with the burst headers; publishing is not counted", async () => {
  await using server = await startMessagingServer({}, { rate: { perSecond: 2, burst: 2 } });
  for (const line of [
    "POST /v2/publish/https://a.test",
    "POST /v2/enqueue/q/https://a.test",
    "POST /v2/publish/https://a.test",
  ]) {
    assert.equal((await server.send(line)).status, 200, line);
  }
  assert.equal((await server.send("POST /v2/batch", { body: [{ destination: "https://a.test" }] })).status, 200);
  assert.equal((await server.send("GET /v2/queues")).status, 200);
  assert.equal((await server.send("GET /v2/logs")).status, 200);

  const { status, headers, json } = await server.send("DELETE /v2/messages");

  assert.deepEqual([status, json], [429, { error: "Too many requests: at most 2 per second" }]);
  assert.equal(headers["retry-after"], "1");
  assert.equal(headers["burst-ratelimit-limit"], "2");
  assert.equal(headers["burst-ratelimit-remaining"], "0");
  assert.equal(headers["burst-ratelimit-reset"], String(Date.UTC(2026, 0, 1) / 1_000 + 1));
  await server.advance(1_000);
  assert.equal((await server.send("GET /v2/queues")).status, 200);
});

test("H.identifiers: names have letters, digits, hyphens, underscores and periods; anything else is 400 and names the field", async () => {
  await using server = await startMessagingServer();
  const body = { endpoints: [{ url: "https://a.test" }] };
  for (const [name, written] of [
    ["a b", "a%20b"],
    ["ä", "%C3%A4"],
    ["a/b", "a%2Fb"],
    ["a:b", "a:b"],
  ] as const) {
    for (const [line, options, field] of [
      [`POST /v2/queues/${written}/pause`, {}, "queueName"],
      [`POST /v2/enqueue/${written}/https://a.test`, {}, "queueName"],
      [`POST /v2/topics/${written}/endpoints`, { body }, "urlGroupName"],
      [`POST /v2/flowControl/${written}/pause`, {}, "flowControlKey"],
      [`POST /v2/flowControl/${written}/pin?rate=1`, {}, "flowControlKey"],
      ["POST /v2/queues", { body: { queueName: name } }, "queueName"],
    ] as const) {
      const { status, json } = await server.send(line, options);
      assert.equal(status, 400, line);
      assert.equal(
        (json as { error: string }).error.slice(0, `Invalid value for ${field}: `.length),
        `Invalid value for ${field}: `,
        line,
      );
    }
  }
  const good = "Az0-_.";
  assert.equal((await server.send(`POST /v2/queues/${good}/pause`)).status, 200);
  assert.equal((await server.send(`POST /v2/topics/${good}/endpoints`, { body })).status, 200);
  assert.equal((await server.send(`POST /v2/flowControl/${good}/pause`)).status, 200);
  const headers = ["Service-Cron", "@daily", "Service-Schedule-Id", good];
  assert.deepEqual((await server.send(`POST /v2/schedules/${good}`, { headers })).json, { scheduleId: good });
});

test("Limits: the period of a flow-control key is at most a week", async () => {
  await using server = await startMessagingServer();
  const week = 7 * 86_400;
  await assertExchanges(server, [
    [`POST /v2/flowControl/k/pin?rate=1&period=${week}`, {}, 200, {}],
    [
      `POST /v2/flowControl/k/pin?rate=1&period=${week + 1}`,
      {},
      400,
      refusal(`Invalid period "${week + 1}": it must be at most a week`),
    ],
  ]);
  assert.equal(((await server.send("GET /v2/flowControl/k")).json as Json)["ratePeriod"], week);
});

test("C12: each invalid value of a pin is 400 and named, and the key is not created", async () => {
  await using server = await startMessagingServer();
  const count = "give a whole number from 1 to 1000000000";
  const span = "give a duration such as 30s, 5m or 1d";
  await assertExchanges(
    server,
    (
      [
        ["", "parallelism and rate are missing: give one of them"],
        ["period=5", "rate is missing: period is for a rate"],
        ["parallelism=0", `Invalid parallelism "0": ${count}`],
        ["parallelism=-1", `Invalid parallelism "-1": ${count}`],
        ["parallelism=1.5", `Invalid parallelism "1.5": ${count}`],
        ["parallelism=", `Invalid parallelism "": ${count}`],
        ["rate=many", `Invalid rate "many": ${count}`],
        ["rate=0&parallelism=1", `Invalid rate "0": ${count}`],
        ["rate=1&period=0", 'Invalid period "0": it must be above 0'],
        ["rate=1&period=soon", `Invalid period "soon": ${span}`],
        ["rate=1&period=-5", `Invalid period "-5": ${span}`],
      ] as const
    ).map(([query, text]): Exchange => [`POST /v2/flowControl/k/pin?${query}`, {}, 400, refusal(text)]),
  );
  assert.deepEqual((await server.send("GET /v2/flowControl")).json, []);
});

test("C7, C10, C12, C13, C18: a missing key is 400 and named", async () => {
  await using server = await startMessagingServer();
  const missing = refusal("flowControlKey is missing in the path");
  await assertExchanges(server, [
    ...["pause", "resume", "pin", "unpin", "resetRate", "reset"].map(
      (word): Exchange => [`POST /v2/flowControl//${word}`, {}, 400, missing],
    ),
    ["GET /v2/keys/rotate", {}, 400, refusal("flowControlKey is missing in the query")],
    ["GET /v2/keys/rotate?flowControlKey=", {}, 400, refusal("flowControlKey is missing in the query")],
    ["GET /v2/keys/rotate?flowControlKey=k", {}, 404, refusal("flow control key k not found")],
  ]);
});

test("an empty id in a path is 400 and named", async () => {
  await using server = await startMessagingServer();
  for (const [line, name] of [
    ["GET /v2/messages/", "messageId"],
    ["DELETE /v2/messages/", "messageId"],
    ["GET /v2/dlq/", "dlqId"],
    ["DELETE /v2/dlq/", "dlqId"],
    ["POST /v2/dlq/retry/", "dlqId"],
    ["GET /v2/queues/", "queueName"],
    ["GET /v2/schedules/", "scheduleId"],
    ["DELETE /v2/schedules/", "scheduleId"],
    ["GET /v2/topics/", "urlGroupName"],
    ["POST /v2/topics//endpoints", "urlGroupName"],
    ["GET /v2/flowControl/", "flowControlKey"],
    ["POST /v2/enqueue//https://a.test", "queueName"],
  ] as const) {
    const { status, json } = await server.send(line);
    assert.deepEqual([status, json], [400, refusal(`${name} is missing in the path`)], line);
  }
});

test("C10, C12, C13, C18, C.empty, C.keys.get: pause and pin create a key; reset and resetRate of an unknown key are 200 and do not create it", async () => {
  await using server = await startMessagingServer();
  await assertExchanges(server, [
    ["POST /v2/flowControl/a/resetRate", {}, 200, {}],
    ["POST /v2/flowControl/a/reset", {}, 200, {}],
    ["GET /v2/flowControl/a", {}, 404, refusal("flow control key a not found")],
    ["GET /v2/flowControl", {}, 200, []],
    ["POST /v2/flowControl/b/pause", {}, 200, {}],
    ["POST /v2/flowControl/c/pin?parallelism=1", {}, 200, {}],
  ]);
  const keys = (await server.send("GET /v2/flowControl")).json as Json[];
  assert.deepEqual(
    keys.map((key) => [key["flowControlKey"], key["isPaused"], key["isPinnedParallelism"]]),
    [
      ["b", true, false],
      ["c", false, true],
    ],
  );
});

test("C17: keys are searched by a substring of their name", async () => {
  await using server = await startMessagingServer();
  for (const key of ["orders-eu", "orders-us", "mail"]) await server.send(`POST /v2/flowControl/${key}/pause`);
  const found = async (query: string): Promise<readonly unknown[]> =>
    ((await server.send(`GET /v2/flowControl${query}`)).json as Json[]).map((key) => key["flowControlKey"]);
  assert.deepEqual(await found(""), ["orders-eu", "orders-us", "mail"]);
  assert.deepEqual(await found("?search=orders"), ["orders-eu", "orders-us"]);
  assert.deepEqual(await found("?search=eu"), ["orders-eu"]);
  assert.deepEqual(await found("?search=none"), []);
});

test("C7, C17, C.times, C.keys.get: a key has both spellings of its waitlist, everywhere", async () => {
  await using server = await startMessagingServer();
  await server.send("POST /v2/flowControl/k/pause");
  const headers = ["Service-Flow-Control-Key", "k", "Service-Flow-Control-Value", "rate=2, period=1m"];
  for (let number = 0; number < 3; number += 1) await server.publish("https://a.test", { headers });
  await server.advance(0);
  const expected = {
    flowControlKey: "k",
    waitListSize: 3,
    waitlistSize: 3,
    parallelismMax: 0,
    parallelismCount: 0,
    rateMax: 2,
    rateCount: 0,
    ratePeriod: 60,
    ratePeriodStart: 0,
    isPaused: true,
    isPinnedParallelism: false,
    isPinnedRate: false,
  };
  await assertExchanges(server, [
    ["GET /v2/flowControl/k", {}, 200, expected],
    ["GET /v2/flowControl", {}, 200, [expected]],
    ["GET /v2/keys/rotate?flowControlKey=k", {}, 200, { flowControlKey: "k", waitlistSize: 3 }],
  ]);
  await server.send("POST /v2/flowControl/k/resume");
  await server.advance(0);
  assert.deepEqual((await server.send("GET /v2/flowControl/k")).json, {
    ...expected,
    waitListSize: 1,
    waitlistSize: 1,
    rateCount: 2,
    ratePeriodStart: Date.UTC(2026, 0, 1) / 1_000,
    isPaused: false,
  });
});

test("C17: a key that has not been used for a day is not listed, unless it is paused or pinned", async () => {
  await using server = await startMessagingServer();
  const headers = ["Service-Flow-Control-Key", "used", "Service-Flow-Control-Value", "rate=1"];
  await server.publish("https://a.test", { headers });
  await server.send("POST /v2/flowControl/paused/pause");
  await server.send("POST /v2/flowControl/pinned/pin?rate=1");
  const listed = async () =>
    ((await server.send("GET /v2/flowControl")).json as Json[]).map((key) => key["flowControlKey"]).toSorted();
  await server.advance(60 * MINUTE_MS);
  assert.deepEqual(await listed(), ["paused", "pinned", "used"]);
  await server.advance(49 * 60 * MINUTE_MS);
  assert.deepEqual(await listed(), ["paused", "pinned"]);
});

test("C18: reset also forgets the running calls, resetRate only the window", async () => {
  await using server = await startMessagingServer();
  server.destination = () => "later";
  const headers = ["Service-Flow-Control-Key", "k", "Service-Flow-Control-Value", "parallelism=1, rate=1, period=1h"];
  for (let number = 0; number < 3; number += 1) await server.publish("https://a.test", { headers });
  await server.advance(0);
  const counts = async (): Promise<readonly unknown[]> => {
    const key = (await server.send("GET /v2/flowControl/k")).json as Json;
    return [server.calls.length, key["parallelismCount"], key["rateCount"], key["waitlistSize"]];
  };
  assert.deepEqual(await counts(), [1, 1, 1, 2]);
  await server.send("POST /v2/flowControl/k/resetRate");
  await server.advance(0);
  assert.deepEqual(await counts(), [1, 1, 0, 2]);
  await server.send("POST /v2/flowControl/k/reset");
  await server.advance(0);
  assert.deepEqual(await counts(), [2, 1, 1, 1]);
});

test("C2, C16: empty bodies are 400 and named, a missing group is 404", async () => {
  await using server = await startMessagingServer();
  const endpoints = "POST /v2/topics/g/endpoints";
  await assertExchanges(server, [
    [endpoints, { body: {} }, 400, refusal("endpoints is missing")],
    [
      endpoints,
      { body: { endpoints: [] } },
      400,
      refusal("Invalid value for endpoints: it must be a list of one or more objects with url and name"),
    ],
    [endpoints, { body: { endpoints: [{ name: "a" }] } }, 400, refusal("endpoints[0].url is missing")],
    [
      endpoints,
      { body: { endpoints: [{ url: "https://a.test" }, { url: "b.test" }] } },
      400,
      refusal('Invalid value for endpoints[1].url: "b.test": a URL starts with http:// or https://'),
    ],
    [
      endpoints,
      { body: "nonsense" },
      400,
      refusal("Invalid body: send a JSON object with a list endpoints of objects with url and name"),
    ],
    ["GET /v2/topics/g", {}, 404, refusal("URL group g not found")],
    ["PATCH /v2/topics/g", { body: { headers: { "X-A": "1" } } }, 404, refusal("URL group g not found")],
    [endpoints, { body: { endpoints: [{ url: "https://a.test" }] } }, 200, {}],
    ["PATCH /v2/topics/g", { body: {} }, 400, refusal("headers is missing")],
    [
      "PATCH /v2/topics/g",
      { body: { headers: { "X-A": 1 } } },
      400,
      refusal("Invalid value for headers.X-A: it must be a string or a list of strings"),
    ],
    ["PATCH /v2/topics/g", { body: { headers: { "X-A": "1", "X-B": ["2", "3"] } } }, 200, {}],
  ]);
});

test("H.errors, C.errors, C.errors.400, C.errors.401, C.errors.404, C.errors.405: every failure is an object with one text, and unknown paths and methods are named", async () => {
  await using server = await startMessagingServer();
  const unauthorized = refusal("Missing or invalid token: send it as Authorization: Bearer <token>");
  await assertExchanges(server, [
    ["GET /v2/logs", { token: null }, 401, unauthorized],
    ["GET /v2/logs", { token: "wrong" }, 401, unauthorized],
    ["GET /v2/nowhere", { token: null }, 401, unauthorized],
    ["GET /v2/nowhere", {}, 404, refusal("There is no such path for GET; paths start with /v2")],
    ["GET /", {}, 404, refusal("There is no such path for GET; paths start with /v2")],
    ["PUT /v2/queues", {}, 405, refusal("HTTP method PUT is not allowed here; use POST or GET")],
    ["GET /v2/messages/msg_1", {}, 404, refusal("message msg_1 not found")],
    ["DELETE /v2/messages/msg_1", {}, 404, refusal("message msg_1 not found")],
    ["GET /v2/dlq/1-0", {}, 404, refusal("dead letter 1-0 not found")],
    ["DELETE /v2/dlq/1-0", {}, 404, refusal("dead letter 1-0 not found")],
    ["POST /v2/dlq/retry/1-0", {}, 404, refusal("Some messages are not in the dead-letter queue: 1-0")],
    [
      "POST /v2/dlq/retry?dlqIds=1-0&dlqIds=2-0",
      {},
      404,
      refusal("Some messages are not in the dead-letter queue: 1-0, 2-0"),
    ],
    ["GET /v2/schedules/s", {}, 404, refusal("schedule s not found")],
    ["DELETE /v2/schedules/s", {}, 404, refusal("schedule s not found")],
    ["PATCH /v2/schedules/s/pause", {}, 404, refusal("schedule s not found")],
    ["POST /v2/schedules/s/resume", {}, 404, refusal("schedule s not found")],
    ["GET /v2/queues/q", {}, 404, refusal("queue q not found")],
    ["DELETE /v2/queues/q", {}, 200, {}],
    ["DELETE /v2/topics/g", {}, 200, {}],
    [
      "POST /v2/notify/wfr_1/event",
      {},
      400,
      refusal("Invalid value for workflowRunId: the workflow run wfr_1 does not exist"),
    ],
    ["DELETE /v2/workflows/runs/wfr_1", {}, 404, refusal("workflow run wfr_1 not found")],
    ["GET /v2/workflows/runs/wfr_1", {}, 404, refusal("workflow run wfr_1 not found")],
    ["DELETE /v2/workflows/dlq/1-0", {}, 404, refusal("failed workflow run 1-0 not found")],
    ["POST /v2/workflows/dlq/resume/1-0", {}, 404, refusal("failed workflow run 1-0 not found")],
    ["DELETE /v2/workflows/runs?labeel=a", {}, 400, refusal("Unknown filter: labeel")],
    ["POST /v2/publish/", {}, 400, refusal("destination is missing: give a URL or the name of a URL group")],
    [
      "POST /v2/publish/ftp://a.test",
      {},
      400,
      refusal('Invalid destination: "ftp://a.test": a URL starts with http:// or https://'),
    ],
    [
      "POST /v2/publish/nobody",
      {},
      400,
      refusal("Invalid destination: there is no URL group nobody, and a URL starts with http:// or https://"),
    ],
    [
      "POST /v2/publish/api/llm",
      {},
      400,
      refusal(
        'Invalid destination: "api/llm": there are no built-in destinations; publish to the URL of the service itself',
      ),
    ],
    [
      "POST /v2/batch",
      { body: "[" },
      400,
      refusal("Invalid body: send a JSON array of objects with destination, headers, body and queue"),
    ],
    [
      "POST /v2/batch",
      { body: {} },
      400,
      refusal("Invalid body: send a JSON array of objects with destination, headers, body and queue"),
    ],
    ["POST /v2/batch", { body: [1] }, 400, refusal("Message 0 of the batch: it must be an object")],
    ["POST /v2/batch", { body: [] }, 200, []],
  ]);
});

test("C.batch.whole: if one message is invalid, none of the others is stored", async () => {
  await using server = await startMessagingServer({ queuesMax: 1 });
  const good = { destination: "https://a.test", headers: { "service-deduplication-id": "once" } };
  const bad: readonly (readonly [element: unknown, status: number])[] = [
    [{ destination: "nobody" }, 400],
    [{ destination: "https://a.test", headers: { "service-retries": "x" } }, 400],
    [{ destination: "https://a.test", headers: { "service-retries": "1001" } }, 412],
    [{ destination: "https://a.test", headers: { "service-forward-x": "a\nb" } }, 400],
    [{ destination: "https://a.test", queue: "a b" }, 400],
    [{ destination: "https://a.test", body: 1 }, 400],
    [{ destination: 1 }, 400],
    ["https://a.test", 400],
    [null, 400],
  ];
  for (const [element, status] of bad) {
    const reply = await server.send("POST /v2/batch", { body: [good, element] });
    assert.equal(reply.status, status, JSON.stringify(element));
    assert.match((reply.json as { error: string }).error, /1 of the batch|URL group nobody/, JSON.stringify(element));
  }
  const queues = await server.send("POST /v2/batch", {
    body: [good, { destination: "https://a.test", queue: "first" }, { destination: "https://a.test", queue: "second" }],
  });
  assert.deepEqual([queues.status, queues.json], [412, refusal("Maximum number of queues exceeded: 1")]);
  assert.deepEqual((await server.send("GET /v2/logs")).json, { logs: [] });
  assert.deepEqual((await server.send("GET /v2/queues")).json, []);
  assert.equal((await server.send("POST /v2/batch", { body: [good] })).status, 200, "its id was not consumed");
});

test("a message reports what it waits for", async () => {
  await using server = await startMessagingServer({ originParallelism: 1, userParallelism: 2 });
  server.destination = () => "later";
  const waits = async (reply: MessagingReply): Promise<unknown> =>
    ((await server.send(`GET /v2/messages/${(reply.json as Json)["messageId"]}`)).json as Json)["waitsFor"];
  const publish = (line: string, ...headers: string[]): Promise<MessagingReply> =>
    server.send(`POST ${line}`, { headers });
  const key = (name: string, value: string): string[] => [
    ...["Service-Flow-Control-Key", name, "Service-Flow-Control-Value", value],
  ];
  await server.send("POST /v2/queues/paused/pause");
  await server.send("POST /v2/flowControl/paused/pause");
  const called = await publish("/v2/publish/https://busy.test/");
  const replies = [
    called,
    await publish("/v2/publish/https://a.test/?service-delay=1h"),
    await publish("/v2/publish/https://busy.test/"),
    await publish("/v2/enqueue/paused/https://a.test/"),
    await publish("/v2/publish/https://a.test/", ...key("paused", "rate=1")),
    await publish("/v2/enqueue/orders/https://one.test/"),
    await publish("/v2/enqueue/orders/https://two.test/"),
  ];
  await server.advance(0);
  // The user may have two running calls.
  const last = await publish("/v2/publish/https://three.test/");
  await server.advance(0);
  assert.deepEqual(await Promise.all([...replies, last].map(waits)), [
    "It is being called",
    "It waits for its time, 2026-01-01T01:00:00.000Z",
    "It waits for the destination's parallelism",
    "It waits for the queue paused to be resumed",
    "It waits for the flow-control key paused to be resumed",
    "It is being called",
    "It waits for its turn in the queue orders",
    "It waits for a free delivery slot",
  ]);
});

test("S-04: what is longer than the space of the disk is 503 and changes nothing, and shorter requests go on", async () => {
  await using server = await startMessagingServer();
  const { journal } = server.harness;
  await server.send("POST /v2/topics/g/endpoints", {
    body: { endpoints: [{ url: "https://b.test" }, { url: "https://c.test" }] },
  });
  const frameCount = journal.frames.length;
  journal.frameBytesMax = 10_000;
  const body = "x".repeat(6_000);
  for (const [line, options] of [
    ["POST /v2/publish/https://a.test/", { body: "x".repeat(10_001) }],
    ["POST /v2/publish/g", { body }],
    ["POST /v2/enqueue/q/https://a.test/", { body: "x".repeat(10_001) }],
    ["POST /v2/batch", { body: [1, 2].map(() => ({ destination: "https://a.test/", body })) }],
    ["POST /v2/schedules/https://a.test/", { headers: ["Service-Cron", "@daily"], body: "x".repeat(10_001) }],
  ] as const) {
    const { status, json } = await server.send(line, options);
    const expected = refusal("Requests cannot be accepted now: no space is left on the device");
    assert.deepEqual([status, json], [503, expected], line);
  }
  assert.equal(journal.frames.length, frameCount);
  assert.equal((await server.send("POST /v2/publish/https://a.test/", { body })).status, 200);
});

test("S-04: an answer that is longer than the space of the disk is a failed attempt, unless nothing of it is stored", async () => {
  await using server = await startMessagingServer();
  const { journal } = server.harness;
  server.destination = ({ url }) => answered(url === "https://a.test/" ? 200 : 500, [], "x".repeat(6_000));
  journal.frameBytesMax = 10_000;
  const headers = ["Service-Retries", "0"];
  const ids: string[] = [];
  for (const url of ["https://a.test/", "https://b.test/"]) ids.push(await server.publish(url, { headers }));
  await server.advance(0);
  assert.ok(journal.frames.every(({ length }) => length < 10_000));
  const { json } = await server.send("GET /v2/dlq");
  const found = (json as { messages: readonly Json[] }).messages.map((each) => [
    each["messageId"],
    each["responseBody"],
  ]);
  assert.deepEqual(found, [[ids[1], "The answer cannot be stored: no space is left on the device"]]);
});

test("a message that waits for a flow-control key reports which limit of the key it waits for", async () => {
  await using server = await startMessagingServer();
  server.destination = () => "later";
  for (const [value, waitsFor] of [
    ["parallelism=1", "It waits for the parallelism of the flow-control key k"],
    ["rate=1, period=1h", "It waits for the rate of the flow-control key k, until 2026-01-01T01:00:00.000Z"],
  ] as const) {
    const headers = ["Service-Flow-Control-Key", "k", "Service-Flow-Control-Value", value];
    await server.publish("https://a.test/", { headers });
    const second = await server.publish("https://a.test/", { headers });
    await server.advance(0);
    assert.equal(((await server.send(`GET /v2/messages/${second}`)).json as Json)["waitsFor"], waitsFor);
    await server.send("DELETE /v2/messages");
    for (const { answer } of server.calls) answer(answered(200));
    await server.advance(0);
  }
});

// C.errors.503
test("S-04: while the disk is full, writes are 503 with Retry-After, and reads continue", async () => {
  await using server = await startMessagingServer();
  const id = await server.publish("https://a.test/?service-delay=1h");
  const { journal } = server.harness;
  journal.refusal = "no space is left on the device";
  const frameCount = journal.frames.length;
  const body = { endpoints: [{ url: "https://a.test" }] };

  for (const [line, options] of [
    ["POST /v2/publish/https://a.test", {}],
    ["POST /v2/enqueue/q/https://a.test", {}],
    ["POST /v2/batch", { body: [{ destination: "https://a.test" }] }],
    ["POST /v2/schedules/https://a.test", { headers: ["Service-Cron", "@daily"] }],
    ["POST /v2/topics/g/endpoints", { body }],
    ["POST /v2/queues/q/pause", {}],
    ["POST /v2/flowControl/k/pause", {}],
    ["POST /v2/keys/rotate", {}],
    ["POST /v2/dlq/retry", {}],
    ["DELETE /v2/dlq", {}],
    [`DELETE /v2/messages/${id}`, {}],
    ["DELETE /v2/messages", {}],
  ] as const) {
    const { status, headers, json } = await server.send(line, options);
    assert.deepEqual(
      [status, headers["retry-after"], json],
      [503, "1", refusal("Requests cannot be accepted now: no space is left on the device")],
      line,
    );
  }
  assert.equal(journal.frames.length, frameCount);
  assert.equal((await server.send(`GET /v2/messages/${id}`)).status, 200);
  await server.advance(2 * 60 * MINUTE_MS);
  assert.equal(server.calls.length, 0, "a message that cannot be recorded is not delivered");

  journal.refusal = undefined;
  assert.equal((await server.send("POST /v2/publish/https://b.test/")).status, 200);
  await server.advance(1_000 * MINUTE_MS);
  assert.deepEqual(server.calls.map(({ url }) => url).toSorted(), ["https://a.test/", "https://b.test/"]);
});
