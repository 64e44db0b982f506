/** Bodies that are moved out of old segments while their messages change. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { answered, MessagingHarness } from "../../../test/harness/messaging-harness.ts";
import { defaultLimits } from "../limits.ts";
import { replayFrame } from "../records/replay.ts";
import { MessagingState } from "../state/messaging-state.ts";
import { moveBodies } from "./cleaning.ts";

test("the body of a message that fails during the read is not recorded as a message's", async () => {
  const harness = await MessagingHarness.start();
  harness.destination = () => answered(500);
  const { bodies } = harness.messaging.engine.state;
  const reads: (() => void)[] = [];
  bodies.open({ read: () => new Promise((resolve) => reads.push(() => resolve(Buffer.from("hello")))) });
  // Not due soon, so its bytes leave memory when they are written.
  await harness.publish("https://a.test/", { retriesMax: 0, delayMs: 60_000 });
  bodies.written({ start: 0, end: harness.journal.end, segment: 1, offset: 0 });
  await harness.advance(60_000);
  const moving = moveBodies(harness.messaging.engine, [{ number: 1, bytes: 10_000 }]);
  await harness.settle();
  assert.equal(reads.length, 2);

  reads[0]?.();
  await harness.settle();
  assert.equal(harness.messaging.engine.counts.failed, 1);
  reads[1]?.();
  await harness.settle();
  reads[2]?.();
  await moving;

  const state = new MessagingState(defaultLimits);
  for (const frame of harness.journal.frames) replayFrame(state, frame, { segment: 1, offset: 0 });
  assert.equal(state.findUser("main")?.deadLetters.size, 1);
});
