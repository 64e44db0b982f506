/** Publish, enqueue and batch: the calls on the engine and the answers (C15, C.enqueue, C.batch). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { EDGE_TOKEN, messagingEdge } from "../../../../test/harness/messaging-edge.ts";
import { defaultLimits } from "../../../messaging/limits.ts";
import type { PublishOutcome, PublishRequest } from "../../../messaging/options/publish-request.ts";

const one: PublishOutcome = {
  kind: "url",
  published: { messageId: "msg_1", url: "https://a.test", isDeduplicated: false },
};
const duplicate: PublishOutcome = {
  kind: "url",
  published: { messageId: "msg_0", url: "https://a.test", isDeduplicated: true },
};
const group: PublishOutcome = {
  kind: "group",
  published: [
    { messageId: "msg_2", url: "https://a.test", isDeduplicated: false },
    { messageId: "msg_3", url: "https://b.test", isDeduplicated: true },
  ],
};

/** One outcome for each request; the first one replaces missing ones. */
function publishing(...outcomes: PublishOutcome[]) {
  return messagingEdge({
    accept: (requests) => ({
      outcomes: requests.map((_, index) => outcomes[index] ?? outcomes[0] ?? one),
      safe: undefined,
    }),
    group: () => undefined,
  });
}

function requestsOf({ calls }: { calls: unknown[][] }): readonly PublishRequest[] {
  const call = calls.find(([name]) => name === "accept");
  return (call?.[1] ?? []) as readonly PublishRequest[];
}

test("C15.answer: body, headers and address of the publisher are passed to the engine", async () => {
  const edge = publishing(one);
  const reply = await edge.send("POST /v2/publish/https://a.test/b?x=1&service-delay=5s&service-retries=9", {
    headers: ["Content-Type", "text/plain", "Upstash-Retries", "1", "Upstash-Forward-X-Team", "t"],
    body: Buffer.from([0, 255, 10]),
  });
  assert.equal(reply.status, 200);
  assert.equal(reply.text, '{"messageId":"msg_1","url":"https://a.test"}');
  assert.deepEqual(requestsOf(edge), [
    {
      destination: "https://a.test/b?x=1",
      body: Buffer.from([0, 255, 10]),
      options: {
        method: "POST",
        headers: ["Content-Type", "text/plain", "X-Team", "t"],
        retriesMax: 1,
        delayMs: 5_000,
      },
      callerIp: "10.0.0.7",
    },
  ]);
});

test("C15, C.options.query: every option may be in the query under its lower-case header name", async () => {
  const edge = publishing(one);
  const query =
    "upstash-method=PUT&service-timeout=1m&service-callback=https%3A%2F%2Fc.test&service-callback-method=PUT&service-forward-x=y";
  await edge.send(`POST /v2/publish/https://a.test?${query}`);
  assert.deepEqual(requestsOf(edge)[0]?.options, {
    method: "PUT",
    headers: ["X", "y"],
    retriesMax: 3,
    timeoutMs: 60_000,
    callback: { url: "https://c.test", given: [["method", "PUT"]] },
  });
});

test("C15.answer: a duplicate is 202 with the id of the first", async () => {
  const reply = await publishing(duplicate).send("POST /v2/publish/https://a.test");
  assert.equal(reply.status, 202);
  assert.deepEqual(reply.json, { messageId: "msg_0", url: "https://a.test", deduplicated: true });
});

test("C15.group: a group answers with a bare list, one for each endpoint", async () => {
  const reply = await publishing(group).send("POST /v2/publish/my-group");
  assert.equal(reply.status, 200);
  assert.deepEqual(reply.json, [
    { messageId: "msg_2", url: "https://a.test" },
    { messageId: "msg_3", url: "https://b.test", deduplicated: true },
  ]);
});

