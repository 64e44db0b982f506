/** The engine in virtual time: messages from acceptance to their end. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { answered, type Call, MessagingHarness, request } from "../../test/harness/messaging-harness.ts";

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;
const START_MS = Date.UTC(2026, 0, 1);

function offsets(calls: readonly Call[]): number[] {
  return calls.map(({ atMs }) => atMs - START_MS);
}

test("a message is called when its acceptance is on the disk, and not before", async () => {
  const harness = await MessagingHarness.start();
  harness.journal.hold();
  const published = harness.publish("https://a.test/");
  await harness.settle();
  assert.equal(harness.calls.length, 0);

  harness.journal.release();
  await published;
  await harness.settle();

  assert.equal(harness.calls.length, 1);
});

test("C.delivery, C.delivery.message-id, C.delivery.retried, C.delivery.signature, C.delivery.caller, C.delivery.region, C.delivery.hops: a delivery carries the message, our headers in both spellings and a signature", async () => {
  const harness = await MessagingHarness.start();
  const id = await harness.publish("https://a.test/x?y=1", {
    method: "PUT",
    headers: ["Content-Type", "text/plain", "X-Team", "blue", "Upstash-Retried", "99"],
  });
  await harness.settle();

  const [call] = harness.calls;
  assert.equal(call?.url, "https://a.test/x?y=1");
  assert.equal(call?.method, "PUT");
  assert.equal(call?.body, "hello");
  const headers = Object.fromEntries(call?.headers ?? []);
  const signature = headers["upstash-signature"];
  assert.equal(signature?.split(".").length, 3);
  assert.deepEqual(headers, {
    "content-type": "text/plain",
    "x-team": "blue",
    "user-agent": "Upstash-QStash",
    "accept-encoding": "identity",
    "upstash-message-id": id,
    "service-message-id": id,
    "upstash-retried": "0",
    "service-retried": "0",
    "upstash-signature": signature,
    "service-signature": signature,
    "upstash-caller-ip": "203.0.113.7",
    "service-caller-ip": "203.0.113.7",
    "upstash-region": "US-EAST-1",
    "service-region": "US-EAST-1",
    "upstash-hops": "1",
    "service-hops": "1",
  });
});

test("a failing destination is called 1 + retries times with the default delays, then the message is a dead letter", async () => {
  const harness = await MessagingHarness.start();
  harness.destination = () => answered(500, ["X-A", "1"], "no");
  const id = await harness.publish("https://a.test/", { retriesMax: 3 });
  await harness.advance(24 * HOUR_MS);

  assert.deepEqual(offsets(harness.calls), [0, 12_000, 160_000, 1_968_000]);
  assert.deepEqual(
    harness.calls.map(({ headers }) => headers.get("upstash-retried")),
    ["0", "1", "2", "3"],
  );
  const { deadLetters } = harness.user.deadLetters({ attributes: new Map() }, { order: "earliest first", count: 10 });
  const [letter] = deadLetters;
  assert.equal(deadLetters.length, 1);
  assert.deepEqual(letter?.response, { status: 500, headers: ["X-A", "1"], error: "" });
  assert.equal(harness.user.findMessage(id), undefined);
});

test("Retry-After of the answer has priority over the expression, and the expression over the default", async () => {
  const harness = await MessagingHarness.start();
  let count = 0;
  harness.destination = () => {
    count += 1;
    return count === 1 ? answered(503, ["Retry-After", "7"]) : answered(500);
  };
  await harness.publish("https://a.test/", { retriesMax: 2, retryDelay: "1000 * (1 + retried)" });
  await harness.advance(HOUR_MS);

  assert.deepEqual(offsets(harness.calls), [0, 7_000, 9_000]);
});

test("489 with the non-retryable header fails at once", async () => {
  const harness = await MessagingHarness.start();
  harness.destination = () => answered(489, ["Upstash-NonRetryable-Error", "true"]);
  await harness.publish("https://a.test/", { retriesMax: 5 });
  await harness.advance(24 * HOUR_MS);

  assert.equal(harness.calls.length, 1);
  assert.equal(harness.messaging.engine.counts.failed, 1);
});

test("no call starts while the journal is late, and the heartbeat after it starts them", async () => {
  const harness = await MessagingHarness.start();
  harness.journal.isLate = true;
  await harness.publish("https://a.test/");
  await harness.advance(10_000);
  assert.equal(harness.calls.length, 0);
  harness.journal.isLate = false;
  await harness.advance(HOUR_MS);
  assert.equal(harness.calls.length, 1);
});

test("a delayed message is called at its time, also after a restart during the delay", async () => {
  const harness = await MessagingHarness.start();
  await harness.publish("https://a.test/", { delayMs: 60_000 });
  await harness.advance(30_000);
  harness.restart();
  await harness.advance(29_999);
  assert.equal(harness.calls.length, 0);

  await harness.advance(1);

  assert.deepEqual(offsets(harness.calls), [60_000]);
});

test("C.queue-order: a queue with parallelism 1 is called in order, and a retry holds it up", async () => {
  const harness = await MessagingHarness.start();
  harness.destination = ({ url }) => answered(url.endsWith("/1") && harness.calls.length === 1 ? 500 : 200);
  for (const n of [1, 2, 3]) await harness.publish(`https://a.test/${n}`, { queueName: "q", retryDelay: "5000" });
  await harness.advance(HOUR_MS);

  assert.deepEqual(
    harness.calls.map(({ url }) => url.at(-1)),
    ["1", "1", "2", "3"],
  );
  assert.deepEqual(offsets(harness.calls), [0, 5_000, 5_000, 5_000]);
});

test("C.queue-order: with parallelism 1 the next message of a queue waits for the callbacks of the previous one", async () => {
  const harness = await MessagingHarness.start();
  const later: Call[] = [];
  harness.destination = (call) => {
    if (!call.url.startsWith("https://callback.test/")) return answered(200);
    later.push(call);
    return "later";
  };
  const callback = { url: "https://callback.test/", given: [] };
  await harness.publish("https://a.test/1", { queueName: "q", callback });
  await harness.publish("https://a.test/2", { queueName: "q" });
  await harness.advance(SECOND_MS);
  assert.deepEqual(
    harness.calls.map(({ url }) => url),
    ["https://a.test/1", "https://callback.test/"],
  );

  later[0]?.answer(answered(200));
  await harness.advance(SECOND_MS);

  assert.equal(harness.calls.at(-1)?.url, "https://a.test/2");
});

test("a paused queue calls nothing until it is resumed", async () => {
  const harness = await MessagingHarness.start();
  await harness.user.putQueue("q", { isPaused: true });
  await harness.publish("https://a.test/", { queueName: "q" });
  await harness.advance(HOUR_MS);
  assert.equal(harness.calls.length, 0);
  assert.equal(harness.user.queue("q")?.lag, 1);

  await harness.user.putQueue("q", { isPaused: false });
  await harness.settle();

  assert.equal(harness.calls.length, 1);
  assert.equal(harness.user.queue("q")?.lag, 0);
});

// C.flow-control.parallelism
test("C-29: a key with parallelism 2 has at most two calls under way", async () => {
  const harness = await MessagingHarness.start();
  const open: Call[] = [];
  harness.destination = (call) => {
    open.push(call);
    return "later";
  };
  const flowControl = { key: "k", parallelism: 2 };
  for (let n = 0; n < 5; n += 1) await harness.publish("https://a.test/", { flowControl });
  await harness.settle();
  assert.equal(open.length, 2);
  assert.equal(harness.user.flowKey("k")?.waitingCount, 3);
  assert.equal(harness.user.flowKey("k")?.inFlightCount, 2);

  open[0]?.answer(answered(200));
  await harness.settle();

  assert.equal(open.length, 3);
});

test("C.flow-control.rate: a key with rate 2 per 10 s starts two calls in each window, also after a restart", async () => {
  const harness = await MessagingHarness.start();
  const flowControl = { key: "k", rate: 2, periodMs: 10_000 };
  for (let n = 0; n < 5; n += 1) await harness.publish("https://a.test/", { flowControl });
  await harness.advance(5_000);
  harness.restart();
  await harness.advance(60_000);

  assert.deepEqual(offsets(harness.calls), [0, 0, 10_000, 10_000, 20_000]);
});

test("C.flow-control.newest: the key's values of a newer message apply to waiting messages at once, even if it is delayed", async () => {
  const harness = await MessagingHarness.start();
  harness.destination = () => "later";
  const key = { key: "k", rate: 1, periodMs: 7 * 24 * HOUR_MS };
  await harness.publish("https://a.test/1", { flowControl: key });
  await harness.publish("https://a.test/2", { flowControl: key });
  await harness.settle();
  assert.equal(harness.calls.length, 1);

  await harness.publish("https://a.test/3", { flowControl: { ...key, rate: 2 }, delayMs: HOUR_MS });
  await harness.settle();

  assert.equal(harness.calls.length, 2);
});

test("each window starts its calls even if calls of the previous window have not ended", async () => {
  const harness = await MessagingHarness.start();
  harness.destination = () => "later";
  const flowControl = { key: "k", rate: 1, periodMs: 10_000 };
  for (let n = 0; n < 4; n += 1) await harness.publish("https://a.test/", { flowControl });
  await harness.advance(60_000);

  assert.deepEqual(offsets(harness.calls), [0, 10_000, 20_000, 30_000]);
});

test("a window that ends while a message of its key waits for a delivery slot lets other messages of the key continue", async () => {
  const harness = await MessagingHarness.start({ userParallelism: 2 });
  harness.destination = ({ url }) => (url === "https://a.test/first" ? answered(200) : "later");
  const flowControl = { key: "k", rate: 2, periodMs: 10_000 };
  await harness.publish("https://a.test/first", { flowControl });
  await harness.settle();
  await harness.user.pauseFlowKey("k", true);
  for (const name of ["second", "third"]) await harness.publish(`https://a.test/${name}`, { flowControl });
  await harness.settle();
  for (const name of ["x", "y"]) await harness.publish(`https://a.test/${name}`);
  // "second" may use the last call of the window, but all slots are taken.
  await harness.user.pauseFlowKey("k", false);
  await harness.advance(20_000);
  for (const call of harness.calls) call.answer(answered(200));
  await harness.settle();

  assert.deepEqual(
    harness.calls.map(({ url, atMs }) => [url.slice("https://a.test/".length), atMs - START_MS]),
    [
      ["first", 0],
      ["x", 0],
      ["y", 0],
      ["second", 20_000],
      ["third", 20_000],
    ],
  );
});

test("resetRate opens a new window at once", async () => {
  const harness = await MessagingHarness.start();
  const flowControl = { key: "k", rate: 1, periodMs: HOUR_MS };
  await harness.publish("https://a.test/", { flowControl });
  await harness.publish("https://a.test/", { flowControl });
  await harness.advance(SECOND_MS);
  assert.equal(harness.calls.length, 1);

  await harness.user.resetFlowKey("k", false);
  await harness.settle();

  assert.equal(harness.calls.length, 2);
});

test("a pinned key ignores the values of newer messages until it is unpinned", async () => {
  const harness = await MessagingHarness.start();
  await harness.user.pinFlowKey("k", { parallelism: 7, rate: 3 });
  await harness.publish("https://a.test/", { flowControl: { key: "k", parallelism: 1, rate: 1, periodMs: 5_000 } });
  const pinned = harness.user.flowKey("k");
  assert.deepEqual([pinned?.parallelism, pinned?.rate, pinned?.periodMs], [7, 3, 1_000]);

  await harness.user.unpinFlowKey("k", { parallelism: true, rate: false });
  await harness.publish("https://a.test/", { flowControl: { key: "k", parallelism: 1, rate: 1, periodMs: 5_000 } });

  const unpinned = harness.user.flowKey("k");
  assert.deepEqual([unpinned?.parallelism, unpinned?.rate, unpinned?.periodMs], [1, 3, 1_000]);
});

test("a cancelled message that waits is never called; one with a call under way is cancelled when the call ends", async () => {
  const harness = await MessagingHarness.start();
  const open: Call[] = [];
  harness.destination = (call) => {
    open.push(call);
    return "later";
  };
  const delayed = await harness.publish("https://a.test/", { delayMs: 1_000 });
  const called = await harness.publish("https://a.test/", { retriesMax: 5 });
  await harness.settle();

  assert.equal(await harness.user.cancel(delayed), true);
  assert.equal(await harness.user.cancel(called), true);
  assert.equal(await harness.user.cancel(called), false);
  open[0]?.answer(answered(500));
  await harness.advance(24 * HOUR_MS);

  assert.equal(harness.calls.length, 1);
  assert.equal(harness.messaging.engine.state.messages.size, 0);
  assert.equal(harness.messaging.engine.counts.cancelled, 2);
});

// C.deduplication
test("C-28: the same deduplication id within ten minutes is the same message, also after a restart", async () => {
  const harness = await MessagingHarness.start();
  const first = await harness.publish("https://a.test/", { deduplicationId: "d" });
  harness.restart();
  const [second] = await harness.user.publish([request("https://b.test/", { deduplicationId: "d" })]);
  assert.deepEqual(second, {
    kind: "url",
    published: { messageId: first, url: "https://b.test/", isDeduplicated: true },
  });

  await harness.advance(600_000);
  const third = await harness.publish("https://a.test/", { deduplicationId: "d" });

  assert.notEqual(third, first);
});

test("C.delivery.topic, C15.group: a URL group gets a message for each endpoint, with the headers of the group", async () => {
  const harness = await MessagingHarness.start();
  await harness.user.addEndpoints("g", [{ url: "https://a.test/", name: "a" }, { url: "https://b.test/" }]);
  await harness.user.setGroupHeaders("g", [["X-Group", ["1", "2"]]]);
  const [outcome] = await harness.user.publish([request("g")]);
  await harness.settle();

  assert.equal(outcome?.kind, "group");
  assert.deepEqual(
    harness.calls.map(({ url, headers }) => [url, headers.get("upstash-topic-name"), headers.get("x-group")]),
    [
      ["https://a.test/", "g", "2"],
      ["https://b.test/", "g", "2"],
    ],
  );
});

test("a batch with one unknown group publishes nothing", async () => {
  const harness = await MessagingHarness.start();
  await assert.rejects(harness.user.publish([request("https://a.test/"), request("nowhere")]), {
    kind: "bad request",
    text: "Invalid destination: there is no URL group nowhere, and a URL starts with http:// or https://",
  });
  await harness.settle();
  assert.equal(harness.calls.length, 0);
});

test("the callback reports every attempt, the failure callback the last one", async () => {
  const harness = await MessagingHarness.start();
  harness.destination = ({ url }) => (url === "https://a.test/" ? answered(500, ["X-A", "1"], "no") : answered(200));
  await harness.publish("https://a.test/", {
    retriesMax: 1,
    callback: { url: "https://callback.test/", given: [] },
    failureCallback: { url: "https://failed.test/", given: [] },
  });
  await harness.advance(HOUR_MS);

  const bodies = harness.calls
    .filter(({ url }) => url !== "https://a.test/")
    .map(({ url, body }) => [url, JSON.parse(body)]);
  assert.deepEqual(
    bodies.map(([url, { status, retried, maxRetries, dlqId, body, sourceBody, header }]) => [
      url,
      [status, retried, maxRetries, typeof dlqId, body, sourceBody, header],
    ]),
    [
      ["https://callback.test/", [500, 0, 1, "undefined", "bm8=", "aGVsbG8=", { "X-A": ["1"] }]],
      ["https://callback.test/", [500, 1, 1, "undefined", "bm8=", "aGVsbG8=", { "X-A": ["1"] }]],
      ["https://failed.test/", [500, 1, 1, "string", "bm8=", "aGVsbG8=", { "X-A": ["1"] }]],
    ],
  );
});

// C.cron.missed
test("C-26: a schedule fires at its times, once for all missed times, and not while it is paused", async () => {
  const harness = await MessagingHarness.start();
  const options = request("").options;
  const body = Buffer.from("tick");
  const id = await harness.user.putSchedule({
    cron: "*/5 * * * *",
    destination: "https://a.test/",
    options,
    body,
    callerIp: "",
  });
  await harness.advance(11 * 60_000);
  assert.deepEqual(offsets(harness.calls), [300_000, 600_000]);
  assert.equal(harness.calls[0]?.headers.get("upstash-schedule-id"), id);

  harness.messaging.engine.stop();
  await harness.advance(30 * 60_000);
  harness.restart();
  await harness.settle();
  assert.deepEqual(offsets(harness.calls).slice(2), [41 * 60_000]);

  await harness.user.pauseSchedule(id, true);
  await harness.advance(30 * 60_000);
  assert.equal(harness.calls.length, 3);
  await harness.user.pauseSchedule(id, false);
  await harness.advance(5 * 60_000);
  assert.equal(harness.calls.length, 4);
});

