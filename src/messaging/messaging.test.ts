import assert from "node:assert/strict";
import { test } from "node:test";
import { MessagingHarness, USER } from "../../test/harness/messaging-harness.ts";

const GIVEN = { current: "sig_current", next: "sig_next" };

test("C-19: rotations survive a restart with the same configured keys; other configured keys replace them", async () => {
  const harness = await MessagingHarness.start();
  const rotated = await harness.user.rotateSigningKeys();
  assert.equal(rotated.current, GIVEN.next);

  harness.restart();
  await harness.messaging.createUser(USER, GIVEN);
  assert.deepEqual(harness.user.signingKeys, rotated);

  await harness.messaging.createUser(USER, { current: "sig_a", next: "sig_b" });
  assert.deepEqual(harness.user.signingKeys, { current: "sig_a", next: "sig_b" });
});

test("a reset empties every user and restores its configured keys", async () => {
  const harness = await MessagingHarness.start();
  await harness.publish("https://a.test/", { delayMs: 1_000 });
  await harness.user.putQueue("q", {});
  await harness.user.rotateSigningKeys();

  await harness.messaging.reset();
  await harness.advance(2_000);

  assert.equal(harness.calls.length, 0);
  assert.deepEqual(harness.user.queues, []);
  assert.deepEqual(harness.user.signingKeys, GIVEN);
});

test("a dropped user is not found, and its calls end without a record", async () => {
  const harness = await MessagingHarness.start();
  harness.destination = () => "later";
  await harness.publish("https://a.test/");
  await harness.settle();
  await harness.messaging.dropUser(USER);
  harness.calls[0]?.answer({ kind: "answer", status: 200, headers: [], body: Buffer.alloc(0) });
  await harness.settle();

  assert.equal(harness.messaging.user(USER), undefined);
  harness.restart();
  assert.deepEqual(harness.messaging.userNames, []);
});
