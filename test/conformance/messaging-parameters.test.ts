/**
 * The options of a message, header by header, in every place and spelling that accepts them.
 * The second table has the refused values.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { headerRows } from "../../src/messaging/options/header-rows.ts";
import { answered } from "../harness/messaging-harness.ts";
import { type MessagingServer, startMessagingServer } from "../harness/messaging-server.ts";

type Json = Record<string, unknown>;

const MINUTE_MS = 60_000;
const URL_CALLED = "https://a.test/b?x=1";

/** One row of C1: the option, and the resulting fields in the record of a schedule and of a message. */
type Row = readonly [name: string, value: string, inSchedule: Json, inMessage: Json];

const rows: readonly Row[] = [
  ["Method", "PATCH", { method: "PATCH" }, { method: "PATCH" }],
  ["Timeout", "90s", { timeout: 90_000 }, { timeout: 90_000 }],
  ["Timeout", "1h30m", { timeout: 5_400_000 }, { timeout: 5_400_000 }],
  ["Timeout", "90", { timeout: 90_000 }, { timeout: 90_000 }],
  ["Retries", "0", { retries: 0 }, { maxRetries: 0 }],
  ["Retries", "5", { retries: 5 }, { maxRetries: 5 }],
  [
    "Retry-Delay",
    "max(1000, pow(2, retried))",
    { retryDelayExpression: "max(1000, pow(2, retried))" },
    { retryDelayExpression: "max(1000, pow(2, retried))" },
  ],
  ["Delay", "1d10h30m", { delay: 124_200 }, { notBefore: Date.UTC(2026, 0, 2, 10, 30) }],
  ["Delay", "50s", { delay: 50 }, { notBefore: Date.UTC(2026, 0, 1, 0, 0, 50) }],
  ["Delay", "3", { delay: 3 }, { notBefore: Date.UTC(2026, 0, 1, 0, 0, 3) }],
  ["Forward-X-Team", "blue", { header: { "X-Team": ["blue"] } }, { header: { "X-Team": ["blue"] } }],
  [
    "Callback",
    "https://callback.test/c?d=1",
    { callback: "https://callback.test/c?d=1", callbackHeader: { "Content-Type": ["application/json"] } },
    { callback: "https://callback.test/c?d=1", callbackHeader: { "Content-Type": ["application/json"] } },
  ],
  [
    "Failure-Callback",
    "https://failure.test/",
    { failureCallback: "https://failure.test/", failureCallbackHeader: { "Content-Type": ["application/json"] } },
    { failureCallback: "https://failure.test/", failureCallbackHeader: { "Content-Type": ["application/json"] } },
  ],
  [
    "Redact-Fields",
    "body",
    { body: "REDACTED:239f59ed55e737c77147cf55ad0c1b030b6d7ee748a7426952f9b852d5a935e5" },
    { body: "REDACTED:239f59ed55e737c77147cf55ad0c1b030b6d7ee748a7426952f9b852d5a935e5" },
  ],
  [
    "Label",
    "one, two,one three",
    { label: "one", labels: ["one", "two", "one three"] },
    { label: "one", labels: ["one", "two", "one three"] },
  ],
  ["Queue-Name", "orders", { queueName: "orders" }, { queueName: "orders" }],
];

const spellings: readonly (readonly [what: string, say: (name: string, value: string) => Said])[] = [
  ["Service- header", (name, value) => ({ headers: [`Service-${name}`, value], query: "" })],
  ["Upstash- header", (name, value) => ({ headers: [`upstash-${name.toLowerCase()}`, value], query: "" })],
  ["service- query", (name, value) => ({ headers: [], query: queryOf(`service-${name}`, value) })],
  ["upstash- query", (name, value) => ({ headers: [], query: queryOf(`upstash-${name}`, value) })],
];

interface Said {
  readonly headers: readonly string[];
  readonly query: string;
}

