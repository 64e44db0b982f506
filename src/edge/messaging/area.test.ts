/** Rights of tokens on messaging over HTTP, and properties of every answer. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { EDGE_READ_ONLY_TOKEN, EDGE_TOKEN, edgeRequest, messagingEdge } from "../../../test/harness/messaging-edge.ts";
import { MessagingFailure, type MessagingFailureKind } from "../../messaging/failure.ts";
import { defaultLimits } from "../../messaging/limits.ts";
import type { PublishOutcome } from "../../messaging/options/publish-request.ts";
import { TokenTable } from "../auth.ts";
import { RateLimiter } from "../limits/rate-limit.ts";
import type { MessagingRoute } from "./route.ts";
import { messagingRoutes } from "./routes/table.ts";

const published: PublishOutcome = {
  kind: "url",
  published: { messageId: "msg_1", url: "https://a.test", isDeduplicated: false },
};
const accept = () => ({ outcomes: [published], safe: undefined });

/** A request of the row. */
function lineOf({ method, template }: MessagingRoute): string {
  const path = template.replace("*", "https://a.test").replace(/:\w+/g, "name");
  return `${method === "ANY" ? "PUT" : method} ${path}`;
}

test("C.authentication: a request without a valid token is 401, on every path but that of webhooks", async () => {
  const edge = messagingEdge();
  const closed = messagingRoutes.filter(({ isOpen }) => isOpen !== true);
  for (const line of [...closed.map(lineOf), "GET /nowhere", "GET /"]) {
    for (const token of [null, "wrong", ""]) {
      const reply = await edge.send(line, { token });
      assert.equal(reply.status, 401, line);
      assert.deepEqual(reply.json, { error: "Missing or invalid token: send it as Authorization: Bearer <token>" });
      assert.equal(reply.headers["content-type"], "application/json");
    }
  }
  assert.deepEqual(edge.calls, []);
});

test("C15: a publish accepts the token in the query, in each spelling, and does not forward it", async () => {
  for (const name of ["service_token", "qstash_token", "upstash_token"]) {
    const edge = messagingEdge({ accept });
    const reply = await edge.send(`POST /v2/publish/https://a.test/b?x=1&${name}=${EDGE_TOKEN}&y=2`, { token: null });
    assert.equal(reply.status, 200, name);
    const [[, [request]]] = edge.calls as [[string, [{ destination: string }]]];
    assert.equal(request.destination, "https://a.test/b?x=1&y=2");
  }
});

test("C-12: does not forward a token in the query, even if the header is valid or the query token is not accepted", async () => {
  const edge = messagingEdge({ accept });
  for (const path of ["publish", "enqueue/q"]) {
    assert.equal((await edge.send(`POST /v2/${path}/https://a.test?qstash_token=${EDGE_TOKEN}`)).status, 200);
  }
  for (const [, [request]] of edge.calls as [string, [{ destination: string }]][]) {
    assert.equal(request.destination, "https://a.test");
  }
});

test("C.query-token: only a publish accepts a token in the query, and not if that is turned off", async () => {
  const edge = messagingEdge();
  for (const line of ["POST /v2/enqueue/q/https://a.test", "GET /v2/queues", "POST /v2/batch", "GET /v2/logs"]) {
    assert.equal((await edge.send(`${line}?qstash_token=${EDGE_TOKEN}`, { token: null })).status, 401, line);
  }
  const strict = messagingEdge({}, { queryToken: false });
  const reply = await strict.send(`POST /v2/publish/https://a.test?qstash_token=${EDGE_TOKEN}`, { token: null });
  assert.equal(reply.status, 401);
});

test("C-12: never forwards the valid Authorization, but another one if the query token is valid", async () => {
  const edge = messagingEdge({ accept });
  const headers = ["Upstash-Header-Forward", "true", "X-A", "1"];
  await edge.send("POST /v2/publish/https://a.test", { headers });
  await edge.send(`POST /v2/publish/https://a.test?qstash_token=${EDGE_TOKEN}`, {
    headers,
    token: "for the destination",
  });
  const sent = (edge.calls as [string, [{ options: { headers: string[] } }]][]).map(
    ([, [{ options }]]) => options.headers,
  );
  assert.deepEqual(sent, [
    ["X-A", "1"],
    ["Authorization", "Bearer for the destination", "X-A", "1"],
  ]);
});

