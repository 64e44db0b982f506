import assert from "node:assert/strict";
import { test } from "node:test";
import { DIRECTORY, emptyDisk, filesOf, settle } from "../../../test/harness/persistence-fixture.ts";
import { type OpenedShard, snapshotOf, TestShard } from "../../../test/harness/shipped-shard.ts";
import { type Append, DoubtfulOutcome, type LogStore, StoreFull } from "../log-store/log-store.ts";

/** The store with some of its calls replaced. */
function changed(store: LogStore, calls: Partial<LogStore>): LogStore {
  return new Proxy(store, {
    get: (target, name) => {
      const method: unknown = Reflect.get(calls, name) ?? Reflect.get(target, name);
      return typeof method === "function" ? method.bind(target) : method;
    },
  });
}

async function appendSafely({ area: { journal } }: OpenedShard, ...texts: string[]): Promise<void> {
  for (const text of texts) journal.append(Buffer.from(text, "latin1"));
  await journal.whenSafe(journal.end);
}

test("a sync commits what was written as one row", async () => {
  const shard = await TestShard.begin();
  const opened = await shard.open(await emptyDisk());
  await appendSafely(opened, "a");
  await appendSafely(opened, "bb", "cc");
  assert.deepEqual(await shard.rows(1), [
    [0, 64],
    [64, 41],
    [105, 52],
  ]);
});

test("a batch longer than a row becomes several rows, and is acknowledged after the last", async () => {
  const shard = await TestShard.begin();
  let appends = 0;
  const store = changed(shard.store, {
    append: (append) => {
      appends += 1;
      return appends === 4 ? new Promise(() => {}) : shard.store.append(append);
    },
  });
  const opened = await shard.open(await emptyDisk(), { store, rowBytesMax: 100 });
  opened.area.journal.append(Buffer.alloc(200, "a"));
  await settle();
  assert.deepEqual(await shard.rows(1), [
    [0, 64],
    [64, 100],
    [164, 100],
  ]);
  assert.equal(opened.area.journal.safe, 0);
});

test("an append whose end is unknown is repeated, and nothing else is sent before", async () => {
  const shard = await TestShard.begin();
  const sent: string[] = [];
  let doubts = 0;
  const store = changed(shard.store, {
    append: async (append: Append) => {
      sent.push(`${append.start}`);
      if (append.start === 64 && doubts < 2) {
        doubts += 1;
        throw new DoubtfulOutcome("lost");
      }
      return shard.store.append(append);
    },
  });
  const opened = await shard.open(await emptyDisk(), { store });
  opened.area.journal.append(Buffer.from("a"));
  await settle();
  opened.area.journal.append(Buffer.from("b"));
  await settle();
  opened.clock.advance(50);
  await settle();
  assert.deepEqual(sent, ["0", "64", "64"]);
  opened.clock.advance(100);
  await settle();
  assert.deepEqual(sent, ["0", "64", "64", "64", "105"]);
  assert.equal(opened.area.journal.safe, 2);
});

test("writes are refused when the store does not answer for two seconds, until it does", async () => {
  const shard = await TestShard.begin();
  let answer: (() => void) | undefined;
  const store = changed(shard.store, {
    append: async (append: Append) => {
      if (append.start === 64) await new Promise<void>((resolve) => (answer = resolve));
      return shard.store.append(append);
    },
  });
  const opened = await shard.open(await emptyDisk(), { store });
  opened.area.journal.append(Buffer.from("a"));
  await settle();
  opened.clock.advance(1_999);
  assert.equal(opened.area.journal.refusal, undefined);
  opened.clock.advance(1);
  assert.equal(opened.area.journal.refusal, "PostgreSQL does not answer");
  answer?.();
  await settle();
  assert.equal(opened.area.journal.refusal, undefined);
  assert.equal(opened.area.journal.safe, 1);
  assert.deepEqual(opened.refusals, ["PostgreSQL does not answer", undefined]);
});

