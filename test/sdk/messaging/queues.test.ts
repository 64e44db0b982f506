/** Queues of the official client: strict order, pauses, parallelism. */
import assert from "node:assert/strict";
import { received, shown, testMethods } from "./served.ts";

testMethods("Queues", [
  [
    ["queue", "queue.upsert", "queue.get"],
    "a queue is created and changed by the same call",
    async (client) => {
      const queue = client.queue({ queueName: "orders" });
      await queue.upsert({ parallelism: 3 });
      const created = await queue.get();
      assert.deepEqual(shown(created), {
        createdAt: "ms",
        updatedAt: "ms",
        name: "orders",
        parallelism: 3,
        lag: 0,
        paused: false,
      });

      await queue.upsert({ paused: true });
      const changed = await queue.get();
      assert.deepEqual([changed.parallelism, changed.paused], [1, true]);
      assert.equal(changed.createdAt, created.createdAt);
    },
  ],
  [
    ["queue.list"],
    "all queues are listed",
    async (client) => {
      assert.deepEqual(await client.queue().list(), []);
      for (const queueName of ["first", "second"]) await client.queue({ queueName }).upsert({ parallelism: 2 });

      assert.deepEqual(
        (await client.queue().list()).map(({ name, parallelism }) => [name, parallelism]),
        [
          ["first", 2],
          ["second", 2],
        ],
      );
    },
  ],
  [
    ["queue.delete"],
    "a queue is deleted with its messages, and deleting a missing one is not an error",
    async (client) => {
      const queue = client.queue({ queueName: "orders" });
      await queue.upsert({ paused: true });
      const { messageId } = await queue.enqueue({ url: "https://a.test" });

      await queue.delete();
      await queue.delete();

      assert.deepEqual(await client.queue().list(), []);
      const { logs } = await client.logs({ messageIds: [messageId] });
      assert.deepEqual(
        logs.map(({ state }) => state),
        ["CANCELED", "CANCEL_REQUESTED", "CREATED"],
      );
      await assert.rejects(queue.get(), { status: 404, message: '{"error":"queue orders not found"}' });
    },
  ],
  [
    ["queue.enqueue"],
    "a message goes through a queue that is created for it, with parallelism 1",
    async (client, { destination }) => {
      const queue = client.queue({ queueName: "orders" });
      const enqueued = await queue.enqueue({
        url: "https://a.test/b?x=1",
        body: "payload",
        headers: { "Content-Type": "text/plain", "X-Team": "blue" },
      });

      assert.deepEqual(shown(enqueued), { messageId: "msg_…", url: "https://a.test/b?x=1" });
      assert.equal((await queue.get()).parallelism, 1);
      const [delivery] = (await destination.arrived(1)).map(received);
      assert.deepEqual(delivery, {
        method: "POST",
        address: "a.test/b?x=1",
        headers: { "content-type": "text/plain", "x-team": "blue" },
        body: "payload",
      });
    },
  ],
  [
    ["queue.enqueueJSON"],
    "the next message starts only after the one before it has failed permanently",
    async (client, served) => {
      const { destination } = served;
      destination.answer = ({ body }) => ({ status: body === "1" ? 500 : 200 });
      const queue = client.queue({ queueName: "orders" });
      const url = "https://a.test";
      const first = await queue.enqueueJSON({ url, body: 1, retries: 1 });
      const second = await queue.enqueueJSON({ url, body: 2 });
      await served.logged(first.messageId, "RETRY");
      assert.equal((await client.queue({ queueName: "orders" }).get()).lag, 2);
      const { waitsFor } = (await client.messages.get(second.messageId)) as { waitsFor?: string };
      assert.equal(waitsFor, "It waits for its turn in the queue orders");

      await served.advance(12_000);
      await destination.arrived(3);

      assert.deepEqual(
        destination.deliveries.map(({ body, headers }) => `${body} ${headers["upstash-retried"]}`),
        ["1 0", "1 1", "2 0"],
      );
    },
  ],
  [
    ["queue.enqueueJSON"],
    "to a URL group: each endpoint is a separate message in order",
    async (client, { destination }) => {
      const endpoints = [{ url: "https://a.test/" }, { url: "https://b.test/" }];
      await client.urlGroups.addEndpoints({ name: "group", endpoints });
      const enqueued = await client.queue({ queueName: "orders" }).enqueueJSON({ urlGroup: "group", body: 1 });

      assert.deepEqual(shown(enqueued), [
        { messageId: "msg_…", url: "https://a.test/" },
        { messageId: "msg_…", url: "https://b.test/" },
      ]);
      const addresses = (await destination.arrived(2)).map(({ address }) => address);
      assert.deepEqual(addresses, ["a.test/", "b.test/"]);
    },
  ],
  [
    ["queue.upsert"],
    "the parallelism of a queue limits its running calls",
    async (client, { destination }) => {
      destination.answer = () => "later";
      const queue = client.queue({ queueName: "orders" });
      await queue.upsert({ parallelism: 2 });
      for (const body of ["1", "2", "3"]) await queue.enqueue({ url: "https://a.test", body });
      await destination.arrived(2);
      assert.equal((await queue.get()).lag, 1);

      destination.deliveries[0]?.answerNow({ status: 200 });

      const bodies = (await destination.arrived(3)).map(({ body }) => body);
      assert.deepEqual(bodies.toSorted(), ["1", "2", "3"]);
    },
  ],
  [
    ["queue.pause", "queue.resume"],
    "a paused queue holds its messages, and a queue may be paused before it exists",
    async (client, served) => {
      const queue = client.queue({ queueName: "orders" });
      await queue.pause();
      assert.equal((await queue.get()).paused, true);
      await queue.enqueue({ url: "https://a.test" });
      await served.advance(60_000);
      assert.deepEqual([served.destination.deliveries.length, (await queue.get()).lag], [0, 1]);

      await queue.resume();

      assert.equal((await served.destination.arrived(1)).length, 1);
      assert.equal((await queue.get()).paused, false);
    },
  ],
]);
