/** Deliveries to a workflow endpoint, a third party and a failure function, and their log entries (workflows.md). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { answered } from "../harness/messaging-harness.ts";
import { type MessagingServer, startMessagingServer } from "../harness/messaging-server.ts";

type Json = Readonly<Record<string, unknown>>;

const START_MS = Date.UTC(2026, 0, 1);
const ENDPOINT = "https://app.test/run";
const THIRD = "https://third.test/";
const FAILURE_URL = "https://app.test/told";
const SDK = ["Upstash-Workflow-Sdk-Version", "1"];

const begin = ["Upstash-Workflow-RunId", "wfr_1", "Upstash-Workflow-Init", "true", "Upstash-Retries", "0"];
const call = [
  ...["Upstash-Workflow-RunId", "wfr_1", "Upstash-Workflow-CallType", "toCallback", "Upstash-Callback", ENDPOINT],
  ...["Upstash-Callback-Workflow-RunId", "wfr_1", "Upstash-Callback-Workflow-CallType", "fromCallback"],
];

/** A server whose endpoint accepts every delivery, except those of the run `ill`. */
async function started({ isIll = false } = {}): Promise<MessagingServer> {
  const server = await startMessagingServer();
  server.destination = ({ url }) => answered(isIll && url === ENDPOINT ? 500 : 200, SDK, "answer");
  return server;
}

function headersOf(server: MessagingServer, url: string): ReadonlyMap<string, string> {
  return server.calls.find((made) => made.url === url)?.headers ?? new Map();
}

test("W.start: a publish with Workflow-Init starts a run, and its answer names the message and the run", async () => {
  await using server = await started();
  const { status, json } = await server.send(`POST /v2/publish/${ENDPOINT}`, { headers: begin, body: "payload" });
  const { messageId, ...rest } = json as Json;
  assert.deepEqual([status, rest], [200, { url: ENDPOINT, workflowRunId: "wfr_1", workflowCreatedAt: START_MS }]);
  assert.match(String(messageId), /^msg_/);

  await server.send("POST /v2/topics/group/endpoints", { body: { endpoints: [{ url: ENDPOINT }] } });
  const other = ["Upstash-Workflow-RunId", "wfr_2", "Upstash-Workflow-Init", "true"];
  assert.equal((await server.send("POST /v2/publish/group", { headers: other })).status, 400);
});

test("W.entry: the message list of a run has its start, its results, its calls and their answers, each with its callType", async () => {
  await using server = await started();
  await server.send(`POST /v2/publish/${ENDPOINT}`, { headers: begin, body: "payload" });
  await server.advance(0);
  const part = ["Upstash-Workflow-RunId", "wfr_1"];
  await server.send(`POST /v2/publish/${ENDPOINT}`, { headers: part, body: '{"stepId":1}' });
  await server.send(`POST /v2/publish/${THIRD}`, { headers: call, body: "asked" });
  await server.advance(0);

  const entries = (await server.send("GET /v2/workflows/runs/wfr_1")).json as Json[];

  assert.deepEqual(
    entries.map(({ callType }) => callType),
    ["step", "step", "toCallback", "fromCallback"],
  );
  assert.deepEqual(
    entries.slice(0, 3).map(({ body }) => Buffer.from(String(body), "base64").toString()),
    ["payload", '{"stepId":1}', "asked"],
  );
});

test("W.delivery, W.call: the endpoint gets the run's id in both spellings, a third party does not get it", async () => {
  await using server = await started();
  await server.send(`POST /v2/publish/${ENDPOINT}`, { headers: begin });
  await server.send(`POST /v2/publish/${THIRD}`, { headers: call, body: "asked" });
  await server.advance(0);

  const ofEndpoint = headersOf(server, ENDPOINT);
  const ofThird = headersOf(server, THIRD);
  for (const [name, value] of [
    ["runid", "wfr_1"],
    ["url", ENDPOINT],
    ["init", "true"],
    ["createdat", String(START_MS)],
  ] as const) {
    for (const prefix of ["upstash", "service"]) {
      assert.equal(ofEndpoint.get(`${prefix}-workflow-${name}`), value, `${prefix} ${name}`);
      assert.equal(ofThird.has(`${prefix}-workflow-${name}`), false, `${prefix} ${name}`);
    }
  }
  assert.equal(server.calls.find(({ url }) => url === THIRD)?.body, "asked");
});

test("W.failure.headers: the call of a failure function is marked as one, and has its configured headers", async () => {
  await using server = await started({ isIll: true });
  const failure = ["Upstash-Failure-Callback", FAILURE_URL, "Upstash-Failure-Callback-Forward-X-Team", "blue"];
  await server.send(`POST /v2/publish/${ENDPOINT}`, { headers: [...begin, ...failure] });
  await server.advance(0);

  const headers = headersOf(server, FAILURE_URL);
  assert.deepEqual(
    [
      ...["upstash-workflow-is-failure", "upstash-workflow-failure-callback", "x-team"],
      ...["upstash-workflow-runid", "service-workflow-runid", "upstash-workflow-createdat"],
    ].map((name) => headers.get(name)),
    ["true", "true", "blue", "wfr_1", "wfr_1", String(START_MS)],
  );
});