function queryOf(name: string, value: string): string {
  return `&${name.toLowerCase()}=${encodeURIComponent(value)}`;
}

function assertHas(record: Json, expected: Json, context: string): void {
  const found = Object.fromEntries(Object.keys(expected).map((name) => [name, record[name]]));
  assert.deepEqual(found, expected, context);
}

async function get(server: MessagingServer, path: string): Promise<Json> {
  return (await server.send(`GET ${path}`)).json as Json;
}

/** Headers with other tests here or in `messaging-publish.test.ts`: they come in pairs, or no record shows them. */
const elsewhere = [
  ...["not-before", "deduplication-id", "content-based-deduplication", "flow-control-key", "flow-control-value"],
  ...["header-forward", "hops", "cron", "schedule-id"],
];

test("C1, C15: every header of the table has a row here, or its own test", () => {
  const own = rows.map(([name]) => name.toLowerCase());
  const missing = headerRows.filter(({ name }) => !own.includes(name) && !elsewhere.includes(name));
  assert.deepEqual(missing, []);
});

// C.options.query, C15.method, C15.timeout, C15.retries, C15.retry-delay, C15.delay, C15.forward, C15.redact-fields, C15.label, C15.queue-name, C.labels
test("C1, C15: every parameter is accepted in both spellings, as a header and in the query", async () => {
  await using server = await startMessagingServer();
  const cron = ["Service-Cron", "@yearly", "Service-Schedule-Id", "s"];
  for (const [name, value, inSchedule, inMessage] of rows) {
    for (const [what, say] of spellings) {
      const context = `${name}: ${value} as ${what}`;
      const { headers, query } = say(name, value);
      const scheduled = await server.send(`POST /v2/schedules/${URL_CALLED}${query}`, {
        headers: [...cron, ...headers],
        body: "payload",
      });
      assert.deepEqual([scheduled.status, scheduled.json], [200, { scheduleId: "s" }], context);
      const schedule = await get(server, "/v2/schedules/s");
      assertHas(schedule, { ...inSchedule, destination: URL_CALLED }, context);

      // The queue holds messages that are due, so that the record can be inspected.
      await server.send("POST /v2/queues/paused/pause");
      const published = await server.send(`POST /v2/enqueue/paused/${URL_CALLED}${query}`, {
        headers,
        body: "payload",
      });
      assert.equal(published.status, 200, `${context}: ${published.text}`);
      const { messageId } = published.json as { messageId: string };
      const message = await get(server, `/v2/messages/${messageId}`);
      assertHas(message, { ...inMessage, url: URL_CALLED, queueName: "paused" }, context);
    }
  }
});

test("C.batch.defaults: every parameter is accepted in an element, and as a default in the headers of the request", async () => {
  await using server = await startMessagingServer();
  for (const queueName of ["paused", "orders"]) await server.send(`POST /v2/queues/${queueName}/pause`);
  for (const [name, value, , inMessage] of rows) {
    const message = { destination: URL_CALLED, body: "payload", queue: "paused" };
    const lowerName = name.toLowerCase();
    const reply = await server.send("POST /v2/batch", {
      headers: [`Service-${name}`, value],
      body: [{ ...message, headers: { [`upstash-${lowerName}`]: [value] } }, message],
    });
    assert.equal(reply.status, 200, `${name}: ${reply.text}`);
    for (const { messageId } of reply.json as { messageId: string }[]) {
      assertHas(await get(server, `/v2/messages/${messageId}`), { ...inMessage, queueName: "paused" }, name);
    }
  }
});

test("C1, C.options.query: of two spellings Service- wins, and a header wins over the query", async () => {
  await using server = await startMessagingServer();
  const id = await server.publish(`${URL_CALLED}&service-retries=1&service-delay=1h`, {
    headers: ["Upstash-Retries", "2", "Service-Retries", "3"],
  });
  const { maxRetries, url } = await get(server, `/v2/messages/${id}`);
  assert.deepEqual([maxRetries, url], [3, URL_CALLED]);
});

