/** When publishers wait for deliveries (publish-backpressure.ts). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { answered, type Call, MessagingHarness } from "../../../test/harness/messaging-harness.ts";

/** One destination slot; the test answers the calls. */
async function busyHarness(callMs: number): Promise<{ harness: MessagingHarness; open: Call[] }> {
  const harness = await MessagingHarness.start({ originParallelism: 1 });
  const open: Call[] = [];
  harness.destination = (call) => {
    open.push(call);
    return "later";
  };
  for (let n = 0; n < 5; n += 1) await harness.publish("https://a.test/");
  await harness.settle();
  // One call shows how quick the destination is.
  await harness.advance(callMs);
  open[0]?.answer(answered(200));
  await harness.settle();
  return { harness, open };
}

test("no publisher waits while messages wait for less than 50 ms", async () => {
  const { harness } = await busyHarness(20);
  assert.equal(harness.messaging.engine.backpressure.wait(), undefined);
});

test("with a quick destination a publisher waits until the next call ends", async () => {
  const { harness, open } = await busyHarness(20);
  await harness.advance(60);
  const { backpressure } = harness.messaging.engine;
  const waiting = backpressure.wait();
  assert.ok(waiting !== undefined);
  assert.equal(backpressure.waitingCount, 1);

  open[1]?.answer(answered(200));
  await harness.settle();

  await waiting;
  assert.equal(backpressure.waitingCount, 0);
});

test("no publisher waits for longer than 250 ms", async () => {
  const { harness } = await busyHarness(20);
  await harness.advance(60);
  const waiting = harness.messaging.engine.backpressure.wait();
  await harness.advance(250);
  await waiting;
  assert.equal(harness.messaging.engine.backpressure.waitingCount, 0);
});

test("a slow destination and messages that wait for a rate do not delay publishers", async () => {
  const { harness } = await busyHarness(5_000);
  const flowControl = { key: "k", rate: 1, periodMs: 60_000 };
  await harness.publish("https://b.test/", { flowControl });
  await harness.publish("https://b.test/", { flowControl });
  await harness.advance(60);
  assert.equal(harness.messaging.engine.backpressure.wait(), undefined);
});
