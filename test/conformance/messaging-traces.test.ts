/** W3C Trace Context through messaging: deliveries belong to the trace of the publisher's request. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { answered } from "../harness/messaging-harness.ts";
import { type MessagingServer, startMessagingServer } from "../harness/messaging-server.ts";

const TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const OTHER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";
const TRACED = ["traceparent", TRACE, "tracestate", "congo=t61rcWkgMzE"];
const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const SDK = ["Upstash-Workflow-Sdk-Version", "1"];

/** `traceparent` and `tracestate` of each call. */
function tracesOf({ calls }: MessagingServer): readonly (readonly [string | undefined, string | undefined])[] {
  return calls.map(({ headers }) => [headers.get("traceparent"), headers.get("tracestate")]);
}

const sent = [TRACE, "congo=t61rcWkgMzE"] as const;
const none = [undefined, undefined] as const;

test("C15.traces: the trace of a publish is sent with every attempt, including those after a restart, and with callbacks", async () => {
  await using server = await startMessagingServer();
  server.destination = ({ url }) => answered(url.includes("fails") ? 500 : 200);
  await server.publish("https://fails.test/", {
    headers: [
      ...TRACED,
      ...["Upstash-Retries", "1", "Upstash-Retry-Delay", "60000"],
      ...["Upstash-Callback", "https://callback.test/", "Upstash-Failure-Callback", "https://failure.test/"],
    ],
  });
  await server.advance(0);
  server.harness.restart();
  await server.advance(MINUTE_MS);
  assert.deepEqual(
    server.calls.map(({ url }) => new URL(url).hostname),
    ["fails.test", "callback.test", "fails.test", "callback.test", "failure.test"],
  );
  assert.deepEqual(tracesOf(server), [sent, sent, sent, sent, sent]);
});

test("C15: a dead letter that is retried keeps its trace", async () => {
  await using server = await startMessagingServer();
  server.destination = () => answered(500);
  await server.publish("https://a.test/", { headers: [...TRACED, "Upstash-Retries", "0"] });
  await server.advance(0);
  server.harness.restart();
  const retry = await server.send("POST /v2/dlq/retry", { headers: ["traceparent", OTHER] });
  assert.equal(retry.status, 201);
  await server.advance(0);
  assert.deepEqual(tracesOf(server), [sent, sent]);
});

test("C15: an invalid traceparent is ignored, and the tracestate with it", async () => {
  await using server = await startMessagingServer();
  for (const broken of [
    TRACE.toUpperCase(),
    `${TRACE}-more`,
    "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
  ]) {
    await server.publish("https://a.test/", { headers: ["traceparent", broken, "tracestate", "congo=1"] });
  }
  await server.publish("https://a.test/", { headers: ["traceparent", TRACE, "traceparent", OTHER] });
  await server.publish("https://a.test/", { headers: ["traceparent", TRACE, "tracestate", "no state"] });
  await server.publish("https://a.test/", { headers: ["tracestate", "congo=1"] });
  await server.advance(0);
  assert.deepEqual(tracesOf(server), [none, none, none, none, [TRACE, undefined], none]);
});

test("C15.traces: a trace forwarded by name wins, one among all forwarded headers is the trace of the request", async () => {
  await using server = await startMessagingServer();
  await server.publish("https://a.test/", { headers: [...TRACED, "Upstash-Forward-Traceparent", OTHER] });
  await server.publish("https://a.test/", { headers: [...TRACED, "Service-Forward-Tracestate", "own=1"] });
  await server.publish("https://a.test/", { headers: [...TRACED, "Upstash-Header-Forward", "true", "X-A", "1"] });
  await server.publish("https://a.test/", { headers: ["traceparent", "broken", "Upstash-Header-Forward", "true"] });
  await server.advance(0);
  assert.deepEqual(tracesOf(server), [[OTHER, undefined], [undefined, "own=1"], sent, none]);
  assert.equal(server.calls[2]?.headers.get("x-a"), "1");
});

test("C15: a message of a batch or a queue has its own trace, or that of the request", async () => {
  await using server = await startMessagingServer();
  const element = { destination: "https://a.test/" };
  const body = JSON.stringify([element, { ...element, headers: { Traceparent: OTHER } }]);
  await server.send("POST /v2/batch", { headers: TRACED, body });
  await server.send("POST /v2/enqueue/line/https://a.test/", { headers: TRACED });
  await server.advance(0);
  assert.deepEqual(tracesOf(server), [sent, [OTHER, undefined], sent]);
});

test("C15: messages that differ only in their trace have the same content for deduplication", async () => {
  await using server = await startMessagingServer();
  for (const headers of [["traceparent", TRACE], ["traceparent", OTHER], []]) {
    const given = [...headers, "Upstash-Content-Based-Deduplication", "true", "Upstash-Header-Forward", "true"];
    await server.publish("https://a.test/", { headers: given });
  }
  await server.advance(0);
  assert.deepEqual(tracesOf(server), [[TRACE, undefined]]);
});

test("C: the firing of a schedule has no caller and no trace", async () => {
  await using server = await startMessagingServer();
  for (const forwarding of [[], ["Upstash-Header-Forward", "true"]]) {
    const headers = [...TRACED, "Upstash-Cron", "* * * * *", ...forwarding];
    assert.equal((await server.send("POST /v2/schedules/https://a.test/", { headers })).status, 200);
  }
  await server.advance(MINUTE_MS);
  assert.deepEqual(tracesOf(server), [none, none]);
});

test("C14: entries and calls of a run belong to the trace of its start, unless they have their own", async () => {
  await using server = await startMessagingServer();
  server.destination = () => answered(200, SDK);
  const ofRun = ["Upstash-Workflow-RunId", "wfr_1", "Upstash-Retries", "0"];
  const start = { headers: [...ofRun, ...TRACED, "Upstash-Workflow-Init", "true"], body: "begin" };
  assert.equal((await server.send("POST /v2/publish/https://app.test/run", start)).status, 200);
  await server.advance(0);
  server.harness.restart();
  const step = (stepId: number): string =>
    JSON.stringify({ stepId, stepName: "s", stepType: "Run", out: 1, concurrent: 1 });
  await server.send("POST /v2/publish/https://app.test/run", { headers: ofRun, body: step(1) });
  await server.advance(SECOND_MS);
  await server.send("POST /v2/publish/https://app.test/run", {
    headers: [...ofRun, "traceparent", OTHER],
    body: step(2),
  });
  await server.advance(SECOND_MS);
  const call = [...ofRun, "Upstash-Workflow-CallType", "toCallback", "Upstash-Callback", "https://app.test/run"];
  const callback = ["Upstash-Callback-Workflow-RunId", "wfr_1", "Upstash-Callback-Workflow-CallType", "fromCallback"];
  await server.send("POST /v2/publish/https://third.test/", { headers: [...call, ...callback], body: "ask" });
  await server.advance(SECOND_MS);
  assert.deepEqual(
    server.calls.map(({ url }) => new URL(url).hostname),
    ["app.test", "app.test", "app.test", "third.test", "app.test"],
  );
  assert.deepEqual(tracesOf(server), [sent, sent, [OTHER, undefined], sent, sent]);
});

test("C14: a run that a plain request starts, and the call that reports its failure, belong to the trace of that request", async () => {
  await using server = await startMessagingServer();
  server.destination = () => answered(500);
  const headers = [...TRACED, "Upstash-Retries", "0"];
  assert.equal((await server.send("POST /v2/trigger/https://app.test/run", { headers, body: "begin" })).status, 200);
  await server.advance(MINUTE_MS);
  assert.deepEqual(tracesOf(server), [sent, sent]);
});
