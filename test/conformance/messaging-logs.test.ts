/** The log of messages: its entries, filters, orders and pages (C6). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { filterRows } from "../../src/edge/messaging/filters/messages.ts";
import { settingRows } from "../../src/program/settings/settings.ts";
import { answered } from "../harness/messaging-harness.ts";
import { type MessagingServer, startMessagingServer } from "../harness/messaging-server.ts";

const MINUTE_MS = 60_000;
const START_MS = Date.UTC(2026, 0, 1);

interface Entry {
  readonly [field: string]: unknown;
  readonly messageId: string;
  readonly state: string;
  readonly url: string;
  readonly time: number;
}

async function logs(server: MessagingServer, query = ""): Promise<readonly Entry[]> {
  const { status, json, text } = await server.send(`GET /v2/logs?${query}`);
  assert.equal(status, 200, text);
  return (json as { logs: Entry[] }).logs;
}

async function statesOf(server: MessagingServer, messageId: string): Promise<readonly string[]> {
  return (await logs(server, `messageId=${messageId}&order=earliestFirst`)).map(({ state }) => state);
}

test("C6, C.states: every state of a message is an entry, in order", async () => {
  await using server = await startMessagingServer();
  const outcomes = new Map([
    ["https://good.test/", 200],
    ["https://bad.test/", 500],
  ]);
  server.destination = ({ url }) => (url === "https://slow.test/" ? "later" : answered(outcomes.get(url) ?? 200));
  const retries = ["Service-Retries", "1", "Service-Retry-Delay", "1000"];
  const good = await server.publish("https://good.test/");
  const bad = await server.publish("https://bad.test/", { headers: retries });
  const waiting = await server.publish("https://good.test/?service-delay=1h");
  const slow = await server.publish("https://slow.test/");
  await server.advance(0);
  await server.send(`DELETE /v2/messages/${waiting}`);
  await server.send(`DELETE /v2/messages/${slow}`);
  assert.deepEqual(await statesOf(server, slow), ["CREATED", "ACTIVE", "CANCEL_REQUESTED"]);
  for (const { url, answer } of server.calls) if (url === "https://slow.test/") answer(answered(200));
  await server.advance(1_000);

  assert.deepEqual(await statesOf(server, good), ["CREATED", "ACTIVE", "DELIVERED"]);
  assert.deepEqual(await statesOf(server, bad), ["CREATED", "ACTIVE", "ERROR", "RETRY", "ACTIVE", "ERROR", "FAILED"]);
  assert.deepEqual(await statesOf(server, waiting), ["CREATED", "CANCEL_REQUESTED", "CANCELLED"]);
  assert.deepEqual(await statesOf(server, slow), ["CREATED", "ACTIVE", "CANCEL_REQUESTED", "CANCELLED"]);
});

test("C6.entry, C.callers, C.labels: an entry has the fields of its message, and those of the error only if one occurred", async () => {
  await using server = await startMessagingServer();
  server.destination = () => answered(503, ["X-Reason", "tired", "X-Reason", "still"], "busy");
  await server.send("POST /v2/topics/group/endpoints", {
    body: { endpoints: [{ url: "https://a.test/", name: "first" }] },
  });
  const headers = [
    ...["Content-Type", "text/plain", "Service-Method", "PUT", "Service-Forward-X-Team", "blue"],
    ...["Service-Retries", "1", "Service-Retry-Delay", "1000 * (1 + retried)", "Service-Timeout", "30s"],
    ...["Service-Callback", "https://callback.test/", "Service-Callback-Forward-X", "1"],
    ...["Service-Failure-Callback", "https://failure.test/", "Service-Failure-Callback-Forward-X", "2"],
    ...["Service-Label", "one,two", "Service-Queue-Name", "orders"],
    ...["Service-Flow-Control-Key", "key", "Service-Flow-Control-Value", "parallelism=2, rate=3, period=1m"],
  ];
  await server.send("POST /v2/publish/group", { headers, body: "payload" });
  await server.advance(0);

  const entries = await logs(server, "topicName=group&order=earliestFirst");
  const [created, active, error, retry] = entries;
  const { messageId } = created ?? {};
  const common = {
    messageId,
    header: { "Content-Type": ["text/plain"], "X-Team": ["blue"] },
    body: "cGF5bG9hZA==",
    url: "https://a.test/",
    topicName: "group",
    endpointName: "first",
    queueName: "orders",
    timeout: 30_000,
    method: "PUT",
    callback: "https://callback.test/",
    callbackHeaders: { "Content-Type": ["application/json"], X: ["1"] },
    failureCallback: "https://failure.test/",
    failureCallbackHeaders: { "Content-Type": ["application/json"], X: ["2"] },
    maxRetries: 1,
    retryDelayExpression: "1000 * (1 + retried)",
    retryDelayExpr: "1000 * (1 + retried)",
    label: "one",
    labels: ["one", "two"],
    flowControlKey: "key",
    parallelism: 2,
    rate: 3,
    period: 60,
    callerIp: "127.0.0.1",
    callerIP: "127.0.0.1",
    time: START_MS,
  };
  assert.deepEqual(created, { ...common, state: "CREATED" });
  assert.deepEqual(active, { ...common, state: "ACTIVE" });
  assert.deepEqual(error, {
    ...common,
    state: "ERROR",
    error: "The destination answered 503",
    responseStatus: 503,
    responseBody: "YnVzeQ==",
    responseHeaders: { "X-Reason": ["tired", "still"] },
    responseHeader: { "X-Reason": ["tired", "still"] },
  });
  assert.deepEqual(retry, { ...common, state: "RETRY", nextDeliveryTime: START_MS + 1_000 });
});

test("C6.entry: without an answer, the entry gives the reason, and its status is 0", async () => {
  await using server = await startMessagingServer();
  server.destination = () => ({ kind: "failure", text: "Connection refused" });
  await server.publish("https://a.test/");
  await server.advance(0);
  const [entry] = await logs(server, "state=ERROR");
  assert.deepEqual(
    [entry?.["error"], entry?.["responseStatus"], entry?.["responseBody"], entry?.["responseHeaders"]],
    ["Connection refused", 0, "", {}],
  );
});

/** One message for each filter, created a minute apart. */
async function worldToFilter(): Promise<{ server: MessagingServer; ids: readonly string[] }> {
  const server = await startMessagingServer();
  await server.send("POST /v2/topics/group/endpoints", { body: { endpoints: [{ url: "https://group.test/" }] } });
  const later = "service-delay=1d";
  const ids = [
    await server.publish(`https://a.test/one?x=1&${later}&service-label=red,blue`),
    await server.publish(`https://a.test/two?${later}&service-label=blue`),
    await server.publish(`https://b.test:8443/one?${later}`, {
      headers: ["Service-Flow-Control-Key", "key", "Service-Flow-Control-Value", "rate=1"],
    }),
  ];
  await server.advance(MINUTE_MS);
  for (const line of [`POST /v2/publish/group?${later}`, `POST /v2/enqueue/orders/https://q.test/?${later}`]) {
    const { json } = await server.send(line);
    const [{ messageId = "" } = {}] = (Array.isArray(json) ? json : [json]) as { messageId: string }[];
    ids.push(messageId);
  }
  await server.advance(MINUTE_MS);
  await server.send(`POST /v2/schedules/https://s.test/?${later}`, {
    headers: ["Service-Cron", "* * * * *", "Service-Schedule-Id", "each-minute"],
  });
  await server.advance(MINUTE_MS);
  return { server, ids };
}

