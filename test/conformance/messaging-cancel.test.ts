/** Cancelling messages by id and in bulk, retrying one early, and their state afterwards (C.messages). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { filterRows } from "../../src/edge/messaging/filters/messages.ts";
import { answered } from "../harness/messaging-harness.ts";
import { MESSAGING_READ_ONLY_TOKEN, type MessagingServer, startMessagingServer } from "../harness/messaging-server.ts";

const MINUTE_MS = 60_000;
const START_MS = Date.UTC(2026, 0, 1);

/** Waiting messages, each with one distinct property; some are a minute younger. */
async function worldToCancel(): Promise<{ server: MessagingServer; ids: readonly string[] }> {
  const server = await startMessagingServer();
  await server.send("POST /v2/topics/group/endpoints", { body: { endpoints: [{ url: "https://group.test/" }] } });
  const later = "service-delay=1d";
  const ids = [
    await server.publish(`https://a.test/one?${later}&service-label=red,blue`),
    await server.publish(`https://a.test/two?${later}&service-label=blue`),
  ];
  await server.advance(MINUTE_MS);
  await server.publish(`https://b.test/one?${later}`, {
    headers: ["Service-Flow-Control-Key", "key", "Service-Flow-Control-Value", "rate=1"],
  });
  await server.send(`POST /v2/publish/group?${later}`);
  await server.send(`POST /v2/enqueue/orders/https://q.test/?${later}`);
  await server.send(`POST /v2/schedules/https://s.test/?${later}`, {
    headers: ["Service-Cron", "* * * * *", "Service-Schedule-Id", "s"],
  });
  await server.advance(MINUTE_MS);
  return { server, ids };
}

/** A query, and how many messages it cancels. */
function rowsToCancel([first, second]: readonly string[]): readonly (readonly [string, number])[] {
  return [
    ["", 6],
    [`messageIds=${first}&messageIds=${second}`, 2],
    [`messageIds=${first},msg_1,${second}`, 2],
    [`messageIds=${first}&label=none`, 1],
    [`messageId=${first}`, 1],
    ["url=https://a.test/one&url=https://b.test/one", 2],
    ["url=https://a.test/one,https://b.test/one", 2],
    ["host=a.test", 2],
    ["path=/one", 2],
    ["path=/one,/two&host=a.test", 2],
    ["topicName=group", 1],
    ["scheduleId=s", 1],
    ["queueName=orders", 1],
    ["queueName=orders,orders", 1],
    ["queueName=orders&label=red", 0],
    ["label=red", 1],
    ["label=blue", 2],
    ["label=blue&path=/two", 1],
    ["flowControlKey=key", 1],
    ["callerIp=127.0.0.1", 6],
    ["callerIP=203.0.113.9", 0],
    [`fromDate=${START_MS + MINUTE_MS}`, 4],
    [`toDate=${START_MS + MINUTE_MS - 1}`, 2],
    ["count=4", 6],
    ["label=blue&count=1", 2],
    ["count=501", 6],
  ];
}

test("C.messages.cancel-many: each filter selects its own messages, in the query and in a JSON body; the others are delivered", async () => {
  for (const form of ["query", "body"] as const) {
    // The ids are the same in each world.
    const { server: first, ids } = await worldToCancel();
    await first[Symbol.asyncDispose]();
    for (const [query, count] of rowsToCancel(ids)) {
      const { server } = await worldToCancel();
      await using _server = server;
      const fields = Object.fromEntries(
        [...new Set(new URLSearchParams(query).keys())].map((name) => [name, new URLSearchParams(query).getAll(name)]),
      );
      const line = form === "query" ? `DELETE /v2/messages?${query}` : "DELETE /v2/messages";
      const reply = await server.send(line, form === "query" ? {} : { body: fields });
      assert.deepEqual([reply.status, reply.json], [200, { cancelled: count }], `${form}: ${query}`);
      await server.send("DELETE /v2/schedules/s");
      server.harness.clock.advance(24 * 60 * MINUTE_MS);
      await server.advance(0);
      assert.equal(server.calls.length, 6 - count, `${form}: ${query}`);
    }
  }
});

test("bulk cancel: every filter of the table is tested", () => {
  const used = new Set(rowsToCancel([]).flatMap(([query]) => [...new URLSearchParams(query).keys()]));
  const missing = filterRows.filter((row) => row.for.includes("messages") && !used.has(row.name));
  assert.deepEqual(missing, []);
});

test("C.messages.cancel-many: a count leaves no message, and cancelled messages are not found again", async () => {
  await using server = await startMessagingServer();
  for (let number = 0; number < 5; number += 1) await server.publish(`https://a.test/${number}?service-delay=1h`);
  const cancel = async (): Promise<unknown> => (await server.send("DELETE /v2/messages?count=2")).json;
  assert.deepEqual([await cancel(), await cancel()], [{ cancelled: 5 }, { cancelled: 0 }]);
  await server.advance(60 * MINUTE_MS);
  assert.deepEqual(server.calls, []);
});