test("C15.callback, C15.failure-callback, C15.callback-options: each row of the table of callback options, also for the failure callback", async () => {
  for (const [prefix, url] of [
    ["Callback", "https://callback.test/"],
    ["Failure-Callback", "https://failure.test/"],
  ] as const) {
    await using server = await startMessagingServer();
    server.destination = () => answered(500);
    const say = (name: string, value: string): readonly string[] => [`Service-${prefix}${name}`, value];
    await server.publish(URL_CALLED, {
      headers: [
        ...["Service-Retries", "0", ...say("", url), ...say("-Method", "PUT"), ...say("-Timeout", "30s")],
        ...[...say("-Retries", "2"), ...say("-Retry-Delay", "5000"), ...say("-Forward-X-Team", "blue")],
        ...[...say("-X-User", "somebody"), ...say("-Flow-Control-Key", "key")],
        ...say("-Flow-Control-Value", "parallelism=4"),
      ],
    });

    await server.advance(MINUTE_MS);

    const [, ...calls] = server.calls;
    assert.deepEqual(
      calls.map(({ url: called, method, headers, atMs }) => [
        called,
        method,
        headers.get("x-team"),
        headers.get("x-user"),
        headers.get("content-type"),
        headers.get("upstash-retried"),
        atMs - (server.calls[0]?.atMs ?? 0),
      ]),
      [0, 1, 2].map((retried) => [
        ...[url, "PUT", "blue", "somebody", "application/json", String(retried), retried * 5_000],
      ]),
    );
    const { messages } = (await get(server, `/v2/dlq?url=${url}`)) as { messages: Json[] };
    assertHas(
      messages[0] ?? {},
      { method: "PUT", timeout: 30_000, maxRetries: 2, retryDelayExpression: "5000", flowControlKey: "key" },
      prefix,
    );
  }
});

test("C.callbacks.options: a callback without its own settings has the retry settings of the original", async () => {
  await using server = await startMessagingServer();
  server.destination = ({ url }) => answered(url.startsWith("https://callback.test") ? 500 : 200);
  await server.publish(URL_CALLED, {
    headers: ["Service-Retries", "1", "Service-Retry-Delay", "7000", "Service-Callback", "https://callback.test/"],
  });
  await server.advance(MINUTE_MS);
  assert.deepEqual(
    server.calls.map(({ url, method, atMs }) => [url, method, atMs - (server.calls[0]?.atMs ?? 0)]),
    [
      [URL_CALLED, "POST", 0],
      ["https://callback.test/", "POST", 0],
      ["https://callback.test/", "POST", 7_000],
    ],
  );
});

test("C15.method: each method reaches the destination, POST by default", async () => {
  await using server = await startMessagingServer();
  const methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];
  for (const method of methods) await server.publish(URL_CALLED, { headers: ["Service-Method", method.toLowerCase()] });
  await server.publish(URL_CALLED);
  await server.advance(0);
  assert.deepEqual(
    server.calls.map(({ method }) => method),
    [...methods, "POST"],
  );
});

test("C15.content-type: it is forwarded, and shown among the headers", async () => {
  await using server = await startMessagingServer();
  for (const type of ["application/json", "application/xml", "application/octet-stream", "text/plain"]) {
    const id = await server.publish(`${URL_CALLED}&service-delay=1m`, { headers: ["Content-Type", type] });
    assert.deepEqual((await get(server, `/v2/messages/${id}`))["header"], { "Content-Type": [type] });
  }
  await server.advance(MINUTE_MS);
  assert.deepEqual(
    server.calls.map(({ headers }) => headers.get("content-type")),
    ["application/json", "application/xml", "application/octet-stream", "text/plain"],
  );
});