test("C15: nothing is passed to the engine if a header or the destination is invalid", async () => {
  const edge = publishing(one);
  for (const [line, header, status, text] of [
    ["POST /v2/publish/https://a.test", "Upstash-Retries: x", 400, /^Invalid value for Retries/],
    ["POST /v2/publish/https://a.test", "Upstash-Retries: 1000000", 412, /^Retries "1000000" is above/],
    ["POST /v2/publish/https://a.test", "Upstash-Callback-Delay: 1s", 400, /^Invalid value for Callback-Delay: "1s"/],
    ["POST /v2/publish/ftp://a.test", "X: y", 400, /^Invalid destination: "ftp:\/\/a.test"/],
    ["POST /v2/publish/", "X: y", 400, /^destination is missing/],
    ["POST /v2/publish", "X: y", 400, /^destination is missing/],
    [
      "POST /v2/publish/http://refused.test",
      "X: y",
      400,
      /^Invalid destination: The destination refused.test is refused$/,
    ],
    ["POST /v2/publish/https://a.test?service-delay=%zz", "X: y", 400, /malformed percent-encoding/],
    ["POST /v2/enqueue/a%20b/https://a.test", "X: y", 400, /^Invalid value for queueName: "a b": must be/],
    [
      "POST /v2/publish/https://a.test",
      "Upstash-Workflow-RunId: wfr 1",
      400,
      /^Invalid value for Workflow-RunId: it must be/,
    ],
  ] as const) {
    const before = edge.calls.length;
    const reply = await edge.send(line, { headers: header.split(": ") });
    assert.equal(reply.status, status, `${line} ${header}`);
    assert.match((reply.json as { error: string }).error, text);
    assert.equal(edge.calls.length, before, line);
  }
});

test("C.enqueue: the queue of the path takes precedence over a header", async () => {
  const edge = publishing(one);
  await edge.send("POST /v2/enqueue/q.1/https://a.test/?y=2", { headers: ["Upstash-Queue-Name", "other"] });
  assert.equal(requestsOf(edge)[0]?.options.queueName, "q.1");
  assert.equal(requestsOf(edge)[0]?.destination, "https://a.test/?y=2");
});

test("batch: each element is a separate message, in order", async () => {
  const edge = publishing(one, group, duplicate);
  const reply = await edge.send("POST /v2/batch", {
    headers: ["Content-Type", "application/json"],
    body: [
      {
        destination: "https://a.test/?x=1",
        headers: { "content-type": "text/plain", "upstash-retries": "1", "upstash-forward-x": ["a", "b"] },
        body: "é",
      },
      { destination: "my-group", queue: "q" },
      { destination: "https://c.test", headers: null, body: null, queue: null, unknown: 1 },
    ],
  });
  assert.equal(reply.status, 200);
  assert.deepEqual(reply.json, [
    { messageId: "msg_1", url: "https://a.test" },
    [
      { messageId: "msg_2", url: "https://a.test" },
      { messageId: "msg_3", url: "https://b.test", deduplicated: true },
    ],
    { messageId: "msg_0", url: "https://a.test", deduplicated: true },
  ]);
  const plain = { method: "POST", headers: [], retriesMax: 3 };
  assert.deepEqual(requestsOf(edge), [
    {
      destination: "https://a.test/?x=1",
      body: Buffer.from("é"),
      options: { method: "POST", headers: ["Content-Type", "text/plain", "X", "a", "X", "b"], retriesMax: 1 },
      callerIp: "10.0.0.7",
    },
    { destination: "my-group", body: Buffer.alloc(0), options: { ...plain, queueName: "q" }, callerIp: "10.0.0.7" },
    { destination: "https://c.test", body: Buffer.alloc(0), options: plain, callerIp: "10.0.0.7" },
  ]);
});

test("C.batch.defaults: headers of the request are defaults for each element", async () => {
  const edge = publishing(one);
  await edge.send("POST /v2/batch", {
    headers: ["Upstash-Retries", "5", "Upstash-Forward-A", "request"],
    body: [
      { destination: "https://a.test", headers: { "Service-Retries": "1" } },
      { destination: "https://a.test", headers: { "upstash-forward-a": "own" } },
    ],
  });
  assert.deepEqual(
    requestsOf(edge).map(({ options }) => options),
    [
      { method: "POST", headers: ["A", "request"], retriesMax: 1 },
      { method: "POST", headers: ["A", "own"], retriesMax: 5 },
    ],
  );
});

