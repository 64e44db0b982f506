/** The journal of a shard: replies wait until the node is certain to own it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { appendSafely, DIRECTORY, emptyDisk, openOn } from "../../../test/harness/persistence-fixture.ts";
import { SimulatedDisk } from "../../../test/simulation/disk/simulated-disk.ts";
import { ReplyQueue } from "../../edge/resp/reply-queue.ts";
import { seededRandom } from "../../kernel/random.ts";
import { nextTurn } from "../../kernel/turn.ts";
import { Pushes, Subscriber } from "../../store/observe/pushes.ts";
import { DeferredJournal, type JournalFence } from "./deferred-journal.ts";

/** As the lease of a node, or, with `confirms`, as a renewal for each wait. */
class TestFence implements JournalFence {
  isProvenByCommits = true;
  mayCall = true;
  reason: string | undefined;
  isOwner = true;
  confirms = false;
  #waiting: (() => void)[] = [];

  isFresh(): boolean {
    return this.isOwner && !this.confirms;
  }

  whenFresh(): Promise<void> {
    if (this.isFresh()) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  get waitCount(): number {
    return this.#waiting.length;
  }

  /** All who wait now may leave. */
  async renew(): Promise<void> {
    this.isOwner = true;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
    await nextTurn();
  }
}

async function openJournal(fence: JournalFence) {
  const opened = await openOn(await emptyDisk());
  const journal = new DeferredJournal(fence);
  journal.open(opened.area.journal);
  return { opened, journal };
}

test("a reply that waits for no commit waits for the lease", async () => {
  const fence = new TestFence();
  const { journal } = await openJournal(fence);
  assert.equal(journal.safe, 0);
  fence.isOwner = false;
  assert.equal(journal.safe, -1);
  let isSafe = false;
  void journal.whenSafe(0).then(() => {
    isSafe = true;
  });
  await nextTurn();
  assert.equal(isSafe, false);
  await fence.renew();
  assert.equal(isSafe, true);
});

for (const [isProvenByCommits, waits] of [
  [true, 0],
  [false, 1],
] as const)
  test(`a reply that waited for a commit ${isProvenByCommits ? "needs no lease" : "needs the lease too if the commit proves nothing"}`, async () => {
    const fence = Object.assign(new TestFence(), { isProvenByCommits });
    const { opened, journal } = await openJournal(fence);
    const position = journal.append(Buffer.from("frame"));
    fence.isOwner = false;
    const safe = journal.whenSafe(position);
    await opened.area.journal.sync();
    await nextTurn();
    assert.equal(fence.waitCount, waits);
    await fence.renew();
    await safe;
  });

test("a reply that was made while a commit was under way needs the lease too", async () => {
  const fence = new TestFence();
  const disk = new SimulatedDisk({ seed: 1, isStepped: true });
  const finish = async (work: Promise<unknown>): Promise<void> => {
    let isDone = false;
    void work.then(() => {
      isDone = true;
    });
    for (; !isDone; await nextTurn()) disk.step(seededRandom(1));
  };
  await finish(disk.mkdir(DIRECTORY));
  const opening = openOn(disk);
  await finish(opening);
  const { area } = await opening;
  const journal = new DeferredJournal(fence);
  journal.open(area.journal);
  const position = journal.append(Buffer.from("frame"));
  const ofWrite = journal.whenSafe(position);
  await nextTurn();
  assert.deepEqual([area.journal.written, area.journal.synced], [position, 0]);
  // Meanwhile another node may have claimed the shard: nothing that is sent later has returned.
  fence.isOwner = false;
  let isRead = false;
  const ofRead = journal.whenSafe(position).then(() => {
    isRead = true;
  });
  await finish(ofWrite);
  await nextTurn();
  assert.deepEqual([isRead, fence.waitCount], [false, 1]);
  await fence.renew();
  await ofRead;
});

test("a suspended shard refuses writes with the reason of the fence", async () => {
  const fence = new TestFence();
  fence.reason = "PostgreSQL does not answer";
  const { journal } = await openJournal(fence);
  assert.deepEqual(
    [journal.refusal, journal.refusalOf({ journalBytes: 0 })],
    ["PostgreSQL does not answer", "PostgreSQL does not answer"],
  );
  fence.reason = undefined;
  assert.deepEqual([journal.refusal, journal.refusalOf({ journalBytes: 0 })], [undefined, undefined]);
});

test("a tenant that is held is refused with its own reason, and others write", async () => {
  const fence = new TestFence();
  const { journal } = await openJournal(fence);
  const [held, other] = [{ journalBytes: 0 }, { journalBytes: 0 }];
  journal.hold(held, "it moves");
  assert.deepEqual(
    [journal.refusalOf(held), journal.refusalOf(other), journal.refusal],
    ["it moves", undefined, undefined],
  );
  journal.hold(held, undefined);
  assert.equal(journal.refusalOf(held), undefined);
});

test("with a renewal for each reply, replies of a connection leave in order and each after its own renewal", async () => {
  const fence = Object.assign(new TestFence(), { confirms: true });
  const { opened, journal } = await openJournal(fence);
  await appendSafely(opened, "frame");
  const written: string[] = [];
  const queue = new ReplyQueue({ journal, write: (text) => written.push(text), released: () => {} });
  queue.addReply("one");
  queue.flush();
  await nextTurn();
  queue.addReply("two");
  queue.flush();
  await nextTurn();
  assert.deepEqual([written, fence.waitCount], [[], 1]);
  await fence.renew();
  assert.deepEqual([written, fence.waitCount], [["one"], 1]);
  await fence.renew();
  assert.deepEqual([written, fence.waitCount], [["one", "two"], 0]);
  assert.equal(queue.bytes, 0);
});

test("with a renewal for each reply, pushes leave after a renewal that follows them", async () => {
  const fence = Object.assign(new TestFence(), { confirms: true });
  const { journal } = await openJournal(fence);
  const pushes = new Pushes(journal);
  const received: string[] = [];
  const subscriber = new Subscriber({
    receive: (push) => received.push("payload" in push ? push.payload : push.kind),
    drop: () => {},
  });
  const publish = (payload: string): void => {
    pushes.add({ kind: "message", channel: "c", payload }, [subscriber], payload.length);
    pushes.commit();
  };
  publish("one");
  publish("two");
  await nextTurn();
  assert.deepEqual(received, []);
  await fence.renew();
  assert.deepEqual([received, fence.waitCount], [["one"], 1]);
  publish("three");
  await fence.renew();
  assert.deepEqual([received, fence.waitCount], [["one", "two"], 1]);
  await fence.renew();
  assert.deepEqual(received, ["one", "two", "three"]);
});

test("the journal is late while its fence lets no call start, and never without a fence", async () => {
  const fence = new TestFence();
  const { journal } = await openJournal(fence);
  assert.equal(journal.isLate, false);
  fence.mayCall = false;
  assert.equal(journal.isLate, true);
  assert.equal(journal.refusal, undefined);
  assert.equal(new DeferredJournal().isLate, false);
});
