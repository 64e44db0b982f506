/** Quotas of a user, and what a publish changes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { MessagingHarness, request } from "../../test/harness/messaging-harness.ts";

const DAY_MS = 86_400_000;

test("rejects a whole batch that exceeds the daily limit, until the next day begins (UTC)", async () => {
  const harness = await MessagingHarness.start({ messagesPerDayMax: 3 }, Date.UTC(2026, 0, 1, 23));
  await harness.user.publish([request("https://a.test/"), request("https://a.test/")]);
  await assert.rejects(harness.user.publish([request("https://a.test/"), request("https://a.test/")]), {
    kind: "too many requests",
    text: "Maximum number of messages per day exceeded: 3",
    messagesPerDayMax: 3,
    resetAtMs: Date.UTC(2026, 0, 2),
  });
  await harness.settle();
  assert.equal(harness.calls.length, 2);

  await harness.advance(3_600_000);
  await harness.user.publish([request("https://a.test/"), request("https://a.test/")]);
});

test("duplicates do not count against the daily limit, and the count survives a restart", async () => {
  const harness = await MessagingHarness.start({ messagesPerDayMax: 2 });
  const same = request("https://a.test/", { deduplicationId: "d" });
  await harness.user.publish([same, same, request("https://b.test/")]);
  harness.restart();

  await harness.user.publish([same]);
  await assert.rejects(harness.user.publish([request("https://c.test/")]), { kind: "too many requests" });
  await harness.advance(DAY_MS);
  await harness.user.publish([request("https://c.test/")]);
});

test("a duplicate of an earlier message in the same batch gets its id", async () => {
  const harness = await MessagingHarness.start();
  const same = request("https://a.test/", { isDeduplicatedByContent: true });
  const other = request("https://a.test/", { isDeduplicatedByContent: true }, "another body");
  const outcomes = await harness.user.publish([same, same, other]);
  await harness.settle();

  const published = outcomes.flatMap((outcome) => (outcome.kind === "url" ? [outcome.published] : outcome.published));
  assert.deepEqual(
    published.map(({ isDeduplicated }) => isDeduplicated),
    [false, true, false],
  );
  assert.equal(published[1]?.messageId, published[0]?.messageId);
  assert.equal(harness.calls.length, 2);
});

test("rejects a body above the limit with its size, and a queue above the limit of queues", async () => {
  const harness = await MessagingHarness.start({ bodyBytesMax: 4, queuesMax: 1 });
  await assert.rejects(harness.user.publish([request("https://a.test/", {}, "hello")]), {
    kind: "bad request",
    text: "The body has 5 bytes; the limit is 4",
  });
  await harness.user.publish([request("https://a.test/", { queueName: "a" }, "x")]);
  await assert.rejects(harness.user.publish([request("https://a.test/", { queueName: "b" }, "x")]), {
    kind: "quota exceeded",
    text: "Maximum number of queues exceeded: 1",
  });
});

test("forwarded headers of the publisher override the default headers of a group", async () => {
  const harness = await MessagingHarness.start();
  await harness.user.addEndpoints("g", [{ url: "https://a.test/" }]);
  await harness.user.setGroupHeaders("g", [
    ["X-Team", "blue"],
    ["X-Other", "1"],
  ]);
  await harness.user.publish([request("g", { headers: ["x-team", "red"] })]);
  await harness.settle();

  assert.equal(harness.calls[0]?.headers.get("x-team"), "red");
  assert.equal(harness.calls[0]?.headers.get("x-other"), "1");
});