const all = ["s.test/", "q.test/", "group.test/", "b.test:8443/one", "a.test/two", "a.test/one?x=1"];

/** A query, and the URLs of the entries that it finds. */
function rowsToFilter([first, second, , group]: readonly string[]): readonly (readonly [string, readonly string[]])[] {
  return [
    ["", all],
    [`messageId=${second}`, ["a.test/two"]],
    [`messageIds=${first}&messageIds=${group}`, ["group.test/", "a.test/one?x=1"]],
    [`messageIds=${first},${group}`, ["group.test/", "a.test/one?x=1"]],
    ["url=https://a.test/two", ["a.test/two"]],
    ["url=https%3A%2F%2Fa.test%2Fone%3Fx%3D1", ["a.test/one?x=1"]],
    ["url=https://a.test/two,https://q.test/", ["q.test/", "a.test/two"]],
    ["url=https://a.test/two&url=https://q.test/", ["q.test/", "a.test/two"]],
    ["urls=https://a.test/two&urls=https://q.test/", ["q.test/", "a.test/two"]],
    ["host=a.test", ["a.test/two", "a.test/one?x=1"]],
    ["host=b.test:8443", ["b.test:8443/one"]],
    ["path=/one", ["b.test:8443/one", "a.test/one?x=1"]],
    ["path=/one&host=a.test", ["a.test/one?x=1"]],
    ["topicName=group", ["group.test/"]],
    ["queueName=orders", ["q.test/"]],
    ["scheduleId=each-minute", ["s.test/"]],
    ["label=red", ["a.test/one?x=1"]],
    ["label=red&label=blue", ["a.test/two", "a.test/one?x=1"]],
    ["label=green,red", ["a.test/one?x=1"]],
    ["labels=green,red", ["a.test/one?x=1"]],
    ["flowControlKey=key", ["b.test:8443/one"]],
    ["callerIp=127.0.0.1", all],
    ["callerIP=127.0.0.1,::1", all],
    ["callerIp=203.0.113.9", []],
    ["state=CREATED", all],
    ["state=created", all],
    ["state=DELIVERED", []],
    ["state=IN_PROGRESS", []],
    [`fromDate=${START_MS + MINUTE_MS}`, ["s.test/", "q.test/", "group.test/"]],
    [`fromDate=${START_MS + MINUTE_MS}&toDate=${START_MS + MINUTE_MS}`, ["q.test/", "group.test/"]],
    [`fromDate=${START_MS + MINUTE_MS + 1}&toDate=${START_MS + 3 * MINUTE_MS - 1}`, []],
    [`toDate=${START_MS}`, ["b.test:8443/one", "a.test/two", "a.test/one?x=1"]],
    ["label=blue&path=/one", ["a.test/one?x=1"]],
    ["label=red&path=/two", []],
    ["workflowRunId=wfr_1", []],
    ["unknown=1", all],
  ];
}

