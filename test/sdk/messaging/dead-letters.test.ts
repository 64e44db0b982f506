/** The dead-letter queue of the official client: listing, deleting and retrying in every form. */
import assert from "node:assert/strict";
import type { Client } from "@upstash/qstash";
import { received, type Served, shown, testMethods } from "./served.ts";

/** Publishes messages that fail at once, and resolves with the ids of their dead letters. */
async function fail(client: Client, served: Served, urls: readonly string[]): Promise<readonly string[]> {
  served.destination.answer = () => ({ status: 500, headers: { "X-Reason": "tired" }, body: "no" });
  for (const url of urls) {
    const { messageId } = await client.publish({
      url,
      body: "payload",
      headers: { "Content-Type": "text/plain", "X-Team": "blue" },
      retries: 0,
      label: new URL(url).host,
    });
    await served.logged(messageId, "FAILED");
  }
  const { messages } = await client.dlq.listMessages();
  return messages.map(({ dlqId }) => dlqId);
}

const both = ["https://a.test/", "https://b.test/"] as const;

testMethods("Dead letters", [
  [
    ["dlq.listMessages"],
    "a dead letter is the message with its last answer",
    async (client, served) => {
      assert.deepEqual(shown(await client.dlq.listMessages()), { messages: [] });
      await fail(client, served, ["https://a.test/b?x=1"]);

      const { messages, cursor } = await client.dlq.listMessages();

      assert.equal(cursor, undefined);
      const [letter] = messages;
      const { responseHeader, ...rest } = shown(letter) as Record<string, unknown>;
      assert.deepEqual(rest, {
        dlqId: "dead letter …",
        messageId: "msg_…",
        url: "https://a.test/b?x=1",
        method: "POST",
        header: { "Content-Type": ["text/plain"], "X-Team": ["blue"] },
        body: "payload",
        maxRetries: 0,
        notBefore: "ms",
        createdAt: "ms",
        callerIP: "127.0.0.1",
        callerIp: "127.0.0.1",
        label: "a.test",
        labels: ["a.test"],
        responseStatus: 500,
        responseBody: "no",
      });
      assert.deepEqual((responseHeader as Record<string, unknown>)["X-Reason"], ["tired"]);
    },
  ],
  [
    ["dlq.listMessages"],
    "by ids, by filters, and page by page",
    async (client, served) => {
      const [first = "", second = ""] = await fail(client, served, both);
      const list = async (options: Parameters<Client["dlq"]["listMessages"]>[0]): Promise<readonly string[]> =>
        (await client.dlq.listMessages(options)).messages.map(({ url }) => url);

      assert.deepEqual(await list({ dlqIds: [second] }), ["https://b.test/"]);
      assert.deepEqual(await list({ dlqIds: first }), ["https://a.test/"]);
      assert.deepEqual(await list({ filter: { label: ["b.test", "c.test"] } }), ["https://b.test/"]);
      assert.deepEqual(await list({ filter: { url: "https://a.test/", responseStatus: [500, 502] } }), [
        "https://a.test/",
      ]);
      assert.deepEqual(await list({ filter: { responseStatus: 404 } }), []);
      assert.deepEqual(await list({ filter: { callerIp: "127.0.0.1", fromDate: 1 } }), both);
      assert.deepEqual(await list({ filter: { toDate: 1 } }), []);

      const page = await client.dlq.listMessages({ count: 1 });
      assert.deepEqual(
        page.messages.map(({ url }) => url),
        ["https://a.test/"],
      );
      assert.equal(typeof page.cursor, "string");
      const last = await client.dlq.listMessages({ count: 1, cursor: page.cursor ?? "" });
      assert.deepEqual([last.messages[0]?.url, last.cursor], ["https://b.test/", undefined]);
    },
  ],
  [
    ["dlq.delete"],
    "by id: once",
    async (client, served) => {
      const [first = ""] = await fail(client, served, both);
      assert.deepEqual(await client.dlq.delete(first), { deleted: 1 });
      await assert.rejects(client.dlq.delete(first), {
        status: 404,
        message: `{"error":"dead letter ${first} not found"}`,
      });
    },
  ],
  [
    ["dlq.delete", "dlq.deleteMany"],
    "by ids, by filters, page by page, and all",
    async (client, served) => {
      const ids = await fail(client, served, [...both, "https://c.test/", "https://d.test/", "https://e.test/"]);
      const [first = "", second = "", third = ""] = ids;

      assert.deepEqual(await client.dlq.delete([first, "1-0"]), { deleted: 1 });
      assert.deepEqual(await client.dlq.delete({ dlqIds: [first, second] }), { deleted: 1 });
      assert.deepEqual(await client.dlq.deleteMany({ dlqIds: [third] }), { deleted: 1 });
      assert.deepEqual(await client.dlq.delete({ filter: { label: "none" } }), { deleted: 0 });
      const page = await client.dlq.delete({ all: true, count: 1 });
      assert.equal(page.deleted, 1);
      assert.equal(typeof page.cursor, "string");
      const rest = await client.dlq.delete({ all: true, ...(page.cursor !== undefined && { cursor: page.cursor }) });
      assert.deepEqual(rest, { deleted: 1 });
      assert.deepEqual(await client.dlq.delete({ all: true }), { deleted: 0 });
      assert.deepEqual(await client.dlq.delete([]), { deleted: 0 });
    },
  ],
  [
    ["dlq.retry"],
    "the message is published again unchanged, and the dead letter is removed",
    async (client, served) => {
      const [first = ""] = await fail(client, served, ["https://a.test/b?x=1"]);
      const { messages } = await client.dlq.listMessages();
      served.destination.answer = () => ({ status: 200 });

      const { responses, cursor } = await client.dlq.retry(first);

      assert.deepEqual(shown(responses), [{ messageId: "msg_…", deduplicated: false }]);
      assert.equal(cursor, undefined);
      assert.notEqual(responses[0]?.messageId, messages[0]?.messageId);
      const [, again] = (await served.destination.arrived(2)).map(received);
      assert.deepEqual(again, {
        method: "POST",
        address: "a.test/b?x=1",
        headers: { "content-type": "text/plain", "x-team": "blue" },
        body: "payload",
      });
      assert.deepEqual((await client.dlq.listMessages()).messages, []);
    },
  ],
  [
    ["dlq.retry"],
    "by ids: if one is missing, none is retried",
    async (client, served) => {
      const ids = await fail(client, served, both);
      await assert.rejects(client.dlq.retry([...ids, "1-0"]), {
        status: 404,
        message: '{"error":"Some messages are not in the dead-letter queue: 1-0"}',
      });
      assert.equal((await client.dlq.listMessages()).messages.length, 2);

      served.destination.answer = () => ({ status: 200 });
      assert.equal((await client.dlq.retry({ dlqIds: [...ids] })).responses.length, 2);
      assert.deepEqual(await client.dlq.retry([]), { responses: [] });
    },
  ],
  [
    ["dlq.retry"],
    "by filters, page by page, and all",
    async (client, served) => {
      await fail(client, served, [...both, "https://c.test/"]);
      served.destination.answer = () => ({ status: 200 });

      assert.equal((await client.dlq.retry({ filter: { label: "b.test" } })).responses.length, 1);
      const page = await client.dlq.retry({ all: true, count: 1 });
      assert.equal(page.responses.length, 1);
      assert.equal(typeof page.cursor, "string");
      const rest = await client.dlq.retry({ all: true, cursor: page.cursor ?? "" });
      assert.deepEqual([rest.responses.length, rest.cursor], [1, undefined]);
      assert.deepEqual(await client.dlq.retry({ all: true }), { responses: [], cursor: undefined });
      const addresses = (await served.destination.arrived(6)).slice(3).map(({ address }) => address);
      assert.deepEqual(addresses.toSorted(), ["a.test/", "b.test/", "c.test/"]);
    },
  ],
]);
