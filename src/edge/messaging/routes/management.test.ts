/** Messages, queues, schedules, URL groups, keys of flow control and signing: calls on the engine, and answers. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { messagingEdge } from "../../../../test/harness/messaging-edge.ts";
import type { FlowKeyView, LoggedMessage, ScheduleView } from "../../../messaging/api.ts";
import type { Message } from "../../../messaging/state/message.ts";
import type { UrlGroup } from "../../../messaging/state/url-group.ts";

const noop = async () => {};

/** The fields of an unfinished message that a look-up reads. */
const waiting = {
  id: "msg_1",
  createdAtMs: 1_000,
  notBeforeMs: 5_000,
  body: "its body",
  envelope: {
    fields: {
      url: "https://a.test/b",
      method: "PUT",
      headers: ["Content-Type", "text/plain", "X-A", "1", "X-A", "2"],
      retriesMax: 3,
      retryDelay: "1000",
      timeoutMs: 30_000,
      callback: { url: "https://c.test", given: [["forward-x-c", "3"]] },
      failureCallback: { url: "https://f.test", given: [] },
      topicName: "group",
      endpointName: "first",
      scheduleId: "s",
      queueName: "q",
      callerIp: "10.0.0.7",
      labels: ["l1", "l2"],
      flowControl: { key: "k", rate: 5, periodMs: 5_403_000 },
    },
  },
} as unknown as Message;

const waitingView = {
  messageId: "msg_1",
  url: "https://a.test/b",
  topicName: "group",
  endpointName: "first",
  method: "PUT",
  header: { "Content-Type": ["text/plain"], "X-A": ["1", "2"] },
  body: "payload",
  maxRetries: 3,
  notBefore: 5_000,
  createdAt: 1_000,
  callback: "https://c.test",
  callbackHeader: { "Content-Type": ["application/json"], "X-C": ["3"] },
  failureCallback: "https://f.test",
  failureCallbackHeader: { "Content-Type": ["application/json"] },
  scheduleId: "s",
  queueName: "q",
  callerIP: "10.0.0.7",
  callerIp: "10.0.0.7",
  label: "l1",
  labels: ["l1", "l2"],
  flowControlKey: "k",
  rate: 5,
  period: 5_403,
  timeout: 30_000,
  retryDelayExpression: "1000",
};

test("C.messages.get, C.message: a waiting message has the reason that it waits", async () => {
  const edge = messagingEdge({
    findMessage: () => waiting,
    waitsFor: () => "It waits for its turn",
    loadBody: () => Buffer.from("payload"),
  });
  const reply = await edge.send("GET /v2/messages/msg_1");
  assert.equal(reply.status, 200);
  assert.deepEqual(reply.json, { ...waitingView, waitsFor: "It waits for its turn" });
  assert.deepEqual(edge.calls[0], ["findMessage", "msg_1"]);
});

test("C.messages.get, C.labels, C.bodies: a recently finished message is returned too, without its unset fields; an unknown one is 404", async () => {
  const plain: LoggedMessage = {
    id: "msg_2",
    envelope: { url: "https://a.test", method: "POST", headers: [], retriesMax: 3 },
    body: Buffer.from([0xff, 0xfe]),
    createdAtMs: 1_000,
    notBeforeMs: 1_000,
  };
  const edge = messagingEdge({
    findMessage: () => undefined,
    findFinished: async (id) => (id === "msg_2" ? plain : undefined),
  });
  assert.deepEqual((await edge.send("GET /v2/messages/msg_2")).json, {
    messageId: "msg_2",
    url: "https://a.test",
    method: "POST",
    header: {},
    bodyBase64: "//4=",
    maxRetries: 3,
    notBefore: 1_000,
    createdAt: 1_000,
  });
  const missing = await edge.send("GET /v2/messages/msg_x");
  assert.equal(missing.status, 404);
  assert.deepEqual(missing.json, { error: "message msg_x not found" });
});