test("C6, C.filters: each filter selects its own entries; values of one filter are alternatives, several filters must all match", async () => {
  const { server, ids } = await worldToFilter();
  await using _server = server;
  for (const [query, urls] of rowsToFilter(ids)) {
    assert.deepEqual(
      (await logs(server, query)).map(({ url }) => url.slice("https://".length)),
      urls,
      query,
    );
  }
});

test("C6: every filter of the table is tested", () => {
  const used = new Set(rowsToFilter([]).flatMap(([query]) => [...new URLSearchParams(query).keys()]));
  const missing = filterRows.filter((row) => row.for.includes("logs") && !used.has(row.name));
  assert.deepEqual(missing, []);
});

test("C6.events, C.states.filter: IN_PROGRESS is ACTIVE, RETRY or ERROR, and both spellings of CANCELLED find it", async () => {
  await using server = await startMessagingServer();
  server.destination = ({ url }) => (url === "https://slow.test/" ? "later" : answered(500));
  await server.publish("https://bad.test/");
  await server.publish("https://slow.test/");
  const cancelled = await server.publish("https://never.test/?service-delay=1h");
  await server.advance(0);
  await server.send(`DELETE /v2/messages/${cancelled}`);
  const found = async (query: string): Promise<readonly string[]> =>
    (await logs(server, query)).map(({ state, url }) => `${state} ${url}`).toSorted();

  assert.deepEqual(await found("state=IN_PROGRESS"), [
    ...["ACTIVE https://bad.test/", "ACTIVE https://slow.test/", "ERROR https://bad.test/", "RETRY https://bad.test/"],
  ]);
  for (const state of ["CANCELLED", "CANCELED", "canceled"]) {
    assert.deepEqual(await found(`state=${state}`), ["CANCELLED https://never.test/"], state);
  }
  const { events } = (await server.send("GET /v2/events?state=CANCELLED")).json as { events: Entry[] };
  assert.deepEqual(
    events.map(({ state }) => state),
    ["CANCELED"],
  );
  const refused = await server.send("GET /v2/logs?state=LOST");
  assert.deepEqual(refused.json, {
    error:
      'Invalid value for state: "LOST": use CREATED, ACTIVE, RETRY, ERROR, DELIVERED, FAILED, CANCEL_REQUESTED, CANCELLED or IN_PROGRESS',
  });
});