test("retried dead letters are new messages with the old destination and body; an unknown id prevents all retries", async () => {
  const harness = await MessagingHarness.start();
  harness.destination = () => answered(500);
  const old = await harness.publish("https://a.test/", { retriesMax: 0, labels: ["x"] });
  await harness.settle();
  const [letter] = harness.user.deadLetters(
    { attributes: new Map() },
    { order: "earliest first", count: 1 },
  ).deadLetters;
  const id = `${letter?.id.ms}-${letter?.id.number}`;
  await assert.rejects(harness.user.retryDeadLetters({ ids: [id, "1-1"], attributes: new Map() }, {}, {}), {
    kind: "not found",
  });

  harness.destination = () => answered(200);
  const { published } = await harness.user.retryDeadLetters({ attributes: new Map([["label", ["x"]]]) }, {}, {});
  await harness.settle();

  assert.equal(published.length, 1);
  assert.notEqual(published[0]?.messageId, old);
  assert.deepEqual(
    harness.calls.map(({ url, body }) => [url, body]),
    [
      ["https://a.test/", "hello"],
      ["https://a.test/", "hello"],
    ],
  );
  assert.equal(harness.user.deadLetter(id), undefined);
});

test("dead letters that two users retry at once are two frames", async () => {
  const harness = await MessagingHarness.start();
  harness.destination = () => answered(500);
  await harness.messaging.createUser("other");
  const other = harness.messaging.user("other");
  await harness.publish("https://a.test/", { retriesMax: 0 });
  await other?.publish([request("https://b.test/", { retriesMax: 0 })]);
  await harness.settle();
  harness.destination = () => "later";
  const all = { attributes: new Map() };

  await Promise.all([harness.user.retryDeadLetters(all, {}, {}), other?.retryDeadLetters(all, {}, {})]);
  harness.restart();

  const { users, messages } = harness.messaging.engine.state;
  assert.deepEqual(
    [...users].map(({ deadLetters }) => deadLetters.size),
    [0, 0],
  );
  assert.deepEqual(
    [...messages].map(({ user, envelope }) => [user.name, envelope.fields.url]),
    [
      ["main", "https://a.test/"],
      ["other", "https://b.test/"],
    ],
  );
});