test("C-21: redacted fields are hashes, one for each header value", async () => {
  const { envelope } = waiting;
  const show = async (redact: object) => {
    const fields = { ...envelope.fields, redact };
    const edge = messagingEdge({
      findMessage: () => ({ ...waiting, envelope: { fields } }) as unknown as Message,
      waitsFor: () => "",
      loadBody: () => Buffer.from("payload"),
    });
    return (await edge.send("GET /v2/messages/msg_1")).json as Record<string, unknown>;
  };
  const payload = "REDACTED:239f59ed55e737c77147cf55ad0c1b030b6d7ee748a7426952f9b852d5a935e5";
  const one = "REDACTED:6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b";
  const two = "REDACTED:d4735e3a265e16eee03f59718b9b5d03019c07d8b6c51f90da3a666eec13ab35";
  const three = "REDACTED:4e07408562bedb8b60ce05c1decfe3ad16b72230967de01f640b7e4729b49fce";

  const body = await show({ body: true });
  assert.equal(body["body"], payload);
  assert.deepEqual(body["header"], waitingView.header);

  const named = await show({ headers: ["x-a"] });
  assert.equal(named["body"], "payload");
  assert.deepEqual(named["header"], { "Content-Type": ["text/plain"], "X-A": [one, two] });

  const all = await show({ headers: true });
  assert.deepEqual(Object.keys(all["header"] as object), ["Content-Type", "X-A"]);
  assert.deepEqual((all["callbackHeader"] as Record<string, unknown>)["X-C"], [three]);
});

test("cancels a message by id, or answers 404", async () => {
  const edge = messagingEdge({ cancel: async (id) => id === "msg_1" });
  assert.deepEqual((await edge.send("DELETE /v2/messages/msg_1")).json, { cancelled: 1 });
  const missing = await edge.send("DELETE /v2/messages/msg_2");
  assert.equal(missing.status, 404);
  assert.deepEqual(missing.json, { error: "message msg_2 not found" });
});

test("cancels messages by filters of the query or the body", async () => {
  const edge = messagingEdge({ cancelMatching: async () => 7 });
  assert.deepEqual((await edge.send("DELETE /v2/messages?label=a,b&count=100")).json, { cancelled: 7 });
  assert.deepEqual((await edge.send("DELETE /v2/messages", { body: { messageIds: ["msg_1"] } })).json, {
    cancelled: 7,
  });
  assert.deepEqual((await edge.send("DELETE /v2/messages?count=9999")).json, { cancelled: 7 });
  assert.deepEqual((await edge.send("DELETE /v2/messages")).json, { cancelled: 7 });
  assert.deepEqual(edge.calls, [
    ["cancelMatching", { attributes: new Map([["label", ["a", "b"]]]) }],
    ["cancelMatching", { ids: ["msg_1"], attributes: new Map() }],
    ["cancelMatching", { attributes: new Map() }],
    ["cancelMatching", { attributes: new Map() }],
  ]);
  const unknown = await edge.send("DELETE /v2/messages?labeel=a");
  assert.equal(unknown.status, 400);
  assert.deepEqual(unknown.json, { error: "Unknown filter: labeel" });
});

test("creates and changes queues; missing and null fields keep their values", async () => {
  const edge = messagingEdge({ putQueue: noop, deleteQueue: noop });
  const send = async (line: string, body?: unknown) => {
    const reply = await edge.send(line, { body });
    assert.equal(reply.status, 200, line);
    assert.deepEqual(reply.json, {});
  };
  await send("POST /v2/queues", { queueName: "q", parallelism: 2, paused: true });
  await send("POST /v2/queues", { queueName: "q", parallelism: null, paused: null });
  await send("POST /v2/queues/q/pause");
  await send("POST /v2/queues/q/resume");
  await send("DELETE /v2/queues/q");
  assert.deepEqual(edge.calls, [
    ["putQueue", "q", { parallelism: 2, isPaused: true }],
    ["putQueue", "q", {}],
    ["putQueue", "q", { isPaused: true }],
    ["putQueue", "q", { isPaused: false }],
    ["deleteQueue", "q"],
  ]);
});