test("writes are refused at once when the store is full, and it is asked again each second", async () => {
  const shard = await TestShard.begin();
  let isFull = true;
  let asked = 0;
  const store = changed(shard.store, {
    append: async (append: Append) => {
      if (append.start === 64) asked += 1;
      if (append.start === 64 && isFull) throw new StoreFull("full");
      return shard.store.append(append);
    },
  });
  const opened = await shard.open(await emptyDisk(), { store });
  opened.area.journal.append(Buffer.from("a"));
  await settle();
  assert.equal(opened.area.journal.refusal, "PostgreSQL is full");
  isFull = false;
  opened.clock.advance(999);
  await settle();
  assert.equal(asked, 1);
  opened.clock.advance(1);
  await settle();
  assert.equal(opened.area.journal.refusal, undefined);
  assert.equal(opened.area.journal.safe, 1);
});

test("an owner that another node has replaced acknowledges nothing and is told once", async () => {
  const shard = await TestShard.begin();
  const opened = await shard.open(await emptyDisk());
  await appendSafely(opened, "a");
  await shard.claim();
  opened.area.journal.append(Buffer.from("b"));
  await settle();
  assert.equal(opened.area.journal.safe, 1);
  assert.deepEqual(
    opened.deposed.map(({ message }) => message),
    ["Another node has claimed shard 12 after epoch 1"],
  );
  assert.equal(opened.fatal.length, 1);
});

test("a snapshot is in the store when it is adopted, and only then do covered segments leave", async () => {
  const shard = await TestShard.begin();
  const local = await emptyDisk();
  const calls: string[] = [];
  const noted =
    (name: "putSnapshotPart" | "completeSnapshot" | "removeSegments") =>
    (...args: unknown[]): Promise<never> => {
      calls.push(name);
      return (shard.store[name] as (...given: unknown[]) => Promise<never>).apply(shard.store, args);
    };
  const store = changed(shard.store, {
    putSnapshotPart: noted("putSnapshotPart"),
    completeSnapshot: noted("completeSnapshot"),
    removeSegments: noted("removeSegments"),
  });
  const opened = await shard.open(local, { store, partBytes: 60 });
  await appendSafely(opened, "a");
  await snapshotOf(opened, local);
  assert.deepEqual(calls, ["putSnapshotPart", "putSnapshotPart", "completeSnapshot", "removeSegments"]);
  assert.deepEqual(await shard.segments(), [[2, 1, 64]]);
  assert.deepEqual((await shard.claim()).snapshot, { epoch: 1, number: 2, parts: 2, bytes: 105 });
});

test("a late append does not follow the removal of its segment", async () => {
  const shard = await TestShard.begin();
  const local = await emptyDisk();
  const opened = await shard.open(local);
  await appendSafely(opened, "a");
  const late = { ...opened.owner, segment: 1, start: 105, before: 64, bytes: Buffer.from("late") };
  await snapshotOf(opened, local);
  assert.equal(await shard.store.append(late), "missing");
  assert.equal(await shard.store.append({ ...late, start: 0, before: 0 }), "missing");
  assert.deepEqual(await shard.segments(), [[2, 1, 64]]);
});

test("a segment that no snapshot covers does not leave the store", async () => {
  const shard = await TestShard.begin();
  const { shipped, area } = await shard.open(await emptyDisk());
  await area.closeSegment();
  await assert.rejects(shipped.unlink(`${DIRECTORY}/0000000001.journal`), {
    message: "only what a snapshot covers leaves the log",
  });
  assert.deepEqual(await shard.segments(), [[1, 1, 64]]);
});

test("the store takes the first row of a segment only after the segment before, or the snapshot that covers it", async () => {
  const shard = await TestShard.begin();
  const { store } = shard;
  const { epoch } = await shard.claim();
  const owner = { shard: 12, epoch };
  const first = (segment: number): Promise<string> =>
    store.append({ ...owner, segment, start: 0, before: 0, bytes: Buffer.from(`segment ${segment}`) });

  assert.equal(await first(2), "missing");
  assert.equal(await first(1), "committed");
  assert.equal(await first(3), "missing");
  assert.equal(await first(2), "committed");

  await store.putSnapshotPart({ ...owner, number: 5, part: 0, bytes: Buffer.from("snapshot") });
  await store.completeSnapshot(owner, { number: 5, parts: 1, bytes: 8 });
  assert.equal(await first(6), "missing");
  assert.equal(await first(5), "committed");
});