test("a request of a user that is removed meanwhile leaves no state", async () => {
  const harness = await MessagingHarness.start();
  harness.destination = () => answered(500);
  await harness.publish("https://a.test/", { retriesMax: 0 });
  await harness.settle();
  const { user } = harness;
  const retried = user.retryDeadLetters({ attributes: new Map() }, {}, {});
  const dropped = harness.messaging.dropUser("main");

  await assert.rejects(retried, { kind: "not found", text: "user main not found" });
  await assert.rejects(user.publish([request("https://a.test/")]), { kind: "not found" });
  await dropped;
  harness.restart();

  assert.equal(harness.messaging.engine.state.messages.size, 0);
});

test("a message that is cancelled when its turn comes passes the turn to the next one of its key and of its destination", async () => {
  for (const limits of [{ userParallelism: 2 }, { userParallelism: 2, originParallelism: 1 }]) {
    const harness = await MessagingHarness.start(limits);
    harness.destination = () => "later";
    const flowControl = limits.originParallelism === undefined ? { flowControl: { key: "k", parallelism: 1 } } : {};
    await harness.publish("https://a.test/1", flowControl);
    const second = await harness.publish("https://a.test/2", flowControl);
    await harness.publish("https://a.test/3", flowControl);
    await harness.publish("https://b.test/");
    await harness.publish("https://c.test/");
    await harness.settle();
    // The call to c.test takes the slot that this call frees, and the second message is next.
    harness.calls[0]?.answer(answered(200));
    await harness.settle();

    await harness.user.cancel(second);
    harness.calls[1]?.answer(answered(200));
    await harness.settle();

    assert.deepEqual(
      harness.calls.map(({ url }) => url),
      ["https://a.test/1", "https://b.test/", "https://c.test/", "https://a.test/3"],
    );
  }
});