test("rejects an invalid queue and names the field", async () => {
  const edge = messagingEdge();
  for (const [line, body, error] of [
    ["POST /v2/queues", "", "Invalid body: send a JSON object with queueName, parallelism and paused"],
    ["POST /v2/queues", "[]", "Invalid body: send a JSON object with queueName, parallelism and paused"],
    ["POST /v2/queues", "{}", "queueName is missing"],
    ["POST /v2/queues", { queueName: 5 }, "Invalid value for queueName: it must be a string"],
    [
      "POST /v2/queues",
      { queueName: "q", parallelism: 0 },
      "Invalid value for parallelism: it must be a whole number, 1 or more",
    ],
    [
      "POST /v2/queues",
      { queueName: "q", parallelism: "2" },
      "Invalid value for parallelism: it must be a whole number, 1 or more",
    ],
    ["POST /v2/queues", { queueName: "q", paused: 1 }, "Invalid value for paused: it must be true or false"],
    [
      "POST /v2/queues/a%2Fb/pause",
      "",
      'Invalid value for queueName: "a/b": must be 1 to 256 letters, digits, hyphens, underscores or periods, and not . or ..',
    ],
  ] as const) {
    const reply = await edge.send(line, { body });
    assert.equal(reply.status, 400, error);
    assert.deepEqual(reply.json, { error });
  }
});

test("C.queues, C.queues.record: queues have their lag", async () => {
  const queue = { name: "q", parallelism: 2, isPaused: true, createdAtMs: 1, updatedAtMs: 2, lag: 3 };
  const view = { createdAt: 1, updatedAt: 2, name: "q", parallelism: 2, lag: 3, paused: true };
  const edge = messagingEdge({ queues: [queue], queue: (name) => (name === "q" ? queue : undefined) });
  assert.deepEqual((await edge.send("GET /v2/queues")).json, [view]);
  assert.deepEqual((await edge.send("GET /v2/queues/q")).json, view);
  const missing = await edge.send("GET /v2/queues/other");
  assert.equal(missing.status, 404);
  assert.deepEqual(missing.json, { error: "queue other not found" });
});

test("C1: a schedule has the headers, destination and body of its request", async () => {
  const edge = messagingEdge({ putSchedule: async ({ id }) => id ?? "scd_1", group: () => undefined });
  const reply = await edge.send("POST /v2/schedules/https://a.test/b?x=1&service-retries=1", {
    headers: [
      "Upstash-Cron",
      " 0 9 * * * ",
      "Upstash-Schedule-Id",
      "s-1",
      "Upstash-Delay",
      "5s",
      "Upstash-Queue-Name",
      "q",
    ],
    body: "payload",
  });
  assert.equal(reply.status, 200);
  assert.deepEqual(reply.json, { scheduleId: "s-1" });
  assert.deepEqual(edge.calls, [
    [
      "putSchedule",
      {
        id: "s-1",
        cron: "0 9 * * *",
        destination: "https://a.test/b?x=1",
        options: { method: "POST", headers: [], retriesMax: 1, delayMs: 5_000, queueName: "q" },
        body: Buffer.from("payload"),
        callerIp: "10.0.0.7",
      },
    ],
  ]);
  const own = await edge.send("POST /v2/schedules/https://a.test", { headers: ["Service-Cron", "@daily"] });
  assert.deepEqual(own.json, { scheduleId: "scd_1" });
});

test("C1.refused: rejects a missing cron, an invalid id, and an invalid or unknown destination", async () => {
  const edge = messagingEdge({ group: () => undefined });
  for (const [line, headers, error] of [
    ["POST /v2/schedules/https://a.test", [], /^Cron is missing/],
    ["POST /v2/schedules/https://a.test", ["Upstash-Cron", "often"], /^Invalid value for Cron: "often"/],
    [
      "POST /v2/schedules/https://a.test",
      ["Upstash-Cron", "@daily", "Upstash-Schedule-Id", "a b"],
      /^Invalid value for Schedule-Id: "a b"/,
    ],
    ["POST /v2/schedules/no-group", ["Upstash-Cron", "@daily"], /^Invalid destination: there is no URL group no-group/],
    ["POST /v2/schedules/", ["Upstash-Cron", "@daily"], /^destination is missing/],
  ] as const) {
    const reply = await edge.send(line, { headers });
    assert.equal(reply.status, 400, line);
    assert.match((reply.json as { error: string }).error, error);
  }
});