test("C6, C.pages: pages in both orders have each entry once, and the last page has no cursor", async () => {
  await using server = await startMessagingServer();
  const ids: string[] = [];
  for (let number = 0; number < 7; number += 1) {
    ids.push(await server.publish(`https://a.test/${number}?service-delay=1d`));
    // Several entries in one ms, and several ms.
    if (number % 3 === 2) await server.advance(1);
  }
  for (const [order, expected] of [
    ["", ids.toReversed()],
    ["&order=latestFirst", ids.toReversed()],
    ["&order=earliestFirst", ids],
  ] as const) {
    const found: string[] = [];
    let query: string | undefined = `count=3${order}`;
    let pages = 0;
    while (query !== undefined && pages < 9) {
      const { json } = await server.send(`GET /v2/logs?${query}`);
      const page = json as { logs: Entry[]; cursor?: string };
      found.push(...page.logs.map(({ messageId }) => messageId));
      query = page.cursor === undefined ? undefined : `count=3${order}&cursor=${page.cursor}`;
      assert.equal(page.logs.length === 3 || query === undefined, true, "only the last page is short");
      pages += 1;
    }
    assert.deepEqual(found, expected, order);
    assert.equal(pages, 3, order);
  }
});

test("C6.cursor: a bare number is also a cursor, for that moment", async () => {
  await using server = await startMessagingServer();
  await server.publish("https://a.test/1?service-delay=1d");
  await server.advance(1_000);
  await server.publish("https://a.test/2?service-delay=1d");
  for (const [query, urls] of [
    [`cursor=${START_MS + 5_000}`, ["https://a.test/2", "https://a.test/1"]],
    [`cursor=${START_MS + 500}`, ["https://a.test/1"]],
    [`cursor=${START_MS - 1}`, []],
    [`cursor=${START_MS + 500}&order=earliestFirst`, ["https://a.test/2"]],
  ] as const) {
    assert.deepEqual(
      (await logs(server, query)).map(({ url }) => url),
      urls,
      query,
    );
  }
});

test("C6, C.pages: invalid parameters are 400 and named", async () => {
  await using server = await startMessagingServer();
  for (const [query, text] of [
    ["count=0", "Invalid value for count: it must be 1 or more"],
    ["count=many", 'Invalid value for count: "many": it must be a whole number'],
    ["fromDate=yesterday", 'Invalid value for fromDate: "yesterday": it must be a whole number'],
    ["toDate=-1", 'Invalid value for toDate: "-1": it must be a whole number'],
    ["order=sideways", 'Invalid value for order: "sideways": use earliestFirst or latestFirst'],
    ["cursor=nonsense", "Invalid value for cursor: nonsense"],
  ] as const) {
    for (const path of ["logs", "events"]) {
      const { status, json } = await server.send(`GET /v2/${path}?${query}`);
      assert.deepEqual([status, json], [400, { error: text }], query);
    }
  }
});

test("C6, C.pages: a page has 100 entries of logs and 1000 of events unless a count says otherwise, and at most 1000", async () => {
  await using server = await startMessagingServer();
  const message = { destination: "https://a.test/", headers: { "service-delay": "1d" } };
  await server.send("POST /v2/batch", { body: Array.from({ length: 1_005 }, () => message) });
  for (const [path, length] of [
    ["logs", 100],
    ["logs?count=7", 7],
    ["logs?count=5000", 1_000],
    ["events", 1_000],
    ["events?count=7", 7],
  ] as const) {
    const json = (await server.send(`GET /v2/${path}`)).json as { logs?: unknown[]; events?: unknown[] };
    assert.equal((json.logs ?? json.events)?.length, length, path);
  }
});

test("Limits: log entries are stored for the configured time, 14 days by default", async () => {
  assert.equal(settingRows.logRetentionMs.default, "14d");
  await using server = await startMessagingServer({}, { logRetentionMs: 60 * MINUTE_MS });
  await server.publish("https://a.test/old");
  await server.advance(0);
  await server.advance(59 * MINUTE_MS);
  assert.equal((await logs(server)).length, 3);
  await server.advance(5 * MINUTE_MS);
  assert.deepEqual(await logs(server), []);
});
