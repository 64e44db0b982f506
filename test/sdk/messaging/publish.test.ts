/** `publish`, `publishJSON`, `batch` and `batchJSON` of the official client: their results, and the deliveries. */
import assert from "node:assert/strict";
import { anthropic, openai, resend } from "@upstash/qstash";
import { received, shown, testMethods } from "./served.ts";

const MINUTE_MS = 60_000;

testMethods("Publish", [
  [
    ["publish"],
    "the body arrives unchanged, with the configured headers",
    async (client, { destination }) => {
      const published = await client.publish({
        url: "https://a.test/b?x=1",
        body: "grüße",
        headers: { "Content-Type": "text/plain", "X-Team": "blue" },
      });

      assert.deepEqual(shown(published), { messageId: "msg_…", url: "https://a.test/b?x=1" });
      const [delivery] = (await destination.arrived(1)).map(received);
      assert.deepEqual(delivery, {
        method: "POST",
        address: "a.test/b?x=1",
        headers: { "content-type": "text/plain", "x-team": "blue" },
        body: "grüße",
      });
    },
  ],
  [
    ["publish"],
    "a delivery describes itself in both spellings",
    async (client, { destination }) => {
      const { messageId } = await client.publish({ url: "https://a.test" });

      const [delivery] = await destination.arrived(1);
      const own = Object.entries(delivery?.headers ?? {}).filter(([name]) => /^(?:upstash|service)-/.test(name));
      const { "upstash-signature": signature, "service-signature": same, ...others } = Object.fromEntries(own);
      assert.deepEqual(others, {
        "upstash-message-id": messageId,
        "service-message-id": messageId,
        "upstash-retried": "0",
        "service-retried": "0",
        "upstash-caller-ip": "127.0.0.1",
        "service-caller-ip": "127.0.0.1",
        "upstash-region": "US-EAST-1",
        "service-region": "US-EAST-1",
        "upstash-hops": "1",
        "service-hops": "1",
      });
      assert.match(String(signature), /^[\w-]+\.[\w-]+\.[\w-]+$/);
      assert.equal(same, signature);
      assert.equal(delivery?.headers["user-agent"], "Upstash-QStash");
    },
  ],
  [
    ["publish", "messages.get"],
    "every option shows in the record of the message",
    async (client) => {
      const { messageId } = await client.publish({
        url: "https://a.test",
        method: "PUT",
        body: "secret",
        headers: { "Content-Type": "text/plain", Authorization: "of the destination", "X-Open": "1" },
        delay: "26h",
        retries: 7,
        retryDelay: "1000 * (1 + retried)",
        timeout: "90s",
        callback: "https://callback.test/",
        failureCallback: "https://failure.test/",
        flowControl: { key: "key", parallelism: 2, rate: 3, period: "5403s" },
        label: ["one", "two"],
        redact: { body: true, header: ["authorization"] },
      });

      assert.deepEqual(shown(await client.messages.get(messageId)), {
        messageId: "msg_…",
        url: "https://a.test",
        method: "PUT",
        header: {
          "Content-Type": ["text/plain"],
          Authorization: ["REDACTED:1bbfcea9eae424ca3af4bb73218cf66fdad4cb85c1bbfa304052b25c3a04f5d9"],
          "X-Open": ["1"],
        },
        body: "REDACTED:2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b",
        maxRetries: 7,
        notBefore: "ms",
        createdAt: "ms",
        callback: "https://callback.test/",
        callbackHeader: { "Content-Type": ["application/json"] },
        failureCallback: "https://failure.test/",
        failureCallbackHeader: { "Content-Type": ["application/json"] },
        callerIP: "127.0.0.1",
        callerIp: "127.0.0.1",
        label: "one",
        labels: ["one", "two"],
        flowControlKey: "key",
        parallelism: 2,
        rate: 3,
        ratePerSecond: 3,
        period: 5403,
        timeout: 90_000,
        retryDelayExpression: "1000 * (1 + retried)",
        waitsFor: "It waits for its time, …",
      });
      const { notBefore = 0, createdAt } = await client.messages.get(messageId);
      assert.equal(notBefore - createdAt, 26 * 3_600_000);
    },
  ],
  [
    ["publish"],
    "a delay in seconds, and a time that wins over it",
    async (client) => {
      const { messageId } = await client.publish({ url: "https://a.test", delay: 30 });
      const delayed = await client.messages.get(messageId);
      assert.equal((delayed.notBefore ?? 0) - delayed.createdAt, 30_000);

      const moment = Math.floor(delayed.createdAt / 1000) + 90;
      const second = await client.publish({ url: "https://a.test", delay: "1h", notBefore: moment });
      assert.equal((await client.messages.get(second.messageId)).notBefore, moment * 1000);
    },
  ],
  [
    ["publish"],
    "a delayed message arrives when its time has come",
    async (client, served) => {
      await client.publish({ url: "https://later.test", delay: "1m" });
      await client.publish({ url: "https://now.test" });
      await served.destination.arrived(1);

      await served.advance(MINUTE_MS);

      const addresses = (await served.destination.arrived(2)).map(({ address }) => address);
      assert.deepEqual(addresses, ["now.test/", "later.test/"]);
    },
  ],
  [
    ["publish"],
    "a failed message is retried, by the default delays or the expression, and reports it",
    async (client, served) => {
      const { destination } = served;
      destination.answer = () => ({ status: 500 });
      const byDefault = await client.publish({ url: "https://a.test", retries: 1 });
      await served.logged(byDefault.messageId, "RETRY");
      await served.advance(11_000);
      assert.equal(destination.deliveries.length, 1);
      await served.advance(1_000);
      await destination.arrived(2);
      await served.logged(byDefault.messageId, "FAILED");

      const own = await client.publish({ url: "https://a.test", retries: 1, retryDelay: "pow(10, retried) * 5000" });
      await served.logged(own.messageId, "RETRY");
      await served.advance(5_000);
      await destination.arrived(4);

      assert.deepEqual(
        destination.deliveries.map(({ headers }) => headers["upstash-retried"]),
        ["0", "1", "0", "1"],
      );
    },
  ],
  [
    ["publish"],
    "the callback comes after each attempt, the failure callback after the last",
    async (client, served) => {
      const { destination } = served;
      destination.answer = ({ address }) =>
        address === "a.test/" ? { status: 503, headers: { "X-Reason": "busy" }, body: "no" } : { status: 200 };

      const { messageId } = await client.publish({
        url: "https://a.test",
        body: "payload",
        retries: 0,
        headers: { "Upstash-Callback-Forward-X-Team": "blue" },
        callback: "https://callback.test/",
        failureCallback: "https://failure.test/",
      });

      await destination.arrived(3);
      const reported = destination.deliveries.slice(1).toSorted((a, b) => (a.address < b.address ? -1 : 1));
      assert.deepEqual(
        reported.map(({ address, headers }) => [address, headers["x-team"], headers["content-type"]]),
        [
          ["callback.test/", "blue", "application/json"],
          ["failure.test/", undefined, "application/json"],
        ],
      );
      const [callback, failure] = reported.map(({ body }) => JSON.parse(body));
      assert.deepEqual(shown(callback), {
        status: 503,
        header: callback.header,
        body: Buffer.from("no").toString("base64"),
        retried: 0,
        maxRetries: 0,
        sourceMessageId: "msg_…",
        url: "https://a.test",
        method: "POST",
        sourceHeader: { "Content-Type": ["text/plain;charset=UTF-8"] },
        sourceBody: Buffer.from("payload").toString("base64"),
        notBefore: "ms",
        createdAt: "ms",
        callerIP: "127.0.0.1",
      });
      assert.deepEqual(callback.header["X-Reason"] ?? callback.header["x-reason"], ["busy"]);
      assert.equal(callback.sourceMessageId, messageId);
      const { messages } = await client.dlq.listMessages();
      assert.equal(failure.dlqId, messages[0]?.dlqId);
    },
  ],
  [
    ["publish"],
    "to a URL group: one message for each endpoint, as a list",
    async (client, { destination }) => {
      const endpoints = [{ url: "https://a.test/", name: "first" }, { url: "https://b.test/" }];
      await client.urlGroups.addEndpoints({ name: "group", endpoints });

      const byGroup = await client.publish({ urlGroup: "group", body: "1" });
      const byTopic = await client.publish({ topic: "group", body: "2" });

      const both = [
        { messageId: "msg_…", url: "https://a.test/" },
        { messageId: "msg_…", url: "https://b.test/" },
      ];
      assert.deepEqual(shown(byGroup), both);
      assert.deepEqual(shown(byTopic), both);
      const deliveries = await destination.arrived(4);
      assert.deepEqual(
        deliveries
          .map(({ address, body, headers }) => `${address} ${body} ${headers["upstash-topic-name"]}`)
          .toSorted(),
        ["a.test/ 1 group", "a.test/ 2 group", "b.test/ 1 group", "b.test/ 2 group"],
      );
    },
  ],
  [
    ["publish"],
    "the same id, or the same content, is accepted once",
    async (client, { destination }) => {
      const first = await client.publish({ url: "https://a.test", body: "1", deduplicationId: "once" });
      const second = await client.publish({ url: "https://b.test", body: "2", deduplicationId: "once" });
      assert.deepEqual(second, { messageId: first.messageId, url: "https://b.test", deduplicated: true });

      const byContent = { url: "https://c.test", body: "3", contentBasedDeduplication: true };
      await client.publish(byContent);
      assert.equal((await client.publish(byContent)).deduplicated, true);
      assert.equal((await client.publish({ ...byContent, body: "4" })).deduplicated, undefined);

      const bodies = (await destination.arrived(3)).map(({ body }) => body).toSorted();
      assert.deepEqual(bodies, ["1", "3", "4"]);
    },
  ],
  [
    ["publish"],
    "headers of the client are sent with every message",
    async (plain, served) => {
      const delayed = { url: "https://a.test", delay: "1h" } as const;
      const client = served.client({ headers: { "X-Of-Client": "1", "Upstash-Retries": "5" } });
      const both = [await client.publish(delayed), await plain.publish(delayed)];

      const records = await Promise.all(both.map(({ messageId }) => plain.messages.get(messageId)));
      assert.deepEqual(
        records.map(({ header, maxRetries }) => [header, maxRetries]),
        [
          [{ "X-Of-Client": ["1"] }, 5],
          [{}, 3],
        ],
      );
    },
  ],
  [
    ["publishJSON"],
    "the body arrives as JSON",
    async (client, { destination }) => {
      const published = await client.publishJSON({ url: "https://a.test", body: { greeting: "grüße" } });

      assert.deepEqual(shown(published), { messageId: "msg_…", url: "https://a.test" });
      const [delivery] = (await destination.arrived(1)).map(received);
      assert.deepEqual(delivery, {
        method: "POST",
        address: "a.test/",
        headers: { "content-type": "application/json" },
        body: '{"greeting":"grüße"}',
      });
    },
  ],
  [
    ["publishJSON"],
    "api: a model's provider is an ordinary destination, and its answer arrives in the callback",
    async (client, { destination }) => {
      destination.answer = ({ address }) =>
        address.startsWith("callback.test") ? { status: 200 } : { status: 200, body: '{"answer":42}' };
      const callback = "https://callback.test/";
      const published = await client.publishJSON({
        api: { name: "llm", provider: openai({ token: "of-openai" }) },
        body: { model: "m" },
        callback,
      });
      await client.publishJSON({
        api: { name: "llm", provider: anthropic({ token: "of-anthropic" }) },
        body: { model: "m" },
        callback,
      });

      assert.deepEqual(shown(published), { messageId: "msg_…", url: "https://api.openai.com/v1/chat/completions" });
      const calls = (await destination.arrived(4)).toSorted((a, b) => (a.address < b.address ? -1 : 1)).map(received);
      assert.deepEqual(calls.slice(0, 2), [
        {
          method: "POST",
          address: "api.anthropic.com/v1/messages",
          headers: {
            "content-type": "application/json",
            "x-api-key": "of-anthropic",
            "anthropic-version": "2023-06-01",
          },
          body: '{"model":"m"}',
        },
        {
          method: "POST",
          address: "api.openai.com/v1/chat/completions",
          headers: { authorization: "Bearer of-openai", "content-type": "application/json" },
          body: '{"model":"m"}',
        },
      ]);
      const answers = destination.deliveries.filter(({ address }) => address.startsWith("callback.test"));
      assert.deepEqual(
        answers.map(({ body }) => Buffer.from(JSON.parse(body).body, "base64").toString()),
        ['{"answer":42}', '{"answer":42}'],
      );
    },
  ],
  [
    ["publishJSON"],
    "api: analytics and mail go to the services that the client writes into the URL",
    async (client, { destination }) => {
      await client.publishJSON({
        api: {
          name: "llm",
          provider: openai({ token: "of-openai" }),
          analytics: { name: "helicone", token: "of-helicone" },
        },
        body: { model: "m" },
        callback: "https://callback.test/",
      });
      const mail = await client.publishJSON({
        api: { name: "email", provider: resend({ token: "of-resend" }) },
        body: { to: "somebody" },
      });

      assert.deepEqual(shown(mail), { messageId: "msg_…", url: "https://api.resend.com/emails" });
      const deliveries = await destination.arrived(3);
      const gateway = deliveries.find(({ address }) => address === "gateway.helicone.ai/v1/chat/completions");
      assert.equal(gateway?.headers["helicone-auth"], "Bearer of-helicone");
      assert.equal(gateway?.headers["helicone-target-url"], "https://api.openai.com");
      const sent = deliveries.find(({ address }) => address === "api.resend.com/emails");
      assert.equal(sent?.headers.authorization, "Bearer of-resend");
    },
  ],
  [
    ["batch"],
    "answers in the order of the messages, a group's as a nested list, and also a list for one message",
    async (client, { destination }) => {
      await client.urlGroups.addEndpoints({ name: "group", endpoints: [{ url: "https://g.test/" }] });

      const answers = await client.batch([
        {
          url: "https://a.test",
          body: "1",
          headers: { "Content-Type": "text/plain", "X-Team": "blue" },
          method: "PUT",
        },
        { urlGroup: "group", body: "2" },
        { url: "https://b.test", queueName: "queue" },
      ]);
      const one = await client.batch([{ url: "https://c.test" }]);

      assert.deepEqual(shown(answers), [
        { messageId: "msg_…", url: "https://a.test" },
        [{ messageId: "msg_…", url: "https://g.test/" }],
        { messageId: "msg_…", url: "https://b.test" },
      ]);
      assert.deepEqual(shown(one), [{ messageId: "msg_…", url: "https://c.test" }]);
      const deliveries = (await destination.arrived(4)).toSorted((a, b) => (a.address < b.address ? -1 : 1));
      assert.deepEqual(deliveries.map(received), [
        {
          method: "PUT",
          address: "a.test/",
          headers: { "content-type": "text/plain", "x-team": "blue" },
          body: "1",
        },
        { method: "POST", address: "b.test/", headers: {}, body: "" },
        { method: "POST", address: "c.test/", headers: {}, body: "" },
        { method: "POST", address: "g.test/", headers: {}, body: "2" },
      ]);
      assert.equal((await client.queue({ queueName: "queue" }).get()).name, "queue");
    },
  ],
  [
    ["batchJSON"],
    "the bodies arrive as JSON",
    async (client, { destination }) => {
      const answers = await client.batchJSON([
        { url: "https://a.test", body: { number: 1 } },
        { url: "https://b.test", body: [2], label: "label", delay: "1h" },
      ]);

      assert.deepEqual(shown(answers), [
        { messageId: "msg_…", url: "https://a.test" },
        { messageId: "msg_…", url: "https://b.test" },
      ]);
      const [delivery] = (await destination.arrived(1)).map(received);
      assert.deepEqual(delivery, {
        method: "POST",
        address: "a.test/",
        headers: { "content-type": "application/json" },
        body: '{"number":1}',
      });
    },
  ],
]);