test("C.schedules.pause: PATCH and POST pause and resume schedules, but a URL with the same ending is a destination", async () => {
  const edge = messagingEdge({ pauseSchedule: async (id) => id === "s" });
  for (const line of [
    "PATCH /v2/schedules/s/pause",
    "POST /v2/schedules/s/pause",
    "PATCH /v2/schedules/s/resume",
    "POST /v2/schedules/s/resume",
  ]) {
    assert.equal((await edge.send(line)).status, 200, line);
  }
  assert.deepEqual(edge.calls, [
    ["pauseSchedule", "s", true],
    ["pauseSchedule", "s", true],
    ["pauseSchedule", "s", false],
    ["pauseSchedule", "s", false],
  ]);
  assert.equal((await edge.send("PATCH /v2/schedules/none/pause")).status, 404);
  for (const path of ["https://a.test/pause", "https:%2F%2Fa.test/pause"]) {
    const destinations: string[] = [];
    const creating = messagingEdge({
      async putSchedule({ destination }) {
        destinations.push(destination);
        return "scd_1";
      },
    });
    const reply = await creating.send(`POST /v2/schedules/${path}`, { headers: ["Upstash-Cron", "@daily"] });
    assert.equal(reply.status, 200, path);
    assert.deepEqual(destinations, ["https://a.test/pause"]);
  }
});

const schedule: ScheduleView = {
  id: "s",
  cron: "0 9 * * *",
  destination: "https://a.test",
  options: {
    method: "PUT",
    headers: ["Content-Type", "application/json", "Bypass-Tunnel-Reminder", "true", "Test-Header", "v"],
    retriesMax: 2,
    delayMs: 90_000,
    queueName: "q",
    labels: ["l"],
  },
  callerIp: "10.0.0.7",
  createdAtMs: 1_000,
  isPaused: false,
  lastFireMs: 2_000,
  nextFireMs: 3_000,
  lastMessages: [],
  lastStates: [["msg_1", "SUCCESS"]],
  error: "",
  body: Buffer.from("{}"),
};

test("C.schedules, C.schedules.get, C.schedules.record: schedules have canonical header names, the delay in seconds, and the results of the last firing", async () => {
  const edge = messagingEdge({ schedules: [schedule], schedule: (id) => (id === "s" ? schedule : undefined) });
  const view = {
    scheduleId: "s",
    cron: "0 9 * * *",
    createdAt: 1_000,
    destination: "https://a.test",
    method: "PUT",
    header: { "Content-Type": ["application/json"], "Bypass-Tunnel-Reminder": ["true"], "Test-Header": ["v"] },
    body: "{}",
    retries: 2,
    delay: 90,
    callerIP: "10.0.0.7",
    callerIp: "10.0.0.7",
    isPaused: false,
    queueName: "q",
    label: "l",
    labels: ["l"],
    lastScheduleTime: 2_000,
    nextScheduleTime: 3_000,
    lastScheduleStates: { msg_1: "SUCCESS" },
  };
  assert.deepEqual((await edge.send("GET /v2/schedules/s")).json, view);
  assert.deepEqual((await edge.send("GET /v2/schedules")).json, [view]);
  assert.equal((await edge.send("GET /v2/schedules/other")).status, 404);

  const fresh = { ...schedule, body: Buffer.alloc(0), lastFireMs: 0, nextFireMs: 0, lastStates: [], error: "why" };
  const bare = messagingEdge({ schedule: () => fresh });
  const shown = (await bare.send("GET /v2/schedules/s")).json as object;
  for (const name of ["body", "lastScheduleTime", "nextScheduleTime", "lastScheduleStates"]) {
    assert.equal(name in shown, false, name);
  }
  assert.equal((shown as { error: string }).error, "why");
});

test("C.schedules.delete: deletes a schedule, or answers 404", async () => {
  const edge = messagingEdge({ deleteSchedule: async (id) => id === "s" });
  assert.equal((await edge.send("DELETE /v2/schedules/s")).status, 200);
  const missing = await edge.send("DELETE /v2/schedules/other");
  assert.equal(missing.status, 404);
  assert.deepEqual(missing.json, { error: "schedule other not found" });
});

