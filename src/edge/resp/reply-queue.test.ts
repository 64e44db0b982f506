import assert from "node:assert/strict";
import { test } from "node:test";
import { ReplyQueue } from "./reply-queue.ts";

/** A journal that is safe when the test says so. */
class HeldJournal {
  end = 0;
  safe = 0;
  readonly waits: number[] = [];
  #waiting: { position: number; resolve: () => void }[] = [];

  whenSafe(position: number): Promise<void> {
    this.waits.push(position);
    return new Promise((resolve) => this.#waiting.push({ position, resolve }));
  }

  async makeSafe(position: number): Promise<void> {
    this.safe = position;
    const due = this.#waiting.filter((each) => each.position <= position);
    this.#waiting = this.#waiting.filter((each) => each.position > position);
    for (const { resolve } of due) resolve();
    await Promise.resolve();
    await Promise.resolve();
  }
}

function queueOn(journal: HeldJournal): { queue: ReplyQueue; written: string[] } {
  const written: string[] = [];
  const queue = new ReplyQueue({ journal, write: (text) => written.push(text), released: () => {} });
  return { queue, written };
}

test("a reply leaves at once if the journal is safe", () => {
  const { queue, written } = queueOn(new HeldJournal());
  queue.addReply("a");
  queue.addReply("b");
  queue.flush();
  assert.deepEqual(written, ["ab"]);
});

test("a reply leaves when the journal is safe up to its end, and later replies do not overtake it", async () => {
  const journal = new HeldJournal();
  const { queue, written } = queueOn(journal);
  journal.end = 2;
  queue.addReply("wrote");
  queue.flush();
  journal.end = 5;
  queue.addReply("wrote more");
  queue.flush();
  queue.addPush("push");
  queue.flush();
  assert.equal(queue.bytes, "wrote".length + "wrote more".length + "push".length);

  await journal.makeSafe(1);
  assert.deepEqual(written, []);
  await journal.makeSafe(3);
  assert.deepEqual(written, ["wrote"]);
  await journal.makeSafe(5);
  assert.deepEqual(written, ["wrote", "wrote morepush"]);
  assert.deepEqual(journal.waits, [2, 5]);
  assert.equal(queue.bytes, 0);
});

test("a push waits only for the bytes before it", () => {
  const journal = new HeldJournal();
  const { queue, written } = queueOn(journal);
  journal.end = 7;
  queue.addPush("push");
  queue.flush();
  assert.deepEqual(written, ["push"]);
});

test("never writes dropped bytes", async () => {
  const journal = new HeldJournal();
  const { queue, written } = queueOn(journal);
  journal.end = 1;
  queue.addReply("late");
  queue.flush();
  queue.drop();
  await journal.makeSafe(1);
  queue.addReply("later");
  queue.flush();
  assert.deepEqual(written, []);
});