/** Values refused in every place: name, value, status, text after `Invalid value for <name>: <value>: ` or whole. */
const refused: readonly (readonly [name: string, value: string, status: number, text: string])[] = [
  ["Method", "BREW", 400, 'Invalid value for Method: "BREW": use GET, POST, PUT, PATCH, DELETE, HEAD, OPTIONS'],
  ["Timeout", "3d", 400, 'Invalid value for Timeout: "3d": use a duration such as 50s, 3m or 2h'],
  ["Timeout", "0s", 400, 'Invalid value for Timeout: "0s": use a duration such as 50s, 3m or 2h'],
  ["Timeout", "3h", 400, 'Invalid value for Timeout: "3h": the limit is 7200s'],
  ["Retries", "-1", 400, 'Invalid value for Retries: "-1": use a whole number, 0 or more'],
  ["Retries", "1.5", 400, 'Invalid value for Retries: "1.5": use a whole number, 0 or more'],
  ["Retries", "1001", 412, 'Retries "1001" is above the limit of 1000 retries'],
  ["Delay", "soon", 400, 'Invalid value for Delay: "soon": use a duration such as 50s, 3m, 2h or 1d10h30m'],
  ["Delay", "9999d", 412, "Delay is above the limit of 94867200 s from now"],
  [
    "Callback",
    "callback.test",
    400,
    'Invalid value for Callback: "callback.test": a callback is a URL that starts with http:// or https://',
  ],
  [
    "Failure-Callback",
    "ftp://failure.test",
    400,
    'Invalid value for Failure-Callback: "ftp://failure.test": a callback is a URL that starts with http:// or https://',
  ],
  [
    "Redact-Fields",
    "boddy",
    400,
    'Invalid value for Redact-Fields: "boddy": Unknown field "boddy"; known fields are body, headers and header[<name>]',
  ],
  ["Queue-Name", "a b", 400, 'Invalid value for Queue-Name: "a b": '],
  ["Flow-Control-Key", "a/b", 400, 'Invalid value for Flow-Control-Key: "a/b": '],
  ["Flow-Control-Key", "key", 400, "Flow-Control-Value is missing: set parallelism=n or rate=n for the key"],
  ["Flow-Control-Value", "rate=1", 400, "Flow-Control-Key is missing: Flow-Control-Value needs a key"],
  ["Flow-Control-Value", "rate=0", 400, 'Invalid value for Flow-Control-Value: "rate=0": '],
  [
    "Flow-Control-Value",
    "rate=1, period=8d",
    400,
    'Invalid value for Flow-Control-Value: "rate=1, period=8d": Invalid period "8d": it must be at most a week',
  ],
  ["Retry-Delay", "retried +", 400, 'Invalid value for Retry-Delay: "retried +": '],
  [
    "Retry-Delay",
    "sqrt(0-1)",
    400,
    'Invalid value for Retry-Delay: "sqrt(0-1)": the expression has no value for retried = 0',
  ],
  ["Retry-Delay", "process.exit()", 400, 'Invalid value for Retry-Delay: "process.exit()": '],
  ["Header-Forward", "yes", 400, 'Invalid value for Header-Forward: "yes": use true or false'],
];

test("C1, C15: an invalid value is refused with its name everywhere, and nothing is stored", async () => {
  await using server = await startMessagingServer();
  const cron = ["Service-Cron", "@daily"];
  for (const [name, value, status, text] of refused) {
    const headers = [`Service-${name}`, value];
    const bad = { destination: URL_CALLED, headers: { [`service-${name.toLowerCase()}`]: value } };
    for (const [reply, prefix] of [
      [await server.send(`POST /v2/publish/${URL_CALLED}`, { headers }), ""],
      [await server.send(`POST /v2/publish/${URL_CALLED}${queryOf(`service-${name}`, value)}`), ""],
      [await server.send(`POST /v2/enqueue/queue/${URL_CALLED}`, { headers }), ""],
      [await server.send(`POST /v2/schedules/${URL_CALLED}`, { headers: [...cron, ...headers] }), ""],
      [await server.send("POST /v2/batch", { body: [{ destination: URL_CALLED }, bad] }), "Message 1 of the batch: "],
    ] as const) {
      const { error } = reply.json as { error: string };
      assert.equal(reply.status, status, `${name}: ${value}: ${reply.text}`);
      const isWhole = !text.endsWith(": ");
      assert.equal(isWhole ? error : error.slice(0, prefix.length + text.length), prefix + text);
    }
  }
  assert.deepEqual((await server.send("GET /v2/logs")).json, { logs: [] });
  for (const path of ["schedules", "queues", "flowControl"]) {
    assert.deepEqual((await server.send(`GET /v2/${path}`)).json, [], path);
  }
});