test("C2: endpoints are added and removed by url or name", async () => {
  const edge = messagingEdge({ addEndpoints: noop, removeEndpoints: noop, deleteGroup: noop });
  const endpoints = [
    { url: "https://a.test", name: "a" },
    { url: "http://b.test", name: null },
  ];
  assert.equal((await edge.send("POST /v2/topics/g/endpoints", { body: { endpoints } })).status, 200);
  assert.equal(
    (
      await edge.send("DELETE /v2/topics/g/endpoints", {
        body: { endpoints: [{ name: "a" }, { url: "http://b.test" }] },
      })
    ).status,
    200,
  );
  assert.equal((await edge.send("DELETE /v2/topics/g")).status, 200);
  assert.deepEqual(edge.calls, [
    ["addEndpoints", "g", [{ url: "https://a.test", name: "a" }, { url: "http://b.test" }]],
    ["removeEndpoints", "g", [{ name: "a" }, { url: "http://b.test" }]],
    ["deleteGroup", "g"],
  ]);
});

test("C2: rejects a body without endpoints, and endpoints without an allowed URL", async () => {
  const edge = messagingEdge();
  for (const [line, body, error] of [
    [
      "POST /v2/topics/g/endpoints",
      "",
      "Invalid body: send a JSON object with a list endpoints of objects with url and name",
    ],
    ["POST /v2/topics/g/endpoints", {}, "endpoints is missing"],
    [
      "POST /v2/topics/g/endpoints",
      { endpoints: [] },
      "Invalid value for endpoints: it must be a list of one or more objects with url and name",
    ],
    [
      "POST /v2/topics/g/endpoints",
      { endpoints: ["https://a.test"] },
      "Invalid value for endpoints: it must be a list of one or more objects with url and name",
    ],
    ["POST /v2/topics/g/endpoints", { endpoints: [{ name: "a" }] }, "endpoints[0].url is missing"],
    [
      "POST /v2/topics/g/endpoints",
      { endpoints: [{ url: 5 }] },
      "Invalid value for endpoints[0].url: it must be a string",
    ],
    [
      "POST /v2/topics/g/endpoints",
      { endpoints: [{ url: "a.test" }] },
      'Invalid value for endpoints[0].url: "a.test": a URL starts with http:// or https://',
    ],
    [
      "POST /v2/topics/g/endpoints",
      { endpoints: [{ url: "http://refused.test" }] },
      "Invalid destination: The destination refused.test is refused",
    ],
    [
      "POST /v2/topics/a%20b/endpoints",
      { endpoints: [{ url: "https://a.test" }] },
      'Invalid value for urlGroupName: "a b": must be 1 to 256 letters, digits, hyphens, underscores or periods, and not . or ..',
    ],
    ["DELETE /v2/topics/g/endpoints", { endpoints: [{}] }, "endpoints[0] has neither url nor name"],
  ] as const) {
    const reply = await edge.send(line, { body });
    assert.equal(reply.status, 400, error);
    assert.deepEqual(reply.json, { error });
  }
});

test("C16: sets the default headers of a group; a missing group is 404", async () => {
  const edge = messagingEdge({ setGroupHeaders: async (name) => name === "g" });
  const headers = { "X-A": "1", "X-B": ["2", "3"], "Content-Type": "text/plain" };
  const reply = await edge.send("PATCH /v2/topics/g", { body: { headers } });
  assert.equal(reply.status, 200);
  assert.deepEqual(edge.calls, [["setGroupHeaders", "g", Object.entries(headers)]]);
  const missing = await edge.send("PATCH /v2/topics/none", { body: { headers } });
  assert.equal(missing.status, 404);
  assert.deepEqual(missing.json, { error: "URL group none not found" });
  for (const [body, error] of [
    [{}, "headers is missing"],
    [{ headers: [] }, "Invalid value for headers: it must be an object"],
    [{ headers: { "a b": "1" } }, 'In headers: Invalid header name: "a b"'],
    [{ headers: { a: 1 } }, "Invalid value for headers.a: it must be a string or a list of strings"],
    [
      { headers: { a: "1\n" } },
      "In headers: Invalid value for the header a: control characters and characters outside Latin-1 are not allowed",
    ],
    [{ headers: { host: "a.test" } }, "Invalid value for headers: Host is set by the delivery itself"],
  ] as const) {
    const refused = await edge.send("PATCH /v2/topics/g", { body });
    assert.equal(refused.status, 400, error);
    assert.deepEqual(refused.json, { error });
  }
});