test("a queue continues after a restart that completes a cancellation", async () => {
  const harness = await MessagingHarness.start();
  harness.destination = () => "later";
  await harness.publish("https://a.test/delayed", { queueName: "q", delayMs: SECOND_MS });
  const called = await harness.publish("https://a.test/called", { queueName: "q" });
  await harness.advance(SECOND_MS);
  await harness.user.cancel(called);

  harness.restart();
  await harness.settle();

  assert.deepEqual(
    harness.calls.map(({ url }) => url),
    ["https://a.test/called", "https://a.test/delayed"],
  );
});

test("a slow destination takes the slots of its cap only; other destinations continue", async () => {
  const harness = await MessagingHarness.start({ originParallelism: 2 });
  harness.destination = ({ url }) => (url.startsWith("https://slow.test/") ? "later" : answered(200));
  for (let n = 0; n < 5; n += 1) await harness.publish(`https://slow.test/${n}`);
  await harness.publish("https://fast.test/");
  await harness.settle();

  assert.deepEqual(
    harness.calls.map(({ url }) => url),
    ["https://slow.test/0", "https://slow.test/1", "https://fast.test/"],
  );
});

// C.at-least-once
test("C-27: calls that were under way at a kill are made again with the same id and the same count", async () => {
  const harness = await MessagingHarness.start();
  harness.destination = () => "later";
  const id = await harness.publish("https://a.test/");
  await harness.settle();
  harness.restart();
  await harness.settle();
  harness.destination = () => answered(200);
  harness.restart();
  await harness.settle();

  assert.deepEqual(
    harness.calls.map(({ headers }) => [headers.get("upstash-message-id"), headers.get("upstash-retried")]),
    [
      [id, "0"],
      [id, "0"],
      [id, "0"],
    ],
  );
  assert.equal(harness.messaging.engine.state.messages.size, 0);
});

