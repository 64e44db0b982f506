/** What a user may still publish, and what it may have. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { MessagingHarness, request } from "../../test/harness/messaging-harness.ts";

const DAY_MS = 86_400_000;

test("a batch that is more than what is left of the day is refused whole, until the next day begins (UTC)", async () => {
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

test("duplicates count for nothing in the day, and the count outlives a restart", async () => {
  const harness = await MessagingHarness.start({ messagesPerDayMax: 2 });
  const same = request("https://a.test/", { deduplicationId: "d" });
  await harness.user.publish([same, same, request("https://b.test/")]);
  harness.restart();

  await harness.user.publish([same]);
  await assert.rejects(harness.user.publish([request("https://c.test/")]), { kind: "too many requests" });
  await harness.advance(DAY_MS);
  await harness.user.publish([request("https://c.test/")]);
});

test("a message that is the same as one before it in its batch has its id", async () => {
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

test("a body above the limit is refused by its size, a queue above the limit by its number", async () => {
  const harness = await MessagingHarness.start({ bodyBytesMax: 4, queuesMax: 1 });
  await assert.rejects(harness.user.publish([request("https://a.test/", {}, "hello")]), {
    kind: "bad request",
    text: "The body has 5 bytes, and the most is 4",
  });
  await harness.user.publish([request("https://a.test/", { queueName: "a" }, "x")]);
  await assert.rejects(harness.user.publish([request("https://a.test/", { queueName: "b" }, "x")]), {
    kind: "quota exceeded",
    text: "Maximum number of queues exceeded: 1",
  });
});

test("a group's default headers yield to those that the publisher forwards", async () => {
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