test("C.topics, C.topics.get: URL groups have endpoints and headers", async () => {
  const group: UrlGroup = {
    name: "g",
    endpoints: [{ url: "https://a.test", name: "a" }, { url: "https://b.test" }],
    createdAtMs: 1,
    updatedAtMs: 2,
  };
  const withHeaders: UrlGroup = {
    ...group,
    headers: [
      ["x-a", "1"],
      ["X-B", ["2", "3"]],
    ],
  };
  const edge = messagingEdge({ groups: [group, withHeaders], group: (name) => (name === "g" ? group : undefined) });
  const view = { name: "g", endpoints: group.endpoints, createdAt: 1, updatedAt: 2 };
  assert.deepEqual((await edge.send("GET /v2/topics")).json, [
    view,
    { ...view, headers: { "x-a": "1", "X-B": ["2", "3"] } },
  ]);
  assert.deepEqual((await edge.send("GET /v2/topics/g")).json, view);
  assert.equal((await edge.send("GET /v2/topics/none")).status, 404);
});

const key: FlowKeyView = {
  key: "k",
  rate: 5,
  periodMs: 60_000,
  isPaused: true,
  isPinnedParallelism: false,
  isPinnedRate: true,
  windowStartMs: 1_700_000_000_999,
  windowCount: 2,
  waitingCount: 3,
  inFlightCount: 1,
};
const keyView = {
  flowControlKey: "k",
  waitListSize: 3,
  waitlistSize: 3,
  parallelismMax: 0,
  parallelismCount: 1,
  rateMax: 5,
  rateCount: 2,
  ratePeriod: 60,
  ratePeriodStart: 1_700_000_000,
  isPaused: true,
  isPinnedParallelism: false,
  isPinnedRate: true,
};

test("C7, C17, C19: flow-control keys and parallelism, with both spellings of the waitlist", async () => {
  const edge = messagingEdge({
    flowKeys: () => [key],
    flowKey: (name) => (name === "k" ? key : undefined),
    globalParallelism: { max: 10, count: 4 },
  });
  assert.deepEqual((await edge.send("GET /v2/flowControl")).json, [keyView]);
  assert.deepEqual((await edge.send("GET /v2/flowControl?search=k")).json, [keyView]);
  assert.deepEqual((await edge.send("GET /v2/flowControl/k")).json, keyView);
  assert.deepEqual((await edge.send("GET /v2/keys/rotate?flowControlKey=k")).json, {
    flowControlKey: "k",
    waitlistSize: 3,
  });
  assert.deepEqual((await edge.send("GET /v2/globalParallelism")).json, { parallelismMax: 10, parallelismCount: 4 });
  assert.deepEqual(edge.calls.slice(0, 2), [
    ["flowKeys", undefined],
    ["flowKeys", "k"],
  ]);
  assert.equal((await edge.send("GET /v2/flowControl/other")).status, 404);
  const missing = await edge.send("GET /v2/keys/rotate?flowControlKey=other");
  assert.equal(missing.status, 404);
  assert.deepEqual(missing.json, { error: "flow control key other not found" });
  const unnamed = await edge.send("GET /v2/keys/rotate");
  assert.equal(unnamed.status, 400);
  assert.deepEqual(unnamed.json, { error: "flowControlKey is missing in the query" });
});

