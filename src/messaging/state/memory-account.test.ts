/** The memory account of a user, and the operations of a user that may not grow. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { answered, MessagingHarness, request, USER } from "../../../test/harness/messaging-harness.ts";
import { MemoryGuard } from "../../kernel/memory-guard.ts";

function bytesOf(harness: MessagingHarness): number {
  return harness.messaging.engine.state.findUser(USER)?.memory.bytes ?? assert.fail("there is no user");
}

const HOUR_MS = 3_600_000;

test("waiting messages count with their bodies and envelopes until they are delivered", async () => {
  const harness = await MessagingHarness.start();
  assert.equal(bytesOf(harness), 0);
  for (let i = 0; i < 10; i += 1) await harness.publish("https://a.test/", { delayMs: HOUR_MS }, "x".repeat(1_000));
  const waiting = bytesOf(harness);
  assert.ok(waiting > 14_000 && waiting < 16_000, `${waiting}`);

  harness.restart();
  assert.equal(bytesOf(harness), waiting);
  await harness.advance(2 * HOUR_MS);
  assert.equal(harness.calls.length, 10);
  assert.equal(bytesOf(harness), 0);
});

test("a dead letter counts until it is deleted", async () => {
  const harness = await MessagingHarness.start();
  harness.destination = () => answered(500, [], "y".repeat(2_000));
  await harness.publish("https://a.test/", { retriesMax: 0 }, "x".repeat(1_000));
  await harness.settle();
  const kept = bytesOf(harness);
  assert.ok(kept > 3_600 && kept < 6_000, `${kept}`);
  harness.restart();
  assert.equal(bytesOf(harness), kept);

  const { deleted } = await harness.user.deleteDeadLetters({ attributes: new Map() }, {});
  assert.equal(deleted, 1);
  assert.equal(bytesOf(harness), 0);
});

test("schedules, queues, URL groups and flow keys count until they are removed", async () => {
  const harness = await MessagingHarness.start();
  const { user } = harness;
  const id = await user.putSchedule({ cron: "0 0 1 1 *", ...request("https://a.test/") });
  await user.putQueue("q", { parallelism: 2 });
  await user.addEndpoints("g", [{ url: "https://a.test/" }]);
  assert.equal(bytesOf(harness), 2_005 + 1_000 + 617);
  await user.deleteSchedule(id);
  await user.deleteQueue("q");
  await user.deleteGroup("g");
  assert.equal(bytesOf(harness), 0);
});

test("A-16: when memory is nearly used up, the largest user may not publish; others may, and all may delete", async () => {
  const harness = await MessagingHarness.start();
  const { state } = harness.messaging.engine;
  await harness.messaging.createUser("other");
  for (let i = 0; i < 10; i += 1) await harness.publish("https://a.test/", { delayMs: HOUR_MS }, `${i}`);
  assert.ok(state.messages.size === 10);
  const readBytes = (): number => {
    const { users } = harness.messaging.engine.state;
    return [...users].reduce((sum, { memory }) => sum + memory.bytes, 0);
  };
  harness.guard = new MemoryGuard({ bytesMax: bytesOf(harness) / 0.72, readBytes });
  harness.restart();

  const refusal = /^The memory of messaging is nearly used up/;
  await assert.rejects(
    harness.publish("https://a.test/"),
    ({ kind, text }) => kind === "unavailable" && refusal.test(text),
  );
  const other = harness.messaging.user("other") ?? assert.fail();
  assert.equal((await other.publish([request("https://b.test/")])).length, 1);
  assert.equal(await harness.user.cancelMatching({ attributes: new Map() }), 10);
  assert.notEqual(await harness.publish("https://a.test/"), "");
});