test("a drain makes no more calls, and ends when the calls under way are recorded", async () => {
  const harness = await MessagingHarness.start();
  harness.destination = () => "later";
  await harness.publish("https://a.test/");
  await harness.settle();
  let isDrained = false;
  const drained = harness.messaging.engine.drain(10_000).then(() => {
    isDrained = true;
  });
  await harness.publish("https://b.test/");
  await harness.advance(SECOND_MS);
  assert.equal(harness.calls.length, 1);
  assert.equal(isDrained, false);

  harness.calls[0]?.answer(answered(200));
  await harness.settle();
  await drained;
  harness.destination = () => answered(200);
  harness.restart();
  await harness.settle();

  assert.deepEqual(
    harness.calls.map(({ url }) => url),
    ["https://a.test/", "https://b.test/"],
  );
});

test("a drain waits for a call that does not end until its grace period is over", async () => {
  const harness = await MessagingHarness.start();
  harness.destination = () => "later";
  await harness.publish("https://a.test/");
  await harness.settle();
  const drained = harness.messaging.engine.drain(10_000);
  await harness.advance(10_000);

  await drained;
});

test("cancelled delays leave the heap of due times when they are more than half of it", async () => {
  const harness = await MessagingHarness.start();
  const requests = Array.from({ length: 3_000 }, (_, n) => request("https://a.test/", { delayMs: 60_000 + n }));
  await harness.user.publish(requests);
  await harness.settle();
  const last = await harness.publish("https://a.test/last", { delayMs: 60_000 });
  await harness.user.cancelMatching({ attributes: new Map([["url", ["https://a.test/"]]]) });

  assert.ok(harness.messaging.engine.scheduler.timedCount < 1_200);
  await harness.advance(60_000);
  assert.equal(harness.calls.length, 1);
  assert.equal(harness.calls[0]?.headers.get("upstash-message-id"), last);
});

