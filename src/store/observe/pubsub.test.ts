import assert from "node:assert/strict";
import { test } from "node:test";
import { NullJournal } from "../../kernel/journal.ts";
import { PubSub } from "./pubsub.ts";
import { type Listener, type Push, Pushes } from "./pushes.ts";

function start(): { pubsub: PubSub; pushes: Pushes } {
  const pushes = new Pushes(new NullJournal());
  return { pushes, pubsub: new PubSub(pushes) };
}

const silent: Listener = { receive: () => {}, drop: () => {} };

test("a confirmation has the number of channels and patterns of the subscriber", () => {
  const { pubsub } = start();
  const one = pubsub.open(silent);
  assert.equal(pubsub.subscribe(one, "a"), 1);
  assert.equal(pubsub.subscribe(one, "a"), 1);
  assert.equal(pubsub.subscribe(one, "b"), 2);
  assert.equal(pubsub.subscribePattern(one, "a*"), 3);
  assert.equal(pubsub.unsubscribe(one, "zz"), 3);
  assert.equal(pubsub.unsubscribe(one, "a"), 2);
  assert.equal(pubsub.unsubscribePattern(one, "a*"), 1);
});

test("PUBLISH counts every delivery, by channel and by pattern", () => {
  const { pubsub, pushes } = start();
  const got: Push[] = [];
  const one = pubsub.open({ receive: (push) => got.push(push), drop: () => {} });
  const other = pubsub.open(silent);
  pubsub.subscribe(one, "news");
  pubsub.subscribePattern(one, "n*");
  pubsub.subscribePattern(other, "n*");
  pubsub.subscribePattern(other, "x*");
  assert.equal(pubsub.publish("news", "a"), 3);
  assert.equal(pubsub.publish("other", "a"), 0);
  pushes.commit();
  assert.deepEqual(got, [
    { kind: "message", channel: "news", payload: "a" },
    { kind: "pmessage", pattern: "n*", channel: "news", payload: "a" },
  ]);
});

test("a channel exists while it has a subscriber", () => {
  const { pubsub } = start();
  const one = pubsub.open(silent);
  const other = pubsub.open(silent);
  pubsub.subscribe(one, "a");
  pubsub.subscribe(other, "a");
  pubsub.subscribe(other, "b");
  pubsub.subscribePattern(one, "p");
  pubsub.subscribePattern(other, "p");
  assert.deepEqual([[...pubsub.channels()], pubsub.subscriberCountOf("a"), pubsub.patternCount], [["a", "b"], 2, 1]);
  pubsub.close(other);
  assert.deepEqual([[...pubsub.channels()], pubsub.subscriberCountOf("a"), pubsub.patternCount], [["a"], 1, 1]);
  pubsub.close(one);
  assert.deepEqual([[...pubsub.channels()], pubsub.hasListeners, pubsub.patternCount], [[], false, 0]);
});

test("subscribers of a dropped database are notified once and removed", () => {
  const { pubsub } = start();
  const drops: string[] = [];
  const one = pubsub.open({ receive: () => {}, drop: (reason) => drops.push(reason) });
  pubsub.subscribe(one, "a");
  pubsub.dropAll();
  pubsub.dropAll();
  assert.deepEqual([drops, pubsub.publish("a", "x"), pubsub.subscribe(one, "a")], [["database deleted"], 0, 0]);
});
