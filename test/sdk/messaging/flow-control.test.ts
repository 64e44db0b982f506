/** Flow control of the official client: the description of a key, and its limits. */
import assert from "node:assert/strict";
import { shown, testMethods } from "./served.ts";

const url = "https://a.test";

testMethods("Flow control", [
  [
    ["flowControl.get"],
    "a key exists right after the publish that names it",
    async (client) => {
      await client.publish({ url, delay: "1h", flowControl: { key: "key", parallelism: 2, rate: 3, period: "1m" } });

      assert.deepEqual(shown(await client.flowControl.get("key")), {
        flowControlKey: "key",
        waitListSize: 0,
        waitlistSize: 0,
        parallelismMax: 2,
        parallelismCount: 0,
        rateMax: 3,
        rateCount: 0,
        ratePeriod: 60,
        ratePeriodStart: 0,
        isPaused: false,
        isPinnedParallelism: false,
        isPinnedRate: false,
      });
      await assert.rejects(client.flowControl.get("other"), {
        status: 404,
        message: '{"error":"flow control key other not found"}',
      });
    },
  ],
  [
    ["flowControl.get"],
    "the parallelism of a key limits its running calls, and the others wait",
    async (client, { destination }) => {
      destination.answer = () => "later";
      const flowControl = { key: "key", parallelism: 1 };
      for (const body of ["1", "2"]) await client.publish({ url, body, flowControl });
      await destination.arrived(1);
      const { waitListSize, parallelismCount } = await client.flowControl.get("key");
      assert.deepEqual([waitListSize, parallelismCount], [1, 1]);

      destination.deliveries[0]?.answerNow({ status: 200 });

      assert.deepEqual(
        (await destination.arrived(2)).map(({ body }) => body),
        ["1", "2"],
      );
    },
  ],
  [
    ["flowControl.getGlobalParallelism"],
    "the number of running calls of the user, and its limit",
    async (client, { destination }) => {
      assert.deepEqual(await client.flowControl.getGlobalParallelism(), {
        parallelismMax: 1_000,
        parallelismCount: 0,
      });
      destination.answer = () => "later";
      await client.publish({ url });
      await destination.arrived(1);
      assert.equal((await client.flowControl.getGlobalParallelism()).parallelismCount, 1);
    },
  ],
  [
    ["flowControl.pause", "flowControl.resume"],
    "a paused key holds its messages, and is created by the pause",
    async (client, served) => {
      await client.flowControl.pause("key");
      assert.equal((await client.flowControl.get("key")).isPaused, true);
      await client.publish({ url, flowControl: { key: "key", parallelism: 1 } });
      await served.advance(60_000);
      assert.deepEqual(
        [(await client.flowControl.get("key")).waitListSize, served.destination.deliveries.length],
        [1, 0],
      );

      await client.flowControl.resume("key");

      await served.destination.arrived(1);
      assert.equal((await client.flowControl.get("key")).isPaused, false);
    },
  ],
  [
    ["flowControl.pin", "flowControl.unpin"],
    "pinned values override those of messages, until they are unpinned",
    async (client) => {
      const flowControl = { key: "key", parallelism: 1, rate: 1, period: "1h" } as const;
      const limits = async (): Promise<readonly unknown[]> => {
        const key = await client.flowControl.get("key");
        return [key.parallelismMax, key.rateMax, key.ratePeriod, key.isPinnedParallelism, key.isPinnedRate];
      };
      await client.flowControl.pin("key", { parallelism: 7, rate: 8, period: 9 });
      await client.publish({ url, delay: "1h", flowControl });
      assert.deepEqual(await limits(), [7, 8, 9, true, true]);

      await client.flowControl.unpin("key", { parallelism: true });
      await client.publish({ url, delay: "1h", flowControl });
      assert.deepEqual(await limits(), [1, 8, 9, false, true]);

      await client.flowControl.unpin("key", { rate: true });
      await client.publish({ url, delay: "1h", flowControl });
      assert.deepEqual(await limits(), [1, 1, 3_600, false, false]);
    },
  ],
  [
    ["flowControl.resetRate"],
    "the window restarts, also during a call",
    async (client, { destination }) => {
      destination.answer = () => "later";
      const flowControl = { key: "key", rate: 1, period: "1h" } as const;
      for (const body of ["1", "2"]) await client.publish({ url, body, flowControl });
      await destination.arrived(1);
      const { rateCount, waitListSize, ratePeriodStart } = await client.flowControl.get("key");
      assert.deepEqual([rateCount, waitListSize], [1, 1]);
      assert.ok(ratePeriodStart > 1.7e9 && ratePeriodStart < 1e11, "the start of the window is in seconds");

      await client.flowControl.resetRate("key");

      assert.deepEqual(
        (await destination.arrived(2)).map(({ body }) => body),
        ["1", "2"],
      );
      await client.flowControl.resetRate("unknown");
    },
  ],
]);