test("C.states.cancel, C.messages.cancel: a message can be cancelled during a call, between retries and in a queue, and the queue continues", async () => {
  await using server = await startMessagingServer();
  server.destination = ({ url }) => (url === "https://slow.test/" ? "later" : answered(500));
  const called = await server.publish("https://slow.test/");
  const retried = await server.publish("https://bad.test/");
  const enqueue = async (url: string): Promise<string> =>
    ((await server.send(`POST /v2/enqueue/orders/${url}`)).json as { messageId: string }).messageId;
  const head = await enqueue("https://bad.test/head");
  const behind = await enqueue("https://good.test/behind");
  const last = await enqueue("https://good.test/last");
  await server.advance(0);
  server.destination = () => answered(200);

  for (const id of [called, retried, behind, head]) {
    assert.deepEqual((await server.send(`DELETE /v2/messages/${id}`)).json, { cancelled: 1 });
    assert.equal((await server.send(`DELETE /v2/messages/${id}`)).status, 404);
  }
  for (const { url, answer } of server.calls) if (url === "https://slow.test/") answer(answered(500));
  await server.advance(24 * 60 * MINUTE_MS);

  assert.deepEqual(server.calls.map(({ url }) => url).toSorted(), [
    ...["https://bad.test/", "https://bad.test/head", "https://good.test/last", "https://slow.test/"],
  ]);
  assert.equal((await server.send(`DELETE /v2/messages/${last}`)).status, 404);
  assert.deepEqual((await server.send("GET /v2/dlq")).json, { messages: [] });
});

test("C.messages.retry: a delayed message and a failed one are called at once, and later retries keep their times", async () => {
  await using server = await startMessagingServer();
  server.destination = () => answered(500);
  const retried = await server.publish("https://bad.test/", { headers: ["Service-Retry-Delay", "3600000"] });
  const delayed = await server.publish("https://bad.test/delayed?service-delay=1d&service-retries=0");
  const noted = await server.publish(
    `https://bad.test/at?service-not-before=${START_MS / 1_000 + 86_400}&service-retries=0`,
  );
  await server.advance(0);
  assert.equal(server.calls.length, 1);
  for (const id of [retried, delayed, noted]) {
    const reply = await server.send(`POST /v2/messages/${id}/retry`);
    assert.deepEqual([reply.status, reply.json], [200, {}]);
  }
  await server.advance(30 * MINUTE_MS);
  assert.deepEqual(
    server.calls.slice(1).map(({ url }) => url),
    [...["https://bad.test/", "https://bad.test/delayed", "https://bad.test/at"]],
  );
  // At the time of its first plan nothing happens.
  await server.advance(29 * MINUTE_MS);
  assert.equal(server.calls.length, 4);
  await server.advance(MINUTE_MS);
  assert.equal(server.calls.length, 5);
  await server.advance(2 * 24 * 60 * MINUTE_MS);
  assert.deepEqual(server.calls.map(({ url }) => url).filter((url) => url !== "https://bad.test/").length, 2);
  assert.equal((await server.send(`POST /v2/messages/${retried}/retry`)).status, 404);
});

test("C.messages.retry: a message that is being called is refused, and one that waits for a paused queue goes on waiting", async () => {
  await using server = await startMessagingServer();
  server.destination = () => "later";
  const called = await server.publish("https://slow.test/");
  await server.send("POST /v2/queues/orders/pause");
  const { messageId } = (await server.send("POST /v2/enqueue/orders/https://a.test?service-delay=1h")).json as {
    messageId: string;
  };
  await server.advance(0);
  const refused = await server.send(`POST /v2/messages/${called}/retry`);
  assert.equal(refused.status, 400);
  assert.deepEqual(refused.json, {
    error: `Invalid value for messageId: the message ${called} is being called: wait for the end of the call`,
  });
  for (let times = 0; times < 2; times += 1)
    assert.deepEqual((await server.send(`POST /v2/messages/${messageId}/retry`)).json, {});
  const { waitsFor } = (await server.send(`GET /v2/messages/${messageId}`)).json as { waitsFor: string };
  assert.equal(waitsFor, "It waits for the queue orders to be resumed");
  const reply = await server.send(`POST /v2/messages/${messageId}/retry`, { token: MESSAGING_READ_ONLY_TOKEN });
  assert.equal(reply.status, 403);
  await server.send("POST /v2/queues/orders/resume");
  await server.advance(0);
  assert.deepEqual(
    server.calls.map(({ url }) => url),
    ["https://slow.test/", "https://a.test"],
  );
});