test("C.callbacks.refused: delayed callbacks are rejected at publish, and a callback has no callback", async () => {
  await using server = await startMessagingServer();
  const callback = ["Service-Callback", "https://callback.test/"];
  for (const [name, text] of [
    ["Callback-Delay", 'Invalid value for Callback-Delay: "1": a callback cannot be delayed'],
    ["Callback-Not-Before", 'Invalid value for Callback-Not-Before: "1": a callback cannot be delayed'],
    [
      "Callback-Callback",
      'Invalid value for Callback-Callback: "1": a callback has no callback of its own, but a failure callback',
    ],
  ] as const) {
    const headers = [...callback, `Service-${name}`, "1"];
    for (const line of [`POST /v2/publish/${URL_CALLED}`, `POST /v2/schedules/${URL_CALLED}&service-cron=@daily`]) {
      const reply = await server.send(line, { headers });
      assert.deepEqual([reply.status, reply.json], [400, { error: text }], line);
    }
  }
});

test("C.callbacks.refused: settings of a callback are validated even if no callback is named", async () => {
  await using server = await startMessagingServer();
  for (const family of ["Callback", "Failure-Callback"]) {
    for (const [name, value, text] of [
      ["Timeout", "soon", '"soon": use a duration such as 50s, 3m or 2h'],
      ["Delay", "1", '"1": a callback cannot be delayed'],
      ["Method", "FETCH", '"FETCH": use GET, POST, PUT, PATCH, DELETE, HEAD, OPTIONS'],
    ] as const) {
      const headers = [`Service-${family}-${name}`, value];
      const error = `Invalid value for ${family}-${name}: ${text}`;
      for (const line of [`POST /v2/publish/${URL_CALLED}`, `POST /v2/schedules/${URL_CALLED}&service-cron=@daily`]) {
        const reply = await server.send(line, { headers });
        assert.deepEqual([reply.status, reply.json], [400, { error }], line);
      }
    }
    const { status } = await server.send(`POST /v2/publish/${URL_CALLED}`, {
      headers: [`Service-${family}-Timeout`, "5s"],
    });
    assert.equal(status, 200);
  }
});

test("C-23, C1.cron: an expression that never fires, has seconds or is invalid is 400; a schedule without one is too", async () => {
  await using server = await startMessagingServer();
  for (const [cron, text] of [
    ["0 0 30 2 *", 'Invalid value for Cron: "0 0 30 2 *": None of the mo'],
    ["* * * * * *", 'Invalid value for Cron: "* * * * * *": '],
    ["61 * * * *", 'Invalid value for Cron: "61 * * * *": '],
    ["CRON_TZ=Mars/Base 0 0 * * *", 'Invalid value for Cron: "CRON_TZ=Mars/Base 0 0 * * *": '],
    ["often", 'Invalid value for Cron: "often": '],
    [undefined, "Cron is missing: set the times at which the schedule fires"],
  ] as const) {
    const headers = cron === undefined ? [] : ["Service-Cron", cron];
    const reply = await server.send(`POST /v2/schedules/${URL_CALLED}`, { headers });
    const { error } = reply.json as { error: string };
    assert.deepEqual([reply.status, error.slice(0, text.length)], [400, text]);
  }
});