test("C-20: a read-only token may read, but not write nor see the signing keys", async () => {
  const edge = messagingEdge();
  const reading = messagingRoutes.filter(({ isForReadOnlyToken }) => isForReadOnlyToken).map(lineOf);
  assert.deepEqual(reading, [
    "GET /v2/messages/name",
    "GET /v2/queues",
    "GET /v2/queues/name",
    "GET /v2/schedules",
    "GET /v2/schedules/name",
    "GET /v2/topics",
    "GET /v2/topics/name",
    "GET /v2/dlq",
    "GET /v2/dlq/name",
    "GET /v2/flowControl",
    "GET /v2/flowControl/name",
    "GET /v2/globalParallelism",
    "GET /v2/keys/rotate",
    "GET /v2/logs",
    "GET /v2/events",
    "GET /v2/readiness",
    "GET /v2/workflows/runs/name",
    "GET /v2/waiters/name",
    "GET /v2/workflows/dlq",
    "GET /v2/workflows/dlq/name",
    "GET /v2/workflows/logs",
    "GET /v2/workflows/events",
    "GET /v2/workflows/messageLogs",
  ]);
  for (const route of messagingRoutes) {
    if (route.isForReadOnlyToken || route.isOpen) continue;
    const reply = await edge.send(lineOf(route), { token: EDGE_READ_ONLY_TOKEN });
    assert.equal(reply.status, 403, lineOf(route));
    assert.deepEqual(reply.json, { error: "A read-only token may only read" });
  }
  const queues = messagingEdge({ queues: [] });
  assert.equal((await queues.send("GET /v2/queues", { token: EDGE_READ_ONLY_TOKEN })).status, 200);
});

test("finds every row by its path, with the name of rule, method and template", async () => {
  const stopped = new MessagingFailure("unavailable", "stopped");
  const answers = new Proxy({}, { get: () => undefined });
  const edge = messagingEdge(answers, {
    messaging: {
      user: () => {
        throw stopped;
      },
    },
  });
  for (const route of messagingRoutes) {
    const found = await edge.send(lineOf(route));
    assert.equal(found.status, 503);
    assert.equal(found.route, `${route.rule} ${route.method} ${route.template}`);
  }
  const refused = await edge.send("GET /v2/nothing");
  assert.equal(refused.route, "C refused");
  const queues = messagingEdge({ queues: [] });
  assert.equal((await queues.send("HEAD /v2/queues")).status, 200);
});

test("an unknown path is 404, and another method of a known path 405 with its methods", async () => {
  const edge = messagingEdge();
  for (const line of [
    "GET /",
    "GET /v2",
    "GET /v2/nothing",
    "GET /v1/queues",
    "POST /v2/batch/more",
    "GET /v2/queues/a/b",
  ]) {
    const reply = await edge.send(line);
    assert.equal(reply.status, 404, line);
    assert.deepEqual(reply.json, {
      error: `There is no such path for ${line.split(" ")[0]}; paths start with /v2`,
    });
  }
  for (const [line, allow] of [
    ["GET /v2/publish/https://a.test", "POST"],
    ["PUT /v2/queues", "POST, GET"],
    ["POST /v2/logs", "GET"],
    ["PUT /v2/schedules/s/pause", "PATCH, POST"],
    ["DELETE /v2/keys/rotate", "GET, POST"],
    ["POST /v2/messages/msg_1", "GET, DELETE"],
  ] as const) {
    const reply = await edge.send(line);
    assert.equal(reply.status, 405, line);
    assert.equal(reply.headers["allow"], allow, line);
    assert.match((reply.json as { error: string }).error, /^HTTP method [A-Z]+ is not allowed here; use /);
  }
});

test("C10, C12, C13: an empty key or id in a path is 400 with its name", async () => {
  const edge = messagingEdge();
  for (const [line, name] of [
    ["POST /v2/flowControl//pause", "flowControlKey"],
    ["POST /v2/flowControl//pin?rate=1", "flowControlKey"],
    ["POST /v2/flowControl//resetRate", "flowControlKey"],
    ["POST /v2/flowControl//reset", "flowControlKey"],
    ["GET /v2/flowControl/", "flowControlKey"],
    ["GET /v2/messages/", "messageId"],
    ["DELETE /v2/dlq/", "dlqId"],
    ["GET /v2/queues/", "queueName"],
    ["POST /v2/enqueue//https://a.test", "queueName"],
    ["PATCH /v2/topics/", "urlGroupName"],
    ["GET /v2/schedules/", "scheduleId"],
  ] as const) {
    const reply = await edge.send(line);
    assert.equal(reply.status, 400, line);
    assert.deepEqual(reply.json, { error: `${name} is missing in the path` }, line);
  }
});

test("C.chat: the old chat proxy is 501 with a clear text", async () => {
  const edge = messagingEdge();
  assert.equal((await edge.send("POST /llm/v1/chat/completions", { body: {} })).status, 501);
});

test("a failure of messaging has the status of its kind", async () => {
  const statuses: [MessagingFailureKind, number][] = [
    ["bad request", 400],
    ["not found", 404],
    ["quota exceeded", 412],
    ["not implemented", 501],
    ["unavailable", 503],
  ];
  for (const [kind, status] of statuses) {
    const edge = messagingEdge({
      accept() {
        throw new MessagingFailure(kind, "Wörter – 'quoted'");
      },
    });
    const reply = await edge.send("POST /v2/publish/https://a.test");
    assert.equal(reply.status, status);
    assert.deepEqual(reply.json, { error: "Wörter – 'quoted'" });
    assert.equal(reply.route, "C15 POST /v2/publish/*");
  }
});