test("W.logs.events: without groupBy, two of the routes list only the entries of messages of runs", async () => {
  await using server = await started();
  await server.send(`POST /v2/publish/${ENDPOINT}`, { headers: begin });
  await server.publish("https://plain.test/");
  await server.advance(0);

  for (const path of ["events", "messageLogs"]) {
    const grouped = (await server.send(`GET /v2/workflows/${path}?groupBy=workflowRunId`)).json;
    assert.deepEqual(grouped, (await server.send("GET /v2/workflows/logs")).json);
    const { status, json } = await server.send(`GET /v2/workflows/${path}?groupBy=workflowRunid`);
    assert.deepEqual([status, json], [400, { error: "Invalid value for groupBy: use workflowRunId" }]);
    const { events } = (await server.send(`GET /v2/workflows/${path}?order=earliestFirst`)).json as { events: Json[] };
    assert.deepEqual(
      events.map(({ state }) => state),
      ["CREATED", "ACTIVE", "DELIVERED"],
      path,
    );
    for (const event of events)
      assert.partialDeepStrictEqual(event, {
        workflowRunId: "wfr_1",
        workflowUrl: ENDPOINT,
        workflowCreatedAt: START_MS,
        callType: "step",
      });
  }
});

test("W.invoke.refused: a run that has ended cannot invoke another run", async () => {
  await using server = await started();
  await server.send(`POST /v2/publish/${ENDPOINT}`, { headers: begin });
  await server.send("DELETE /v2/workflows/runs/wfr_1");
  const child = ["Upstash-Workflow-RunId", "wfr_2", "Upstash-Workflow-Init", "true", "Upstash-Workflow-Invoke", "true"];
  const body = { body: "x", headers: {}, workflowRunId: "wfr_1", workflowUrl: ENDPOINT, step: { stepId: 1 } };

  const { status, json } = await server.send("POST /v2/publish/https://app.test/child", { headers: child, body });

  assert.deepEqual([status, /wfr_1/.test((json as { error: string }).error)], [400, true]);
  assert.equal((await server.send("GET /v2/workflows/runs/wfr_2")).status, 404);
});

test("W.limits: runs above the limit of waiters for one event are 412", async () => {
  await using server = await startMessagingServer({ waitersPerEventMax: 1 });
  server.destination = () => answered(200, SDK);
  const statuses: number[] = [];
  for (const id of ["wfr_1", "wfr_2"]) {
    const headers = ["Upstash-Workflow-RunId", id, "Upstash-Workflow-Init", "true"];
    await server.send(`POST /v2/publish/${ENDPOINT}`, { headers });
    const wait = { url: ENDPOINT, step: { stepId: 1 } };
    const options = { headers: ["Upstash-Workflow-RunId", id], body: JSON.stringify(wait) };
    statuses.push((await server.send("POST /v2/wait/paid", options)).status);
  }
  assert.deepEqual(statuses, [200, 412]);
});

// A client takes a 400 for the end of its run: it stops, and a running run would never go on.
test("W.append, W.invoke.refused: what a running run progresses by is refused with 412, also when it is too large", async () => {
  await using server = await startMessagingServer({ bodyBytesMax: 1_000 });
  server.destination = () => answered(200, SDK);
  await server.send(`POST /v2/publish/${ENDPOINT}`, { headers: begin });
  await server.send(`POST /v2/publish/${ENDPOINT}`, { headers: begin.with(1, "wfr_taken") });
  const large = "x".repeat(1_001);
  const invoke = { workflowRunId: "wfr_1", workflowUrl: ENDPOINT, step: { stepId: 1 } };
  const child = (id: string): string[] => [...begin.with(1, id), "Upstash-Workflow-Invoke", "true"];
  const invoking = (id: string, ...others: string[]) => ({
    headers: [...child(id), ...others],
    body: JSON.stringify(invoke),
  });
  const inBatch = {
    body: [{ destination: ENDPOINT, headers: Object.fromEntries(pairs(child("a b"))), body: JSON.stringify(invoke) }],
  };
  const publish = `POST /v2/publish/${ENDPOINT}`;
  const part = ["Upstash-Workflow-RunId", "wfr_1"];
  const finish = "DELETE /v2/workflows/runs/wfr_1?cancel=false";
  for (const [line, options, status] of [
    [publish, { body: large }, 400],
    [publish, { headers: part, body: large }, 412],
    [publish, { headers: child("wfr_2"), body: JSON.stringify({ ...invoke, body: large }) }, 412],
    [publish, invoking("a b"), 412],
    [publish, invoking("wfr_2", "Upstash-Retry-Delay", "boom("), 412],
    [publish, invoking("wfr_taken"), 412],
    [publish, invoking("wfr_2"), 200],
    [publish, invoking("wfr_2"), 202],
    ["POST /v2/batch", inBatch, 412],
    ["POST /v2/wait/paid", { headers: part, body: large }, 412],
    [finish, { body: large }, 412],
    ["DELETE /v2/workflows/runs", { body: "x".repeat(1_048_577) }, 400],
    [finish, { body: "1" }, 200],
    [publish, invoking("a b"), 400],
    [publish, invoking("wfr_3"), 400],
    [publish, invoking("wfr_taken"), 400],
  ] as const)
    assert.equal((await server.send(line, options)).status, status, `${line} ${JSON.stringify(options).slice(0, 300)}`);
});

function pairs(list: readonly string[]): [string, string][] {
  return list.flatMap((name, index) => (index % 2 === 0 ? [[name, list[index + 1] ?? ""] as [string, string]] : []));
}