test("C.batch: the answer to one element is a list, to no elements an empty list", async () => {
  const edge = publishing(one);
  assert.deepEqual((await edge.send("POST /v2/batch", { body: [{ destination: "https://a.test" }] })).json, [
    { messageId: "msg_1", url: "https://a.test" },
  ]);
  assert.deepEqual((await edge.send("POST /v2/batch", { body: [] })).json, []);
});

test("C.batch.whole: one invalid element refuses the batch; the error has its number and field", async () => {
  const edge = publishing(one);
  const good = { destination: "https://a.test" };
  const rows: [unknown, number, string][] = [
    ["{", 400, "Invalid body: send a JSON array of objects with destination, headers, body and queue"],
    [{}, 400, "Invalid body: send a JSON array of objects with destination, headers, body and queue"],
    [[good, 5], 400, "Message 1 of the batch: it must be an object"],
    [[good, {}], 400, "Message 1 of the batch: destination is missing: give a URL or the name of a URL group"],
    [[good, { destination: 5 }], 400, "Message 1 of the batch: Invalid value for destination: it must be a string"],
    [[{ ...good, body: {} }], 400, "Message 0 of the batch: Invalid value for body: it must be a string"],
    [[{ ...good, headers: [] }], 400, "Message 0 of the batch: Invalid value for headers: it must be an object"],
    [
      [{ ...good, headers: { "upstash-retries": 3 } }],
      400,
      "Message 0 of the batch: Invalid value for headers.upstash-retries: it must be a string or a list of strings",
    ],
    [
      [good, { ...good, headers: { "upstash-retries": "1000000" } }],
      412,
      'Message 1 of the batch: Retries "1000000" is above the limit of 1000 retries',
    ],
    [
      [{ ...good, headers: { "upstash-forward-x": "a\r\nb: c" } }],
      400,
      "Message 0 of the batch: Invalid value for the header X: control characters and characters outside Latin-1 are not allowed",
    ],
    [
      [{ ...good, queue: "a b" }],
      400,
      'Message 0 of the batch: Invalid value for queue: "a b": must be 1 to 256 letters, digits, hyphens, underscores or periods, and not . or ..',
    ],
  ];
  for (const [body, status, error] of rows) {
    const reply = await edge.send("POST /v2/batch", { body });
    assert.equal(reply.status, status, error);
    assert.deepEqual(reply.json, { error });
  }
  assert.deepEqual(edge.calls, []);
});

// C.limits.batch, C.limits.batch-answer
test("C-22: the length of a batch and the size of its answer are bounded before anything is stored", async () => {
  const endpoints = Array.from({ length: 1_000 }, (_, index) => ({
    url: `https://a.test/${index}${"x".repeat(1_000)}`,
  }));
  const edge = messagingEdge(
    { group: (name) => ({ name, endpoints, createdAtMs: 0, updatedAtMs: 0 }) },
    { limits: { ...defaultLimits, batchCountMax: 100 } },
  );
  const long = await edge.send("POST /v2/batch", {
    body: Array.from({ length: 101 }, () => ({ destination: "https://a.test" })),
  });
  assert.equal(long.status, 400);
  assert.deepEqual(long.json, { error: "The batch has 101 messages; the limit is 100" });

  const wide = await edge.send("POST /v2/batch", { body: Array.from({ length: 60 }, () => ({ destination: "g" })) });
  assert.equal(wide.status, 400);
  assert.deepEqual(wide.json, {
    error: "The answer to the batch would have more than 104857600 bytes: send it in several parts",
  });
  assert.equal(edge.calls.filter(([name]) => name === "accept").length, 0);
});

/** The same head, three times on one connection. */
const repeated = {
  line: "POST /v2/publish/https://a.test?x=1",
  headers: ["Content-Type", "text/plain", "Upstash-Forward-X-Team", "t", "Upstash-Delay", "5s"],
};

