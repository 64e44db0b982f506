/** Messages of the official client: reading them, cancelling them in every form, and their log. */
import assert from "node:assert/strict";
import type { Client } from "@upstash/qstash";
import { shown, testMethods } from "./served.ts";

const delay = "2m";

/** Three delayed messages. */
async function publishThree(client: Client): Promise<readonly [string, string, string]> {
  const { messageId: first } = await client.publish({ url: "https://a.test/1", delay, label: ["x", "y"] });
  const flowControl = { key: "key", parallelism: 1 };
  const { messageId: second } = await client.publish({ url: "https://a.test/2", delay, label: "y", flowControl });
  const { messageId: third } = await client.publish({ url: "https://b.test/1", delay });
  return [first, second, third];
}

testMethods("Messages", [
  [
    ["messages.get"],
    "a message can be read right after the publish, even if it was delivered at once",
    async (client, served) => {
      const { messageId } = await client.publish({
        url: "https://a.test",
        body: "payload",
        headers: { "Content-Type": "text/plain" },
      });
      await served.logged(messageId, "DELIVERED");

      assert.deepEqual(shown(await client.messages.get(messageId)), {
        messageId: "msg_…",
        url: "https://a.test",
        method: "POST",
        header: { "Content-Type": ["text/plain"] },
        body: "payload",
        maxRetries: 3,
        notBefore: "ms",
        createdAt: "ms",
        callerIP: "127.0.0.1",
        callerIp: "127.0.0.1",
      });
      await served.advance(60_001);
      await assert.rejects(client.messages.get(messageId), {
        status: 404,
        message: `{"error":"message ${messageId} not found"}`,
      });
    },
  ],
  [
    ["messages.get"],
    "a body that is not text is shown in base64",
    async (client) => {
      const body = new Blob([Uint8Array.of(0xff, 0xfe)]) as never;
      const { messageId } = await client.publish({ url: "https://a.test", body, delay });

      const message = await client.messages.get(messageId);
      assert.deepEqual([message.body, message.bodyBase64], [undefined, "//4="]);
    },
  ],
  [
    ["messages.get"],
    "a message to a group names the group and the endpoint",
    async (client) => {
      await client.urlGroups.addEndpoints({ name: "group", endpoints: [{ url: "https://a.test/", name: "first" }] });
      const [published] = await client.publish({ urlGroup: "group", delay });

      const { urlGroup, topicName, endpointName, url } = await client.messages.get(published?.messageId ?? "");
      assert.deepEqual([urlGroup, topicName, endpointName, url], ["group", "group", "first", "https://a.test/"]);
    },
  ],
  [
    ["messages.cancel"],
    "by id: once, and it is never delivered",
    async (client, served) => {
      const [first] = await publishThree(client);

      assert.deepEqual(await client.messages.cancel(first), { cancelled: 1 });

      await assert.rejects(client.messages.cancel(first), {
        status: 404,
        message: `{"error":"message ${first} not found"}`,
      });
      await served.advance(120_000);
      const addresses = (await served.destination.arrived(2)).map(({ address }) => address);
      assert.deepEqual(addresses.toSorted(), ["a.test/2", "b.test/1"]);
    },
  ],
  [
    ["messages.cancel"],
    "by a list of ids: missing ones are not counted",
    async (client) => {
      const [first, second] = await publishThree(client);
      assert.deepEqual(await client.messages.cancel([first, "msg_unknown"]), { cancelled: 1 });
      assert.deepEqual(await client.messages.cancel({ messageIds: [first, second] }), { cancelled: 1 });
      assert.deepEqual(await client.messages.cancel([]), { cancelled: 0 });
    },
  ],
  [
    ["messages.cancel"],
    "by filters, of which all must match, and one value of each",
    async (client) => {
      await publishThree(client);
      const cancel = async (filter: object): Promise<number> =>
        (await client.messages.cancel({ filter } as { filter: { label: string } })).cancelled;

      assert.equal(await cancel({ label: "y", url: "https://b.test/1" }), 0);
      assert.equal(await cancel({ host: "a.test", path: "/2", flowControlKey: "key" }), 1);
      assert.equal(await cancel({ label: ["x", "z"] }), 1);
      assert.equal(await cancel({ url: ["https://a.test/1", "https://b.test/1"], fromDate: new Date(0) }), 1);
      assert.equal(await cancel({ label: "y" }), 0);
    },
  ],
  [
    ["messages.cancel"],
    "by group, queue, schedule and caller",
    async (client, served) => {
      await client.urlGroups.addEndpoints({ name: "group", endpoints: [{ url: "https://a.test/" }] });
      await client.publish({ urlGroup: "group", delay });
      await client.queue({ queueName: "queue" }).enqueue({ url: "https://a.test", delay });
      await client.schedules.create({ destination: "https://a.test", cron: "* * * * *", scheduleId: "s", delay });
      await served.advance(60_000);

      assert.deepEqual(await client.messages.cancel({ filter: { urlGroup: "group" } }), { cancelled: 1 });
      assert.deepEqual(await client.messages.cancel({ filter: { queueName: "queue" } }), { cancelled: 1 });
      assert.deepEqual(await client.messages.cancel({ filter: { scheduleId: "s" } }), { cancelled: 1 });
      assert.deepEqual(await client.messages.cancel({ filter: { callerIp: "127.0.0.1" } }), { cancelled: 0 });
    },
  ],
  [
    ["messages.cancel"],
    "all of them in one call, whatever the count",
    async (client) => {
      const [first] = await publishThree(client);
      assert.deepEqual(await client.messages.cancel({ all: true, count: 1 }), { cancelled: 3 });
      assert.deepEqual(await client.messages.cancel([first]), { cancelled: 0 });
      await client.batchJSON(Array.from({ length: 600 }, (_, id) => ({ url: "https://a.test/", body: id, delay })));
      assert.deepEqual(await client.messages.cancel({ all: true }), { cancelled: 600 });
      assert.deepEqual(await client.messages.cancel({ all: true }), { cancelled: 0 });
    },
  ],
  [
    ["messages.cancel"],
    "a message being called: the outcome of the call is ignored",
    async (client, served) => {
      const { destination } = served;
      destination.answer = () => "later";
      const { messageId } = await client.publish({
        url: "https://a.test",
        callback: "https://callback.test/",
        failureCallback: "https://failure.test/",
      });
      await destination.arrived(1);

      assert.deepEqual(await client.messages.cancel(messageId), { cancelled: 1 });
      destination.deliveries[0]?.answerNow({ status: 500 });

      await served.logged(messageId, "CANCELED");
      const { logs } = await client.logs({ messageIds: [messageId] });
      assert.deepEqual(
        logs.map(({ state }) => state),
        ["CANCELED", "CANCEL_REQUESTED", "ACTIVE", "CREATED"],
      );
      assert.deepEqual((await client.dlq.listMessages()).messages, []);
      assert.equal(destination.deliveries.length, 1);
    },
  ],
  [
    ["messages.delete", "messages.deleteMany", "messages.deleteAll"],
    "the older names also cancel",
    async (client) => {
      const [first, second] = await publishThree(client);
      assert.equal(await client.messages.delete(first), undefined);
      assert.equal(await client.messages.deleteMany([first, second]), 1);
      assert.equal(await client.messages.deleteAll(), 1);
    },
  ],
  [
    ["logs"],
    "every state of a message is an entry, the latest first",
    async (client, served) => {
      const { destination } = served;
      let calls = 0;
      destination.answer = () => {
        calls += 1;
        return calls === 1 ? { status: 500, headers: { "X-Reason": "tired" }, body: "no" } : { status: 200 };
      };
      const { messageId } = await client.publish({
        url: "https://a.test",
        body: "payload",
        headers: { "Content-Type": "text/plain" },
        retryDelay: "1000",
        label: "label",
      });
      await served.logged(messageId, "RETRY");
      await served.advance(1_000);
      await served.logged(messageId, "DELIVERED");

      const { logs, cursor } = await client.logs({ filter: { label: "label" } });

      const [delivered, , retry, error, active, created] = logs;
      assert.deepEqual(
        logs.map(({ state }) => state),
        ["DELIVERED", "ACTIVE", "RETRY", "ERROR", "ACTIVE", "CREATED"],
      );
      assert.equal(cursor, undefined);
      const common = {
        time: "ms",
        messageId: "msg_…",
        header: { "Content-Type": ["text/plain"] },
        body: Buffer.from("payload").toString("base64"),
        url: "https://a.test",
        method: "POST",
        maxRetries: 3,
        retryDelayExpression: "1000",
        retryDelayExpr: "1000",
        label: "label",
        labels: ["label"],
        callerIp: "127.0.0.1",
        callerIP: "127.0.0.1",
      };
      assert.deepEqual(shown(delivered), { ...common, state: "DELIVERED" });
      assert.deepEqual(shown(retry), { ...common, state: "RETRY", nextDeliveryTime: "ms" });
      assert.deepEqual(shown(active), { ...common, state: "ACTIVE" });
      assert.deepEqual(shown(created), { ...common, state: "CREATED" });
      const { responseHeader, responseHeaders, ...rest } = shown(error) as Record<string, unknown>;
      assert.deepEqual(rest, {
        ...common,
        state: "ERROR",
        error: "The destination answered 500",
        responseStatus: 500,
        responseBody: Buffer.from("no").toString("base64"),
      });
      assert.deepEqual((responseHeaders as Record<string, unknown>)["X-Reason"], ["tired"]);
      assert.deepEqual(responseHeader, responseHeaders);
      assert.equal((retry?.nextDeliveryTime ?? 0) - (retry?.time ?? 0), 1_000);
    },
  ],
  [
    ["logs"],
    "pages follow each other without a gap, and the last has no cursor",
    async (client) => {
      await publishThree(client);
      const urls: string[] = [];
      let pages = 0;
      for (let cursor: string | number | undefined = "", page = 0; cursor !== undefined && page < 9; page += 1) {
        const { logs, cursor: next }: { logs: { url: string }[]; cursor?: string | number } = await client.logs({
          count: 1,
          ...(cursor === "" ? {} : { cursor }),
        });
        urls.push(...logs.map(({ url }) => url));
        cursor = next;
        pages += 1;
      }

      assert.deepEqual(urls, ["https://b.test/1", "https://a.test/2", "https://a.test/1"]);
      assert.ok(pages === 3 || pages === 4, `${pages} pages`);
    },
  ],
  [
    ["logs"],
    "a loop that begins at the current time finds older entries",
    async (client) => {
      await publishThree(client);
      const [last] = (await client.logs()).logs;
      const { logs } = await client.logs({ cursor: (last?.time ?? 0) + 60_000 });
      assert.equal(logs.length, 3);
      assert.deepEqual((await client.logs({ cursor: 1_000 })).logs, []);
    },
  ],
  [
    ["logs"],
    "each filter selects its own entries",
    async (client, served) => {
      const endpoints = [{ url: "https://g.test/p", name: "first" }];
      await client.urlGroups.addEndpoints({ name: "group", endpoints });
      await client.schedules.create({ destination: "https://s.test", cron: "* * * * *", scheduleId: "s", delay });
      await served.advance(60_000);
      await client.publish({ urlGroup: "group", delay });
      await client.queue({ queueName: "queue" }).enqueue({ url: "https://q.test", delay });
      const [first, second] = await publishThree(client);
      const found = async (filter: object): Promise<readonly string[]> =>
        (await client.logs({ filter })).logs.map(({ url }) => url);

      assert.deepEqual(await found({ urlGroup: "group" }), ["https://g.test/p"]);
      assert.deepEqual(await found({ topicName: "group" }), ["https://g.test/p"]);
      assert.deepEqual(await found({ scheduleId: "s" }), ["https://s.test"]);
      assert.deepEqual(await found({ queueName: "queue" }), ["https://q.test"]);
      assert.deepEqual(await found({ url: ["https://a.test/1", "https://b.test/1"] }), [
        "https://b.test/1",
        "https://a.test/1",
      ]);
      assert.deepEqual(await found({ host: "g.test", path: "/p" }), ["https://g.test/p"]);
      assert.deepEqual(await found({ flowControlKey: "key" }), ["https://a.test/2"]);
      assert.deepEqual(await found({ label: ["x", "none"] }), ["https://a.test/1"]);
      assert.deepEqual(await found({ messageId: second }), ["https://a.test/2"]);
      assert.deepEqual(await found({ state: "DELIVERED" }), []);
      assert.equal((await found({ state: "CREATED" })).length, 6);
      assert.deepEqual(await found({ toDate: new Date(1) }), []);
      assert.equal((await found({ fromDate: 1, callerIp: "127.0.0.1" })).length, 6);
      assert.deepEqual(
        (await client.logs({ messageIds: [first, second] })).logs.map(({ url }) => url),
        ["https://a.test/2", "https://a.test/1"],
      );
    },
  ],
  [
    ["events"],
    "the older name of logs",
    async (client) => {
      const { messageId } = await client.publish({ url: "https://a.test", delay });

      const { events, logs } = await client.events({ filter: { messageId } });

      assert.deepEqual(
        events.map(({ state, url }) => `${state} ${url}`),
        ["CREATED https://a.test"],
      );
      assert.deepEqual(events, logs);
    },
  ],
]);
