/** Logs and dead letters: the calls on the engine and the answers. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { messagingEdge } from "../../../../test/harness/messaging-edge.ts";
import type { LogEntry, LoggedMessage } from "../../../messaging/api.ts";
import type { DeadLetter } from "../../../messaging/state/dead-letters.ts";
import { messageId } from "../../../messaging/state/message-id.ts";
import { messageState } from "../../../messaging/state/states.ts";

const message: LoggedMessage = {
  id: "msg_1",
  envelope: {
    url: "https://a.test/b",
    method: "PUT",
    headers: ["Content-Type", "text/plain"],
    retriesMax: 3,
    retryDelay: "1000",
    timeoutMs: 30_000,
    callback: { url: "https://c.test", given: [] },
    topicName: "group",
    labels: ["l"],
    flowControl: { key: "k", parallelism: 2 },
    callerIp: "10.0.0.7",
  },
  body: Buffer.from("payload"),
  createdAtMs: 1_000,
  notBeforeMs: 1_000,
};

const common = {
  time: 5_000,
  messageId: "msg_1",
  header: { "Content-Type": ["text/plain"] },
  body: "cGF5bG9hZA==",
  url: "https://a.test/b",
  topicName: "group",
  timeout: 30_000,
  method: "PUT",
  callback: "https://c.test",
  callbackHeaders: { "Content-Type": ["application/json"] },
  maxRetries: 3,
  retryDelayExpression: "1000",
  retryDelayExpr: "1000",
  label: "l",
  labels: ["l"],
  flowControlKey: "k",
  parallelism: 2,
  period: 1,
  callerIp: "10.0.0.7",
  callerIP: "10.0.0.7",
};

const response = { status: 500, headers: ["x-r", "1", "X-R", "2"], error: "", body: Buffer.from("no") };
const entries: LogEntry[] = [
  { message, timeMs: 5_000, state: messageState.cancelled },
  { message, timeMs: 5_000, state: messageState.retry, nextDeliveryMs: 9_000 },
  { message, timeMs: 5_000, state: messageState.error, response },
  {
    message,
    timeMs: 5_000,
    state: messageState.error,
    response: { status: 0, headers: [], error: "timed out", body: Buffer.alloc(0) },
  },
  { message, timeMs: 5_000, state: messageState.failed, response },
];

test("C6.entry: log entries have only the fields of their state", async () => {
  const edge = messagingEdge({ logs: async () => ({ entries, cursor: "c1" }) });
  const reply = await edge.send("GET /v2/logs");
  assert.equal(reply.status, 200);
  assert.deepEqual(reply.json, {
    cursor: "c1",
    logs: [
      { ...common, state: "CANCELLED" },
      { ...common, state: "RETRY", nextDeliveryTime: 9_000 },
      {
        ...common,
        state: "ERROR",
        error: "The destination answered 500",
        responseStatus: 500,
        responseBody: "bm8=",
        responseHeaders: { "X-R": ["1", "2"] },
        responseHeader: { "X-R": ["1", "2"] },
      },
      {
        ...common,
        state: "ERROR",
        error: "timed out",
        responseStatus: 0,
        responseBody: "",
        responseHeaders: {},
        responseHeader: {},
      },
      { ...common, state: "FAILED" },
    ],
  });
});

test("C6.events: the old name of the list spells CANCELED, and the cursor is absent on the last page", async () => {
  const edge = messagingEdge({ logs: async () => ({ entries: entries.slice(0, 1), cursor: undefined }) });
  assert.deepEqual((await edge.send("GET /v2/events")).json, { events: [{ ...common, state: "CANCELED" }] });
});

test("C6: filters, order, count and cursor are passed to the engine", async () => {
  const edge = messagingEdge({ logs: async () => ({ entries: [], cursor: undefined }) });
  await edge.send("GET /v2/logs");
  await edge.send("GET /v2/events");
  await edge.send(
    "GET /v2/logs?state=ERROR&label=a,b&fromDate=1&toDate=2&order=earliestFirst&count=5&cursor=1725323658779&other=1",
  );
  assert.deepEqual(edge.calls, [
    ["logs", { attributes: new Map() }, { order: "latest first", count: 100 }],
    ["logs", { attributes: new Map() }, { order: "latest first", count: 1_000 }],
    [
      "logs",
      { attributes: new Map([["label", ["a", "b"]]]), fromMs: 1, toMs: 2, states: [messageState.error] },
      { order: "earliest first", count: 5, cursor: "1725323658779" },
    ],
  ]);
});

test("C-21: a redacted body is not in logs, not even in base64", async () => {
  const hidden = { ...message, envelope: { ...message.envelope, redact: { body: true } as const } };
  const edge = messagingEdge({
    logs: async () => ({ entries: [{ message: hidden, timeMs: 1, state: messageState.created }], cursor: undefined }),
  });
  const [entry] = ((await edge.send("GET /v2/logs")).json as { logs: { body: string }[] }).logs;
  assert.equal(entry?.body, "REDACTED:239f59ed55e737c77147cf55ad0c1b030b6d7ee748a7426952f9b852d5a935e5");
});

test("a page whose bodies are too large together is shorter", async () => {
  const large = { ...message, body: Buffer.alloc(15 * 1024 * 1024) };
  const all = Array.from({ length: 5 }, () => ({ message: large, timeMs: 1, state: messageState.created }));
  const edge = messagingEdge({
    logs: async (_filter, { count }) => ({
      entries: all.slice(0, count),
      cursor: count < 5 ? `after ${count}` : undefined,
    }),
  });
  const { logs, cursor } = (await edge.send("GET /v2/logs")).json as { logs: unknown[]; cursor: string };
  assert.equal(logs.length, 2);
  assert.equal(cursor, "after 2");
});

const letter = {
  id: { ms: 1_725_323_658_779, number: 3 },
  envelope: { fields: message.envelope },
  body: "its body",
  responseBody: "its response body",
  sequence: 1,
  nonce: 2,
  createdAtMs: 1_000,
  notBeforeMs: 1_000,
  retried: 3,
  response: { status: 503, headers: ["X-R", "1"], error: "" },
} as unknown as DeadLetter;

const letterView = {
  dlqId: "1725323658779-3",
  messageId: messageId(1, 2),
  url: "https://a.test/b",
  topicName: "group",
  method: "PUT",
  header: { "Content-Type": ["text/plain"] },
  body: "payload",
  maxRetries: 3,
  notBefore: 1_000,
  createdAt: 1_000,
  callback: "https://c.test",
  callbackHeader: { "Content-Type": ["application/json"] },
  callerIP: "10.0.0.7",
  callerIp: "10.0.0.7",
  label: "l",
  labels: ["l"],
  flowControlKey: "k",
  parallelism: 2,
  period: 1,
  timeout: 30_000,
  retryDelayExpression: "1000",
  responseStatus: 503,
  responseHeader: { "X-R": ["1"] },
};

function loadBody(body: unknown): Buffer {
  return body === "its body" ? Buffer.from("payload") : Buffer.from([0xff]);
}

test("C.dlq.get, C.dlq.record: dead letters have the last answer", async () => {
  const edge = messagingEdge({
    deadLetters: () => ({ deadLetters: [letter], cursor: "1725323658779-3" }),
    deadLetter: (id) => (id === "1725323658779-3" ? letter : undefined),
    loadBody,
  });
  const view = { ...letterView, responseBodyBase64: "/w==" };
  assert.deepEqual((await edge.send("GET /v2/dlq")).json, { cursor: "1725323658779-3", messages: [view] });
  assert.deepEqual((await edge.send("GET /v2/dlq/1725323658779-3")).json, view);
  const missing = await edge.send("GET /v2/dlq/1-0");
  assert.equal(missing.status, 404);
  assert.deepEqual(missing.json, { error: "dead letter 1-0 not found" });
});

test("C.dlq.record: without an answer, a dead letter has the reason in place of a body", async () => {
  const unanswered = { ...letter, response: { status: 0, headers: [], error: "connection refused" } };
  const edge = messagingEdge({ deadLetter: () => unanswered, loadBody });
  assert.deepEqual((await edge.send("GET /v2/dlq/1-0")).json, {
    ...letterView,
    responseStatus: 0,
    responseHeader: {},
    responseBody: "connection refused",
  });
});

test("dead letters are listed by filters, but not by host or path", async () => {
  const edge = messagingEdge({ deadLetters: () => ({ deadLetters: [], cursor: undefined }) });
  assert.deepEqual((await edge.send("GET /v2/dlq?count=1000&order=latestFirst&responseStatus=500&unknown=1")).json, {
    messages: [],
  });
  assert.deepEqual((await edge.send("GET /v2/dlq?source=workflow")).json, { messages: [] });
  assert.deepEqual(edge.calls, [
    ["deadLetters", { attributes: new Map(), statuses: [500] }, { order: "latest first", count: 100 }],
    ["deadLetters", { attributes: new Map(), runs: {} }, { order: "earliest first", count: 100 }],
  ]);
  for (const name of ["host", "path"]) {
    const reply = await edge.send(`GET /v2/dlq?${name}=a`);
    assert.equal(reply.status, 400);
    assert.deepEqual(reply.json, { error: `Unknown filter: dead letters cannot be listed by ${name}` });
  }
});

test("C11: a dead letter is deleted once", async () => {
  let count = 1;
  const edge = messagingEdge({
    async deleteDeadLetters() {
      count -= 1;
      return { deleted: count === 0 ? 1 : 0, cursor: undefined };
    },
  });
  assert.equal((await edge.send("DELETE /v2/dlq/1-0")).status, 200);
  const again = await edge.send("DELETE /v2/dlq/1-0");
  assert.equal(again.status, 404);
  assert.deepEqual(again.json, { error: "dead letter 1-0 not found" });
  assert.deepEqual(edge.calls[0], ["deleteDeadLetters", { ids: ["1-0"], attributes: new Map() }, {}]);
});

test("C.dlq.delete: dead letters are deleted by filters, with a cursor if more match", async () => {
  const edge = messagingEdge({ deleteDeadLetters: async () => ({ deleted: 2, cursor: "2-0" }) });
  assert.deepEqual((await edge.send("DELETE /v2/dlq?url=https://a.test&count=2&cursor=1-0")).json, {
    deleted: 2,
    cursor: "2-0",
  });
  assert.deepEqual((await edge.send("DELETE /v2/dlq", { body: { dlqIds: ["1-0", "2-0"] } })).json, {
    deleted: 2,
    cursor: "2-0",
  });
  assert.deepEqual(edge.calls, [
    ["deleteDeadLetters", { attributes: new Map([["url", ["https://a.test"]]]) }, { countMax: 2, cursor: "1-0" }],
    ["deleteDeadLetters", { ids: ["1-0", "2-0"], attributes: new Map() }, {}],
  ]);
  assert.equal((await edge.send("DELETE /v2/dlq?host=a.test")).status, 400);
});

test("C8: dead letters are retried by ids or filters, and headers change their settings", async () => {
  const edge = messagingEdge({
    retryDeadLetters: async () => ({
      published: [
        { messageId: "msg_1", isDeduplicated: false },
        { messageId: "msg_0", isDeduplicated: true },
      ],
      cursor: undefined,
    }),
  });
  const headers = ["Upstash-Retries", "9", "Content-Type", "application/json", "Upstash-Forward-X", "1"];
  const many = await edge.send("POST /v2/dlq/retry?dlqIds=1-0,2-0&label=ignored", { headers });
  assert.equal(many.status, 201);
  assert.deepEqual(many.json, {
    responses: [
      { messageId: "msg_1", deduplicated: false },
      { messageId: "msg_0", deduplicated: true },
    ],
  });
  assert.equal((await edge.send("POST /v2/dlq/retry/3-0")).status, 201);
  assert.equal((await edge.send("POST /v2/dlq/retry?service-delay=1m&label=l")).status, 201);
  assert.deepEqual(edge.calls, [
    ["retryDeadLetters", { ids: ["1-0", "2-0"], attributes: new Map() }, {}, { retriesMax: 9 }],
    ["retryDeadLetters", { ids: ["3-0"], attributes: new Map() }, {}, {}],
    ["retryDeadLetters", { attributes: new Map([["label", ["l"]]]) }, {}, { delayMs: 60_000 }],
  ]);
});