test("a bug is not a refusal", async () => {
  const edge = messagingEdge({
    accept() {
      throw new TypeError("a bug");
    },
  });
  await assert.rejects(edge.send("POST /v2/publish/https://a.test"), TypeError);
});

test("C.limits.rate: limits requests per second with 429 and the headers that clients read, but not publishing", async () => {
  const clock = messagingEdge().clock;
  const limiter = new RateLimiter(clock, { perSecond: 2, burst: 1 });
  const edge = messagingEdge({ accept, queues: [] }, { limiter, clock });
  assert.equal((await edge.send("GET /v2/queues")).status, 200);

  const reply = await edge.send("GET /v2/queues");
  assert.equal(reply.status, 429);
  assert.deepEqual(reply.json, { error: "Too many requests: at most 2 per second" });
  assert.equal(reply.headers["retry-after"], "1");
  assert.equal(reply.headers["burst-ratelimit-limit"], "2");
  assert.equal(reply.headers["burst-ratelimit-remaining"], "0");
  assert.equal(reply.headers["burst-ratelimit-reset"], String(Math.ceil((clock.nowMs() + 500) / 1_000)));
  assert.equal(reply.headers["ratelimit-limit"], undefined);

  assert.equal((await edge.send("POST /v2/publish/https://a.test")).status, 200);
});

// H.cors
test("S-15: allows no pages of other origins, neither in a preflight nor in an answer", async () => {
  const edge = messagingEdge({ queues: [] });
  const preflight = await edge.send("OPTIONS /v2/queues", {
    token: null,
    headers: ["Origin", "http://page.test", "Access-Control-Request-Method", "DELETE"],
  });
  assert.equal(preflight.status, 401);
  const reply = await edge.send("GET /v2/queues", { headers: ["Origin", "http://page.test"] });
  assert.equal(reply.status, 200);
  for (const { headers } of [preflight, reply]) assert.equal(headers["access-control-allow-origin"], undefined);
});

test("H.early: refuses a large body before reading it unless token and path are valid, and counts it once", () => {
  const clock = messagingEdge().clock;
  const limiter = new RateLimiter(clock, { perSecond: 1, burst: 1 });
  const { area } = messagingEdge({}, { limiter, clock });
  assert.equal(area.refuseEarly(edgeRequest("POST /v2/publish/https://a.test", { token: null }))?.status, 401);
  assert.equal(area.refuseEarly(edgeRequest("POST /v2/publish/a", { token: EDGE_READ_ONLY_TOKEN }))?.status, 403);
  assert.equal(area.refuseEarly(edgeRequest("POST /v2/nothing"))?.status, 404);
  for (let i = 0; i < 3; i += 1) assert.equal(area.refuseEarly(edgeRequest("POST /v2/queues")), undefined);
});

test("the limit of a body depends on its kind", () => {
  const { area } = messagingEdge({}, { limits: { ...defaultLimits, bodyBytesMax: 5_000 } });
  for (const [target, bytesMax] of [
    // The engine has the limit of a message: a run may wait for this one.
    ["/v2/publish/https://a.test?x=1", 67_108_864],
    ["/v2/enqueue/q/https://a.test", 5_000],
    ["/v2/schedules/https://a.test", 5_000],
    ["/v2/batch", 67_108_864],
    ["/v2/queues", 1_048_576],
    ["/nowhere", 1_048_576],
    ["/", 1_048_576],
  ] as const) {
    assert.equal(area.bodyBytesMax(target), bytesMax, target);
  }
});

test("refuses the token of a deleted user", async () => {
  const edge = messagingEdge({}, { messaging: { user: () => undefined } });
  assert.equal((await edge.send("GET /v2/queues")).status, 401);
});

test("H.durable: sends an answer when everything it may have seen is on the disk", async () => {
  const safe = Promise.withResolvers<void>();
  const edge = messagingEdge({ queues: [], whenSafe: () => safe.promise });
  let isAnswered = false;
  const answer = edge.send("GET /v2/queues").then((reply) => {
    isAnswered = true;
    return reply;
  });
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(isAnswered, false);

  safe.resolve();

  assert.equal((await answer).status, 200);
});

test("refuses the token of a database user", async () => {
  const tokens = new TokenTable(Buffer.alloc(32, 3));
  tokens.replaceUser({ tenant: "main", user: "ann" }, [createHash("sha256").update("anns-token").digest("hex")]);
  const edge = messagingEdge({}, { tokens });
  for (const line of ["GET /v2/logs", "POST /v2/publish/https://a.test"])
    assert.equal((await edge.send(line, { token: "anns-token" })).status, 401, line);
});