test("C10, C12, C13, C18: a key is paused, pinned and reset", async () => {
  const edge = messagingEdge({ pauseFlowKey: noop, pinFlowKey: noop, unpinFlowKey: noop, resetFlowKey: noop });
  for (const [line, call] of [
    ["pause", ["pauseFlowKey", "k", true]],
    ["resume", ["pauseFlowKey", "k", false]],
    ["pin?parallelism=2", ["pinFlowKey", "k", { parallelism: 2 }]],
    ["pin?rate=3", ["pinFlowKey", "k", { rate: 3 }]],
    ["pin?parallelism=1&rate=3&period=60", ["pinFlowKey", "k", { parallelism: 1, rate: 3, periodMs: 60_000 }]],
    ["unpin?parallelism=true&rate=true", ["unpinFlowKey", "k", { parallelism: true, rate: true }]],
    ["unpin?rate=true", ["unpinFlowKey", "k", { parallelism: false, rate: true }]],
    ["resetRate", ["resetFlowKey", "k", false]],
    ["reset", ["resetFlowKey", "k", true]],
  ] as const) {
    edge.calls.length = 0;
    const reply = await edge.send(`POST /v2/flowControl/k/${line}`);
    assert.equal(reply.status, 200, line);
    assert.deepEqual(reply.json, {});
    assert.deepEqual(edge.calls, [call]);
  }
});

test("C12: pin rejects an invalid limit and names it", async () => {
  const edge = messagingEdge();
  for (const [query, error] of [
    ["", /^parallelism and rate are missing: give one of them$/],
    ["period=5", /^rate is missing: period is for a rate$/],
    ["rate=0", /rate/],
    ["rate=", /rate/],
    ["parallelism=-1", /parallelism/],
    ["parallelism=1.5", /parallelism/],
    ["rate=1&period=0", /period/],
    ["rate=1&period=604801", /period/],
    ["rate=1&period=x", /period/],
  ] as const) {
    const reply = await edge.send(`POST /v2/flowControl/k/pin?${query}`);
    assert.equal(reply.status, 400, query);
    assert.match((reply.json as { error: string }).error, error);
  }
  assert.equal((await edge.send("POST /v2/flowControl/k/unpin?rate=maybe")).status, 400);
  assert.equal((await edge.send("POST /v2/flowControl/a%20b/pause")).status, 400);
});

test("C.signing-keys.get, C.signing-keys.rotate: GET returns the signing keys, POST rotates them", async () => {
  const edge = messagingEdge({
    signingKeys: { current: "sig_1", next: "sig_2" },
    rotateSigningKeys: async () => ({ current: "sig_2", next: "sig_3" }),
  });
  assert.deepEqual((await edge.send("GET /v2/keys")).json, { current: "sig_1", next: "sig_2" });
  assert.deepEqual((await edge.send("POST /v2/keys/rotate")).json, { current: "sig_2", next: "sig_3" });
});

test("a list with count, cursor or prefix is a page by name; a count that no page has is refused", async () => {
  const edge = messagingEdge({
    groupPage: () => [],
    queuePage: () => [],
    schedulePage: () => [],
    flowKeyPage: () => [],
  });
  for (const list of ["topics", "queues", "schedules", "flowControl"]) {
    const reply = await edge.send(`GET /v2/${list}?count=3&cursor=a%20b&prefix=a`);
    assert.deepEqual([reply.status, reply.json], [200, []], list);
    assert.equal((await edge.send(`GET /v2/${list}?prefix=a`)).status, 200, list);
    for (const [count, text] of [
      ["0", "0: it must be from 1 to 1000"],
      ["1001", "1001: it must be from 1 to 1000"],
      ["x", '"x": it must be a whole number'],
    ]) {
      const { status, json } = await edge.send(`GET /v2/${list}?count=${count}`);
      assert.deepEqual([status, json], [400, { error: `Invalid value for count: ${text}` }], list);
    }
  }
  const page = { count: 3, cursor: "a b", prefix: "a" };
  const byPrefix = { count: 100, cursor: undefined, prefix: "a" };
  assert.deepEqual(
    edge.calls,
    ["groupPage", "queuePage", "schedulePage", "flowKeyPage"].flatMap((name) => {
      const search = name === "flowKeyPage" ? { search: undefined } : {};
      return [
        [name, { ...page, ...search }],
        [name, { ...byPrefix, ...search }],
      ];
    }),
  );
});