test("counts waiting messages by reason", async () => {
  const harness = await MessagingHarness.start({ originParallelism: 1 });
  harness.destination = () => "later";
  await harness.user.putQueue("q", { isPaused: true });
  await harness.publish("https://a.test/");
  await harness.publish("https://a.test/");
  await harness.publish("https://b.test/", { queueName: "q" });
  await harness.publish("https://c.test/", { flowControl: { key: "k", parallelism: 1 } });
  await harness.publish("https://d.test/", { flowControl: { key: "k", parallelism: 1 } });
  await harness.settle();

  const counts = [...harness.messaging.engine.scheduler.waitingCounts].filter(([, count]) => count > 0);
  assert.deepEqual(Object.fromEntries(counts), {
    "the destination's parallelism": 1,
    "the queue": 1,
    "the flow-control key": 1,
  });
});

test("with deliveries disabled no destination is called and no schedule fires; the next start makes up for it", async () => {
  const harness = await MessagingHarness.start();
  const { options } = request("");
  const body = Buffer.from("tick");
  await harness.user.putSchedule({ cron: "* * * * *", destination: "https://a.test/", options, body, callerIp: "" });
  await harness.publish("https://a.test/", { delayMs: 1_000 });
  harness.deliveriesDisabled = true;
  harness.restart();
  await harness.advance(300_000);
  assert.equal(harness.calls.length, 0);

  harness.deliveriesDisabled = false;
  harness.restart();
  await harness.settle();
  assert.deepEqual(
    harness.calls.map(({ body }) => body),
    ["hello", "tick"],
  );
});