test("rows that the store has lost are sent again, with the snapshot", async () => {
  const shard = await TestShard.begin();
  const local = await emptyDisk();
  const opened = await shard.open(local);
  const { commits } = shard.database;
  await appendSafely(opened, "a");
  await snapshotOf(opened, local);
  await appendSafely(opened, "b");
  await opened.area.closeSegment();
  shard.database.failOver(commits);
  await appendSafely(opened, "c");
  assert.equal(opened.shipped.healCount, 1);

  const next = await shard.open(await emptyDisk());
  assert.deepEqual(next.frames, ["a", "b", "c"]);
});

test("rows that are lost again after they were sent again are sent a third time", async () => {
  const shard = await TestShard.begin();
  let keptCommits: number | undefined;
  const store = changed(shard.store, {
    append: async (append: Append) => {
      const kept = keptCommits;
      if (append.segment === 1 || kept === undefined) return shard.store.append(append);
      if (append.start === 0) {
        // The end of the first segment is lost, and then the second one begins.
        shard.database.failOver(kept);
        const outcome = await shard.store.append(append);
        keptCommits = shard.database.commits;
        return outcome;
      }
      // What was sent again is lost with this row, and what was committed before that stays.
      await shard.store.append(append);
      shard.database.failOver(kept);
      keptCommits = undefined;
      throw new DoubtfulOutcome("lost");
    },
  });
  const opened = await shard.open(await emptyDisk(), { store });
  await appendSafely(opened, "a");
  keptCommits = shard.database.commits;
  await appendSafely(opened, "b");
  await opened.area.closeSegment();
  await settle();
  assert.equal(opened.shipped.healCount, 1);
  opened.area.journal.append(Buffer.from("c"));
  await settle();
  opened.clock.advance(50);
  await settle();
  assert.equal(opened.shipped.healCount, 2);
  await appendSafely(opened, "d");
  await appendSafely(opened, "e");
  assert.equal(opened.shipped.healCount, 2);

  const next = await shard.open(await emptyDisk());
  assert.deepEqual(next.frames, ["a", "b", "c", "d", "e"]);
});

test("another file of the directory is only local", async () => {
  const shard = await TestShard.begin();
  const local = await emptyDisk();
  const { shipped } = await shard.open(local);
  const file = await shipped.open(`${DIRECTORY}/other`, "create");
  await file.fdatasync();
  await file.close();
  assert.deepEqual(filesOf(local), ["/store/0000000001.journal", "/store/other"]);
  assert.deepEqual(await shard.segments(), [[1, 1, 64]]);
});

test("what the store has not committed is reported until it has, with the time of the append", async () => {
  const shard = await TestShard.begin();
  let answer: () => void = () => {};
  const store = changed(shard.store, {
    append: async (append: Append) => {
      if (append.start > 0)
        await new Promise<void>((resolve) => {
          answer = resolve;
        });
      return shard.store.append(append);
    },
  });
  let open = 0;
  const tookMs: number[] = [];
  const onWritten = (): (() => void) => {
    open += 1;
    return () => {
      open -= 1;
    };
  };
  const opened = await shard.open(await emptyDisk(), { store, onWritten, onCommitted: (ms) => tookMs.push(ms) });
  assert.deepEqual([open, opened.shipped.unshippedBytes], [0, 0]);
  opened.area.journal.append(Buffer.from("a"));
  await settle();
  assert.deepEqual([open, opened.shipped.unshippedBytes], [1, 41]);
  opened.clock.advance(700);
  answer();
  await settle();
  assert.deepEqual([open, opened.shipped.unshippedBytes], [0, 0]);
  assert.deepEqual(tookMs, [0, 700]);
});
