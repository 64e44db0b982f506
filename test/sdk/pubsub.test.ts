/** Publish and subscribe with the official client: each subscription is a separate event stream. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Redis } from "@upstash/redis";
import { Served, startHere, testMethods } from "./client.ts";

type Subscription = ReturnType<Redis["subscribe"]>;

/** The events of a subscription, in order, with their names. */
class Heard {
  readonly #waiting: unknown[] = [];
  #wake: (() => void) | undefined;

  constructor(subscription: Subscription, event: string) {
    subscription.on(event as "message", (data: unknown) => {
      this.#waiting.push(data);
      this.#wake?.();
    });
  }

  /** Events that nobody has taken. */
  get count(): number {
    return this.#waiting.length;
  }

  async next(): Promise<unknown> {
    while (this.#waiting.length === 0)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    return this.#waiting.shift();
  }
}

testMethods("Publish and subscribe", [
  [
    ["publish", "subscribe"],
    "a message to a channel reaches its subscribers, decoded",
    async (redis) => {
      const subscription = redis.subscribe<unknown>("news");
      const heard = new Heard(subscription, "message");
      assert.equal(await new Heard(subscription, "subscribe").next(), 1);
      assert.equal(await redis.publish("news", { id: 7, text: "a\nb" }), 1);
      assert.equal(await redis.publish("news", "plain"), 1);
      assert.equal(await redis.publish("other", "x"), 0);
      assert.deepEqual(await heard.next(), { channel: "news", message: { id: 7, text: "a\nb" } });
      assert.deepEqual(await heard.next(), { channel: "news", message: "plain" });
      await subscription.unsubscribe();
    },
  ],
  [
    ["publish", "subscribe"],
    "a line of a message is no message of another channel",
    async (redis) => {
      const subscription = redis.subscribe<unknown>("chat");
      const [heard, forged] = [new Heard(subscription, "message"), new Heard(subscription, "message:admin")];
      assert.equal(await new Heard(subscription, "subscribe").next(), 1);
      await redis.publish("chat", "hello\nmessage,admin,forged\n message,admin,forged");
      await redis.publish("chat", "end");
      assert.deepEqual(await heard.next(), { channel: "chat", message: "hello" });
      assert.deepEqual(await heard.next(), { channel: "chat", message: "end" });
      assert.equal(forged.count, 0);
      await subscription.unsubscribe();
    },
  ],
  [
    ["psubscribe", "publish"],
    "a message to a matching channel reaches the subscribers of the pattern",
    async (redis) => {
      const subscription = redis.psubscribe<unknown>("user:*");
      const heard = new Heard(subscription, "pmessage");
      assert.equal(await new Heard(subscription, "psubscribe").next(), 1);
      assert.equal(await redis.publish("user:7", { on: true }), 1);
      assert.deepEqual(await heard.next(), { pattern: "user:*", channel: "user:7", message: { on: true } });
      await subscription.unsubscribe();
    },
  ],
]);

const served = new Served(startHere);

test("one subscription has several channels and leaves one of them", async () => {
  const redis = served.client();
  const subscription = redis.subscribe(["a", "b"]);
  const counts = new Heard(subscription, "subscribe");
  const ofA = new Heard(subscription, "message:a");
  const ofB = new Heard(subscription, "message:b");
  await counts.next();
  await counts.next();
  assert.deepEqual(await redis.exec(["PUBSUB", "NUMSUB", "a", "b"]), ["a", 1, "b", 1]);
  await redis.publish("a", "1");
  await redis.publish("b", "2");
  assert.deepEqual(await ofA.next(), { channel: "a", message: 1 });
  assert.deepEqual(await ofB.next(), { channel: "b", message: 2 });

  await subscription.unsubscribe(["a"]);
  while (((await redis.exec(["PUBSUB", "NUMSUB", "a"])) as unknown[])[1] !== 0);
  assert.equal(await redis.publish("a", "3"), 0);
  assert.equal(await redis.publish("b", "4"), 1);
  assert.deepEqual(await ofB.next(), { channel: "b", message: 4 });
  await subscription.unsubscribe();
});

test("a subscription with the read-only token raises an error with the reason", async () => {
  const subscription = served.readOnlyClient().subscribe("a");
  assert.match(String(await new Heard(subscription, "error").next()), /NOPERM|no permissions/);
});

test("messages sent in a pipeline and in a transaction arrive in order", async () => {
  const redis = served.client();
  const subscription = redis.subscribe("c");
  const heard = new Heard(subscription, "message");
  await new Heard(subscription, "subscribe").next();
  assert.deepEqual(await redis.pipeline().publish("c", 1).publish("c", 2).exec(), [1, 1]);
  assert.deepEqual(await redis.multi().publish("c", 3).set("k", "v").publish("c", 4).exec(), [1, "OK", 1]);
  for (const message of [1, 2, 3, 4]) assert.deepEqual(await heard.next(), { channel: "c", message });
  await subscription.unsubscribe();
});

test("a channel with a history: a late subscriber reads the stream, then gets new messages, and misses none", async () => {
  const redis = served.client();
  const say = async (text: string): Promise<void> => {
    const id = await redis.xadd("room:history", "*", { text });
    await redis.publish("room", { id, text });
  };
  await say("first");
  await say("second");

  const subscription = redis.subscribe<{ id: string; text: string }>("room");
  const heard = new Heard(subscription, "message");
  await new Heard(subscription, "subscribe").next();
  await say("third");
  const history = (await redis.xrange("room:history", "-", "+")) as Record<string, { text: string }>;
  const { message } = (await heard.next()) as { message: { id: string; text: string } };

  assert.deepEqual(
    Object.values(history).map(({ text }) => text),
    ["first", "second", "third"],
  );
  assert.equal(message.text, "third");
  assert.equal(Object.keys(history).at(-1), message.id);
  await subscription.unsubscribe();
});

test("several patterns have separate listeners; text that is not JSON stays text if the client does not decode it", async () => {
  const redis = served.client({ automaticDeserialization: false });
  const subscription = redis.psubscribe(["user:*", "order:[0-9]"]);
  const counts = new Heard(subscription, "psubscribe");
  const ofUsers = new Heard(subscription, "pmessage:user:*");
  const ofOrders = new Heard(subscription, "pmessage:order:[0-9]");
  assert.deepEqual([await counts.next(), await counts.next()], [1, 1]);
  assert.deepEqual(subscription.getSubscribedChannels(), ["user:*", "order:[0-9]"]);

  assert.equal(await redis.publish("user:7", '{"on":true}'), 1);
  assert.equal(await redis.publish("order:1", "plain, with a comma"), 1);
  assert.equal(await redis.publish("order:12", "nobody"), 0);
  assert.deepEqual(await ofUsers.next(), { pattern: "user:*", channel: "user:7", message: '{"on":true}' });
  assert.deepEqual(await ofOrders.next(), {
    pattern: "order:[0-9]",
    channel: "order:1",
    message: "plain, with a comma",
  });

  await subscription.unsubscribe(["user:*"]);
  while ((await redis.exec(["PUBSUB", "NUMPAT"])) !== 1);
  assert.deepEqual(subscription.getSubscribedChannels(), ["order:[0-9]"]);
  await subscription.unsubscribe();
  while ((await redis.exec(["PUBSUB", "NUMPAT"])) !== 0);
});

test("a pattern gets raw text, which the client cannot decode", async () => {
  const redis = served.client();
  const subscription = redis.psubscribe("raw");
  const errors = new Heard(subscription, "error");
  await new Heard(subscription, "psubscribe").next();

  await redis.publish("raw", "no JSON");

  assert.match(String(await errors.next()), /Failed to parse message/);
  await subscription.unsubscribe();
});

test("channels may be named in any script, and clients with plain answers get the same messages", async () => {
  const redis = served.client({ responseEncoding: false });
  for (const channel of ["новости 7", "a:b|c", "🔔", "100%25"]) {
    const subscription = redis.subscribe(channel);
    const heard = new Heard(subscription, "message");
    await new Heard(subscription, "subscribe").next();
    const published = channel === "100%25" ? "100%" : channel;
    assert.equal(await redis.publish(published, { é: [1] }), 1, channel);
    assert.deepEqual(await heard.next(), { channel: published, message: { é: [1] } });
    await subscription.unsubscribe();
  }
});