test("C1.cron: a message with a cron expression is 400, and none is accepted", async () => {
  await using server = await startMessagingServer();
  const why =
    'Invalid value for Cron: "@daily": a message is sent once; POST /v2/schedules/<destination> creates a schedule';
  const element = { destination: URL_CALLED, headers: { "upstash-cron": "@daily" } };
  for (const [request, sent, error] of [
    [`POST /v2/publish/${URL_CALLED}`, { headers: ["Service-Cron", "@daily"] }, why],
    [`POST /v2/publish/${URL_CALLED}&upstash-cron=@daily`, {}, why],
    [`POST /v2/enqueue/q/${URL_CALLED}`, { headers: ["Upstash-Cron", "@daily"] }, why],
    ["POST /v2/batch", { body: JSON.stringify([element]) }, `Message 0 of the batch: ${why}`],
  ] as const) {
    const reply = await server.send(request, sent);
    assert.deepEqual([reply.status, reply.json], [400, { error }], request);
  }
  assert.deepEqual((await server.send("GET /v2/logs")).json, { logs: [] });
});

test("C1.cron, C.cron: the timezone is respected, also across the change to summer time", async () => {
  await using server = await startMessagingServer();
  // 2026-03-29: Berlin leaves out the hour from 2 to 3.
  server.harness.clock.advance(Date.UTC(2026, 2, 28, 12) - server.harness.clock.nowMs());
  await server.send("POST /v2/schedules/https://a.test", {
    headers: ["Service-Cron", "CRON_TZ=Europe/Berlin 0 9 * * *"],
  });
  const firings: number[] = [];
  for (let hour = 0; hour < 48; hour += 1) {
    await server.advance(60 * MINUTE_MS);
    while (firings.length < server.calls.length) firings.push(server.calls[firings.length]?.atMs ?? 0);
  }
  assert.deepEqual(
    firings.map((atMs) => new Date(atMs).toISOString()),
    ["2026-03-29T07:00:00.000Z", "2026-03-30T07:00:00.000Z"],
  );
});

test("C1.delay: the delay is added at each firing", async () => {
  await using server = await startMessagingServer();
  await server.send("POST /v2/schedules/https://a.test", {
    headers: ["Service-Cron", "*/10 * * * *", "Service-Delay", "90s"],
  });
  await server.advance(22 * MINUTE_MS);
  assert.deepEqual(
    server.calls.map(({ atMs }) => new Date(atMs).toISOString()),
    ["2026-01-01T00:11:30.000Z", "2026-01-01T00:21:30.000Z"],
  );
});

test("C1.deduplication: each firing is a separate message, whatever the deduplication options", async () => {
  await using server = await startMessagingServer();
  await server.send("POST /v2/schedules/https://a.test", {
    headers: [
      ...["Service-Cron", "* * * * *", "Service-Deduplication-Id", "once"],
      ...["Service-Content-Based-Deduplication", "true"],
    ],
  });
  await server.advance(3 * MINUTE_MS);
  assert.equal(server.calls.length, 3);
});

test("C1.destination, C1.refused: a URL group gets one message for each endpoint, and an unknown one is 400", async () => {
  await using server = await startMessagingServer();
  const headers = ["Service-Cron", "* * * * *"];
  const missing = await server.send("POST /v2/schedules/group", { headers });
  assert.deepEqual(
    [missing.status, missing.json],
    [400, { error: "Invalid destination: there is no URL group group, and a URL starts with http:// or https://" }],
  );
  await server.send("POST /v2/topics/group/endpoints", {
    body: { endpoints: [{ url: "https://a.test/" }, { url: "https://b.test/" }] },
  });
  await server.send("POST /v2/schedules/group", { headers });
  await server.advance(MINUTE_MS);
  assert.deepEqual(server.calls.map(({ url }) => url).toSorted(), ["https://a.test/", "https://b.test/"]);
});
