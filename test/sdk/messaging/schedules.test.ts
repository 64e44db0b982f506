/** Schedules of the official client: their records, firings and pauses. */
import assert from "node:assert/strict";
import { received, shown, testMethods } from "./served.ts";

const MINUTE_MS = 60_000;

testMethods("Schedules", [
  [
    ["schedules.create", "schedules.get"],
    "every option shows in the record",
    async (client) => {
      const created = await client.schedules.create({
        destination: "https://a.test/b?x=1",
        cron: " CRON_TZ=Europe/Berlin 0 9 * * 1-5 ",
        scheduleId: "workdays",
        method: "PUT",
        body: "payload",
        headers: { "Content-Type": "text/plain", "X-Team": "blue" },
        delay: 30,
        retries: 7,
        retryDelay: "1000",
        timeout: "90s",
        callback: "https://callback.test/",
        failureCallback: "https://failure.test/",
        flowControl: { key: "key", parallelism: 2 },
        queueName: "orders",
        label: "label",
      });

      assert.deepEqual(created, { scheduleId: "workdays" });
      assert.deepEqual(shown(await client.schedules.get("workdays")), {
        scheduleId: "workdays",
        cron: "CRON_TZ=Europe/Berlin 0 9 * * 1-5",
        createdAt: "ms",
        destination: "https://a.test/b?x=1",
        method: "PUT",
        header: { "Content-Type": ["text/plain"], "X-Team": ["blue"] },
        body: "payload",
        retries: 7,
        retryDelayExpression: "1000",
        delay: 30,
        timeout: 90_000,
        callback: "https://callback.test/",
        callbackHeader: { "Content-Type": ["application/json"] },
        failureCallback: "https://failure.test/",
        failureCallbackHeader: { "Content-Type": ["application/json"] },
        callerIP: "127.0.0.1",
        callerIp: "127.0.0.1",
        isPaused: false,
        queueName: "orders",
        label: "label",
        labels: ["label"],
        flowControlKey: "key",
        parallelism: 2,
        period: 1,
        nextScheduleTime: "ms",
      });
    },
  ],
  [
    ["schedules.create"],
    "it fires each minute, and each message names its schedule",
    async (client, served) => {
      const { scheduleId } = await client.schedules.create({
        destination: "https://a.test",
        cron: "* * * * *",
        body: "tick",
        headers: { "Content-Type": "text/plain" },
      });
      assert.deepEqual(shown({ scheduleId }), { scheduleId: "scd_…" });

      await served.advance(2 * MINUTE_MS);

      const deliveries = await served.destination.arrived(2);
      assert.deepEqual(deliveries.map(received), [
        { method: "POST", address: "a.test/", headers: { "content-type": "text/plain" }, body: "tick" },
        { method: "POST", address: "a.test/", headers: { "content-type": "text/plain" }, body: "tick" },
      ]);
      assert.equal(deliveries[0]?.headers["upstash-schedule-id"], scheduleId);
      const messageId = String(deliveries[1]?.headers["upstash-message-id"]);
      await served.logged(messageId, "DELIVERED");
      const { lastScheduleStates, lastScheduleTime = 0 } = await client.schedules.get(scheduleId);
      assert.deepEqual(lastScheduleStates, { [messageId]: "SUCCESS" });
      assert.equal(lastScheduleTime % MINUTE_MS, 0);
    },
  ],
  [
    ["schedules.create"],
    "to a URL group: one message for each endpoint it has when the schedule fires",
    async (client, served) => {
      await client.urlGroups.addEndpoints({ name: "group", endpoints: [{ url: "https://a.test/" }] });
      await client.schedules.create({ destination: "group", cron: "* * * * *" });
      await client.urlGroups.addEndpoints({ name: "group", endpoints: [{ url: "https://b.test/" }] });

      await served.advance(MINUTE_MS);

      const addresses = (await served.destination.arrived(2)).map(({ address }) => address);
      assert.deepEqual(addresses.toSorted(), ["a.test/", "b.test/"]);
    },
  ],
  [
    ["schedules.create"],
    "C1.replace: the same id replaces everything of the schedule except its creation time and its pause",
    async (client) => {
      const scheduleId = "s";
      await client.schedules.create({ destination: "https://a.test", cron: "@daily", scheduleId, body: "payload" });
      await client.schedules.pause({ schedule: scheduleId });
      const { createdAt } = await client.schedules.get(scheduleId);

      await client.schedules.create({ destination: "https://b.test", cron: "@hourly", scheduleId });

      const [replaced, ...others] = await client.schedules.list();
      assert.deepEqual(others, []);
      assert.deepEqual(
        [replaced?.destination, replaced?.cron, replaced?.body, replaced?.createdAt, replaced?.isPaused],
        ["https://b.test", "@hourly", undefined, createdAt, true],
      );
    },
  ],
  [
    ["schedules.list", "schedules.delete"],
    "all are listed, and a deleted one no longer fires",
    async (client, served) => {
      for (const scheduleId of ["first", "second"]) {
        await client.schedules.create({ destination: `https://${scheduleId}.test`, cron: "* * * * *", scheduleId });
      }
      assert.deepEqual(
        (await client.schedules.list()).map(({ scheduleId }) => scheduleId),
        ["first", "second"],
      );

      await client.schedules.delete("first");
      await served.advance(MINUTE_MS);

      const addresses = (await served.destination.arrived(1)).map(({ address }) => address);
      assert.deepEqual(addresses, ["second.test/"]);
      await assert.rejects(client.schedules.delete("first"), {
        status: 404,
        message: '{"error":"schedule first not found"}',
      });
    },
  ],
  [
    ["schedules.pause", "schedules.resume"],
    "a paused schedule does not catch up missed firings",
    async (client, served) => {
      await client.schedules.create({ destination: "https://a.test", cron: "* * * * *", scheduleId: "s" });
      await client.schedules.pause({ schedule: "s" });
      assert.equal((await client.schedules.get("s")).isPaused, true);
      await served.advance(3 * MINUTE_MS);
      assert.equal(served.destination.deliveries.length, 0);

      await client.schedules.resume({ schedule: "s" });
      await served.advance(MINUTE_MS);

      assert.equal((await served.destination.arrived(1)).length, 1);
      assert.equal((await client.schedules.get("s")).isPaused, false);
    },
  ],
]);