test("a head that repeats has the same options with each body, and one envelope", async () => {
  const edge = publishing(one);
  const memo = { learnt: undefined };
  for (const body of ["a", "bc", ""]) {
    const reply = await edge.send(repeated.line, { headers: repeated.headers, body, memo });
    assert.deepEqual([reply.status, reply.text], [200, '{"messageId":"msg_1","url":"https://a.test"}']);
  }
  const requests = edge.calls.map(([, accepted]) => (accepted as PublishRequest[])[0]);
  const options = { method: "POST", headers: ["Content-Type", "text/plain", "X-Team", "t"], retriesMax: 3 };
  for (const [index, body] of ["a", "bc", ""].entries()) {
    const { shared, ...request } = requests[index] as PublishRequest;
    assert.deepEqual(request, {
      destination: "https://a.test?x=1",
      body: Buffer.from(body),
      options: { ...options, delayMs: 5_000 },
      callerIp: "10.0.0.7",
    });
    assert.ok(shared !== undefined);
    assert.equal(shared, requests[0]?.shared);
  }
});

test("a head that repeats has the address and the trace of each request", async () => {
  const edge = publishing(one);
  const memo = { learnt: undefined };
  const traces = [
    undefined,
    { parent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01" },
    { parent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00000000000000aa-01" },
    undefined,
  ];
  for (const [index, trace] of traces.entries()) {
    const remoteAddress = index < 3 ? "10.0.0.1" : "10.0.0.2";
    const given = { headers: repeated.headers, memo, remoteAddress, ...(trace !== undefined && { trace }) };
    await edge.send(repeated.line, given);
  }
  const requests = edge.calls.map(([, accepted]) => (accepted as PublishRequest[])[0] as PublishRequest);
  assert.deepEqual(
    requests.map(({ callerIp, options }) => [callerIp, options.trace]),
    [
      ["10.0.0.1", undefined],
      ["10.0.0.1", traces[1]],
      ["10.0.0.1", traces[2]],
      ["10.0.0.2", undefined],
    ],
  );
  assert.notEqual(requests[3]?.shared, requests[0]?.shared);
});

test("C-12: the Authorization of a head that repeats is forwarded only while it is not ours", async () => {
  const edge = publishing(one);
  const memo = { learnt: undefined };
  const line = `POST /v2/publish/https://a.test?qstash_token=${EDGE_TOKEN}`;
  const given = { headers: ["Authorization", "Bearer other", "Upstash-Header-Forward", "true"], token: null, memo };
  const forwarded = async (): Promise<readonly string[] | undefined> => {
    edge.calls.length = 0;
    await edge.send(line, given);
    return requestsOf(edge)[0]?.options.headers;
  };
  for (let times = 0; times < 2; times += 1) assert.deepEqual(await forwarded(), ["Authorization", "Bearer other"]);
  edge.tokens.add("other", { tenant: "main", access: "standard" });
  for (let times = 0; times < 2; times += 1) assert.deepEqual(await forwarded(), []);
});

test("a head that repeats is refused once its token is removed or may only read", async () => {
  const edge = publishing(one);
  const memo = { learnt: undefined };
  const send = async (): Promise<number> => (await edge.send(repeated.line, { memo })).status;
  assert.deepEqual([await send(), await send()], [200, 200]);
  edge.tokens.remove(EDGE_TOKEN);
  assert.deepEqual([await send(), await send()], [401, 401]);
  edge.tokens.add(EDGE_TOKEN, { tenant: "main", access: "read-only" });
  assert.equal(await send(), 403);
});

test("an answer leaves when its messages are on the disk", async () => {
  const { promise: safe, resolve } = Promise.withResolvers<void>();
  const edge = messagingEdge({ accept: () => ({ outcomes: [one], safe }) });
  let status: number | undefined;
  const sent = edge.send("POST /v2/publish/https://a.test").then((reply) => {
    status = reply.status;
  });
  await new Promise((done) => setImmediate(done));
  assert.equal(status, undefined);
  resolve();
  await sent;
  assert.equal(status, 200);
});

test("acceptance waits only under backpressure", async () => {
  let release = () => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  let waiting: Promise<void> | undefined = gate;
  const edge = messagingEdge(
    { accept: () => ({ outcomes: [one], safe: undefined }) },
    { acceptBackpressure: () => waiting },
  );
  const held = edge.send("POST /v2/publish/https://a.test");
  await Promise.resolve();
  assert.deepEqual(edge.calls, []);
  release();
  assert.equal((await held).status, 200);

  waiting = undefined;
  const reply = edge.send("POST /v2/publish/https://a.test");
  assert.equal(edge.calls.length, 2, "at once");
  assert.equal((await reply).status, 200);
});
