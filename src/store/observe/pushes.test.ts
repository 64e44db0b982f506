import assert from "node:assert/strict";
import { test } from "node:test";
import type { Journal } from "../../kernel/journal.ts";
import { PubSub } from "./pubsub.ts";
import { type DropReason, type Listener, type Push, Pushes, WAITING_BYTES_MAX } from "./pushes.ts";

/** A journal whose frames become safe when the test releases them. */
class SlowJournal implements Journal {
  readonly appendedOffset = 0;
  end = 0;
  safe = 0;
  readonly refusal = undefined;
  #waiting: { position: number; resolve: () => void }[] = [];

  append(): number {
    this.end += 1;
    return this.end;
  }

  whenSafe(position: number): Promise<void> {
    return new Promise((resolve) => this.#waiting.push({ position, resolve }));
  }

  async makeSafe(position: number): Promise<void> {
    this.safe = position;
    for (const { resolve } of this.#waiting.filter((one) => one.position <= position)) resolve();
    this.#waiting = this.#waiting.filter((one) => one.position > position);
    await Promise.resolve();
    await Promise.resolve();
  }
}

interface Heard extends Listener {
  readonly payloads: string[];
  readonly drops: DropReason[];
}

function listener(): Heard {
  const payloads: string[] = [];
  const drops: DropReason[] = [];
  return {
    payloads,
    drops,
    receive: (push: Push) => payloads.push("payload" in push ? push.payload : push.kind),
    drop: (reason) => drops.push(reason),
  };
}

function start(): { journal: SlowJournal; pushes: Pushes; pubsub: PubSub; heard: Heard } {
  const journal = new SlowJournal();
  const pushes = new Pushes(journal);
  const pubsub = new PubSub(pushes);
  const heard = listener();
  pubsub.subscribe(pubsub.open(heard), "c");
  return { journal, pushes, pubsub, heard };
}

test("a push of a unit that wrote nothing leaves at its end, if all frames before it are safe", () => {
  const { pushes, pubsub, heard } = start();
  pubsub.publish("c", "a");
  assert.deepEqual(heard.payloads, []);
  pushes.commit();
  assert.deepEqual(heard.payloads, ["a"]);
});

test("a push leaves when the frame of its unit is safe, and in order", async () => {
  const { journal, pushes, pubsub, heard } = start();
  pubsub.publish("c", "a");
  journal.append();
  pushes.commit();
  pubsub.publish("c", "b");
  journal.append();
  pushes.commit();
  // This unit wrote nothing, but saw the changes of the others.
  pubsub.publish("c", "c");
  pushes.commit();
  assert.deepEqual(heard.payloads, []);
  await journal.makeSafe(1);
  assert.deepEqual(heard.payloads, ["a"]);
  await journal.makeSafe(2);
  assert.deepEqual(heard.payloads, ["a", "b", "c"]);
});

test("a closed subscriber gets no waiting pushes, and a new one gets no earlier ones", async () => {
  const { journal, pushes, pubsub, heard } = start();
  const leaving = listener();
  const subscriber = pubsub.open(leaving);
  pubsub.subscribe(subscriber, "c");
  pubsub.publish("c", "a");
  journal.append();
  pushes.commit();
  const late = listener();
  pubsub.subscribe(pubsub.open(late), "c");
  pubsub.close(subscriber);
  await journal.makeSafe(1);
  assert.deepEqual([heard.payloads, leaving.payloads, late.payloads], [["a"], [], []]);
});

test("when too many bytes wait for the disk, further receivers are dropped", async () => {
  const { journal, pushes, pubsub, heard } = start();
  const other = listener();
  pubsub.subscribe(pubsub.open(other), "d");
  pubsub.publish("c", "x".repeat(WAITING_BYTES_MAX));
  journal.append();
  pushes.commit();
  pubsub.publish("d", "y");
  pushes.commit();
  assert.deepEqual([heard.drops, other.drops], [[], ["pushes wait for the disk"]]);
  await journal.makeSafe(1);
  assert.equal(heard.payloads.length, 1);
  assert.deepEqual(other.payloads, []);
  pubsub.publish("c", "z");
  pushes.commit();
  assert.equal(heard.payloads.length, 2);
});