test("C.queue-order: a queue whose parallelism is lowered starts at most that many calls, oldest first, however many messages had slots", async () => {
  const harness = await MessagingHarness.start();
  harness.destination = () => "later";
  await harness.user.putQueue("q", { parallelism: 5 });
  const flowControl = { key: "k", parallelism: 10 };
  for (const n of [1, 2, 3, 4, 5, 6]) {
    await harness.publish(`https://a.test/${n}`, {
      queueName: "q",
      retryDelay: "1000",
      ...(n > 2 && { flowControl }),
    });
    if (n === 2) await harness.user.pauseFlowKey("k", true);
  }
  await harness.settle();
  // Two are called and fail, and three wait for the key: all five have a slot.
  for (const call of harness.calls) call.answer(answered(500));
  await harness.settle();
  await harness.user.putQueue("q", { parallelism: 2 });
  await harness.user.pauseFlowKey("k", false);
  await harness.advance(1_000);

  const called: string[][] = [];
  for (let turn = 0; turn < 5; turn += 1) {
    const calls = harness.calls.splice(0).filter(({ url }) => url !== "");
    called.push(calls.map(({ url }) => url.slice(-1)));
    for (const call of calls) call.answer(answered(200));
    await harness.settle();
  }
  assert.deepEqual(called, [["1", "2", "1", "2"], ["3", "4"], ["5", "6"], [], []]);
});

test("a message of a queue whose parallelism was lowered waits for its turn, also after a restart", async () => {
  const harness = await MessagingHarness.start();
  harness.destination = () => answered(500);
  await harness.user.putQueue("q", { parallelism: 2 });
  const ids: string[] = [];
  for (const n of [1, 2])
    ids.push(await harness.publish(`https://a.test/${n}`, { queueName: "q", retryDelay: "1000" }));
  await harness.settle();
  await harness.user.putQueue("q", { parallelism: 1 });
  harness.restart();
  harness.destination = () => "later";
  await harness.advance(1_000);

  assert.deepEqual(
    harness.calls.map(({ url, atMs }) => [url, atMs - START_MS]),
    [
      ["https://a.test/1", 0],
      ["https://a.test/2", 0],
      ["https://a.test/1", 1_000],
    ],
  );
  const second = harness.user.findMessage(ids[1] ?? "");
  assert.equal(second && harness.user.waitsFor(second), "It waits for its turn in the queue q");
});

test("C.messages.cancel-many: a bulk cancel skips messages that are cancelled already and wait for the end of their call", async () => {
  const harness = await MessagingHarness.start();
  harness.destination = () => "later";
  await harness.publish("https://a.test/called");
  await harness.publish("https://a.test/waiting", { delayMs: HOUR_MS });
  await harness.settle();
  const all = { attributes: new Map() };

  assert.equal(await harness.user.cancelMatching(all, 1), 1);
  assert.equal(await harness.user.cancelMatching(all, 1), 1);
  assert.equal(await harness.user.cancelMatching(all, 1), 0);
});
