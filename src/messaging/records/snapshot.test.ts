/** Messages in snapshots. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { answered, MessagingHarness } from "../../../test/harness/messaging-harness.ts";
import { defaultLimits } from "../limits.ts";
import { MessagingState } from "../state/messaging-state.ts";
import { replayFrame } from "./replay.ts";

function restored(harness: MessagingHarness): MessagingState {
  const state = new MessagingState(defaultLimits);
  for (const frame of harness.messaging.dump()) replayFrame(state, Buffer.from(frame), undefined);
  return state;
}

test("a callback holds its queue after a snapshot, but not a new queue of the same name", async () => {
  const harness = await MessagingHarness.start();
  harness.destination = ({ url }) => (url === "https://callback.test/" ? "later" : answered(200));
  const callback = { url: "https://callback.test/", given: [] };
  await harness.publish("https://a.test/", { queueName: "q", callback });
  await harness.settle();
  assert.deepEqual(restored(harness).findUser("main")?.queues.get("q")?.slotOwners, [1]);

  await harness.user.deleteQueue("q");
  await harness.user.putQueue("q", {});
  assert.deepEqual(restored(harness).findUser("main")?.queues.get("q")?.slotOwners, []);
});
