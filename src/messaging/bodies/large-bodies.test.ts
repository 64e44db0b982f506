/** Long messages and long answers on an engine: limits of calls and of recorded answers. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { answered, MessagingHarness } from "../../../test/harness/messaging-harness.ts";

test("long bodies are sent within the limit, one user's within half of it; short ones do not wait", async () => {
  const MB = 1024 * 1024;
  const harness = await MessagingHarness.start({ largeCallsBytesMax: 8 * MB });
  harness.destination = () => "later";
  const long = "x".repeat(1.5 * MB);
  const ids: string[] = [];
  for (let count = 0; count < 4; count += 1) ids.push(await harness.publish("https://a.test/", {}, long));
  await harness.publish("https://a.test/short");
  await harness.settle();
  const called = () => harness.calls.map(({ url, body }) => `${new URL(url).pathname} ${body.length}`);
  assert.deepEqual(called(), ["/ 1572864", "/ 1572864", "/short 5"]);

  // A waiting call is cancelled, and is never sent.
  assert.equal(await harness.user.cancel(ids[2] ?? ""), true);
  harness.calls[0]?.answer(answered(200));
  await harness.settle();
  assert.equal(harness.calls.length, 4);
  assert.equal(harness.calls[3]?.headers.get("upstash-message-id"), ids[3]);
  assert.equal(harness.messaging.engine.counts.cancelled, 1);
  for (const call of harness.calls) call.answer(answered(200));
  await harness.settle();
  assert.equal(harness.messaging.engine.state.messages.size, 0);
});

test("large answers are recorded one after the other, each when the previous one is on the disk", async () => {
  const harness = await MessagingHarness.start();
  const answer = answered(200, [], "x".repeat(2 * 1024 * 1024));
  harness.destination = ({ url }) => (url.endsWith("/callback") ? answered(200) : "later");
  const callback = { url: "https://a.test/callback", given: [] };
  for (const n of [1, 2]) await harness.publish(`https://a.test/${n}`, { callback });
  await harness.settle();
  harness.journal.hold();
  const { length } = harness.journal.frames;
  for (const call of harness.calls) call.answer(answer);
  await harness.settle();
  assert.equal(harness.journal.frames.length, length + 1);

  harness.journal.release();
  await harness.settle();
  await harness.settle();
  assert.equal(harness.calls.filter(({ url }) => url.endsWith("/callback")).length, 2);
  assert.equal(harness.messaging.engine.state.messages.size, 0);
});
